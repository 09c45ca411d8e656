"""From a table to a map and back: one way for Python and the command line.

`prepare` decides what each column is good for and what the target is; the map keeps the encoding and repeats it on
every later table. Arrays are taken as they are: one for a map of a table has its features, encoded already.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.optional import import_extra
from prismap.exceptions import InputError, PrismapWarning
from prismap.map._fitted import FittedMap
from prismap.quality import MapReport
from prismap.tables import Roles, Table, TableEncoding, TextColumn, is_frame, learn_encoding, table_from_frame
from prismap.tables._column import text_column
from prismap.tables._learning import copied_rows, describe_alike, describe_copies, describe_written
from prismap.tables._parsed_text import numbers_of, way_of_writing
from prismap.tables._table import quoted
from prismap.target import decide_target
from prismap.target._decision import FEW_VALUES

Written = tuple[tuple[str, str], ...]

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


def prepare(
    table: Table,
    roles: Roles,
    *,
    data: str = "vectors",
    target_kind: Any = "auto",
    standardize: bool = True,
    impute: str | None = None,
) -> Prepared:
    """Numbers and target of a table that was read with these roles."""
    names = [roles.target, *roles.also]
    if len(set(names)) < len(names):
        raise InputError(f"a target is named twice: {quoted([str(name) for name in names])}.")
    if data in COLUMNS:
        encoding, notes = learn_encoding(
            table, roles=roles, standardize=standardize, impute=impute, keep_missing=data == "vectors"
        )
    else:
        encoding, notes = _encode_matrix(table, roles, data), ()
    if data in COLUMNS and (n_copies := copied_rows(table)):
        notes = (*notes, describe_copies(n_copies))
    X = encoding.apply(table).X
    table, written, remarks = with_quantities(table, roles, X, data=data, target_kind=target_kind)
    encoding, notes = replace(encoding, written_targets=written), (*table.notes, *notes, *remarks)
    if roles.also and target_kind != "none":
        return Prepared(X, named_targets(table, roles), target_kind, encoding, (*notes, *without_some(table)))
    y, kind, remarks = _target(table, X, data, target_kind, roles.target)
    return Prepared(X, y, kind, encoding, (*notes, *remarks))


def _encode_matrix(table: Table, roles: Roles, data: str) -> TableEncoding:
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
    make: Any, table: Any, roles: Roles, *, target_kind: Any, callback: Any, verbose: Any = None, **encoding: Any
) -> Any:
    """A fitted map of a table: `make(target=...)` gives the unfitted one, `encoding` are options of `prepare`."""
    kinds = [target_kind] if isinstance(target_kind, str) else target_kind
    if not set(kinds) <= {"auto", "class", "ordered", "real", "none"}:
        raise InputError(f"target_kind must be 'auto', 'class', 'ordered', 'real' or 'none'; got {target_kind!r}.")
    data = make().data
    if data not in COLUMNS:
        raise InputError("from_table takes columns of features; give a matrix of pairs to fit(X, y).")
    rows = table_from_frame(table, roles)
    ready = prepare(rows, roles, data=data, target_kind=target_kind, **encoding)
    if target_kind in ("auto", "ordered"):
        ready = with_order(ready, table, roles)
    model = make(target=ready.target_kind)
    with warnings.catch_warnings():
        # Constant columns are named by the notes.
        warnings.filterwarnings("ignore", message=".* columns are constant", category=PrismapWarning)
        model.fit(ready.X, ready.y, callback=callback, verbose=verbose)
    index = row_names(table) if rows.ids is None else rows.ids
    return with_table(model, ready.encoding, index, ready.notes)


def with_table(model: Any, encoding: TableEncoding | None, index: Any, notes: tuple[str, ...] = ()) -> Any:
    """A fitted `PrisMap` that reads tables by this encoding from now on; `index` names the rows."""
    fitted: FittedMap = model.map_
    given = replace(fitted.given, encoding=encoding, row_names=index)
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


def names_in(columns: Any) -> tuple[str, ...]:
    """Names of columns: one, or several."""
    return (columns,) if isinstance(columns, str) else tuple(columns)


def encoded(encoding: TableEncoding | None, X: Any) -> Any:
    """What a map reads of X: the features of a table, by the encoding the map was made with; else X itself.

    Levels that the encoding does not know count as none of its own, which is warned of.
    """
    if encoding is None or not is_frame(X):
        return X
    features = encoding.apply(X)
    for name, number in features.unknown.items():
        warnings.warn(
            f"column {name!r} has levels in {number} of the rows that the map has not seen; they count as none of "
            "its own.",
            PrismapWarning,
            stacklevel=5,
        )
    return features.X


def target_in(encoding: TableEncoding | None, X: Any) -> Any:
    """The target, or several by name, that a table brings along for a map of tables; None if there is none."""
    if encoding is None or encoding.target is None or not is_frame(X):
        return None
    table = table_from_frame(X, encoding.roles)
    return {encoding.target: table.target, **table.also} if table.also else table.target


def row_names(X: Any) -> Any:
    """The index of a pandas frame; None for all else, whose rows have no names."""
    return X.index if type(X).__module__.startswith("pandas") and hasattr(X, "columns") else None


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
