"""Columns of a table as a page keeps them: numbers as numbers, everything else by its distinct values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.page_data.packing import Packer


def pack_column(name: str, values: Any, packer: Packer, *, as_text: bool = False) -> dict[str, Any]:
    """A column as numbers when it is numeric, by its distinct values otherwise."""
    array = column_array(values)
    if is_numeric(array) and not as_text:
        return {"name": str(name), "kind": "number", "values": packer.add(float32(array))}
    distinct, codes = dictionary_codes(array.tolist())
    return {"name": str(name), "kind": "text", "texts": distinct, "codes": packer.add(codes)}


def column_array(values: Any) -> NDArray[Any]:
    """A column as one array: numbers among None as numbers with NaN, points in time as text."""
    array = np.asarray(values)
    if array.dtype.kind in "mM":
        texts = array.astype(str).astype(object)
        texts[np.isnat(array)] = None
        return texts
    if array.dtype == object:
        numbers = [np.nan if is_missing(value) else value for value in array.tolist()]
        if all(isinstance(value, (bool, int, float, np.number)) for value in numbers):
            return np.array(numbers, dtype=np.float64)
    return array


def is_numeric(array: NDArray[Any]) -> bool:
    """Whether a column is shown as numbers."""
    return array.dtype.kind in "fiub"


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
