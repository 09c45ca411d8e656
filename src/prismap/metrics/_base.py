"""The contract of a metric. What is on this page is all that neighbours, embeddings, mappings and maps ask of one.

A metric must write `fit` and `pairwise`; everything else works by default and may be written better. *Rows* are what a
user gives: vectors, or entries of a matrix against the fitted rows. None stands for the fitted rows themselves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS
from sklearn.neighbors import NearestNeighbors

from prismap._util.blocks import require_memory, row_blocks
from prismap._util.random import as_seed
from prismap._util.search import check_n_neighbors, smallest
from prismap._util.validation import check_dissimilarity, check_rows
from prismap.exceptions import InputError


class Metric(BaseEstimator, ABC):
    """Distances between rows.

    Attributes
    ----------
    rows_ : the fitted rows.
    n_rows_ : how many they are.
    """

    @abstractmethod
    def fit(self, X, y=None):
        """Learn from rows X and a target y, keep the rows with `keep`, and return self."""

    @abstractmethod
    def pairwise(self, A=None, B=None):
        """The distances between rows A and rows B, shape (n_A, n_B)."""

    def keep(self, X):
        """Check the rows given to `fit` and keep them as `rows_`."""
        self.rows_ = check_rows(self, X, reset=True, sparse=True)
        self.n_rows_ = self.rows_.shape[0]
        return self.rows_

    def between(self, a, b):
        """Distances between fitted rows, given by their indices."""
        return np.asarray(self.pairwise(self.rows_[a], self.rows_[b]))

    def kneighbors(self, A=None, n_neighbors=90):
        """The nearest fitted rows of rows A, as (distances, indices), nearest first. No row is its own neighbour."""
        n_neighbors = check_n_neighbors(n_neighbors, self.n_rows_, own=A is None)
        every = np.arange(self.n_rows_)
        n_rows = self.n_rows_ if A is None else A.shape[0]
        distances, indices = np.empty((n_rows, n_neighbors)), np.empty((n_rows, n_neighbors), dtype=np.intp)
        for rows in row_blocks(n_rows, 32.0 * self.n_rows_):
            D = self.between(every[rows], every) if A is None else np.asarray(self.pairwise(A[rows]))
            if A is None:
                D = D.copy()
                D[np.arange(len(D)), every[rows]] = np.inf
            distances[rows], indices[rows] = smallest(D, n_neighbors)
        return distances, indices

    def cheaper(self):
        """A metric of the same rows whose distances are never longer and cost less to measure; by default this one."""
        return self

    def placing(self):
        """The metric by which a large map places new rows; by default this one."""
        return self

    def to_anchors(self, anchors):
        """What measures new rows against some of the fitted ones, block by block: an `Anchors`."""
        return Anchors(self, anchors)

    def state(self):
        """Arrays by name that, with the fitted rows and their target, make this metric again."""
        return {}

    def restore(self, X, y, state):
        """Become the fitted metric that had this `state`; by default by fitting once more."""
        return self.fit(X, y)

    def describe(self):
        """What the metric is and what it approximates, in words."""
        return repr(self)


class Anchors:
    """New rows measured against some of the fitted ones, the anchors. Made once for a map, asked block by block."""

    #: Whether `Seen.among` can be asked: distances to single fitted rows without a pass over all of them.
    searchable = False
    #: All fitted rows by coordinates whose distances are nearly those of the metric, as a `VectorSearch`; None without.
    search: Any = None
    #: Whether the metric has threads of its own, or none that may run side by side.
    threaded = True

    def __init__(self, metric, anchors):
        self.metric, self.anchors = metric, anchors

    def see(self, rows, own=None):
        """Look at a block of rows; `own` is how the data's own metric saw it, for metrics that are made from it."""
        return Seen(np.asarray(self.metric.pairwise(rows, self.metric.rows_[self.anchors])))


class Seen:
    """A block of new rows as seen from the anchors: `distances` (n, anchors), and `coordinates` for a search."""

    coordinates: Any = None

    def __init__(self, distances):
        self.distances = distances

    def among(self, candidates):
        """Distances (n, c) of each row to fitted rows of its own, given by their indices."""
        raise InputError("this metric measures new rows against its anchors only.")


class NamedMetric(Metric):
    """A metric that scikit-learn knows by name, on vectors.

    Parameters
    ----------
    name : str, default="euclidean"
        One of `sklearn.metrics.pairwise_distances`.
    n_jobs : int, default=None
        Threads.

    Examples
    --------
    >>> NamedMetric("cosine").fit([[1.0, 0.0], [0.0, 2.0]]).pairwise().tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """

    def __init__(self, name="euclidean", *, n_jobs=None):
        self.name = name
        self.n_jobs = n_jobs

    def fit(self, X, y=None):
        """Keep the rows."""
        self.index_ = NearestNeighbors(metric=self.name, n_jobs=self.n_jobs).fit(self.keep(X))
        return self

    def pairwise(self, A=None, B=None):
        """Distances between A and B, the fitted rows where None."""
        A = self.rows_ if A is None else check_rows(self, A, reset=False, sparse=True)
        B = self.rows_ if B is None else check_rows(self, B, reset=False, sparse=True)
        require_memory(8.0 * A.shape[0] * B.shape[0], "The matrix of all distances", "Use kneighbors, or fewer rows.")
        return pairwise_distances(A, B, metric=self.name, n_jobs=self.n_jobs)

    def kneighbors(self, A=None, n_neighbors=90):
        """Nearest fitted rows of A: (distances, indices)."""
        if A is not None:
            A = check_rows(self, A, reset=False, sparse=True)
        return self.index_.kneighbors(A, n_neighbors=check_n_neighbors(n_neighbors, self.n_rows_, own=A is None))

    def describe(self):
        """Its name."""
        return self.name


