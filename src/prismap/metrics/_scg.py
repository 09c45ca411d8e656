"""Minimisers for smooth functions with gradients: scaled conjugate gradients (Moller 1993) and scipy's L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from prismap._threads import on_one_thread

#: The step, relative to the variables, over which a difference of gradients gives the curvature.
CURVATURE_STEP = 1e-4


@dataclass(frozen=True)
class Minimum:
    """Where a run ended, at which value, after how many iterations and why."""

    x: np.ndarray
    value: float
    n_iter: int
    stop_reason: str


@on_one_thread
def minimize(fun, x, *, solver="lbfgs", max_iter=300, tol=1e-7, callback=None):
    """Minimise ``fun(x) -> (value, gradient)`` from x; the value returned never exceeds the one at the start.

    The run stops when an iteration lowers the value by less than `tol` of it, when the gradient vanishes, after
    `max_iter` iterations, or when ``callback(iteration, value, x)`` returns True.
    """
    x = np.asarray(x, dtype=np.float64)
    run = scaled_conjugate_gradients if solver == "scg" else lbfgs
    return run(fun, x.ravel(), max_iter=max_iter, tol=tol, callback=callback)


def lbfgs(fun, x, *, max_iter, tol, callback=None):
    """scipy's L-BFGS-B under the same contract (its own `ftol` is no share where the value is below 1)."""
    n_iter, last, reason = 0, np.inf, ""

    def watch(intermediate_result):
        nonlocal n_iter, last, reason
        value, n_iter = float(intermediate_result.fun), n_iter + 1
        gain, last = last - value, value
        if callback is not None and callback(n_iter, value, intermediate_result.x):
            reason = "callback"
        elif gain <= tol * abs(value):
            reason = "converged"
        if reason:
            raise StopIteration

    options: dict[str, Any] = {"maxiter": max_iter, "ftol": 0.0, "gtol": 0.0, "maxfun": 10 * max_iter + 100}
    result = scipy_minimize(fun, x, jac=True, method="L-BFGS-B", callback=watch, options=options)
    reason = reason or ("max_iter" if n_iter >= max_iter else "converged")
    return Minimum(result.x, float(result.fun), n_iter, reason)


def scaled_conjugate_gradients(fun, x, *, max_iter, tol, callback=None):
    """Moller's method: a conjugate direction, a step length from the curvature along it, no line search.

    step = -d.g / (d.H d + lambda |d|^2), with H d from a difference of gradients. A step that would raise the value is
    tried again, shorter, so that every iteration counted here lowers it; one costs two evaluations of `fun` or more.
    """
    value, gradient = fun(x)
    direction, damping, reason, n_iter = -gradient, None, "max_iter", 0
    while n_iter < max_iter:
        slope = float(direction @ gradient)
        if slope >= 0:  # no descent: start again along the gradient
            direction = -gradient
            slope = float(direction @ gradient)
        if slope > -np.finfo(np.float64).tiny:
            reason = "converged"
            break
        length2 = float(direction @ direction)
        probe = CURVATURE_STEP * (float(np.sqrt(np.mean(x**2))) or 1.0) / np.sqrt(length2)
        curvature = float(direction @ (fun(x + probe * direction)[1] - gradient)) / (probe * length2)
        if damping is None:  # in the units of the function, whatever they are
            damping = abs(curvature)
        step, new_value, new_gradient, damping = improving_step(fun, x, value, direction, slope, curvature, damping)
        if step == 0:
            reason = "converged"
            break
        n_iter += 1
        gain, change = value - new_value, new_gradient - gradient
        x, value, gradient = x + step * direction, new_value, new_gradient
        if callback is not None and callback(n_iter, value, x):
            reason = "callback"
            break
        if gain <= tol * abs(value):
            reason = "converged"
            break
        # The gradient again after as many steps as there are variables, else a direction conjugate to the last.
        beta = 0.0 if n_iter % len(x) == 0 else float(gradient @ change) / -slope
        direction = -gradient + beta * direction
    return Minimum(x, float(value), n_iter, reason)


def improving_step(fun, x, value, direction, slope, curvature, damping):
    """The first step along `direction` that lowers the value, its value and gradient, and the next damping lambda.

    `slope` is d.g and `curvature` d.H d / |d|^2. The comparison ratio of the fall to the fall that the quadratic model
    foresaw raises lambda when below 1/4 and lowers it when above 3/4. The step is 0 if no step lowers the value.
    """
    length2 = float(direction @ direction)
    shortest = 1e-15 * float(np.linalg.norm(x)) / np.sqrt(length2)
    while True:
        if curvature + damping <= 0:
            damping = -2 * curvature
        scale = curvature + damping
        step = -slope / (scale * length2)
        new_value, new_gradient = fun(x + step * direction)
        ratio = 2 * (new_value - value) / (step * slope)
        lower = bool(np.isfinite(new_value) and new_value < value)
        if ratio > 0.75:
            damping /= 4
        elif lower and ratio < 0.25:
            damping += scale * (1 - ratio)
        elif not lower:
            damping += 3 * scale
        if lower:
            return step, new_value, new_gradient, damping
        if step <= shortest:
            return 0.0, value, None, damping
