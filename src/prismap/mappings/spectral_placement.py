"""Where spectral methods put a new row, in closed form: Isomap and scaling by distances, LLE and MVU by weights.

Isomap: Bengio et al. (2003), Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering. LLE:
Saul & Roweis (2003), Think globally, fit locally, sec. 6.1. MVU: Weinberger, Packer & Saul (2005), Nonlinear
dimensionality reduction by semidefinite programming and kernel matrix factorization. Every row is computed by itself.
"""

from __future__ import annotations

import numpy as np

from prismap._graphs import connected_neighbours, geodesics, neighbour_graph, paths_through
from prismap._search import smallest
from prismap._spectra import gram_around_centre, reconstruction_weights

#: Neighbours that rebuild a row, at least, where no number is given.
LLE_NEIGHBORS, MVU_NEIGHBORS = 10, 6
#: Ridge on local Gram matrices, as a share of their trace.
RIDGE = 1e-3


class PathPlacement:
    """Inner products with the fitted rows as path lengths ask for them: ``z = argmin |B z - b|^2``.

    B are the centred positions, ``b_j = -(delta_j^2 - mean_i delta_ij^2) / 2``, delta the lengths of paths over the
    neighbour graph (Isomap) or the distances themselves (classical scaling). This is the strain of the new row, and for
    a fitted row the position that classical scaling gave it.
    """

    def __init__(self, metric, Y, n_neighbors, *, paths):
        D = np.asarray(metric.pairwise(None), dtype=np.float64)
        self.center, self.k = Y.mean(axis=0), 0
        if paths:
            distances, indices = connected_neighbours(metric, len(Y), n_neighbors)
            self.k = indices.shape[1]
            self.lengths = D = geodesics(neighbour_graph(distances, indices))
        self.means = np.square(D).mean(axis=0)
        self.B = Y - self.center
        self.solve = np.linalg.pinv(self.B).T

    def wanted(self, D):
        """b of rows at distances D from the fitted ones."""
        return -0.5 * (np.square(self.paths(D) if self.k else D) - self.means)

    def paths(self, D):
        """Lengths of the shortest paths of rows at distances D, each over one of its nearest fitted rows."""
        return paths_through(D, min(self.k, D.shape[1]), self.lengths)

    def place(self, D):
        """Positions of rows at distances D."""
        return np.einsum("ij,jk->ik", self.wanted(D), self.solve) + self.center

    def cost(self, D):
        """``|B z - b|^2 / |b|^2`` of rows at distances D, as a function of positions z and rows."""
        b = self.wanted(D)
        size = np.maximum(np.square(b).sum(axis=1), np.finfo(np.float64).tiny)

        def cost_of(Z, rows):
            gap = np.einsum("ik,jk->ij", Z - self.center, self.B) - b[rows]
            return np.square(gap).sum(axis=1) / size[rows], 2 * np.einsum("ij,jk->ik", gap, self.B) / size[rows, None]

        return cost_of


class WeightPlacement:
    """A row is rebuilt from its nearest fitted rows by weights that add up to one, in the data and on the map."""

    def __init__(self, metric, Y, n_neighbors, *, least, closed):
        self.Y, self.D2 = Y, np.square(np.asarray(metric.pairwise(None), dtype=np.float64))
        if n_neighbors != "auto" or closed:
            n_neighbors = connected_neighbours(metric, len(Y), n_neighbors, least=least, closed=closed)[1].shape[1]
        else:
            n_neighbors = least
        self.k = min(n_neighbors, len(Y))

    def place(self, D):
        """Positions of rows at distances D."""
        near, columns = smallest(D, self.k)
        among = self.D2[columns[:, :, None], columns[:, None, :]]
        W, _ = reconstruction_weights(gram_around_centre(np.square(near), among), RIDGE)
        return np.einsum("ij,ijk->ik", W, self.Y[columns])

    def cost(self, D):
        """``|z - sum_j w_j y_j|^2`` of rows at distances D, as a function of positions z and rows."""
        best = self.place(D)
        return lambda Z, rows: (np.square(Z - best[rows]).sum(axis=1), 2 * (Z - best[rows]))


def spectral_placement(cost, metric, Y, n_neighbors):
    """The placement of a spectral method by name."""
    if cost in ("isomap", "classical"):
        return PathPlacement(metric, Y, n_neighbors, paths=cost == "isomap")
    least = LLE_NEIGHBORS if cost == "lle" else MVU_NEIGHBORS
    return WeightPlacement(metric, Y, n_neighbors, least=least, closed=cost == "lle")
