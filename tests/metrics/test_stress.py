"""Elastic stress: values and gradients against the paper's formulas and finite differences; the two minimisers."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime, rosen, rosen_der
from scipy.spatial.distance import cdist, pdist, squareform

from prismap.metrics import stress as module
from prismap.metrics._scg import minimize
from prismap.metrics.stress import (
    classical_positions,
    elastic_floor,
    elastic_weights,
    largest_eigenvalue,
    mixture_stress,
    stress,
    weight_objective,
)
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
    assert stress(Y, D, elastic_weights(D, floor=1e-9))[0] == pytest.approx(reference.elastic_stress(Y, D), rel=1e-12)


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_position_gradient_equals_finite_differences(n_components):
    Y, D = np.random.default_rng(4).normal(size=(9, n_components)), dissimilarities_of(9, 5)
    D[2, 6] = D[6, 2] = 0.0  # below the floor
    W = elastic_weights(D)
    numeric = approx_fprime(Y.ravel(), lambda flat: stress(flat.reshape(Y.shape), D, W)[0], 1e-7)
    np.testing.assert_allclose(stress(Y, D, W)[1].ravel(), numeric, rtol=1e-4, atol=1e-6 * np.abs(numeric).max())


def test_printed_position_gradient_is_that_of_twice_the_stress(problem):
    Y, (D, *_), _ = problem
    gradient = stress(Y, D, elastic_weights(D, floor=1e-9))[1]
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
    objective = weight_objective(condensed(matrices), pdist(Y), 1e-3, allow_negative=False)
    b = np.array([0.9, 1.2, 0.4])
    numeric = approx_fprime(b, lambda x: objective(x)[0], 1e-7)
    np.testing.assert_allclose(objective(b)[1], numeric, atol=1e-6 * np.abs(numeric).max())
    assert objective(b)[0] == mixture_stress(b**2, condensed(matrices), pdist(Y), 1e-3)[0]


def test_elastic_stress_is_free_of_scale(problem):
    Y, (D, *_), _ = problem
    assert stress(7 * Y, 7 * D, elastic_weights(7 * D))[0] == pytest.approx(stress(Y, D, elastic_weights(D))[0])


def test_small_blocks_change_nothing(problem, monkeypatch):
    Y, matrices, a = problem
    D, rows, d = matrices[0], condensed(matrices), pdist(Y)
    whole = stress(Y, D, elastic_weights(D)), mixture_stress(a, rows, d, 1e-3)
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * len(Y) * 5)
    blocks = stress(Y, D, elastic_weights(D)), mixture_stress(a, rows, d, 1e-3)
    for (value, gradient), (again, gradient_again) in zip(whole, blocks, strict=True):
        assert again == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(gradient_again, gradient, rtol=1e-11)


def test_points_that_coincide_have_a_finite_gradient():
    D = dissimilarities_of(5, 1)
    value, gradient = stress(np.full((5, 2), 0.3), D, elastic_weights(D))
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


def test_classical_scaling_recovers_a_plane():
    X = np.random.default_rng(2).normal(size=(40, 2))
    for n in (40, 8):
        np.testing.assert_allclose(pdist(classical_positions(cdist(X[:n], X[:n]), 2)), pdist(X[:n]), rtol=1e-8)
    assert classical_positions(np.array([[0.0, 1.0], [1.0, 0.0]]), 3).shape == (2, 3)


@pytest.mark.parametrize("n", [2, 3, 30])
def test_largest_eigenvalue(n):
    D = dissimilarities_of(n, 3)
    assert largest_eigenvalue(D) == pytest.approx(np.linalg.eigvalsh(D)[-1], rel=1e-9)
    assert largest_eigenvalue(np.zeros((n, n))) == 0


def rosenbrock(x):
    return rosen(x), rosen_der(x)


@pytest.mark.parametrize("solver", ["scg", "lbfgs"])
def test_minimisers_find_the_minimum(solver):
    result = minimize(rosenbrock, np.array([0.5, 1.2, 0.7, 2.0]), solver=solver, max_iter=3000, tol=0.0)
    assert result.stop_reason == "converged"
    np.testing.assert_allclose(result.x, 1, atol=2e-4)
    assert result.value == pytest.approx(rosen(result.x))


def test_scaled_conjugate_gradients_end_on_a_quadratic_in_as_many_steps_as_variables():
    A = np.diag([1.0, 4.0, 9.0, 30.0, 50.0])
    result = minimize(lambda x: (x @ A @ x / 2, A @ x), np.ones(5), solver="scg", max_iter=15, tol=0.0)
    assert result.value < 1e-8


@pytest.mark.parametrize("solver", ["scg", "lbfgs"])
def test_minimisers_only_go_down_and_report_each_step(solver):
    seen = []
    start = np.array([-1.2, 1.0, 0.7])
    result = minimize(rosenbrock, start, solver=solver, max_iter=25, callback=lambda i, v, x: seen.append((i, v)))
    values = [rosen(start), *(value for _, value in seen)]
    assert all(after <= before for before, after in pairwise(values))
    assert [number for number, _ in seen] == list(range(1, 26))
    assert (result.n_iter, result.stop_reason) == (25, "max_iter")
    assert result.value == values[-1]


@pytest.mark.parametrize("solver", ["scg", "lbfgs"])
def test_minimisers_stop_when_asked(solver):
    result = minimize(rosenbrock, np.array([-1.2, 1.0]), solver=solver, callback=lambda i, v, x: i == 3)
    assert (result.n_iter, result.stop_reason) == (3, "callback")


@pytest.mark.parametrize("solver", ["scg", "lbfgs"])
def test_tolerance_is_a_share_of_the_value_whatever_its_size(solver):
    start = np.array([-1.2, 1.0])
    free = minimize(rosenbrock, start, solver=solver, tol=0.0)
    for size in (1.0, 1e-6):
        run = minimize(lambda x, size=size: (size * rosen(x), size * rosen_der(x)), start, solver=solver, tol=0.05)
        assert run.stop_reason == "converged"
        assert 1 < run.n_iter < free.n_iter
        assert run.value > 1e-3 * size


@pytest.mark.parametrize("solver", ["scg", "lbfgs"])
def test_minimisers_stay_at_a_minimum(solver):
    result = minimize(rosenbrock, np.ones(3), solver=solver)
    assert (result.n_iter, result.value, result.stop_reason) == (0, 0.0, "converged")


def test_a_step_into_the_infinite_is_taken_back():
    def wall(x):
        return (np.inf, np.zeros(1)) if x[0] > 2 else (float(-np.log(2.5 - x[0])) + x[0] ** 4, -x / x + 4 * x**3)

    start = np.array([-1.9])
    assert minimize(wall, start, solver="scg", max_iter=1).value < wall(start)[0]
