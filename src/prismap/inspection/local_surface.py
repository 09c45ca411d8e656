"""Rows behind places of a map, as weighted means of rows nearby that belong together.

``pi^-1(z) = sum_i w_i(z) x_i`` over the k rows nearest to z, ``w_i ~ (1 - d_i / R) / sqrt(d_i^2 + s^2)``: d_i is the
distance of row i on the map, R that of the next row beyond (so that weights come and go smoothly; Franke & Nielson
1980), s the usual distance between neighbours on the map, so that one row does not make a region of its own. Means of
rows stay among the rows: places beyond them show the nearest rows, never an extrapolation.

A map of a target may put rows from different parts of the data in one place, because the target is the same there;
their mean lies between the parts, where the target is another. So w_i is multiplied by ``exp(-|x_i - x_c|^2 / 2 h^2)``:
c is the row among the k that most of the weight is near to, h the usual distance between neighbours in the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from prismap._blocks import row_blocks

#: Rows that a place is the mean of.
N_NEIGHBORS = 15
#: Rows whose distances in the data tell what is near; h is this many times the distance to the fifth neighbour.
SAMPLE_ROWS, NEAR = 500, 1.5


class LocalSurface:
    """The surface of weighted means through rows (n, D) with positions (n, 2)."""

    def __init__(self, positions: Any, rows: Any, n_neighbors: int = N_NEIGHBORS):
        self.rows = np.asarray(rows, dtype=np.float64)
        self.tree = cKDTree(np.asarray(positions, dtype=np.float64))
        self.n_neighbors = min(n_neighbors, len(self.rows) - 1)
        self.spacing = usual(self.tree.query(self.tree.data, k=2)[0][:, 1])
        sample = self.rows[:: max(1, len(self.rows) // SAMPLE_ROWS)]
        near = NearestNeighbors(n_neighbors=min(6, len(self.rows))).fit(self.rows).kneighbors(sample)[0][:, -1]
        self.width = NEAR * usual(near)

    def transform(self, places: Any) -> np.ndarray:
        """Rows for places, (m, D)."""
        index, weights = near_weights(self.tree, places, self.n_neighbors, self.spacing)
        out = np.empty((len(weights), self.rows.shape[1]))
        for block in row_blocks(len(weights), 32.0 * self.n_neighbors * (self.rows.shape[1] + self.n_neighbors)):
            out[block] = self._means(self.rows[index[block]], weights[block])
        return out

    def _means(self, near: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Means of the rows (m, k, D) that lie together, by weights (m, k)."""
        squares = np.square(near).sum(axis=2)
        D2 = squares[:, :, None] + squares[:, None, :] - 2 * near @ near.transpose(0, 2, 1)
        together = np.exp(-np.maximum(D2, 0) / (2 * self.width**2))
        core = (together @ weights[:, :, None])[:, :, 0].argmax(axis=1)
        weights = weights * together[np.arange(len(core)), core]
        return np.einsum("mk,mkd->md", weights / weights.sum(axis=1, keepdims=True), near)


def near_weights(tree: cKDTree, places: Any, n_neighbors: int, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows near each place and their weights, both (m, k)."""
    distance, index = tree.query(np.asarray(places, dtype=np.float64), k=n_neighbors + 1)
    beyond, distance, index = distance[:, -1:], distance[:, :-1], index[:, :-1]
    fade = 1 - distance / np.maximum(beyond, np.finfo(float).tiny)
    # All as far as the next one beyond (a ring, or far away): they count alike.
    weights = np.maximum(fade, 1e-9) / np.sqrt(distance**2 + spacing**2)
    return index, weights / weights.sum(axis=1, keepdims=True)


def usual(distances: np.ndarray) -> float:
    """The median of those that are not 0."""
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0
