"""Files to tables, whole or in batches: delimited text, parquet and arrow, numpy."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._blocks import require_memory
from prismap._optional import import_extra
from prismap.exceptions import FileFormatError, InputError, MissingExtraError
from prismap.tables.delimited import read_text, text_batches
from prismap.tables.table import (
    Column,
    Roles,
    Table,
    chosen_names,
    make_table,
    quoted,
    refuse_double_names,
    table_from_arrow,
    text_column,
)

#: Endings of the files that can be read, and the reader of each.
ENDINGS = {
    ".csv": "text", ".tsv": "text", ".tab": "text", ".txt": "text", ".parquet": "parquet", ".pq": "parquet",
    ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".npz": "npz", ".npy": "npy",
}  # fmt: skip


def read_table(path: str | Path, roles: Roles | None = None, *, kind: str | None = None) -> Table:
    """The whole file. `kind` (vectors, similarity, dissimilarity) chooses the matrix of an npz file."""
    path, reader = _known_file(path)
    roles = roles or Roles()
    if reader == "text":
        table = read_text(path, roles)
    elif reader in ("npz", "npy"):
        table = _read_numpy(path, roles, kind)
    else:
        with _reading(path):
            arrow = _read_parquet(path) if reader == "parquet" else _read_ipc(path)
            arrow.validate(full=True)  # damaged arrow data would otherwise crash the process later
        table = table_from_arrow(arrow, roles)
    if not table.n_rows:
        raise InputError(f"{path} has column names and no rows.")
    return table


def read_batches(
    path: str | Path, columns: Collection[str], roles: Roles, *, kind: str | None = None, n_rows: int = 50_000
) -> Iterator[Table]:
    """The file in tables of at most `n_rows` rows, with those of `columns`, target and ids that it has."""
    path, reader = _known_file(path)
    roles = replace(roles, required=False)
    if reader == "text":
        yield from text_batches(path, columns, roles, n_rows)
    elif reader in ("npz", "npy"):
        table = _read_numpy(path, roles, kind)
        for start in range(0, table.n_rows, n_rows):
            yield _rows(table, slice(start, start + n_rows))
    else:
        batches = _parquet_batches if reader == "parquet" else _ipc_batches
        with _reading(path):
            for batch in batches(path, columns, roles, n_rows):
                batch.validate(full=True)
                yield table_from_arrow(batch, roles)


def _known_file(path: str | Path) -> tuple[Path, str]:
    """The path and its reader, if there is a file and its ending is known."""
    path = Path(path)
    reader = ENDINGS.get(path.suffix.lower())
    if path.is_dir():
        raise InputError(f"{path} is a folder; a data file is needed ({', '.join(ENDINGS)}).")
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    if reader is None:
        raise InputError(f"{path}: the ending {path.suffix!r} is not known; data files end in {', '.join(ENDINGS)}.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    return path, reader


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Whatever a parser raises on damaged bytes, said as one kind of error. They raise nearly everything."""
    try:
        yield
    except (InputError, MissingExtraError):
        raise
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"{path} cannot be read as {path.suffix.lower()[1:]}: {what[:300]}") from error


# Parquet and arrow


def _open_parquet(path: Path) -> Any:
    return import_extra("pyarrow.parquet", extra="io", feature="Reading parquet files").ParquetFile(path)


def _read_parquet(path: Path) -> Any:
    with _open_parquet(path) as file:
        n_bytes = 24.0 * file.metadata.num_rows * file.metadata.num_columns
        require_memory(n_bytes, f"Reading {path}", "Use fewer rows or columns.")
        return file.read()


def _parquet_batches(path: Path, columns: Collection[str], roles: Roles, n_rows: int) -> Iterator[Any]:
    with _open_parquet(path) as file:
        names = chosen_names(file.schema_arrow.names, columns, roles)
        yield from file.iter_batches(batch_size=n_rows, columns=names)


def _open_ipc(path: Path) -> Any:
    """An arrow file (feather), or else a stream of batches."""
    ipc = import_extra("pyarrow.ipc", extra="io", feature="Reading arrow files")
    with open(path, "rb") as raw:
        is_file = raw.read(6) == b"ARROW1"
    # Not a memory map: a file cut short by someone else while it is read would end the process.
    source = import_extra("pyarrow", extra="io", feature="Reading arrow files").OSFile(str(path))
    return ipc.open_file(source) if is_file else ipc.open_stream(source)


def _read_ipc(path: Path) -> Any:
    with _open_ipc(path) as file:
        return file.read_all()


def _ipc_batches(path: Path, columns: Collection[str], roles: Roles, n_rows: int) -> Iterator[Any]:
    with _open_ipc(path) as file:
        names = chosen_names(file.schema.names, columns, roles)
        numbered = hasattr(file, "num_record_batches")
        for batch in map(file.get_batch, range(file.num_record_batches)) if numbered else file:
            for start in range(0, batch.num_rows, n_rows):
                yield batch.select(names).slice(start, n_rows)


