"""Delimited text as tokens, with the standard library alone: one reader, so no two can disagree."""

from __future__ import annotations

import codecs
import csv
import gzip
import itertools
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from prismap.exceptions import FileFormatError, InputError
from prismap.tables.table import refuse_double_names
from prismap.tables.tokens import Source, read_numbers

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
#: A line with more characters is no line of a table.
MAX_LINE = 2**26


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out: encoding, delimiter, names, the last line of the names, and what was noticed."""

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    header_line: int
    notes: tuple[str, ...]


def delimited_source(path: Path) -> Source:
    """The rows of a file whose columns are divided by a mark."""
    layout = find_layout(path)
    return Source(layout.names, lambda n_rows: _chunks(path, layout, n_rows), layout.notes, layout.delimiter == ";")


def find_layout(path: Path) -> Layout:
    """Find the encoding, the delimiter and the names from the first lines."""
    encoding, notes = find_encoding(path)
    expected = "," if Path(path.name.lower().removesuffix(".gz")).suffix == ".csv" else "\t"
    with open_text(path, encoding) as file:
        lines = [line for line in itertools.islice(lines_of(file, path), 50) if line.strip()][:20]
        if not lines:
            raise InputError(f"{path} is empty.")
        delimiter = _find_delimiter(lines, expected)
        file.seek(0)
        reader = csv.reader(lines_of(file, path), delimiter=delimiter, strict=True)
        first = next(row for row in reader if not _is_blank(row))
        header_line = reader.line_num
    if delimiter != expected:
        notes = (*notes, f"the columns of {path.name} are divided by {_DELIMITERS[delimiter]}")
    names = tuple(name.strip() or f"unnamed_{place + 1}" for place, name in enumerate(first))
    try:
        refuse_double_names(names)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    _refuse_data_as_names(path, names)
    return Layout(encoding, delimiter, names, header_line, notes)


def find_encoding(path: Path) -> tuple[str, tuple[str, ...]]:
    """UTF-8 or, with its byte order mark, UTF-16; Windows-1252, which holds latin-1, if the bytes are not UTF-8."""
    with open_bytes(path) as raw:
        head = raw.read(2**16)
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16", ()
    if b"\0" in head:
        raise FileFormatError(f"{path} is not text: it holds zero bytes. Its ending should say what it is.")
    for encoding in ("utf-8-sig", "cp1252"):
        decoder = codecs.getincrementaldecoder(encoding)()
        try:
            with open_bytes(path) as raw:
                for block in iter(lambda: raw.read(2**20), b""):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
        except UnicodeError:
            continue
        said = (
            f"{path.name} is not UTF-8 and was read as latin-1 (Windows-1252); save it as UTF-8 if letters look wrong"
        )
        return encoding, (said,) if encoding == "cp1252" else ()
    raise FileFormatError(f"{path} is neither UTF-8 nor latin-1 text. Save it as UTF-8.")


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The bytes of a file, unpacked if its name ends in .gz."""
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else open(path, "rb") as raw:
            yield raw  # type: ignore[misc]
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be unpacked: {error}.") from error


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[IO[str]]:
    """The file as text; bytes that are none, and broken quotes, are refused."""
    opener: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with opener(path, "rt", encoding=encoding, newline="") as file:
            yield file
    except UnicodeError as error:
        name = encoding.removesuffix("-sig").upper()
        raise FileFormatError(f"{path} is not {name} text ({error}). Save it as UTF-8.") from error
    except csv.Error as error:
        raise FileFormatError(f"{path} is not valid delimited text: {error}.") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise FileFormatError(f"{path} cannot be unpacked: {error}.") from error


def lines_of(file: IO[str], path: Path) -> Iterator[str]:
    """The lines; one without end, which a short packed file may hold, is refused before memory runs out."""
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise FileFormatError(f"{path} has a line of more than {MAX_LINE} characters: it is no table.")
        yield line


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
    try:
        column = read_numbers(names)
    except ValueError:
        return
    if len(column) < 2 or np.isnan(column).any():
        return
    if column[0] not in (0, 1) or not np.array_equal(column, column[0] + np.arange(len(column))):
        shown = ", ".join(names[:4])
        raise InputError(f"the first line of {path} looks like data ({shown}, ...): put column names before it.")


def _is_blank(row: list[str]) -> bool:
    """An empty line, or one of blanks."""
    return not row or (len(row) == 1 and not row[0].strip())


def _chunks(path: Path, layout: Layout, n_rows: int) -> Iterator[list[Sequence[str]]]:
    """The columns after the names, `n_rows` rows at a time; every row has as many fields as there are names."""
    width = len(layout.names)
    with open_text(path, layout.encoding) as file:
        reader = csv.reader(lines_of(file, path), delimiter=layout.delimiter, strict=True)
        rows: list[list[str]] = []
        for row in reader:
            if reader.line_num <= layout.header_line or not row or (width > 1 and _is_blank(row)):
                continue
            if len(row) != width:
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(row)} fields, but {width} column names (divided by "
                    f"{_DELIMITERS[layout.delimiter]}). Repair the line, or quote fields that hold the mark."
                )
            rows.append(row)
            if len(rows) == n_rows:
                yield list(zip(*rows, strict=True))
                rows = []
        if rows:
            yield list(zip(*rows, strict=True))
