"""Rows behind places of a map, as weighted means of the rows nearby.

``pi^-1(z) = sum_i w_i(z) x_i`` over the k rows nearest to z, ``w_i ~ (1 - d_i / R) / sqrt(d_i^2 + s^2)``: d_i is the
distance of row i on the map, R that of the next row beyond (so that weights come and go smoothly; Franke & Nielson
1980), s the usual distance between neighbours on the map, so that one row does not make an island of its own. Means of
rows stay among the rows: places beyond them show the nearest rows, never an extrapolation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

#: Rows that a place is the mean of.
N_NEIGHBORS = 15


class LocalSurface:
    """The surface of weighted means through rows (n, D) with positions (n, 2)."""

    def __init__(self, positions: Any, rows: Any, n_neighbors: int = N_NEIGHBORS):
        self.rows = np.asarray(rows, dtype=np.float64)
        self.tree = cKDTree(np.asarray(positions, dtype=np.float64))
        self.n_neighbors = min(n_neighbors, len(self.rows) - 1)
        nearest = self.tree.query(self.tree.data, k=2)[0][:, 1]
        positive = nearest[nearest > 0]
        self.spacing = float(np.median(positive)) if len(positive) else 1.0

    def transform(self, places: Any) -> np.ndarray:
        """Rows for places, (m, D)."""
        distance, index = self.tree.query(np.asarray(places, dtype=np.float64), k=self.n_neighbors + 1)
        beyond, distance, index = distance[:, -1:], distance[:, :-1], index[:, :-1]
        fade = 1 - distance / np.maximum(beyond, np.finfo(float).tiny)
        # All as far as the next one beyond (a ring, or far away): they count alike.
        fade = np.maximum(fade, 1e-9)
        weights = fade / np.sqrt(distance**2 + self.spacing**2)
        weights /= weights.sum(axis=1, keepdims=True)
        starts = np.arange(0, weights.size + 1, self.n_neighbors)
        mean = sp.csr_matrix((weights.ravel(), index.ravel(), starts), shape=(len(weights), len(self.rows)))
        return mean @ self.rows
