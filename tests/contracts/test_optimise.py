"""The one minimiser: it only goes down, says why it stopped, and keeps the shape of the variables."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der

from prismap._util.optimise import minimize


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
    result = minimize(rosenbrock, np.array([-1.2, 1.0]), solver=solver, tol=1e-7, callback=lambda i, v, x: i == 3)
    assert (result.n_iter, result.stop_reason) == (3, "callback")


@pytest.mark.parametrize("solver", ["scg", "lbfgs"])
def test_tolerance_is_a_share_of_the_value_whatever_its_size(solver):
    start = np.array([-1.2, 1.0])
    free = minimize(rosenbrock, start, solver=solver, tol=0.0)
    for size in (1.0, 1e-6):
        run = minimize(
            lambda x, size=size: (size * rosen(x), size * rosen_der(x)), start, solver=solver, tol=0.05, relative=True
        )
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


def test_bounds_are_kept():
    found = minimize(bowl, np.ones((2, 2)), tol=0, bounds=[(0.5, None)] * 4)
    np.testing.assert_array_equal(found.x, np.full((2, 2), 0.5))


def bowl(Y):
    return float((Y**2).sum()), 2 * Y


def test_variables_keep_their_shape_and_iterations_are_counted_on():
    Y = np.ones((3, 2))
    assert minimize(bowl, Y, tol=0).stop_reason == "converged"
    np.testing.assert_allclose(minimize(bowl, Y, tol=0).x, 0, atol=1e-8)

    def rosenbrock(Y):
        a, b = Y[0]
        return (1 - a) ** 2 + 100 * (b - a**2) ** 2, np.array([[-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2)]])

    far = np.array([[-1.2, 1.0]])
    short = minimize(rosenbrock, far, max_iter=5, tol=0)
    assert (short.stop_reason, short.n_iter) == ("max_iter", 5)
    seen = []
    run = minimize(rosenbrock, far, tol=0, done=100, callback=lambda *news: bool(seen.append(news)) or news[0] == 103)
    assert (run.stop_reason, run.n_iter) == ("callback", 3)
    assert [news[0] for news in seen] == [101, 102, 103]
    np.testing.assert_array_equal(seen[-1][2], run.x)
    assert seen[-1][1] == run.value
