"""Delimited text as tokens.

The encoding, the delimiter and the names are found here. Rows are parsed by pyarrow if it is installed, and by the csv
module of the standard library where pyarrow is missing or might read a line otherwise. Both give the same tokens.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import itertools
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from prismap.exceptions import FileFormatError, InputError
from prismap.tables._table import refuse_double_names
from prismap.tables._tokens import (
    HEAD_ROWS,
    ArrowTokens,
    Source,
    Tokens,
    describe_title,
    header_place,
    names_of,
    read_numbers,
)

_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", " ": "blanks"}
#: Names that are so many numbers in order are no data: 8 random numbers are in order once in 40,000 times.
FEWEST_SORTED = 8
#: A line with more characters is no line of a table.
MAX_LINE = 2**26
#: Bytes per column from which on pyarrow is faster than the csv module: it needs some time for every column.
ARROW_BYTES = 4000
#: Characters that pyarrow parses at a time, at least.
BLOCK = 2**22


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out: encoding, delimiter, names, the number of the last line of the names, and notes."""

    encoding: str
    delimiter: str
    names: tuple[str, ...]
    header_line: int
    notes: tuple[str, ...]


def delimited_source(path: Path, wanted: Collection[str] = (), skip_rows: int | None = None) -> Source:
    """The rows of a file whose columns are divided by a mark; the names stand below the first `skip_rows` lines."""
    layout = find_layout(path, wanted, skip_rows)
    return Source(layout.names, lambda n_rows: _chunks(path, layout, n_rows), layout.notes, layout.delimiter == ";")


def find_layout(path: Path, wanted: Collection[str] = (), skip_rows: int | None = None) -> Layout:
    """Find the encoding, the delimiter and the names from the first lines."""
    encoding, notes = find_encoding(path)
    expected = "," if Path(path.name.lower().removesuffix(".gz")).suffix == ".csv" else "\t"
    with open_text(path, encoding) as file:
        head = list(itertools.islice(lines_of(file, path, skip_rows or 0), HEAD_ROWS))
        if not any(line.strip() for line in head):
            raise InputError(f"{path} is empty{f' below its first {skip_rows} lines' if skip_rows else ''}.")
        n_remarks, delimiter = _find_remarks(head, expected)
        n_title = 0
        if skip_rows is None:
            n_title, delimiter = _find_title(head[n_remarks:], delimiter, expected, wanted)
        n_above = (skip_rows or 0) + n_remarks + n_title
        file.seek(0)
        lines = (line.lstrip("# ") if line.startswith("#") else line for line in lines_of(file, path, n_above))
        reader = _reader(lines, delimiter)
        first = next((row for row in reader if not _is_blank(row)), None)
        if first is None:
            raise InputError(f"{path} holds remarks and no table.")
        header_line = n_above + reader.line_num
    if n_title:
        words = " ".join("".join(head[n_remarks : n_remarks + n_title]).replace(delimiter, " ").split())
        notes = (*notes, describe_title(path.name, n_title, words))
    if n_remarks:
        n_marked = sum(line.startswith("#") for line in head[:n_remarks])
        notes = (*notes, f"remarks at the head of {path.name} were left out: {n_marked} that begin with #")
    if delimiter != expected:
        notes = (*notes, f"the columns of {path.name} are divided by {_DELIMITERS[delimiter]}")
    names = names_of(first)
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
        note = (
            f"{path.name} is not UTF-8 and was read as latin-1 (Windows-1252); save it as UTF-8 if letters look wrong"
        )
        return encoding, (note,) if encoding == "cp1252" else ()
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
    """The file as text; broken bytes and broken quotes are refused."""
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


def lines_of(file: IO[str], path: Path, n_skipped: int = 0) -> Iterator[str]:
    """The lines, without the first `n_skipped`.

    One without end, which a short packed file may hold, is refused before memory runs out.
    """
    number = 0
    while line := file.readline(MAX_LINE):
        if len(line) == MAX_LINE:
            raise FileFormatError(f"{path} has a line of more than {MAX_LINE} characters: it is no table.")
        number += 1
        if number > n_skipped:
            yield line


def _find_remarks(head: list[str], expected: str) -> tuple[int, str]:
    """How many of the first lines are remarks, which begin with #, and the delimiter of the others.

    A last one with as many fields as the line below it holds the names.
    """
    n_remarks = len(list(itertools.takewhile(lambda line: line.startswith("#") or not line.strip(), head)))
    while n_remarks and not head[n_remarks - 1].strip():
        n_remarks -= 1
    rest = [line for line in head[n_remarks:] if line.strip()][:20]
    if not rest:
        return n_remarks, expected
    delimiter = _find_delimiter(rest, expected)
    if n_remarks:
        widths = [_width(line, delimiter) for line in (head[n_remarks - 1].lstrip("# "), rest[0])]
        n_remarks -= widths[0] == widths[1] > 1
    return n_remarks, delimiter


