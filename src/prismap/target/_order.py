"""Whether whole numbers are a quantity: do rows that lie close together have values that lie close together?

The names of classes may be exchanged at will, so a quantity shows by comparison with the same rows under exchanged
values: where neighbours differ, they differ by less than exchanged values would.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from prismap._util.missing import mean_filled

#: Rows that are looked at, and operations that may be spent on them.
MOST_ROWS, MOST_OPERATIONS = 1000, 10**10
NEIGHBORS = 5
EXCHANGES = 50


def order_of_values(
    X: Any, values: NDArray[Any], rows: NDArray[np.intp] | None = None, data: str = "vectors", seed: int = 0
) -> tuple[float, float]:
    """(ratio, deviations): how much nearer unequal neighbours are in value than after an exchange of the values.

    Only `rows` count, or a draw of them: those whose value is known.
    `ratio` is their mean difference in rank over that of exchanged values (1 for names, towards 0 for a quantity);
    `deviations` says by how many standard deviations of the exchanges it is lower.
    """
    rng = np.random.default_rng(seed)
    rows = np.arange(len(values)) if rows is None else rows
    n_columns = X.shape[1] if data == "vectors" else 1
    most = int(np.clip(np.sqrt(MOST_OPERATIONS / max(n_columns, 1)), 100, MOST_ROWS))
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    levels, codes = np.unique(values[rows], return_inverse=True)
    near = _neighbors(X, rows, data)
    here, there = np.repeat(codes, near.shape[1]), codes[near.ravel()]
    unequal = here != there
    if unequal.sum() < 20 or len(levels) < 3:
        return 1.0, 0.0
    here, there = here[unequal], there[unequal]
    sizes = np.bincount(codes)
    orders = [np.arange(len(levels)), *(rng.permutation(len(levels)) for _ in range(EXCHANGES))]
    actual, *exchanged = (_mean_rank_difference(here, there, sizes, order) for order in orders)
    usual, spread = float(np.mean(exchanged)), max(float(np.std(exchanged)), np.finfo(float).tiny)
    return actual / usual, (usual - actual) / spread


def _mean_rank_difference(
    here: NDArray[np.intp], there: NDArray[np.intp], sizes: NDArray[np.intp], order: NDArray[np.intp]
) -> float:
    """Of pairs of rows, with the values in this order. Ranks among all rows: a few extreme values do not decide."""
    ranks = np.empty(len(order))
    ranks[order] = np.cumsum(sizes[order]) - sizes[order] / 2
    return float(np.abs(ranks[here] - ranks[there]).mean())


def _neighbors(X: Any, rows: NDArray[np.intp], data: str) -> NDArray[np.intp]:
    """The nearest of `rows` to each of them, by their number within `rows`."""
    n_neighbors = min(NEIGHBORS, len(rows) - 1)
    if data == "vectors":
        part = X[rows] if sp.issparse(X) else mean_filled(np.asarray(X)[rows].astype(np.float64))
        if not sp.issparse(part):
            spread = part.std(axis=0)
            part = part / np.where(spread > 0, spread, 1.0)
        return np.asarray(NearestNeighbors(n_neighbors=n_neighbors).fit(part).kneighbors(return_distance=False))
    D = np.asarray(X)[np.ix_(rows, rows)].astype(np.float64)
    if data == "similarity":
        diagonal = np.diag(D)
        D = diagonal[:, None] + diagonal[None] - 2 * D
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, :n_neighbors]
