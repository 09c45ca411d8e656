"""Relevance of features for a map: equal to the formulas, true on made data, lawful, and clear about bad input."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap._util.affinities import calibrate
from prismap._util.costs import nerv_cost
from prismap.exceptions import InputError, PrismapWarning
from prismap.quality import q_nx
from prismap.relevance import FeatureRelevance, relevance_by_group, relevance_curve
from prismap.relevance import _features as features
from prismap.relevance import _neighborhoods as neighborhoods
from reference.relevance_reference import nerv_reference, q_nx_reference

METHODS = ["forward", "backward", "weights", "matrix"]


@parametrize_with_checks([FeatureRelevance(), FeatureRelevance("weights", n_permuted=0, max_iter=5)])
@pytest.mark.filterwarnings("ignore:n_neighbors=10 is too large")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def map_of_two(seed=0, n=80, d=5):
    """The map shows the first two of five independent features, with a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :2] + 0.1 * rng.normal(size=(n, 2))


# --- the slow twins ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 4, 9])
def test_qualities_equal_the_formula_with_ties(k, monkeypatch):
    rng = np.random.default_rng(k)
    X = np.column_stack([rng.integers(4, size=20), rng.integers(2, size=20), np.ones(20), rng.normal(size=20)])
    Y = np.column_stack([X[:, 0], rng.integers(3, size=20)]).astype(float)  # ties in the map, too
    monkeypatch.setattr(neighborhoods, "CACHED_BYTES", 8 * 20 * 6)  # six rows a block
    rows = np.array([0, 3, 4, 11, 12, 13, 19])
    for judged in (None, rows):
        forward = FeatureRelevance(n_neighbors=k, n_permuted=0).fit(X, Y, subset=judged)
        expected = [q_nx_reference(X[:, [j]], Y, k, judged) for j in range(4)]
        np.testing.assert_allclose(forward.quality_, expected, atol=1e-12)
        np.testing.assert_allclose(forward.relevance_, expected, atol=1e-12)
    distinct = rng.normal(size=(20, 4))
    for judged in (None, rows):
        backward = FeatureRelevance("backward", n_neighbors=k, n_permuted=0).fit(distinct, Y, subset=judged)
        expected = [q_nx_reference(np.delete(distinct, j, axis=1), Y, k, judged) for j in range(4)]
        np.testing.assert_allclose(backward.quality_, expected, atol=1e-12)
        total = q_nx_reference(distinct, Y, k, judged)
        np.testing.assert_allclose(backward.relevance_, total - np.array(expected), atol=1e-12)


def test_qualities_equal_those_of_the_quality_room():
    X, Y = map_of_two()
    forward = FeatureRelevance(n_neighbors=7, n_permuted=0).fit(X, Y)
    backward = FeatureRelevance("backward", n_neighbors=7, n_permuted=0).fit(X, Y)
    np.testing.assert_allclose(forward.quality_, [q_nx(X[:, [j]], Y, n_neighbors=7) for j in range(5)])
    np.testing.assert_allclose(backward.quality_, [q_nx(np.delete(X, j, 1), Y, n_neighbors=7) for j in range(5)])


