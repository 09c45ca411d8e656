"""Quality of a map's neighbourhoods seen through single features, and through all but one (Schulz 2017, sec. 4.2.2).

Q_NX(k) is the share of a row's k nearest neighbours in the map that are among its k nearest in the data, on average
(Schulz 2017, eq. 2.2). A feature with few distinct values ties many rows; ties share the places that are left evenly,
which is the expectation over random tie-breaking, so that neither the order of the rows nor chance decides.

A metric can also be learnt whose neighbourhoods are those of the map, by the NeRV cost. The map is fixed and the data's
metric moves, d^2 = sum_l s_l (x_l - x'_l)^2 with s_l = lambda_l^2 >= 0, or ||Omega (x - x')||^2 (Schulz 2017, sec.
4.2.3, 4.2.4). `prismap._util.costs.nerv_cost` holds the same cost as a function of positions; here it is a function of
squared distances, so that every step is matrix products whatever the number of columns, and the cost may be restricted
to some rows' neighbourhoods.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from prismap._util.affinities import calibrate
from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import CACHED_BYTES, require_memory, row_blocks
from prismap._util.costs import SMALLEST_AFFINITY
from prismap._util.optimise import minimize
from prismap.learners._shared import LEARNING, first_omega, squared_distances


@dataclass(frozen=True)
class Neighborhoods:
    """Pairs (i, j): j is among the k nearest of i in the map, with a weight below one for ties. `rows` are judged."""

    rows: np.ndarray
    i: np.ndarray
    j: np.ndarray
    weight: np.ndarray
    k: int

    def mean_overlap(self, share: Numbers) -> float:
        """Q_NX from the share of each pair that lies in the other neighbourhood, too."""
        return float(self.weight @ share) / (len(self.rows) * self.k)


def map_neighborhoods(Y: Numbers, k: int, rows: Rows) -> Neighborhoods:
    """The k nearest rows in the map of each of `rows`, all rows being candidates."""
    parts = []
    for block in row_blocks(len(rows), 8.0 * len(Y), CACHED_BYTES):
        D2 = cdist(Y[rows[block]], Y, "sqeuclidean")
        D2[np.arange(len(D2)), rows[block]] = np.inf
        reach, share = _reach(D2, k)
        a, j = np.nonzero(reach[:, None] >= D2)
        weight = np.where(D2[a, j] < reach[a], 1.0, share[a])
        parts.append((rows[block][a], j, weight))
    i, j, weight = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return Neighborhoods(rows, i, j, weight, k)


def _reach(D: Numbers, k: int) -> tuple[Numbers, Numbers]:
    """The k-th smallest entry of each row, and the share of the rows tied there that belongs to the k nearest."""
    nearest = np.partition(D, k - 1, axis=1)[:, :k]
    reach = nearest[:, -1]
    nearer = (nearest < reach[:, None]).sum(axis=1)
    tied = (reach[:, None] >= D).sum(axis=1) - nearer
    return reach, (k - nearer) / tied


def forward_quality(X: Numbers, hood: Neighborhoods) -> Numbers:
    """Q_NX(k) of each feature alone against the map, shape (n_features,)."""
    return np.array([_single_quality(x, hood) for x in np.ascontiguousarray(X.T)])


def _single_quality(x: Numbers, hood: Neighborhoods) -> float:
    """Q_NX(k) of one column: its k nearest lie within k places in sorted order, so nothing n x n is looked at."""
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    place = np.empty(len(x), dtype=np.intp)
    place[order] = np.arange(len(x))
    at = place[hood.rows]
    offsets = np.concatenate([np.arange(-hood.k, 0), np.arange(1, hood.k + 1)])
    window = at[:, None] + offsets
    inside = (window >= 0) & (window < len(x))
    window = np.clip(window, 0, len(x) - 1)
    D = np.where(inside, np.abs(ordered[window] - x[hood.rows][:, None]), np.inf)
    nearest = np.partition(D, hood.k - 1, axis=1)[:, : hood.k]
    reach = nearest[:, -1]
    nearer = (nearest < reach[:, None]).sum(axis=1)
    # Ties may run beyond the window: count all rows that have the values found at exactly this distance.
    first, last = np.searchsorted(ordered, ordered, "left"), np.searchsorted(ordered, ordered, "right")
    same_value = (last - first)[window]
    at_reach = reach[:, None] == D
    left = np.where(at_reach & (offsets < 0), same_value, 0).max(axis=1)
    right = np.where(at_reach & (offsets > 0), same_value, 0).max(axis=1)
    tied = np.where(reach > 0, left + right, np.maximum(left, right) - 1)
    reach_of = np.full(len(x), np.nan)
    share_of = np.full(len(x), np.nan)
    reach_of[hood.rows] = reach
    share_of[hood.rows] = np.minimum((hood.k - nearer) / tied, 1.0)
    d = np.abs(x[hood.i] - x[hood.j])
    share = np.where(d < reach_of[hood.i], 1.0, np.where(d == reach_of[hood.i], share_of[hood.i], 0.0))
    return hood.mean_overlap(share)


def backward_quality(X: Numbers, hood: Neighborhoods, extra: Numbers | None = None) -> tuple[Any, Numbers, Numbers]:
    """Q_NX(k) of all features, of all but each, and of all with each column of `extra` added.

    Returns a float and arrays (n_features,), (n_extra,). One more or less column changes the squared distances by one
    outer difference; the k rows that were nearest before bound how far the k nearest now can be, so few are sorted.
    """
    X = X - X.mean(axis=0)
    extra = np.empty((len(X), 0)) if extra is None else extra
    columns, signs = np.hstack([X, extra]).T, np.repeat([-1.0, 1.0], [X.shape[1], extra.shape[1]])
    total, shares = 0.0, np.zeros(len(columns))
    starts, stops = (np.searchsorted(hood.i, hood.rows, side) for side in ("left", "right"))  # pairs come row by row
    for block in row_blocks(len(hood.rows), 8.0 * len(X), CACHED_BYTES):
        rows = hood.rows[block]
        pairs = slice(starts[block][0], stops[block][-1])
        judged = np.searchsorted(rows, hood.i[pairs]), hood.j[pairs], hood.weight[pairs]
        D2 = squared_distances(X[rows], X)
        D2[np.arange(len(rows)), rows] = np.inf
        near = np.argpartition(D2, hood.k - 1, axis=1)[:, : hood.k]
        total += _overlap(D2, near, *judged)
        E = np.empty_like(D2)
        for c, (x, sign) in enumerate(zip(columns, signs, strict=True)):
            np.subtract.outer(x[rows], x, out=E)
            np.multiply(E, E, out=E)
            np.add(D2, E, out=E) if sign > 0 else np.subtract(D2, E, out=E)
            shares[c] += _overlap(E, near, *judged)
    scale = len(hood.rows) * hood.k
    return total / scale, shares[: X.shape[1]] / scale, shares[X.shape[1] :] / scale


def _overlap(D: Numbers, near: Any, a: Rows, j: Rows, weight: Numbers) -> float:
    """The summed weights of the pairs (a, j) among the k nearest of each row of D; `near` names any k rows of each."""
    bound = np.take_along_axis(D, near, axis=1).max(axis=1)
    row, column = np.nonzero(bound[:, None] >= D)
    counts = np.bincount(row, minlength=len(D))
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    candidates = np.full((len(D), counts.max()), np.inf)
    candidates[row, place] = D[row, column]
    reach, share = _reach(candidates, near.shape[1])
    d = D[a, j]
    return float((weight * np.where(d < reach[a], 1.0, np.where(d == reach[a], share[a], 0.0))).sum())


# --- a metric on the data with the neighbourhoods of a map ------------------------------------------------------------


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
    for block in row_blocks(len(rows), 8.0 * len(X), CACHED_BYTES):
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
    for block in row_blocks(len(near.rows), 8.0 * len(A), CACHED_BYTES):
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
