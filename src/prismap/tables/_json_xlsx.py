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

from prismap._util.blocks import require_file_memory
from prismap._util.optional import import_extra
from prismap.exceptions import FileFormatError, InputError, MissingExtraError
from prismap.tables._delimited import find_encoding, lines_of, open_text
from prismap.tables._table import nearest, quoted, refuse_double_names
from prismap.tables._tokens import HEAD_ROWS, Source, Tokens, describe_title, header_place, names_of

#: Bytes of Python objects that a character of JSON can become.
JSON_GROWTH = 32.0
#: Characters of a list that are read at a time.
BLOCK = 2**20
#: Cells that a table of objects may have, beside so many for each value that is there.
MOST_CELLS, MOST_EMPTY = 10**6, 100


def json_source(path: Path) -> Source:
    """One JSON object per line, or a list of objects; a key that an object lacks is a missing value."""
    encoding, notes = find_encoding(path)
    names: dict[str, None] = {}
    n_rows = n_values = 0
    for record in _json_records(path, encoding):
        names.update(dict.fromkeys(record))
        n_rows, n_values = n_rows + 1, n_values + len(record)
        if n_rows * len(names) > MOST_CELLS + MOST_EMPTY * n_values:
            raise FileFormatError(
                f"{path} holds no table: its first {n_rows} objects have {len(names)} different keys, and hardly any "
                "object has the keys of another."
            )
        if not n_rows % 100_000:
            n_bytes = 24.0 * n_rows * max(len(names), 1)
            require_file_memory(n_bytes, f"Reading {path}", path.stat().st_size, "Use fewer rows, or a parquet file.")
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
            _require_room(len(line), path)
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise FileFormatError(f"{path}, line {number} is not JSON: {error}.") from error
            if not isinstance(record, dict):
                raise FileFormatError(f'{path}, line {number} holds no object like {{"width": 1.5}}.')
            yield record


def _require_room(n_characters: int, path: Path) -> None:
    """Refuse a record that would become too large: "[],[],[],..." is the worst case."""
    if n_characters > 2**20:
        require_file_memory(
            JSON_GROWTH * n_characters, f"A record of {path}", path.stat().st_size, "Write one small object per line."
        )


def _begins_a_list(file: IO[str]) -> bool:
    """Whether the first mark of a file opens a list of objects; the file is where it was."""
    head = file.read(4096)
    file.seek(0)
    return re.match(r"\s*\[\s*([{\]]|$)", head) is not None


