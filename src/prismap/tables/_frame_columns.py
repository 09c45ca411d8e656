"""The columns of a data frame of pandas or polars, each as a file with the same values would give it."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.tables._column import Column, text_column
from prismap.tables._table import Roles, entries_of, refuse_double_names


def frame_columns(frame: Any, roles: Roles) -> dict[str, Column]:
    """The columns of a frame of pandas or polars by name."""
    labels = list(frame.columns)
    names = [str(label) for label in labels]
    refuse_double_names(names)
    columns: dict[str, Column] = {}
    for name, label in zip(names, labels, strict=True):
        vectors = _vectors(frame[label]) if roles.may_be_vectors(name) else None
        if vectors is None:
            columns[name] = _column(frame[label], as_text=name in roles.text, as_label=roles.is_label(name))
        else:
            columns |= entries_of(name, vectors)
    return columns


def _vectors(series: Any) -> NDArray[Any] | None:
    """A column of lists or arrays of numbers, all equally long and none missing, as a matrix; None for any other."""
    if _kind(series) != "O" or not len(series):
        return None
    values = series.to_list()
    if not isinstance(values[0], (list, tuple, np.ndarray)):
        return None
    kind = getattr(series.dtype, "inner", getattr(values[0], "dtype", None))  # polars, numpy
    try:
        matrix = np.array(values, dtype=np.float32 if _is_single(kind) else np.float64)
    except (TypeError, ValueError):  # ragged, missing, or no numbers
        return None
    return matrix if matrix.ndim == 2 and matrix.shape[1] else None


def _column(series: Any, *, as_text: bool, as_label: bool) -> Column:
    """Numbers and booleans as floats, labels exactly; categories, text and dates as text."""
    kind = _kind(series)
    if not as_text and as_label and kind in "iu":
        return _exact(series)
    if not as_text and kind in ("iufb" if not as_label else "iuf"):
        return _floats(series, np.float32 if not as_label and _is_single(series.dtype) else np.float64)
    values = [_word(value) for value in (series.to_list() if hasattr(series, "to_list") else list(series))]
    if not as_text and not as_label and str(series.dtype) != "category" and _are_numbers(values):
        return np.array([np.nan if value is None else float(value) for value in values], dtype=np.float64)
    if not (as_text or as_label) and all(value is None for value in values):
        return np.full(len(values), np.nan)
    return text_column([None if value is None else _text(value) for value in values])


def _kind(series: Any) -> str:
    """The kind of a column in numpy's letters; "O" for anything but numbers and booleans.

    Numbers that a user declared a category are names of its levels, and numbers if the categories have an order.
    """
    dtype = series.dtype
    if type(series).__module__.startswith("polars"):
        if dtype.is_numeric():
            return "u" if dtype.is_unsigned_integer() else "i" if dtype.is_integer() else "f"
        return "b" if str(dtype) == "Boolean" else "O"
    if str(dtype) == "category":
        dtype = dtype.categories.dtype if dtype.ordered else None
    kind = getattr(dtype, "kind", "O")
    return kind if kind in "iufb" else "O"


def _is_single(dtype: Any) -> bool:
    return str(dtype).lower() in ("float16", "float32")


def _floats(series: Any, dtype: Any) -> NDArray[Any]:
    if type(series).__module__.startswith("polars"):
        return np.array([np.nan if value is None else value for value in series.to_list()], dtype=dtype)
    if str(series.dtype) == "category":
        return np.asarray(series, dtype=dtype)
    return np.asarray(series.to_numpy(dtype=dtype, na_value=np.nan))


def _exact(series: Any) -> NDArray[Any]:
    """Whole numbers without loss, masked where missing."""
    values = [_word(value) for value in series.to_list()]
    missing = np.array([value is None for value in values], dtype=bool)
    known = [value for value in values if value is not None]
    dtype = np.uint64 if known and max(known) >= 2**63 else np.int64
    numbers = np.array([0 if value is None else int(value) for value in values], dtype=dtype)
    return np.ma.MaskedArray(numbers, missing) if missing.any() else numbers


def _word(value: Any) -> Any:
    """A value, None where it is missing (None, NaN, NaT, NA)."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, (float, np.floating)) and value != value else value


def _are_numbers(values: list[Any]) -> bool:
    known = [value for value in values if value is not None]
    numbers = (int, float, bool, Decimal, np.number, np.bool_)
    return bool(known) and all(isinstance(value, numbers) for value in known)


def _text(value: Any) -> str:
    """A value as a text file holds it: dates as 2020-01-31, durations as 2:30:00, whole numbers without a point."""
    if isinstance(value, (dt.date, dt.datetime)):
        return value.isoformat()
    if isinstance(value, dt.timedelta):  # pandas' own would be written "0 days 02:30:00"
        return str(dt.timedelta(value.days, value.seconds, value.microseconds))
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)
