"""Distances from some rows to all of them, a block at a time, from whatever a user may pass as rows and metric."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from prismap._util.validation import check_magnitude, check_square, explain_bad_values, refuse_tables
from prismap.exceptions import InputError

#: Up to so many columns, differences are cheaper than a matrix product, and exact.
FEW_COLUMNS = 8
#: Up to so many fitted rows of a metric object, all their distances are computed at once.
FEW_FITTED = 10_000


@dataclass(frozen=True)
class DistanceRows:
    """`block(rows)` gives the distances from the rows of these numbers to every column, as a new float64 array.

    Fewer rows than `together` cost nearly as much as so many.
    """

    n_rows: int
    n_columns: int
    block: Callable[[np.ndarray], np.ndarray]
    together: int = 1


def distance_rows(
    X: Any, metric: Any = "euclidean", *, X_fit: Any = None, name: str = "X", shuffle: bool = False,
    n_wanted: int | None = None,
) -> DistanceRows:  # fmt: skip
    """Distances among the rows of X, or from X to `X_fit` when that is given.

    `metric` is a name of scikit-learn's, ``"precomputed"`` (X holds distances: square, or (n, n_fit) with
    ``X_fit=True``) or a fitted metric object. Then X=None stands for its fitted rows (``metric.pairwise()``,
    cross-fitted where the metric cross-fits), and given rows count as new ones. With `shuffle`, rows and columns are
    numbered in the order of `shuffled`. Of fitted rows of which only `n_wanted` are asked for, no others are measured.
    """
    if not isinstance(metric, str) and not hasattr(metric, "pairwise"):
        raise InputError(f"metric must be a name, 'precomputed' or a fitted metric object; got {metric!r}.")
    if isinstance(metric, str) and metric != "precomputed" and metric not in PAIRWISE_DISTANCE_FUNCTIONS:
        raise InputError(
            f"metric={metric!r} is not known. Use a name of sklearn.metrics.pairwise_distances, 'precomputed' or a "
            "fitted metric object."
        )
    if not isinstance(metric, str):
        check_is_fitted(metric)
        most = FEW_FITTED if n_wanted is None else min(FEW_FITTED, n_wanted)
        if X is None and getattr(metric, "n_rows_", 0) > most and hasattr(metric, "between"):
            return _from_between(metric, shuffle)
        if X is None:
            return _from_matrix(metric.pairwise(), shuffle)
    A = _finite(X, name)
    if isinstance(metric, str) and metric == "precomputed":
        _check_distances(A, name, square=X_fit is None)
        return _from_matrix(A, shuffle)
    if shuffle:
        A = A[shuffled(A.shape[0])]
    if not isinstance(metric, str):
        return _from_metric(A, metric, X_fit is not None)
    B = A if X_fit is None else _finite(X_fit, f"{name}_fit")
    if A.shape[1] != B.shape[1]:
        raise InputError(f"{name} has {A.shape[1]} columns and {name}_fit has {B.shape[1]}: they must be equal.")
    return _from_rows(A, B, metric)


def shuffled(n: int) -> np.ndarray:
    """One fixed random order of n things."""
    return np.random.default_rng(0).permutation(n)


def rounded(D: Any) -> NDArray[np.float64]:
    """D in float64, not below zero, rounded to 36 binary digits (11 decimal) so that noise breaks no ties.

    A float64 array is changed in place.
    """
    D = np.asarray(D, dtype=np.float64)
    np.maximum(D, 0.0, out=D)
    bits = D.view(np.int64)
    bits += 1 << 15
    bits &= -1 << 16
    return np.asarray(D)


def _from_rows(A: Any, B: Any, metric: str) -> DistanceRows:
    if metric != "euclidean" or sp.issparse(A) or sp.issparse(B):
        return DistanceRows(A.shape[0], B.shape[0], lambda rows: rounded(pairwise_distances(A[rows], B, metric=metric)))
    if A.shape[1] > FEW_COLUMNS:
        centre = B.mean(axis=0)  # products lose digits far from the origin
        A, B = A - centre, B - centre
    return DistanceRows(A.shape[0], B.shape[0], lambda rows: rounded(euclidean(A[rows], B)))


def _from_matrix(D: Any, shuffle: bool) -> DistanceRows:
    order = shuffled(D.shape[0]) if shuffle else None

    def block(rows: np.ndarray) -> np.ndarray:
        chosen = D[rows] if order is None else D[order[rows]].take(order, axis=1)
        return rounded(chosen)

    return DistanceRows(D.shape[0], D.shape[1], block)


def _from_between(metric: Any, shuffle: bool) -> DistanceRows:
    order = shuffled(metric.n_rows_) if shuffle else np.arange(metric.n_rows_)

    def block(rows: np.ndarray) -> np.ndarray:
        return rounded(np.array(metric.between(order[rows], order), dtype=np.float64))

    # A posterior along segments looks at every column anew for each block, which takes as long as ten rows do.
    return DistanceRows(len(order), len(order), block, together=64)


def _from_metric(A: Any, metric: Any, to_fitted: bool) -> DistanceRows:
    B = None if to_fitted else A
    n_columns = metric.pairwise(A[:1]).shape[1] if to_fitted else A.shape[0]

    def block(rows: np.ndarray) -> np.ndarray:
        return rounded(np.array(metric.pairwise(A[rows], B)))

    return DistanceRows(A.shape[0], n_columns, block)


def euclidean(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Euclidean distances between rows: by differences for few columns, else ||a||^2 + ||b||^2 - 2 a.b.

    What rounding leaves of the distance between equal rows in the second form is set to zero, so that duplicates stay
    duplicates.
    """
    if A.shape[1] <= FEW_COLUMNS:
        return np.asarray(cdist(A, B))
    size_a, size_b = (np.einsum("ij,ij->i", rows, rows) for rows in (A, B))
    D = (-2.0 * A) @ B.T
    D += size_b
    D += size_a[:, None]
    noise = 16.0 * np.finfo(np.float64).eps
    row, column = np.nonzero(noise * (size_a + size_b.max())[:, None] > D)
    close = D[row, column]
    D[row, column] = np.where(close < noise * (size_a[row] + size_b[column]), 0.0, close)
    return np.asarray(np.sqrt(D, out=D))


def _check_distances(D: Any, name: str, *, square: bool) -> None:
    if square:
        check_square(D, name, symmetric=False)
        if np.abs(D.diagonal()).max() > 1e-3 * max(D.max(), -D.min()):  # single precision leaves some on the diagonal
            raise InputError(
                f"{name} must hold distances with metric='precomputed', zero on the diagonal; the largest entry there "
                f"is {np.abs(D.diagonal()).max():.3g}. Are these similarities?"
            )
    if D.min() < 0:
        raise InputError(f"{name} must hold distances with metric='precomputed'; the smallest entry is {D.min():.3g}.")


def _finite(X: Any, name: str) -> Any:
    """A finite 2-D float64 array (or CSR), with a message that names it."""
    if X is None:
        raise InputError(f"{name} is None, which stands for the fitted rows of a metric object; pass rows, or metric=.")
    refuse_tables(X)
    try:
        rows = check_array(X, accept_sparse="csr", dtype=np.float64, input_name=name)
    except ValueError as error:
        raise InputError(explain_bad_values(X, str(error))) from error
    return check_magnitude(rows, name, largest=1e153)  # ranks, in double precision throughout
