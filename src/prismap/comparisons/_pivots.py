"""Nearest neighbours with few evaluations: objects that are equally far from a few others are likely to be near.

A few objects are *pivots*, and the distances of an object to them are its coordinates. Under a metric, two objects are
at least as far apart as any of their coordinates differ. Candidates are therefore sought in the space of coordinates,
by matrix products and without an evaluation. Only they are evaluated. The neighbours of the neighbours found are
evaluated after that, which finds further ones that the coordinates did not show. The recall is measured on a sample of
objects whose exact neighbours are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import row_blocks
from prismap._util.random import as_generator
from prismap._util.repr import Brief
from prismap.comparisons._objects import Evaluator
from prismap.exceptions import InputError

#: Objects whose exact neighbours are evaluated to know the recall.
CHECKED_OBJECTS = 200
#: Values of the working arrays.
WORKING = 8_000_000


@dataclass(frozen=True, repr=False)
class PivotNeighbors(Brief):
    """Neighbours, nearest first, and what they cost.

    Attributes
    ----------
    distances, indices : arrays (n, k); an object is not its own neighbour.
    recall : share of the exact neighbours found on a sample; objects as near as the farthest neighbour count as found.
    n_evaluations : values asked for, those of the sample left out.
    n_checks : values asked for to know the recall.
    """

    distances: np.ndarray
    indices: np.ndarray
    recall: float
    n_evaluations: int
    n_checks: int

    @property
    def share(self) -> float:
        """Evaluations as a share of n^2."""
        return self.n_evaluations / len(self.indices) ** 2


def neighbors_by_pivots(
    evaluator: Evaluator, n_neighbors: int, *, n_pivots: int = 100, n_candidates: int = 100, n_rounds: int = 2,
    n_near: int | None = None, n_checked: int = CHECKED_OBJECTS, random_state: Any = None,
) -> PivotNeighbors:  # fmt: skip
    """The k nearest neighbours of all objects of an evaluator, approximately.

    Parameters
    ----------
    evaluator : `Evaluator`. Similarities become distances by d^2 = s_ii + s_jj - 2 s_ij.
    n_neighbors : how many.
    n_pivots, n_candidates : objects that every object is compared with for its coordinates, and after that; each costs
        one evaluation per object.
    n_rounds : how often neighbours of neighbours are evaluated too.
    n_near : nearest neighbours that this is done with, of each object; None takes all.
    n_checked : objects on which the recall is measured; each costs n evaluations. 0 leaves the recall NaN.
    random_state : seed of the pivots and of the sample.

    Returns
    -------
    PivotNeighbors

    Examples
    --------
    >>> from prismap.comparisons import Objects
    >>> words = [stem + end for stem in ("house", "garden", "winter") for end in ("", "s", "y", "er", "ed")]
    >>> neighbors = neighbors_by_pivots(Objects("edit").over(words), 2, n_pivots=5, n_candidates=4, random_state=0)
    >>> neighbors.recall
    1.0
    """
    n = len(evaluator)
    if not 1 <= n_neighbors < n:
        raise InputError(f"n_neighbors must lie between 1 and {n - 1}, with {n} objects; got {n_neighbors}.")
    rng = as_generator(random_state)
    search = Search(Distances(evaluator), n_neighbors)
    pivots = np.sort(rng.choice(n, min(n_pivots, n), replace=False))
    coordinates = search.distances.block(np.arange(n), pivots)
    search.learn(np.repeat(np.arange(n), len(pivots)), np.tile(pivots, n), coordinates.ravel())
    for rows, columns in near_in_coordinates(coordinates, min(max(n_candidates, n_neighbors), n - 1)):
        search.measure(np.repeat(rows, columns.shape[1]), columns.ravel())
    for _ in range(n_rounds):
        search.measure(*neighbors_of_neighbors(search.indices[:, :n_near]))
    n_evaluations = search.distances.n_asked
    sample = np.sort(rng.choice(n, min(n_checked, n), replace=False))
    recall = recall_on(sample, search)
    distances, indices = search.sorted()
    return PivotNeighbors(distances, indices, recall, n_evaluations, search.distances.n_asked - n_evaluations)


class Distances:
    """Distances of an evaluator's objects, and how many were asked for."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator, self.n_asked, n = evaluator, 0, len(evaluator)
        self.own = None
        if evaluator.how.kind == "similarity":
            self.own = evaluator.pairs(np.arange(n), np.arange(n))
            self.n_asked += n

    def block(self, i: Rows, j: Rows) -> Numbers:
        """Distances between objects i and j."""
        self.n_asked += len(i) * len(j)
        return self._distance(self.evaluator.block(i, j), i[:, None], j)

    def pairs(self, i: Rows, j: Rows) -> Numbers:
        """Distances of pairs."""
        self.n_asked += len(i)
        return self._distance(self.evaluator.pairs(i, j), i, j)

    def _distance(self, values: Numbers, i: Rows, j: Rows) -> Numbers:
        if self.own is None:
            return values
        return np.asarray(np.sqrt(np.maximum(self.own[i] + self.own[j] - 2 * values, 0.0)))


