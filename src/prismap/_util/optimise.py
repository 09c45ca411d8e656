"""The one way to minimise smooth functions: scipy's L-BFGS, or scaled conjugate gradients (Moller 1993).

Variables have any shape; a run ends with its value, its number of iterations and the reason why it ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize as scipy_minimize

from prismap._util.arrays import Numbers
from prismap._util.threads import on_one_thread

#: The step, relative to the variables, over which a difference of gradients gives the curvature.
CURVATURE_STEP = 1e-4

#: Variables in, value and gradient out.
Objective = Callable[[Numbers], tuple[Any, Numbers]]


@dataclass(frozen=True)
class Minimum:
    """Where a run ended, at which value, after how many iterations and why: "converged", "max_iter" or "callback"."""

    x: Numbers
    value: float
    n_iter: int
    stop_reason: str


@on_one_thread
def minimize(
    fun: Objective, x: Any, *, max_iter: int = 300, tol: float = 1e-6, callback: Any = None, done: int = 0,
    solver: str = "lbfgs", **options: Any,
) -> Minimum:  # fmt: skip
    """Minimise ``fun(x) -> (value, gradient)`` from x, an array of any shape, which the gradient has too.

    The value never ends above that of the start. The run stops when an iteration lowers it by less than `tol` of it,
    when the gradient vanishes, after `max_iter` iterations, or when ``callback(iteration, value, x)``, counted from
    `done`, returns True.

    solver : "lbfgs", with the options of `lbfgs`, or "scg", scaled conjugate gradients, which have none.
    """
    x = np.asarray(x, dtype=np.float64)
    shape = x.shape

    def flat(x: Numbers) -> tuple[Any, Numbers]:
        value, gradient = fun(x.reshape(shape))
        return value, gradient.ravel()

    def watch(iteration: int, value: float, x: Numbers) -> bool:
        return callback is not None and bool(callback(done + iteration, value, x.reshape(shape).copy()))

    if solver == "scg":
        minimum = scaled_conjugate_gradients(flat, x.ravel(), max_iter=max_iter, tol=tol, callback=watch)
    else:
        minimum = lbfgs(flat, x.ravel(), max_iter=max_iter, tol=tol, callback=watch, **options)
    return Minimum(minimum.x.reshape(shape), minimum.value, minimum.n_iter, minimum.stop_reason)


def lbfgs(
    fun: Objective, x: Numbers, *, max_iter: int, tol: float, callback: Callable[..., bool],
    gradient_tol: float = 1e-12, relative: bool = False, memory: int = 10, n_evaluations: int | None = None,
    bounds: Any = None,
) -> Minimum:  # fmt: skip
    """scipy's L-BFGS-B.

    In its `tol` a value below 1 counts as 1, but not with `relative`, where the gradient must vanish too. `memory` is
    the number of past steps that it remembers; `n_evaluations` of `fun` at most, 10 max_iter by default.
    """
    done, last, reason = 0, np.inf, ""

    def watch(intermediate_result: Any) -> None:
        nonlocal done, last, reason
        value, done = float(intermediate_result.fun), done + 1
        gain, last = last - value, value
        if callback(done, value, intermediate_result.x):
            reason = "callback"
        elif relative and gain <= tol * abs(value):
            reason = "converged"
        if reason:
            raise StopIteration

    options: dict[str, Any] = {
        "maxiter": max_iter, "maxfun": n_evaluations or 10 * max_iter, "maxcor": memory,
        "ftol": 0.0 if relative else tol, "gtol": 0.0 if relative else gradient_tol,
    }  # fmt: skip
    result = scipy_minimize(fun, x, jac=True, method="L-BFGS-B", callback=watch, bounds=bounds, options=options)
    # Status 1 is the limit; 2 is a line search without progress, which at the precision of the value is convergence.
    return Minimum(result.x, float(result.fun), done, reason or ("max_iter" if result.status == 1 else "converged"))


def scaled_conjugate_gradients(
    fun: Objective, x: Numbers, *, max_iter: int, tol: float, callback: Callable[..., bool]
) -> Minimum:
    """Moller's method: a conjugate direction, a step length from the curvature along it, no line search.

    step = -d.g / (d.H d + lambda |d|^2), with H d from a difference of gradients. A step that would raise the value is
    tried again, shorter, so that every iteration counted here lowers it; one costs two evaluations of `fun` or more.
    """
    value, gradient = fun(x)
    direction, reason, done = -gradient, "max_iter", 0
    damping: float | None = None
    while done < max_iter:
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
        done += 1
        gain, change = value - new_value, new_gradient - gradient
        x, value, gradient = x + step * direction, new_value, new_gradient
        if callback(done, value, x):
            reason = "callback"
            break
        if gain <= tol * abs(value):
            reason = "converged"
            break
        # The gradient again after as many steps as there are variables, else a direction conjugate to the last.
        beta = 0.0 if done % len(x) == 0 else float(gradient @ change) / -slope
        direction = -gradient + beta * direction
    return Minimum(x, float(value), done, reason)


def improving_step(
    fun: Objective, x: Numbers, value: float, direction: Numbers, slope: float, curvature: float, damping: float
) -> tuple[float, float, Any, float]:
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
