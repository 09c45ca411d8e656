"""Does the map show the target? Errors of nearest-neighbour prediction on it, and which classes are mixed.

The public functions: they check what they are given, encode it, and call those of `prismap.quality._errors`, where the
formulas stand. Without `y_fit` each row is judged by all others (leave-one-out). With it, rows are judged by the fitted
ones only, which gives the held-out error if `Y` and `y` were not used in the fit. `prismap.quality._votes` describes
how ties fall. Unlabelled rows (-1 beside other codes, None, NaN) neither vote nor are judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.quality._errors import (
    N_AVERAGED,
    Codes,
    Numbers,
    chance_of_codes,
    chance_steps_of_codes,
    error_of_codes,
    nrmse_of_numbers,
    rank_correlation_of_numbers,
    rank_error_of_numbers,
    steps_of_codes,
    vote_on_codes,
)
from prismap.quality._estimates import Estimate
from prismap.quality._votes import VOTERS
from prismap.target import read_groups
from prismap.target._labels import check_target_length, encode_classes, label_array, missing_mask


def knn_error(
    Y: Any, y: Any, *, n_neighbors: int | None = 1, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean",
    judged: Any = None, n_samples: int | None = None, random_state: Any = None, groups: Any = None,
    groups_fit: Any = None,
) -> Estimate:  # fmt: skip
    """The share of rows whose class is not that of the majority of their nearest neighbours; an Estimate.

    Parameters
    ----------
    Y : positions (n, n_components), distances (with ``metric="precomputed"``: (n, n), or (n, n_fit) with `y_fit`), or
        None for the fitted rows of a metric object
    y : classes of those rows
    n_neighbors : k; None: as many as vote in a report, ten, and fewer where classes are small
    Y_fit, y_fit : positions and classes of the rows that vote; without them, the other rows of Y. Distances and metric
        objects need `y_fit` only
    metric : name, ``"precomputed"`` or a fitted metric object
    judged : mask of the rows of Y that are judged; the others only vote. None judges all
    n_samples : judge so many rows, drawn at random, instead of all
    random_state : for that sample
    groups, groups_fit : groups of the rows of Y and, with `y_fit`, of those that vote: rows of the same group have no
        vote on each other, and the standard error is that of groups

    Returns
    -------
    Estimate : the error, with its standard error as ``spread``.

    Examples
    --------
    >>> float(knn_error([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"]))
    0.0
    """
    codes, codes_fit, _ = encode_both(Y, y, Y_fit, y_fit, metric)
    return error_of_codes(
        Y, codes, Y_fit, codes_fit, n_neighbors=n_neighbors, metric=metric, judged=judged, n_samples=n_samples,
        random_state=random_state, **units_of(groups, groups_fit, len(codes), codes_fit),
    )  # fmt: skip


def knn_steps(
    Y: Any, y: Any, *, n_neighbors: int = VOTERS, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean"
) -> Estimate:
    """Mean number of classes between a row's own and the median class of its nearest neighbours; an Estimate.

    Parameters
    ----------
    Y, Y_fit, y_fit, metric : as in `knn_error`
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
    return steps_of_codes(Y, codes, Y_fit, codes_fit, n_neighbors=n_neighbors, metric=metric)


def knn_nrmse(
    Y: Any, y: Any, *, n_neighbors: int = N_AVERAGED, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean",
    n_samples: int | None = None, random_state: Any = None, groups: Any = None, groups_fit: Any = None,
) -> Estimate:  # fmt: skip
    """Error of nearest-neighbour regression in units of the target's standard deviation.

    1 is as good as the mean of y, and unrelated targets give sqrt(1 + 1/k) or more. Neighbours are weighted by
    1/distance. If some lie at distance 0, they alone are averaged.

    Parameters
    ----------
    Y : positions (n, n_components), distances (with ``metric="precomputed"``), or None for the fitted rows of a metric
        object
    y : numbers, the target of those rows; NaN where unknown
    n_neighbors : int, default=5
        How many neighbours are averaged.
    Y_fit, y_fit : positions and targets of the rows that predict; without them, the other rows of Y
    metric : name, ``"precomputed"`` or a fitted metric object, default="euclidean"
    n_samples : judge so many rows, drawn at random, instead of all
    random_state : for that sample
    groups, groups_fit : as in `knn_error`

    Returns
    -------
    Estimate : the error, with its standard error as ``spread``.

    Examples
    --------
    >>> y = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    >>> bool(knn_nrmse([[value] for value in y], y, n_neighbors=2) < 0.5)
    True
    """
    values, values_fit = numbers_of_both(Y, y, Y_fit, y_fit, metric)
    return nrmse_of_numbers(
        Y, values, Y_fit, values_fit, n_neighbors=n_neighbors, metric=metric, n_samples=n_samples,
        random_state=random_state, **units_of(groups, groups_fit, len(values), values_fit),
    )  # fmt: skip


def knn_rank_error(
    Y: Any, y: Any, *, n_neighbors: int = N_AVERAGED, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean"
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
    return rank_error_of_numbers(Y, values, Y_fit, values_fit, n_neighbors=n_neighbors, metric=metric)


def knn_rank_correlation(
    Y: Any, y: Any, *, n_neighbors: int = N_AVERAGED, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean"
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
    return rank_correlation_of_numbers(Y, values, Y_fit, values_fit, n_neighbors=n_neighbors, metric=metric)


def chance_error(y: Any, n_neighbors: int | None = 1, *, judged: Any = None) -> float:
    """The k-NN error of labels that have nothing to do with the rows, p_c being the class shares.

    For one neighbour it is 1 - sum_c p_c^2. For more, votes of k independent labels are simulated. Of classes that draw
    each wins equally often: their nearest voters come in any order.

    Parameters
    ----------
    y : classes; unlabelled rows do not count
    n_neighbors : int or None, default=1
        As in `knn_error`.
    judged : mask of the rows whose error counts; all vote. None counts all

    Returns
    -------
    float

    Examples
    --------
    >>> chance_error(["a", "b", "a", "b"])
    0.5
    """
    return chance_of_codes(encode_classes(y, np.size(y))[1], n_neighbors, judged)


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
    return chance_steps_of_codes(np.unique(np.asarray(y), return_inverse=True)[1])


@dataclass(frozen=True)
class Overlap:
    """Two classes that are mixed in a map.

    Attributes
    ----------
    of, into : names of the classes
    share : share of the neighbours of rows of class `of` that belong to class `into`
    """

    of: str
    into: str
    share: float


def class_overlap(
    Y: Any, y: Any, *, n_neighbors: int = VOTERS, Y_fit: Any = None, y_fit: Any = None, metric: Any = "euclidean",
    judged: Any = None, n_samples: int | None = None, random_state: Any = None,
) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
    """Which classes are mixed in the map: shares (C, C) of each class among the neighbours of each, and the classes.

    Parameters
    ----------
    Y : positions (n, n_components), distances (with ``metric="precomputed"``), or None for the fitted rows of a metric
        object
    y : classes of those rows
    n_neighbors : int, default=10
    Y_fit, y_fit : positions and classes of the rows that vote; without them, the other rows of Y
    metric : name, ``"precomputed"`` or a fitted metric object
    judged : mask of the rows of Y that are judged; the others only vote. None judges all
    n_samples : judge so many rows, drawn at random, instead of all
    random_state : for that sample

    Returns
    -------
    shares : array (C, C)
        Entry (a, b) is the mean share of class b among the neighbours of rows of class a. Each row of the array adds up
        to one, and is NaN for a class without judged rows.
    classes : array (C,)

    See Also
    --------
    overlapping_pairs : The pairs worth naming.

    Examples
    --------
    >>> shares, classes = class_overlap([[0.0], [0.1], [1.0], [1.1]], ["a", "a", "b", "b"], n_neighbors=1)
    >>> shares.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    codes, codes_fit, classes = encode_both(Y, y, Y_fit, y_fit, metric)
    shares = overlap_of_codes(
        Y, codes, Y_fit, codes_fit, n_classes=len(classes), n_neighbors=n_neighbors, metric=metric, judged=judged,
        n_samples=n_samples, random_state=random_state,
    )  # fmt: skip
    return shares, classes


def overlap_of_codes(
    Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, *, n_classes: int, **options: Any
) -> Numbers:
    """The shares (C, C) of `class_overlap`, of codes; NaN in the row of a class without judged rows."""
    vote, own, _ = vote_on_codes(Y, codes, Y_fit, codes_fit, at_most=True, **options)
    shares = np.zeros((len(own), n_classes))
    shares[:, : vote.seats.shape[1]] = vote.seats / vote.seats.sum(axis=1, keepdims=True)
    members = np.eye(n_classes)[own]
    with np.errstate(invalid="ignore"):
        return np.asarray((members.T @ shares) / members.sum(axis=0)[:, None])


def overlapping_pairs(shares: np.ndarray, classes: Any, *, at_least: float = 0.1) -> tuple[Overlap, ...]:
    """Pairs of classes that overlap in a map, most mixed first; each pair once, in its stronger direction.

    Parameters
    ----------
    shares, classes : as `class_overlap` returns them
    at_least : float, default=0.1
        The least share of one class among the neighbours of the other.

    Returns
    -------
    tuple of Overlap

    Examples
    --------
    >>> overlapping_pairs(np.array([[0.8, 0.2], [0.0, 1.0]]), ["a", "b"])[0].into
    'b'
    """
    pairs = []
    for a in range(len(classes)):
        for b in range(a):
            of, into = (a, b) if np.nan_to_num(shares[a, b]) >= np.nan_to_num(shares[b, a]) else (b, a)
            if shares[of, into] >= at_least:
                pairs.append(Overlap(str(classes[of]), str(classes[into]), float(shares[of, into])))
    return tuple(sorted(pairs, key=lambda pair: -pair.share))


def encode_both(Y: Any, y: Any, Y_fit: Any, y_fit: Any, metric: Any) -> tuple[Codes, Codes | None, NDArray[Any]]:
    """Codes of the classes of judged and of fitted rows (None without these), and the classes."""
    n_rows = _n_judged(Y, y, metric)
    both = check_target_length(y, n_rows)
    _check_fit(Y_fit, y_fit, metric)
    if y_fit is not None:
        both = np.concatenate([both.astype(object), check_target_length(y_fit, np.size(y_fit)).astype(object)])
    classes, codes = encode_classes(both, len(both))
    return codes[:n_rows], None if y_fit is None else codes[n_rows:], classes


def numbers_of_both(Y: Any, y: Any, Y_fit: Any, y_fit: Any, metric: Any) -> tuple[Numbers, Numbers | None]:
    """Numbers of judged and of fitted rows (None without these)."""
    values = real_values(y, _n_judged(Y, y, metric), "y")
    _check_fit(Y_fit, y_fit, metric)
    return values, None if y_fit is None else real_values(y_fit, np.size(y_fit), "y_fit")


def units_of(groups: Any, groups_fit: Any, n_rows: int, fitted: Any) -> dict[str, Any]:
    """Groups of judged and of voting rows as options of `electorate`; none without groups."""
    if groups is None:
        return {}
    if (groups_fit is None) != (fitted is None):
        raise InputError("groups and groups_fit go together where rows are judged by others, which y_fit is about.")
    both = groups if fitted is None else [*label_array(groups).tolist(), *label_array(groups_fit).tolist()]
    codes = read_groups(both, n_rows if fitted is None else n_rows + len(fitted)).codes
    return {"units": codes[:n_rows], "units_fit": None if fitted is None else codes[n_rows:]}


def _n_judged(Y: Any, y: Any, metric: Any) -> int:
    if Y is None and isinstance(metric, str):
        raise InputError("Y is None, which stands for the fitted rows of a metric object; pass positions, or metric=.")
    if Y is not None and np.ndim(Y) == 0:
        raise InputError(f"Y must hold positions, rows by columns; got {type(Y).__name__}.")
    return np.size(y) if Y is None else np.shape(Y)[0]


def _check_fit(Y_fit: Any, y_fit: Any, metric: Any) -> None:
    if Y_fit is not None and y_fit is None:
        raise InputError("Y_fit was given without y_fit: the rows that vote need their target.")
    if isinstance(metric, str) and metric != "precomputed" and y_fit is not None and Y_fit is None:
        raise InputError("y_fit was given without Y_fit: the rows that vote need their positions.")
    if Y_fit is not None and np.shape(Y_fit)[0] != np.size(y_fit):
        raise InputError(f"Y_fit has {np.shape(Y_fit)[0]} rows and y_fit has {np.size(y_fit)} entries.")


def real_values(y: Any, n_rows: int, name: str) -> Numbers:
    """A real target, NaN where it is not known."""
    values = check_target_length(y, n_rows)
    try:
        values = np.where(missing_mask(values), np.nan, values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must hold numbers for a real-valued target; use knn_error for classes.") from error
    if np.isinf(values).any():
        raise InputError(f"{name} holds infinite values; nRMSE needs finite ones (NaN marks an unlabelled row).")
    return values
