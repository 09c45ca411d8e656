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

from prismap._optional import import_extra
from prismap.exceptions import InputError, PrismapWarning
from prismap.map.quantities import with_quantities
from prismap.metrics.target import decide_target
from prismap.tables import Roles, Table, TableEncoding, TextColumn, is_frame, learn_encoding, table_from_frame
from prismap.tables.learning import copied_rows, describe_alike, describe_copies
from prismap.tables.table import quoted

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
    table, written, told = with_quantities(table, roles, X, data=data, target_kind=target_kind)
    encoding, notes = replace(encoding, written_targets=written), (*notes, *told)
    if roles.also and target_kind != "none":
        told = without_some(table)
        return Prepared(X, named_targets(table, roles), target_kind, encoding, (*table.notes, *notes, *told))
    y, kind, told = _target(table, X, data, target_kind, roles.target)
    return Prepared(X, y, kind, encoding, (*table.notes, *notes, *told))


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
    told = [without_target(int(missing.sum()))] if missing.any() else []
    if table.target.dtype.kind == "O":
        told += describe_alike("classes of the target", table.target[~missing].tolist())
    if target_kind != "auto":
        return table.target, target_kind, told
    decision = decide_target(table.target, X, data)
    if table.target.dtype.kind != "O":
        told.append(str(decision).replace("target='", "target_kind='"))
    return table.target, decision.kind, told


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
    return model.remember_table(ready.encoding, index=index, notes=ready.notes)


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
    found = encoding.apply(X)
    for name, number in found.unknown.items():
        warnings.warn(
            f"column {name!r} has levels in {number} of the rows that the map has not seen; they count as none of "
            "its own.",
            PrismapWarning,
            stacklevel=5,
        )
    return found.X


def target_in(encoding: TableEncoding | None, X: Any) -> Any:
    """The target, or several by name, that a table brings along for a map of tables; None if there is none."""
    if encoding is None or encoding.target is None or not is_frame(X):
        return None
    table = table_from_frame(X, encoding.roles)
    return {encoding.target: table.target, **table.also} if table.also else table.target


def row_names(X: Any) -> Any:
    """The index of a pandas frame; None for all else, whose rows have no names."""
    return X.index if type(X).__module__.startswith("pandas") and hasattr(X, "columns") else None


def story_of_cells(model: Any) -> dict[str, Any]:
    """What an AnnData object keeps of a map in `uns`: values that its files can hold."""
    params = {name: str(value) for name, value in model.get_params(deep=False).items()}
    report = model.report_dict()
    told = {} if report is None else {"verdict": str(report["verdict"])}
    return {"params": params, "target": model.encoding_.target or "", "supervision": float(model.supervision_), **told}


def positions_frame(Y: NDArray[np.float64], names: Any, index: Any) -> Any:
    """Positions as a pandas frame."""
    pandas = import_extra("pandas", extra="io", feature="positions(as_frame=True)")
    if isinstance(index, np.ma.MaskedArray):
        index = index.tolist()
    return pandas.DataFrame(Y, columns=list(names), index=index)
