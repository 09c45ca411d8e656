"""Nearest neighbours in quasi-linear time, under any metric that can measure blocks of rows against blocks.

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

from prismap._blocks import row_blocks
from prismap._random import as_generator
from prismap._search import Neighbors, smallest
from prismap._threads import pool_of_threads

#: Rows of a group at most, in units of the neighbours wanted, and at least.
GROUP_FACTOR, FEWEST_IN_GROUP = 6, 256
#: Rows outside a group that it is measured against in a round of refinement, in units of the group's size.
OUTSIDE_FACTOR = 3
#: Pivots drawn at a time, and how often rows are halved by them.
N_PIVOTS, N_HALVINGS = 48, 4
#: Rows whose candidates by a cheaper metric are measured together at most, and how much of the recall that may cost.
MEASURED_TOGETHER, CLOSE = 128, 0.02
#: Share by which a distance may be wrong in single precision.
ROUNDING = 1e-3
#: Rows whose exact neighbours say how good the others are.
SAMPLE_ROWS = 200
#: Rounds at most; what recall they reached is in the result.
MOST_ROUNDS = 12


def partition_neighbors(
    between, n_rows, n_neighbors, *, recall=0.97, random_state=None, n_jobs=None, callback=None, at_least=None
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
        found = measured_candidates(between, at_least, candidates, n_neighbors, rng, n_jobs)
        if found.recall >= recall - CLOSE:
            return found
    size = max(FEWEST_IN_GROUP, GROUP_FACTOR * n_neighbors)
    lists = NeighborLists(between, n_rows, n_neighbors)
    sample = np.sort(rng.choice(n_rows, min(SAMPLE_ROWS, n_rows), replace=False))
    exact = exact_of_sample(between, sample, n_rows, n_neighbors)
    lists.count(len(sample) * n_rows)
    reached, rounds = 0.0, 0
    with pool_of_threads(n_jobs) as pool:
        for rounds in range(1, MOST_ROUNDS + 1):
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


def measured_candidates(between, at_least, candidates, n_neighbors, rng, n_jobs=None):
    """The nearest of the candidates, measured group by group of rows that are near each other.

    A row is measured against the candidates of its whole group, so that more than its own can be its neighbours.
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
        groups = random_groups(at_least, np.arange(n_rows), MEASURED_TOGETHER, rng, n_distances.append)
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
        found, where = below(D, self.distances[rows].max(axis=1), self.k)
        distances = np.concatenate([self.distances[rows], found], axis=1)
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
        """The rows outside a group that its members' lists name most often."""
        named = self.indices[rows].ravel()
        named, counts = np.unique(named[named >= 0], return_counts=True)
        outside = ~np.isin(named, rows)
        named, counts = named[outside], counts[outside]
        most = OUTSIDE_FACTOR * len(rows)
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


def random_groups(between, rows, size, rng, count):
    """A random partition of the rows into groups of at most `size` rows that are near each other."""
    if len(rows) <= size:
        return [rows]
    pivots = np.sort(rng.choice(rows, min(N_PIVOTS, len(rows)), replace=False))
    D = np.asarray(between(rows, pivots), dtype=np.float32)
    count(D.size)
    parts = [np.arange(len(rows))]
    for _ in range(N_HALVINGS):
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


def exact_below(between, at_least, sample, found, n_rows):
    """The exact neighbours of some rows, from the distances `found` of as many others: where `at_least` is longer than
    the longest of these, no row can be nearer, and nothing is measured."""
    every, k = np.arange(n_rows), found.shape[1]
    indices = np.empty((len(sample), k), dtype=np.intp)
    for part in row_blocks(len(sample), 24.0 * n_rows, 64 * 2**20):
        near = np.asarray(at_least(sample[part], every)) <= found[part].max(axis=1, keepdims=True) * (1 + ROUNDING)
        for place, (row, columns) in enumerate(zip(sample[part], map(np.flatnonzero, near), strict=True), part.start):
            columns = columns[columns != row]
            D = np.asarray(between(np.array([row]), columns), dtype=np.float32)
            indices[place] = columns[smallest(D, k)[1][0]]
    return indices


def recall_of(found, exact):
    """Share of the exact neighbours that were found."""
    hits = sum(np.isin(a, b, assume_unique=True).sum() for a, b in zip(exact, found, strict=True))
    return float(hits / exact.size)
