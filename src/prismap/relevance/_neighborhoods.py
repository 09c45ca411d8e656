"""Quality of a map's neighbourhoods seen through single features, and through all but one (Schulz 2017, sec. 4.2.2).

Q_NX(k) is the share of a row's k nearest neighbours in the map that are among its k nearest in the data, on average
(Schulz 2017, eq. 2.2). A feature with few distinct values ties many rows; ties share the places that are left evenly,
which is the expectation over random tie-breaking, so that neither the order of the rows nor chance decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import row_blocks
from prismap.learners._shared import squared_distances

#: Bytes of one temporary block.
_BLOCK_BYTES = 2 * 2**20


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
    for block in row_blocks(len(rows), 8.0 * len(Y), _BLOCK_BYTES):
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
    for block in row_blocks(len(hood.rows), 8.0 * len(X), _BLOCK_BYTES):
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
