"""From a table to a map and back: one way for Python and the command line.

`prepare` decides what each column is good for and what the target is; the map keeps the encoding and repeats it on
every later table. Arrays are taken as they are: one for a map of a table has its features, encoded already.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.evidence import SIGNIFICANT, paired_gap
from prismap._util.missing import mean_filled
from prismap._util.optional import import_extra
from prismap.exceptions import InputError, PrismapWarning
from prismap.map._fitted import FittedMap
from prismap.map._given import check_given, row_names
from prismap.map._held import placed_on
from prismap.metrics._geometry import data_metric
from prismap.metrics._shift import without_levels
from prismap.quality import MapReport
from prismap.quality._errors import errors_of
from prismap.tables import Roles, Table, TableEncoding, TextColumn, is_frame, learn_encoding, table_from_frame
from prismap.tables._column import text_column
from prismap.tables._learning import describe_alike, describe_written
from prismap.tables._parsed_text import numbers_of, way_of_writing
from prismap.tables._table import quoted
from prismap.target import decide_target, decide_units, make_target
from prismap.target._decision import FEW_VALUES

Written = tuple[tuple[str, str], ...]

#: Of fewer rows nothing is looked for that could make them dependent.
FEWEST_ROWS = 10
#: Kinds of data whose columns are features.
COLUMNS = ("vectors", "cosine")


@dataclass(frozen=True)
class Prepared:
    """A table ready to be mapped: its numbers, its target and the kind of that, and what was decided on the way."""

    X: NDArray[np.float64]
    y: Any
    """The target; several by name."""
    target_kind: Any
    encoding: TableEncoding
    notes: tuple[str, ...]
    dependence: Any = None
    """Which rows are not independent, if it was decided; else the groups of the rows, or None."""
    order: Any = None
    """A time or position per row, where that is left to the fit."""
    given: Any = None
    """The levels of a column that is of no interest."""


def prepare(
    table: Table,
    roles: Roles,
    *,
    data: str = "vectors",
    target_kind: Any = "auto",
    standardize: bool = True,
    impute: str | None = None,
    copies: str = "auto",
    normalize: str | None = None,
) -> Prepared:
    """Numbers, target and units of a table that was read with these roles."""
    names = [roles.target, *roles.also]
    if len(set(names)) < len(names):
        raise InputError(f"a target is named twice: {quoted([str(name) for name in names])}.")
    if roles.given is not None and roles.is_target(roles.given):
        raise InputError(f"column {roles.given!r} is the target and given, too: a map cannot show what it leaves out.")
    if data in COLUMNS:
        encoding, notes = learn_encoding(
            table, roles=roles, standardize=standardize, impute=impute, keep_missing=data == "vectors",
            normalize=normalize,
        )  # fmt: skip
    elif normalize is not None:
        raise InputError(f"normalize={normalize!r} is for columns of counts; data={data!r} is a matrix of pairs.")
    else:
        encoding, notes = _encode_matrix(table, roles, data), ()
    X = encoding.apply(table).X
    table, written, remarks = with_quantities(table, roles, X, data=data, target_kind=target_kind)
    encoding, notes = replace(encoding, written_targets=written), (*table.notes, *notes, *remarks)
    if roles.also and target_kind != "none":
        ready = Prepared(X, named_targets(table, roles), target_kind, encoding, (*notes, *without_some(table)))
    else:
        y, kind, remarks = _target(table, X, data, target_kind, roles.target)
        ready = Prepared(X, y, kind, encoding, (*notes, *remarks))
    return with_units(replace(ready, given=table.given), table, roles, data=data, copies=copies)


def with_units(ready: Prepared, table: Table, roles: Roles, *, data: str, copies: str) -> Prepared:
    """The same with the rows that are not independent: by columns that roles name, or that look like names of units."""
    groups: Any = "none" if roles.independent else None
    if roles.groups is not None:
        groups = NamedColumn(unit_values(table, roles.groups, roles), roles.groups)
    order = None if roles.order is None else order_values(table, roles.order)
    if data not in COLUMNS or table.n_rows < FEWEST_ROWS:
        return replace(ready, dependence=groups, order=order)
    check_given(ready.given, ready.X, data_metric(data))
    target = make_target(ready.y, table.n_rows, ready.target_kind, X=ready.X, data="vectors")
    columns = {name: unit_values(table, name, roles) for name in (*table.columns, roles.ids) if name is not None}
    alike = without_levels(ready.X, target, ready.given)
    dependence = decide_units(
        alike, target, groups=groups, order=order, copies=copies, columns=columns,
        encoded=ready.encoding.feature_places, raw=ready.X,
    )  # fmt: skip
    return replace(ready, dependence=dependence, notes=(*ready.notes, *dependence.notes))


class NamedColumn(list[Any]):
    """Groups or levels with the name of their column, which says what one is called."""

    def __init__(self, values: Any, name: str) -> None:
        super().__init__(values)
        self.name = name


def unit_values(table: Table, name: str, roles: Roles) -> list[Any]:
    """The values of a column, None where they are missing."""
    if name == roles.ids and table.ids is not None:
        return list(table.ids.tolist())
    column = table.columns[name]
    return list((column.values() if isinstance(column, TextColumn) else np.ma.asarray(column)).tolist())


def order_values(table: Table, name: str) -> NDArray[Any]:
    """The values of a column that is an order: numbers, dates or times."""
    column = table.columns[name]
    if not isinstance(column, TextColumn):
        return np.asarray(np.ma.filled(np.ma.asarray(column, dtype=np.float64), np.nan))
    way = way_of_writing(column)
    if way is None:
        raise InputError(f"order={name!r} must hold numbers, dates or times; it holds {quoted(column.levels, 3)}.")
    return np.asarray(numbers_of(column, way, name))


def _encode_matrix(table: Table, roles: Roles, data: str) -> TableEncoding:
    beside = {name for name in (roles.groups, roles.order) if name is not None}
    table = replace(table, columns={name: one for name, one in table.columns.items() if name not in beside})
    text = [name for name, column in table.columns.items() if isinstance(column, TextColumn)]
    if text:
        raise InputError(
            f"data={data!r} needs numbers only; {text[0]!r} is text: name it as target or id, or drop={text[:1]}."
        )
    if len(table.columns) != table.n_rows:
        raise InputError(
            f"data={data!r} needs as many columns as rows; got {table.n_rows} rows and {len(table.columns)} columns "
            "beside target and id."
        )
    return learn_encoding(table, roles=replace(roles, use=tuple(table.columns)), standardize=False)[0]


def _target(
    table: Table, X: NDArray[np.float64], data: str, target_kind: str, name: str | None
) -> tuple[NDArray[Any] | None, str, list[str]]:
    """The target, what it is taken for ("none" without one), and why."""
    if table.target is None:
        return None, "none", ["the map has no target: it shows the data alone (target names the column it is about)"]
    if target_kind == "none":
        return None, "none", ["the target was left out (target_kind='none'): the map shows the data alone"]
    missing = np.array([value is None or value != value for value in table.target.tolist()])
    if missing.all():
        raise InputError(f"the target column {name!r} is empty.")
    remarks = [without_target(int(missing.sum()))] if missing.any() else []
    if table.target.dtype.kind == "O":
        remarks += describe_alike("classes of the target", table.target[~missing].tolist())
    if target_kind != "auto":
        return table.target, target_kind, remarks
    decision = decide_target(table.target, X, data)
    if table.target.dtype.kind != "O":
        remarks.append(str(decision).replace("target='", "target_kind='"))
    return table.target, decision.kind, remarks


def named_targets(table: Table, roles: Roles) -> dict[str, Any]:
    """Several targets by name."""
    return {str(roles.target): table.target, **table.also}


def without_some(table: Table) -> list[str]:
    """That rows lack a target, in words."""
    columns = [column for column in (table.target, *table.also.values()) if column is not None]
    missing = np.any([[value is None or value != value for value in column.tolist()] for column in columns], axis=0)
    if not missing.any():
        return []
    n_rows = int(missing.sum())
    return [f"{n_rows} row{'s' if n_rows > 1 else ''} without one of the targets: placed without any of them"]


def without_target(n_rows: int) -> str:
    """That rows have no target, in words."""
    if n_rows == 1:
        return "1 row has no target; it is placed without one"
    return f"{n_rows} rows have no target; they are placed without one"


def fit_table(
    make: Any, table: Any, roles: Roles, *, target_kind: Any, callback: Any, verbose: Any = None, like: Any = None,
    **encoding: Any,
) -> Any:  # fmt: skip
    """A fitted map of a table: `make(target=...)` gives the unfitted one, `encoding` are options of `prepare`.

    like : an earlier map, which reads the table by its own encoding.
    """
    kinds = [target_kind] if isinstance(target_kind, str) else target_kind
    if not set(kinds) <= {"auto", "class", "ordered", "real", "none"}:
        raise InputError(f"target_kind must be 'auto', 'class', 'ordered', 'real' or 'none'; got {target_kind!r}.")
    data = make().data
    if data not in COLUMNS:
        raise InputError("from_table takes columns of features; give a matrix of pairs to fit(X, y).")
    rows = table_from_frame(table, roles)
    ready = prepare(rows, roles, data=data, target_kind=target_kind, copies=make().copies, **encoding)
    if target_kind in ("auto", "ordered"):
        ready = with_order(ready, table, roles)
    model = make(target=ready.target_kind)
    with warnings.catch_warnings():
        # Constant columns are named by the notes.
        warnings.filterwarnings("ignore", message=".* columns are constant", category=PrismapWarning)
        model.fit(
            ready.X, ready.y, groups=ready.dependence, order=ready.order, given=ready.given,
            like=None if like is None else placed_on(like, table), callback=callback, verbose=verbose,
        )  # fmt: skip
    index = row_names(table) if rows.ids is None else rows.ids
    return with_table(model, ready.encoding, index, ready.notes)


def with_table(model: Any, encoding: TableEncoding | None, index: Any, notes: tuple[str, ...] = ()) -> Any:
    """A fitted `PrisMap` that reads tables by this encoding from now on; `index` names the rows."""
    fitted: FittedMap = model.map_
    levels = fitted.given.levels
    if levels is not None and encoding is not None:
        levels = replace(levels, name=encoding.given)
    given = replace(fitted.given, encoding=encoding, row_names=index, levels=levels)
    model.map_ = replace(fitted, given=given, notes=(*fitted.notes, *notes))
    return model


def with_order(ready: Prepared, table: Any, roles: Roles) -> Prepared:
    """The same with targets that are ordered categories of pandas as they are: their order is not in their names."""
    if ready.y is None or not type(table).__module__.startswith("pandas"):
        return ready
    names = (roles.target, *roles.also)
    ordered = {name: table[name] for name in names if getattr(table[name].dtype, "ordered", False)}
    if not ordered:
        return ready
    return replace(ready, y={**ready.y, **ordered} if roles.also else ordered[roles.target], target_kind="auto")


def unit_roles(groups: str | None, order: str | None = None) -> dict[str, Any]:
    """What `Roles` says of rows that are not independent; "none" is no column."""
    return {"groups": None if groups == "none" else groups, "order": order, "independent": groups == "none"}


def names_in(columns: Any) -> tuple[str, ...]:
    """Names of columns: one, or several."""
    return (columns,) if isinstance(columns, str) else tuple(columns)


def encoded(fitted: FittedMap, X: Any) -> Any:
    """What a map reads of X: the features of a table, by the encoding the map was made with; else X itself.

    Levels that the encoding does not know count as none of its own, and columns that are not there as missing, which is
    warned of.
    """
    encoding = fitted.given.encoding
    if encoding is None or not is_frame(X):
        return X
    features = encoding.apply(X, may_lack=may_lack(fitted, encoding))
    for note in features.surprises:
        warnings.warn(f"{note}.", PrismapWarning, stacklevel=5)
    return features.X


def may_lack(fitted: FittedMap, encoding: TableEncoding, most_rows: int = 1000) -> Callable[[tuple[str, ...]], str]:
    """Whether rows can be placed on a map though their table lacks some columns: "yes", "doubtful" or "no".

    With a target, neighbours in the other columns are held against neighbours in all columns: "no" if less than half of
    what these tell about it, above chance, is left, and "doubtful" if clearly less than all. Without one, at least half
    of the features must be there. At most `most_rows` rows are compared.
    """

    @lru_cache(maxsize=8)
    def answer(names: tuple[str, ...]) -> str:
        places = [place for name in names for place in encoding.feature_places[name]]
        if fitted.data.is_matrix or sp.issparse(fitted.rows) or len(places) == fitted.rows.shape[1]:
            return "no"
        some = np.unique(np.linspace(0, len(fitted.rows) - 1, most_rows).astype(int))
        rows, target = mean_filled(np.asarray(fitted.rows)[some]), fitted.target.take(some)
        if not target.exists:
            return "yes" if 2 * len(places) <= rows.shape[1] else "no"
        others = np.delete(rows, places, axis=1)
        answers = {_still_tell(rows, others, column) for column in target.columns}
        return next(one for one in ("no", "doubtful", "yes") if one in answers)

    return answer


def _still_tell(all_columns: NDArray[Any], others: NDArray[Any], target: Any) -> str:
    """Whether neighbours in the other columns tell about a target what those in all columns tell."""
    error = errors_of(target)[0]
    whole, part, chance = error.measure(all_columns, target), error.measure(others, target), error.chance(target)
    if chance - whole > SIGNIFICANT * whole.spread and 2 * (chance - part) < chance - whole:
        return "no"
    units = None if target.independent else target.units[target.labelled]
    gap, uncertain = paired_gap(error.rows(others, target), error.rows(all_columns, target), units)
    return "doubtful" if gap > SIGNIFICANT * uncertain else "yes"


def target_in(encoding: TableEncoding | None, X: Any) -> Any:
    """The target, or several by name, that a table brings along for a map of tables; None if there is none."""
    if encoding is None or encoding.target is None or not is_frame(X):
        return None
    table = table_from_frame(X, encoding.roles)
    return {encoding.target: table.target, **table.also} if table.also else table.target


def story_of_cells(fitted: FittedMap, report: MapReport | None) -> dict[str, Any]:
    """What an AnnData object keeps of a map in `uns`: values that its files can hold."""
    params = {name: str(value) for name, value in fitted.recipe.params.items()}
    verdict = {} if report is None else {"verdict": report.verdict}
    target = "" if fitted.given.encoding is None else fitted.given.encoding.target or ""
    return {"params": params, "target": target, "supervision": float(fitted.supervision), **verdict}


def positions_frame(Y: NDArray[np.float64], names: Any, index: Any) -> Any:
    """Positions as a pandas frame."""
    pandas = import_extra("pandas", extra="io", feature="positions(as_frame=True)")
    if isinstance(index, np.ma.MaskedArray):
        index = index.tolist()
    return pandas.DataFrame(Y, columns=list(names), index=index)


# --- targets that are text and meant as numbers: dates, times and amounts ---------------------------------------------


def with_quantities(
    table: Table, roles: Roles, X: NDArray[Any], *, data: str = "vectors", target_kind: Any = "auto"
) -> tuple[Table, Written, list[str]]:
    """The table with such targets as numbers, how each of them is written, and notes that say so."""
    names = [name for name in (roles.target, *roles.also) if name is not None and table.target is not None]
    kinds = [target_kind] * len(names) if isinstance(target_kind, str) else target_kind
    written, notes = [], []
    for name, kind in zip(names, kinds, strict=False):
        values = np.asanyarray(table.also.get(name, table.target))
        numbers, way = as_quantity(values, name, X, data=data, target_kind=kind)
        if way is None:
            continue
        written.append((name, way))
        notes.append(f"the target {name!r} {describe_written(way, filter(None, values.tolist()))}")
        if name in table.also:
            table = replace(table, also={**table.also, name: numbers})
        else:
            table = replace(table, target=numbers)
    return table, tuple(written), notes


def as_quantity(
    values: NDArray[Any], name: str, X: Any = None, *, data: str = "vectors", target_kind: str = "auto"
) -> tuple[NDArray[Any], str | None]:
    """A target as numbers and how they are written, if it is text meant as a quantity; else as it is, and None.

    With "auto" they stay classes if they are few, such as the prices of three plans, or if their numbers look like
    codes; "real" always takes the numbers.
    """
    if target_kind not in ("auto", "real") or values.dtype.kind != "O":
        return values, None
    column = text_column([None if value is None else str(value) for value in values.tolist()])
    written = way_of_writing(column)
    if written is None or (target_kind == "auto" and len(column.levels) <= FEW_VALUES):
        return values, None
    numbers = numbers_of(column, written, name)
    if target_kind == "auto" and decide_target(numbers, X, data).kind != "real":
        return values, None
    return numbers, written
