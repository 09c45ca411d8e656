"""The row behind a place of a map, where rows have no mean: the one nearest to the mean that they would have.

The mean ``m = sum_i w_i x_i`` of the rows mapped near a place exists in the space of a comparison even if nothing can
be built that lies there. Distances to it follow from those between the rows (Hammer & Hasenfuss 2010, section 3),

    d^2(x_j, m) = sum_i w_i d^2(x_j, x_i) - 1/2 sum_ik w_i w_k d^2(x_i, x_k),

and the second part is the same for all j. So the pre-image is the row among them with the smallest first part, their
weighted medoid.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from prismap._blocks import row_blocks
from prismap.inspection.local_surface import N_NEIGHBORS, near_weights, usual


class PreImages:
    """Rows behind places, by number.

    Parameters
    ----------
    positions : (n, 2), the rows on the map.
    squared : function of numbers (m, k) that gives the squared distances (m, k, k) among each k rows; None takes the
        row that is nearest on the map.
    """

    def __init__(self, positions: Any, squared: Any = None, n_neighbors: int = N_NEIGHBORS):
        self.tree, self.squared = cKDTree(np.asarray(positions, dtype=np.float64)), squared
        self.n_neighbors = min(n_neighbors, self.tree.n - 1)
        self.spacing = usual(self.tree.query(self.tree.data, k=2)[0][:, 1])

    def __call__(self, places: Any) -> np.ndarray:
        """Numbers of the rows behind places, (m,)."""
        places = np.asarray(places, dtype=np.float64)
        if self.squared is None:
            return self.tree.query(places)[1]
        index, weights = near_weights(self.tree, places, self.n_neighbors, self.spacing)
        out = np.empty(len(places), dtype=np.intp)
        for block in row_blocks(len(places), 16.0 * self.n_neighbors**2):
            near = index[block]
            cost = np.einsum("mjk,mk->mj", self.squared(near), weights[block])
            out[block] = near[np.arange(len(near)), cost.argmin(axis=1)]
        return out


def among(D2: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Squared distances among rows, from the matrix of all of them."""
    return D2[index[:, :, None], index[:, None, :]]


def among_vectors(rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The same of vectors."""
    near = rows[index]
    squares = np.square(near).sum(axis=2)
    return np.maximum(squares[:, :, None] + squares[:, None, :] - 2 * near @ near.transpose(0, 2, 1), 0)


def squared_of_matrix(matrix: np.ndarray, kind: str) -> np.ndarray:
    """Squared distances from a square matrix of dissimilarities, or of similarities (``s_ii + s_jj - 2 s_ij``)."""
    if kind == "dissimilarity":
        return matrix**2
    own = np.diag(matrix)
    return own[:, None] + own[None, :] - 2 * matrix
