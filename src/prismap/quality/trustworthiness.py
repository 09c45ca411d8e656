"""Trustworthiness: are the neighbours that the map shows neighbours in the data? (Venna and Kaski 2001)

    T(k) = 1 - 2 / (n k (2n - 3k - 1)) sum_i sum_{j in U_k(i)} (rho_ij - k)

U_k(i) holds the rows among the k nearest of row i in the map that are not among its k nearest in the data, and rho_ij
is the rank of row j among the neighbours of row i in the data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap._blocks import row_blocks
from prismap.exceptions import InputError
from prismap.quality.distances import distance_rows
from prismap.quality.estimates import Estimate
from prismap.quality.ranks import BLOCK_BYTES, BYTES_PER_PAIR, sampled_rows


def trustworthiness(
    X: Any, Y: Any, *, n_neighbors: int = 5, metric: Any = "euclidean", n_samples: int | None = None,
    random_state: Any = None,
) -> Estimate:  # fmt: skip
    """Trustworthiness of a map, from 0 to 1, as scikit-learn defines it, for any metric and of a sample of many rows.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, n_components) positions of the same rows
    n_neighbors : int, default=5
        k, below half of the number of rows.
    metric : name, ``"precomputed"`` or a fitted metric object
    n_samples : rows whose neighbourhoods are judged; None judges all up to 10,000 rows, then a sample
    random_state : for the sample

    Returns
    -------
    Estimate, with the standard error over the judged rows.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 5))
    >>> float(trustworthiness(X, X[:, ::-1]))
    1.0
    """
    x, y = distance_rows(X, metric, name="X"), distance_rows(Y, name="Y")
    n, k = x.n_rows, int(n_neighbors)
    if y.n_rows != n:
        raise InputError(f"X has {n} rows and Y has {y.n_rows}: they must be the same rows.")
    if not 1 <= k < n / 2:
        raise InputError(f"n_neighbors must be at least 1 and less than half of the {n} rows; got {n_neighbors}.")
    rows = sampled_rows(n, n_samples, random_state)
    lost = np.concatenate(
        [intruders(x, y, rows[part], k) for part in row_blocks(len(rows), 2 * BYTES_PER_PAIR * n, BLOCK_BYTES)]
    )
    return Estimate.over_rows(1.0 - 2.0 * lost / (k * (2.0 * n - 3.0 * k - 1.0)))


def intruders(x, y, rows, k: int):
    """For each row the sum of rho_ij - k over its neighbours in the map that are none in the data."""
    everyone = np.arange(x.n_rows)
    ranks = np.empty((len(rows), x.n_rows), dtype=np.intp)
    order = np.argsort(_without_themselves(x, rows), axis=1, kind="stable")
    np.put_along_axis(ranks, order, everyone[None, :] + 1, axis=1)
    near = np.argsort(_without_themselves(y, rows), axis=1, kind="stable")[:, :k]
    return np.maximum(np.take_along_axis(ranks, near, axis=1) - k, 0).sum(axis=1)


def _without_themselves(side, rows):
    D = side.block(rows)
    D[np.arange(len(rows)), rows] = np.inf
    return D
