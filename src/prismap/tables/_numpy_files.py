"""Matrices in npy and npz files as tables; the content decides which of the two a file is."""

from __future__ import annotations

import math
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.blocks import require_file_memory, require_memory
from prismap.exceptions import FileFormatError, InputError
from prismap.tables._column import Column, text_column
from prismap.tables._table import Roles, Table, make_table, quoted, refuse_double_names


def numpy_table(path: Path, arrays: dict[str, NDArray[Any]], roles: Roles, kind: str | None) -> Table:
    """A matrix: npy, or npz with X or S, and y (or any array of one entry per row that the roles name)."""
    stored_kind = str(arrays["kind"]) if "kind" in arrays and arrays["kind"].dtype.kind == "U" else None
    X = _matrix(path, arrays, kind or stored_kind)
    columns: dict[str, Column] = dict(zip(_feature_names(path, arrays, X), X.T, strict=True))
    notes = []
    if roles.target is None and "y" in arrays and "y" not in columns:
        roles = replace(roles, target="y")
        notes = ["the target is the array y of the file"]
    for name in (roles.target, *roles.also, roles.ids, roles.given):
        if name is not None and name in arrays:
            if name in columns:
                raise InputError(f"{path}: {name!r} is an array and also the name of a feature. Rename one of them.")
            columns[name] = _labels(path, name, arrays, len(X))
    return replace(make_table(columns, len(X), roles, notes), kind=stored_kind)


def load_numpy(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of a file: those of an archive, or one matrix."""
    if not zipfile.is_zipfile(path):
        return {"X": _load_npy(path)}
    with zipfile.ZipFile(path) as entries:
        n_bytes = 2.0 * sum(entry.file_size for entry in entries.infolist())
    require_file_memory(n_bytes, f"Reading {path}", path.stat().st_size, "Use fewer rows or columns.")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files if name.isidentifier()}
    for name, array in arrays.items():
        if array.size and not array.dtype.itemsize:  # entries without bytes: a short file may claim any number
            raise FileFormatError(f"{path}: the array {name} has {array.size} entries of no bytes.")
    return arrays


def _load_npy(path: Path) -> NDArray[Any]:
    """One array, not mapped into memory: a file that shrinks while it is read would end the process."""
    with open(path, "rb") as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(file)
        n_bytes, there = math.prod(shape) * dtype.itemsize, path.stat().st_size - file.tell()
    if n_bytes > there and not dtype.hasobject:
        raise FileFormatError(f"{path} announces {n_bytes} bytes and holds {there}.")
    require_memory(2.0 * n_bytes, f"Reading {path}", "Use fewer rows or columns.")
    return np.asarray(np.load(path, allow_pickle=False))


def _matrix(path: Path, arrays: dict[str, NDArray[Any]], kind: str | None) -> NDArray[Any]:
    """The matrix of rows or of pairs, checked to be one of numbers."""
    names = ("X", "data") if kind in (None, "vectors", "cosine") else ("S", "D", "X")
    name = next((name for name in names if name in arrays), None)
    if name is None and len(arrays) == 1 and not {"S", "D"} & set(arrays):
        name = next(iter(arrays))
    if name is None:
        pairs = [other for other in ("S", "D") if other in arrays]
        hint = f" It has {pairs[0]}: say data='similarity' or data='dissimilarity'." if pairs else ""
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


def rows_of(table: Table, rows: slice) -> Table:
    """A stretch of the rows of a table of numbers."""
    return replace(
        table,
        columns={name: column[rows] for name, column in table.columns.items() if isinstance(column, np.ndarray)},
        n_rows=len(range(table.n_rows)[rows]),
        target=None if table.target is None else table.target[rows],
        also={name: values[rows] for name, values in table.also.items()},
        ids=None if table.ids is None else table.ids[rows],
    )
