"""Clusters of a map: gaps, and what becomes of clusters in other runs."""

import json

import numpy as np
import pytest
from experiments.tables_of_truth import clustered_gaussian, gap_in_one_column, many_blobs, sign_of_two
from scipy.stats import special_ortho_group
from scipy.stats import t as student

from judging.stand_ins import LikeUMAP
from prismap import MapReport, PrisMap, judge
from prismap.quality import find_clusters, judge_clusters
from prismap.quality._cluster_report import (
    Cluster,
    MapClusters,
    best_jaccard,
    gaps_around,
    null_limit,
    one_gaussian,
    rows_in_runs,
)
from prismap.quality._clusters import CLUSTERS, join, meetings, widest_gap
from reference import clusters_reference as joined_groups


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def three(rng):
    """Three clouds of 40, 30 and 20 rows, far apart, and which rows are of which."""
    labels = np.repeat([0, 1, 2], [40, 30, 20])
    return rng.normal(size=(90, 2)) + 25 * np.array([[0, 0], [1, 0], [0, 1]])[labels], labels


def test_gaps_are_those_of_the_definition(rng):
    Y = rng.normal(size=(50, 2)) + 4 * (np.arange(50) % 2)[:, None]
    found = [gap for _, gap in meetings(join(Y))]
    np.testing.assert_allclose(found, joined_groups.gaps(Y, 10), rtol=1e-6)
    assert widest_gap(Y) == max(found)


def test_the_most_similar_group_is_that_of_the_definition(rng):
    Y = rng.normal(size=(40, 2))
    labels = rng.integers(-1, 2, 40)
    labels[Y[:, 0] > 0.5] = 1
    expected = [joined_groups.best_jaccard(Y, np.flatnonzero(labels == j)) for j in (0, 1)]
    np.testing.assert_allclose(best_jaccard(join(Y), labels, 2), expected)


