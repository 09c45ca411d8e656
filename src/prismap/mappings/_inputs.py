"""What the maps check before they learn: positions, and the metric they measure with."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array

from prismap._params import num_samples
from prismap._validation import check_rows, is_fitted, metric_tags
from prismap.exceptions import InputError
from prismap.metrics.base import NamedMetric, fit_metric


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
    if hasattr(metric, "fit") and is_fitted(metric):
        found, wanted = metric.n_rows_, num_samples(X)
        if found != wanted:
            raise InputError(
                f"metric is fitted on {found} rows and X has {wanted}: pass the rows it was fitted on, or an "
                "unfitted metric (sklearn.base.clone) to fit it on X."
            )
        return metric
    return fit_metric(metric, X, n_jobs=n_jobs)


def distances_to(metric, A, landmarks):
    """Distances of rows A (None: all fitted rows) to the fitted rows number `landmarks`, float64."""
    if isinstance(metric, NamedMetric):
        A = metric.rows_ if A is None else check_rows(metric, A, reset=False, sparse=True)
        D = pairwise_distances(A, metric.rows_[landmarks], metric=metric.name, n_jobs=metric.n_jobs)
    else:
        D = metric.pairwise(A)[:, landmarks]
    return np.asarray(D, dtype=np.float64)


def mapping_tags(tags, metric):
    """scikit-learn's tags of an estimator that maps rows measured by `metric` to given positions."""
    tags = metric_tags(tags, metric)
    tags.target_tags.required = True
    tags.target_tags.multi_output = True
    return tags


def relative_residual(found, Y):
    """Root mean square of found - Y relative to the spread of Y."""
    spread = np.square(Y - Y.mean(axis=0)).mean()
    return float(np.sqrt(np.square(found - Y).mean() / spread)) if spread > 0 else 0.0
