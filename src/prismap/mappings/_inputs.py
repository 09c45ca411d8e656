"""What the maps check before they learn: positions, and the metric they measure with."""

from __future__ import annotations

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, check_is_fitted

from prismap.exceptions import InputError
from prismap.metrics.base import fit_metric


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
