"""Supervision and mapping by evidence: the rules on arrays, and maps that follow them."""

import numpy as np
import pytest
import scipy.sparse as sp
from experiments.tables_of_truth import prices_with_outliers
from sklearn.datasets import load_diabetes, load_wine, make_moons
from sklearn.neighbors import KNeighborsClassifier

from prismap import PrisMap
from prismap._util.evidence import first_of_equals, paired_gap
from prismap._util.random import as_generator
from prismap.map import _choose as choose
from prismap.map._choose import (
    GRID,
    MAPPING_FOLDS,
    candidates,
    choose_mapping,
    comparable,
    compared_with_own,
    kept_share,
    knows_target,
    least_as_good,
    nearest_rows,
    neighbor_losses,
    quick_losses,
    trees_are_worth_it,
    two_halves,
    usual_range,
    with_share,
)
from prismap.map._judged import published_notes
from prismap.map._methods import smoothness
from prismap.map._quick import quick_maps
from prismap.mappings import KernelMap, VoteMap
from prismap.mappings._bandwidth import cross_validate
from prismap.metrics import FisherMetric
from prismap.metrics._base import PrecomputedMetric
from prismap.metrics._geometry import data_metric
from prismap.metrics.posteriors import _base as base
from prismap.metrics.posteriors import _choice as posterior_choice
from prismap.metrics.posteriors import _machine as machine
from prismap.metrics.posteriors import _trees as trees
from prismap.target import make_target


@pytest.fixture(scope="module")
def signs():
    X = np.random.default_rng(0).normal(size=(200, 16))
    return X, 2 * (X[:, 0] > 0) + (X[:, 1] > 0)


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(1)
    return rng.normal(size=(150, 5)), rng.integers(3, size=150)


@pytest.fixture(scope="module")
def signs_map(signs):
    return PrisMap(supervision="auto", mapping="auto", random_state=0).fit(*signs)


@pytest.fixture(scope="module")
def noise_map(noise):
    return PrisMap(supervision="auto", mapping="auto", random_state=0).fit(*noise)


# --- the rules --------------------------------------------------------------------------------------------------------


def test_losses_are_those_of_neighbours_without_the_row_itself():
    rng = np.random.default_rng(0)
    A, B, y = rng.normal(size=(60, 2)), rng.normal(size=(60, 2)), rng.integers(3, size=60)
    arcs2, steps2 = (np.square(Z[:, None] - Z[None]).sum(axis=2) for Z in (A, B))
    for w in (0.0, 0.3):
        D = w * arcs2 + (1 - w) * steps2
        losses = neighbor_losses(y[nearest_rows(D.copy())], y)
        for i in range(60):
            others = np.delete(np.arange(60), i)
            near = others[np.argsort(D[i, others], kind="stable")[:10]]
            counts = np.bincount(y[near], minlength=3)
            first = next(code for code in y[near] if counts[code] == counts.max())
            assert losses[i] == (first != y[i])


def test_losses_of_numbers_are_squared_errors_of_the_mean():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(40, 2)), rng.normal(size=(40, 1))
    D2 = np.square(Z[:, None] - Z[None]).sum(axis=2)
    found = neighbor_losses(y[nearest_rows(D2.copy())], y)
    near = np.argsort(D2 + np.diag(np.full(40, np.inf)), axis=1)[:, :10]
    assert np.allclose(found, np.square(y[near].mean(axis=1) - y)[:, 0])


def test_neighbours_kept_are_counted_whatever_their_order():
    own = np.array([[1, 2, 3, 4], [0, 2, 3, 4]])
    assert kept_share(own[:, ::-1], own) == 1
    assert kept_share(np.array([[1, 2, 8, 9], [5, 6, 7, 0]]), own) == (0.5 + 0.25) / 2