@pytest.mark.parametrize("gamma", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("rows", [np.arange(30), np.array([2, 3, 17])])
def test_nerv_cost_equals_the_formula(gamma, rows):
    X, Y = map_of_two(n=30)
    near = neighborhoods.map_neighbors(X, Y, 6, rows, gamma)
    sigmas = []
    for A in (X, Y):
        D2 = cdist(A, A, "sqeuclidean")
        np.fill_diagonal(D2, np.inf)
        sigmas.append(calibrate(D2, 6)[1])
    omega = np.random.default_rng(1).normal(size=(3, 5))
    found = neighborhoods.matrix_cost(omega, X, near, 0.7)[0]
    right = nerv_reference(X @ omega.T, Y, *sigmas, gamma, rows)
    np.testing.assert_allclose(found, right * 30 / len(rows) + 0.7 * (omega**2).sum(), rtol=1e-8)
    s = np.random.default_rng(2).exponential(size=5)
    weighted = neighborhoods.weights_cost(s, X, near, 0.7)[0]
    np.testing.assert_allclose(weighted, neighborhoods.matrix_cost(np.diag(np.sqrt(s)), X, near, 0.7)[0], rtol=1e-10)


def test_nerv_cost_equals_that_of_the_embedding_with_the_sides_swapped():
    X, Y = map_of_two(n=40)
    near = neighborhoods.map_neighbors(X, Y, 6, np.arange(40), 0.3)
    omega = np.random.default_rng(1).normal(size=(3, 5))
    value, gradient = neighborhoods.matrix_cost(omega, X, near, 0.0)
    other, by_position = nerv_cost(X @ omega.T, near.Q, np.sqrt(0.5 / near.beta), gamma=0.7)
    np.testing.assert_allclose(value, other, rtol=1e-12)
    np.testing.assert_allclose(gradient, by_position.T @ X, atol=1e-9)


@pytest.mark.parametrize("rows", [np.arange(40), np.array([1, 5, 6, 30])])
def test_gradients_by_finite_differences(rows, monkeypatch):
    X, Y = map_of_two(n=40)
    monkeypatch.setattr(neighborhoods, "CACHED_BYTES", 8 * 40 * 7)  # seven rows a block
    near = neighborhoods.map_neighbors(X, Y, 6, rows, 0.4)
    omega = np.random.default_rng(1).normal(size=(3, 5))
    by_omega = neighborhoods.matrix_cost(omega, X, near, 0.5)[1].ravel()
    numeric = approx_fprime(omega.ravel(), lambda o: neighborhoods.matrix_cost(o.reshape(3, 5), X, near, 0.5)[0], 1e-7)
    np.testing.assert_allclose(by_omega, numeric, rtol=1e-4, atol=1e-3)
    s = np.array([0.5, 1.0, 2.0, 0.1, 0.0])
    by_s = neighborhoods.weights_cost(s, X, near, 0.5)[1]
    numeric = approx_fprime(s, lambda s: neighborhoods.weights_cost(s, X, near, 0.5)[0], 1e-7)
    np.testing.assert_allclose(by_s, numeric, rtol=1e-4, atol=1e-3)


# --- known truth ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(3))
def test_finds_the_features_that_the_map_shows(method, seed):
    X, Y = map_of_two(seed)
    model = FeatureRelevance(method, random_state=0).fit(X, Y)
    assert model.relevance_[:2].min() > model.relevance_[2:].max()
    assert model.relevant_[:2].all()
    assert not model.relevant_[2:].any()
    copies = 20 if method in ("weights", "matrix") else 20 * X.shape[1]
    assert model.null_.shape == (copies,)
    assert model.threshold_ >= model.null_.max()


def test_many_features_without_relevance_are_not_starred():
    """Of 80 features beside a random map, twenty copies alone would let four pass."""
    passed = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, Y = rng.normal(size=(60, 80)), rng.normal(size=(60, 2))
        passed.append(FeatureRelevance(random_state=seed).fit(X, Y).relevant_.sum())
    assert sum(passed) <= 1


def test_the_threshold_is_the_best_copy_where_there_are_enough_and_higher_where_not():
    null = np.random.default_rng(0).normal(size=100)
    assert features.corrected_threshold(null, 5) == null.max()
    assert features.corrected_threshold(null, 500) > null.max()
    assert np.isclose(
        features.corrected_threshold(np.random.default_rng(0).normal(size=100_000), 10**6), 5.3, atol=0.15
    )


@pytest.mark.parametrize("method", METHODS)
def test_features_of_a_random_map_are_not_relevant(method):
    rng = np.random.default_rng(0)
    maps = [(rng.normal(size=(50, 4)), rng.normal(size=(50, 2))) for _ in range(5)]
    passed = [FeatureRelevance(method, random_state=0).fit(X, Y).relevant_.mean() for X, Y in maps]
    assert np.mean(passed) <= 0.2


def test_locally_all_features_count_and_beyond_the_clusters_only_those_that_separate():
    """Thesis, data set1: three clusters in two of three dimensions (Fig. 4.3)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)) + 8.0 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])[np.arange(60) % 3]
    Y = X[:, :2] + 0.5 * X[:, 2:] * [0.6, -0.8]  # shows all three inside a cluster, two between clusters
    curve = relevance_curve(FeatureRelevance("weights"), X, Y, [5, 25])
    share = curve / curve.sum(axis=1, keepdims=True)
    assert share.shape == (2, 3)
    assert share[0, 2] > 2 * share[1, 2]
    one = FeatureRelevance("weights", n_neighbors=25, n_permuted=0).fit(X, Y)
    np.testing.assert_allclose(curve[1], one.relevance_)


def test_local_form_tells_clusters_apart():
    """One half of the rows is arranged by features 0 and 1, the other by 2 and 3."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    half = np.arange(100) < 50
    Y = np.where(half[:, None], X[:, :2], X[:, 2:] + [40.0, 0.0])
    X = np.column_stack([X, 20.0 * half])  # and one feature keeps the halves apart
    for method in METHODS:
        names, models = relevance_by_group(FeatureRelevance(method, n_neighbors=8, n_permuted=0), X, Y, half)
        assert names.tolist() == [False, True]
        assert set(models[1].relevance_[:4].argsort()[-2:]) == {0, 1}
        assert set(models[0].relevance_[:4].argsort()[-2:]) == {2, 3}


def test_transform_imprints_the_map():
    X, Y = map_of_two()
    for method in ("weights", "matrix"):
        model = FeatureRelevance(method, n_permuted=0).fit(X, Y)
        before, after = (float(q_nx(A, Y, n_neighbors=10)) for A in (X, model.transform(X)))
        assert after > before + 0.3
        np.testing.assert_allclose(model.transform(X), X @ model.omega_.T)
        np.testing.assert_allclose(model.relevance_, np.diag(model.omega_.T @ model.omega_), atol=1e-9)
        shown = model.project(X)
        assert shown.shape == (80, 2)
        assert float(q_nx(shown, Y, n_neighbors=10)) > before + 0.3


def test_matrix_finds_a_direction_that_is_no_feature():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    Y = np.column_stack([X[:, 0] + X[:, 1], X[:, 2]])
    full = FeatureRelevance("matrix", n_permuted=0).fit(X, Y)
    low = FeatureRelevance("matrix", n_components=2, n_permuted=0).fit(X, Y)
    assert low.omega_.shape == (2, 4)
    for model in (full, low):
        values, vectors = np.linalg.eigh(model.omega_.T @ model.omega_)
        assert values[-3] < 0.05 * values[-2]  # two directions, as the map has,
        plane = vectors[:, -2:]
        shown = np.array([[1, 1, 0, 0], [0, 0, np.sqrt(2), 0]]).T / np.sqrt(2)
        assert np.linalg.svd(plane.T @ shown)[1].min() > 0.98  # and they are the map's


# --- laws -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_rotating_and_scaling_the_map_changes_nothing(method):
    X, Y = map_of_two(n=40)
    turned = 7.0 * Y @ np.array([[0.6, 0.8], [-0.8, 0.6]]) + 3.0
    one, two = (FeatureRelevance(method, n_neighbors=5, n_permuted=0).fit(X, A).relevance_ for A in (Y, turned))
    np.testing.assert_allclose(one, two, atol=1e-3 * one.max())


@pytest.mark.parametrize("method", METHODS)
def test_constant_feature_is_at_chance(method):
    X, Y = map_of_two(n=60)
    X[:, 4] = 2.0
    model = FeatureRelevance(method, n_neighbors=6, n_permuted=5, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.relevance_[4], 6 / 59 if method == "forward" else 0.0, atol=1e-4)


def test_sorted_rows_and_binary_features_are_at_chance():
    """Ties must not be broken by the order of the rows, which often follows the map."""
    rng = np.random.default_rng(0)
    Y = np.sort(rng.normal(size=400))[:, None]
    X = rng.integers(2, size=(400, 30)).astype(float)
    found = FeatureRelevance(n_permuted=0).fit(X, Y).relevance_
    np.testing.assert_allclose(found.mean(), 10 / 399, rtol=0.1)


def test_same_seed_same_result_and_starts_agree():
    X, Y = map_of_two(n=50)
    model = FeatureRelevance("weights", n_init=3, random_state=1)
    one, two = (model.fit(X, Y).relevance_.copy() for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert model.relevances_.shape == (3, 5)
    assert model.objective_ == model.objectives_.min()
    np.testing.assert_allclose(model.relevances_, [one] * 3, atol=0.01 * one.max())


@pytest.mark.parametrize("method", ["backward", "weights"])
def test_sample_of_rows_gives_nearly_the_same(method, monkeypatch):
    X, Y = map_of_two(n=400)
    whole = FeatureRelevance(method, n_permuted=0).fit(X, Y).relevance_
    sampled = FeatureRelevance(method, n_permuted=0, n_samples=150, random_state=0).fit(X, Y).relevance_
    assert np.corrcoef(sampled, whole)[0, 1] > 0.99
    np.testing.assert_allclose(sampled, whole, atol=0.15 * np.abs(whole).max())
    assert (sampled != whole).any()
    monkeypatch.setattr(features, "MOST_PAIRS", 400 * 150)
    by_itself = FeatureRelevance(method, n_permuted=0, random_state=0).fit(X, Y).relevance_
    np.testing.assert_allclose(by_itself, sampled)


def test_names_in_and_out():
    X, Y = map_of_two(n=40)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = FeatureRelevance("weights", n_permuted=0).fit(frame, pd.DataFrame(Y))
    assert model.feature_names_in_.tolist() == list("abcde")
    assert model.get_feature_names_out().tolist() == list("abcde")
    model = FeatureRelevance("matrix", n_components=2, n_permuted=0).fit(frame, Y)
    assert model.get_feature_names_out().tolist() == ["omega0", "omega1"]


# --- bad input --------------------------------------------------------------------------------------------------------


def test_forward_has_no_transform():
    X, Y = map_of_two(n=20)
    assert not hasattr(FeatureRelevance(n_neighbors=5).fit(X, Y), "transform")


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        (np.zeros((3, 2)), "a position is needed for each row"),
        (np.full((20, 2), np.nan), "40 entries that are NaN or infinity"),
        (["a"] * 20, "as numbers"),
        (None, "the target y is None"),
    ],
)
def test_bad_positions(Y, message):
    with pytest.raises(InputError, match=message):
        FeatureRelevance().fit(map_of_two(n=20)[0], Y)


@pytest.mark.parametrize("subset", [[], [20], [-1], np.ones(5, bool), [0.5]])
def test_bad_subset(subset):
    X, Y = map_of_two(n=20)
    with pytest.raises(InputError, match="subset"):
        FeatureRelevance(n_neighbors=5).fit(X, Y, subset=subset)


def test_too_many_neighbors_are_lowered_with_a_warning():
    X, Y = map_of_two(n=12)
    with pytest.warns(PrismapWarning, match="n_neighbors=10 is too large for 12 rows; 5 is used"):
        assert FeatureRelevance().fit(X, Y).n_neighbors_ == 5


def test_duplicated_rows_and_a_map_in_one_place():
    X, Y = map_of_two(n=20)
    X, Y = np.repeat(X, 3, axis=0), np.repeat(Y, 3, axis=0)
    for method in METHODS:
        assert np.isfinite(FeatureRelevance(method, n_neighbors=5, n_permuted=2).fit(X, Y).relevance_).all()
        assert np.isfinite(FeatureRelevance(method, n_neighbors=5, n_permuted=2).fit(X, 0 * Y).relevance_).all()
