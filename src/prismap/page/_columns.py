"""Columns of a table as a page keeps them: numbers and points in time as numbers, all else by its distinct values."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.page._packing import Packer

_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
#: Whole numbers up to here are exact in float32.
_EXACT = 2**24
#: Rounding to float32 may move a value by so much of the column's range.
_VISIBLE = 1e-6


@dataclass(frozen=True)
class PackedColumn:
    """What the header says of a column, and its one array, which the header names `key`."""

    about: dict[str, Any]
    key: str
    array: NDArray[Any]

    @property
    def n_bytes(self) -> int:
        """Room that the column takes."""
        return self.array.nbytes + sum(len(text) for text in self.about.get("texts", ()))

    def pack(self, packer: Packer) -> dict[str, Any]:
        """Append the array and return the whole entry of the header."""
        return {**self.about, self.key: packer.add(self.array)}


def describe_column(name: str, values: Any, *, as_text: bool = False) -> PackedColumn:
    """A column as numbers when it is numeric or holds points in time, by its distinct values otherwise."""
    array = column_array(values)
    if as_text or not is_numeric(array):
        distinct, codes = dictionary_codes(time_texts(array).tolist() if array.dtype.kind == "M" else array.tolist())
        return PackedColumn({"name": str(name), "kind": "text", "texts": distinct}, "codes", compact(codes))
    about = {"name": str(name), "kind": "number"}
    if array.dtype.kind == "M":
        about["unit"] = "date" if whole_days(array) else "time"
    return PackedColumn(about, "values", compact(column_numbers(array)))


def pack_column(name: str, values: Any, packer: Packer, *, as_text: bool = False) -> dict[str, Any]:
    """The entry of a column in a header."""
    return describe_column(name, values, as_text=as_text).pack(packer)


def unpack_column(about: dict[str, Any], array: Callable[[Any], Any]) -> Any:
    """The inverse of `pack_column`; `array` finds the array that the header refers to."""
    if about["kind"] != "number":
        return np.array([*about["texts"], None], dtype=object)[array(about["codes"])]
    numbers = array(about["values"])
    if "unit" not in about:
        return numbers
    known = np.isfinite(numbers)
    steps, dtype = (1, "datetime64[D]") if about["unit"] == "date" else (1000, "datetime64[ms]")
    times = np.where(known, np.rint(np.where(known, numbers, 0) * float(steps)), 0).astype(np.int64)
    return np.where(known, times.astype(dtype), np.array("NaT", dtype))


def column_array(values: Any) -> NDArray[Any]:
    """A column as one array: numbers among None as numbers with NaN, dates written as text as points in time."""
    array = np.asarray(values)
    if array.dtype.kind == "m":
        texts = array.astype(str).astype(object)
        texts[np.isnat(array)] = None
        return texts
    if array.dtype == object:
        numbers = [np.nan if is_missing(value) else value for value in array.tolist()]
        if all(isinstance(value, (bool, int, float, np.number)) for value in numbers):
            return np.array(numbers, dtype=np.float64)
    times = _read_times(array) if array.dtype.kind in "OU" else None
    return array if times is None else times


def _read_times(array: NDArray[Any]) -> NDArray[Any] | None:
    """Texts that all are dates, or dates and times of day, as points in time."""
    texts = [None if is_missing(value) else str(value).strip() for value in array.tolist()]
    if not any(texts) or not all(text is None or _TIME.fullmatch(text) for text in texts):
        return None
    try:
        return np.array([text or "NaT" for text in texts], dtype="datetime64[ms]")
    except ValueError:  # the 31st of February
        return None


def is_numeric(array: NDArray[Any]) -> bool:
    """Whether a column is shown along a scale: numbers, and points in time."""
    return array.dtype.kind in "fiubM"


def column_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """A numeric column as plain numbers: days or seconds since 1970 for points in time, NaN where missing."""
    if array.dtype.kind != "M":
        return array
    steps, unit = (1, "D") if whole_days(array) else (1000, "ms")
    numbers = array.astype(f"datetime64[{unit}]").astype(np.int64) / float(steps)
    return np.where(np.isnat(array), np.nan, numbers)


def whole_days(times: NDArray[Any]) -> bool:
    """Whether points in time are days, without a time of day."""
    known = times[~np.isnat(times)]
    return bool((known == known.astype("datetime64[D]")).all())


def time_texts(times: NDArray[Any]) -> NDArray[np.object_]:
    """Points in time as people write them: 2024-05-01, or 2024-05-01 13:45:00; None where missing."""
    unit = "D" if whole_days(times) else "s"
    texts = np.char.replace(np.datetime_as_string(times.astype(f"datetime64[{unit}]")), "T", " ").astype(object)
    texts[np.isnat(times)] = None
    return texts


def compact(array: NDArray[Any]) -> NDArray[Any]:
    """Numbers in the least room that keeps them: whole ones exactly, others to what can be seen."""
    numbers = array.astype(np.uint8) if array.dtype.kind == "b" else np.asarray(array)
    finite = np.isfinite(numbers)
    known = numbers[finite]
    if len(known) and (known == np.rint(known)).all():
        low, high = known.min(), known.max()
        for kind in ("u1", "i1", "u2", "i2", "u4", "i4") if finite.all() else ():
            room = np.iinfo(kind)
            if room.min <= low and high <= room.max:
                return numbers.astype(kind)
        return numbers.astype(np.float64) if max(abs(low), abs(high)) > _EXACT else float32(numbers)
    short = float32(numbers)
    with np.errstate(over="ignore", invalid="ignore"):
        moved = np.abs(short[finite] - known.astype(np.float64)).max() if len(known) else 0.0
        seen = _VISIBLE * (float(known.max()) - float(known.min())) if len(known) else 0.0
    return numbers.astype(np.float64) if moved > seen else short


def float32(values: Any) -> NDArray[np.float32]:
    """Numbers as the page draws them; what is too large becomes infinite."""
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32)


def dictionary_codes(values: Iterable[Any]) -> tuple[list[str], NDArray[np.int32]]:
    """Text by its distinct values: the sorted list and the place of each row in it; -1 for missing.

    >>> dictionary_codes(["b", None, "a"])
    (['a', 'b'], array([ 1, -1,  0], dtype=int32))
    """
    texts = [None if is_missing(value) else str(value) for value in values]
    distinct = sorted({text for text in texts if text is not None})
    place = {text: position for position, text in enumerate(distinct)}
    return distinct, np.fromiter((-1 if text is None else place[text] for text in texts), np.int32, len(texts))


def is_missing(value: Any) -> bool:
    """None, NaN and not-a-time."""
    return value is None or (isinstance(value, (float, np.floating)) and math.isnan(value)) or str(value) == "NaT"
