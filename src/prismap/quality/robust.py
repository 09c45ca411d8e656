"""Does the map show a real target, whatever its tails? The same judgement by ranks.

Two extreme values of 1,665 rows can turn an error of squares. Ranks bound what any row can do, and they are the same
for every increasing transform of the target, so that prices, counts and waiting times need none.

    rank error       = nRMSE of the ranks (`knn_nrmse` of the share of values that lie below each one)
    rank correlation = Spearman's, of the values and of what their neighbours in the map say
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from prismap.exceptions import InputError
from prismap.quality.estimates import Estimate
from prismap.quality.supervised import Numbers, neighbor_means, nrmse_of_numbers, numbers_of_both


def knn_rank_error(
    Y: Any, y: Any, *, n_neighbors: int = 5, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean"
) -> Estimate:
    """`knn_nrmse` of the ranks of a target instead of its values.

    1 is as good as the median, and unrelated targets give sqrt(1 + 1/k) or more. A few extreme values cannot change it
    much, and no increasing transform of y does.

    Parameters
    ----------
    Y : positions (n, n_components), distances (with ``metric="precomputed"``), or None for the fitted rows of a metric
        object
    y : numbers, the target of those rows; NaN where unknown
    n_neighbors : int, default=5
        How many neighbours are averaged.
    Y_fit, y_fit : positions and targets of the rows that predict; without them, the other rows of Y
    metric : name, ``"precomputed"`` or a fitted metric object, default="euclidean"

    Returns
    -------
    Estimate : the error, with its standard error as ``spread``.

    Examples
    --------
    >>> y = [0.0, 1.0, 2.0, 3.0, 4.0, 1e9]
    >>> Y = [[value] for value in range(6)]
    >>> bool(knn_rank_error(Y, y, n_neighbors=2) < 0.5)
    True
    """
    values, values_fit = numbers_of_both(Y, y, Y_fit, y_fit, metric)
    return rank_error_of_numbers(
        Y, values, n_neighbors=n_neighbors, Y_fit=Y_fit, values_fit=values_fit, metric=metric
    )  # fmt: skip


def rank_error_of_numbers(
    Y: Any, values: Numbers, *, n_neighbors: int = 5, Y_fit: Any = None, values_fit: Numbers | None = None,
    **options: Any,
) -> Estimate:  # fmt: skip
    """`knn_rank_error` of numbers."""
    ranks, ranks_fit = rank_shares(values, values_fit)
    return nrmse_of_numbers(Y, ranks, n_neighbors=n_neighbors, Y_fit=Y_fit, values_fit=ranks_fit, **options)


def knn_rank_correlation(
    Y: Any, y: Any, *, n_neighbors: int = 5, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean"
) -> Estimate:
    """Rank correlation of a target with what the nearest neighbours in the map predict.

    Neighbours are averaged by rank, so that an extreme one among them does no harm. The spread is Bonett and Wright's
    (2000), from Fisher's z.

    Parameters
    ----------
    Y : positions (n, n_components), distances (with ``metric="precomputed"``), or None for the fitted rows of a metric
        object
    y : numbers, the target of those rows; NaN where unknown
    n_neighbors : int, default=5
        How many neighbours are averaged.
    Y_fit, y_fit : positions and targets of the rows that predict; without them, the other rows of Y
    metric : name, ``"precomputed"`` or a fitted metric object, default="euclidean"

    Returns
    -------
    Estimate : the correlation from -1 to 1, with its standard error as ``spread``.

    Examples
    --------
    >>> y = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    >>> bool(knn_rank_correlation([[value] for value in y], y, n_neighbors=2) > 0.8)
    True
    """
    values, values_fit = numbers_of_both(Y, y, Y_fit, y_fit, metric)
    return rank_correlation_of_numbers(
        Y, values, n_neighbors=n_neighbors, Y_fit=Y_fit, values_fit=values_fit, metric=metric
    )  # fmt: skip


def rank_correlation_of_numbers(
    Y: Any, values: Numbers, *, n_neighbors: int = 5, Y_fit: Any = None, values_fit: Numbers | None = None,
    **options: Any,
) -> Estimate:  # fmt: skip
    """`knn_rank_correlation` of numbers."""
    ranks, ranks_fit = rank_shares(values, values_fit)
    _, predicted = neighbor_means(Y, ranks, n_neighbors=n_neighbors, Y_fit=Y_fit, values_fit=ranks_fit, **options)
    known = values[~np.isnan(values)]  # their shares among few voters would have ties
    if np.ptp(predicted) == 0 or np.ptp(known) == 0:
        return Estimate(0.0)
    r = float(np.corrcoef(rankdata(known), rankdata(predicted))[0, 1])
    spread = (1 - r * r) * np.sqrt((1 + r * r / 2) / (len(known) - 3)) if len(known) > 3 else float("nan")
    return Estimate(r, spread)


def rank_shares(values: Numbers, values_fit: Numbers | None = None) -> tuple[Numbers, Numbers | None]:
    """The share of the voting values below each value, half of its equals included; NaN stays where it is not known."""
    if values_fit is None:
        return _shares(values, values[~np.isnan(values)]), None
    voting = values_fit[~np.isnan(values_fit)]
    if not len(voting):
        raise InputError("y_fit holds no value to compare with; some rows that vote must have a target.")
    return _shares(values, voting), _shares(values_fit, voting)


def _shares(values: Numbers, among: Numbers) -> Numbers:
    among = np.sort(among)
    below, upto = (np.searchsorted(among, values, side=side) for side in ("left", "right"))
    return np.where(np.isnan(values), np.nan, (below + upto) / (2.0 * max(len(among), 1)))
