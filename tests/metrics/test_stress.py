"""Elastic stress: values and gradients against the paper's formulas and finite differences; classical scaling."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist, pdist, squareform

from prismap._util import costs as _costs
from prismap._util.costs import elastic_floor, elastic_weights, stress_cost
from prismap._util.spectra import classical_scaling
from prismap.metrics._mixture_costs import ElasticCost, largest_eigenvalue, mixture_stress, of_roots
from reference import dissimilarities_reference as reference


def dissimilarities_of(n, seed):
    X = np.random.default_rng(seed).normal(size=(n, 5))
    return cdist(X, X)


@pytest.fixture
def problem():
    """Positions, three matrices of dissimilarities and raw weights, one of them negative."""
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(12, 2))
    matrices = np.array([dissimilarities_of(12, seed) for seed in (1, 2, 3)])
    return Y, matrices, np.array([0.7, 1.1, -0.2])


def condensed(matrices):
    return np.array([squareform(D, checks=False) for D in matrices])


def test_stress_equals_the_sum_over_pairs(problem):
    Y, (D, *_), _ = problem
    assert stress_cost(Y, D, elastic_weights(D, floor=1e-9))[0] == pytest.approx(
        reference.elastic_stress(Y, D), rel=1e-12
    )


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_position_gradient_equals_finite_differences(n_components):
    Y, D = np.random.default_rng(4).normal(size=(9, n_components)), dissimilarities_of(9, 5)
    D[2, 6] = D[6, 2] = 0.0  # below the floor
    W = elastic_weights(D)
    numeric = approx_fprime(Y.ravel(), lambda flat: stress_cost(flat.reshape(Y.shape), D, W)[0], 1e-7)
    np.testing.assert_allclose(stress_cost(Y, D, W)[1].ravel(), numeric, rtol=1e-4, atol=1e-6 * np.abs(numeric).max())


def test_printed_position_gradient_is_that_of_twice_the_stress(problem):
    Y, (D, *_), _ = problem
    gradient = stress_cost(Y, D, elastic_weights(D, floor=1e-9))[1]
    np.testing.assert_allclose(reference.printed_position_gradient(Y, D), 2 * gradient, rtol=1e-10)


def test_mixture_stress_is_the_stress_of_the_mixture(problem):
    Y, matrices, a = problem
    D = np.tensordot(a / a.sum(), matrices, axes=1)
    value = mixture_stress(a, condensed(matrices), pdist(Y), 1e-9)[0]
    assert value == pytest.approx(reference.elastic_stress(Y, D), rel=1e-12)


@pytest.mark.parametrize("floor", [1e-9, 2.5])
def test_weight_gradient_equals_finite_differences(problem, floor):
    Y, matrices, a = problem
    rows, d = condensed(matrices), pdist(Y)
    below = (a / a.sum() @ rows < floor).sum()
    assert 0 < below < len(d) if floor > 1 else below == 0
    numeric = approx_fprime(a, lambda w: mixture_stress(w, rows, d, floor)[0], 1e-7)
    np.testing.assert_allclose(mixture_stress(a, rows, d, floor)[1], numeric, rtol=1e-5)


def test_printed_weight_gradient_is_that_of_twice_the_stress(problem):
    Y, matrices, a = problem
    gradient = mixture_stress(a, condensed(matrices), pdist(Y), 1e-9)[1]
    np.testing.assert_allclose(reference.printed_weight_gradient(a, matrices, Y), 2 * gradient, rtol=1e-9)


def test_weights_matter_only_by_their_shares(problem):
    Y, matrices, a = problem
    value, gradient = mixture_stress(a, condensed(matrices), pdist(Y), 1e-3)
    assert mixture_stress(3 * a, condensed(matrices), pdist(Y), 1e-3)[0] == pytest.approx(value, rel=1e-12)
    assert gradient @ a == pytest.approx(0, abs=1e-9 * np.abs(gradient).max())


def test_roots_keep_weights_from_falling_below_zero(problem):
    Y, matrices, _ = problem
    objective = of_roots(ElasticCost().of_weights(condensed(matrices), None, Y))
    b = np.array([0.9, 1.2, 0.4])
    numeric = approx_fprime(b, lambda x: objective(x)[0], 1e-7)
    np.testing.assert_allclose(objective(b)[1], numeric, atol=1e-6 * np.abs(numeric).max())
    assert objective(b)[0] == mixture_stress(b**2, condensed(matrices), pdist(Y), 1e-3)[0]


def test_elastic_stress_is_free_of_scale(problem):
    Y, (D, *_), _ = problem
    assert stress_cost(7 * Y, 7 * D, elastic_weights(7 * D))[0] == pytest.approx(
        stress_cost(Y, D, elastic_weights(D))[0]
    )


def test_small_blocks_change_nothing(problem, monkeypatch):
    Y, matrices, a = problem
    D, rows, d = matrices[0], condensed(matrices), pdist(Y)
    whole = stress_cost(Y, D, elastic_weights(D)), mixture_stress(a, rows, d, 1e-3)
    small = 8 * len(Y) * 5
    monkeypatch.setattr(_costs, "CACHED_BYTES", 2 * small)
    blocks = stress_cost(Y, D, elastic_weights(D)), mixture_stress(a, rows, d, 1e-3, block_bytes=small)
    for (value, gradient), (again, gradient_again) in zip(whole, blocks, strict=True):
        assert again == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(gradient_again, gradient, rtol=1e-11)


def test_points_that_coincide_have_a_finite_gradient():
    D = dissimilarities_of(5, 1)
    value, gradient = stress_cost(np.full((5, 2), 0.3), D, elastic_weights(D))
    assert value == pytest.approx(10)
    np.testing.assert_allclose(gradient, 0, atol=1e-12)


def test_floor_bounds_the_weights_of_equal_rows():
    D = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 4.0], [2.0, 4.0, 0.0]])
    assert elastic_floor(D) == pytest.approx(2e-3)
    W = elastic_weights(D)
    assert W[0, 1] == pytest.approx(1 / 2e-3**2)
    assert W[0, 2] == pytest.approx(1 / 4)
    assert not np.diag(W).any()
    assert elastic_floor(squareform(D)) == elastic_floor(D)
    assert elastic_floor(np.zeros((3, 3))) == 1.0


@pytest.mark.parametrize("n", [400, 40, 8])
def test_classical_scaling_recovers_a_plane(n):
    X = np.random.default_rng(2).normal(size=(n, 2))
    Y, values, missing = classical_scaling(np.square(cdist(X, X)), 2)
    np.testing.assert_allclose(pdist(Y), pdist(X), rtol=1e-7)
    np.testing.assert_allclose(values, np.square(Y).sum(axis=0), rtol=1e-7)
    assert missing < 1e-6
    np.testing.assert_array_equal(Y, classical_scaling(np.square(cdist(X, X)), 2)[0])


def test_axes_beyond_the_number_of_rows_are_zero():
    Y, values, missing = classical_scaling(np.array([[0.0, 1.0], [1.0, 0.0]]), 3)
    np.testing.assert_allclose(np.abs(Y), [[0.5, 0, 0], [0.5, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(values, [0.5, 0, 0], atol=1e-12)
    assert missing == pytest.approx(0, abs=1e-7)
    assert classical_scaling(np.zeros((1, 1)), 2)[0].tolist() == [[0, 0]]


@pytest.mark.parametrize("n", [2, 3, 30])
def test_largest_eigenvalue(n):
    D = dissimilarities_of(n, 3)
    assert largest_eigenvalue(D) == pytest.approx(np.linalg.eigvalsh(D)[-1], rel=1e-9)
    assert largest_eigenvalue(np.zeros((n, n))) == 0
