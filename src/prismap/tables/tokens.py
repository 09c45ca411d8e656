"""From tokens to typed columns. What a column holds is decided by the whole file, so batches agree with each other.

Text files, spreadsheets and JSON lines give tokens; the file is gone through once to decide and once to convert.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._blocks import require_memory
from prismap.tables.column import Column, TextColumn, concatenated, is_missing, text_column
from prismap.tables.table import Roles, Table, chosen_names, make_table

#: Tokens that are held at a time.
CHUNK_TOKENS = 4_000_000
_BOOLEANS = {"true": 1.0, "false": 0.0}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?")
#: A whole number as it is usually written, and what may follow it; 01, +1 and -0 are none.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(\.0*)?")
#: Where whole numbers of labels may lie: a 64-bit integer holds them.
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1


@dataclass(frozen=True)
class Source:
    """Rows of tokens: the names, what was noticed, and the columns `n_rows` rows at a time, as often as wanted."""

    names: tuple[str, ...]
    chunks: Callable[[int], Iterator[list[Sequence[str]]]]
    notes: tuple[str, ...] = ()
    decimal_comma: bool = False


Reading = Callable[[Sequence[str]], Column]


def read_whole(source: Source, roles: Roles, path: Any) -> Table:
    """All columns, all rows."""
    source = _held(source)
    readings, n_rows, notes = _decide(source, source.names, roles)
    n_bytes = 24.0 * n_rows * len(source.names)
    require_memory(n_bytes, f"Reading {path}", "Use fewer rows or columns, or a parquet file.")
    parts: dict[str, list[Column]] = {name: [] for name in source.names}
    for chunk in source.chunks(_chunk_rows(source)):
        for name, tokens in zip(source.names, chunk, strict=True):
            parts[name].append(readings[name](tokens))
    columns = {name: concatenated(pieces) if pieces else np.empty(0) for name, pieces in parts.items()}
    return make_table(columns, n_rows, roles, (*source.notes, *notes))


def read_by_batches(source: Source, columns: Collection[str] | None, roles: Roles, n_rows: int) -> Iterator[Table]:
    """The chosen columns, `n_rows` rows at a time."""
    keep = chosen_names(source.names, columns, roles)
    readings, _, notes = _decide(source, keep, roles)
    for chunk in source.chunks(n_rows):
        tokens = dict(zip(source.names, chunk, strict=True))
        read = {name: readings[name](tokens[name]) for name in keep}
        yield make_table(read, len(chunk[0]), roles, (*source.notes, *notes))


def _held(source: Source) -> Source:
    """The source, with its rows in memory if they are few: then the file is gone through once."""
    few = list(itertools.islice(source.chunks(_chunk_rows(source)), 2))
    return source if len(few) > 1 else replace(source, chunks=lambda n_rows: iter(few))


def _chunk_rows(source: Source) -> int:
    return max(CHUNK_TOKENS // len(source.names), 1)


def _decide(source: Source, keep: Collection[str], roles: Roles) -> tuple[dict[str, Reading], int, list[str]]:
    """How to read each column, the number of rows, and notes on labels that stay text though they are numbers."""
    wanted = set(keep)
    scans = {
        name: _LabelScan(source.decimal_comma) if roles.is_target(name) else _Scan(source.decimal_comma)
        for name in source.names
        if name in wanted and name != roles.ids and name not in roles.text
    }
    n_rows = 0
    for chunk in source.chunks(_chunk_rows(source)):
        n_rows += len(chunk[0])
        for name, tokens in zip(source.names, chunk, strict=True):
            if name in scans:
                scans[name].add(tokens)
    readings: dict[str, Reading] = {name: read_verbatim if name == roles.ids else read_text for name in wanted}
    readings.update((name, scan.reading()) for name, scan in scans.items())
    notes = [
        f"the target {name!r} holds whole numbers written in several ways, such as {scan.example()}: they are kept "
        "apart as classes (target_kind='real' takes them as numbers)"
        for name, scan in scans.items()
        if isinstance(scan, _LabelScan) and scan.mixed
    ]
    return readings, n_rows, notes


class _Scan:
    """What the tokens of a column can be read as: numbers, true / false, decimal commas; text if nothing is left."""

    def __init__(self, decimal_comma: bool):
        self.left: list[Reading] = [read_numbers, read_booleans, *([read_comma_numbers] if decimal_comma else [])]

    def add(self, tokens: Sequence[str]) -> None:
        """Look at more tokens."""
        self.left = [reading for reading in self.left if _can_read(reading, tokens)]

    def reading(self) -> Reading:
        """How to read the column."""
        return self.left[0] if self.left else read_text


class _LabelScan(_Scan):
    """The same of a target: whole numbers are exact, and stay text where numbers would merge them (01, 1 and 1.0)."""

    def __init__(self, decimal_comma: bool):
        super().__init__(decimal_comma)
        self.ways: dict[str | None, str] = {}
        self.lowest = self.highest = 0
        self.whole = True

    def add(self, tokens: Sequence[str]) -> None:
        """Look at more tokens."""
        super().add(tokens)
        self.left = [reading for reading in self.left if reading is not read_booleans]  # true and false stay words
        if not self.whole or read_numbers not in self.left:
            return
        for token in {token.strip() for token in tokens if not is_missing(token)}:
            written = _WHOLE.fullmatch(token)
            if written is None and not _is_code(token):
                self.whole = False
                return
            self.ways.setdefault(written and (written[2] or ""), token)
            if written is not None:
                number = int(written[1])
                self.lowest, self.highest = min(self.lowest, number), max(self.highest, number)

    @property
    def mixed(self) -> bool:
        """Whether numbers would merge, or lose, what the file keeps apart."""
        unusual = None in self.ways or len(self.ways) > 1
        return read_numbers in self.left and self.whole and unusual

    def example(self) -> str:
        """Two ways of writing that were found."""
        return " and ".join(repr(token) for token in [*self.ways.values()][:2])

    def reading(self) -> Reading:
        """How to read the column."""
        if read_numbers not in self.left or not self.whole or not self.ways:
            return super().reading()
        if (
            self.mixed
            or self.lowest < _LOWEST
            or self.highest > _HIGHEST
            or (self.lowest < 0 and self.highest >= 2**63)
        ):
            return read_text
        return read_large_integers if self.highest >= 2**63 else read_integers


def _is_code(token: str) -> bool:
    """Whether a number is whole and written with digits alone; 1e5 and inf are quantities."""
    return token.lstrip("+-").replace(".", "", 1).isdigit() and float(token).is_integer()


def _can_read(reading: Reading, tokens: Sequence[str]) -> bool:
    try:
        reading(tokens)
    except (KeyError, ValueError):
        return False
    return True


# Readings: tokens to a column, or ValueError (KeyError) where they hold something else


def read_numbers(tokens: Sequence[str]) -> NDArray[np.float64]:
    """Numbers, NaN where missing.

    >>> read_numbers(["1", " 2.5", "NA"])
    array([1. , 2.5, nan])
    """
    try:
        numbers = np.array(list(map(float, tokens)), dtype=np.float64)
    except ValueError:
        return _parsed(tokens, _number)
    if "_" in "".join(tokens):
        raise ValueError("1_000 is more often a name than a number")
    return numbers


def read_booleans(tokens: Sequence[str]) -> NDArray[np.float64]:
    """True as 1, false as 0."""
    return _parsed(tokens, lambda token: _BOOLEANS[token.strip().lower()])


def read_comma_numbers(tokens: Sequence[str]) -> NDArray[np.float64]:
    """Numbers with a decimal comma."""
    return _parsed(tokens, _comma_number)


def read_integers(tokens: Sequence[str]) -> NDArray[np.int64]:
    """Whole numbers without loss, masked where missing."""
    return _integers(tokens, np.int64)


def read_large_integers(tokens: Sequence[str]) -> NDArray[np.uint64]:
    """The same from 0 to 2^64."""
    return _integers(tokens, np.uint64)


def read_text(tokens: Sequence[str]) -> TextColumn:
    """Text without the blanks around it.

    >>> read_text(["b", "a ", ""])
    TextColumn(codes=array([ 1,  0, -1]), levels=('a', 'b'))
    """
    return text_column([None if is_missing(token) else token.strip() for token in tokens])


def read_verbatim(tokens: Sequence[str]) -> TextColumn:
    """Ids: every token as it stands, an empty one missing."""
    return text_column([token or None for token in tokens])


def _parsed(tokens: Sequence[str], parse: Callable[[str], float]) -> NDArray[np.float64]:
    return np.array([math.nan if is_missing(token) else parse(token) for token in tokens], dtype=np.float64)


def _number(token: str) -> float:
    if "_" in token:  # float() reads 1_000
        raise ValueError(token)
    return float(token)


def _comma_number(token: str) -> float:
    if not _DECIMAL_COMMA.fullmatch(token.strip()):
        raise ValueError(token)
    return float(token.replace(",", "."))


def _integers(tokens: Sequence[str], dtype: Any) -> NDArray[Any]:
    missing = np.array([is_missing(token) for token in tokens], dtype=bool)
    numbers = np.array(
        [0 if gap else int(token.strip().split(".")[0]) for token, gap in zip(tokens, missing, strict=True)], dtype
    )
    return np.ma.MaskedArray(numbers, missing) if missing.any() else numbers
