"""A target of several columns: classes, ordered classes and quantities side by side, each with a kind of its own.

Inside, such a target is a matrix of floats (n, columns): codes of classes, in their order if they have one, and numbers
as they are. A row in which one entry is missing counts as unlabelled, and is NaN throughout.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._validation import check_target_length, encode_classes, label_array
from prismap.exceptions import InputError
from prismap.metrics.target import decide_target, real_values, refuse_infinite
from prismap.target.folds import bins as target_bins

KINDS = ("class", "ordered", "real")
#: A posterior is fitted to each column.
MOST_COLUMNS = 50
#: Ordered classes at most: each has a threshold of its own.
MOST_STEPS = 50
#: Rows with the same classes are shared out among folds where there are so many of them on average.
ROWS_ALIKE = 5


@dataclass(frozen=True)
class TargetColumns:
    """What the columns of a target are.

    Attributes
    ----------
    kinds : "class", "ordered" or "real", one per column.
    names : of the columns.
    classes : the classes of each column, in their order; None for a quantity.
    values : (n, columns) floats, codes or numbers; NaN throughout where one is missing.
    """

    kinds: tuple[str, ...]
    names: tuple[str, ...]
    classes: tuple[Any, ...]
    values: NDArray[np.float64]


def resolve_columns(y, n_rows, target="auto", X=None, data="vectors") -> TargetColumns | None:
    """The columns of a target; None if it is one without an order, or several quantities, which need none of this.

    target : the kind of all columns, "auto" to decide on each by its values, or a kind for each. An ordered category of
    pandas is "ordered" by itself.
    """
    columns, names = split_columns(y)
    if isinstance(target, str):
        if target in ("auto", "class") and len(columns) == 1 and not has_order(columns[0]):
            return None
        if target == "real" or (target == "class" and len(columns) == 1):
            return None
        kinds = [target] * len(columns)
    else:
        kinds = list(target)
        check_kinds(kinds, len(columns))
    if len(columns) > MOST_COLUMNS:
        raise InputError(
            f"y has {len(columns)} columns, and a map can be about {MOST_COLUMNS} targets at most: choose some of them."
        )
    kinds = [kind_of(column, X, data) if kind == "auto" else kind for kind, column in zip(kinds, columns, strict=True)]
    if isinstance(target, str) and set(kinds) == {"real"}:
        return None
    found = [encode_column(*one, n_rows) for one in zip(columns, names, kinds, strict=True)]
    values = np.stack([codes for _, codes in found], axis=1)
    values[np.isnan(values).any(axis=1)] = np.nan
    check_joint(values, names, kinds)
    return TargetColumns(tuple(kinds), names, tuple(classes for classes, _ in found), values)


def split_columns(y):
    """The columns of a target, and their names."""
    y = y.toarray() if sp.issparse(y) else y
    if isinstance(y, Mapping):
        return list(y.values()), tuple(str(name) for name in y)
    if hasattr(y, "columns") and hasattr(y, "dtypes"):  # a data frame
        return [y[name] for name in y.columns], tuple(str(name) for name in y.columns)
    if hasattr(y, "dtype") and not isinstance(y.dtype, np.dtype):  # a category of pandas
        return [y], (str(getattr(y, "name", None) or "target"),)
    shape = y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape
    if len(shape) != 2 or shape[1] == 1:
        return [y], (str(getattr(y, "name", None) or "target"),)
    y = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    return list(y.T), tuple(f"target {place + 1}" for place in range(shape[1]))


def check_kinds(kinds, n_columns):
    """A kind for each column."""
    unknown = [kind for kind in kinds if kind not in ("auto", *KINDS)]
    if unknown:
        raise InputError(f"target names the kind {unknown[0]!r}; kinds are 'auto', 'class', 'ordered' and 'real'.")
    if len(kinds) != n_columns:
        raise InputError(
            f"target names {len(kinds)} kinds, and y has {n_columns} columns: they must be equal in number."
        )


def has_order(column):
    """Whether a column is a category of pandas with an order."""
    return bool(getattr(getattr(column, "dtype", None), "ordered", False))


def kind_of(column, X, data):
    """What a column is, by its type or its values."""
    if has_order(column):
        return "ordered"
    if hasattr(getattr(column, "dtype", None), "categories"):
        return "class"
    values = label_array(column)
    refuse_infinite(values)
    return decide_target(values, X, data).kind


def encode_column(column, name, kind, n_rows):
    """(classes, codes): of a quantity None and its numbers. Both are floats, NaN where a value is missing."""
    try:
        if kind == "real":
            return None, real_values(check_target_length(column, n_rows))
        classes, codes = ordered_classes(column, n_rows) if kind == "ordered" else encode_classes(column, n_rows)
    except InputError as error:
        raise InputError(f"the target {name!r}: {error}") from error
    return classes, np.where(codes < 0, np.nan, codes).astype(np.float64)


def ordered_classes(column, n_rows):
    """Classes in their order, and codes: numbers have one, categories of pandas may have one, text has none."""
    values = check_target_length(column, n_rows)
    refuse_infinite(values)
    classes, codes = encode_classes(values, n_rows)
    if has_order(column):
        order = [place for level in column.dtype.categories for place in np.flatnonzero(classes == level)]
        places = np.empty(len(classes) + 1, dtype=np.intp)
        places[order], places[-1] = np.arange(len(classes)), -1
        classes, codes = classes[order], places[codes]
    elif classes.dtype.kind not in "iufb":
        raise InputError(
            "text has no order. Number the classes, or pass a pandas Categorical with ordered=True and its categories "
            "from the lowest to the highest."
        )
    if len(classes) > MOST_STEPS:
        raise InputError(
            f"{len(classes)} ordered classes are more than {MOST_STEPS}: take them as a quantity (target='real')."
        )
    return classes, codes


def check_joint(values, names, kinds):
    """There must be something left to tell once rows with a missing entry are left out."""
    known = ~np.isnan(values[:, 0])
    if not known.any():
        raise InputError("no row of y has a value in every column, and only such rows count as labelled.")
    for column, name, kind in zip(values[known].T, names, kinds, strict=True):
        distinct = len(np.unique(column))
        if distinct < (3 if kind == "real" else 2):
            raise InputError(
                f"the target {name!r} holds {distinct} different value{'s'[: distinct > 1]} in the rows that have all "
                "targets, so there is nothing to tell apart: leave it out."
            )


def class_codes(values):
    """Codes of classes as whole numbers, -1 where they are missing."""
    return np.where(np.isnan(values), -1, values).astype(np.intp)


def joint_groups(values, kinds):
    """Groups of rows that folds get equal shares of: those with the same classes, or near values; -1: unlabelled."""
    nominal = [kind != "real" for kind in kinds]
    if not any(nominal):
        return target_bins(values)
    codes, known = np.full(len(values), -1, dtype=np.intp), ~np.isnan(values[:, 0])
    for last in range(sum(nominal), 0, -1):  # fewer columns, until rows share their classes
        _, found = np.unique(values[known][:, nominal][:, :last], axis=0, return_inverse=True)
        if last == 1 or ROWS_ALIKE * (found.max() + 1) <= len(found):
            codes[known] = found.ravel()
            return codes
    return codes


def indicator_columns(values, kinds):
    """Columns of numbers that the mean of neighbours can be compared with: an indicator for each class.

    Ordered classes have one for each threshold, two classes have one, and quantities stay as they are.
    """
    known, parts = ~np.isnan(values[:, 0]), []
    for column, kind in zip(values.T, kinds, strict=True):
        levels = np.unique(column[known])
        if kind == "real":
            parts.append(column[:, None])
        elif kind == "ordered":
            parts.append(column[:, None] > levels[:-1])
        else:
            parts.append(column[:, None] == (levels if len(levels) > 2 else levels[1:]))
    shown = np.concatenate(parts, axis=1).astype(np.float64)
    shown[~known] = np.nan
    return shown


# --- one of several targets -------------------------------------------------------------------------------------------


def is_several(target):
    """Whether a target has a kind for each of its columns."""
    return isinstance(target, tuple)


def shown_kind(target):
    """What pictures show, and trust is about: "class", "real" or "none"; of several targets the first."""
    return target if not is_several(target) else "real" if target[0] == "real" else "class"


def shown_column(y, target):
    """The target that is shown: codes of classes (-1: none) or numbers, one per row."""
    if y is None or y.ndim == 1:
        return y
    return column_of(y, target, 0) if is_several(target) else y[:, 0]


def column_of(y, target, t):
    """Column t of several targets: codes of classes (-1: none), or numbers."""
    return y[:, t] if target[t] == "real" else class_codes(y[:, t])
