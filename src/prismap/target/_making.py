"""From what a user gives as y to a `Target`: the only place where a target is looked at and encoded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.validation import SMALLEST, check_magnitude
from prismap.exceptions import InputError
from prismap.target._decision import decide_target
from prismap.target._kinds import ClassTarget, NoTarget, RealTarget, SeveralTarget, Target
from prismap.target._labels import check_target_length, encode_classes, label_array, missing_mask

KINDS = ("class", "ordered", "real")
#: A posterior is fitted to each column.
MOST_COLUMNS = 50
#: Ordered classes at most: each has a threshold of its own.
MOST_STEPS = 50


def make_target(y: Any, n_rows: int, kind: Any = "auto", *, X: Any = None, data: str = "vectors") -> Target:
    """The `Target` of `n_rows` samples; a `Target` is given back as it is.

    Parameters
    ----------
    y : array (n,) or (n, columns), data frame, mapping from names to columns, `Target`, or None
        Unlabelled samples are -1 beside other whole numbers, None or NaN.
    n_rows : int
    kind : {"auto", "class", "ordered", "real", "none"} or a sequence with one of these for each column
        "auto" is decided by the values, and by the samples `X` where they are given. An ordered category of pandas is
        "ordered" by itself.
    X : samples, or a matrix of pairs as `data` says; None: the values alone decide.
    data : "vectors", "similarity", "dissimilarity" or "objects".

    Examples
    --------
    >>> make_target(["b", "a", None], 3).values.tolist(), make_target([0.5, 1.5, 2.0], 3).kind
    ([1, 0, -1], 'real')
    """
    if isinstance(y, Target):
        if len(y) != n_rows:
            raise InputError(f"y has {len(y)} entries and X has {n_rows} rows: they must be equal in number.")
        return y
    if y is None or (isinstance(kind, str) and kind == "none"):
        return NoTarget.of(n_rows)
    columns, names = split_columns(y)
    if not isinstance(kind, str):
        check_kinds(list(kind), len(columns))
    elif kind == "real" or (len(columns) == 1 and (kind == "class" or (kind == "auto" and not has_order(columns[0])))):
        return without_order(columns, n_rows, kind, X, data)
    if len(columns) > MOST_COLUMNS:
        raise InputError(
            f"y has {len(columns)} columns, and a map can be about {MOST_COLUMNS} targets at most: choose some of them."
        )
    wanted = [kind] * len(columns) if isinstance(kind, str) else list(kind)
    kinds = [kind_of(one, X, data) if named == "auto" else named for named, one in zip(wanted, columns, strict=True)]
    if isinstance(kind, str) and set(kinds) == {"real"}:
        return without_order(columns, n_rows, "real", X, data)
    encoded = [encode_column(*one, n_rows) for one in zip(columns, names, kinds, strict=True)]
    values = np.stack([codes for _, codes in encoded], axis=1)
    values[np.isnan(values).any(axis=1)] = np.nan
    check_joint(values, names, kinds)
    return SeveralTarget(
        values, kinds=tuple(kinds), column_names=names, column_classes=tuple(classes for classes, _ in encoded)
    )


def without_order(columns: list[Any], n_rows: int, kind: str, X: Any, data: str) -> Target:
    """Classes without an order, or one quantity or several of equal weight."""
    if len(columns) > 1:
        return RealTarget(real_columns(columns, n_rows))
    name = getattr(columns[0], "name", None)
    name = None if name is None else str(name)
    values = check_target_length(columns[0], n_rows)
    refuse_infinite(values)
    kind = decide_target(values, X, data).kind if kind == "auto" else kind
    if kind == "real":
        return RealTarget(real_values(values), name=name)
    classes, codes = encode_classes(values, n_rows)
    return ClassTarget(codes, name=name, names_of_classes=classes)


def split_columns(y: Any) -> tuple[list[Any], tuple[str, ...]]:
    """The columns of a target, and their names."""
    y = y.toarray() if sp.issparse(y) else y
    if isinstance(y, Mapping):
        odd = next((name for name, column in y.items() if np.ndim(column) != 1), None)
        if odd is not None:
            raise InputError(f"y is a mapping whose entry {odd!r} is no column of values; give each name a column.")
        return list(y.values()), tuple(str(name) for name in y)
    if hasattr(y, "columns") and hasattr(y, "dtypes"):  # a data frame
        return [y[name] for name in y.columns], tuple(str(name) for name in y.columns)
    own_name = (str(getattr(y, "name", None) or "target"),)
    if hasattr(y, "dtype") and not isinstance(y.dtype, np.dtype):  # a category of pandas
        return [y], own_name
    shape = y.shape if hasattr(y, "shape") else np.asarray(y, dtype=object).shape
    if len(shape) != 2 or shape[1] == 1:
        return [y], own_name
    y = y if isinstance(y, np.ndarray) else np.asarray(y, dtype=object)
    return list(y.T), tuple(f"target {place + 1}" for place in range(shape[1]))


def check_kinds(kinds: list[Any], n_columns: int) -> None:
    """A kind for each column."""
    unknown = [kind for kind in kinds if kind not in ("auto", *KINDS)]
    if unknown:
        raise InputError(f"target names the kind {unknown[0]!r}; kinds are 'auto', 'class', 'ordered' and 'real'.")
    if len(kinds) != n_columns:
        raise InputError(
            f"target names {len(kinds)} kinds, and y has {n_columns} columns: they must be equal in number."
        )


def has_order(column: Any) -> bool:
    """Whether a column is a category of pandas with an order."""
    return bool(getattr(getattr(column, "dtype", None), "ordered", False))


def kind_of(column: Any, X: Any, data: str) -> str:
    """What a column is, by its type or its values."""
    if has_order(column):
        return "ordered"
    if hasattr(getattr(column, "dtype", None), "categories"):
        return "class"
    values = label_array(column)
    refuse_infinite(values)
    return decide_target(values, X, data).kind


def encode_column(column: Any, name: str, kind: str, n_rows: int) -> tuple[Any, NDArray[np.float64]]:
    """(classes, codes): of a quantity None and its numbers. Both are floats, NaN where a value is missing."""
    try:
        if kind == "real":
            return None, real_values(check_target_length(column, n_rows))
        classes, codes = ordered_classes(column, n_rows) if kind == "ordered" else encode_classes(column, n_rows)
    except InputError as error:
        raise InputError(f"the target {name!r}: {error}") from error
    return classes, np.where(codes < 0, np.nan, codes).astype(np.float64)


def ordered_classes(column: Any, n_rows: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
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


def check_joint(values: NDArray[np.float64], names: tuple[str, ...], kinds: list[str]) -> None:
    """There must be something left to tell apart once rows with a missing entry are left out."""
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


def real_columns(columns: list[Any], n_rows: int) -> NDArray[np.float64]:
    """Several quantities as (n, columns); rows in which one is missing are NaN throughout."""
    numbers = np.stack([real_values(check_target_length(column, n_rows)) for column in columns], axis=1)
    numbers[np.isnan(numbers).any(axis=1)] = np.nan
    return numbers


def real_values(values: NDArray[Any]) -> NDArray[np.float64]:
    """A quantity as floats, NaN where it is missing; refused when it cannot teach anything."""
    try:
        numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("target='real' needs numbers in y; text was found. Use target='class'.") from error
    refuse_infinite(numbers)
    check_magnitude(np.nan_to_num(numbers), "y", smallest=SMALLEST)
    known = numbers[~np.isnan(numbers)]
    distinct = len(np.unique(known))
    if distinct < 3:
        what = "no value" if not len(known) else "one constant value" if distinct == 1 else "only two distinct values"
        way_out = "target='class'" if distinct == 2 else "target='none' (supervision=0 in FisherMetric)"
        raise InputError(f"y as a real target holds {what}; at least three are needed. Use {way_out}.")
    return numbers


def refuse_infinite(values: NDArray[Any]) -> None:
    """No target, a quantity or a class, is infinite."""
    infinite = int(np.isinf(values).sum()) if values.dtype.kind == "f" else 0
    if infinite:
        raise InputError(f"y holds {infinite} infinite values; drop those rows or mark them as NaN.")


def encode_like(y: Any, target: Target, n_rows: int) -> NDArray[Any]:
    """What later samples have as target, in the codes of a fitted one; unlabelled if y is None.

    Classes are known by their text, so that a table may bring them as numbers or as words.
    """
    if isinstance(target, SeveralTarget):
        raise InputError(
            "partial_refit extends maps of one target; this one has several columns or an order: fit anew."
        )
    nothing = -1 if isinstance(target, ClassTarget) else np.nan
    if y is None or not target.exists:
        return np.full((n_rows, *target.values.shape[1:]), nothing)
    values = check_target_length(y, n_rows)
    missing = missing_mask(values)
    if not isinstance(target, ClassTarget):
        return np.where(missing, np.nan, values).astype(np.float64)
    codes = {str(name): code for code, name in enumerate(target.classes)}
    names = [None if gap else str(value) for gap, value in zip(missing, values.tolist(), strict=True)]
    strangers = sorted({name for name in names if name is not None and name not in codes and name != "-1"})
    if strangers:
        raise InputError(
            f"y holds classes the map does not know ({', '.join(strangers[:8])}). partial_refit keeps its classes: "
            "pass None for these rows, or fit anew."
        )
    return np.array([-1 if name is None else codes.get(name, -1) for name in names])
