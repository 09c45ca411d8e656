"""Rows that stand in a table twice: a copy that is held out is judged by its twin."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from prismap.tables.column import Column, TextColumn
from prismap.tables.table import Table

#: Equal rows are copies where most rows are different and two columns nearly tell them apart, each with so many
#: different values for each different row. Rows of a few categories, or of rounded numbers, are equal by chance.
MOST, TELLING, N_TELLING = 0.5, 0.99, 2
#: An odd factor whose powers of two are far apart (Knuth 1997, sec. 6.4, the golden ratio of 64 bits).
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


def copied_rows(table: Table) -> int:
    """How many rows repeat an earlier one in every column, targets and ids included."""
    hashes = np.zeros(table.n_rows, dtype=np.uint64)
    for column in _columns_as_codes(table):
        hashes = (hashes ^ column) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
    n_different = len(np.unique(hashes))
    if n_different == table.n_rows or n_different < MOST * table.n_rows:
        return 0
    telling = (one for one in _columns_as_codes(table) if len(np.unique(one)) >= TELLING * n_different)
    return table.n_rows - n_different if len(list(islice(telling, N_TELLING))) == N_TELLING else 0


def _columns_as_codes(table: Table) -> Iterator[NDArray[np.uint64]]:
    """All columns, one at a time: those of a wide table would take its memory once more."""
    yield from map(value_codes, table.columns.values())
    labels = (table.target, table.ids, *table.also.values())
    yield from (label_codes(values) for values in labels if values is not None)


def value_codes(column: Column) -> NDArray[np.uint64]:
    """A number for each value, the same for equal ones and for all missing ones."""
    if isinstance(column, TextColumn):
        return column.codes.astype(np.int64).view(np.uint64)
    if column.dtype.kind in "iu":  # keys may have more digits than a float
        return np.ma.filled(column, 0).astype(np.int64).view(np.uint64)
    numbers = np.ma.filled(column.astype(np.float64), np.nan)
    numbers = np.where(np.isnan(numbers), np.nan, numbers + 0.0)  # one NaN, and no minus zero
    return np.ascontiguousarray(numbers).view(np.uint64)


def label_codes(labels: NDArray[np.generic]) -> NDArray[np.uint64]:
    """The same for targets and ids, which may be text."""
    if labels.dtype.kind != "O":
        return value_codes(labels)
    known: dict[object, int] = {}
    return np.array([known.setdefault(one, len(known)) for one in labels.tolist()], dtype=np.uint64)


def describe_copies(n_rows: int) -> str:
    """That rows stand in a table twice, in words."""
    rows = "1 row repeats another" if n_rows == 1 else f"{n_rows} rows repeat others"
    return (
        f"{rows} in every column: a copy that is held out is judged by its twin, so errors come out too low; remove "
        "copies unless they are samples of their own"
    )