def test_gaps_around_the_same_rows_are_those_of_the_definition(rng):
    Y = rng.normal(size=(45, 2)) + 5 * (np.arange(45) // 15)[:, None]
    labels = np.repeat([0, 1, 2], 15)
    labels[:2], labels[20:30] = 1, -1
    wanted = [joined_groups.gap_around(Y, np.flatnonzero(labels == j), 10) for j in range(3)]
    np.testing.assert_allclose(gaps_around(join(Y), labels, 3), wanted)
    assert wanted[0] > 1
    assert wanted[1] == 0


def test_clusters_are_found_however_the_map_is_turned(three, rng):
    Y, labels = three
    np.testing.assert_array_equal(find_clusters(Y), labels)
    order = rng.permutation(90)
    turned = 1e-3 * Y @ special_ortho_group(2, seed=0).rvs() + 7
    np.testing.assert_array_equal(find_clusters(turned[order]), labels[order])
    assert find_clusters(np.column_stack([Y, Y])).max() == 2


def test_density_and_stray_rows_do_not_matter(rng):
    Y = rng.normal(size=(120, 2))
    Y[:40] = 30 + Y[:40] / 100
    stray = np.array([[15.0, 15.0], [-20.0, 30.0]])
    found = find_clusters(np.vstack([Y, stray]))
    np.testing.assert_array_equal(found[:120], np.repeat([1, 0], [40, 80]))
    assert set(found[120:]) <= {-1, 0, 1}


def test_one_cloud_has_no_clusters():
    found = [widest_gap(np.random.default_rng(seed).normal(size=(150, 2))) for seed in range(20)]
    assert np.mean(np.array(found) > CLUSTERS.least_gap) <= 0.05
    lattice = np.repeat(np.stack(np.meshgrid(np.arange(6.0), np.arange(6.0)), axis=-1).reshape(-1, 2), 8, axis=0)
    assert find_clusters(lattice).max() == 0  # a self-organising map: many rows at one place, places equally far apart
    assert find_clusters(np.zeros((30, 2))).max() == 0
    assert judge_clusters(lattice).words == [
        "The map has no clusters: none of its gaps is wider than those of one Gaussian."
    ]


def test_many_rows_are_sampled(rng):
    Y = rng.normal(size=(2 * CLUSTERS.most_rows, 2))
    Y[: CLUSTERS.most_rows // 2] += 30
    found = find_clusters(Y)
    assert (found[: CLUSTERS.most_rows // 2] == 1).all()
    assert (found[CLUSTERS.most_rows // 2 :] == 0).all()
    assert judge_clusters(Y).clusters[1].share == pytest.approx(0.25, abs=0.03)


def test_many_small_clusters_are_all_counted(rng):
    X, _, truth = many_blobs()
    lattice = np.stack(np.meshgrid(np.arange(10), np.arange(6)), axis=-1).reshape(-1, 2)
    Y = 10 * lattice[truth["blob"]] + rng.normal(size=(len(X), 2))
    labels = find_clusters(Y)
    assert labels.max() + 1 == truth["clusters"]
    assert {len(np.unique(labels[truth["blob"] == j])) for j in range(60)} == {1}
    again = np.arange(0, len(Y), 2)
    assert judge_clusters(Y, [(again, Y[again])]).words == [
        "The map has 60 clusters, with gaps between them that one Gaussian in the plane does not have.",
        "All of them are there in another run.",
    ]


def test_groups_that_do_not_last_are_not_called_clusters(three, rng):
    Y, labels = three
    merged = Y.copy()
    merged[labels > 0] = rng.normal(size=(50, 2)) + 200
    some = judge_clusters(Y, [(np.arange(90), merged)], nulls=rng.normal(size=(3, 90, 2)))
    assert some.readable == (0,)
    assert some.words[0] == "Of the 3 groups with gaps between them, 1 can be read as a cluster."
    assert some.words[1].startswith("2 of them are not there in another run")
    mixed = judge_clusters(Y, [(np.arange(90), rng.normal(size=(90, 2)))])
    assert mixed.readable == ()
    assert not any("The map has" in sentence for sentence in mixed.words)


def test_clusters_that_stay_split_and_merge_in_other_runs(three):
    Y, labels = three
    some = np.arange(1, 90, 2)
    apart, merged = Y.copy(), Y.copy()
    apart[20:40] += [0, 200]  # half of the largest leaves the other half
    merged[labels == 2] = merged[labels == 1][:20] + 0.01  # the smallest falls on the second
    names = [str(label) for label in labels]
    same = judge_clusters(Y, [(np.arange(90), Y), (some, Y[some])], names=names)
    assert [one.there for one in same.clusters] == [1, 1, 1]
    assert [one.jaccard for one in same.clusters] == [1, 1, 1]
    assert [(one.mostly, one.purity) for one in same.clusters] == [("0", 1), ("1", 1), ("2", 1)]
    assert same.moved == 0
    assert same.words[1:] == ["All of them are there in each of 2 other runs."]
    torn = judge_clusters(Y, [(np.arange(90), Y), (np.arange(90), apart)], names=names)
    assert [one.splits for one in torn.clusters] == [0.5, 0, 0]
    assert torn.clusters[0].there == 0.5
    assert torn.unsteady == (0,)
    assert (
        torn.words[1] == "1 of them is not there in some of 2 other runs: one (44 % of the rows, mostly 0; it splits)."
    )
    fallen = judge_clusters(Y, [(np.arange(90), merged)])
    assert [one.there for one in fallen.clusters] == [1, 0, 0]
    assert fallen.clusters[2].splits == 0


def test_rows_that_move_are_counted_where_they_come_from(three):
    Y, labels = three
    again = Y.copy()
    again[:8] = Y[50:58] + 0.01  # 8 of 40 rows go to the second cluster
    found = judge_clusters(Y, [(np.arange(90), again)])
    assert [one.moved for one in found.clusters] == [8 / 40, 0, 0]
    assert found.moved == pytest.approx(8 / 90)
    assert found.words[-1] == "9 % of the rows, mostly in one cluster, would lie elsewhere in another run."
    assert labels[8] == 0


def test_gaps_count_only_if_nothing_has_none_like_them(three, rng):
    Y, _ = three
    calm = judge_clusters(Y, nulls=rng.normal(size=(3, 90, 2)))
    assert calm.unfounded == ()
    assert "wider gaps between them than maps of one Gaussian have" in calm.words[0]
    invented = judge_clusters(Y, nulls=[Y])
    assert invented.unfounded == (0, 1, 2)
    assert invented.words == [
        "None of the 3 groups with gaps between them can be read as a cluster.",
        "The gaps around them are no wider than those in maps of one Gaussian.",
    ]
    assert "one Gaussian in the plane does not have" in judge_clusters(Y).words[0]


def test_one_gaussian_has_the_mean_and_the_covariance_of_the_rows(rng):
    X = rng.normal(size=(4000, 3)) @ [[1, 0, 0], [2, 1, 0], [0, 0, 0.1]] + [5, 0, -1]  # n x n would be 128 MB
    drawn = one_gaussian(X, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.1)
    np.testing.assert_allclose(np.cov(drawn.T, bias=True), np.cov(X.T, bias=True), atol=0.25)
    wide = rng.normal(size=(6, 40))  # fewer rows than columns: in the span of the rows
    inside = one_gaussian(wide, rng) - wide.mean(axis=0)
    assert np.linalg.matrix_rank(np.vstack([wide - wide.mean(axis=0), inside])) == 5
    assert one_gaussian(np.zeros((50_000, 2)), rng).shape == (50_000, 2)  # n x n would be 20 GB


def test_the_limit_of_gaps_is_the_prediction_limit_of_one_more(rng):
    gaps = [1.5, 2.0, 4.0]
    logs = np.log(gaps)
    wanted = np.exp(logs.mean() + student.ppf(0.95, 2) * logs.std(ddof=1) * np.sqrt(4 / 3))
    assert null_limit(gaps) == pytest.approx(wanted)
    assert null_limit([]) == 0
    assert null_limit([0.0]) == null_limit([1.0]) > 1  # no gap at all is a gap of 1
    draws = np.exp(rng.normal(2.0, 0.2, size=(400, 4)))
    assert np.mean([last > null_limit(first) for *first, last in draws]) == pytest.approx(0.05, abs=0.033)


@pytest.mark.parametrize("pull", [0.5, 0.95])
def test_clusters_of_nothing_are_taken_for_real_in_one_of_twenty_maps_at_most(pull):
    """Of any seed: what a method makes of nothing varies, and so do the maps that it is held against."""
    founded = []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        maps = [LikeUMAP(pull=pull).fit_transform(rng.normal(size=(120, 4)), rng.integers(0, 3, 120)) for _ in range(4)]
        found = judge_clusters(maps[0], nulls=maps[1:])
        assert len(found.clusters) >= 2
        founded.append(len(found.unfounded) < len(found.clusters))
    assert np.mean(founded) <= 0.18  # 5 % of 25 with three standard errors


def test_clusters_survive_json(three):
    Y, _ = three
    found = judge_clusters(Y, [(np.arange(90), Y)])
    assert np.isnan(found.clusters[0].purity)
    stored = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert MapClusters.from_dict(stored).to_dict() == found.to_dict()
    report = MapReport(target="none", n_fitted=90, clusters=found)
    assert MapReport.from_dict(json.loads(json.dumps(report.to_dict()))).clusters.to_dict() == found.to_dict()
    assert "cluster" in str(report)
    assert "cluster" in report._repr_html_()
    assert isinstance(MapClusters.from_dict(stored).clusters[0], Cluster)


def test_methods_that_make_clusters_of_nothing_are_found_out(rng):
    X, y = rng.normal(size=(120, 4)), rng.integers(0, 3, 120)
    pulled = judge(LikeUMAP(pull=0.95), X, y).clusters
    assert len(pulled.clusters) == 3
    assert pulled.unfounded == (0, 1, 2)
    X += 12 * np.eye(3, 4)[y]
    honest = judge(LikeUMAP(), X, y).clusters
    assert len(honest.clusters) == 3
    assert honest.unfounded == honest.unsteady == ()
    assert honest.n_runs == 9  # five folds, three runs of four fifths of the rows, and another seed
    assert judge(LikeUMAP(), X, y, budget="quick").clusters.null_gaps == ()


def test_a_prismap_has_clusters_in_its_report(rng):
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 4)) + 15 * np.eye(3, 4)[y]
    for target in (y, None):
        report = PrisMap(method="mds", perplexity=10, random_state=0).fit(X, target).report(n_permutations=1)
        assert [round(90 * one.share) for one in report.clusters.clusters] == [30, 30, 30]
        assert report.clusters.n_runs == (1 if target is None else 3)  # the target is left out: no folds
        assert max(report.clusters.null_gaps) < 2
        assert "All of them are there in" in report.verdict


@pytest.mark.parametrize("table", [sign_of_two, clustered_gaussian])
def test_gaps_that_the_target_made_are_no_clusters(table):
    X, y, _ = table()
    clusters = PrisMap(supervision=0.8, random_state=0).fit(X, y).report(n_permutations=1).clusters
    assert len(clusters.clusters) >= 2
    assert clusters.unfounded == ()  # the gaps are wide, and are there in most runs
    assert clusters.readable == ()
    assert "The gaps around them are not there without the target, which may have made them." in clusters.words


def test_a_supervised_map_of_clusters_has_clusters():
    X, y, truth = gap_in_one_column()
    clusters = PrisMap(supervision=0.95, random_state=0).fit(X, y).report(n_permutations=1).clusters
    assert clusters.supervised
    assert len(clusters.readable) == truth["clusters"]
    assert "wider gaps between them" in clusters.words[0]


def test_where_no_map_without_the_target_exists_nobody_knows_who_made_the_gaps(three):
    Y, _ = three
    alone = judge_clusters(Y, supervised=True)
    assert alone.readable == ()
    assert "Whether the target made these gaps cannot be told: there is no map without it." in alone.words
    assert judge_clusters(Y, supervised=True, unsupervised=(np.arange(len(Y)), Y)).readable == (0, 1, 2)


def test_a_run_of_few_of_many_rows_is_compared_where_it_has_them(three, rng):
    Y, _ = three
    Y = np.repeat(Y, 2000, axis=0)
    Y = Y + rng.normal(size=Y.shape)
    few = np.sort(rng.choice(len(Y), 2000, replace=False))
    run = few, Y[few]
    assert rows_in_runs(len(Y), [run], 0).tolist() == few.tolist()
    clusters = judge_clusters(Y, [run], supervised=True, unsupervised=run).clusters
    assert [one.jaccard for one in clusters] == [1.0] * 3
    assert min(one.gap_unsupervised for one in clusters) > CLUSTERS.least_gap
