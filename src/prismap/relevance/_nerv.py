"""A metric on the data whose neighbourhoods are those of a given map: the NeRV cost by weights or by a matrix.

The map is fixed and the data's metric moves, d^2 = sum_l s_l (x_l - x'_l)^2 with s_l = lambda_l^2 >= 0, or ||Omega (x -
x')||^2 (Schulz 2017, sec. 4.2.3, 4.2.4). `prismap._util.costs.nerv_cost` holds the same cost as a function of
positions; here it is a function of squared distances, so that every step is matrix products whatever the number of
columns, and the cost may be restricted to some rows' neighbourhoods.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from prismap._util.affinities import calibrate
from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import require_memory, row_blocks
from prismap._util.costs import SMALLEST_AFFINITY
from prismap._util.optimise import minimize
from prismap.learners._shared import LEARNING, first_omega, squared_distances

#: Bytes of one temporary array; a few of them fit in a cache.
_BLOCK_BYTES = 2**21


@dataclass(frozen=True)
class MapNeighbors:
    """Affinities Q in the map of the judged rows, shape (len(rows), n), and their beta = 1 / 2 sigma^2 in the data."""

    rows: np.ndarray
    Q: np.ndarray
    log_Q: np.ndarray
    beta: np.ndarray
    gamma: float
    scale: float


def map_neighbors(X: Numbers, Y: Numbers, k: int, rows: Rows, gamma: float) -> MapNeighbors:
    """Both sides calibrated to k effective neighbours: the map's affinities, and the data's bandwidths (fixed then).

    The cost is scaled as if all rows were judged, so that the penalty means the same for any number of them.
    """
    require_memory(24.0 * len(rows) * len(X), "Affinities of the map", "Judge fewer rows: set n_samples.")
    Q, beta = np.empty((len(rows), len(X))), np.empty(len(rows))
    for block in row_blocks(len(rows), 8.0 * len(X), _BLOCK_BYTES):
        i = rows[block]
        own = np.arange(len(i)), i
        D2 = cdist(Y[i], Y, "sqeuclidean")
        D2[own] = np.inf
        Q[block] = calibrate(D2, k)[0]
        D2 = squared_distances(X[i], X)
        D2[own] = np.inf
        beta[block] = 0.5 / calibrate(D2, k)[1] ** 2
    return MapNeighbors(rows, Q, np.log(np.maximum(Q, SMALLEST_AFFINITY)), beta, gamma, len(X) / len(rows))


def nerv_pull(A: Numbers, B: Numbers, near: MapNeighbors) -> tuple[float, Numbers]:
    """The cost at positions A, and how its gradient by the squared distances pulls on B.

    E = sum_i gamma KL(p_.|i || q_.|i) + (1 - gamma) KL(q_.|i || p_.|i), p from A and q of the map (eq. 4.3).
    With a_ij = -beta_i D2_ij, dE/da = gamma p (log(p / q) - KL(p || q)) + (1 - gamma)(p - q), and G = dE/dD2 = -beta
    dE/da. Returns E and sum_j (G + G^T)_ij (b_i - b_j), shape of B.
    """
    cost, pull = 0.0, np.zeros_like(B)
    for block in row_blocks(len(near.rows), 8.0 * len(A), _BLOCK_BYTES):
        i = near.rows[block]
        own = np.arange(len(i)), i
        beta = near.beta[block, None]
        log_p = squared_distances(A[i], A)
        log_p *= -beta
        log_p[own] = -np.inf
        log_p -= log_p.max(axis=1, keepdims=True)
        P = np.exp(log_p)
        total = P.sum(axis=1, keepdims=True)
        P /= total
        log_p -= np.log(total)
        log_p[own] = near.log_Q[block][own]
        log_p -= near.log_Q[block]  # from here on log(p / q)
        recall = np.einsum("ij,ij->i", P, log_p)
        cost += near.gamma * recall.sum() - (1 - near.gamma) * np.vdot(near.Q[block], log_p)
        log_p -= recall[:, None]
        log_p *= near.gamma
        log_p += 1 - near.gamma
        log_p *= P
        log_p -= (1 - near.gamma) * near.Q[block]
        G = np.multiply(log_p, -beta, out=log_p)
        pull[i] += G.sum(axis=1)[:, None] * B[i] - G @ B
        pull += G.sum(axis=0)[:, None] * B - G.T @ B[i]
    return near.scale * float(cost), near.scale * pull


def weights_cost(s: Numbers, X: Numbers, near: MapNeighbors, penalty: float) -> tuple[float, Numbers]:
    """NeRV cost of the weighted data plus ``penalty * sum_l s_l``, and its gradient by s = lambda^2 (sec. 4.2.3)."""
    cost, pull = nerv_pull(X * np.sqrt(s), X, near)
    return cost + penalty * s.sum(), np.einsum("ij,ij->j", X, pull) + penalty


def matrix_cost(omega: Numbers, X: Numbers, near: MapNeighbors, penalty: float) -> tuple[float, Numbers]:
    """NeRV cost of Omega X plus ``penalty * tr(Omega^T Omega)``, and its gradient by Omega (eq. 4.8, 4.9)."""
    A = X @ omega.T
    cost, pull = nerv_pull(A, A, near)
    return cost + penalty * float((omega**2).sum()), 2.0 * (pull.T @ X + penalty * omega)


def learn_weights(
    X: Numbers, near: MapNeighbors, *, penalty: float, start: Numbers, max_iter: int, tol: float = 1e-6
) -> tuple[Numbers, float, int, str]:
    """lambda >= 0 from the first s = lambda^2: (lambda, cost, iterations, why it stopped)."""
    result = minimize(
        lambda s: weights_cost(s, X, near, penalty), start, max_iter=max_iter, tol=tol,
        bounds=[(0.0, None)] * len(start), **LEARNING,
    )  # fmt: skip
    return np.sqrt(result.x), result.value, result.n_iter, result.stop_reason


def learn_matrix(
    X: Numbers, near: MapNeighbors, *, penalty: float, start: Numbers, max_iter: int, tol: float = 1e-6
) -> tuple[Numbers, float, int, str]:
    """Omega from a first one: (Omega, cost, iterations, why it stopped)."""
    result = minimize(lambda omega: matrix_cost(omega, X, near, penalty), start, max_iter=max_iter, tol=tol, **LEARNING)
    return result.x, result.value, result.n_iter, result.stop_reason


def first_matrix(X: Numbers, Y: Numbers, n_components: int | None) -> Numbers:
    """The identity, or at lower rank the best linear map to the positions and principal directions, scaled to X."""
    Xc = X - X.mean(axis=0)
    omega = first_omega(X, np.linalg.lstsq(Xc, Y - Y.mean(axis=0), rcond=None)[0].T, n_components)
    return omega * (np.linalg.norm(Xc) / (np.linalg.norm(Xc @ omega.T) or 1.0))
