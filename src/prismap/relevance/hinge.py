"""Bounds for linear support vector machines: equivalent are maps whose hinge loss is no larger (thesis, chapter 6).

Göpfert, Pfannschmidt & Hammer (2017), Feature relevance bounds for linear classification, have the same programs, with
the loss and length of the machine that they train.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import block_array, csr_array, eye_array

from prismap.exceptions import InputError


def hinge_losses(scores, sides):
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


def hinge_ranges(X, sides, w, slack=0.01, names=None):
    """The smallest and largest value of each weight over all maps that separate as well as w, and maps with them.

    Equivalent are the w' with an offset b' such that ``sum_i max(0, 1 - t_i (w' x_i + b')) <= (1 + slack) loss``, the
    loss of w with its best offset, and ``sum_j |w'_j| <= (1 + slack) mu``, mu the smallest length among them. Returns
    the same as `prismap.relevance.bounds.weight_ranges`: mu, the shortest map, and two (D, D) arrays of maps.
    """
    n, D = X.shape
    loss, _ = hinge_losses(X @ w, sides)
    if not w.any() or loss >= min(2 * (sides > 0).sum(), 2 * (sides < 0).sum()):  # a constant does as well
        return 0.0, np.zeros(D), np.zeros((D, D)), np.zeros((D, D))
    # Unknowns p, n >= 0 with w' = p - n, the offset, the slacks xi >= 0; a margin a row, the loss, then the length.
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


def _solve(goal, A, b, limits, name):
    answer = linprog(goal, A_ub=A, b_ub=b, bounds=limits, method="highs")
    if not answer.success:
        raise InputError(f"the linear program for {name} has no answer: {answer.message}")
    return answer.x


def class_sides(y, n_outputs):
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
