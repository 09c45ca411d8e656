"""Whatever has named columns becomes a table: frames of pandas, polars and pyarrow, Arrow data, AnnData."""

from __future__ import annotations

from typing import Any

from prismap._util.optional import import_extra
from prismap.exceptions import InputError
from prismap.tables._arrow import table_from_arrow
from prismap.tables._cells import cells_table, is_cells
from prismap.tables._frame_columns import frame_columns
from prismap.tables._table import Roles, Table, make_table


def is_frame(X: Any) -> bool:
    """Whether X has named columns: a `Table`, a frame of pandas, polars or pyarrow in memory, AnnData, or Arrow data.

    Arrow data is what hands out a stream of it (`__arrow_c_stream__`, as DuckDB's relations do), or a data set of
    Hugging Face, which does so in its format "arrow".
    """
    if isinstance(X, Table) or is_cells(X) or _is_dataset(X):
        return True
    library = type(X).__module__.split(".")[0] in ("pandas", "polars", "pyarrow")
    return (library or hasattr(X, "__arrow_c_stream__")) and hasattr(X, "columns")


def _is_dataset(X: Any) -> bool:
    return hasattr(X, "with_format") and hasattr(X, "column_names")


def table_from_frame(frame: Any, roles: Roles) -> Table:
    """A frame as a `Table`. Its own missing values are missing; text such as "?" stays text."""
    if isinstance(frame, Table):
        return _with_roles(frame, roles)
    if not is_frame(frame):
        raise InputError(
            f"table must be a data frame of pandas, polars or pyarrow, or a Table of prismap.tables; got "
            f"{type(frame).__name__}. Files go through prismap.tables.read_table, arrays to fit(X, y)."
        )
    if is_cells(frame):
        return cells_table(frame, roles)
    if hasattr(frame, "collect") and not hasattr(frame, "height"):
        raise InputError("table is a lazy frame of polars: collect() it first.")
    if type(frame).__module__.split(".")[0] in ("pandas", "polars"):
        return make_table(frame_columns(frame, roles), len(frame), roles)
    return table_from_arrow(_arrow(frame), roles)


def _arrow(frame: Any) -> Any:
    """A pyarrow table."""
    if _is_dataset(frame):
        return frame.with_format("arrow")[:]
    if type(frame).__module__.startswith("pyarrow"):
        return frame
    return import_extra("pyarrow", extra="io", feature="Reading Arrow data").table(frame)


def _with_roles(table: Table, roles: Roles) -> Table:
    """A table that was read with these roles, or with none."""
    if table.target is not None or table.given is not None or (roles.target is None and roles.given is None):
        return table
    return make_table(table.columns, table.n_rows, roles, table.notes)
