"""Missing values as they are: distances over the columns that both rows have.

With P the columns that are present in both of x and z, and D columns in all,

    s = sum_{j in P} (x_j - z_j)^2,    r = |P| / (|P| + 1)  (0 where |P| < 4 and |P| < D / 4),
    d^2(x, z) = s + r (D - |P|) / |P| s + (1 - r) e(x, z).

The first two terms are Dixon's distance for r = 1 (Dixon 1979; scikit-learn's ``nan_euclidean_distances``): what is
missing differs as much as what is there. With few common columns that is a guess, and two rows that share one column
would often be at distance 0. So the guess is shrunk towards what is expected of the other columns: a value that is
missing has the mean m_j and the variance v_j of its column,

    e(x, z) = sum_{j not in P} [(x_j - m_j)^2 if x_j is present, else v_j] + [the same of z]

(Eirola et al. 2013, for columns that are independent). A row that lacks nearly all values is as far from others as rows
are on average, and far from a row that is far from everything. These distances need not keep the triangle inequality,
and kernels of them need not be positive definite. So models that learn (the least-squares machine, the process) see the
mean of a column in place of what is missing (`VectorMetric.filled`), and trees see NaN.

Rows are kept with 0, the mean of a centred column, in place of what is missing, beside a mask of what is present. Where
nothing is missing the mask is None, and nothing is paid for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._util.blocks import PAIRS
from prismap.exceptions import InputError

#: Fewer common columns than these, and than a quarter of all, say nothing about the others.
FEW = 4
#: Variances are rounded to so many binary digits of the largest: sums of them are then exact in any order.
DIGITS = 30


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


def column_variances(rows: Any, present: Any) -> Any:
    """The variance of each column of centred rows (0 where a value is missing), rounded so that sums are exact."""
    if sp.issparse(rows):
        return np.zeros(rows.shape[1])
    counts = len(rows) if present is None else np.maximum(present.sum(axis=0), 1)
    variances = np.einsum("ij,ij->j", rows, rows, dtype=np.float64) / counts
    largest = float(variances.max(initial=0.0))
    if not 0 < largest < np.inf:
        return variances
    step = 2.0 ** (np.floor(np.log2(largest)) - DIGITS)
    return np.round(variances / step) * step


def unknown_variance(present: Any, variances: Any, n_rows: int) -> Any:
    """The variances of the columns that each row lacks, added up, (n,)."""
    if present is None:
        return np.zeros(n_rows)
    return np.where(present, 0.0, variances).sum(axis=1)


def squared_over_present(A: Any, present_a: Any, B: Any, present_b: Any, variances: Any) -> Any:
    """Squared distances between rows that have 0 where a value is missing; a mask of None is one of all values.

    ``sum_{j in P} (a_j - b_j)^2 = sum_j a_j^2 [b_j present] + sum_j [a_j present] b_j^2 - 2 <a, b>``. Pairs that lost
    their digits to cancellation are done again by differences.
    """
    M, N = mask_of(A, present_a), mask_of(B, present_b)
    D2 = np.square(A) @ N.T
    D2 += M @ np.square(B).T
    unmet = np.square(A).sum(axis=1)[:, None] + np.square(B).sum(axis=1) - D2
    unmet += unknown_variance(present_a, variances, len(A))[:, None] + unknown_variance(present_b, variances, len(B))
    size = np.sqrt(np.finfo(D2.dtype).eps) * D2
    D2 -= 2 * (A @ B.T)
    i, j = np.nonzero(size >= D2)
    for start in range(0, len(i), PAIRS):
        pairs = slice(start, start + PAIRS)
        gap = (A[i[pairs]] - B[j[pairs]]) * (M[i[pairs]] * N[j[pairs]])
        D2[i[pairs], j[pairs]] = np.einsum("ij,ij->i", gap, gap)
    return completed(D2, M @ N.T, A.shape[1], unmet)


def mask_of(rows: Any, present: Any) -> Any:
    """A mask as numbers of the rows' own type."""
    return np.ones(rows.shape, dtype=rows.dtype) if present is None else present.astype(rows.dtype)


def completed(sums: Any, counts: Any, n_columns: int, unmet: Any) -> Any:
    """Squared distances from sums over so many common columns, and from what is expected of the others (`unmet`)."""
    share = np.where(counts < min(n_columns / 4, FEW), 0.0, counts / (counts + 1))
    guess = share * (n_columns - counts) / np.maximum(counts, 1) * sums + (1 - share) * np.maximum(unmet, 0)
    return np.where(counts < n_columns, sums + guess, sums).astype(sums.dtype, copy=False)


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
