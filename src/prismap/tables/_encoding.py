"""From columns to the numbers a map is fitted on, learnt once and repeated on every later file.

Numeric columns stay one feature, dates become days since 1970, times hours, amounts such as "€1,234.50" numbers, and a
text column with few levels becomes one feature per level (1 where it holds). With `standardize` every column is centred
and divided so that its variance is 1; a text column counts as one column here, so its features share the divisor
sqrt(sum_l p_l (1 - p_l)), with p_l the share of level l. Missing values are refused, kept as NaN (of a text column in
all of its features), or filled with the median (numbers, dates) or the most frequent level (text). A column
that a later table lacks is one of missing values, if the map can do without it. With ``normalize="counts"`` the numbers
of a row are counts and first become ``log(1 + m x_j / sum_k x_k)``, with m the median of these sums (library sizes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.repr import Brief
from prismap.exceptions import FileFormatError, InputError
from prismap.tables._arrow import table_from_frame
from prismap.tables._cells import matrix_named_by
from prismap.tables._column import Column, TextColumn, infinite_count, missing_count
from prismap.tables._parsed_text import date_format, is_known, kind_of, numbers_of
from prismap.tables._table import Roles, Table, nearest, quoted

#: Types of columns whose features are kept in single precision.
SINGLE = {np.dtype(np.float16), np.dtype(np.float32)}


@dataclass(frozen=True)
class ColumnEncoding:
    """One column of a file: its levels (None for numbers), the value for missing ones, and the standardisation.

    `written` is how dates, times or amounts are written in a column of them, which becomes a number.
    """

    name: str
    levels: tuple[str, ...] | None
    fill: float | str | None
    center: tuple[float, ...]
    scale: float
    written: str | None = None

    @property
    def feature_names(self) -> list[str]:
        """The names of the features the column becomes."""
        return [self.name] if self.levels is None else [f"{self.name}={level}" for level in self.levels]


@dataclass(frozen=True, repr=False)
class Encoded(Brief):
    """Rows as numbers, and how many values of each column were filled or had a level unseen at fit.

    The numbers are in single precision if those of all numeric columns are. `given` are the levels that the table
    brings along. `levels` are those unseen at fit, by column. `absent` are columns that the table lacks, each with the
    most similar name of a column that the map does not know, empty without one. Rows are `doubtful` if these columns
    tell much about the target.
    """

    X: NDArray[Any]
    filled: dict[str, int] = field(default_factory=dict)
    unknown: dict[str, int] = field(default_factory=dict)
    given: NDArray[Any] | None = None
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)
    doubtful: bool = False

    @property
    def surprises(self) -> list[str]:
        """Columns and levels that are not as at the fit, in words."""
        absent = [describe_absent(self.absent, doubtful=self.doubtful)] if self.absent else []
        return [*absent, *(describe_unknown(name, count, self.levels) for name, count in self.unknown.items())]


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
    also: tuple[str, ...] = ()
    """Further targets, of which `target` is the first."""
    keep_missing: bool = False
    """Whether values that no column has a filling for are NaN; they are refused otherwise."""
    written_targets: tuple[tuple[str, str], ...] = ()
    """Targets that are quantities and written as dates, times or amounts, each with its way of writing."""
    given: str | None = None
    """The column whose levels are taken out of the map; None without one."""
    library_size: float | None = None
    """The sum that the counts of each row are brought to before the logarithm; None if the numbers are no counts."""

    @property
    def feature_names(self) -> list[str]:
        """The names of the features, in their order."""
        return [name for column in self.columns for name in column.feature_names]

    @property
    def names(self) -> list[str]:
        """The names of the columns that a file must have."""
        return [column.name for column in self.columns]

    @property
    def feature_places(self) -> dict[str, list[int]]:
        """Where the features of each column stand."""
        ends = np.cumsum([len(column.center) for column in self.columns]).tolist()
        starts = [0, *ends[:-1]]
        return {column.name: list(range(*ends_of)) for column, *ends_of in zip(self.columns, starts, ends, strict=True)}

    @property
    def roles(self) -> Roles:
        """How to read a later file: what was text is text again, and target and ids may be absent."""
        text = [column.name for column in self.columns if column.levels is not None or column.written is not None]
        if self.text_target and self.target is not None:
            text.append(self.target)
        text += [name for name, _ in self.written_targets]
        matrix = matrix_named_by(self.columns[0].name) if self.columns else None
        return Roles(
            self.target, self.ids, text=tuple(text), required=False, matrix=matrix, also=self.also,
            written=self.written_targets, given=self.given,
        )  # fmt: skip

    def apply(self, batch: Any, *, may_lack: Callable[[tuple[str, ...]], str] | None = None) -> Encoded:
        """The rows of a `Table`, or of a data frame, as numbers; columns are found by name.

        Columns that it lacks are refused, unless `may_lack` says of their names that the map can do without them:
        "yes", or "doubtful" if the rows are not to be trusted then.
        """
        table = batch if isinstance(batch, Table) else table_from_frame(batch, self.roles)
        table, absent, doubtful = self._completed(table, may_lack)
        self._refuse_missing_values(table)
        filled, unknown, levels = {}, {}, {}
        values_of = self._normalized([table.columns[column.name] for column in self.columns])
        n_features = sum(len(column.center) for column in self.columns)
        X = np.empty((table.n_rows, n_features), dtype=_precision(self.columns, values_of))
        start = 0
        for column, values in zip(self.columns, values_of, strict=True):
            block, n_unknown = features_of(column, values)
            block -= column.center
            block /= column.scale
            X[:, start : start + len(column.center)] = block  # rounded at the end, if at all
            start += len(column.center)
            if n_unknown:
                unknown[column.name] = n_unknown
                text = values if isinstance(values, TextColumn) else numbers_as_text(values)
                levels[column.name] = tuple(level for level in text.levels if level not in set(column.levels or ()))
            if column.fill is not None and column.name not in absent and (n_filled := missing_count(values)):
                filled[column.name] = n_filled
        return Encoded(X, filled, unknown, table.given, levels, absent, doubtful)

    def _normalized(self, values: list[Column]) -> list[Column]:
        """The same with counts by library size, if numbers are counts."""
        if self.library_size is None:
            return values
        counts = {place for place, one in enumerate(self.columns) if one.levels is None and one.written is None}
        numbers = [as_counts(self.columns[place].name, values[place]) for place in sorted(counts)]
        scaled = iter(log_counts(numbers, self.library_size))
        return [next(scaled) if place in counts else one for place, one in enumerate(values)]

    def shown(self, table: Table) -> dict[str, NDArray[Any]]:
        """All columns of a table as a page shows them.

        Dates are points in time, whether they are used or not; times and amounts are the numbers they are used as.
        """
        written = {column.name: column.written for column in self.columns}
        shown = {}
        for name, column in table.columns.items():
            way = written.get(name)
            if not isinstance(column, TextColumn):
                shown[name] = column
                continue
            way = date_format(column) if way is None else way
            if way is None:
                shown[name] = column.values()
            else:
                numbers = numbers_of(column, way, name)
                shown[name] = points_in_time(numbers) if kind_of(way) == "dates" else numbers
        return shown

    def decoded(self, X: NDArray[Any]) -> dict[str, NDArray[Any]]:
        """The columns that features were made of, by name: the inverse of `apply`, but for what that left out."""
        columns, start = {}, 0
        for column in self.columns:
            block = np.asarray(X[:, start : start + len(column.center)], dtype=np.float64)
            block = block * column.scale + np.asarray(column.center)
            start += len(column.center)
            if column.levels is not None:
                levels = np.array([*column.levels, None], dtype=object)
                known = np.isfinite(block).all(axis=1) & (block.max(axis=1, initial=0.0) > 0.5)
                columns[column.name] = levels[np.where(known, block.argmax(axis=1), -1)]
            elif column.written is not None and kind_of(column.written) == "dates":
                columns[column.name] = points_in_time(block[:, 0])
            else:
                columns[column.name] = block[:, 0].astype(X.dtype)
        return columns

    @property
    def date_targets(self) -> tuple[str, ...]:
        """Targets that are dates: days since 1970."""
        return tuple(name for name, way in self.written_targets if kind_of(way) == "dates")

    def _completed(
        self, table: Table, may_lack: Callable[[tuple[str, ...]], str] | None
    ) -> tuple[Table, dict[str, str], bool]:
        """The table with missing values for the columns that it lacks, these, and whether its rows are in doubt."""
        missing = tuple(name for name in self.names if name not in table.columns)
        if not missing:
            return table, {}, False
        unused = [name for name in table.columns if name not in set(self.names)]
        absent = {name: next(iter(nearest(name, unused)), "") for name in missing}
        knows_how = self.keep_missing or all(one.fill is not None for one in self.columns if one.name in absent)
        answer = may_lack(missing) if may_lack is not None and knows_how else None
        if answer in (None, "no"):
            other = f" Columns the map does not know: {quoted(unused, 30)}." if unused else ""
            why = " The other columns tell too little to place rows by them." if answer == "no" else ""
            raise InputError(
                f"the table lacks {len(missing)} of the {len(self.columns)} columns of the map: {_lacked(absent)}."
                f"{why}{other}"
            )
        text = {one.name for one in self.columns if one.levels is not None or one.written is not None}
        none, nan = TextColumn(np.full(table.n_rows, -1, dtype=np.intp), ()), np.full(table.n_rows, np.nan)
        columns = table.columns | {name: none if name in text else nan for name in missing}
        return replace(table, columns=columns), absent, answer == "doubtful"

    def _refuse_missing_values(self, table: Table) -> None:
        count = infinite_count if self.keep_missing else missing_count
        counts = {column.name: count(table.columns[column.name]) for column in self.columns if column.fill is None}
        refuse_missing(counts, table.n_rows, kept=self.keep_missing)

    def to_dict(self) -> dict[str, Any]:
        """As JSON stores it."""
        return {**vars(self), "columns": [vars(column) for column in self.columns]}

    @classmethod
    def from_dict(cls, about: Any) -> TableEncoding:
        """From `to_dict`; anything else is refused, since it comes from a file."""
        try:
            columns = tuple(_checked_column(**column) for column in about["columns"])
            options = {key: about[key] for key in ("target", "ids", "text_target", "standardize", "keep_missing")}
            if len({column.name for column in columns}) < len(columns) or not all(
                isinstance(value, (str, type(None)) if key in ("target", "ids") else bool)
                for key, value in options.items()
            ):
                raise ValueError("columns or options are not as they should be")
            given = about.get("given")
            if not isinstance(given, (str, type(None))):
                raise ValueError("the column of its levels has no name")
            size = about.get("library_size")
            if size is not None and not (isinstance(size, (int, float)) and 0 < size < np.inf):
                raise ValueError("its counts have no sum")
            also = tuple(about["also"])
            if not all(isinstance(name, str) for name in also):
                raise ValueError("its targets have no names")
            written = tuple((name, way) for name, way in about["written_targets"])
            if not all(name in (about["target"], *also) and is_known(way) for name, way in written):
                raise ValueError("its targets are written in no known way")
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(f"the encoding of the columns stored with the map is damaged: {error!r}.") from error
        return cls(columns, **options, also=also, written_targets=written, given=given, library_size=size)


def describe_absent(absent: Mapping[str, str], *, doubtful: bool) -> str:
    """That columns are taken as missing, in words."""
    one = len(absent) == 1
    what, count = ("a column", "It counts") if one else (f"{len(absent)} columns", "They count")
    doubt = f", but {'it tells' if one else 'they tell'} much about the target: do not trust these positions"
    return (
        f"the table lacks {what} of the map: {_lacked(absent)}. {count} as missing in all rows, which are placed by "
        f"the other columns{doubt if doubtful else ''}"
    )


def _lacked(absent: Mapping[str, str]) -> str:
    """The names of columns, each with a name that may be meant."""
    each = [f"-{name!r}" + (f" (+{near!r}?)" if near else "") for name, near in absent.items()]
    return ", ".join(each[:8]) + (f" and {len(each) - 8} more" if each[8:] else "")


def describe_unknown(name: str, count: int, levels: Mapping[str, Iterable[str]]) -> str:
    """That a column has levels that the map has not seen, in words."""
    new = quoted(levels.get(name, ()), 5)
    which = f"column {name!r} has levels in {count} of the rows that the map has not seen"
    return f"{which}: {new}. They count as none of its own"


def log_counts(columns: Sequence[NDArray[Any]], size: float) -> list[NDArray[Any]]:
    """Counts by library size: ``log(1 + size x / sum)``, missing values are not counted; rows of zeros stay zero.

    >>> [column.round(2).tolist() for column in log_counts([np.array([1.0, 30.0]), np.array([3.0, 10.0])], 4.0)]
    [[0.69, 1.39], [1.39, 0.69]]
    """
    totals = library_sizes(columns)
    share = size / np.where(totals > 0, totals, 1.0)
    return [
        np.log1p(column * share).astype(column.dtype if column.dtype in SINGLE else np.float64) for column in columns
    ]


def library_sizes(columns: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
    """The sum of each row over the columns, in double precision."""
    totals = np.zeros(len(columns[0]))
    for column in columns:
        totals += np.nan_to_num(column.astype(np.float64))
    return totals


def as_counts(name: str, values: Column) -> NDArray[Any]:
    """A column of counts, or a refusal that names it."""
    known = np.empty(0) if isinstance(values, TextColumn) else values[~np.isnan(values)]
    odd = known[(known < 0) | (known != np.round(known)) | ~np.isfinite(known)]
    if isinstance(values, TextColumn) or len(odd):
        example = values.levels[0] if isinstance(values, TextColumn) else f"{odd[0]:.6g}"
        raise InputError(
            f"normalize='counts' needs whole numbers from 0 on; column {name!r} holds {example}. Leave it out of the "
            f"map (show={[name]}), or leave normalize='counts' out if the numbers are normalised already."
        )
    return values


def points_in_time(days: NDArray[np.float64]) -> NDArray[np.datetime64]:
    """Days since 1970 as points in time, to the second; NaT where missing."""
    known = np.isfinite(days)
    seconds = np.rint(np.where(known, days, 0.0) * 86_400.0).astype(np.int64).astype("datetime64[s]")
    return np.where(known, seconds, np.datetime64("NaT", "s"))


def encoding_of(model: Any) -> TableEncoding:
    """How tables for a map are read: as the map's own was; its columns as they are, if it was made of an array."""
    fitted = getattr(model, "map_", None)
    if fitted is not None and fitted.data.kind == "objects":
        raise InputError(
            "this map is made of objects, and a table holds none: place new ones in Python, "
            "PrisMap.load(path).transform(objects)."
        )
    if getattr(model, "encoding_", None) is not None:
        return model.encoding_  # type: ignore[no-any-return]
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{place}" for place in range(model.n_features_in_)]
    columns = tuple(ColumnEncoding(str(name), None, None, (0.0,), 1.0) for name in names)
    levels = None if fitted is None else fitted.given.levels
    return TableEncoding(
        columns, standardize=False, keep_missing=getattr(model, "data", None) == "vectors",
        given=None if levels is None else levels.name,
    )  # fmt: skip


