"""Delimited text to tables with the standard library; pyarrow, where it is installed, only makes it quicker."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from prismap._blocks import require_memory
from prismap.exceptions import FileFormatError, InputError
from prismap.tables.table import (
    MISSING,
    Column,
    Roles,
    Table,
    TextColumn,
    chosen_names,
    column_from_tokens,
    make_table,
    refuse_double_names,
)

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out: encoding, delimiter, names, the last line of the names, and what was noticed."""

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    header_line: int
    notes: tuple[str, ...]


def read_text(path: Path, roles: Roles) -> Table:
    """The whole file."""
    require_memory(3.0 * path.stat().st_size, f"Reading {path}", "Use fewer rows or columns, or a parquet file.")
    layout = find_layout(path)
    columns = _columns_by_arrow(path, layout, roles)
    if columns is None:
        rows = list(itertools.chain.from_iterable(_row_chunks(path, layout, None)))
        columns = _typed_columns(rows, layout, roles, layout.names)
    return make_table(columns, len(columns[layout.names[0]]), roles, layout.notes)


def text_batches(path: Path, columns: Collection[str], roles: Roles, n_rows: int) -> Iterator[Table]:
    """The chosen columns, `n_rows` rows at a time."""
    layout = find_layout(path)
    keep = set(chosen_names(layout.names, columns, roles))
    for rows in _row_chunks(path, layout, n_rows):
        yield make_table(_typed_columns(rows, layout, roles, keep), len(rows), roles, layout.notes)


def find_layout(path: Path) -> Layout:
    """Find the encoding, the delimiter and the names from the first lines."""
    with open(path, "rb") as raw:
        head = raw.read(2**16)
    encoding = "utf-16" if head[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if encoding == "utf-8-sig" and b"\0" in head:
        raise FileFormatError(f"{path} is not text: it holds zero bytes. Its ending should say what it is.")
    expected = "," if path.suffix.lower() == ".csv" else "\t"
    with _open_text(path, encoding) as file:
        lines = [line for line in itertools.islice(file, 50) if line.strip()][:20]
        if not lines:
            raise InputError(f"{path} is empty.")
        delimiter = _find_delimiter(lines, expected)
        file.seek(0)
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        first = next(row for row in reader if row)
        header_line = reader.line_num
    notes = () if delimiter == expected else (f"the columns of {path.name} are divided by {_DELIMITERS[delimiter]}",)
    names = tuple(name.strip() or f"unnamed_{place + 1}" for place, name in enumerate(first))
    try:
        refuse_double_names(names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    _refuse_data_as_names(path, names)
    return Layout(encoding, delimiter, names, header_line, notes)


@contextmanager
def _open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """The file as text; bytes that are none, and broken quotes, are refused."""
    try:
        with open(path, encoding=encoding, newline="") as file:
            yield file
    except UnicodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise FileFormatError(f"{path} is not {name} text ({error}). Save it as UTF-8.") from error
    except csv.Error as error:
        raise FileFormatError(f"{path} is not valid delimited text: {error}.") from error


def _find_delimiter(lines: list[str], expected: str) -> str:
    """The delimiter that divides the first lines into equally many fields, or the most frequent one in the names."""
    for delimiter in (expected, *(mark for mark in _DELIMITERS if mark != expected)):
        # A quoted field may run on past these lines, so the last row is not counted.
        widths = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        if len(set(widths[:-1] or widths)) == 1 and widths[0] > 1:
            return delimiter
    return max(_DELIMITERS, key=lambda mark: (lines[0].count(mark), mark == expected))


def _refuse_data_as_names(path: Path, names: Sequence[str]) -> None:
    """A first line of numbers is data, unless it counts the columns."""
    column = column_from_tokens(names, as_text=False)
    if isinstance(column, TextColumn) or len(column) < 2 or np.isnan(column).any():
        return
    if column[0] not in (0, 1) or not np.array_equal(column, column[0] + np.arange(len(column))):
        shown = ", ".join(names[:4])
        raise InputError(f"the first line of {path} looks like data ({shown}, ...): put column names before it.")


def _row_chunks(path: Path, layout: Layout, n_rows: int | None) -> Iterator[list[list[str]]]:
    """The rows after the names, `n_rows` at a time (all at once for None), each with as many fields as names."""
    width = len(layout.names)
    with _open_text(path, layout.encoding) as file:
        reader = csv.reader(file, delimiter=layout.delimiter, strict=True)
        chunk: list[list[str]] = []
        for row in reader:
            if not row or reader.line_num <= layout.header_line:
                continue
            if len(row) != width:
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(row)} fields, but {width} column names (divided by "
                    f"{_DELIMITERS[layout.delimiter]}). Repair the line, or quote fields that hold the mark."
                )
            chunk.append(row)
            if len(chunk) == n_rows:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


def _typed_columns(rows: list[list[str]], layout: Layout, roles: Roles, keep: Collection[str]) -> dict[str, Column]:
    by_column: Iterable[Sequence[str]] = zip(*rows, strict=True) if rows else ([] for _ in layout.names)
    return {
        name: _typed_column(name, tokens, layout, roles)
        for name, tokens in zip(layout.names, by_column, strict=True)
        if name in keep
    }


def _typed_column(name: str, tokens: Sequence[str], layout: Layout, roles: Roles) -> Column:
    """One column by its tokens. In a target or id, true and false stay words."""
    words = roles.is_label(name) and any(token.strip().lower() in ("true", "false") for token in tokens)
    return column_from_tokens(tokens, as_text=words or name in roles.text, decimal_comma=layout.delimiter == ";")


def _columns_by_arrow(path: Path, layout: Layout, roles: Roles) -> dict[str, Column] | None:
    """The same columns by pyarrow; None if it is not installed or stumbles over the file."""
    try:
        import pyarrow as pa
        import pyarrow.csv as pacsv
    except ImportError:
        return None
    if layout.encoding != "utf-8-sig" or _has_open_quote(path):
        return None
    try:
        table = pacsv.read_csv(
            path,
            read_options=pacsv.ReadOptions(skip_rows=layout.header_line, column_names=list(layout.names)),
            parse_options=pacsv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True),
            convert_options=pacsv.ConvertOptions(column_types=dict.fromkeys(layout.names, pa.string())),
        )
        return {name: _column_of_strings(name, table.column(name), layout, roles) for name in layout.names}
    except pa.ArrowException:
        return None  # the reader of the standard library says what is wrong, and where


def _has_open_quote(path: Path) -> bool:
    """An odd number of quotes: perhaps a field without end, which pyarrow would let pass."""
    with open(path, "rb") as raw:
        return sum(block.count(b'"') for block in iter(lambda: raw.read(2**20), b"")) % 2 == 1


def _column_of_strings(name: str, strings: Any, layout: Layout, roles: Roles) -> Column:
    """`_typed_column` for arrow's strings: plain numbers are cast, all else is decided on the different ones."""
    import pyarrow as pa
    import pyarrow.compute as pc

    strings = pc.utf8_trim_whitespace(strings)
    if name not in roles.text:
        missing = pc.is_in(pc.utf8_lower(strings), value_set=pa.array(sorted(MISSING)))
        try:
            return np.asarray(pc.cast(pc.if_else(missing, None, strings), pa.float64()).to_numpy())
        except pa.ArrowInvalid:
            pass
    encoded = strings.combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy()
    column = _typed_column(name, encoded.dictionary.to_pylist(), layout, roles)
    if isinstance(column, TextColumn):
        return TextColumn(column.codes[codes], column.levels)
    return np.asarray(column[codes])
