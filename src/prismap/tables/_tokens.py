"""From tokens to typed columns. What a column holds is decided by the whole file, so batches agree with each other.

Text files, spreadsheets and JSON lines give tokens. A file is read once to decide and once to convert.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.blocks import require_file_memory
from prismap.tables._column import NO_NUMBER, Column, TextColumn, concatenated, is_missing, is_no_number, text_column
from prismap.tables._table import Roles, Table, chosen_names, make_table

#: Tokens that are held at a time.
CHUNK_TOKENS = 4_000_000
#: Rows at the head of a file that are looked at for names.
HEAD_ROWS = 50
#: Tokens that a reading is tried on before it is tried on all.
FIRST_TOKENS = 10
_BOOLEANS = {"true": 1.0, "false": 0.0}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?")
#: A whole number as it is usually written, and what may follow it; 01, +1 and -0 do not count.
_WHOLE = re.compile(r"(0|-?[1-9][0-9]*)(\.0*)?")
#: Where whole numbers of labels may lie: a 64-bit integer holds them.
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1


class ArrowTokens:
    """The tokens of a column as text of pyarrow."""

    def __init__(self, text: Any):
        self.text = text

    def __len__(self) -> int:
        return len(self.text)

    def __getitem__(self, rows: slice) -> ArrowTokens:
        return ArrowTokens(self.text[rows])

    @cached_property
    def distinct(self) -> tuple[list[str], NDArray[np.intp]]:
        """The different tokens, in the order in which they occur first, and the number of each token among them."""
        encoded = self.text.dictionary_encode().combine_chunks()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy().astype(np.intp)

    def numbers(self) -> NDArray[np.float64] | None:
        """The numbers, NaN where missing; None if pyarrow does not know all tokens."""
        import pyarrow as pa
        import pyarrow.compute as pc

        for without_marks in (False, True):
            text = self.text
            if without_marks:
                marks = pc.is_in(pc.ascii_lower(text), value_set=pa.array(sorted(NO_NUMBER)))
                text = pc.if_else(marks, pa.scalar(None, pa.string()), text)
            try:
                numbers = pc.cast(text, pa.float64())
            except pa.ArrowInvalid:
                continue
            # pyarrow takes nan(anything) for a number as well.
            if not pc.any(pc.is_nan(numbers)).as_py():
                return np.asarray(numbers.to_numpy(), dtype=np.float64)
        return None


Tokens = Sequence[str] | ArrowTokens
Reading = Callable[[Tokens], Column]


@dataclass(frozen=True)
class Source:
    """Rows of tokens: the names, notes, and the columns `n_rows` rows at a time, as often as they are asked for."""

    names: tuple[str, ...]
    chunks: Callable[[int], Iterator[list[Tokens]]]
    notes: tuple[str, ...] = ()
    decimal_comma: bool = False


def header_place(rows: Sequence[Sequence[str]], wanted: Collection[str] = ()) -> int:
    """Which of the first rows of a table holds the names: titles above it fill less than half of its cells.

    Of the other rows it is the first, unless the next one fills more cells behind the first one and holds words only
    ("Created: 2024" above names). A row of words with more of the `wanted` names, at least two, is taken before it.

    >>> header_place([["Sales of March", "", ""], ["", "", ""], ["shop", "month", "sum"], ["A", "3", "7.5"]])
    2
    """
    filled = [sum(1 for token in row if token.strip()) for row in rows]
    counted = sorted(count for count in filled if count)
    typical = counted[len(counted) // 2] if counted else 0
    full = [place for place, count in enumerate(filled) if count and 2 * count >= typical]
    if not full:
        return 0
    first = full[0]
    for below in full[1:]:
        gaps = [
            column for column, token in enumerate(rows[below]) if token.strip() and not _filled(rows[first], column)
        ]
        if gaps in ([], [0]) or filled[below] <= filled[first] or not all(map(_is_word, rows[below])):
            break
        first = below
    named = {place: len(set(wanted).intersection(token.strip() for token in rows[place])) for place in full}
    best = max((place for place in full if all(map(_is_word, rows[place]))), key=named.__getitem__, default=first)
    return best if named[best] > max(named[first], 1) else first


def names_of(row: Sequence[str]) -> tuple[str, ...]:
    """The names of columns; those without one are numbered."""
    return tuple(name.strip() or f"unnamed_{place + 1}" for place, name in enumerate(row))


def describe_title(where: str, n_rows: int, words: str) -> str:
    """That rows above the names were left out."""
    words = " ".join(words.split())
    shown = words if len(words) <= 40 else words[:40] + "..."
    if n_rows == 1:
        return f"the row above the names in {where} holds a title and was left out: {shown!r} (skip_rows=0 keeps it)"
    return (
        f"{n_rows} rows above the names in {where} hold a title and were left out: {shown!r} (skip_rows=0 keeps them)"
    )


def _filled(row: Sequence[str], column: int) -> bool:
    return column < len(row) and bool(row[column].strip())


def _is_word(token: str) -> bool:
    """Whether a token is neither a number nor a date."""
    return not token.strip() or token.strip()[0].isalpha()


def read_whole(source: Source, roles: Roles, path: Any) -> Table:
    """All columns, all rows."""
    source = _held(source)
    readings, n_rows, notes = _decide(source, source.names, roles)
    n_bytes = 24.0 * n_rows * len(source.names)
    size = path.stat().st_size
    require_file_memory(n_bytes, f"Reading {path}", size, "Use fewer rows or columns, or a parquet file.")
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
    """The source, with its rows in memory if they are few, so that the file is read once."""
    few = list(itertools.islice(source.chunks(_chunk_rows(source)), 2))
    return source if len(few) > 1 else replace(source, chunks=lambda n_rows: iter(few))


def _chunk_rows(source: Source) -> int:
    return max(CHUNK_TOKENS // len(source.names), 1)


def _decide(source: Source, keep: Collection[str], roles: Roles) -> tuple[dict[str, Reading], int, list[str]]:
    """How to read each column, the number of rows, and notes on labels and codes that stay text."""
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
    notes += [
        f"column {name!r} holds codes with leading zeros, such as {scan.code!r}: they are kept as text"
        for name, scan in scans.items()
        if scan.holds_codes
    ]
    return readings, n_rows, notes


class _Scan:
    """What the tokens of a column can be read as: numbers, true / false, decimal commas; text if nothing is left."""

    def __init__(self, decimal_comma: bool):
        self.left: list[Reading] = [read_numbers, read_booleans, *([read_comma_numbers] if decimal_comma else [])]
        self.digits = True
        self.code: str | None = None

    def add(self, tokens: Tokens) -> None:
        """Look at more tokens."""
        self.left = [reading for reading in self.left if _can_read(reading, tokens)]
        self.digits = self.digits and read_numbers in self.left and _are_digits(tokens)
        if self.digits and self.code is None:
            self.code = _zero_led(tokens)

    @property
    def holds_codes(self) -> bool:
        """Whether all values are three or more digits, and some of them begin with a zero, as zip codes do.

        Of two digits, 07 is more often a month or an hour, and 007 beside 7 is padded for no reason.
        """
        return self.digits and self.code is not None

    def reading(self) -> Reading:
        """How to read the column."""
        return self.left[0] if self.left and not self.holds_codes else read_text


class _LabelScan(_Scan):
    """The same of a target: whole numbers are exact, and stay text where numbers would merge them (01, 1 and 1.0)."""

    def __init__(self, decimal_comma: bool):
        super().__init__(decimal_comma)
        self.ways: dict[str | None, str] = {}
        self.lowest = self.highest = 0
        self.whole = True

    @property
    def holds_codes(self) -> bool:
        """Targets are looked at in more detail."""
        return False

    def add(self, tokens: Tokens) -> None:
        """Look at more tokens."""
        super().add(tokens)
        self.left = [reading for reading in self.left if reading is not read_booleans]  # true and false stay words
        if not self.whole or read_numbers not in self.left:
            return
        for token in (token.strip() for token in distinct(tokens)[0] if not is_no_number(token)):
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
        """Two of the ways of writing."""
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


def _are_digits(tokens: Tokens) -> bool:
    """Whether all tokens but missing ones are three digits or more, and nothing else."""
    if isinstance(tokens, ArrowTokens):
        import pyarrow.compute as pc

        odd = tokens.text.filter(pc.invert(pc.match_substring_regex(tokens.text, "^[0-9]{3,}$"))).unique().to_pylist()
        return all(map(is_no_number, odd))
    return all((token.isdecimal() and len(token) > 2) or is_no_number(token) for token in tokens)


def _zero_led(tokens: Tokens) -> str | None:
    """The first token that begins with a zero, of tokens of three digits or more."""
    if isinstance(tokens, ArrowTokens):
        import pyarrow.compute as pc

        return next(iter(tokens.text.filter(pc.starts_with(tokens.text, "0"))[:1].to_pylist()), None)
    return next((token for token in tokens if token[:1] == "0"), None)


def _is_code(token: str) -> bool:
    """Whether a number is whole and written with digits alone; 1e5 and inf are quantities."""
    return token.lstrip("+-").replace(".", "", 1).isdigit() and float(token).is_integer()


def _can_read(reading: Reading, tokens: Tokens) -> bool:
    try:
        reading(tokens[:FIRST_TOKENS])  # mostly enough to see that a reading does not fit
        reading(tokens)
    except (KeyError, ValueError):
        return False
    return True


# Readings: tokens to a column, or ValueError (KeyError) where they hold something else


def read_numbers(tokens: Tokens) -> NDArray[np.float64]:
    """Numbers, NaN where missing.

    >>> read_numbers(["1", " 2.5", "NA"])
    array([1. , 2.5, nan])
    """
    if isinstance(tokens, ArrowTokens):
        numbers = tokens.numbers()
        return _parsed(tokens, _number) if numbers is None else numbers
    try:
        numbers = np.array(list(map(float, tokens)), dtype=np.float64)
    except ValueError:
        return _parsed(tokens, _number)
    if "_" in "".join(tokens):
        raise ValueError("1_000 is more often a name than a number")
    return numbers


def read_booleans(tokens: Tokens) -> NDArray[np.float64]:
    """True as 1, false as 0."""
    return _parsed(tokens, lambda token: _BOOLEANS[token.strip().lower()])


def read_comma_numbers(tokens: Tokens) -> NDArray[np.float64]:
    """Numbers with a decimal comma."""
    return _parsed(tokens, _comma_number)


def read_integers(tokens: Tokens) -> NDArray[np.int64]:
    """Whole numbers without loss, masked where missing."""
    return _integers(tokens, np.int64)


def read_large_integers(tokens: Tokens) -> NDArray[np.uint64]:
    """The same from 0 to 2^64."""
    return _integers(tokens, np.uint64)


def read_text(tokens: Tokens) -> TextColumn:
    """Text without the blanks around it.

    >>> read_text(["b", "a ", ""])
    TextColumn(codes=array([ 1,  0, -1]), levels=('a', 'b'))
    """
    return _text_of(tokens, lambda token: None if is_missing(token) else token.strip())


def read_verbatim(tokens: Tokens) -> TextColumn:
    """Ids: every token as it stands, an empty one missing."""
    return _text_of(tokens, lambda token: token or None)


def distinct(tokens: Tokens) -> tuple[list[str], NDArray[np.intp]]:
    """The different tokens, in the order in which they occur first, and the number of each token among them."""
    if isinstance(tokens, ArrowTokens):
        return tokens.distinct
    places: dict[str, int] = {}
    codes = np.array([places.setdefault(token, len(places)) for token in tokens], dtype=np.intp)
    return list(places), codes


def _text_of(tokens: Tokens, word: Callable[[str], str | None]) -> TextColumn:
    different, codes = distinct(tokens)
    column = text_column([word(token) for token in different])
    return TextColumn(column.codes[codes], column.levels)


def _parsed(tokens: Tokens, parse: Callable[[str], float]) -> NDArray[np.float64]:
    different, codes = distinct(tokens)
    numbers = [np.nan if is_no_number(token) else parse(token) for token in different]
    return np.array(numbers, dtype=np.float64)[codes]


def _number(token: str) -> float:
    if "_" in token:  # float() reads 1_000
        raise ValueError(token)
    return float(token)


def _comma_number(token: str) -> float:
    if not _DECIMAL_COMMA.fullmatch(token.strip()):
        raise ValueError(token)
    return float(token.replace(",", "."))


def _integers(tokens: Tokens, dtype: Any) -> NDArray[Any]:
    different, codes = distinct(tokens)
    missing = np.array(list(map(is_no_number, different)), dtype=bool)[codes]
    numbers = np.array([0 if is_no_number(token) else int(token.strip().split(".")[0]) for token in different], dtype)
    numbers = numbers[codes]
    return np.ma.MaskedArray(numbers, missing) if missing.any() else numbers
