"""One contract for every metric, so that neighbours, embeddings and mappings need to know no more.

A *metric* is an estimator that, once fitted, answers

- ``pairwise(A=None, B=None)``: the distances between rows A and rows B, shape (n_A, n_B); None stands for the fitted
  rows;
- ``kneighbors(A=None, n_neighbors=90)``: ``(distances, indices)`` of the nearest fitted rows, each of shape
  (n_A, n_neighbors), nearest first. For ``A=None`` a row is not its own neighbour;
- ``between(a, b)``: the distances between fitted rows by their indices, which approximate searches ask for. A metric
  without it is searched exactly;
- ``n_rows_``: how many rows it was fitted on.

`FisherMetric` and `MixtureMetric` keep it with a target; the two classes here keep it for scikit-learn's named metrics
and for ready-made distances. `fit_metric` turns what a user may pass as ``metric=`` into a fitted one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS
from sklearn.neighbors import NearestNeighbors

from prismap._blocks import require_memory, row_blocks
from prismap._search import check_n_neighbors, smallest
from prismap._validation import check_dissimilarity, check_rows
from prismap.exceptions import InputError


class NamedMetric(BaseEstimator):
    """A metric that scikit-learn knows by name, on vectors."""

    def __init__(self, name="euclidean", *, n_jobs=None):
        self.name = name
        self.n_jobs = n_jobs

    n_rows_ = property(lambda self: self.rows_.shape[0], doc="Number of fitted rows.")

    def fit(self, X, y=None):
        """Keep the rows."""
        self.rows_ = check_rows(self, X, reset=True, sparse=True)
        self.index_ = NearestNeighbors(metric=self.name, n_jobs=self.n_jobs).fit(self.rows_)
        return self

    def pairwise(self, A=None, B=None):
        """Distances between A and B, the fitted rows where None."""
        A = self.rows_ if A is None else check_rows(self, A, reset=False, sparse=True)
        B = self.rows_ if B is None else check_rows(self, B, reset=False, sparse=True)
        require_memory(8.0 * A.shape[0] * B.shape[0], "The matrix of all distances", "Use kneighbors, or fewer rows.")
        return pairwise_distances(A, B, metric=self.name, n_jobs=self.n_jobs)

    def between(self, a, b):
        """Distances between fitted rows, by index."""
        return pairwise_distances(self.rows_[a], self.rows_[b], metric=self.name)

    def kneighbors(self, A=None, n_neighbors=90):
        """Nearest fitted rows of A: (distances, indices)."""
        if A is not None:
            A = check_rows(self, A, reset=False, sparse=True)
        return self.index_.kneighbors(A, n_neighbors=check_n_neighbors(n_neighbors, self.n_rows_, own=A is None))


class PrecomputedMetric(BaseEstimator):
    """Distances that are known already: square at fit, (n_new, n_fitted) for new rows."""

    n_rows_ = property(lambda self: self.distances_.shape[0], doc="Number of fitted rows.")

    def fit(self, X, y=None):
        """Keep the matrix of distances between the fitted rows."""
        self.distances_ = check_rows(self, X, reset=True)
        check_dissimilarity(self.distances_)
        return self

    @classmethod
    def of(cls, distances):
        """The fitted metric of distances that are known to be right: they are not looked at again."""
        metric = cls()
        metric.distances_, metric.n_features_in_ = distances, distances.shape[1]
        return metric

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags

    def pairwise(self, A=None, B=None):
        """Distances to the fitted rows: the matrix given at fit, or the rectangular one given as A."""
        if B is not None:
            raise InputError("metric='precomputed' knows distances to the fitted rows only; leave B out.")
        return self.distances_ if A is None else check_rows(self, A, reset=False)

    def between(self, a, b):
        """Distances between fitted rows, by index."""
        return self.distances_[np.ix_(a, b)]

    def kneighbors(self, A=None, n_neighbors=90):
        """Nearest fitted rows of A: (distances, indices)."""
        D = self.pairwise(A)
        n_neighbors = check_n_neighbors(n_neighbors, D.shape[1], own=A is None)
        distances = np.empty((len(D), n_neighbors), dtype=D.dtype)
        indices = np.empty((len(D), n_neighbors), dtype=np.intp)
        for rows in row_blocks(len(D), 24.0 * D.shape[1]):
            block = D[rows]
            if A is None:
                block = block.copy()
                block[np.arange(len(block)), np.arange(rows.start, rows.stop)] = np.inf
            distances[rows], indices[rows] = smallest(block, n_neighbors)
        return distances, indices


def fit_metric(metric: Any, X: Any, y: Any = None, *, n_jobs: int | None = None) -> Any:
    """A fitted metric from a name, ``"precomputed"`` or a metric object (cloned, then fitted on X and y).

    The metric of ready-made distances that is fitted on this very matrix is returned as it is: X was looked at then.
    """
    if isinstance(metric, PrecomputedMetric) and getattr(metric, "distances_", None) is X:
        return metric
    if isinstance(metric, str):
        if metric == "precomputed":
            return PrecomputedMetric().fit(X)
        if metric not in PAIRWISE_DISTANCE_FUNCTIONS:
            names = ", ".join(sorted(set(PAIRWISE_DISTANCE_FUNCTIONS) - {"precomputed"}))
            raise InputError(f"metric={metric!r} is not known. Names: {names}, 'precomputed'; or a metric object.")
        return NamedMetric(metric, n_jobs=n_jobs).fit(X)
    if not (hasattr(metric, "pairwise") and hasattr(metric, "fit")):
        raise InputError(
            f"metric must be a name, 'precomputed' or an object with fit, pairwise and kneighbors; got {metric!r}."
        )
    return clone(metric).fit(X, y)


def count_rows(metric: Any) -> int:
    """How many rows a metric was fitted on."""
    if not hasattr(metric, "n_rows_"):
        raise InputError(f"the metric {type(metric).__name__} does not say how many rows it was fitted on (n_rows_).")
    return int(metric.n_rows_)
