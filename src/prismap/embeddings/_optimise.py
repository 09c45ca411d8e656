"""L-BFGS on positions, with callbacks and the reason why it stopped."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from prismap._threads import on_one_thread


class Run(NamedTuple):
    """Positions, their cost, iterations done and why they ended: "converged", "max_iter" or "callback"."""

    embedding: np.ndarray
    objective: float
    n_iter: int
    stop_reason: str


@on_one_thread
def minimise(cost, Y, *, max_iter=300, tol=1e-6, callback=None, done=0):
    """Minimise ``cost(Y) -> (value, gradient)`` from Y by L-BFGS.

    Converged means that a step changed the cost by less than `tol` of its size, or that the gradient vanished.
    ``callback(iteration, error, embedding)`` is called after every iteration, counted from `done`; True stops the run.
    """
    shape = Y.shape
    n_iter, stopped = 0, False

    def flat(y):
        value, gradient = cost(y.reshape(shape))
        return value, gradient.ravel()

    def watch(intermediate_result):
        nonlocal n_iter, stopped
        n_iter += 1
        if callback is not None:
            Y_now = intermediate_result.x.reshape(shape).copy()
            stopped = bool(callback(done + n_iter, float(intermediate_result.fun), Y_now))
        if stopped:
            raise StopIteration

    options = {"maxiter": max_iter, "maxfun": 10 * max_iter, "ftol": tol, "gtol": 1e-12, "maxcor": 10}
    found = minimize(flat, Y.ravel(), jac=True, method="L-BFGS-B", callback=watch, options=options)
    # Status 1 is the limit; 2 is a line search without progress, which at the precision of the cost is convergence.
    reason = "callback" if stopped else "max_iter" if found.status == 1 else "converged"
    return Run(found.x.reshape(shape), float(found.fun), n_iter, reason)
