"""What embeddings minimise: pure functions of the positions that return the cost and its analytic gradient.

Y has shape (n, q); the matrices given (affinities P, distances D, weights W) have shape (n, n). Every function looks at
all pairs, in blocks of rows that fit in the processor's cache: time O(n^2 q), memory one block beside what is given.
"""

from __future__ import annotations

from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from prismap._util.affinities import calibrate, row_affinities
from prismap._util.blocks import CACHED_BYTES, row_blocks

Array: TypeAlias = Any


#: Pairs nearer than this share of the mean dissimilarity are weighted as if they were that far apart.
FLOOR = 1e-3

#: Positions of classical scaling are moved by this share of the mean distance: from a line no gradient leads away.
JITTER = 1e-4

#: Affinities below this count as this in log p, or KL(q || p) would be infinite.
SMALLEST_AFFINITY = 1e-12

#: Bandwidths are at least this share of the root mean square distance. Finer is not seen on a map of the data's scale,
#: and rows with many duplicates would have next to none.
SMALLEST_BANDWIDTH = 0.01


def tsne_cost(
    Y: Array,
    P: Array,
    *,
    gamma: float = 1.0,
    smallest: float = SMALLEST_AFFINITY,
    want_cost: bool = True,
    repulsion: float | None = None,
) -> tuple[float, Array]:
    """t-SNE, exact, over all pairs: KL(P || Q), and t-NeRV: gamma KL(P || Q) + (1 - gamma) KL(Q || P).

    q_ij = w_ij / Z, w_ij = (1 + |y_i - y_j|^2)^-1, Z the sum of all w (Schulz 2017, 2.2.1; gamma as in eq. 4.3). P is
    symmetric with a zero diagonal; for gamma = 1 its sum m may differ from 1. In the second term affinities are at
    least `smallest`. The gradient is 4 sum_j f_ij w_ij (y_i - y_j), with
    f_ij = gamma (p_ij - m q_ij) + (1 - gamma) q_ij (KL(Q || P) - log(q_ij / p_ij)).
    Early exaggeration takes 12 p_ij - q_ij instead (van der Maaten & Hinton 2008, sec. 3.4): P is 12 times as large and
    the `repulsion` stays 1, in the place of m.
    Without `want_cost` (gamma = 1 only) the cost, half of the work, is NaN.
    """
    attract, repel, precise = (np.zeros_like(Y) for _ in range(3))
    Z, recall, precision, mass = 0.0, 0.0, 0.0, float(P.sum())
    for rows in row_blocks(len(Y), 8.0 * len(Y), CACHED_BYTES // 2):
        W = 1.0 / (1.0 + cdist(Y[rows], Y, "sqeuclidean"))
        P_rows = P[rows]
        if want_cost:
            recall += float(np.vdot(P_rows, np.log(np.maximum(P_rows, np.finfo(float).tiny) / W)))
        if gamma < 1.0:
            ratio = np.log(W / np.maximum(P_rows, smallest))
        _clear_diagonal(W, rows)
        Z += float(W.sum())
        attract[rows] = _pull(P_rows * W, Y[rows], Y)
        if gamma < 1.0:
            precision += float(np.vdot(W, ratio))
            precise[rows] = _pull(W * W * ratio, Y[rows], Y)
        repel[rows] = _pull(W * W, Y[rows], Y)
    # KL(Q || P) = precision / Z - log Z, and its gradient needs KL(Q || P) + log Z.
    cost = gamma * (recall + mass * np.log(Z)) + (1.0 - gamma) * (precision / Z - np.log(Z))
    repulsion = mass if repulsion is None else repulsion
    pull = gamma * (attract - repulsion / Z * repel) + (1.0 - gamma) / Z * (precision / Z * repel - precise)
    return cost if want_cost else np.nan, 4.0 * pull


def nerv_cost(
    Y: Array, P: Array, sigma: Array, *, gamma: float = 0.5, smallest: float = SMALLEST_AFFINITY
) -> tuple[float, Array]:
    """NeRV: gamma sum_i KL(p_.|i || q_.|i) + (1 - gamma) sum_i KL(q_.|i || p_.|i) (Schulz 2017, eq. 4.3).

    q_{j|i} is proportional to exp(-|y_i - y_j|^2 / 2 sigma_i^2) (eq. 4.2); the rows of P sum to one, with a zero
    diagonal. With gamma = 1 this is the cost of SNE. In log p, affinities are at least `smallest`.

    The gradient is 2 sum_j (f_ij / 2 sigma_i^2 + f_ji / 2 sigma_j^2) (y_i - y_j), with
    f_ij = gamma (p_{j|i} - q_{j|i}) + (1 - gamma) q_{j|i} (KL(q_.|i || p_.|i) - log(q_{j|i} / p_{j|i})).
    """
    cost, gradient = 0.0, np.zeros_like(Y)
    for rows in row_blocks(len(Y), 8.0 * len(Y), CACHED_BYTES // 2):
        slope = 0.5 / np.square(sigma[rows])[:, None]
        log_q = cdist(Y[rows], Y, "sqeuclidean") * -slope
        _clear_diagonal(log_q, rows, -np.inf)
        log_q -= log_q.max(axis=1, keepdims=True)
        Q = np.exp(log_q)
        total = Q.sum(axis=1, keepdims=True)
        Q /= total
        P_rows = P[rows]
        log_q -= np.log(np.maximum(P_rows, smallest) * total)  # now log(q / p)
        _clear_diagonal(log_q, rows)
        precision = np.einsum("ij,ij->i", Q, log_q)
        cost += (1.0 - gamma) * float(precision.sum()) - gamma * float(np.vdot(P_rows, log_q))
        F = slope * (gamma * (P_rows - Q) + (1.0 - gamma) * Q * (precision[:, None] - log_q))
        gradient[rows] += 2.0 * _pull(F, Y[rows], Y)
        gradient += 2.0 * _pull(F.T, Y, Y[rows])
    return cost, gradient


def gaussian_cost(
    D2: Array, perplexity: float, *, gamma: float, smallest: float = SMALLEST_AFFINITY, pull: float = 0.0
) -> Any:
    """The cost of NeRV as a function of the positions, for squared distances with an infinite diagonal; no pull."""
    P, sigma = calibrate(D2, perplexity)
    narrowest = SMALLEST_BANDWIDTH * np.sqrt(np.mean(D2, where=np.isfinite(D2)))
    rows = np.flatnonzero(sigma < narrowest)
    sigma[rows] = narrowest
    P[rows] = row_affinities(D2[rows], sigma[rows])
    return partial(nerv_cost, P=P, sigma=sigma, gamma=gamma, smallest=smallest)


def stress_cost(Y: Array, D: Array, W: Array | None = None) -> tuple[float, Array]:
    """Weighted raw stress: sum_{i<j} w_ij (d_ij - |y_i - y_j|)^2, all weights one where W is None.

    D and W are symmetric. The gradient is -2 sum_j w_ij (d_ij / |y_i - y_j| - 1) (y_i - y_j); a pair of coincident
    positions, where there is none, adds nothing.
    """
    cost, gradient = 0.0, np.empty_like(Y)
    for rows in row_blocks(len(Y), 8.0 * len(Y), CACHED_BYTES // 2):
        E = cdist(Y[rows], Y)
        gap = D[rows] - E
        F = gap if W is None else W[rows] * gap
        cost += 0.5 * float(np.vdot(F, gap))
        E[E == 0] = np.inf
        F /= E
        gradient[rows] = -2.0 * _pull(F, Y[rows], Y)
    return cost, gradient


def elastic_floor(D: Array) -> float:
    """`FLOOR` of the mean of a matrix (or vector) of dissimilarities between pairs; 1 if all are zero."""
    n_pairs = D.size - len(D) if D.ndim == 2 else D.size
    return FLOOR * float(D.sum()) / max(n_pairs, 1) or 1.0


def elastic_weights(D: Array, floor: float | None = None) -> Array:
    """Weights that turn the stress into the elastic one (Rice 2016, eq. 1): 1 / d_ij^2, and zero on the diagonal.

    Eq. 1 divides by zero for equal rows: distances below `floor` count as that.
    """
    W = np.maximum(D, elastic_floor(D) if floor is None else floor)
    W *= W
    np.reciprocal(W, out=W)
    np.fill_diagonal(W, 0.0)
    return W


def sammon_weights(D: Array, smallest: float = 0.0) -> Array:
    """Weights that turn the stress into Sammon's: 1 / (d_ij sum_{k<l} d_kl), and zero on the diagonal.

    Distances below `smallest` count as that; pairs at distance 0, if it is 0, have the weight zero.
    """
    below = np.maximum(D, smallest)
    W = np.divide(2.0 / max(float(D.sum()), np.finfo(float).tiny), below, out=np.zeros_like(below), where=below > 0)
    np.fill_diagonal(W, 0.0)
    return W


def _pull(F: Array, A: Array, B: Array) -> Array:
    """sum_j F_ij (a_i - b_j), as a matrix product."""
    return F.sum(axis=1)[:, None] * A - F @ B


def _clear_diagonal(block: Array, rows: slice, value: float = 0.0) -> None:
    """Set the entries of a row with itself, in a block of rows."""
    block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = value
