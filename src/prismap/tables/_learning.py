"""What each column of a table is good for: a number, a date, a time, an amount, a category, or something to show only.

A note says every decision in one line, with the option that changes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.tables._column import Column, TextColumn, infinite_count, missing_count
from prismap.tables._encoding import (
    ColumnEncoding,
    TableEncoding,
    as_counts,
    features_of,
    is_number,
    library_sizes,
    log_counts,
    numbers_as_text,
    refuse_missing,
)
from prismap.tables._parsed_text import is_plain_number, kind_of, numbers_of, way_of_writing, without_dashes
from prismap.tables._table import Roles, Table, quoted

#: Text columns with more levels are taken for names or free text, unless a level has a hundred rows on average.
MAX_LEVELS = 30
#: Whole numbers of cells above this are taken for raw counts, which no distance should be measured by.
COUNTS_FROM = 20


@dataclass(frozen=True)
class LearningBlocks:
    """How many columns are learnt at a time.

    Attributes
    ----------
    columns : columns whose numbers are learnt at a time.
    copies : copies of them that this takes.
    most_bytes : bytes that these may take.
    """

    columns: int = 1024
    copies: int = 4
    most_bytes: int = 64 * 2**20


BLOCKS = LearningBlocks()


@dataclass(frozen=True)
class OutlierRules:
    """When extreme values dominate a column.

    Attributes
    ----------
    factor : its standard deviation is so many times that after clipping
    tail : this share of the values on either side,
    fewest_values : and it has so many values at least.
    """

    factor: float = 5.0
    tail: float = 0.05
    fewest_values: int = 40


OUTLIERS = OutlierRules()

#: Names of an index that was written with a table; "Unnamed: 0" is what pandas makes of one without a name.
_ROW_NUMBERS = re.compile(r"unnamed_\d+|Unnamed: 0(\.\d+)?|level_0|__index_level_\d+__")
_ID_NAME = re.compile(r"(.*[_ .-])?(id|ids|key|uuid|guid|index|nr|no)|row_?(number|num|nr|no)?|.*[a-z]I[Dd]")


def learn_encoding(
    table: Table,
    *,
    roles: Roles | None = None,
    standardize: bool = True,
    impute: str | None = None,
    max_levels: int = MAX_LEVELS,
    keep_missing: bool = False,
    normalize: str | None = None,
) -> tuple[TableEncoding, tuple[str, ...]]:
    """The encoding of the columns of a table, and notes on what was done to them.

    Missing values are filled as `impute` says. Without it they stay missing with `keep_missing`, and are refused else.
    Columns named in ``roles.show`` are not used, those in ``roles.use`` are, whatever they look like. With `normalize`
    "counts" the numbers of each row are divided by their sum, and their logarithms taken.
    """
    if normalize not in (None, "counts"):
        raise InputError(f"normalize must be None or 'counts'; got {normalize!r}.")
    if impute not in (None, "median"):
        raise InputError(f"impute must be None or 'median'; got {impute!r}.")
    if not table.n_rows:
        raise InputError("the table has no rows.")
    roles = roles or Roles()
    columns, notes = _usable(table, roles, max_levels)
    if not columns:
        raise InputError(f"no column is left to make a map of{': ' if notes else ''}{'; '.join(notes)}.")
    written = {
        name: way
        for name, column in columns.items()
        if isinstance(column, TextColumn) and name not in roles.use and (way := way_of_writing(column))
    }
    counts = {name: missing_count(column) for name, column in columns.items()}
    if impute is None and not keep_missing:
        refuse_missing(counts, table.n_rows)
    elif impute is None:
        refuse_missing({name: infinite_count(column) for name, column in columns.items()}, table.n_rows, kept=True)
    library_size = None
    if normalize is not None:
        columns, library_size = _by_library(columns, written)
        notes.append(
            f"counts were divided by the sum of their row, times {library_size:.6g}, the median of these sums, and "
            "log(1 + x) was taken (normalize='counts')"
        )
    elif table.show:
        notes += describe_counts(columns)
    learnt = _learn_columns(columns, written, standardize, impute)
    text_target = table.target is not None and table.target.dtype.kind == "O"
    encoding = TableEncoding(
        learnt, roles.target, roles.ids, text_target, standardize, roles.also, keep_missing and impute is None,
        given=roles.given, library_size=library_size,
    )  # fmt: skip
    return encoding, (*notes, *_describe(encoding, columns, counts))


# Counts


def _by_library(columns: dict[str, Column], written: dict[str, str]) -> tuple[dict[str, Column], float]:
    """The columns with counts by library size, and the median of these sizes."""
    names = [name for name, column in columns.items() if not isinstance(column, TextColumn) and name not in written]
    numbers = [as_counts(name, columns[name]) for name in names]
    sizes = library_sizes(numbers) if numbers else np.zeros(1)
    if not (sizes > 0).any():
        raise InputError("normalize='counts' needs columns of counts, and none of them holds a number above 0.")
    size = float(np.median(sizes[sizes > 0]))
    return columns | dict(zip(names, log_counts(numbers, size), strict=True)), size


def describe_counts(columns: dict[str, Column]) -> list[str]:
    """That cells look like raw counts."""
    numbers = [column[:200] for column in columns.values() if not isinstance(column, TextColumn)]
    largest = max((float(column.max(initial=0.0)) for column in numbers), default=0.0)
    if largest < COUNTS_FROM or not all(((one >= 0) & (one == np.round(one))).all() for one in numbers):
        return []
    return [
        f"the matrix holds whole numbers up to {largest:.0f}, which look like raw counts: normalize='counts' divides "
        "them by library size and takes log(1 + x)"
    ]


# Which columns are used


def _usable(table: Table, roles: Roles, max_levels: int) -> tuple[dict[str, Column], list[str]]:
    """The columns to make a map of, and why others are shown only."""
    columns: dict[str, Column] = {}
    notes = []
    most = min(max(max_levels, min(table.n_rows // 100, 10 * max_levels)), max(2, table.n_rows // 2))
    doubtful: dict[str, str] = {}
    empty = []
    for name, column in table.columns.items():
        if name in roles.shown or name in table.show:
            continue
        use_it = f"use={[name]}"
        if name in roles.use:
            columns[name] = column
        elif missing_count(column) == len(column) and not infinite_count(column):
            empty.append(name)
        elif _ROW_NUMBERS.fullmatch(name) and _is_index(name, column):
            notes.append(f"column {name!r} has no name and numbers the rows: it was left out ({use_it} uses it)")
        elif _is_id(name, column):
            notes.append(
                f"column {name!r} names the rows: shown, not used (id={name!r} names them by it, {use_it} uses it)"
            )
        elif codes := _postal_codes(name, column):
            few = len(codes.levels) <= most
            notes.append(
                f"column {name!r} holds postal codes, which are no quantity: "
                f"{'used as categories' if few else 'shown, not used'} ({use_it} uses their numbers)"
            )
            columns |= {name: codes} if few else {}
        elif isinstance(column, TextColumn) and way_of_writing(column):
            columns[name] = without_dashes(column)
        elif not isinstance(column, TextColumn) or len(column.levels) <= most:
            columns[name] = column
        elif words := _words_among_numbers(column):
            doubtful[name] = quoted(words, 3)
        else:
            example = column.levels[0] if len(column.levels[0]) <= 40 else column.levels[0][:40] + "..."
            notes.append(
                f"column {name!r} holds {len(column.levels)} different texts such as {example!r}: shown, not used "
                f"({use_it} takes them as categories)"
            )
    if empty:
        notes.append(f"columns without any value were left out: {quoted(empty)}")
    if doubtful:
        each = "; ".join(f"{name!r} but for {words}" for name, words in list(doubtful.items())[:8])
        raise InputError(
            f"Some columns hold numbers with words among them: {each}. Empty these to have them taken as "
            f"missing, or leave the columns out of the map with show={list(doubtful)}."
        )
    return columns, notes


def _is_index(name: str, column: Column) -> bool:
    """Whether a column without a name is 0, 1, 2, ... or 1, 2, 3, ...; of the first one of a file, what is left of it.

    Rows that were drawn, sorted or put together have their former numbers: whole, from 0 on, and many.
    """
    if isinstance(column, TextColumn):
        return len(column.levels) == len(column) > 1
    if len(column) and column[0] in (0, 1) and np.array_equal(column, column[0] + np.arange(len(column))):
        return True
    if name.startswith("unnamed_") and name != "unnamed_1":
        return False
    whole = bool((column >= 0).all() and (column == np.round(column)).all())
    return whole and len(np.unique(column)) > min(MAX_LEVELS, len(column) // 2)


def _postal_codes(name: str, column: Column) -> TextColumn | None:
    """Whole numbers of a column that is named like postal codes, as text; None for any other column."""
    named = re.fullmatch(r"(.*[_ .-])?(zip|zip[_ -]?codes?|post(al)?[_ -]?codes?|plz)", name.lower())
    if isinstance(column, TextColumn) or not named:
        return None
    known = column[np.isfinite(column)]
    return numbers_as_text(column) if len(known) and (known == np.round(known)).all() else None


def _is_id(name: str, column: Column) -> bool:
    """Whether a column is named like a key and has another value, whole or text, in every row."""
    if not _ID_NAME.fullmatch(name) and not _ID_NAME.fullmatch(name.lower()):
        return False
    if isinstance(column, TextColumn):
        return len(column.levels) == len(column) > 1
    whole = bool((column == np.round(column)).all())
    # Keys beyond 2^53 may have become equal as numbers; no measure is that exact.
    return whole and len(column) > 1 and (len(np.unique(column)) == len(column) or bool((column >= 2.0**53).all()))


def _words_among_numbers(column: TextColumn) -> list[str]:
    """The levels that keep a column of numbers from being one; none if most levels are words."""
    words = [level for level in column.levels if not (is_number(level) or is_plain_number(level))]
    return words if len(words) < len(column.levels) / 2 else []


# Levels, fill and standardisation


def _learn_columns(
    columns: dict[str, Column], written: dict[str, str], standardize: bool, impute: str | None
) -> tuple[ColumnEncoding, ...]:
    learnt: dict[str, ColumnEncoding] = {}
    numbers: dict[str, NDArray[Any]] = {}
    for name, column in columns.items():
        if not isinstance(column, TextColumn):
            numbers[name] = column
        elif name in written:
            numbers[name] = numbers_of(column, written[name], name)
        else:
            learnt[name] = _learn_text(name, column, standardize, impute)
    names = list(numbers)
    column_bytes = max(8 * BLOCKS.copies * len(next(iter(columns.values()))), 1)
    size = int(np.clip(BLOCKS.most_bytes // column_bytes, 1, BLOCKS.columns))
    for start in range(0, len(names), size):
        part = names[start : start + size]
        block = np.column_stack([numbers[name] for name in part]).astype(np.float64)
        fill, center, scale = _learn_numbers(block, standardize, impute)
        for place, name in enumerate(part):
            filling = None if fill is None else float(fill[place])
            learnt[name] = ColumnEncoding(
                name, None, filling, (float(center[place]),), float(scale[place]), written.get(name)
            )
    return tuple(learnt[name] for name in columns)


def _learn_numbers(
    block: NDArray[np.float64], standardize: bool, impute: str | None
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64], NDArray[np.float64]]:
    """Medians (None without imputation), centres and divisors of columns of numbers."""
    fill = None
    if impute is not None:
        finite = np.isfinite(block)
        fill = np.array(
            [np.median(column[good]) if good.any() else 0.0 for column, good in zip(block.T, finite.T, strict=True)]
        )
        block = np.where(finite, block, fill)
    if not standardize:
        return fill, np.zeros(block.shape[1]), np.ones(block.shape[1])
    missing = np.isnan(block)
    block = np.where(missing, 0.0, block)
    known = ~missing | missing.all(axis=0)  # an empty column is one of zeros
    largest = np.abs(block).max(axis=0, initial=0.0)
    largest[largest == 0] = 1.0  # squares of what is left do not overflow
    scaled = block / largest
    spread = largest * scaled.std(axis=0, where=known)
    first = block[known.argmax(axis=0), np.arange(block.shape[1])]
    spread[(spread == 0) | ((block == first) | ~known).all(axis=0)] = 1.0
    return fill, largest * scaled.mean(axis=0, where=known), spread


def _learn_text(name: str, column: TextColumn, standardize: bool, impute: str | None) -> ColumnEncoding:
    """Levels of a category; its features together have variance 1, as one column of numbers has."""
    codes = column.codes
    shares = np.bincount(codes[codes >= 0], minlength=len(column.levels)) / max(int((codes >= 0).sum()), 1)
    fill = column.levels[int(shares.argmax())] if impute is not None and column.levels else None
    learnt = ColumnEncoding(name, column.levels, fill, (0.0,) * len(column.levels), 1.0)
    if not standardize:
        return learnt
    block, _ = features_of(learnt, column)
    block = block[~np.isnan(block).any(axis=1)] if block.size else block
    if not len(block):
        return learnt
    spread = float(np.sqrt(block.var(axis=0).sum()))
    return ColumnEncoding(name, column.levels, fill, tuple(block.mean(axis=0).tolist()), spread or 1.0)


# Notes


def _describe(encoding: TableEncoding, columns: dict[str, Column], counts: dict[str, int]) -> list[str]:
    """What was done to the columns, in words."""
    notes = []
    for column in encoding.columns:
        if column.written is not None:
            notes.append(_describe_column(column, columns[column.name]))
    text = [f"{column.name} ({len(column.levels)})" for column in encoding.columns if column.levels is not None]
    if text:
        notes.append(f"text columns became one feature per level: {', '.join(text[:12])}{', ...' if text[12:] else ''}")
    for column in encoding.columns:
        notes += describe_alike(f"levels of column {column.name!r}", column.levels or ())
    for name, values in columns.items():
        if isinstance(values, TextColumn) and (words := _words_among_numbers(values)):
            notes.append(f"column {name!r} was taken as text because of {quoted(words, 3)} among its numbers")
    filled = {name: count for name, count in counts.items() if count}
    if filled:
        shown = ", ".join(f"{name!r} {count}" for name, count in list(filled.items())[:8])
        notes.append(
            f"missing values stay missing (impute='median' fills them): {shown}"
            if encoding.keep_missing
            else f"missing values were filled with the median (text: the most frequent level): {shown}"
        )
    constant = [name for name, values in columns.items() if _is_constant(values)]
    if constant:
        notes.append(f"constant columns tell nothing and were kept: {quoted(constant)}")
    if encoding.standardize:
        notes += [
            f"{count} of {len(columns[name])} values of column {name!r} {'lies' if count == 1 else 'lie'} far out and "
            f"{'sets' if count == 1 else 'set'} its scale: the others hardly count (show={[name]} keeps it out of the "
            "map; a logarithm may help)"
            for name, count in far_out(columns).items()
        ]
        notes.append("columns were standardised (mean 0, variance 1); standardize=False keeps them as they are")
    else:
        notes.append("columns were used as they are, without standardising")
    return notes


def describe_alike(what: str, levels: Iterable[str]) -> list[str]:
    """That some levels differ in case or blanks only, and so may be meant to be one."""
    groups: dict[str, list[str]] = {}
    for level in sorted(set(map(str, levels))):
        groups.setdefault("".join(level.casefold().split()), []).append(level)
    alike = [" and ".join(map(repr, group[:3])) for group in groups.values() if len(group) > 1]
    if not alike:
        return []
    shown = "; ".join(alike[:3]) + (f"; and {len(alike) - 3} more" if alike[3:] else "")
    return [f"{what} that differ only in case or blanks are kept apart: {shown}"]


def _describe_column(column: ColumnEncoding, values: Column) -> str:
    """A column of dates, times or amounts, and how it can be used otherwise."""
    written, levels = str(column.written), values.levels if isinstance(values, TextColumn) else ()
    dates = kind_of(written) == "dates"
    way_out = (
        f"show={[column.name]} keeps it out of the map" if dates else f"use={[column.name]} takes them as categories"
    )
    return f"column {column.name!r} {describe_written(written, levels)} ({way_out})"


def describe_written(written: str, levels: Iterable[str]) -> str:
    """That dates, times or amounts are numbers, with an example that shows how they are read."""
    kind = kind_of(written)
    if kind == "dates":
        return "holds dates: used as days since 1970"
    example = max(levels, key=lambda level: (len(level), level))
    number = numbers_of(TextColumn(np.zeros(1, dtype=np.intp), (example,)), written, example)[0]
    return f"holds {kind}: {example!r} is used as {number:{'.15g' if kind == 'amounts' else '.5g'}}"


def far_out(columns: dict[str, Column]) -> dict[str, int]:
    """Columns of numbers whose spread comes from a few values, with the number of these.

    They lie more than ten times the standard deviation of the clipped values from the median.
    """
    counts = {}
    for name, values in columns.items():
        known = np.empty(0) if isinstance(values, TextColumn) else values[np.isfinite(values)]
        if len(known) < OUTLIERS.fewest_values:
            continue
        known = known / (np.abs(known).max() or 1.0)  # squares do not overflow
        low, middle, high = np.quantile(known, [OUTLIERS.tail, 0.5, 1 - OUTLIERS.tail])
        usual = float(np.clip(known, low, high).std())
        if usual > 0 and known.std() > OUTLIERS.factor * usual:
            counts[name] = int((np.abs(known - middle) > 2 * OUTLIERS.factor * usual).sum())
    return counts


def _is_constant(column: Column) -> bool:
    values = column.codes if isinstance(column, TextColumn) else column
    known = values[values >= 0] if isinstance(column, TextColumn) else values[np.isfinite(values)]
    return len(known) == 0 or bool((known == known[0]).all())
