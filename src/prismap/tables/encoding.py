"""From columns to the numbers a map is fitted on, learnt once and repeated on every later file.

Numeric columns stay one feature; a text column with few levels becomes one feature a level (1 where it holds). With
`standardize` every column is centred and divided so that its variance is 1; a text column counts as one column here,
so its features share the divisor sqrt(sum_l p_l (1 - p_l)), with p_l the share of level l. Missing values are refused,
or filled with the median (numbers) or the most frequent level (text).
"""

from __future__ import annotations

import difflib
import re
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import FileFormatError, InputError
from prismap.tables.table import Column, Roles, Table, TextColumn, missing_count, quoted, table_from_arrow

#: Text columns with more levels are taken for names or free text.
MAX_LEVELS = 30
_ROW_NUMBERS = re.compile(r"unnamed_\d+|__index_level_\d+__")


@dataclass(frozen=True)
class ColumnEncoding:
    """One column of a file: its levels (None for numbers), the value for missing ones, and the standardisation."""

    name: str
    levels: tuple[str, ...] | None
    fill: float | str | None
    center: tuple[float, ...]
    scale: float

    @property
    def feature_names(self) -> list[str]:
        """The names of the features the column becomes."""
        return [self.name] if self.levels is None else [f"{self.name}={level}" for level in self.levels]


@dataclass(frozen=True)
class Encoded:
    """Rows as numbers, and how many values of each column were filled or had a level unseen at fit."""

    X: NDArray[np.float64]
    filled: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TableEncoding:
    """How the columns of a file become the features of a map; kept with the map, so that later files are treated alike.

    `apply` needs nothing but the rows it is given, so a large file can be encoded batch by batch.
    """

    columns: tuple[ColumnEncoding, ...]
    target: str | None = None
    ids: str | None = None
    text_target: bool = False
    standardize: bool = True

    @property
    def feature_names(self) -> list[str]:
        """The names of the features, in their order."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def names(self) -> list[str]:
        """The names of the columns that a file must have."""
        return [column.name for column in self.columns]

    @property
    def roles(self) -> Roles:
        """How to read a later file: what was text is text again, and target and ids may be absent."""
        text = [column.name for column in self.columns if column.levels is not None]
        if self.text_target and self.target is not None:
            text.append(self.target)
        return Roles(self.target, self.ids, text=tuple(text), required=False)

    def apply(self, batch: Any) -> Encoded:
        """The rows of a `Table`, or of a pyarrow Table or RecordBatch, as numbers; columns are found by name."""
        table = batch if isinstance(batch, Table) else table_from_arrow(batch, self.roles)
        self._refuse_missing_columns(table)
        self._refuse_missing_values(table)
        filled, unknown = {}, {}
        X = np.empty((table.n_rows, sum(len(column.center) for column in self.columns)))
        start = 0
        for column in self.columns:
            values = table.columns[column.name]
            block, n_unknown = _features(column, values)
            X[:, start : start + len(column.center)] = (block - column.center) / column.scale
            start += len(column.center)
            if n_unknown:
                unknown[column.name] = n_unknown
            if n_filled := missing_count(values):
                filled[column.name] = n_filled
        return Encoded(X, filled, unknown)

    def _refuse_missing_columns(self, table: Table) -> None:
        missing = [name for name in self.names if name not in table.columns]
        if not missing:
            return
        unused = [name for name in table.columns if name not in set(self.names)]
        near = {name: difflib.get_close_matches(name, unused, n=1) for name in missing[:8]}
        lines = ", ".join(f"-{name!r}" + (f" (+{near[name][0]!r}?)" if near[name] else "") for name in near)
        more = f" and {len(missing) - len(near)} more" if len(missing) > len(near) else ""
        other = f" Columns the map does not know: {quoted(unused)}." if unused else ""
        raise InputError(
            f"the file lacks {len(missing)} of the {len(self.columns)} columns of the map: {lines}{more}.{other}"
        )

    def _refuse_missing_values(self, table: Table) -> None:
        counts = {
            column.name: missing_count(table.columns[column.name]) for column in self.columns if column.fill is None
        }
        refuse_missing(counts, table.n_rows)

    def to_dict(self) -> dict[str, Any]:
        """As JSON stores it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, about: Any) -> TableEncoding:
        """From `to_dict`; anything else is refused, since it comes from a file."""
        try:
            columns = tuple(_checked_column(**column) for column in about["columns"])
            options = {key: about[key] for key in ("target", "ids", "text_target", "standardize")}
            if len({column.name for column in columns}) < len(columns) or not all(
                isinstance(value, bool if key in ("text_target", "standardize") else (str, type(None)))
                for key, value in options.items()
            ):
                raise ValueError("columns or options are not as they should be")
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the encoding of the columns stored with the map is damaged: {error!r}.") from error
        return cls(columns, **options)


