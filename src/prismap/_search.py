"""Nearest neighbours: the smallest entries of blocks of distances, and how they were found."""

from __future__ import annotations

import numpy as np

from prismap.exceptions import InputError

#: Groups of columns for each neighbour that is looked for.
GROUPS = 10


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

    def __getnewargs_ex__(self):
        """What makes it again, for pickle."""
        return tuple(self), {name: getattr(self, name) for name in ("method", "recall", "n_distances", "n_rounds")}

    distances = property(lambda self: self[0])
    indices = property(lambda self: self[1])

    def __repr__(self):
        n, k = self.indices.shape
        counted = (
            "" if self.n_distances is None else f", {self.n_distances / max(n * (n - 1), 1):.2g} of all pairs measured"
        )
        return f"<{k} neighbours of {n} rows, {self.method}, recall {self.recall:.3f}{counted}>"


def smallest(D: np.ndarray, n_neighbors: int) -> tuple[np.ndarray, np.ndarray]:
    """The `n_neighbors` smallest entries of each row of D, ascending (ties by column): values and columns."""
    values, columns = candidates(D, n_neighbors)
    order = np.argsort(values, axis=1, kind="stable")[:, :n_neighbors]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(columns, order, axis=1)


def candidates(D, n_neighbors):
    """A few entries of each row, among them its `n_neighbors` smallest: values and columns, by column.

    The columns are dealt out to groups, and the k-th smallest of the groups' minima is a bound on the k-th smallest
    entry, since k groups hold an entry that is not above it. With many more groups than k, few other entries are below
    it. This takes a fifth of the time of a partition, which is left for the rest: few columns, many equal entries, and
    entries that are not numbers.
    """
    n_rows, n_columns = D.shape
    if n_neighbors >= n_columns:
        return D, np.broadcast_to(np.arange(n_columns), D.shape)
    n_groups = GROUPS * n_neighbors
    if n_columns >= 2 * n_groups:
        lowest = np.array(D[:, :n_groups])
        for start in range(n_groups, n_columns, n_groups):
            part = D[:, start : start + n_groups]
            np.minimum(lowest[:, : part.shape[1]], part, out=lowest[:, : part.shape[1]])
        lowest.partition(n_neighbors - 1, axis=1)
        row, column = np.divmod(np.flatnonzero(lowest[:, n_neighbors - 1 : n_neighbors] >= D), n_columns)
        counts = np.bincount(row, minlength=n_rows)
        if counts.min(initial=n_columns) >= n_neighbors and counts.max(initial=0) <= n_groups:
            return side_by_side(D, row, column, counts, n_neighbors)
    columns = np.argpartition(D, n_neighbors - 1, axis=1)[:, :n_neighbors]
    columns.sort(axis=1)
    return np.take_along_axis(D, columns, axis=1), columns


def side_by_side(D, row, column, counts, least):
    """Entries of rows that have unequal numbers of them, as values and columns; shorter rows end with infinities."""
    place = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = len(D), int(counts.max(initial=least))
    values, columns = np.full(shape, np.inf, dtype=D.dtype), np.zeros(shape, dtype=np.intp)
    values[row, place], columns[row, place] = D[row, column], column
    return values, columns


def concatenated(starts, sizes):
    """``start, ..., start + size - 1`` of every start and size, one after another.

    >>> concatenated(np.array([5, 0, 9]), np.array([2, 0, 3])).tolist()
    [5, 6, 9, 10, 11]
    """
    starts, sizes = np.ravel(starts), np.ravel(sizes)
    return np.arange(sizes.sum()) + np.repeat(starts - sizes.cumsum() + sizes, sizes)


def check_n_neighbors(n_neighbors: int, n_fitted: int, *, own: bool) -> int:
    """A number of neighbours that exists: at most the fitted rows, less the row itself when it is one of them."""
    most = n_fitted - 1 if own else n_fitted
    if not 1 <= n_neighbors <= most:
        raise InputError(f"n_neighbors must lie between 1 and {most} for {n_fitted} fitted rows; got {n_neighbors}.")
    return int(n_neighbors)
