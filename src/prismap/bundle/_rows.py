"""The rows of a map as a table: csv or parquet, batch by batch."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.optional import import_extra
from prismap._version import __version__
from prismap.bundle._aside import written_aside

#: What spreadsheets take for a formula, also after blanks and in full width; plain numbers are not among them.
_RISKY = re.compile("\\s*[=+\\-@\uff1d\uff0b\uff0d\uff20]|[\\t\\r\\n]")
_NUMBER = re.compile(r"[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)


@contextmanager
def map_writer(path: str | os.PathLike[str]) -> Iterator[Callable[[Mapping[str, NDArray[Any]]], None]]:
    """A function that adds a batch of map rows (columns by name) to `path`: csv by its ending, parquet otherwise.

    The file has its name only when the block ends well. Batches must have the same columns; text columns are object
    arrays of str and None, and NaN is written as missing.
    """
    path = Path(path)
    opened = _csv_rows if path.suffix.lower() == ".csv" else _parquet_rows
    with written_aside(path) as aside, opened(aside) as write:
        yield write


def write_map(path: str | os.PathLike[str], columns: Mapping[str, NDArray[Any]]) -> None:
    """Write a whole map at once: x, y, and whatever else belongs to the rows."""
    with map_writer(path) as write:
        write(columns)


def safe_cell(value: Any) -> Any:
    """A value of a csv file: empty where it is missing, and never text that a spreadsheet would run as a formula.

    The page exports cells by the same rule (web/src/csv.ts).

    >>> [safe_cell(value) for value in ("=cmd|' /C calc'!A0", "-1.5", "b", float("nan"), None)]
    ["'=cmd|' /C calc'!A0", '-1.5', 'b', None, None]
    """
    if not isinstance(value, str):
        return None if value != value else value
    return safe_text(value)


def safe_text(text: str) -> str:
    """Text with a leading apostrophe if a spreadsheet would run it as a formula; plain numbers stay as they are."""
    return f"'{text}" if _RISKY.match(text) and not _NUMBER.fullmatch(text) else text


@contextmanager
def _csv_rows(path: Path) -> Iterator[Callable[[Mapping[str, NDArray[Any]]], None]]:
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")

        def write(columns: Mapping[str, NDArray[Any]]) -> None:
            if file.tell() == 0:
                writer.writerow(map(safe_cell, columns))
            lists = [[safe_cell(value) for value in column.tolist()] for column in columns.values()]
            writer.writerows(zip(*lists, strict=True))

        yield write


def arrow_column(pa: Any, column: Any) -> Any:
    """A column for arrow: NaN and masked values are missing, and text is typed even if a batch has none."""
    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    if isinstance(column, np.ma.MaskedArray):
        return pa.array(np.asarray(column.filled(0)), mask=np.ma.getmaskarray(column))
    return pa.array(column, pa.string() if column.dtype.kind in "OU" else None, from_pandas=True)


@contextmanager
def _parquet_rows(path: Path) -> Iterator[Callable[[Mapping[str, NDArray[Any]]], None]]:
    feature = "Writing parquet (a name that ends in .csv needs nothing)"
    pa = import_extra("pyarrow", extra="io", feature=feature)
    pq = import_extra("pyarrow.parquet", extra="io", feature=feature)
    writer: Any = None

    def write(columns: Mapping[str, NDArray[Any]]) -> None:
        nonlocal writer
        table = pa.table({name: arrow_column(pa, column) for name, column in columns.items()})
        if writer is None:
            writer = pq.ParquetWriter(path, table.schema.with_metadata({"written_by": f"prismap {__version__}"}))
        writer.write_table(table.cast(writer.schema))

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()
