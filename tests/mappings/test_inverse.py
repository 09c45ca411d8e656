"""InverseMap: least squares and Fisher-weighted, against explicit formulas."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.exceptions import InputError
from prismap.mappings import InverseMap
from prismap.mappings._inverse import ridge_solution, tensor_weights, weighted_solution
from prismap.metrics import FisherMetric
from reference import mappings_reference as slow


@parametrize_with_checks([InverseMap(), InverseMap(bandwidth="all-representable")])
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def surface():
    """A curved sheet in five dimensions over the unit square, with a little noise."""
    rng = np.random.default_rng(0)
    Y = rng.uniform(size=(400, 2))
    X = np.column_stack([Y, np.sin(4 * Y[:, 0]), Y[:, 0] * Y[:, 1], np.cos(3 * Y[:, 1])])
    return Y, X + 0.02 * rng.normal(size=X.shape)


def test_equals_the_formula_of_the_thesis(surface):
    Y, X = surface
    model = InverseMap(bandwidth=1.2, ridge=0.01, n_landmarks=30, landmarks="subset").fit(Y[:300], X[:300])
    width = np.full(30, 1.2 * np.median(slow.neighbor_distances(model.landmarks_, 1)))
    K = slow.normalized_gram(cdist(Y[:300], model.landmarks_), width)
    center = X[:300].mean(axis=0)
    A = np.linalg.inv(K.T @ K + 0.01 * np.eye(30)) @ K.T @ (X[:300] - center)
    expected = slow.kernel_map(cdist(Y[300:], model.landmarks_), A, width) + center
    np.testing.assert_allclose(model.transform(Y[300:]), expected, atol=1e-8)


def test_the_width_by_what_numbers_can_represent(surface):
    Y, X = surface
    options = {"ridge": 0.01, "n_landmarks": 30, "landmarks": "subset"}
    model = InverseMap(bandwidth="all-representable", **options).fit(Y[:300], X[:300])
    width, factor = slow.representable_widths(Y[:300], model.landmarks_)
    floor = 0.1 * np.median(slow.neighbor_distances(model.landmarks_, 1))
    assert slow.neighbor_distances(model.landmarks_, 1).min() > floor  # else the library keeps kernels from vanishing
    assert model.factor_ == pytest.approx(factor)
    np.testing.assert_allclose(model.bandwidth_, width)
    K = slow.normalized_gram(cdist(Y[:300], model.landmarks_), width)
    center = X[:300].mean(axis=0)
    A = np.linalg.inv(K.T @ K + 0.01 * np.eye(30)) @ K.T @ (X[:300] - center)
    expected = slow.kernel_map(cdist(Y[300:], model.landmarks_), A, width) + center
    np.testing.assert_allclose(model.transform(Y[300:]), expected, atol=1e-6)


@pytest.mark.parametrize("landmarks", ["kmeans", "subset"])
def test_the_surface_is_found_between_the_rows(surface, landmarks):
    Y, X = surface
    model = InverseMap(landmarks=landmarks).fit(Y[:300], X[:300])
    error = np.square(model.transform(Y[300:]) - X[300:]).mean() / X[300:].var()
    assert error < 0.02
    assert len(model.landmarks_) == 75


def test_the_width_is_judged_on_rows_left_out(surface):
    Y, X = surface
    noise = np.random.default_rng(0).normal(size=X.shape)
    assert InverseMap(n_landmarks=150).fit(Y, noise).factor_ > InverseMap(n_landmarks=150).fit(Y, X).factor_
    assert InverseMap(n_landmarks=150).fit(Y, noise).factor_ == 3.0


def test_the_same_seed_gives_the_same_surface(surface):
    Y, X = surface
    first, second = (InverseMap(random_state=3).fit(Y, X).transform(Y) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_a_position_does_not_depend_on_its_company(surface):
    Y, X = surface
    model = InverseMap().fit(Y, X)
    np.testing.assert_allclose(model.transform(Y)[7], model.transform(Y[7:8])[0], atol=1e-12)


def test_the_weighted_cost_is_the_formula_and_cg_finds_its_minimum(surface):
    Y, X = surface
    Y, X = Y[:60], X[:60] - X[:60].mean(axis=0)
    F = np.random.default_rng(1).normal(size=(60, 3, 5))
    K = slow.normalized_gram(cdist(Y, Y[:8]), np.full(8, 0.3))
    J = np.einsum("ncd,nce->nde", F, F)
    start = ridge_solution(K, X, 0.1)
    A, (before, after) = weighted_solution(K, X, tensor_weights(F, 0.5), 0.1, start)
    assert before == pytest.approx(slow.weighted_inverse_cost(K, start, X, J, 0.5, 0.1))
    assert after == pytest.approx(slow.weighted_inverse_cost(K, A, X, J, 0.5, 0.1))
    rng = np.random.default_rng(2)
    for _ in range(20):
        other = A + 0.01 * rng.normal(size=A.shape)
        assert slow.weighted_inverse_cost(K, other, X, J, 0.5, 0.1) > after
    assert after < before


def test_equal_weights_are_the_euclidean_solution(surface):
    Y, X = surface
    K = slow.normalized_gram(cdist(Y[:60], Y[:8]), np.full(8, 0.3))
    F = np.zeros((60, 2, 5))
    start = np.zeros((8, 5))
    A, _ = weighted_solution(K, X[:60], tensor_weights(F, 1.0), 0.1, start)
    np.testing.assert_allclose(A, ridge_solution(K, X[:60], 0.1), atol=1e-6)


def test_a_fisher_metric_meets_the_relevant_directions_better():
    """Only the first coordinate matters, and a few kernels cannot follow all of them."""
    rng = np.random.default_rng(0)
    Y = rng.uniform(size=(300, 2))
    X = np.column_stack([np.sin(9 * Y[:, 0]), *(3 * rng.normal(size=(2, 300)))])
    metric = FisherMetric(posterior="parzen", random_state=0).fit(X, X[:, 0] > 0)
    plain = InverseMap(n_landmarks=8, bandwidth=1.0).fit(Y, X)
    weighted = InverseMap(metric, n_landmarks=8, bandwidth=1.0, euclidean_share=0.1).fit(Y, X)
    assert weighted.cost_[1] < weighted.cost_[0]
    F = metric.tensor_factor(None)
    costs = [np.square(np.einsum("ncd,nd->nc", F, X - model.transform(Y))).sum() for model in (plain, weighted)]
    assert costs[1] < costs[0]


def test_places_far_from_data_are_flagged(surface):
    Y, X = surface
    model = InverseMap().fit(Y, X)
    assert model.is_far([[5.0, 5.0]]).all()
    assert not model.is_far(Y).any()
    assert np.isfinite(model.transform([[1e6, -1e6]])).all()


def test_bad_input_is_named(surface):
    Y, X = surface
    with pytest.raises(InputError, match="n_landmarks=401 is more than the 400 distinct positions"):
        InverseMap(n_landmarks=401).fit(Y, X)
    with pytest.raises(InputError, match="the rows has 399"):
        InverseMap().fit(Y, X[1:])
    with pytest.raises(InputError, match="fitted FisherMetric"):
        InverseMap(FisherMetric()).fit(Y, X)
    metric = FisherMetric(posterior="parzen", perplexity=10).fit(X[:50], X[:50, 0] > 0.5)
    with pytest.raises(InputError, match="fitted on 50 rows and 400 were given"):
        InverseMap(metric).fit(Y, X)


def test_duplicated_positions_are_averaged():
    Y = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 4, axis=0)
    X = np.arange(12.0)[:, None]
    found = InverseMap(ridge=0).fit(Y, X).transform([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(found[:, 0], [1.5, 5.5, 9.5], atol=1e-6)
