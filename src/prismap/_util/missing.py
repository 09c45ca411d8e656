"""Missing values as they are: distances over the columns that both rows have.

With P the columns that are present in both of x and z, and D columns in all,

    d^2(x, z) = D / |P| sum_{j in P} (x_j - z_j)^2

(Dixon 1979; scikit-learn's ``nan_euclidean_distances``): what is missing differs as much as what is there. Two rows
without a common column are as far apart as rows are on average, ``2 sum_j var(x_j)``. These distances need not keep the
triangle inequality, and kernels of them need not be positive definite. So models that learn (the least-squares machine,
the process) see the mean of a column in place of what is missing (`VectorMetric.filled`), and trees see NaN.

Rows are kept with 0, the mean of a centred column, in place of what is missing, beside a mask of what is present. Where
nothing is missing the mask is None, and nothing is paid for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap.exceptions import InputError

#: Pairs that are measured again at a time.
PAIRS = 65536


def present_in(rows: Any) -> Any:
    """Which values are present, (n, D); None where all are. Sparse rows have no missing values."""
    if sp.issparse(rows) or not np.isnan(np.sum(rows, dtype=np.float64)):  # no mask is made of rows that need none
        return None
    present = ~np.isnan(rows)
    return None if present.all() else present


def column_means(rows: Any, present: Any) -> Any:
    """The mean of what is present in each column, 0 where that is nothing; in double precision."""
    if present is None:
        return rows.mean(axis=0, dtype=np.float64)
    return np.sum(rows, axis=0, dtype=np.float64, where=present) / np.maximum(present.sum(axis=0), 1)


def mean_filled(rows: Any) -> Any:
    """Rows with the mean of a column where its value is missing, for what needs all coordinates and little of them."""
    present = present_in(rows)
    return rows if present is None else np.where(present, rows, column_means(rows, present).astype(rows.dtype))


def average_square(rows: Any, squared_norms: Any, present: Any) -> float:
    """``2 sum_j var(x_j)``, the mean squared distance between two rows that are centred."""
    if present is None:
        return float(2 * np.mean(squared_norms, dtype=np.float64))
    squares = np.einsum("ij,ij->j", rows, rows, dtype=np.float64)
    return float(2 * (squares / np.maximum(present.sum(axis=0), 1)).sum())


def squared_over_present(A: Any, present_a: Any, B: Any, present_b: Any, average: float) -> Any:
    """Squared distances between rows that have 0 where a value is missing; a mask of None is one of all values.

    ``sum_{j in P} (a_j - b_j)^2 = sum_j a_j^2 [b_j present] + sum_j [a_j present] b_j^2 - 2 <a, b>``. Pairs that lost
    their digits to cancellation are done again by differences.
    """
    M, N = mask_of(A, present_a), mask_of(B, present_b)
    D2 = np.square(A) @ N.T
    D2 += M @ np.square(B).T
    size = np.sqrt(np.finfo(D2.dtype).eps) * D2
    D2 -= 2 * (A @ B.T)
    i, j = np.nonzero(size >= D2)
    for start in range(0, len(i), PAIRS):
        pairs = slice(start, start + PAIRS)
        gap = (A[i[pairs]] - B[j[pairs]]) * (M[i[pairs]] * N[j[pairs]])
        D2[i[pairs], j[pairs]] = np.einsum("ij,ij->i", gap, gap)
    return scaled_up(D2, M @ N.T, A.shape[1], average)


def mask_of(rows: Any, present: Any) -> Any:
    """A mask as numbers of the rows' own type."""
    return np.ones(rows.shape, dtype=rows.dtype) if present is None else present.astype(rows.dtype)


def scaled_up(sums: Any, counts: Any, n_columns: int, average: float) -> Any:
    """Sums over common columns in units of all columns; `average` for pairs that have none in common."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, sums * (n_columns / counts), average).astype(sums.dtype, copy=False)


def refuse_empty_rows(rows: Any) -> None:
    """A row without any value has no place."""
    present = present_in(rows)
    empty = np.empty(0) if present is None else np.flatnonzero(~present.any(axis=1))
    if len(empty):
        raise InputError(
            f"{len(empty)} of {len(rows)} rows of X hold no value at all, the first at index {empty[0]}: drop them."
        )


def require_complete(data: Any, what: str) -> None:
    """What needs coordinates is refused on rows that lack some."""
    if not data.is_complete:
        raise InputError(
            f"{what} needs rows without missing values; fill them, for instance with sklearn.impute.SimpleImputer."
        )
