"""Nearest neighbours: the smallest entries of blocks of distances, and how they were found."""

from __future__ import annotations

import numpy as np

from prismap.exceptions import InputError


class Neighbors(tuple):
    """The pair ``(distances, indices)``, nearest first, that remembers how it was made.

    Attributes
    ----------
    distances, indices : arrays (n, k).
    method : "exact", "partition", "vptree" or "pivots".
    recall : share of the exact neighbours that were found, estimated on a sample; 1 for exact ones.
    n_distances : distances computed, None where nobody counted.
    n_rounds : rounds of a partition search.
    """

    method: str
    recall: float
    n_distances: int | None
    n_rounds: int | None

    def __new__(cls, distances, indices, *, method, recall=1.0, n_distances=None, n_rounds=None):
        self = super().__new__(cls, (distances, indices))
        self.method, self.recall, self.n_distances, self.n_rounds = method, recall, n_distances, n_rounds
        return self

    distances = property(lambda self: self[0])
    indices = property(lambda self: self[1])

    def __repr__(self):
        n, k = self.indices.shape
        counted = (
            "" if self.n_distances is None else f", {self.n_distances / max(n * (n - 1), 1):.2g} of all pairs measured"
        )
        return f"<{k} neighbours of {n} rows, {self.method}, recall {self.recall:.3f}{counted}>"


def smallest(D, n_neighbors):
    """The `n_neighbors` smallest entries of each row of D, ascending (ties by column): values and columns."""
    if n_neighbors < D.shape[1]:
        columns = np.sort(np.argpartition(D, n_neighbors - 1, axis=1)[:, :n_neighbors], axis=1)
    else:
        columns = np.broadcast_to(np.arange(D.shape[1]), D.shape)
    values = np.take_along_axis(D, columns, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(columns, order, axis=1)


def check_n_neighbors(n_neighbors: int, n_fitted: int, *, own: bool) -> int:
    """A number of neighbours that exists: at most the fitted rows, less the row itself when it is one of them."""
    most = n_fitted - 1 if own else n_fitted
    if not 1 <= n_neighbors <= most:
        raise InputError(f"n_neighbors must lie between 1 and {most} for {n_fitted} fitted rows; got {n_neighbors}.")
    return int(n_neighbors)
