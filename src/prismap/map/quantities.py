"""Targets that are text and meant as numbers: dates, times and amounts, where their numbers are a quantity."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.metrics.target import FEW_VALUES, decide_target
from prismap.tables import Roles, Table
from prismap.tables.column import text_column
from prismap.tables.learning import describe_written
from prismap.tables.parsed_text import numbers_of, way_of_writing

Written = tuple[tuple[str, str], ...]


def with_quantities(
    table: Table, roles: Roles, X: NDArray[Any], *, data: str = "vectors", target_kind: Any = "auto"
) -> tuple[Table, Written, list[str]]:
    """The table with such targets as numbers, how each of them is written, and notes that say so."""
    names = [name for name in (roles.target, *roles.also) if name is not None and table.target is not None]
    kinds = [target_kind] * len(names) if isinstance(target_kind, str) else target_kind
    written, notes = [], []
    for name, kind in zip(names, kinds, strict=False):
        values = np.asanyarray(table.also.get(name, table.target))
        numbers, way = as_quantity(values, name, X, data=data, target_kind=kind)
        if way is None:
            continue
        written.append((name, way))
        notes.append(f"the target {name!r} {describe_written(way, filter(None, values.tolist()))}")
        if name in table.also:
            table = replace(table, also={**table.also, name: numbers})
        else:
            table = replace(table, target=numbers)
    return table, tuple(written), notes


def as_quantity(
    values: NDArray[Any], name: str, X: Any = None, *, data: str = "vectors", target_kind: str = "auto"
) -> tuple[NDArray[Any], str | None]:
    """A target as numbers and how they are written, if it is text meant as a quantity; else as it is, and None.

    With "auto" they stay classes if they are few, such as the prices of three plans, or if their numbers look like
    codes; "real" always takes the numbers.
    """
    if target_kind not in ("auto", "real") or values.dtype.kind != "O":
        return values, None
    column = text_column([None if value is None else str(value) for value in values.tolist()])
    written = way_of_writing(column)
    if written is None or (target_kind == "auto" and len(column.levels) <= FEW_VALUES):
        return values, None
    numbers = numbers_of(column, written, name)
    if target_kind == "auto" and decide_target(numbers, X, data).kind != "real":
        return values, None
    return numbers, written