# numpy


def _read_numpy(path: Path, roles: Roles, kind: str | None) -> Table:
    """A matrix: npy, or npz with X or S, and y (or any array with an entry a row that the roles name)."""
    with _reading(path):
        arrays = _load_numpy(path)
    said = str(arrays["kind"]) if "kind" in arrays and arrays["kind"].dtype.kind == "U" else None
    X = _matrix(path, arrays, kind or said)
    columns: dict[str, Column] = dict(zip(_feature_names(path, arrays, X), X.T, strict=True))
    notes = []
    if roles.target is None and "y" in arrays and "y" not in columns:
        roles = replace(roles, target="y")
        notes = ["the target is the array y of the file"]
    for name in (roles.target, roles.ids):
        if name is not None and name in arrays:
            if name in columns:
                raise InputError(f"{path}: {name!r} is an array and also the name of a feature. Rename one of them.")
            columns[name] = _labels(path, name, arrays, len(X))
    return replace(make_table(columns, len(X), roles, notes), kind=said)


def _load_numpy(path: Path) -> dict[str, NDArray[Any]]:
    if path.suffix.lower() == ".npy":
        return {"X": np.load(path, allow_pickle=False, mmap_mode="r")}
    with zipfile.ZipFile(path) as entries:
        n_bytes = 2.0 * sum(entry.file_size for entry in entries.infolist())
    require_memory(n_bytes, f"Reading {path}", "Use fewer rows or columns.")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files if name.isidentifier()}
    for name, array in arrays.items():
        if array.size and not array.dtype.itemsize:  # entries without bytes: a short file may claim any number
            raise FileFormatError(f"{path}: the array {name} has {array.size} entries of no bytes.")
    return arrays


def _matrix(path: Path, arrays: dict[str, NDArray[Any]], kind: str | None) -> NDArray[Any]:
    """The matrix of rows or of pairs, checked to be one of numbers."""
    names = ("X", "data") if kind in (None, "vectors") else ("S", "D", "X")
    name = next((name for name in names if name in arrays), None)
    if name is None and len(arrays) == 1 and not {"S", "D"} & set(arrays):
        name = next(iter(arrays))
    if name is None:
        pairs = [other for other in ("S", "D") if other in arrays]
        hint = f" It has {pairs[0]}: say --kind similarity or --kind dissimilarity." if pairs else ""
        raise InputError(f"{path} has no array {' or '.join(names)}, only {quoted(arrays)}.{hint}")
    X = arrays[name]
    if X.ndim != 2 or X.dtype.kind not in "biuf" or not X.shape[1]:
        raise InputError(
            f"{path}: {name} must be a matrix of numbers, rows by columns; got {X.dtype}, shape {X.shape}."
        )
    if not len(X) and X.shape[1] > 10**6:  # no rows need no bytes: a short file may claim any number of columns
        raise InputError(f"{path}: {name} has {X.shape[1]} columns and no rows.")
    return X


def _feature_names(path: Path, arrays: dict[str, NDArray[Any]], X: NDArray[Any]) -> list[str]:
    if "feature_names" not in arrays:
        return [f"x{place}" for place in range(X.shape[1])]
    names = [str(name) for name in arrays["feature_names"].ravel()]
    if len(names) != X.shape[1]:
        raise InputError(f"{path}: feature_names has {len(names)} entries for {X.shape[1]} columns.")
    refuse_double_names(names)
    return names


def _labels(path: Path, name: str, arrays: dict[str, NDArray[Any]], n_rows: int) -> Column:
    """A target or id of an npz file: text as text, codes of `y` as their class_names if the file has them."""
    values = arrays[name]
    if values.shape not in ((n_rows,), (n_rows, 1)):
        raise InputError(f"{path}: {name} must have one entry for each of the {n_rows} rows; got shape {values.shape}.")
    values = values.reshape(-1)
    known = arrays.get("class_names")
    if name == "y" and known is not None and known.ndim == 1 and values.dtype.kind in "iu":
        if values.min(initial=0) < 0 or values.max(initial=0) >= len(known):
            raise InputError(f"{path}: y holds codes outside 0..{len(known) - 1}, which class_names has no names for.")
        values = known[values].astype(str)
    if values.dtype.kind == "b":
        values = np.where(values, "true", "false")
    if values.dtype.kind == "U":
        return text_column(values.tolist())
    if values.dtype.kind not in "iuf":
        raise InputError(f"{path}: {name} must hold numbers or text; got {values.dtype}.")
    return values


def _rows(table: Table, rows: slice) -> Table:
    """A stretch of the rows of a table of numbers."""
    return replace(
        table,
        columns={name: column[rows] for name, column in table.columns.items() if isinstance(column, np.ndarray)},
        n_rows=len(range(table.n_rows)[rows]),
        target=None if table.target is None else table.target[rows],
        ids=None if table.ids is None else table.ids[rows],
    )
