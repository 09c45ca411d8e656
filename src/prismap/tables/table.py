"""What every file becomes: named columns that hold numbers or text, with the target and the row ids set apart."""

from __future__ import annotations

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError

#: What stands for "no value" in text files, in any case.
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
_BOOLEANS = {"true": 1.0, "false": 0.0}
_DECIMAL_COMMA = re.compile(r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?")


@dataclass(frozen=True)
class TextColumn:
    """Text as codes into its sorted levels; -1 marks a missing value."""

    codes: NDArray[np.intp]
    levels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def values(self) -> NDArray[np.object_]:
        """The text itself, None where missing."""
        # The code -1 picks the last entry.
        return np.array([*self.levels, None], dtype=object)[self.codes]


Column = NDArray[Any] | TextColumn


@dataclass(frozen=True)
class Table:
    """Rows of a file: columns of features by name, the target (None where unlabelled), ids, and what was noticed."""

    columns: dict[str, Column]
    n_rows: int
    target: NDArray[Any] | None = None
    ids: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    kind: str | None = None
    """What the file says it holds (npz files may): vectors, similarity or dissimilarity."""


@dataclass(frozen=True)
class Roles:
    """Which columns are not features, and which stay text even if they hold numbers.

    Names that a file does not have are refused when `required`, and passed over otherwise.
    """

    target: str | None = None
    ids: str | None = None
    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    required: bool = True

    def is_label(self, name: str) -> bool:
        """Whether a column is the target or the ids."""
        return name in (self.target, self.ids)


def make_table(columns: Mapping[str, Column], n_rows: int, roles: Roles, notes: Iterable[str] = ()) -> Table:
    """Set the target, the ids and the dropped columns apart."""
    named = [("target", roles.target), ("id", roles.ids), *(("drop", name) for name in roles.drop)]
    for option, name in named:
        if roles.required and name is not None and name not in columns:
            raise InputError(f"there is no column {name!r} for --{option}; {describe_names(name, columns)}.")
    apart = {name for _, name in named}
    return Table(
        {name: column for name, column in columns.items() if name not in apart},
        n_rows,
        _label_values(columns.get(roles.target or "")),
        _label_values(columns.get(roles.ids or "")),
        tuple(notes),
    )


def chosen_names(names: Iterable[str], columns: Collection[str], roles: Roles) -> list[str]:
    """The names to read: `columns` and labels; all names if some are missing, so that a refusal can show them."""
    names = list(names)
    if not set(columns) <= set(names):
        return names
    wanted = set(columns)
    return [name for name in names if name in wanted or roles.is_label(name)]


def describe_names(wanted: str, names: Iterable[str]) -> str:
    """The names there are, the nearest first."""
    names = list(names)
    near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    shown = near or names[:12]
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return (
        f"did you mean {quoted(near)}? There are {len(names)} columns" if near else f"there are {quoted(shown)}{more}"
    )


def quoted(names: Iterable[str], most: int = 8) -> str:
    """'a', 'b' and 3 more."""
    names = list(names)
    return ", ".join(repr(name) for name in names[:most]) + (f" and {len(names) - most} more" if names[most:] else "")


def _label_values(column: Column | None) -> NDArray[Any] | None:
    """Text with None where missing; whole numbers as integers; other numbers with NaN where missing."""
    if isinstance(column, TextColumn):
        return column.values()
    if column is not None and column.dtype.kind == "f" and (np.abs(column) < 2.0**63).all():
        whole = column.astype(np.int64)
        return whole if (whole == column).all() else column
    return column


def missing_count(column: Column) -> int:
    """How many values are missing or infinite."""
    if isinstance(column, TextColumn):
        return int((column.codes < 0).sum())
    return int((~np.isfinite(column)).sum()) if column.dtype.kind == "f" else 0


# From tokens of a text file to columns


def column_from_tokens(tokens: Sequence[str], *, as_text: bool, decimal_comma: bool = False) -> Column:
    """Numbers, or true / false as 1 / 0, if every token that is not missing reads as one; otherwise text.

    >>> column_from_tokens(["1", " 2.5", "NA"], as_text=False)
    array([1. , 2.5, nan])
    >>> column_from_tokens(["b", "a", ""], as_text=False)
    TextColumn(codes=array([ 1,  0, -1]), levels=('a', 'b'))
    """
    if not as_text:
        parsers: list[Callable[[str], float]] = [_number, _boolean, *([_comma_number] if decimal_comma else [])]
        for parse in parsers:
            try:
                return np.array([math.nan if is_missing(token) else parse(token) for token in tokens], dtype=np.float64)
            except (KeyError, ValueError):
                continue
    return text_column([None if is_missing(token) else token.strip() for token in tokens])


def is_missing(token: str) -> bool:
    """Whether a token of a text file stands for no value."""
    return token.strip().lower() in MISSING


def _number(token: str) -> float:
    if "_" in token:  # float() reads 1_000, which is more often a name than a number
        raise ValueError(token)
    return float(token)


def _boolean(token: str) -> float:
    return _BOOLEANS[token.strip().lower()]


def _comma_number(token: str) -> float:
    if not _DECIMAL_COMMA.fullmatch(token.strip()):
        raise ValueError(token)
    return float(token.replace(",", "."))


def text_column(values: Sequence[str | None]) -> TextColumn:
    """Text as codes into sorted levels."""
    levels = sorted({value for value in values if value is not None})
    code = {level: number for number, level in enumerate(levels)}
    return TextColumn(
        np.array([-1 if value is None else code[value] for value in values], dtype=np.intp), tuple(levels)
    )


# From arrow to columns


def table_from_arrow(batch: Any, roles: Roles) -> Table:
    """A pyarrow Table or RecordBatch as a `Table`."""
    names = batch.schema.names
    refuse_double_names(names)
    columns = {
        name: column_from_arrow(batch.column(place), as_text=name in roles.text, as_label=roles.is_label(name))
        for place, name in enumerate(names)
    }
    return make_table(columns, batch.num_rows, roles)


def column_from_arrow(array: Any, *, as_text: bool, as_label: bool = False) -> Column:
    """Numbers and booleans as floats with NaN for null; everything else as text. Boolean labels stay words."""
    import pyarrow as pa  # whoever holds an arrow array has it
    import pyarrow.compute as pc

    kind = array.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not as_text and (number or pa.types.is_null(kind) or (pa.types.is_boolean(kind) and not as_label)):
        whole = as_label and pa.types.is_integer(kind) and not array.null_count
        return np.asarray(
            pc.cast(array, pa.int64() if whole else pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        )
    try:
        array = pc.cast(array, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists and other nested values
        return text_column([None if value is None else str(value) for value in array.to_pylist()])
    encoded = pc.dictionary_encode(array)
    encoded = encoded.combine_chunks() if isinstance(encoded, pa.ChunkedArray) else encoded
    levels = encoded.dictionary.to_pylist()
    if not levels and not as_text:  # no value at all
        return np.full(len(encoded), np.nan)
    order = sorted(range(len(levels)), key=levels.__getitem__)
    rank = np.empty(len(levels) + 1, dtype=np.intp)
    rank[order] = np.arange(len(levels))
    rank[-1] = -1
    codes = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False)
    return TextColumn(rank[codes], tuple(levels[place] for place in order))


def refuse_double_names(names: Sequence[str]) -> None:
    """Two columns of one name cannot be told apart."""
    double = sorted(name for name, times in Counter(names).items() if times > 1)
    if double:
        raise InputError(f"column names occur more than once: {quoted(double)}. Give every column its own name.")
