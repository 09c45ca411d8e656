"""Nearest neighbours: the smallest entries of blocks of distances, and neighbours of all rows by random partitions.


Rows are cut into small groups by random partitions: a few pivots are drawn, every row's distances to them computed, and
the rows halved again and again by which of two pivots is nearer, until a group is small; then new pivots are drawn
inside each part. All pairs inside a group are measured in one block, and every row keeps its nearest. Then rounds of
refinement follow: a group is measured against the rows that its members' lists name most often, which are the
neighbours of their neighbours. A round costs n times a constant; rounds go on until the recall, estimated on a sample
of rows whose exact neighbours are computed, is reached.

Where a cheaper metric is known whose distances are never longer, it finds the candidates, and only they are measured.

Everything is blocks of matrix products; no row is ever looked at alone. The same seed gives the same neighbours for any
number of threads: the groups of a round share no row, and each is one thread's work.
"""

from __future__ import annotations

import numpy as np

from prismap._util.blocks import row_blocks
from prismap._util.random import as_generator
from prismap._util.threads import pool_of_threads
from prismap.exceptions import InputError


class Neighbors(tuple):
    """The pair ``(distances, indices)``, nearest first, that remembers how it was made.

    Attributes
    ----------
    distances, indices : arrays (n, k).
    method : "exact", "partition", "vptree" or "pivots".
    recall : share of the exact neighbours that were found, estimated on a sample; 1 for exact ones.
    n_distances : distances computed, None where they were not counted.
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
    n_groups = 10 * n_neighbors
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


# --- random partitions ------------------------------------------------------------------------------------------------

#: Rows whose exact neighbours are computed, to estimate the recall.
SAMPLE_ROWS = 200


def partition_neighbors(
    between,
    n_rows,
    n_neighbors,
    *,
    recall=0.97,
    random_state=None,
    n_jobs=None,
    callback=None,
    at_least=None,
    most_rounds=12,
):
    """Neighbours of all rows among each other, approximately.

    Parameters
    ----------
    between : ``between(a, b)``, the block of distances of rows a to rows b, both arrays of indices.
    n_rows, n_neighbors : how many rows there are, and neighbours are wanted.
    recall : share of the exact neighbours that is to be found.
    random_state : seed.
    n_jobs : threads.
    callback : ``callback(round, recall)`` after each round; True stops.
    most_rounds : rounds at most; what recall they reached is in the result.
    at_least : the same as `between` for distances that are never longer and cost less. If the nearest rows by them do
        not hold the share `recall` of the neighbours, all is done by `between`.

    Returns
    -------
    Neighbors, with the recall reached and the number of distances computed.
    """
    rng = as_generator(random_state)
    if at_least is not None:
        options = {"recall": recall, "random_state": rng, "n_jobs": n_jobs, "callback": callback}
        candidates = partition_neighbors(at_least, n_rows, n_neighbors, **options)
        nearest = measured_candidates(between, at_least, candidates, n_neighbors, rng, n_jobs)
        if nearest.recall >= recall - 0.02:
            return nearest
    size = max(256, 6 * n_neighbors)
    lists = NeighborLists(between, n_rows, n_neighbors)
    sample = np.sort(rng.choice(n_rows, min(SAMPLE_ROWS, n_rows), replace=False))
    exact = exact_of_sample(between, sample, n_rows, n_neighbors)
    lists.count(len(sample) * n_rows)
    reached, rounds = 0.0, 0
    with pool_of_threads(n_jobs) as pool:
        for rounds in range(1, most_rounds + 1):
            groups = random_groups(between, np.arange(n_rows), size, rng, lists.count)
            for _ in pool.map(lists.measure_inside, groups):
                pass
            if rounds > 1:
                # All groups look at the lists as they are now; what they find is written when all have looked.
                wanted = list(pool.map(lists.named_most, groups))
                for _ in pool.map(lists.measure, groups, wanted):
                    pass
            reached = recall_of(lists.indices[sample], exact)
            if reached >= recall or (callback is not None and callback(rounds, reached)):
                break
    distances, indices = lists.sorted()
    return Neighbors(
        distances, indices, method="partition", recall=reached, n_distances=int(lists.n_distances), n_rounds=rounds
    )


def measured_candidates(between, at_least, candidates, n_neighbors, rng, n_jobs=None, together=128):
    """The nearest of the candidates, measured group by group of rows that are near each other.

    A row is measured against the candidates of its whole group, of at most so many rows `together`, so that more than
    its own can be its neighbours.
    """
    n_rows = len(candidates.indices)
    distances = np.empty((n_rows, n_neighbors), dtype=np.float32)
    indices = np.empty((n_rows, n_neighbors), dtype=np.intp)
    n_distances = [candidates.n_distances]

    def measure(rows):
        columns = np.unique(candidates.indices[rows])
        D = np.array(between(rows, columns), dtype=np.float32)
        own = np.searchsorted(columns, rows)
        there = columns[np.minimum(own, len(columns) - 1)] == rows
        D[np.flatnonzero(there), own[there]] = np.inf
        distances[rows], best = smallest(D, n_neighbors)
        indices[rows] = columns[best]
        return D.size

    with pool_of_threads(n_jobs) as pool:
        groups = random_groups(at_least, np.arange(n_rows), together, rng, n_distances.append)
        n_distances += pool.map(measure, groups)
    sample = np.sort(rng.choice(n_rows, min(SAMPLE_ROWS, n_rows), replace=False))
    reached = recall_of(indices[sample], exact_below(between, at_least, sample, distances[sample], n_rows))
    return Neighbors(
        distances, indices, method="partition", recall=reached, n_distances=int(sum(n_distances)),
        n_rounds=candidates.n_rounds,
    )  # fmt: skip


class NeighborLists:
    """The nearest rows found so far, of every row."""

    def __init__(self, between, n_rows, n_neighbors):
        self.between, self.k = between, n_neighbors
        self.distances = np.full((n_rows, n_neighbors), np.inf, dtype=np.float32)
        self.indices = np.full((n_rows, n_neighbors), -1, dtype=np.int32)
        self.n_distances = 0.0

    def count(self, n_pairs):
        """Count distances computed."""
        self.n_distances += n_pairs

    def measure_inside(self, rows):
        """All pairs of a group."""
        self.measure(rows, rows)

    def measure(self, rows, columns):
        """Rows of a group against other rows."""
        D = np.array(self.between(rows, columns), dtype=np.float32)
        self.count(D.size)
        self.strike_known(rows, columns, D)
        near, where = below(D, self.distances[rows].max(axis=1), self.k)
        distances = np.concatenate([self.distances[rows], near], axis=1)
        indices = np.concatenate([self.indices[rows], columns[where].astype(np.int32)], axis=1)
        self.distances[rows], best = smallest_unsorted(distances, self.k)
        self.indices[rows] = np.take_along_axis(indices, best, axis=1)

    def strike_known(self, rows, columns, D):
        """Put the rows themselves and the neighbours that are on their lists already out of reach."""
        place = np.full(len(self.indices) + 1, -1, dtype=np.int32)  # the last stands for index -1, no neighbour yet
        place[columns] = np.arange(len(columns), dtype=np.int32)
        known = place[np.concatenate([rows[:, None], self.indices[rows]], axis=1)]
        i, j = np.nonzero(known >= 0)
        D[i, known[i, j]] = np.inf

    def named_most(self, rows):
        """The rows outside a group that its members' lists name most often, three times its size at most."""
        named = self.indices[rows].ravel()
        named, counts = np.unique(named[named >= 0], return_counts=True)
        outside = ~np.isin(named, rows)
        named, counts = named[outside], counts[outside]
        most = 3 * len(rows)
        if len(named) > most:
            named = np.sort(named[np.argsort(-counts, kind="stable")[:most]])
        return named.astype(np.intp)

    def sorted(self):
        """Distances and indices, nearest first, ties by index."""
        order = np.lexsort((self.indices, self.distances), axis=1)
        return (
            np.take_along_axis(self.distances, order, axis=1),
            np.take_along_axis(self.indices, order, axis=1).astype(np.intp),
        )


