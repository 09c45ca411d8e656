"""What embeddings minimise: pure functions of the positions that return the cost and its analytic gradient.

Y has shape (n, q). Every function here looks at all pairs, in blocks of rows, so time is O(n^2 q) and memory O(n^2) for
the matrix given plus one block.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from prismap._blocks import row_blocks

_TINY = np.finfo(np.float64).tiny


def tsne_cost(Y, P):
    """t-SNE, exact: sum_ij p_ij log(p_ij / q_ij), q_ij = (1 + |y_i - y_j|^2)^-1 / sum_kl (1 + |y_k - y_l|^2)^-1.

    P is dense, symmetric, with a zero diagonal; its sum may be other than 1 (exaggeration). The gradient is
    4 sum_j (p_ij - q_ij s) (1 + |y_i - y_j|^2)^-1 (y_i - y_j), with s the sum of P (thesis eq. 2.1, symmetric form).
    """
    n_rows = len(Y)
    attract, repel = np.empty_like(Y), np.empty_like(Y)
    total_w, cost = 0.0, 0.0
    for rows in row_blocks(n_rows, 40.0 * n_rows):
        W = cdist(Y[rows], Y, "sqeuclidean")
        W += 1.0
        P_rows = P[rows]
        cost += _sum_p_log(P_rows, P_rows) + float(np.vdot(P_rows, np.log(W)))
        np.reciprocal(W, out=W)
        W[np.arange(len(W)), np.arange(rows.start, rows.stop)] = 0.0
        total_w += float(W.sum())
        attract[rows] = _pull(P_rows * W, Y, rows)
        repel[rows] = _pull(W * W, Y, rows)
    mass = float(P.sum())
    return cost + mass * np.log(total_w), 4.0 * (attract - repel * (mass / total_w))


def _pull(F, Y, rows):
    """sum_j F_ij (y_i - y_j) for the rows of a block, as a matrix product."""
    return F.sum(axis=1)[:, None] * Y[rows] - F @ Y


def _sum_p_log(P, R):
    """sum P log R, with 0 log 0 = 0."""
    return float(np.vdot(P, np.log(np.maximum(R, _TINY))))