def test_majority_agrees_with_scikit_learn_where_there_is_no_tie():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 2)), rng.integers(2, size=80)
    model = KNeighborsClassifier(9).fit(X[:50], y[:50])
    votes = y[:50][model.kneighbors(X[50:], return_distance=False)]
    assert np.array_equal(neighbor_losses(votes, y[50:]) == 0, model.predict(X[50:]) == y[50:])


def test_the_error_of_a_gap_is_paired():
    """Two candidates that err on the same rows are told apart by the few on which they do not."""
    a = np.repeat([0.0, 1.0], 100)
    b = a.copy()
    b[:5] = 1
    gap, error = paired_gap(b, a)
    assert gap == 5 / 200
    assert error < 0.5 * np.hypot(a.std(), b.std()) / np.sqrt(200)


def test_the_least_share_that_is_as_good_is_taken():
    losses = np.zeros((4, 400))
    losses[0, :200] = 1  # no supervision: half are wrong
    losses[1, :100] = 1
    losses[2, :3] = 1
    losses[3, 1:4] = 1  # the best two err equally often, on other rows
    assert least_as_good(losses, [0.0, 0.8, 0.95, 0.99]) == 2
    losses[2, :40] = 1
    assert least_as_good(losses, [0.0, 0.8, 0.95, 0.99]) == 3
    assert least_as_good(np.zeros((3, 50)), [0.0, 0.8, 0.95]) == 0  # nothing to gain


def test_one_standard_error_is_not_told_from_none():
    losses = np.zeros((2, 100))
    losses[0, :4] = 1
    losses[1, 4] = 1  # three rows of a hundred: more than one standard error
    gap, error = paired_gap(losses[0], losses[1])
    assert error < gap < 2 * error
    assert least_as_good(losses, [0.0, 0.8]) == 1
    losses[0, 2:] = 0
    assert least_as_good(losses, [0.0, 0.8]) == 0
    for n in range(40, 60):  # a single row is one standard error, however it rounds
        assert least_as_good(np.stack([np.eye(n)[0], np.zeros(n)]), [0.0, 0.8]) == 0