def below(D, limit, k):
    """Entries of each row below its limit, the k smallest where they are many: values (inf where none) and columns."""
    hits = limit[:, None] > D
    counts = hits.sum(axis=1)
    width = int(counts.max(initial=0))
    if width > k:
        return smallest_unsorted(D, min(k, D.shape[1]))
    i, j = np.nonzero(hits)
    slot = np.arange(len(i)) - np.repeat(np.cumsum(counts) - counts, counts)
    values, columns = np.full((len(D), width), np.inf, dtype=D.dtype), np.zeros((len(D), width), dtype=np.intp)
    values[i, slot], columns[i, slot] = D[i, j], j
    return values, columns


def smallest_unsorted(D, k):
    """The k smallest entries of each row and their columns, in no order."""
    if k >= D.shape[1]:
        return D, np.broadcast_to(np.arange(D.shape[1]), D.shape)
    columns = np.argpartition(D, k - 1, axis=1)[:, :k]
    return np.take_along_axis(D, columns, axis=1), columns


def random_groups(between, rows, size, rng, count, *, n_pivots=48, n_halvings=4):
    """A random partition of the rows into groups of at most `size` rows that are near each other.

    `n_pivots` are drawn at a time, and rows are halved `n_halvings` times by them.
    """
    if len(rows) <= size:
        return [rows]
    pivots = np.sort(rng.choice(rows, min(n_pivots, len(rows)), replace=False))
    D = np.asarray(between(rows, pivots), dtype=np.float32)
    count(D.size)
    parts = [np.arange(len(rows))]
    for _ in range(n_halvings):
        parts = [half for part in parts for half in halves(part, D, pivots, rows, size, rng)]
    return [group for part in parts for group in random_groups(between, rows[part], size, rng, count)]


