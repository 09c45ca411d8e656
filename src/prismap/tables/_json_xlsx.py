"""JSON lines and spreadsheets as tokens, so that values are typed by their text as in a csv file."""

from __future__ import annotations

import datetime as dt
import json
import re
import zipfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

from prismap._util.blocks import require_memory
from prismap._util.optional import import_extra
from prismap.exceptions import FileFormatError, InputError, MissingExtraError
from prismap.tables._delimited import find_encoding, lines_of, open_text
from prismap.tables._table import quoted, refuse_double_names
from prismap.tables._tokens import Source, Tokens

#: Memory that a list of objects takes, for each byte of the file.
LIST_BYTES = 12.0


def json_source(path: Path) -> Source:
    """One JSON object per line, or a list of objects; a key that an object lacks is a missing value."""
    encoding, notes = find_encoding(path)
    names: dict[str, None] = {}
    for record in _json_records(path, encoding):
        names.update(dict.fromkeys(record))
    if not names:
        raise InputError(f"{path} has no rows.")
    order = tuple(names)

    def chunks(n_rows: int) -> Iterator[list[Tokens]]:
        rows = ([token_of(record.get(name)) for name in order] for record in _json_records(path, encoding))
        return _by_columns(rows, n_rows)

    return Source(order, chunks, notes)


def _json_records(path: Path, encoding: str) -> Iterator[dict[str, Any]]:
    with open_text(path, encoding) as file:
        if _begins_a_list(file):
            yield from _json_list(file, path)
            return
        for number, line in enumerate(lines_of(file, path), start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise FileFormatError(f"{path}, line {number} is not JSON: {error}.") from error
            if not isinstance(record, dict):
                raise FileFormatError(f'{path}, line {number} holds no object like {{"width": 1.5}}.')
            yield record


def _begins_a_list(file: IO[str]) -> bool:
    """Whether the first mark of a file opens a list of objects; the file is where it was."""
    head = file.read(4096)
    file.seek(0)
    return re.match(r"\s*\[\s*([{\]]|$)", head) is not None


def _json_list(file: IO[str], path: Path) -> Iterator[dict[str, Any]]:
    """A list of objects, which is read whole."""
    require_memory(LIST_BYTES * path.stat().st_size, f"Reading {path}", "Write one object a line (.jsonl).")
    try:
        records = json.load(file)
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path} is not JSON: {error}.") from error
    if not isinstance(records, list) or not all(isinstance(record, dict) for record in records):
        raise FileFormatError(f'{path} holds no list of objects like [{{"width": 1.5}}].')
    yield from records


def sheet_source(path: Path, wanted: Collection[str] = ()) -> Source:
    """The sheet of an Excel workbook that has most of the `wanted` columns, the first of equals.

    Its first row that is not empty holds the names.
    """
    with _workbook(path) as book:
        tables = {sheet.title: names for sheet in book.worksheets if (names := _names_of(sheet))}
    if not tables:
        raise InputError(f"{path}: no sheet holds names and rows.")
    title = max(tables, key=lambda title: len(set(wanted).intersection(tables[title])))
    names = tables[title]
    refuse_double_names(names)
    others = [other for other in tables if other != title]
    notes = (f"{path.name} has several sheets: {title!r} was read, and not {quoted(others)}",) if others else ()

    def chunks(n_rows: int) -> Iterator[list[Tokens]]:
        with _workbook(path) as book:
            full = _full_rows(book[title])
            next(full)
            yield from _by_columns((_cells(row, len(names), path) for row in full), n_rows)

    return Source(names, chunks, notes)


def _names_of(sheet: Any) -> tuple[str, ...]:
    """The names of the columns of a sheet; none if it holds no rows below them."""
    first = list(islice(_full_rows(sheet), 2))
    if len(first) < 2:
        return ()
    width = max(place + 1 for place, value in enumerate(first[0]) if value is not None)
    return tuple(token_of(value).strip() or f"unnamed_{place + 1}" for place, value in enumerate(first[0][:width]))


def _full_rows(sheet: Any) -> Iterator[Sequence[Any]]:
    return (row for row in sheet.iter_rows(values_only=True) if any(value is not None for value in row))


def _cells(row: Sequence[Any], width: int, path: Path) -> list[str]:
    if any(value is not None for value in row[width:]):
        raise InputError(f"{path}: a row has values to the right of the {width} named columns. Name every column.")
    tokens = [token_of(value) for value in row[:width]]
    return tokens + [""] * (width - len(tokens))


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    """An Excel workbook; whatever the parser raises on damaged bytes becomes one kind of error."""
    openpyxl = import_extra("openpyxl", extra="excel", feature="Reading xlsx files")
    with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as entries:
        unpacked = float(sum(entry.file_size for entry in entries.infolist()))
        require_memory(unpacked, f"Reading {path}", "Save it as csv or parquet.")
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            yield book
        finally:
            book.close()
    except (InputError, MissingExtraError):
        raise
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"{path} cannot be read as xlsx: {what[:300]}") from error


def token_of(value: Any) -> str:
    """A value as text, without loss.

    >>> [token_of(value) for value in (None, True, 12345678901234567890, 0.1, "a", [1, 2])]
    ['', 'true', '12345678901234567890', '0.1', 'a', '[1, 2]']
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dt.datetime, dt.date, dt.time)):
        return value.isoformat()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else repr(value)


def _by_columns(rows: Iterator[list[str]], n_rows: int) -> Iterator[list[Tokens]]:
    chunk: list[list[str]] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == n_rows:
            yield list(zip(*chunk, strict=True))
            chunk = []
    if chunk:
        yield list(zip(*chunk, strict=True))
