"""Labels as arrays, without loss: what a user gives as y in, values, codes and classes out, and the order of classes.

Classes have an order if their names are whole numbers, or the words of a scale that everybody knows.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Rows
from prismap._util.validation import refuse_no_array
from prismap.exceptions import InputError


def encode_classes(y: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Classes and one code per row; unlabelled rows (-1 beside other whole numbers, None, NaN) get the code -1.

    >>> classes, codes = encode_classes(["b", "a", None], 3)
    >>> classes.tolist(), codes.tolist()
    (['a', 'b'], [1, 0, -1])
    """
    values = check_target_length(y, n_rows)
    unlabelled = missing_mask(values)
    labelled = _exact_labels(values[~unlabelled])
    if labelled.dtype.kind in "if":
        # {-1, 1} are two classes; -1 below several other codes is the usual mark of "no label".
        marked = labelled == -1
        if marked.any() and labelled.min() == -1 and len(np.unique(labelled)) > 2:
            unlabelled[np.flatnonzero(~unlabelled)[marked]] = True
            labelled = labelled[~marked]
    classes, labelled_codes = np.unique(labelled, return_inverse=True)
    codes = np.full(n_rows, -1, dtype=np.intp)
    codes[~unlabelled] = labelled_codes
    if len(classes) < 2:
        what = "no labelled row" if not len(classes) else f"only one class ({str(classes[0])!r})"
        raise InputError(
            f"y holds {what}, so there is nothing to discriminate: at least two classes are needed. "
            "Use supervision=0 (or target='none' in PrisMap) for an unsupervised result."
        )
    return classes, codes


def _exact_labels(labels: NDArray[Any]) -> NDArray[Any]:
    """Labels in a dtype that keeps different ones different: integers, floats, or text."""
    if labels.dtype.kind == "f":
        whole = bool(len(labels)) and bool((labels == np.round(labels)).all() and (np.abs(labels) < 2.0**63).all())
        return labels.astype(np.intp) if whole else labels
    if labels.dtype.kind != "O":
        return labels
    if _all_numbers(labels):
        if not all(float(value).is_integer() for value in labels):
            return labels.astype(np.float64)
        labels = np.array([int(value) for value in labels], dtype=object)
        lowest, highest = min(labels, default=0), max(labels, default=0)
        if lowest >= -(2**63) and highest < 2**63:
            return labels.astype(np.int64)
        return labels.astype(np.uint64 if lowest >= 0 and highest < 2**64 else str)
    words = labels.astype(str)
    odd = next((value for value in labels if not isinstance(value, Hashable)), None)
    if odd is not None:
        raise InputError(f"y holds a {type(odd).__name__}, {odd!r:.50}; a label is a number or text.")
    if len(np.unique(words)) < len(set(labels.tolist())):
        texts = {value for value in labels if isinstance(value, str)}
        place = next(
            (place for place, value in enumerate(labels) if not isinstance(value, str) and str(value) in texts), None
        )
        if place is None:
            raise InputError(
                "y holds labels that differ only in NUL characters at their end, which could not be told apart as "
                "classes. Remove these characters."
            )
        raise InputError(
            f"y holds {labels[place]!r} as a {type(labels[place]).__name__} and as text, which could not be told "
            "apart as classes. Make all labels text, or all numbers."
        )
    return words


def check_target_length(y: Any, n_rows: int) -> NDArray[Any]:
    """y as a 1-D array with one entry per row."""
    values = label_array(y)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InputError(f"y must have one entry per row; got an array of shape {values.shape}.")
    if len(values) != n_rows:
        raise InputError(f"y has {len(values)} entries and X has {n_rows} rows: they must be equal in number.")
    return values