class Search:
    """The nearest objects found so far of every object, and which pairs are known."""

    def __init__(self, distances: Distances, k: int) -> None:
        self.distances, self.n = distances, len(distances.evaluator)
        self.values = np.full((self.n, k), np.inf)
        self.indices = np.full((self.n, k), -1, dtype=np.intp)
        self.known = np.empty(0, dtype=np.int64)

    def measure(self, i: Rows, j: Rows) -> None:
        """Evaluate those of the pairs that are not known."""
        keys = np.unique(np.minimum(i, j) * self.n + np.maximum(i, j))
        place = np.minimum(np.searchsorted(self.known, keys), max(len(self.known) - 1, 0))
        keys = keys[self.known[place] != keys] if len(self.known) else keys
        i, j = np.divmod(keys, self.n)
        i, j = i[i != j], j[i != j]
        for part in row_blocks(len(i), 1, WORKING):
            self.learn(i[part], j[part], self.distances.pairs(i[part], j[part]))

    def learn(self, i: Rows, j: Rows, values: Numbers) -> None:
        """Take the distances of pairs into the lists of both objects, each pair once."""
        keys, first = np.unique(np.minimum(i, j) * self.n + np.maximum(i, j), return_index=True)
        self.known = np.concatenate([self.known, keys])
        self.known.sort(kind="stable")  # two sorted runs: a merge
        i, j, values = i[first], j[first], values[first]
        self._offer(np.concatenate([i, j]), np.concatenate([j, i]), np.concatenate([values, values]))

    def _offer(self, i: Rows, j: Rows, values: Numbers) -> None:
        """Keep the k nearest of what the lists hold and what is offered."""
        k = self.values.shape[1]
        better = (values < self.values.max(axis=1)[i]) & (i != j)
        rows = np.unique(i[better])
        i = np.concatenate([np.repeat(rows, k), i[better]])
        j = np.concatenate([self.indices[rows].ravel(), j[better]])
        values = np.concatenate([self.values[rows].ravel(), values[better]])
        order = np.lexsort((j, values, i))
        i, j, values = i[order], j[order], values[order]
        starts = np.searchsorted(i, rows)
        best = starts[:, None] + np.arange(k)
        self.values[rows], self.indices[rows] = values[best], j[best]

    def sorted(self) -> tuple[Numbers, Rows]:
        """Distances and indices, nearest first, ties by index."""
        order = np.lexsort((self.indices, self.values), axis=1)
        return np.take_along_axis(self.values, order, axis=1), np.take_along_axis(self.indices, order, axis=1)


def near_in_coordinates(coordinates: Numbers, k: int) -> Iterator[tuple[Rows, Rows]]:
    """For rows in turn, the k rows with the nearest coordinates: pairs of row numbers and an array (rows, k)."""
    X = (coordinates - coordinates.mean(axis=0)).astype(np.float32)
    norms = np.einsum("id,id->i", X, X)
    for part in row_blocks(len(X), max(len(X), 1), 2 * WORKING):
        D2 = norms - 2 * (X[part] @ X.T)
        D2[np.arange(len(D2)), np.arange(part.start, part.stop)] = np.inf
        yield np.arange(part.start, part.stop), np.argpartition(D2, k - 1, axis=1)[:, :k]


def neighbors_of_neighbors(indices: Rows) -> tuple[Rows, Rows]:
    """Pairs of objects that are two steps apart, or that name the same neighbour."""
    n, k = indices.shape
    rows = np.repeat(np.arange(n), k)
    named = indices.ravel()
    i, j = np.repeat(rows, k), indices[named].ravel()
    return i, j


def recall_on(sample: Rows, search: Search) -> float:
    """Share of the exact neighbours of some objects that were found; those equally far count as found."""
    k, hits = search.values.shape[1], 0
    if not len(sample):
        return float("nan")
    for part in row_blocks(len(sample), search.n, WORKING):
        rows = sample[part]
        D = search.distances.block(rows, np.arange(search.n))
        D[np.arange(len(rows)), rows] = np.inf
        farthest = np.partition(D, k - 1, axis=1)[:, k - 1]
        hits += int((search.values[rows] <= farthest[:, None] * (1 + 1e-9)).sum())
    return hits / (len(sample) * k)