def test_a_row_is_judged_on_quick_maps_of_the_halves_without_it():
    """The slow twin: the halves, the maps and the placement step by step, three times for so few rows."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4  # seven or eight of each in a half
    X = rng.normal(size=(2, 60, 4)) + y[:, None]
    D2 = np.square(X[:, :, None] - X[:, None]).sum(axis=3)
    losses = quick_losses(D2, make_target(y, 60), perplexity=30, seed=5)
    rng = as_generator(5)
    orders = [np.lexsort((rng.permutation(60), y)) for _ in range(3)]
    halves = [half for order in orders for half in (order[::2], order[1::2])]
    maps = quick_maps(np.stack([D2[k][np.ix_(half, half)] for half in halves for k in (0, 1)]), 29 / 3, rng)
    expected = np.zeros((2, 60))
    for number, kept in enumerate(halves):
        out = np.setdiff1d(np.arange(60), kept)
        for k in (0, 1):
            D, Y = np.sqrt(D2[k]), maps[2 * number + k]
            votes = VoteMap(metric="precomputed", spread=0).fit(D[np.ix_(kept, kept)], Y)
            placed = votes.transform(D[np.ix_(out, kept)])
            near = np.argsort(np.square(placed[:, None] - Y[None]).sum(axis=2), axis=1)[:, :7]
            expected[k, out] += neighbor_losses(y[kept][near], y[out]) / 3
    np.testing.assert_allclose(losses, expected, atol=1e-12)
    assert abs(np.bincount(y[halves[0]], minlength=4) - np.bincount(y[halves[1]], minlength=4)).max() <= 1


def test_many_rows_are_halved_once(monkeypatch):
    halvings = []
    monkeypatch.setattr(choose, "two_halves", lambda *args: halvings.append(1) or two_halves(*args))
    X = np.random.default_rng(0).normal(size=(400, 3))
    D2 = np.square(X[:, None] - X[None]).sum(axis=2)[None]
    quick_losses(D2, make_target(np.arange(400) % 2, 400), perplexity=30, seed=0)
    assert len(halvings) == 1
    quick_losses(D2[:, :180, :180], make_target(np.arange(180) % 2, 180), perplexity=30, seed=0)
    assert len(halvings) == 3


def test_trees_are_tried_where_a_class_has_one_row_and_not_where_little_is_left(signs):
    X, y = signs
    lonely = np.where(np.arange(200) == 7, 4, y)
    assert trees_are_worth_it(X, make_target(lonely, 200), np.full((200, 5), 0.2), 0)
    entropy = -float((np.bincount(y) / 200 * np.log(np.bincount(y) / 200)).sum())
    assert not trees_are_worth_it(X, make_target(y, 200), sure_of(y, 0.09 * entropy), 0)
    assert trees_are_worth_it(X, make_target(y, 200), sure_of(y, 0.11 * entropy)[:, [1, 0, 2, 3]], 0)


def sure_of(codes, loss):
    """Probabilities of four classes with this log-loss in every row."""
    right = np.exp(-loss)
    return np.where(np.eye(4)[codes] > 0, right, (1 - right) / 3)


def test_trees_are_not_tried_if_they_tell_nothing_more(noise):
    X, y = noise
    target = make_target(y, len(y))
    assert not trees_are_worth_it(X, target, np.tile(np.bincount(y) / len(y), (len(y), 1)), 0)


def test_of_many_rows_trees_are_tried_only_if_a_small_forest_is_nearer(signs, monkeypatch):
    X, y = signs
    y = np.where(np.arange(200) % 4 == 0, (y + 1) % 4, y)  # a quarter of the labels is wrong
    small, target = choose.fit_trees(X, y, 4, 0, n_trees=choose.GROWN)[1], make_target(y, 200)
    assert not trees_are_worth_it(X, target, small, 0)
    near, far = (mixed_up(small, y, times) for times in (1.03, 1.15))
    assert trees_are_worth_it(X, target, near, 0)
    monkeypatch.setattr(choose, "CHEAP_ROWS", len(y) - 1)
    assert not trees_are_worth_it(X, target, near, 0)
    assert trees_are_worth_it(X, target, far, 0)


def mixed_up(P, codes, times):
    """The probabilities with as much of none at all as makes their log-loss so many times as large."""
    mixed = [(1 - share) * P + share / 4 for share in np.linspace(0, 1, 200)]
    return next(one for one in mixed if choose.log_loss(one, codes) > times * choose.log_loss(P, codes))


def test_trees_are_tried_on_more_rows_than_other_posteriors_look_at_and_see_them_all(monkeypatch, signs):
    X, y = signs
    monkeypatch.setattr(base, "MOST_SUPPORT", 100)
    y = np.where(np.arange(200) % 50 == 7, -1, y)
    found = candidates(FisherMetric(random_state=0), data_metric("vectors").over(X), make_target(y, len(y)), 0)
    assert found[-1].posterior_.name == "trees"
    assert [len(metric.support_) for metric in found] == [100, 196, 196][: len(found)]
    assert np.array_equal(found[-1].support_, np.flatnonzero(y >= 0))


def test_a_mean_with_trees_is_tried_and_is_the_same_from_its_arrays(signs):
    X, y = signs
    y = np.where(X[:, 2] + X[:, 3] > 1.5, 4, y)  # what lines tell, and trees tell late
    found = candidates(FisherMetric(random_state=0), data_metric("vectors").over(X), make_target(y, len(y)), 0)
    assert [metric.posterior_.name.split("+")[-1] for metric in found[1:]] == ["trees", "trees"]
    mean = with_share(found[1], "chord", 0.95, found[1].data_, make_target(y, len(y)))
    assert "+" in mean.posterior_.name
    assert mean.supervision == 0.95
    again = FisherMetric(supervision=0.95).restore(X, y, mean.state())
    assert np.array_equal(again.pairwise(X[:9] + 0.1), mean.pairwise(X[:9] + 0.1))


def test_a_mean_that_was_chosen_along_chords_is_the_same_along_a_graph(signs):
    X, y = signs
    target, data = make_target(y, len(y)), data_metric("vectors").over(X)
    metric = candidates(FisherMetric(path="graph", random_state=0), data, target, 0)[0]
    other = with_share(metric, "graph", 0.8, data, target)
    assert other.posterior_ is metric.posterior_
    assert (other.pairwise() <= metric.pairwise() + 1e-4).all()  # shortest paths


def test_a_forest_sees_so_many_rows_at_most(monkeypatch, signs):
    X, y = signs
    monkeypatch.setattr(trees, "MOST_TREE_ROWS", 120)
    metric = FisherMetric(posterior="trees", random_state=0).fit(X, y)
    assert len(metric.support_) == 120
    assert metric.class_probabilities().shape == (200, 4)
    assert len(FisherMetric(posterior=trees.Trees(n_support=150), random_state=0).fit(X, y).support_) == 150


def test_a_posterior_must_know_the_target(signs, noise):
    for (X, y), knows in ((signs, True), (noise, False)):
        metric = FisherMetric(posterior="lssvm", supervision=0.8, random_state=0).fit(X, y)
        assert knows_target(metric, make_target(y, len(y))) == knows
    X, _ = signs
    for y, knows in ((X[:, 0] ** 2 + X[:, 1], True), (np.random.default_rng(3).normal(size=200), False)):
        metric = FisherMetric("real", supervision=0.8, random_state=0).fit(X, y)
        assert knows_target(metric, make_target(y, len(y))) == knows
    both = np.column_stack([X[:, 0], 1000 * np.random.default_rng(3).normal(size=200)])  # the unit does not matter
    assert knows_target(
        FisherMetric("real", supervision=0.8, random_state=0).fit(X, both), make_target(both, len(both))
    )


# --- maps -------------------------------------------------------------------------------------------------------------


def test_a_target_that_shows_only_in_two_features_is_found(signs, signs_map):
    _, y = signs
    assert signs_map.supervision_ in GRID[1:]
    assert signs_map.metric_.supervision == signs_map.supervision_
    taken = [one for one in signs_map.supervision_curve_ if one["taken"]]
    assert [one["supervision"] for one in taken] == [signs_map.supervision_]
    assert taken[0]["posterior"].endswith("trees")
    new = np.random.default_rng(9).normal(size=(200, 16))
    truth = 2 * (new[:, 0] > 0) + (new[:, 1] > 0)
    model = KNeighborsClassifier(10).fit(signs_map.embedding_, y)
    assert model.score(signs_map.transform(new), truth) > 0.9


def test_a_target_that_is_noise_is_left_out_to_the_last_bit(noise, noise_map):
    X, _ = noise
    plain = PrisMap(supervision="auto", mapping="auto", random_state=0).fit(X)
    assert noise_map.supervision_ == 0
    assert noise_map.target_ == "class"
    assert np.array_equal(noise_map.embedding_, plain.embedding_)
    assert np.array_equal(noise_map.transform(X + 0.01), plain.transform(X + 0.01))


def test_a_chosen_share_is_the_map_of_that_share():
    X, y = make_moons(150, noise=0.1, random_state=0)
    rows = sp.csr_array(
        np.column_stack([X, 0.1 * X, X[:, :1]])
    )  # of which there are no discriminants, and so no mean that has no name of its own
    chosen = PrisMap(supervision="auto", mapping="auto", random_state=0).fit(rows, y)
    name = next(one["posterior"] for one in chosen.supervision_curve_ if one["taken"])
    given = PrisMap(
        metric=FisherMetric(posterior=name), supervision=chosen.supervision_, mapping="auto", random_state=0
    ).fit(rows, y)
    assert np.array_equal(given.embedding_, chosen.embedding_)
    assert given.supervision_curve_ is None


def test_max_is_the_sharpest(noise):
    model = PrisMap(supervision="max", mapping="auto", random_state=0).fit(*noise)
    assert model.supervision_ == GRID[-1]


def test_numbers_are_judged_by_their_error():
    X, y = load_diabetes(return_X_y=True)
    model = PrisMap(supervision="auto", mapping="auto", target="real", random_state=0).fit(X[:120], y[:120])
    assert all(0.5 < one["score"] < 1.3 for one in model.supervision_curve_)
    assert model.supervision_ in GRID


def test_rows_without_a_label_are_no_evidence(signs):
    X, y = signs
    y = y.copy()
    y[150:] = -1
    model = PrisMap(supervision="auto", mapping="auto", random_state=0).fit(X, y)
    assert model.supervision_ > 0


@pytest.mark.parametrize("which", ["signs", "noise"])
def test_a_chosen_map_is_stored(which, request, tmp_path):
    X, _ = request.getfixturevalue(which)
    model = request.getfixturevalue(f"{which}_map")
    model.save(tmp_path / "map.prismap")
    again = PrisMap.load(tmp_path / "map.prismap")
    assert again.supervision_ == model.supervision_
    assert list(again.supervision_curve_) == list(model.supervision_curve_)
    assert type(again.map_.mapping) is type(model.map_.mapping)
    assert np.array_equal(again.transform(X + 0.01), model.transform(X + 0.01))


def test_the_report_shows_what_was_tried(noise_map):
    report = noise_map.report(n_permutations=1)
    assert report.supervision_curve == noise_map.supervision_curve_
    assert report.settings["supervision taken"] == 0
    assert "left out of the map" in report.verdict
    again = type(report).from_dict(report.to_dict())
    assert again.supervision_curve == report.supervision_curve
    assert again.verdict == report.verdict


def test_the_report_has_a_line_for_each_share_tried(noise_map):
    lines = noise_map.report(n_permutations=1).details.splitlines()
    first = next(k for k, line in enumerate(lines) if line.startswith("supervision tried"))
    tried = lines[first + 1 : first + 1 + len(noise_map.supervision_curve_)]
    assert [line.split()[0].rstrip(",") for line in tried] == [
        f"{one['supervision']:g}" for one in noise_map.supervision_curve_
    ]
    assert "100 %" in tried[0]
    assert tried[0].endswith("taken")


@pytest.mark.filterwarnings("ignore:Columns differ")
def test_a_published_metric_that_is_worse_than_none_is_told():
    """Wine without standardisation: one large column is nearly all there is to see."""
    X, y = load_wine(return_X_y=True)
    model = PrisMap("mds", supervision=1.0, random_state=0).fit(X, y)
    (note,) = published_notes(model.map_)
    shares = []
    for D in (model.map_.data.pairwise(), model.metric_.pairwise()):
        near = np.argsort(D + np.diag(np.full(len(y), np.inf)), axis=1, kind="stable")[:, :10]
        shares.append(1 - neighbor_losses(y[near], y).mean())
    own, pure = shares
    assert f"{100 * own:.0f} % of the rows right in the data and {100 * pure:.0f} % under it" in note
    assert published_notes(PrisMap("mds", supervision=0.8, random_state=0).fit(X, y).map_) == ()


def test_a_published_metric_that_helps_is_not_complained_of():
    X = np.random.default_rng(0).uniform(0, 8, size=(100, 2))
    model = PrisMap("mds", supervision=1.0, target="real", random_state=0).fit(X, np.sin(X[:, 0]))
    own, pure = compared_with_own(model.metric_, model.map_.data, model.map_.target, 0)
    assert pure["score"] < own["score"]
    assert published_notes(model.map_) == ()


# --- mappings ---------------------------------------------------------------------------------------------------------


def test_without_a_target_votes_are_taken():
    assert isinstance(choose_mapping(PrecomputedMetric.of(np.zeros((5, 5))), np.zeros((5, 2)), None, 0), VoteMap)
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert isinstance(
        PrisMap(supervision="auto", mapping="auto", perplexity=10, random_state=0).fit(X).map_.mapping, VoteMap
    )


def test_kernels_are_not_tried_on_many_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(120, 4))
    Y, D = X[:, :2], np.linalg.norm(X[:, None] - X[None], axis=2)  # as smooth as kernels like it
    target = make_target(X[:, 0] + X[:, 1], len(X), "real")
    assert isinstance(choose_mapping(PrecomputedMetric.of(D), Y, target, 0), KernelMap)
    monkeypatch.setattr(choose, "MOST_KERNEL_ROWS", 119)
    assert isinstance(choose_mapping(PrecomputedMetric.of(D), Y, target, 0), VoteMap)


def test_the_mapping_that_loses_less_is_taken(signs, signs_map):
    _, y = signs
    D = signs_map.metric_.pairwise()
    folds = as_generator(0).permutation(np.arange(200) % MAPPING_FOLDS)
    kernels = KernelMap(random_state=0, **smoothness(D, signs_map.embedding_, "cv", 0))
    losses = []
    for mapping in (VoteMap(), kernels):
        wrong = 0
        for fold in range(MAPPING_FOLDS):
            kept, out = folds != fold, np.flatnonzero(folds == fold)
            part = D[np.ix_(kept, kept)]
            made = mapping.set_params(metric=PrecomputedMetric.of(part)).fit(part, signs_map.embedding_[kept])
            near = KNeighborsClassifier(10).fit(signs_map.embedding_[kept], y[kept])
            votes = y[kept][near.kneighbors(made.place(D[out][:, kept]), return_distance=False)]
            wrong += neighbor_losses(votes, y[out]).sum()
        losses.append(wrong)
    assert isinstance(
        choose_mapping(PrecomputedMetric.of(D), signs_map.embedding_, make_target(y, len(y)), 0),
        (VoteMap, KernelMap)[int(np.argmin(losses))],
    )


def test_new_regions_are_added_to_a_map_of_votes(noise):
    X, _ = noise
    model = PrisMap(supervision="auto", mapping="auto", random_state=0).fit(X)
    before = model.transform(X + 0.01)
    far = 30 + np.random.default_rng(0).normal(size=(20, 5))
    model.partial_refit(far)
    assert len(model.added_rows_)
    assert np.array_equal(model.transform(far[model.added_rows_]), model.embedding_[150:])
    # Rows are centred anew, which rounds their distances otherwise: the bound that `transform` states.
    np.testing.assert_allclose(model.transform(X + 0.01), before, rtol=0, atol=1e-5 * np.ptp(model.embedding_[:150]))


@pytest.mark.parametrize("kind", ["class", "real"])
def test_a_map_that_leaves_the_target_out_is_judged_as_the_one_without_it(kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5)) + 8 * np.eye(5)[np.arange(90) % 3]
    y = rng.integers(3, size=90) if kind == "class" else rng.normal(size=90)
    model = PrisMap(perplexity=8, random_state=0).fit(X, y)
    assert model.supervision_ == 0
    report = model.report(n_permutations=1)
    for score in report.scores:
        assert float(score.value) == float(score.unsupervised)
    assert report.clusters.n_runs == 3
    assert np.isfinite(model.trust_.value).all()


def test_a_few_outliers_do_not_decide_the_supervision():
    X, y, _ = prices_with_outliers()
    model = PrisMap(random_state=0).fit(X, y)
    assert model.supervision_ > 0
    scores = {one["supervision"]: one["score"] for one in model.supervision_curve_}
    assert scores[model.supervision_] < 0.95 * scores[0.0] < 0.95
    assert all(one["knows_target"] for one in model.supervision_curve_)


def test_numbers_without_outliers_are_compared_as_they_are():
    y = np.random.default_rng(0).normal(size=500)
    np.testing.assert_array_equal(comparable(make_target(y, 500))[:, 0], (y - y.mean()) / y.std())
    y[3] = 1e6
    assert np.abs(comparable(make_target(y, 500))).max() < 5
    zero = np.where(np.arange(500) < 20, 7.0 + y, 0.5)  # nearly all alike: nothing is unusual
    assert usual_range(zero[:, None])[1] == np.inf


def test_of_noise_the_report_states_that_nothing_predicts_it():
    rng = np.random.default_rng(0)
    report = PrisMap(random_state=0).fit(rng.normal(size=(150, 4)), rng.normal(size=150)).report(budget="quick")
    assert not any(one["knows_target"] for one in report.supervision_curve if one["supervision"] > 0)
    assert "no posterior of the features predicts it beyond chance" in report.statement("target_needed").words


# --- near equals: rounding does not decide ----------------------------------------------------------------------------


def rounded(losses, seed):
    """Losses as another processor might have them."""
    return losses + 1e-13 * np.random.default_rng(seed).normal(size=np.shape(losses))


def test_the_first_of_near_equals_is_taken():
    for seed in range(20):
        assert first_of_equals(rounded([3.0, 0.7, 0.7, 0.7], seed)) == 1
        assert first_of_equals(rounded([1.0, 0.0, 0.0], seed)) == 1  # rounding is a share of what was added up
    assert first_of_equals([0.7 + 1e-6, 0.7]) == 1
    assert first_of_equals([np.inf, np.nan, 0.7, 0.7]) == 2
    assert first_of_equals([np.inf, np.inf]) == 0


def test_rounding_takes_no_other_share():
    losses = np.random.default_rng(0).random(200)
    for seed in range(20):
        assert least_as_good(rounded(np.stack([losses + 0.2, losses, losses, losses]), seed), list(GRID)) == 1
        worse = rounded(np.stack([losses, losses]), seed)
        worse[0] += 1e-13  # each row by nearly the same: many of its own standard errors
        assert least_as_good(worse, [0.0, 0.8]) == 0


def test_rounding_takes_no_other_mapping(monkeypatch):
    X = np.random.default_rng(0).normal(size=(60, 4))
    target, D = make_target(X[:, 0], len(X), "real"), np.linalg.norm(X[:, None] - X[None], axis=2)
    monkeypatch.setattr(choose, "smoothness", lambda *_: {})
    for seed in range(10):
        draws = iter(rounded(np.full(2, 0.5), seed))
        monkeypatch.setattr(choose, "left_out_losses", lambda *_, draws=draws: np.full(60, next(draws)))
        assert isinstance(choose_mapping(PrecomputedMetric.of(D), X[:, :2], target, 0), VoteMap)


def test_rounding_takes_no_other_posterior(monkeypatch):
    X, y = load_wine(return_X_y=True)
    for seed in range(4):
        draws = iter(rounded(np.full(4, 0.5), seed))
        monkeypatch.setattr(posterior_choice, "log_loss", lambda *_, draws=draws: next(draws))
        assert FisherMetric(supervision=0.8, random_state=0).fit(X, y).posterior_.name == "parzen"


def test_rounding_takes_no_other_machine(monkeypatch):
    X, codes = load_wine(return_X_y=True)
    Q, taken = np.square(X[:, None] - X[None]).sum(axis=2), set()
    for seed in range(4):
        draws = iter(rounded(np.full(15, 0.5), seed))
        monkeypatch.setattr(machine, "log_loss", lambda *_, draws=draws: next(draws))
        taken.add(machine.search(Q, codes, 3, np.arange(len(codes)) % 5, as_generator(0)))
    assert taken == {(0.125 * 2 / Q.mean(), 1.0)}  # the smoothest


def test_rounding_takes_no_other_width():
    Y = np.random.default_rng(0).normal(size=(80, 2))
    D = np.linalg.norm(Y[:, None] - Y[None], axis=2)
    for seed in range(10):
        factors, ridges = rounded(np.ones(4), seed), rounded(np.full(2, 0.01), seed)
        factor, ridge = cross_validate(D, Y, "rbf", factors, ridges, normalize=True, rng=as_generator(0))
        assert (factor, ridge) == (factors[0], ridges[0])
