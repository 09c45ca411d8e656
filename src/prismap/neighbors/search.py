"""Nearest neighbours over any metric: one question, several ways to answer it."""

from __future__ import annotations

import logging
from typing import Any

from sklearn.utils.validation import check_is_fitted

from prismap._partition import partition_neighbors
from prismap._search import Neighbors, check_n_neighbors
from prismap.exceptions import InputError
from prismap.metrics.base import fit_metric
from prismap.neighbors.vptree import vptree_neighbors

METHODS = ("auto", "exact", "partition", "vptree")
#: From so many rows on "auto" searches by partition; below, comparing all pairs takes seconds.
PARTITION_ROWS = 10_000

logger = logging.getLogger(__name__)


def kneighbors(
    X=None, n_neighbors=90, *, metric: Any = "euclidean", y=None, queries=None, method="auto", recall=0.97,
    random_state=None, n_jobs=None,
) -> Neighbors:  # fmt: skip
    """Nearest fitted rows of each query row: (distances, indices), nearest first.

    Parameters
    ----------
    X : rows (or distances, with ``metric="precomputed"``) among which neighbours are sought; None if `metric` is a
        metric object that is fitted already.
    n_neighbors : how many.
    metric : a name scikit-learn knows, "precomputed", or a metric object (`prismap.metrics.base` has the contract).
    y : target, for metrics that want one.
    queries : new rows; None asks for the neighbours of the rows X themselves, of which none is its own neighbour.
    method : "exact" compares all pairs, block by block. "partition" and "vptree" find nearly all neighbours of the
        fitted rows among each other with far fewer comparisons. "auto" is exact below 10,000 rows and for new rows,
        partition above (objects are searched by pivots); the result says which it was.
    recall : share of the exact neighbours that "partition" is to find.
    random_state : seed of "partition" and "vptree".
    n_jobs : threads.

    Returns
    -------
    Neighbors : the pair ``(distances, indices)``, arrays (n_queries, n_neighbors), with `method`, `recall` (estimated
        on a sample) and `n_distances` (how many were computed) as attributes.

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
    n_rows = metric.n_rows_
    if method == "auto" and queries is None and n_rows >= PARTITION_ROWS and hasattr(metric, "search"):
        return metric.search(n_neighbors, random_state)
    method = choose_method(method, metric, n_rows, queries)
    if method == "exact":
        distances, indices = metric.kneighbors(queries, n_neighbors)
        return Neighbors(distances, indices, method="exact", n_distances=len(indices) * n_rows)
    n_neighbors = check_n_neighbors(n_neighbors, n_rows, own=True)
    if method == "vptree":
        distances, indices, told = vptree_neighbors(
            metric.between, n_rows, n_neighbors, random_state=random_state, n_jobs=n_jobs
        )
        return Neighbors(distances, indices, method="vptree", recall=told.recall, n_distances=told.n_evaluations)
    cheaper = metric.cheaper()
    found = partition_neighbors(
        metric.between, n_rows, n_neighbors, recall=recall, random_state=random_state, n_jobs=n_jobs,
        at_least=None if cheaper is metric else cheaper.between,
    )  # fmt: skip
    logger.info("%r", found)
    return found


def choose_method(method, metric, n_rows, queries):
    """The method in force; approximate ones only know the fitted rows' neighbours among each other."""
    able = hasattr(metric, "between") and queries is None
    if method == "auto":
        return "partition" if able and n_rows >= PARTITION_ROWS else "exact"
    if method != "exact" and not able:
        reason = "queries are new rows" if queries is not None else f"{type(metric).__name__} has no between(a, b)"
        raise InputError(f"method={method!r} is for neighbours among the fitted rows, and {reason}; use 'exact'.")
    return method