def label_array(y: Any) -> NDArray[Any]:
    """Labels as an array without loss: integers beside missing values, or too large for a float, stay as they are.

    >>> label_array([2**63, -1]).tolist(), label_array(np.ma.array([2**62 + 1, 0], mask=[0, 1])).tolist()
    ([9223372036854775808, -1], [4611686018427387905, None])
    """
    refuse_no_array(y, "y")
    if isinstance(y, np.ma.MaskedArray):
        values = np.asarray(y.data.astype(object))
        values[np.ma.getmaskarray(y)] = None
        return values
    if hasattr(y, "to_pylist"):  # pyarrow
        y = y.to_pylist()
    elif hasattr(y, "to_list") and not isinstance(getattr(y, "dtype", None), np.dtype):  # polars, pandas' own types
        y = y.tolist() if hasattr(y, "tolist") else y.to_list()
    elif hasattr(y, "to_numpy"):
        y = y.to_numpy()
    try:
        values = np.asarray(y)
    except ValueError as error:  # lists of several lengths
        raise InputError("y holds lists of different lengths; a label is a number or text.") from error
    values = values.astype(np.float64) if values.dtype == np.float16 else values  # limits would overflow in it
    if isinstance(y, np.ndarray) or values.ndim != 1:
        return values
    rounded = values.dtype.kind == "f" and bool((np.isfinite(values) & (np.abs(values) >= 2.0**53)).any())
    mixed = values.dtype.kind == "U" and not all(isinstance(value, str) for value in y)
    if rounded or mixed:  # numpy made floats of integers, or text of numbers
        values = np.empty(len(values), dtype=object)
        values[:] = list(y)
    return values


def missing_mask(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a target is None, NaN, NaT or masked."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.getmaskarray(values))
    if values.dtype.kind == "f":
        return np.asarray(np.isnan(values))
    if values.dtype.kind == "O":
        return np.array([_is_missing(value) for value in values], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _is_missing(value: Any) -> bool:
    different = value is None or value != value
    return bool(different) if isinstance(different, (bool, np.bool_)) else True  # pandas.NA answers with itself


def _all_numbers(values: NDArray[Any]) -> bool:
    return all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in values)


# --- classes whose names have an order --------------------------------------------------------------------------------


#: Words of scales, from the lowest to the highest.
SCALES = (
    ("strongly disagree", "disagree", "somewhat disagree", "slightly disagree", "neutral", "neither agree nor disagree",
     "undecided", "slightly agree", "somewhat agree", "agree", "strongly agree"),
    ("very low", "low", "medium low", "medium", "moderate", "medium high", "high", "very high"),
    ("none", "minimal", "mild", "moderate", "severe", "very severe"),
    ("never", "rarely", "seldom", "sometimes", "occasionally", "often", "usually", "always"),
    ("very poor", "poor", "bad", "fair", "average", "good", "very good", "excellent"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("tiny", "small", "medium", "large", "huge"),
    ("young", "middle", "middle aged", "old"),
)  # fmt: skip
#: Two classes have no order that their vote would not show.
FEWEST_STEPS = 3


def known_order(classes: Any) -> Rows | None:
    """The place of each class in the order that their names have; None if they have no order.

    >>> known_order(["high", "low", "medium"]).tolist(), known_order([3, 1, 2]).tolist(), known_order(["a", "b", "c"])
    ([2, 0, 1], [2, 0, 1], None)
    """
    names = list(classes)
    if len(names) < FEWEST_STEPS:
        return None
    numbers = [number for name in names if (number := whole_number(name)) is not None]
    if len(numbers) == len(names):
        return np.argsort(np.argsort(numbers))
    words = [" ".join(str(name).lower().replace("_", " ").replace("-", " ").split()) for name in names]
    for scale in SCALES:
        if set(words) <= set(scale):
            return np.argsort(np.argsort([scale.index(word) for word in words]))
    return None


def whole_number(name: Any) -> float | None:
    """The number that a name is, if it is a whole one."""
    try:
        number = float(str(name))
    except ValueError:
        return None
    return number if number == round(number) and np.isfinite(number) else None