def refuse_missing(counts: dict[str, int], n_rows: int, *, kept: bool = False) -> None:
    """Missing and infinite values are refused with their number in each column; infinite ones only, if `kept`."""
    counts = {name: count for name, count in counts.items() if count}
    if counts:
        each = ", ".join(f"{name!r} {count}" for name, count in list(counts.items())[:8])
        more = f" and {len(counts) - 8} more columns" if len(counts) > 8 else ""
        where = f"{len(counts)} column{'s' if len(counts) > 1 else ''}, of {n_rows} rows"
        raise InputError(
            f"{'' if kept else 'missing or '}infinite values in {where}: {each}{more}. Fill them before, leave the "
            "columns out (drop=...), or fit with impute='median'."
        )


def _precision(columns: tuple[ColumnEncoding, ...], values: list[Column]) -> type[np.floating[Any]]:
    """Single precision if all numbers are given in it; levels have no digits to lose, dates have."""
    numbers = [one for column, one in zip(columns, values, strict=True) if column.levels is None]
    single = (isinstance(one, np.ndarray) and one.dtype in SINGLE for one in numbers)
    return np.float32 if numbers and all(single) else np.float64


def features_of(column: ColumnEncoding, values: Column) -> tuple[NDArray[np.float64], int]:
    """The features of a column before standardisation, and how many had an unknown level.

    Missing values are filled, or NaN without a filling.
    """
    if column.levels is None:
        if isinstance(values, TextColumn):
            if column.written is None and values.levels and all(map(is_number, values.levels)):
                # the same numbers, declared a category since
                numbers = np.array([*map(float, values.levels), np.nan])[values.codes]
                return features_of(column, numbers)
            if column.written is None:
                words = [level for level in values.levels if not is_number(level)] or values.levels
                raise InputError(
                    f"column {column.name!r} held numbers when the map was fitted and holds text now, such as "
                    f"{quoted(words, 3)}."
                )
            values = numbers_of(values, column.written, column.name)
        numbers = values.astype(np.float64)
        if column.fill is not None:
            numbers[~np.isfinite(numbers)] = column.fill
        return numbers[:, None], 0
    values = values if isinstance(values, TextColumn) else numbers_as_text(values)
    place = {level: number for number, level in enumerate(column.levels)}
    known = np.array([*(place.get(level, -1) for level in values.levels), -1], dtype=np.intp)
    codes = known[values.codes]
    if column.fill is not None:
        codes[values.codes < 0] = place[str(column.fill)]
    missing = (values.codes < 0) & (codes < 0)
    block = np.zeros((len(codes), len(column.levels)))
    rows = np.flatnonzero(codes >= 0)
    block[rows, codes[rows]] = 1.0
    block[missing] = np.nan
    return block, len(codes) - len(rows) - int(missing.sum())


def is_number(token: str) -> bool:
    """Whether a token reads as a number."""
    try:
        float(token)
    except ValueError:
        return False
    return True


def numbers_as_text(values: NDArray[Any]) -> TextColumn:
    """Numbers of a column that was text at fit, whole ones without a point."""
    known = np.isfinite(values)
    levels, places = np.unique(values[known], return_inverse=True)
    codes = np.full(len(values), -1, dtype=np.intp)
    codes[known] = places
    return TextColumn(codes, tuple(str(int(level) if level == int(level) else level) for level in levels.tolist()))


def _checked_column(name: Any, levels: Any, fill: Any, center: Any, scale: Any, written: Any) -> ColumnEncoding:
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
        and (written is None or (levels is None and isinstance(written, str) and is_known(written)))
    )
    if not good:
        raise ValueError(f"column {name!r}")
    return ColumnEncoding(name, None if levels is None else tuple(levels), fill, tuple(center), float(scale), written)
