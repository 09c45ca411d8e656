"""A verdict for any map: coordinates, estimators, functions, and a `PrisMap`."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prismap
from judging.stand_ins import LikeOpenTSNE, LikePaCMAP, LikeUMAP
from prismap import MapReport, PrisMap, judge
from prismap.exceptions import InputError
from prismap.quality import knn_error


@pytest.fixture(scope="module")
def flowers():
    return make_blobs(240, 5, centers=[[0] * 5, [4] * 5, [-4, 4, -4, 4, -4]], cluster_std=1.5, random_state=0)


@pytest.fixture(scope="module")
def noise():
    rng = np.random.default_rng(1)
    return rng.normal(size=(240, 5)), rng.integers(0, 3, 240)


def test_coordinates_are_judged_as_far_as_they_go(flowers):
    X, y = flowers
    Y = PCA(2).fit_transform(X)
    found = judge(X, Y, y)
    assert found.depth == "coordinates"
    assert found.target_shows is True
    assert found.overstates is None
    assert "Cannot tell from coordinates whether the map exaggerates" in found.verdict
    assert any("cannot be run again" in limit for limit in found.limits)
    by_name = {score.name: score for score in found.scores}
    assert [*by_name] == ["10-NN error", "1-NN error", "rank correlation", "balanced 10-NN error"]
    assert float(by_name["1-NN error"].value) == float(knn_error(Y, y))
    assert len(by_name["1-NN error"].permuted.values) == 20
    assert abs(by_name["1-NN error"].permuted.mean - by_name["1-NN error"].chance) < 0.05
    assert MapReport.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))).to_dict() == found.to_dict()


def test_labels_that_mean_nothing_do_not_show(noise):
    X, y = noise
    assert judge(X, X[:, :2], y).target_shows is False
    found = judge(PCA(2), X, y)
    assert (found.target_shows, found.overstates) == (False, False)


@pytest.mark.parametrize("method", [LikeUMAP(), LikePaCMAP(), LikeOpenTSNE(), PCA(2)])
def test_methods_of_any_interface_are_judged(flowers, method):
    found = judge(method, *flowers)
    assert found.depth == "method"
    assert (found.target_shows, found.overstates) == (True, False)
    assert found.judged == "cross-validation"
    assert found.n_judged == 240
    own = not isinstance(method, LikePaCMAP)
    assert any("by the transform of" in note for note in found.notes) is own
    assert any("where most of their nearest fitted rows are" in note for note in found.notes) is not own
    assert found.measures["neighbours kept in another run"] > 0.9


def test_a_method_that_ignores_the_target_is_known_for_it(flowers):
    X, y = flowers
    found = judge(PCA(2), X, y)
    assert any("does not change the map" in note for note in found.notes)
    assert found.scores[0].unsupervised is None
    pulled = judge(LikeUMAP(pull=0.5), X, y)
    assert pulled.scores[0].unsupervised is not None
    assert "unsupervised map against data" in pulled.structure
    told = judge(LikeUMAP(pull=0.5), X, y, supervised=False)
    assert told.scores[0].unsupervised is None


def test_a_method_that_invents_is_found_out(noise):
    found = judge(LikeUMAP(pull=0.9), *noise)
    assert found.overstates is True
    assert found.target_shows is False
    assert "invents structure" in found.verdict
    assert judge(LikeUMAP(pull=0.9), *noise, supervised=False).overstates is False
    X = np.random.default_rng(0).normal(size=(120, 60))
    linear = judge(LinearDiscriminantAnalysis(), X, noise[1][:120])
    assert linear.overstates is True
    assert any("makes none without it" in limit for limit in linear.limits)
    with pytest.raises(InputError, match="cannot be judged with supervised=False"):
        judge(LinearDiscriminantAnalysis(), X, noise[1][:120], supervised=False)


def test_functions_make_maps_too(flowers):
    X, y = flowers

    def discriminant(X, y):
        return LinearDiscriminantAnalysis(n_components=2).fit_transform(X, y)

    found = judge(discriminant, X, y)
    assert found.target_shows is True
    assert any("discriminant fails without it" in limit for limit in found.limits)
    assert judge(lambda X: X[:, :2], X, y).target_shows is True
    seeds = []
    judge(lambda X, random_state: seeds.append(random_state) or X[:, :2], X, y)
    assert len(set(seeds)) == 2  # the map, and once more with another seed


def test_a_pipeline_gets_its_seed_and_its_target(flowers):
    X, y = flowers
    found = judge(make_pipeline(StandardScaler(), LikeUMAP(pull=0.3)), X, y)
    again = judge(make_pipeline(StandardScaler(), LikeUMAP(pull=0.3)), X, y)
    assert found.to_dict()["scores"] == again.to_dict()["scores"]
    assert found.scores[0].unsupervised is not None


def test_a_fitted_estimator_keeps_its_map_and_is_not_changed(flowers):
    X, y = flowers
    model = LikeUMAP().fit(X)
    model.embedding_ = np.random.default_rng(0).normal(size=(240, 2))  # a bad run
    kept = model.embedding_.copy()
    found = judge(model, X, y)
    assert next(iter(found.structure.values())).auc_log_k < 0.05
    np.testing.assert_array_equal(model.embedding_, kept)


def test_a_prismap_is_judged_by_its_own_report(flowers):
    X, y = flowers
    model = PrisMap(method="mds", perplexity=10, random_state=0).fit(X[::4], y[::4])
    assert judge(model) is model.report()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fresh = judge(PrisMap(method="mds", perplexity=10, random_state=0), X[::4], y[::4])
    assert fresh.to_dict()["scores"] == model.report().to_dict()["scores"]


def test_no_target_leaves_the_structure(flowers):
    X, _ = flowers
    for found in (judge(X, X[:, :2]), judge(PCA(2), X)):
        assert found.scores == ()
        assert found.verdict.startswith("The map keeps neighbourhoods ")
        assert "trustworthiness" in found.measures


def test_unlabelled_rows_neither_vote_nor_are_judged(flowers):
    X, y = flowers
    y = y.astype(object)
    y[:60] = None
    assert judge(X, X[:, :2], y).n_judged == 180
    assert judge(LikeUMAP(pull=0.2), X, y).n_judged == 180


def test_rare_classes_are_listed_and_nothing_rests_on_them(flowers):
    X, y = flowers
    names = np.array(["a", "b", "c"], dtype=object)[y]
    names[:3] = "odd"
    for found in (judge(X, X[:, :2], names), judge(PCA(2), X, names)):
        assert found.rare == ("odd",)
        assert found.n_judged == 237
        assert "fewer than five judged rows, about which nothing can be said: odd" in found.verdict
        assert "odd" not in {name for pair in found.overlaps for name in (pair.of, pair.into)}
    few = np.arange(240) // 3  # every class is rare
    alone = judge(X, X[:, :2], few, target="class")
    assert alone.scores == ()
    assert len(alone.rare) == 80
    assert "and 75 more" in alone.verdict


def test_two_extreme_values_of_1665_do_not_turn_the_verdict():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1665, 4)) * [3, 2, 0.3, 0.3]
    y = X[:, 0] + 0.1 * rng.normal(size=1665)
    y[[3, 30]] = 400.0, -700.0
    found = judge(X, X[:, :2], y)
    by_name = {score.name: score.value for score in found.scores}
    assert [*by_name] == ["rank error", "nRMSE", "rank correlation"]
    assert by_name["nRMSE"] > 0.85
    assert by_name["rank correlation"] > 0.97
    assert "The target values show clearly" in found.verdict
    assert "rank correlation 0.9" in found.verdict
    skewed = judge(X, X[:, :2], np.exp(2 * X[:, 0]))
    assert skewed.target_shows
    assert judge(X, X[:, 2:], np.exp(rng.normal(size=1665) * 3)).target_shows is False


def test_the_error_is_said_to_be_of_ten_neighbours_only_where_classes_are_large_enough(flowers):
    X, y = flowers
    assert judge(X, X[:, :2], y).scores[0].name == "10-NN error"
    small = np.sort(np.arange(240) % 24)  # ten rows each
    report = judge(X, X[:, :2], small, target="class")
    assert report.scores[0].name == "vote error"
    assert "than most of their nearest neighbours" in report.verdict
    assert "ten" not in report.statement("target_shows").words


def test_clusters_of_nothing_are_called_circular(flowers):
    X, _ = flowers
    true = KMeans(3, n_init=3, random_state=0).fit_predict(X)
    noise = np.random.default_rng(0).normal(size=(240, 5))
    found = KMeans(3, n_init=3, random_state=0).fit_predict(noise)
    for how in ("clustering", KMeans(3, n_init=3, random_state=1)):
        assert judge(PCA(2), noise, found, labels_from=how).circular.explained > 0.75
        assert judge(PCA(2), X, true, labels_from=how).circular.explained < 0.6
    alone = judge(noise, noise[:, :2], found, labels_from=lambda rows: (rows[:, 0] > 0).astype(int))
    assert alone.circular.where == "data"
    assert "circular" in judge(noise, noise[:, :2], found, labels_from="clustering").verdict
    with pytest.raises(InputError, match="labels_from must be 'clustering', a clusterer"):
        judge(noise, noise[:, :2], found, labels_from=3)
    with pytest.raises(InputError, match="one label per row"):
        judge(noise, noise[:, :2], found, labels_from=lambda rows: rows)


def test_the_arrangement_of_groups_is_said(flowers):
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(6, 2)) * 10
    y = np.repeat(np.arange(6), 30)
    X = np.column_stack([centres[y], np.zeros((180, 3))]) + rng.normal(size=(180, 5))
    may = "The arrangement of the groups may be read: the nearest group is right for 6 of 6 groups, and the rank corr"
    assert may in judge(PCA(2), X, y).verdict
    torn = rng.normal(size=(6, 2))[y] * 10 + X[:, :2] - centres[y]
    report = judge(X, torn, np.array(list("abcdef"))[y])
    stated = next(one for one in report.statements if one.id == "arrangement_readable")
    assert stated.words.startswith("The arrangement of the groups should not be read: the nearest group is right for ")
    assert stated.figures["nearest_wrong"] == len(report.arrangement.wrong) > 0
    of, near = report.arrangement.wrong[0]
    assert f"({near} next to {of}" in stated.words
    assert {of, near} <= set(stated.about) <= set("abcdef")
    assert MapReport.from_dict(report.to_dict()).arrangement == report.arrangement
    first = {**report.to_dict(), "arrangement": {"correlation": 0.9, "n_pairs": 15, "p_value": 0.001}}
    words = MapReport.from_dict(first).verdict  # reports of the first version know no nearest groups
    assert "The arrangement of the groups may be read: the rank correlation" in words
    first["arrangement"] |= {"n_groups": 6, "n_right": 3, "wrong": [["a", "b"]]}
    words = MapReport.from_dict(first).verdict
    assert (
        "may be read only roughly: the nearest group is right for 3 of 6 groups and wrong for 1 (b next to a)" in words
    )
    assert "the data cannot tell for 2, and the rank correlation" in words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (lambda X, y: (X, X[:9, :2], y), "X has 240 rows and Y has 9"),
        (lambda X, y: (X, X[:, :2], y[:9]), "y has 9 entries for 240 rows"),
        (lambda X, y: (X, np.where(X[:, :2] > 5, np.nan, X[:, :2]), y), "Y holds NaN or infinite values in"),
        (lambda X, y: (X, np.ones((240, 2)), y), "all 240 rows in one place"),
        (lambda X, y: (X, X[:, 0], y), "rows by columns"),
        (lambda X, y: (X, X[:, :2], np.zeros(240, dtype=int)), "one class (0) only"),
        (lambda X, y: (np.where(X > 5, np.nan, X), X[:, :2], y), "NaN"),
        (lambda X, y: (X[:, 0], X[:, :2], y), "X must hold rows of features; got an array of shape (240,)"),
        (lambda X, y: (X.astype(str) + "m", X[:, :2], y), "X must hold numbers; text was found"),
        (lambda X, y: (np.ones((240, 3)), X[:, :2], y), "the same values in all 240 rows"),
        (lambda X, y: (X[:4], X[:4, :2], y[:4]), "X has 4 rows; at least 5"),
        (lambda X, y: (sp.csr_matrix(X), X[:, :2], y), "X is sparse"),
        (lambda X, y: ("umap", X, y), "a method that makes maps, or a PrisMap first; got 'umap'"),
        (lambda X, y: (X, np.full((240, 2), "here"), y), "coordinates as numbers, rows by columns; got text"),
        (lambda X, y: (X, X[:, :2] + 1j, y), "coordinates as numbers"),
        (lambda X, y: (X, np.ma.masked_greater(X[:, :2], 5), y), "Y holds NaN or infinite values in"),
        (lambda X, y: (X, X[:, :2], np.full((240, 2), "a")), "y has 2 columns, and not of numbers"),
        (lambda X, y: (PCA, X, y), "give it an object: PCA()"),
        (lambda X, y: (PCA(2), None, y), "judge(method, X, y)"),
        (lambda X, y: (X,), "judge(X, Y, y)"),
        (lambda X, y: (LinearDiscriminantAnalysis(), X), "LinearDiscriminantAnalysis needs a target"),
        (lambda X, y: (lambda rows: rows[:5], X, y), "a position for each of the 240 rows"),
        (lambda X, y: (lambda rows: rows * np.nan, X, y), "NaN or infinite positions for 240 of 240"),
        (lambda X, y: (lambda rows: "map", X, y), "must return positions"),
    ],
)
def test_bad_input_gets_one_clear_line(flowers, arguments, words):
    with pytest.raises(InputError) as error:
        judge(*arguments(*flowers))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"target": "klass"}, "target must be one of auto, class, real, none; got 'klass'"),
        ({"budget": "fast"}, "budget must be 'full', 'quick'"),
    ],
)
def test_unknown_words_are_refused_for_coordinates_too(flowers, words, message):
    X, y = flowers
    with pytest.raises(InputError, match=message):
        judge(X, X[:, :2], y, **words)


def test_a_target_can_be_ignored(flowers):
    X, y = flowers
    assert judge(X, X[:, :2], y, target="none").target == "none"


def test_rows_that_are_named_must_match(flowers):
    X, y = flowers
    names = [f"row{i}" for i in range(240)]
    data, labels = pd.DataFrame(X, index=names), pd.Series(y, index=names)
    Y = pd.DataFrame(X[:, :2], index=names)
    with pytest.raises(InputError, match=r"by their index not the same rows in the same order. Use Y.loc\[X.index\]"):
        judge(data, Y[::-1], labels)
    with pytest.raises(InputError, match=r"Use y.loc\[X.index\]"):
        judge(PCA(2), data, labels[::-1])
    expected = judge(X, X[:, :2], y).scores
    assert judge(data, Y[::-1].loc[data.index], labels).scores == expected
    data.index = np.arange(240)[::-1]  # drawn in another order, and a map of it that is merely numbered
    assert judge(data, Y.reset_index(drop=True), y).scores == expected
    data.index = pd.MultiIndex.from_product([range(24), range(10)])
    assert [one.value for one in judge(Y, data.iloc[:, :2], y).scores] == [one.value for one in expected]


def test_duplicated_coordinates_are_said(flowers):
    X, y = flowers
    found = judge(X, np.round(X[:, :2]), y)
    stated = found.statements[0]
    assert (stated.id, stated.level) == ("shared_places", "warning")
    assert "lie exactly where another row does" in stated.words


def test_judge_is_on_the_face_of_the_package():
    assert prismap.judge is judge
    assert "judge" in prismap.__all__


def test_a_method_that_refuses_data_without_structure_is_judged_without_it(flowers):
    X, _ = flowers

    def picky(X):
        if np.corrcoef(X.T)[0, 2] < 0.2:
            raise ValueError("these columns have nothing in common")
        return X[:, :2]

    report = judge(picky, X)
    assert report.trust is None
    assert report.structure


def test_faults_of_our_own_maps_of_one_gaussian_are_not_hidden(flowers, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("a fault of ours")

    model = PrisMap(method="mds", perplexity=10, random_state=0).fit(flowers[0][::4], flowers[1][::4])
    monkeypatch.setattr("prismap.map._judged.MapMaker.make_of", broken)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        model.report()