class PrecomputedMetric(Metric):
    """Distances that are known already: square at fit, (n_new, n_fitted) for new rows.

    Examples
    --------
    >>> PrecomputedMetric().fit([[0.0, 2.0], [2.0, 0.0]]).pairwise().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    def fit(self, X, y=None):
        """Keep the matrix of distances between the fitted rows."""
        self.rows_ = check_rows(self, X, reset=True)
        self.n_rows_ = len(self.rows_)
        check_dissimilarity(self.rows_)
        return self

    @classmethod
    def of(cls, distances):
        """The fitted metric of distances that are known to be right: they are not looked at again."""
        metric = cls()
        metric.rows_, metric.n_rows_, metric.n_features_in_ = distances, len(distances), distances.shape[1]
        return metric

    def pairwise(self, A=None, B=None):
        """Distances to the fitted rows: the matrix given at fit, or the rectangular one given as A."""
        if B is not None:
            raise InputError("metric='precomputed' knows distances to the fitted rows only; leave B out.")
        return self.rows_ if A is None else check_rows(self, A, reset=False)

    def between(self, a, b):
        """Distances between fitted rows, by index."""
        return self.rows_[np.ix_(a, b)]

    def describe(self):
        """Where the distances come from."""
        return "given distances"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = True
        return tags


class MeasuredMetric(Metric):
    """Distances among the fitted rows of another metric that are measured when they are asked for, and not kept.

    It stands where a `PrecomputedMetric` would, for methods that need neighbours and no matrix.

    Parameters
    ----------
    metric : fitted metric object, default=None
    """

    def __init__(self, metric=None):
        self.metric = metric

    @classmethod
    def of(cls, metric, rows):
        """The fitted metric of these rows, on which the other one is fitted."""
        own = cls(metric)
        own.rows_, own.n_rows_, own.n_features_in_ = rows, metric.n_rows_, metric.n_features_in_
        return own

    def fit(self, X, y=None):
        """It was made of a fitted metric."""
        raise InputError("this metric is made by MeasuredMetric.of, of a metric that is fitted.")

    def pairwise(self, A=None, B=None):
        """Distances between rows A and rows B by the other metric."""
        return self.metric.pairwise(A, B)

    def between(self, a, b):
        """Distances between fitted rows, by index; among the same rows exactly symmetric."""
        D = np.asarray(self.metric.between(a, b), dtype=np.float64)
        if a is b:
            D = (D + D.T) / 2
            np.fill_diagonal(D, 0)
        return D

    def kneighbors(self, A=None, n_neighbors=90):
        """The nearest fitted rows by the other metric."""
        return self.metric.kneighbors(A, n_neighbors)

    def describe(self):
        """That of the other metric."""
        return self.metric.describe()


def fit_metric(metric: Any, X: Any, y: Any = None, *, n_jobs: int | None = None, random_state: Any = None) -> Any:
    """A fitted metric from a name, ``"precomputed"`` or a metric object (cloned, then fitted on X and y).

    A metric that is already fitted on these very rows is returned as it is.

    Parameters
    ----------
    metric : str or metric object
        A name of scikit-learn's distances, ``"precomputed"``, or an object, which is cloned.
    X : rows, or the matrix of distances with ``"precomputed"``
    y : target, default=None
    n_jobs : int, default=None
        Threads of named distances.
    random_state : default=None
        Seed of a metric object that has none of its own.

    Returns
    -------
    metric object

    Examples
    --------
    >>> fit_metric("manhattan", [[0.0, 0.0], [1.0, 2.0]]).pairwise().tolist()
    [[0.0, 3.0], [3.0, 0.0]]
    """
    if isinstance(metric, Metric) and getattr(metric, "rows_", None) is X:
        return metric
    if isinstance(metric, str):
        if metric == "precomputed":
            return PrecomputedMetric().fit(X)
        if metric not in PAIRWISE_DISTANCE_FUNCTIONS:
            names = ", ".join(sorted(set(PAIRWISE_DISTANCE_FUNCTIONS) - {"precomputed"}))
            raise InputError(f"metric={metric!r} is not known. Names: {names}, 'precomputed'; or a metric object.")
        return NamedMetric(metric, n_jobs=n_jobs).fit(X)
    if not isinstance(metric, Metric):
        raise InputError(
            f"metric must be a name, 'precomputed' or a subclass of prismap.metrics.Metric; got {metric!r}."
        )
    metric = clone(metric)
    if random_state is not None and getattr(metric, "random_state", random_state) is None:
        metric.set_params(random_state=as_seed(random_state))
    return metric.fit(X, y)
