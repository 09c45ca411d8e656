"""The range that each weight of a linear map can take among all equivalent maps, by linear programs.

Equivalent are maps that agree with the given one on the data and are hardly longer (`weight_ranges`), or whose hinge
loss is no larger (`hinge_ranges`, for linear support vector machines; Schulz 2017, chapter 6). Göpfert, Pfannschmidt &
Hammer (2017), Feature relevance bounds for linear classification, have the latter programs, with the loss and length of
the machine that they train.

The first kind asks for two programs per feature over one and the same small polytope (`solve_programs`). Each is a
simplex walk from the same first corner, and a step of all the walks together is a handful of matrix products: hundreds
of programs take the time of a few calls of a general solver. Every answer is checked (feasible, no negative reduced
cost, on a fresh inverse); what does not pass, or stalls on a degenerate corner, goes to HiGHS, one program at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array, eye_array

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import row_blocks
from prismap.exceptions import InputError

#: Reduced costs and negative values below this, relative to the scale of the program, count as zero.
TOLERANCE = 1e-9
#: Steps between two fresh inverses of the bases.
REFACTOR = 20
#: Beyond this many rows the general solver is quicker than dense inverses side by side.
MOST_ROWS = 1000
#: Bytes of inverses and reduced costs of the programs in work at a time: what stays near the processor.
_CHUNK_BYTES = 8 * 2**20


def weight_ranges(
    V: Numbers, w: Numbers, slack: float = 0.01, names: Any = None
) -> tuple[float, Numbers, Numbers, Numbers]:
    """The smallest and largest value of each weight over all maps equivalent to w, and maps that attain them.

    Equivalent are the w' that agree with w on the columns of V and are hardly longer (Schulz 2017, eq. 4.14, 4.15)::

        V^T w' = V^T w,    sum_j |w'_j| <= (1 + slack) mu,    mu the smallest length among them.

    With w' = p - n, p, n >= 0, that is ``len(V.T) + 1`` equations in ``2 D + 1`` unknowns, whereas (4.18), (4.19) span
    the complement of V and need 2 D + 1 inequalities.

    Returns
    -------
    mu : float
    shortest : array (D,), a map of length mu
    lowest, highest : arrays (D, D); row j is an equivalent map whose weight j is smallest (largest)
    """
    D, n_directions = V.shape
    b = V.T @ w
    scale = np.abs(b).max(initial=0.0)
    if scale <= 1e-12 * np.abs(w).max(initial=0.0) or scale == 0.0:
        return 0.0, np.zeros(D), np.zeros((D, D)), np.zeros((D, D))
    A = np.hstack([V.T, -V.T])
    b = b / scale
    # Any independent columns give a corner: a negative coordinate of p is a positive one of n.
    some = qr(V.T, mode="r", pivoting=True)[1][:n_directions]
    first = np.where(np.linalg.solve(V[some].T, b) >= 0, some, some + D)
    x = solve_programs(A, b, np.ones((1, 2 * D)), first, ["the shortest map"])[0]
    mu = x.sum()
    # The budget is one more row, with its rest as one more unknown; the shortest map is the corner to start from.
    A = np.vstack([np.hstack([A, np.zeros((n_directions, 1))]), np.ones(2 * D + 1)])
    b = np.append(b, (1 + slack) * mu)
    corner = np.append(_basis(A[:-1, :-1], x), 2 * D)
    names = [f"column {j}" for j in range(D)] if names is None else list(names)
    lowest, highest = np.empty((D, D)), np.empty((D, D))
    for some in row_blocks(D, 64.0 * D):
        each = np.zeros((some.stop - some.start, 2 * D + 1))
        rows, columns = np.arange(len(each)), np.arange(some.start, some.stop)
        each[rows, columns], each[rows, D + columns] = 1.0, -1.0
        ends = solve_programs(A, b, np.vstack([each, -each]), corner, names[some] * 2)
        lowest[some], highest[some] = np.split(scale * (ends[:, :D] - ends[:, D:-1]), 2)
    return scale * mu, scale * (x[:D] - x[D:]), lowest, highest


def _basis(A: Numbers, x: Numbers) -> Rows:
    """Columns of a basis that holds the positive entries of the corner x; a degenerate corner is filled up."""
    preferred = A * np.where(x > 0, 1e6, 1.0)  # pivoting takes the longest column that is independent of those before
    return np.asarray(qr(preferred, mode="r", pivoting=True)[1][: len(A)])


# --- machines ---------------------------------------------------------------------------------------------------------


def hinge_losses(scores: Numbers, sides: Numbers) -> tuple[float, float]:
    """``min_b sum_i max(0, 1 - t_i (s_i + b))`` and its b, for scores s and sides t of 1 and -1.

    The sum is convex and piecewise linear in b, so it is lowest where one of its terms begins.
    """
    above, below = np.sort(1 - scores[sides > 0]), np.sort(-1 - scores[sides < 0])
    starts = np.concatenate([above, below])
    after = np.append(np.cumsum(above[::-1])[::-1], 0.0)  # sums of those not below each start
    before = np.concatenate([[0.0], np.cumsum(below)])
    first, last = np.searchsorted(above, starts), np.searchsorted(below, starts)
    losses = after[first] - (len(above) - first) * starts + last * starts - before[last]
    best = int(losses.argmin())
    return float(max(losses[best], 0.0)), float(starts[best])


def hinge_ranges(
    X: Numbers, sides: Numbers, w: Numbers, slack: float = 0.01, names: Any = None
) -> tuple[float, Numbers, Numbers, Numbers]:
    """The smallest and largest value of each weight over all maps that separate as well as w, and maps with them.

    Equivalent are the w' with an offset b' such that ``sum_i max(0, 1 - t_i (w' x_i + b')) <= (1 + slack) loss``, the
    loss of w with its best offset, and ``sum_j |w'_j| <= (1 + slack) mu``, mu the smallest length among them. Returns
    the same as `weight_ranges`: mu, the shortest map, and two (D, D) arrays of maps.
    """
    n, D = X.shape
    loss, _ = hinge_losses(X @ w, sides)
    if not w.any() or loss >= min(2 * (sides > 0).sum(), 2 * (sides < 0).sum()):  # a constant does as well
        return 0.0, np.zeros(D), np.zeros((D, D)), np.zeros((D, D))
    # Unknowns p, n >= 0 with w' = p - n, the offset, the slacks xi >= 0; one margin per row, the loss, then the length.
    signed = csr_array(sides[:, None] * X)
    margins = block_array([[-signed, signed, csr_array(-sides[:, None]), -eye_array(n)]])
    loss_row = np.concatenate([np.zeros(2 * D + 1), np.ones(n)])
    length_row = np.concatenate([np.ones(2 * D), np.zeros(n + 1)])
    limits = [(0, None)] * (2 * D) + [(None, None)] + [(0, None)] * n
    A = block_array([[margins], [csr_array(loss_row[None])]], format="csr")
    b = np.append(-np.ones(n), (1 + slack) * loss)
    shortest = _solve(length_row, A, b, limits, "the shortest map")
    mu = float(shortest[: 2 * D].sum())
    A = block_array([[A], [csr_array(length_row[None])]], format="csr")
    b = np.append(b, (1 + slack) * mu)
    lowest, highest = np.empty((D, D)), np.empty((D, D))
    for j in range(D):
        name = f"column {j}" if names is None else names[j]
        for maps, sign in ((lowest, 1.0), (highest, -1.0)):
            goal = np.zeros(len(limits))
            goal[j], goal[D + j] = sign, -sign
            x = _solve(goal, A, b, limits, name)
            maps[j] = x[:D] - x[D : 2 * D]
    return mu, shortest[:D] - shortest[D : 2 * D], lowest, highest


def _solve(goal: Numbers, A: Any, b: Numbers, limits: Any, name: Any) -> Numbers:
    answer = linprog(goal, A_ub=A, b_ub=b, bounds=limits, method="highs")
    if not answer.success:
        raise InputError(f"the linear program for {name} has no answer: {answer.message}")
    return np.asarray(answer.x)


def class_sides(y: Any, n_outputs: int) -> list[Numbers]:
    """Sides of 1 and -1 for each output of a linear machine: of the second of two classes, or one class each."""
    classes = np.unique(y)
    wanted = 1 if len(classes) == 2 else len(classes)
    if len(classes) < 2 or wanted != n_outputs:
        raise InputError(
            f"y has {len(classes)} classes and coef {n_outputs} rows: a machine for two classes has one, for more "
            "classes one per class (one against the rest)."
        )
    sides = classes[1:] if len(classes) == 2 else classes
    return [np.where(y == c, 1.0, -1.0) for c in sides]


# --- many programs that differ in their objective only, side by side --------------------------------------------------


def solve_programs(A: Numbers, b: Numbers, C: Numbers, basis: Rows, names: Any = None) -> Numbers:
    """Minimise ``C[k] @ x`` subject to ``A x = b``, ``x >= 0``, for every row k of C: the minimisers, one per row.

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


def _walk(A: Numbers, b: Numbers, C: Numbers, basis: Rows) -> Rows:
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


def _certify(A: Numbers, b: Numbers, C: Numbers, basis: Rows) -> tuple[Numbers, NDArray[np.bool_]]:
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
