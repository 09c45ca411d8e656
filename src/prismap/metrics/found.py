"""Neighbours, and how they were found."""

from __future__ import annotations


class Neighbors(tuple):
    """The pair ``(distances, indices)``, nearest first, that remembers how it was made.

    Attributes
    ----------
    distances, indices : arrays (n, k).
    method : "exact", "partition" or "vptree".
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
