"""Many linear programs that differ in their objective only, solved side by side.

The bounds of `prismap.relevance.bounds` ask for two programs a feature over one and the same small polytope. Each is a
simplex walk from the same first corner, and a step of all the walks together is a handful of matrix products: hundreds
of programs take the time of a few calls of a general solver. Every answer is checked (feasible, no negative reduced
cost, on a fresh inverse); what does not pass, or stalls on a degenerate corner, goes to HiGHS, one program at a time.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog

from prismap.exceptions import InputError

#: Reduced costs and negative values below this, relative to the scale of the program, count as zero.
TOLERANCE = 1e-9
#: Steps between two fresh inverses of the bases.
REFACTOR = 20
#: Beyond this many rows the general solver is quicker than dense inverses side by side.
MOST_ROWS = 1000
#: Bytes of inverses and reduced costs of the programs in work at a time: what stays near the processor.
_CHUNK_BYTES = 8 * 2**20


def solve_programs(A, b, C, basis, names=None):
    """Minimise ``C[k] @ x`` subject to ``A x = b``, ``x >= 0``, for every row k of C: the minimisers, one a row.

    `basis` holds the columns of a first feasible corner; `names[k]` says in an error which program failed.
    """
    solutions = np.empty_like(C)
    solved = np.zeros(len(C), dtype=bool)
    if len(A) <= MOST_ROWS:
        step = max(1, _CHUNK_BYTES // (8 * (len(A) ** 2 + 2 * A.shape[1])))
        for start in range(0, len(C), step):
            some = slice(start, start + step)
            solutions[some], solved[some] = _certify(A, b, C[some], _walk(A, b, C[some], basis))
    for k in np.flatnonzero(~solved):
        answer = linprog(C[k], A_eq=A, b_eq=b, method="highs")
        if not answer.success:
            what = f"program {k}" if names is None else names[k]
            raise InputError(f"the linear program for {what} has no answer: {answer.message}")
        solutions[k] = answer.x
    return solutions


def _walk(A, b, C, basis):
    """Simplex steps (steepest reduced cost) for all objectives at once: the last basis of each."""
    basis = np.tile(basis, (len(C), 1))
    last = basis.copy()
    alive = np.arange(len(C))
    tolerance = TOLERANCE * np.abs(C).max(initial=0.0)
    for count in range(50 + 20 * len(A)):
        if count % REFACTOR == 0:
            try:
                inverse = np.linalg.inv(A[:, basis].transpose(1, 0, 2))
            except np.linalg.LinAlgError:  # the certificate will send what is left to the general solver
                break
            x = inverse @ b
        prices = np.einsum("ki,kij->kj", np.take_along_axis(C[alive], basis, axis=1), inverse)
        reduced = C[alive] - prices @ A
        enter = reduced.argmin(axis=1)
        going = reduced.min(axis=1) < -tolerance
        last[alive] = basis
        if not going.all():
            alive, basis, inverse, x, enter = alive[going], basis[going], inverse[going], x[going], enter[going]
        if not len(alive):
            break
        rows = np.arange(len(alive))
        direction = np.einsum("kij,jk->ki", inverse, A[:, enter])
        ratio = np.full_like(x, np.inf)
        np.divide(np.maximum(x, 0.0), direction, out=ratio, where=direction > TOLERANCE)
        leave = ratio.argmin(axis=1)
        length = ratio[rows, leave]
        if not np.isfinite(length).all():  # no row blocks: unbounded, or too ill-conditioned; the certificate decides
            break
        x -= length[:, None] * direction
        x[rows, leave] = length
        pivot = inverse[rows, leave] / direction[rows, leave, None]
        direction[rows, leave] -= 1.0
        inverse -= direction[:, :, None] * pivot[:, None, :]
        basis[rows, leave] = enter
    return last


def _certify(A, b, C, basis):
    """Solutions of the final bases, and which of them are proven optimal."""
    columns = A[:, basis].transpose(1, 0, 2)
    try:
        x = np.linalg.solve(columns, np.broadcast_to(b[:, None], (len(C), len(b), 1)))[..., 0]
        prices = np.linalg.solve(columns.transpose(0, 2, 1), np.take_along_axis(C, basis, axis=1)[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return np.zeros_like(C), np.zeros(len(C), dtype=bool)
    scale = np.abs(b).max(initial=0.0)
    feasible = x.min(axis=1, initial=0.0) >= -TOLERANCE * scale
    residual = np.abs(np.einsum("kij,kj->ki", columns, x) - b).max(axis=1, initial=0.0)
    feasible &= residual <= TOLERANCE * scale
    optimal = (C - prices @ A).min(axis=1, initial=0.0) >= -10 * TOLERANCE * np.abs(C).max(initial=0.0)
    solutions = np.zeros_like(C)
    np.put_along_axis(solutions, basis, np.maximum(x, 0.0), axis=1)
    return solutions, feasible & optimal
