"""What the maps check before they learn: positions, and the metric they measure with."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, check_is_fitted

from prismap._validation import check_rows
from prismap.exceptions import InputError
from prismap.mappings.kernels import typical
from prismap.metrics.base import NamedMetric, fit_metric

#: A new row is far when it is farther from the data than this share of the fitted rows are from each other.
FAR_QUANTILE = 0.99


def as_positions(Y, n_rows, name="Y"):
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


def resolve_metric(metric, X, *, n_jobs=None):
    """The metric as it is if it is already fitted on as many rows as X has; otherwise fitted on X."""
    if not isinstance(metric, str) and is_fitted(metric):
        found, wanted = n_fitted_rows(metric), _num_samples(X)
        if found != wanted:
            raise InputError(
                f"metric is fitted on {found} rows and X has {wanted}: pass the rows it was fitted on, or an "
                "unfitted metric (sklearn.base.clone) to fit it on X."
            )
        return metric
    return fit_metric(metric, X, n_jobs=n_jobs)


def is_fitted(estimator) -> bool:
    """Whether an estimator has been fitted."""
    try:
        check_is_fitted(estimator)
    except (NotFittedError, TypeError):
        return False
    return True


def n_fitted_rows(metric) -> int:
    """How many rows a fitted metric holds."""
    for name in ("rows_", "distances_"):
        if hasattr(metric, name):
            return getattr(metric, name).shape[0]
    return metric.n_rows_


def distances_to(metric, A, landmarks):
    """Distances of rows A (None: all fitted rows) to the fitted rows number `landmarks`, float64."""
    if isinstance(metric, NamedMetric):
        A = metric.rows_ if A is None else check_rows(metric, A, reset=False, sparse=True)
        D = pairwise_distances(A, metric.rows_[landmarks], metric=metric.name, n_jobs=metric.n_jobs)
    else:
        D = metric.pairwise(A)[:, landmarks]
    return np.asarray(D, dtype=np.float64)


def take_columns(estimator, metric):
    """The names and number of columns, as the metric learned them."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(metric, name):
            setattr(estimator, name, getattr(metric, name))


def keep_positions(estimator, X, Y, what):
    """Give an estimator its fitted metric and the fixed positions of its rows; how many rows there are."""
    estimator.metric_ = resolve_metric(estimator.metric, X)
    take_columns(estimator, estimator.metric_)
    n = n_fitted_rows(estimator.metric_)
    estimator.embedding_ = as_positions(Y, n)
    if n < 2:
        raise InputError(f"X has n_samples={n}; {what} needs at least 2 rows.")
    estimator._n_features_out = estimator.embedding_.shape[1]
    return n


def metric_tags(tags, metric):
    """scikit-learn's tags of an estimator that maps rows measured by `metric` to given positions."""
    inner = getattr(metric, "__sklearn_tags__", None)
    tags.input_tags.pairwise = metric == "precomputed" if inner is None else inner().input_tags.pairwise
    tags.input_tags.sparse = inner is None and metric == "euclidean"
    tags.target_tags.required = True
    tags.target_tags.multi_output = True
    return tags


def usual_distances(nearest):
    """The typical distance of a fitted row to its nearest other one, and the far threshold in units of it.

    The threshold is the 99 % quantile of those distances (the largest, below 100 rows): of new rows like the fitted
    ones, about one in a hundred is called far.
    """
    typical_distance = typical(nearest)
    rank = min(len(nearest), int(np.ceil((len(nearest) + 1) * FAR_QUANTILE)))
    return typical_distance, float(np.sort(nearest)[rank - 1] / typical_distance)


def relative_residual(found, Y):
    """Root mean square of found - Y relative to the spread of Y."""
    spread = np.square(Y - Y.mean(axis=0)).mean()
    return float(np.sqrt(np.square(found - Y).mean() / spread)) if spread > 0 else 0.0
