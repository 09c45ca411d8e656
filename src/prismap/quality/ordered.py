"""How far neighbours miss a class among ordered ones: in steps from class to class.

    steps = mean |median of the classes of the k nearest - own class|

The median of ordered classes needs nothing but their order. With an even number of votes it is the lower of the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap.quality.estimates import Estimate
from prismap.quality.supervised import Codes, encode_both, vote_on_codes
from prismap.quality.votes import EQUAL, VOTERS


def knn_steps(
    Y: Any, y: Any, *, n_neighbors: int = VOTERS, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean"
) -> Estimate:
    """Mean number of classes between a row's own and the median class of its nearest neighbours; an Estimate.

    Parameters
    ----------
    Y, Y_fit, y_fit, metric : as in `prismap.quality.knn_error`
    y : ordered classes as numbers; what counts is their order. Classes that occur neither in y nor in `y_fit` are no
        step
    n_neighbors : k

    Returns
    -------
    Estimate : the mean number of steps, with its standard error as ``spread``.

    Examples
    --------
    >>> float(knn_steps([[0.0], [0.1], [1.0], [1.1]], [1, 1, 3, 3], n_neighbors=1))
    0.0
    """
    codes, codes_fit, _ = encode_both(Y, y, Y_fit, y_fit, metric)
    return steps_of_codes(Y, codes, n_neighbors=n_neighbors, Y_fit=Y_fit, codes_fit=codes_fit, metric=metric)


def steps_of_codes(
    Y: Any, codes: Codes, *, n_neighbors: int = VOTERS, Y_fit: Any = None, codes_fit: Codes | None = None,
    **options: Any,
) -> Estimate:  # fmt: skip
    """`knn_steps` of codes, which ascend with the classes."""
    vote, own = vote_on_codes(Y, codes, n_neighbors=n_neighbors, Y_fit=Y_fit, codes_fit=codes_fit, **options)
    below = np.cumsum(vote.seats, axis=1)
    median = (below >= 0.5 * below[:, -1:] - EQUAL).argmax(axis=1)
    occurs = np.unique(codes if codes_fit is None else np.concatenate([codes, codes_fit]))
    return Estimate.over_rows(np.abs(np.searchsorted(occurs, median) - np.searchsorted(occurs, own)).astype(float))


def chance_steps(y: Any) -> float:
    """The smallest error that guesses without neighbours have: that of the median of all known classes.

    Parameters
    ----------
    y : ordered classes as numbers

    Returns
    -------
    float

    Examples
    --------
    >>> chance_steps([1, 2, 3])
    0.6666666666666666
    """
    codes = np.unique(np.asarray(y), return_inverse=True)[1]
    return float(np.abs(codes - np.median(codes)).mean())