def encoding_of(model: Any) -> TableEncoding:
    """How files for a loaded map are read: as stored with it; its columns as they are, if it was saved from Python."""
    stored = getattr(model, "extra_header_", {}).get("table")
    if stored is not None:
        return TableEncoding.from_dict(stored)
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{place}" for place in range(model.n_features_in_)]
    columns = tuple(ColumnEncoding(str(name), None, None, (0.0,), 1.0) for name in names)
    return TableEncoding(columns, standardize=False)


def learn_encoding(
    table: Table,
    *,
    roles: Roles | None = None,
    standardize: bool = True,
    impute: str | None = None,
    max_levels: int = MAX_LEVELS,
) -> tuple[TableEncoding, tuple[str, ...]]:
    """The encoding of the columns of a table, and notes on what was done to them."""
    if impute not in (None, "median"):
        raise InputError(f"impute must be None or 'median'; got {impute!r}.")
    notes = []
    columns = dict(table.columns)
    for name in [name for name in columns if _ROW_NUMBERS.fullmatch(name) and _counts_rows(columns[name])]:
        del columns[name]
        notes.append(f"column {name!r} numbers the rows and was left out")
    if not columns:
        raise InputError("no column is left to make a map of.")
    _refuse_free_text(columns, table.n_rows, max_levels)
    counts = {name: missing_count(column) for name, column in columns.items()}
    if impute is None:
        refuse_missing(counts, table.n_rows)
    learnt = tuple(_learn_column(name, column, standardize, impute) for name, column in columns.items())
    roles = roles or Roles()
    encoding = TableEncoding(learnt, roles.target, roles.ids, _is_text(table.target), standardize)
    return encoding, (*notes, *_describe(encoding, columns, counts))


def _is_text(labels: NDArray[Any] | None) -> bool:
    return labels is not None and labels.dtype.kind == "O"


def refuse_missing(counts: dict[str, int], n_rows: int) -> None:
    """Missing and infinite values are refused with their number in each column."""
    counts = {name: count for name, count in counts.items() if count}
    if counts:
        each = ", ".join(f"{name!r} {count}" for name, count in list(counts.items())[:8])
        more = f" and {len(counts) - 8} more columns" if len(counts) > 8 else ""
        raise InputError(
            f"missing or infinite values in {len(counts)} columns, of {n_rows} rows: {each}{more}. "
            "Fill them before, leave the columns out (--drop), or fit with --impute median."
        )


def _counts_rows(column: Column) -> bool:
    """Whether a column is 0, 1, 2, ... or 1, 2, 3, ..."""
    if isinstance(column, TextColumn) or not len(column):
        return False
    return column[0] in (0, 1) and bool(np.array_equal(column, column[0] + np.arange(len(column))))