def _find_title(lines: list[str], delimiter: str, expected: str, wanted: Collection[str]) -> tuple[int, str]:
    """How many of the first lines are a title, and the delimiter of the others.

    Titles have fewer fields than the table below them or, padded by a spreadsheet, hardly any that is filled.
    """
    for n_title in range(min(len(lines) - 2, HEAD_ROWS // 2)):
        rest = [line for line in lines[n_title:] if line.strip()][:20]
        mark = _even_delimiter(rest, expected) if lines[n_title].strip() and len(rest) > 2 else None
        if mark is None:
            continue
        if any(_width(line, mark) >= _width(rest[0], mark) for line in lines[:n_title] if line.strip()):
            break
        reader = _reader(lines[n_title:], mark)
        rows, ends = [], [0]
        with suppress(csv.Error):  # a quoted field may run on past these lines
            for row in reader:
                rows.append(row)
                ends.append(reader.line_num)
        return n_title + ends[header_place(rows, wanted)], mark
    return 0, delimiter


def _reader(lines: Iterable[str], delimiter: str) -> Any:
    """The rows of lines; any number of blanks is one."""
    if delimiter == " ":
        return csv.reader((line.rstrip() + "\n" for line in lines), delimiter=" ", skipinitialspace=True, strict=True)
    return csv.reader(lines, delimiter=delimiter, strict=True)


def _width(line: str, delimiter: str) -> int:
    """The number of fields of a line; 0 if its quotes are broken."""
    try:
        return len(next(_reader([line], delimiter), []))
    except csv.Error:
        return 0


def _find_delimiter(lines: list[str], expected: str) -> str:
    """The delimiter that divides the first lines into equally many fields, or the most frequent one in the names."""
    even = _even_delimiter(lines, expected)
    marks = [mark for mark in _DELIMITERS if _may_divide(mark, lines, expected)]
    return even or max(marks, key=lambda mark: (lines[0].count(mark) if mark != " " else 0, mark == expected))


def _may_divide(mark: str, lines: list[str], expected: str) -> bool:
    """Blanks divide no csv file, and two lines are too few to decide."""
    return mark != " " or (expected == "\t" and len(lines) > 2)


def _even_delimiter(lines: list[str], expected: str) -> str | None:
    """The delimiter that divides lines into equally many fields, at least two; None if there is none."""
    marks = [mark for mark in _DELIMITERS if _may_divide(mark, lines, expected)]
    for delimiter in sorted(marks, key=expected.__ne__):
        # A quoted field may run on past these lines, so the last row is not counted.
        stripped = [line.rstrip() + "\n" for line in lines] if delimiter == " " else lines
        widths = [len(row) for row in csv.reader(stripped, delimiter=delimiter, skipinitialspace=delimiter == " ")]
        if len(set(widths[:-1] or widths)) == 1 and widths[0] > 1:
            return delimiter
    return None


def _refuse_data_as_names(path: Path, names: Sequence[str]) -> None:
    """A first line of numbers is data, unless it counts the columns or names them by years, wavelengths and such."""
    numbers = np.array([number for name in names if (number := _as_number(name)) is not None])
    if len(numbers) < 2 or 2 * len(numbers) < len(names):
        return
    steps = np.diff(numbers)
    in_order = (steps > 0).all() or (steps < 0).all()
    even = len(steps) > 1 and in_order and np.allclose(steps, steps[0])
    if even or (in_order and len(numbers) >= FEWEST_SORTED) or numbers.tolist() in ([0, 1], [1, 2]):
        return
    measured = (numbers != np.round(numbers)).any() or (numbers < 0).any()
    if len(numbers) == len(names) or (measured and not in_order):  # doses beside a word may be names
        shown = ", ".join(names[:4])
        raise InputError(f"the first line of {path} looks like data ({shown}, ...): put column names before it.")


def _as_number(name: str) -> float | None:
    try:
        number = float(read_numbers([name])[0])
    except ValueError:
        return None
    return None if np.isnan(number) else number


def _is_blank(row: list[str]) -> bool:
    """An empty line, or one of blanks."""
    return not row or (len(row) == 1 and not row[0].strip())


# Rows


def _chunks(path: Path, layout: Layout, n_rows: int) -> Iterator[list[Tokens]]:
    """The columns after the names, `n_rows` rows at a time.

    pyarrow parses them as long as it is certain to agree with the csv module, which parses the rest.
    """
    n_done = 0
    # Several blanks in a row divide columns once, which pyarrow does not know.
    if layout.delimiter != " " and path.stat().st_size >= ARROW_BYTES * len(layout.names):
        try:
            for chunk in _arrow_chunks(path, layout, n_rows):
                yield chunk
                n_done += 1
            return
        except (ImportError, FileFormatError, _DoubtfulTextError):
            pass
    yield from itertools.islice(_plain_chunks(path, layout, n_rows), n_done, None)


def _plain_chunks(path: Path, layout: Layout, n_rows: int) -> Iterator[list[Tokens]]:
    """The columns by the csv module; a row with more or fewer fields than there are names is refused."""
    width = len(layout.names)
    with open_text(path, layout.encoding) as file:
        reader = _reader(lines_of(file, path, layout.header_line), layout.delimiter)
        rows: list[list[str]] = []
        for row in reader:
            if not row or (width > 1 and _is_blank(row)):
                continue
            if len(row) != width:
                line, marks = layout.header_line + reader.line_num, _DELIMITERS[layout.delimiter]
                raise InputError(
                    f"{path}, line {line}: {len(row)} fields, but {width} column names (divided by {marks}). Repair "
                    "the line, or quote fields that hold the mark."
                )
            rows.append(row)
            if len(rows) == n_rows:
                yield list(zip(*rows, strict=True))
                rows = []
        if rows:
            yield list(zip(*rows, strict=True))


class _DoubtfulTextError(Exception):
    """pyarrow would read these lines in another way than the csv module, or cannot read them."""


def _arrow_chunks(path: Path, layout: Layout, n_rows: int) -> Iterator[list[Tokens]]:
    """The columns by pyarrow, all of them as text."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    schema = pa.schema([(name, pa.string()) for name in layout.names])
    convert = arrow_csv.ConvertOptions(column_types=schema)
    waiting = schema.empty_table()
    for block in _row_blocks(path, layout):
        # One block of pyarrow's for one of ours, so that no row lies in two of them.
        read = arrow_csv.ReadOptions(column_names=layout.names, use_threads=False, block_size=len(block))
        parse = arrow_csv.ParseOptions(delimiter=layout.delimiter, newlines_in_values=True)
        try:
            table = arrow_csv.read_csv(pa.BufferReader(block), read, parse, convert)
        except pa.ArrowException as error:  # such as rows of different lengths
            raise _DoubtfulTextError from error
        _refuse_long_fields(table)
        waiting = pa.concat_tables([waiting, table])
        while waiting.num_rows >= n_rows:
            yield [ArrowTokens(column) for column in waiting.slice(0, n_rows).columns]
            waiting = waiting.slice(n_rows)
    if waiting.num_rows:
        yield [ArrowTokens(column) for column in waiting.columns]


def _row_blocks(path: Path, layout: Layout) -> Iterator[bytes]:
    """The lines after the names as UTF-8, in blocks of whole rows that begin and end with a line end."""
    rest, size = b"\n", max(BLOCK, ARROW_BYTES * len(layout.names))
    with open_text(path, layout.encoding) as file:
        for _ in itertools.islice(lines_of(file, path), layout.header_line):
            pass
        while text := file.read(size):
            data = rest + text.encode()
            end = _last_line_end(data)
            if not end and len(text) == size:  # a row longer than a block
                raise _DoubtfulTextError
            yield _with_plain_quotes(data[: end + 1], layout.delimiter)
            rest = data[end:]
    yield _with_plain_quotes(rest + b"\n", layout.delimiter)


def _last_line_end(data: bytes) -> int:
    """The place of the last line end outside quotes."""
    if b'"' not in data:
        return data.rfind(b"\n")
    points = np.frombuffer(data, dtype=np.uint8)
    quotes, ends = (np.flatnonzero(points == ord(mark)) for mark in '"\n')
    return int(ends[np.searchsorted(quotes, ends) % 2 == 0][-1])


def _with_plain_quotes(block: bytes, delimiter: str) -> bytes:
    """The block, if quotes stand only around whole fields and, doubled, inside these.

    Quotes then open and close in turn: one that opens follows a delimiter, a line end or another quote, and one that
    closes is followed by one of these. Where quotes stand otherwise, the csv module refuses some fields that pyarrow
    reads.
    """
    if b'"' not in block:
        return block
    points = np.frombuffer(block, dtype=np.uint8)
    quotes = np.flatnonzero(points == ord('"'))
    neighbors = np.zeros(256, dtype=bool)
    neighbors[list(f'{delimiter}\r\n"'.encode())] = True
    if len(quotes) % 2 or not neighbors[points[quotes[::2] - 1]].all() or not neighbors[points[quotes[1::2] + 1]].all():
        raise _DoubtfulTextError
    return block


def _refuse_long_fields(table: Any) -> None:
    """Fields above the limit of the csv module are not for pyarrow either."""
    import pyarrow.compute as pc

    limit = csv.field_size_limit()
    for column in table.columns:
        if column.nbytes > limit and pc.max(pc.binary_length(column)).as_py() > limit:
            raise _DoubtfulTextError
