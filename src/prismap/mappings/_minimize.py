"""Many small minimisations side by side, each with its own quasi-Newton matrix and its own line search."""

from __future__ import annotations

import numpy as np

_ARMIJO = 1e-4
_HALVINGS = 30
_NO_PROGRESS = 1e-14


def minimize_rows(cost_of, start, *, length, max_iter, tol):
    """Minimise independent functions of a few variables, one a row: ``(positions, costs)``.

    ``cost_of(Z, rows)`` gives cost (b,) and gradient (b, d) of the functions number `rows` at Z. Each row follows BFGS
    with a halving line search until its gradient, times the typical `length`, falls below `tol`, or the cost below what
    numbers can tell apart, so what becomes of a row does not depend on the others. Costs never rise.
    """
    Z = start.copy()
    cost, gradient = cost_of(Z, np.arange(len(Z)))
    norm = np.linalg.norm(gradient, axis=1)
    H = np.eye(Z.shape[1]) * (length / np.maximum(norm, np.finfo(float).tiny))[:, None, None]
    live = np.flatnonzero(norm * length > tol)
    for iteration in range(max_iter):
        if not len(live):
            break
        g = gradient[live]
        step = -np.einsum("nij,nj->ni", H[live], g)
        slope = np.einsum("ni,ni->n", step, g)
        uphill = slope >= 0
        if uphill.any():
            step[uphill] = -g[uphill] * (length / np.linalg.norm(g[uphill], axis=1))[:, None]
            slope[uphill] = np.einsum("ni,ni->n", step[uphill], g[uphill])
        before = cost[live]
        taken = _line_search(cost_of, Z, cost, gradient, live, step, slope)
        taken &= before - cost[live] > _NO_PROGRESS * np.abs(before)
        live, s, change = live[taken], step[taken], (gradient[live] - g)[taken]
        _update(H, live, s, change, rescale=iteration == 0)
        live = live[np.linalg.norm(gradient[live], axis=1) * length > tol]
    return Z, cost


def _line_search(cost_of, Z, cost, gradient, rows, step, slope):
    """Halve each row's step (in place) until it lowers the cost enough; update Z, cost and gradient of those rows.

    Returns which rows moved. A row that finds no lower place is at its minimum to working precision.
    """
    moved = np.zeros(len(rows), dtype=bool)
    pending = np.arange(len(rows))
    size = 1.0
    for _ in range(_HALVINGS):
        trial = Z[rows[pending]] + step[pending]
        new_cost, new_gradient = cost_of(trial, rows[pending])
        fine = new_cost <= cost[rows[pending]] + _ARMIJO * size * slope[pending]
        done = rows[pending[fine]]
        Z[done], cost[done], gradient[done] = trial[fine], new_cost[fine], new_gradient[fine]
        moved[pending[fine]] = True
        pending = pending[~fine]
        if not len(pending):
            break
        step[pending] *= 0.5
        size *= 0.5
    return moved


def _update(H, rows, s, change, *, rescale):
    """The BFGS update of the inverse Hessians of `rows`, skipped where the curvature is not positive."""
    curvature = np.einsum("ni,ni->n", s, change)
    square = np.einsum("ni,ni->n", change, change)
    good = curvature > 1e-10 * np.sqrt(square * np.einsum("ni,ni->n", s, s))
    rows, s, change, curvature, square = rows[good], s[good], change[good], curvature[good], square[good]
    if rescale:
        H[rows] = np.eye(H.shape[1]) * (curvature / square)[:, None, None]
    rho = 1 / curvature
    left = np.eye(H.shape[1]) - rho[:, None, None] * s[:, :, None] * change[:, None, :]
    H[rows] = left @ H[rows] @ left.transpose(0, 2, 1) + rho[:, None, None] * s[:, :, None] * s[:, None, :]
