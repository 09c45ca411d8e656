"""The contract of a mapping: positions of new rows from their distances to the fitted ones.

A mapping must write `fit` and `place`. Inside a map its metric is ready-made: ``fit(D, Y)`` takes the distances between
the fitted rows and their positions, ``place(D)`` the distances of new rows to the fitted ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from prismap._util.arrays import Numbers
from prismap._util.blocks import row_blocks
from prismap._util.params import num_samples, safe_indexing
from prismap._util.threads import on_one_thread
from prismap._util.validation import check_rows, is_fitted, metric_tags, take_columns
from prismap.exceptions import InputError
from prismap.metrics._base import NamedMetric, fit_metric


class Mapping(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """From rows to positions, by the distances of a parameter `metric`."""

    @abstractmethod
    def fit(self, X: Any, Y: Any) -> Any:
        """Learn from rows X (or their distances, with ``metric="precomputed"``) and positions Y, shape (n, d)."""

    @abstractmethod
    def place(self, D: Any) -> Any:
        """Positions of rows from their distances D to all fitted rows, each row by itself; D is not checked."""

    def seen(self, D: Any) -> Any:
        """What is kept of the distances D of a block of rows until positions of many are made; here their own already.

        Where little decides on a position, blocks that fit into the cache are seen one by one, and settled together.
        """
        return self.place(D)

    def settled(self, blocks: list[Any]) -> Any:
        """Positions of the rows of several blocks, from what `seen` kept of each: the same as by `place`."""
        return np.concatenate(blocks)

    @on_one_thread
    def transform(self, X: Any) -> Numbers:
        """Positions of rows X (with "precomputed": of rows whose distances to the fitted rows X holds)."""
        check_is_fitted(self, "embedding_")
        X = X if hasattr(X, "shape") else np.asarray(X)
        n_new = num_samples(X)
        if n_new == 0:
            raise InputError("X has no rows; a minimum of 1 is required.")
        positions = np.empty((n_new, self._n_features_out))
        for rows in row_blocks(n_new, 96.0 * self.metric_.n_rows_):
            D = np.asarray(self.metric_.pairwise(safe_indexing(X, rows)), dtype=np.float64)
            positions[rows] = self.place(D)
        return positions

    def keep(self, X: Any, Y: Any) -> int:
        """Fit the metric to rows X, check and keep their positions Y; for `fit`. Returns the number of rows."""
        self.metric_ = resolve_metric(self.metric, X, n_jobs=getattr(self, "n_jobs", None))
        take_columns(self, self.metric_)
        n_rows = self.metric_.n_rows_
        self.embedding_ = as_positions(Y, n_rows)
        if n_rows < 2:
            raise InputError(f"X has n_samples={n_rows}; a map needs at least 2 rows.")
        self._n_features_out = self.embedding_.shape[1]
        return n_rows

    def state(self) -> dict[str, Any]:
        """Arrays by name that, with the distances and positions of the fitted rows, make this mapping again."""
        return {}

    def restore(self, D: Any, Y: Any, state: dict[str, Any]) -> Any:
        """Become the fitted mapping that had this `state`; by default by fitting once more. D is a function."""
        return self.fit(D(), Y)

    def __sklearn_tags__(self) -> Any:
        return mapping_tags(super().__sklearn_tags__(), self.metric)


# --- what mappings check before they learn ----------------------------------------------------------------------------


def as_positions(Y: Any, n_rows: int, name: str = "Y") -> Numbers:
    """Finite float64 positions (n_rows, d); a single column may be given flat."""
    if Y is None:
        raise InputError(f"requires y to be passed, but the target y is None: {name} holds the rows' positions.")
    try:
        Y = check_array(Y, dtype=np.float64, ensure_2d=False, input_name=name)
    except ValueError as error:
        raise InputError(str(error)) from error
    Y = Y[:, None] if Y.ndim == 1 else Y
    if len(Y) != n_rows:
        raise InputError(f"{name} has {len(Y)} positions and X has {n_rows} rows: they must be equal in number.")
    return Y


def resolve_metric(metric: Any, X: Any, *, n_jobs: int | None = None) -> Any:
    """The metric as it is if it is already fitted on as many rows as X has; otherwise fitted on X."""
    if hasattr(metric, "fit") and is_fitted(metric):
        fitted, given = metric.n_rows_, num_samples(X)
        if fitted != given:
            raise InputError(
                f"metric is fitted on {fitted} rows and X has {given}: pass the rows it was fitted on, or an "
                "unfitted metric (sklearn.base.clone) to fit it on X."
            )
        return metric
    return fit_metric(metric, X, n_jobs=n_jobs)


def distances_to(metric: Any, A: Any, landmarks: Any) -> Numbers:
    """Distances of rows A (None: all fitted rows) to the fitted rows number `landmarks`, float64."""
    if isinstance(metric, NamedMetric):
        A = metric.rows_ if A is None else check_rows(metric, A, reset=False, sparse=True)
        D = pairwise_distances(A, metric.rows_[landmarks], metric=metric.name, n_jobs=metric.n_jobs)
    else:
        D = metric.pairwise(A)[:, landmarks]
    return np.asarray(D, dtype=np.float64)


def mapping_tags(tags: Any, metric: Any) -> Any:
    """scikit-learn's tags of an estimator that maps rows measured by `metric` to given positions."""
    tags = metric_tags(tags, metric)
    tags.target_tags.required = True
    tags.target_tags.multi_output = True
    return tags


def relative_residual(placed: Numbers, Y: Numbers) -> float:
    """Root mean square of placed - Y relative to the spread of Y."""
    spread = np.square(Y - Y.mean(axis=0)).mean()
    return float(np.sqrt(np.square(placed - Y).mean() / spread)) if spread > 0 else 0.0