def halves(part, D, pivots, rows, size, rng):
    """A part cut in two equal halves by which of two pivots is nearer; pivots inside the part where it has two."""
    if len(part) <= size:
        return [part]
    inside = np.flatnonzero(np.isin(pivots, rows[part]))
    p, q = rng.choice(inside if len(inside) > 1 else len(pivots), 2, replace=False)
    side = D[part, p] - D[part, q]
    order = np.argsort(side, kind="stable")
    middle = len(part) // 2
    return [np.sort(part[order[:middle]]), np.sort(part[order[middle:]])]


def exact_of_sample(between, sample, n_rows, n_neighbors):
    """The exact neighbours of some rows."""
    indices = np.empty((len(sample), n_neighbors), dtype=np.intp)
    every = np.arange(n_rows)
    for part in row_blocks(len(sample), 24.0 * n_rows, 64 * 2**20):
        D = np.array(between(sample[part], every), dtype=np.float32)
        D[np.arange(len(D)), sample[part]] = np.inf
        indices[part] = smallest(D, n_neighbors)[1]
    return indices


def exact_below(between, at_least, sample, distances, n_rows, *, rounding=1e-3):
    """The exact neighbours of some rows, from the `distances` of as many others.

    Where `at_least` is longer than the longest of these, no row can be nearer, and nothing is measured. A distance may
    be wrong by the share `rounding` in single precision.
    """
    every, k = np.arange(n_rows), distances.shape[1]
    indices = np.empty((len(sample), k), dtype=np.intp)
    for part in row_blocks(len(sample), 24.0 * n_rows, 64 * 2**20):
        near = np.asarray(at_least(sample[part], every)) <= distances[part].max(axis=1, keepdims=True) * (1 + rounding)
        for place, (row, columns) in enumerate(zip(sample[part], map(np.flatnonzero, near), strict=True), part.start):
            columns = columns[columns != row]
            D = np.asarray(between(np.array([row]), columns), dtype=np.float32)
            indices[place] = columns[smallest(D, k)[1][0]]
    return indices


def recall_of(indices, exact):
    """Share of the exact neighbours that are among the neighbours `indices`."""
    hits = sum(np.isin(a, b, assume_unique=True).sum() for a, b in zip(exact, indices, strict=True))
    return float(hits / exact.size)
