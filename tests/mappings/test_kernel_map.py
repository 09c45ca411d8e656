"""KernelMap against the slow twin, and the laws it must keep."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.mappings import KernelMap
from reference.mappings_reference import interpolation_coefficients, kernel_map, nearest_neighbor_distances


@parametrize_with_checks([KernelMap()])
def test_is_a_scikit_learn_estimator(estimator, check):
    check(estimator)


@pytest.fixture
def curve():
    """A curve in space, and its positions along a spiral."""
    rng = np.random.default_rng(0)
    t = rng.uniform(0, 3, 120)
    X = np.column_stack([t, np.sin(3 * t), np.cos(2 * t), 0.05 * rng.normal(size=(120, 4))])
    return X, np.column_stack([t * np.cos(2 * t), t * np.sin(2 * t)])


def test_equals_the_formula_of_the_paper(curve):
    X, Y = curve
    found = KernelMap(bandwidth=0.7, ridge=0).fit(X[:80], Y[:80])
    bandwidth = 0.7 * nearest_neighbor_distances(X[:80])
    np.testing.assert_allclose(found.bandwidth_, bandwidth, rtol=1e-6)
    A = interpolation_coefficients(cdist(X[:80], X[:80]), Y[:80], bandwidth)
    expected = kernel_map(cdist(X[80:], X[:80]), A, bandwidth)
    np.testing.assert_allclose(found.transform(X[80:]), expected, atol=1e-6)


def test_interpolation_reproduces_the_fitted_rows(curve):
    X, Y = curve
    model = KernelMap(bandwidth=0.7, ridge=0).fit(X, Y)
    np.testing.assert_allclose(model.transform(X), Y, atol=1e-8)
    assert model.residual_ < 1e-8


def test_a_small_bandwidth_tends_to_the_nearest_row(curve):
    X, Y = curve
    model = KernelMap(bandwidth=0.01, ridge=0).fit(X[:80], Y[:80])
    scaled = cdist(X[80:], X[:80]) / model.bandwidth_
    np.testing.assert_allclose(model.transform(X[80:]), Y[:80][scaled.argmin(axis=1)], atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_row_does_not_depend_on_its_company(curve, dtype):
    X, Y = curve
    rows = np.tile(X, (12, 1)).astype(dtype)
    model = KernelMap().fit(X.astype(dtype), Y)
    together = model.transform(rows)
    alone = np.vstack([model.transform(rows[i : i + 1]) for i in range(0, len(rows), 97)])
    np.testing.assert_allclose(together[::97], alone, atol=1e-6)


def test_far_rows_are_placed_and_flagged(curve):
    X, Y = curve
    model = KernelMap(bandwidth=0.3).fit(X, Y)
    far = X[:3] + 1e4
    assert np.isfinite(model.transform(far)).all()
    assert model.is_far(far).all()
    assert (model.distance_to_data(X) == 0).all()