def _json_list(file: IO[str], path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a list, one after the other: no more than a block of the file and an object are held."""
    decode, blank = json.JSONDecoder().raw_decode, re.compile(r"\s*")
    text, at, size = file.read(BLOCK).lstrip(), 1, BLOCK
    if text[1:].strip() == "]":
        return
    while True:
        at = blank.match(text, at).end()  # type: ignore[union-attr]
        if at < len(text) and text[at] != "{":
            raise FileFormatError(f'{path} holds no list of objects like [{{"width": 1.5}}].')
        try:
            record, end = decode(text, at)
            end = blank.match(text, end).end()  # type: ignore[union-attr]
            mark, failure = text[end : end + 1], ValueError("an object is followed by neither ',' nor ']'")
        except RecursionError as error:
            raise FileFormatError(f"{path} is not JSON: {error}.") from error
        except ValueError as error:
            mark, failure = "", error
        if mark == ",":
            yield record
            at, size = end + 1, BLOCK
        elif mark == "]":
            yield record
            if (text[end + 1 :] + file.read(BLOCK)).strip():
                raise FileFormatError(f"{path} is not JSON: there is more behind the list.")
            return
        else:  # an object that goes on in the next block, or an error
            _require_room(2 * (len(text) - at), path)
            more = "" if mark else file.read(size)
            if not more:
                raise FileFormatError(f"{path} is not JSON: {failure}.") from failure
            text, at, size = text[at:] + more, 0, max(size, len(text))  # twice as much: a long object costs no square


def sheet_source(
    path: Path, wanted: Collection[str] = (), sheet: str | None = None, skip_rows: int | None = None
) -> Source:
    """The `sheet` of an Excel workbook; without it the one that has most of the `wanted` columns, the first of equals.

    The names stand below the first `skip_rows` rows; without them below what looks like a title.
    """
    with _workbook(path) as book:
        sheets = book.worksheets if sheet is None else [_named_sheet(book, sheet, path)]
        tables = {one.title: head for one in sheets if (head := _head_of(one, wanted, skip_rows))}
        titles = [one.title for one in book.worksheets]
    if not tables:
        where = "no sheet holds" if sheet is None else f"the sheet {sheet!r} does not hold"
        below = f" below its first {skip_rows} rows" if skip_rows else ""
        raise InputError(f"{path}: {where} names and rows{below}; there are {quoted(titles)}.")
    title = max(tables, key=lambda title: len(set(wanted).intersection(tables[title][0])))
    names, n_above, words = tables[title]
    refuse_double_names(names)
    others = [other for other in tables if other != title]
    notes = (
        *([f"{path.name} has several sheets: {title!r} was read, and not {quoted(others)} (sheet=... names another)"]
          if others else []),
        *([describe_title(f"the sheet {title!r}", n_above, words)] if words and skip_rows is None else []),
    )  # fmt: skip

    def chunks(n_rows: int) -> Iterator[list[Tokens]]:
        with _workbook(path) as book:
            below = islice(book[title].iter_rows(values_only=True), n_above + 1, None)
            yield from _by_columns((_cells(row, len(names), path) for row in below if not _is_empty(row)), n_rows)

    return Source(names, chunks, notes)


def _named_sheet(book: Any, sheet: str, path: Path) -> Any:
    """A sheet by its title, or by its number from 1 on."""
    by_name = {one.title: one for one in book.worksheets}
    if sheet in by_name:
        return by_name[sheet]
    if sheet.isdecimal() and 1 <= int(sheet) <= len(book.worksheets):
        return book.worksheets[int(sheet) - 1]
    near = nearest(sheet, by_name)
    hint = f"did you mean {quoted(near)}?" if near else f"there are {quoted(by_name)}."
    raise InputError(f"{path} has no sheet {sheet!r}; {hint}")


def _head_of(sheet: Any, wanted: Collection[str], skip_rows: int | None) -> tuple[tuple[str, ...], int, str] | None:
    """The names of a sheet, the number of rows above them and what these say; None if it holds no rows below them."""
    first = list(islice(sheet.iter_rows(values_only=True), (skip_rows or 0) + HEAD_ROWS))
    tokens = [[token_of(value) for value in row] for row in first]
    place = header_place(tokens, wanted) if skip_rows is None else skip_rows
    if sum(not _is_empty(row) for row in first[place:]) < 2:
        return None
    place += next(number for number, row in enumerate(first[place:]) if not _is_empty(row))
    width = max(column + 1 for column, token in enumerate(tokens[place]) if token.strip())
    words = " ".join(token for row in tokens[:place] for token in row if token.strip())
    return names_of(tokens[place][:width]), place, words


def _is_empty(row: Sequence[Any]) -> bool:
    return all(value is None for value in row)


def _cells(row: Sequence[Any], width: int, path: Path) -> list[str]:
    if any(value is not None for value in row[width:]):
        raise InputError(f"{path}: a row has values to the right of the {width} named columns. Name every column.")
    tokens = [token_of(value) for value in row[:width]]
    return tokens + [""] * (width - len(tokens))


@contextmanager
def _workbook(path: Path) -> Iterator[Any]:
    """An Excel workbook; whatever the parser raises on damaged bytes becomes one kind of error."""
    openpyxl = import_extra("openpyxl", extra="excel", feature="Reading xlsx files")
    try:
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(path) as entries:
            unpacked = 2.0 * sum(entry.file_size for entry in entries.infolist())
            require_file_memory(unpacked, f"Reading {path}", path.stat().st_size, "Save it as csv or parquet.")
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