def _refuse_free_text(columns: dict[str, Column], n_rows: int, max_levels: int) -> None:
    """Text with many different values is a name, a date or prose, and no category."""
    most = min(max_levels, max(2, n_rows // 2))
    reasons = {
        name: _text_reason(column)
        for name, column in columns.items()
        if isinstance(column, TextColumn) and len(column.levels) > most
    }
    if reasons:
        shown = "; ".join(f"{name!r}: {reason}" for name, reason in list(reasons.items())[:8])
        names = ",".join(reasons) if len(reasons) <= 8 else "..."
        raise InputError(
            f"{len(reasons)} text columns have too many different values to be categories (at most {most}): {shown}. "
            f"Leave them out with --drop {names}, or name the rows by one of them with --id."
        )


def _text_reason(column: TextColumn) -> str:
    words = _words_among_numbers(column)
    if words:
        return f"numbers, but for {quoted(words, 3)} (empty them to have them taken as missing)"
    return f"{len(column.levels)} different values such as {column.levels[0][:40]!r}"


def _words_among_numbers(column: TextColumn) -> list[str]:
    """The levels that keep a column of numbers from being one; none if most levels are words."""
    words = [level for level in column.levels if not _is_number(level)]
    return words if len(words) < len(column.levels) / 2 else []


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


def _learn_column(name: str, column: Column, standardize: bool, impute: str | None) -> ColumnEncoding:
    """Levels, fill and standardisation of one column."""
    fill: float | str | None = None
    if isinstance(column, TextColumn):
        codes = column.codes
        shares = np.bincount(codes[codes >= 0], minlength=len(column.levels)) / max(int((codes >= 0).sum()), 1)
        if impute is not None and column.levels:
            fill = column.levels[int(shares.argmax())]
        learnt = ColumnEncoding(name, column.levels, fill, (0.0,) * len(column.levels), 1.0)
    else:
        numbers = column[np.isfinite(column)] if column.dtype.kind == "f" else column
        if impute is not None:
            fill = float(np.median(numbers)) if len(numbers) else 0.0
        learnt = ColumnEncoding(name, None, fill, (0.0,), 1.0)
    if not standardize:
        return learnt
    block, _ = _features(learnt, column)
    largest = float(np.abs(block).max(initial=0.0)) or 1.0  # squares of what is left do not overflow
    spread = largest * float(np.sqrt((block / largest).var(axis=0).sum()))
    center = largest * (block / largest).mean(axis=0)
    constant = spread == 0.0 or bool((block == block[:1]).all())
    return ColumnEncoding(name, learnt.levels, fill, tuple(center.tolist()), 1.0 if constant else spread)


def _features(column: ColumnEncoding, values: Column) -> tuple[NDArray[np.float64], int]:
    """The features of a column before standardisation, missing values filled, and how many had an unknown level."""
    if column.levels is None:
        if isinstance(values, TextColumn):
            raise InputError(
                f"column {column.name!r} held numbers when the map was fitted and holds text now, such as "
                f"{quoted(values.levels, 3)}."
            )
        numbers = values.astype(np.float64)
        if column.fill is not None:
            numbers[~np.isfinite(numbers)] = column.fill
        return numbers[:, None], 0
    values = values if isinstance(values, TextColumn) else _numbers_as_text(values)
    place = {level: number for number, level in enumerate(column.levels)}
    known = np.array([*(place.get(level, -1) for level in values.levels), -1], dtype=np.intp)
    codes = known[values.codes]
    if column.fill is not None:
        codes[values.codes < 0] = place[str(column.fill)]
    block = np.zeros((len(codes), len(column.levels)))
    rows = np.flatnonzero(codes >= 0)
    block[rows, codes[rows]] = 1.0
    return block, len(codes) - len(rows)


def _numbers_as_text(values: NDArray[Any]) -> TextColumn:
    """Numbers of a column that was text at fit, whole ones without a point."""
    known = np.isfinite(values)
    levels, found = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[known] = found
    return TextColumn(codes, tuple(str(int(level) if level == int(level) else level) for level in levels.tolist()))


def _describe(encoding: TableEncoding, columns: dict[str, Column], counts: dict[str, int]) -> list[str]:
    """What was done to the columns, in words."""
    notes = []
    text = [f"{column.name} ({len(column.levels)})" for column in encoding.columns if column.levels is not None]
    if text:
        notes.append(f"text columns became one feature a level: {', '.join(text[:12])}{', ...' if text[12:] else ''}")
    for name, column in columns.items():
        if isinstance(column, TextColumn) and (words := _words_among_numbers(column)):
            notes.append(f"column {name!r} was taken as text because of {quoted(words, 3)} among its numbers")
    filled = {name: count for name, count in counts.items() if count}
    if filled:
        shown = ", ".join(f"{name!r} {count}" for name, count in list(filled.items())[:8])
        notes.append(f"missing values were filled with the median (text: the most frequent level): {shown}")
    constant = [name for name, column in columns.items() if _is_constant(column)]
    if constant:
        notes.append(f"constant or empty columns tell nothing and were kept: {quoted(constant)}")
    ids = [name for name, column in columns.items() if re.fullmatch(r"(.*_)?id", name.lower()) and _all_differ(column)]
    if ids:
        notes.append(
            f"columns that look like row ids were used as features: {quoted(ids)} (--id or --drop if they are)"
        )
    if encoding.standardize:
        notes.append("columns were standardised (mean 0, variance 1); --no-standardize keeps them as they are")
    else:
        notes.append("columns were used as they are, without standardising")
    return notes


def _is_constant(column: Column) -> bool:
    values = column.codes if isinstance(column, TextColumn) else column
    known = values[values >= 0] if isinstance(column, TextColumn) else values[np.isfinite(values)]
    return len(known) == 0 or bool((known == known[0]).all())


def _all_differ(column: Column) -> bool:
    return not isinstance(column, TextColumn) and len(np.unique(column)) == len(column) > 1


def _checked_column(name: Any, levels: Any, fill: Any, center: Any, scale: Any) -> ColumnEncoding:
    """A column from a file's header, if every part of it has the right type."""
    number = (int, float)
    good = (
        isinstance(name, str)
        and (levels is None or all(isinstance(level, str) for level in levels))
        and (fill is None or (isinstance(fill, number) if levels is None else fill in levels))
        and all(isinstance(value, number) for value in center)
        and len(center) == (1 if levels is None else len(levels))
        and isinstance(scale, number)
        and np.isfinite([scale, *center]).all()
        and scale > 0
    )
    if not good:
        raise ValueError(f"column {name!r}")
    return ColumnEncoding(name, None if levels is None else tuple(levels), fill, tuple(center), float(scale))
