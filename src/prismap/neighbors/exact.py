"""Nearest neighbours over any metric, exactly, in blocks."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from prismap.exceptions import InputError
from prismap.metrics.base import fit_metric

METHODS = ("auto", "exact")


def kneighbors(X=None, n_neighbors=90, *, metric: Any = "euclidean", y=None, queries=None, method="auto", n_jobs=None):
    """Nearest fitted rows of each query row: (distances, indices), nearest first.

    Parameters
    ----------
    X : rows (or distances, with ``metric="precomputed"``) among which neighbours are sought; None if `metric` is a
        metric object that is fitted already.
    n_neighbors : how many.
    metric : a name scikit-learn knows, "precomputed", or a metric object (`prismap.metrics.base` has the contract).
    y : target, for metrics that want one.
    queries : new rows; None asks for the neighbours of the rows X themselves, of which none is its own neighbour.
    method : "exact" compares all pairs, block by block; "auto" chooses (exact, at present).
    n_jobs : threads.

    Returns
    -------
    distances, indices : arrays (n_queries, n_neighbors).

    Examples
    --------
    >>> distances, indices = kneighbors([[0.0], [1.0], [3.0]], 1)
    >>> indices.ravel().tolist()
    [1, 0, 1]
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if X is None:
        if isinstance(metric, str):
            raise InputError(f"X is missing: metric={metric!r} needs the rows to search among.")
        check_is_fitted(metric)
    else:
        metric = fit_metric(metric, X, y, n_jobs=n_jobs)
    return metric.kneighbors(queries, n_neighbors)
