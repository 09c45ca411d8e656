"""When a descent is done: rows no longer change their places and their neighbours.

The cost is no guide: that of t-SNE falls as long as clusters drift apart, long after the picture is what it will be.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

#: Iterations between two looks; rows that are looked at, evenly spread over all; and neighbours of each of them.
STEPS_BETWEEN_LOOKS, N_LOOKED_AT, N_NEIGHBORS = 25, 300, 10


def arrangement(Y):
    """Distances between all pairs of positions Y, in units of their root sum of squares."""
    distances = pdist(Y)
    return distances / max(float(np.linalg.norm(distances)), np.finfo(np.float64).tiny)


def neighborhoods(Y, rows):
    """The nearest positions of some rows among all others, sorted by index: (rows, k), k at most a third of all."""
    k = min(N_NEIGHBORS, max(1, (len(Y) - 1) // 3))
    found = cKDTree(Y).query(Y[rows], min(k + 1, len(Y)))[1].reshape(len(rows), -1)
    return np.sort(found, axis=1)


def share_moved(before, after):
    """Mean share of the neighbours that are not the ones of before; each row is one of its own, and does not count."""
    kept = [np.isin(a, b, assume_unique=True).sum() for a, b in zip(after, before, strict=True)]
    return 1.0 - (float(np.mean(kept)) - 1) / max(1, after.shape[1] - 1)


class Settling:
    """Looks at a map every now and then and tells whether it has settled up to `tol`.

    It has if the arrangement of `N_LOOKED_AT` rows changed by less than `tol` since the last look, and a smaller share
    of their nearest neighbours did. The first look tells nothing, and with ``tol=0`` none does.
    """

    def __init__(self, n_rows, tol):
        self.rows = np.unique(np.linspace(0, n_rows - 1, min(N_LOOKED_AT, n_rows)).astype(np.intp))
        self.tol, self._last = tol, None

    def is_settled(self, Y):
        """Look at positions Y."""
        if not self.tol:
            return False
        Y, last = np.asarray(Y), self._last
        self._last = arrangement(Y[self.rows]), neighborhoods(Y, self.rows)
        if last is None or np.linalg.norm(last[0] - self._last[0]) >= self.tol:
            return False
        return share_moved(last[1], self._last[1]) < self.tol
