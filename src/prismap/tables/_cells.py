"""Single cells: an AnnData object or h5ad file as a table.

The features are one of its matrices: the genes of X, those of a layer as ``layer:gene``, or the columns of an entry of
`obsm` as ``X_pca:1``, ``X_pca:2``, ... A later file finds its matrix by these names. The columns of `obs` come along:
one of them is the target, and the others are shown and not used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.blocks import file_bytes, require_file_memory, require_memory
from prismap._util.glass import behind_glass
from prismap._util.optional import import_extra
from prismap.exceptions import InputError
from prismap.tables._column import Column, text_column
from prismap.tables._frame_columns import frame_columns
from prismap.tables._table import Roles, Table, make_table, quoted

#: The column of ids that the names of the cells become.
NAMES = "obs_names"
#: Seconds that reading a file may take, and bytes that are read in each further one: slower disks are hard to find.
SECONDS, BYTES_PER_SECOND = 30.0, 2.0**20


def is_cells(X: Any) -> bool:
    """Whether X is an AnnData object."""
    return type(X).__module__.split(".")[0] == "anndata" and hasattr(X, "obsm")


def load_cells(path: Path) -> Any:
    """An h5ad file as an AnnData object in memory."""
    (cells,) = _behind_glass(_loaded, path)
    return cells


def cell_tables(path: Path, roles: Roles, n_rows: int | None = None) -> Iterator[Table]:
    """The cells of an h5ad file as tables, so many rows at a time, or all at once."""
    yield from _behind_glass(_tables, path, roles, n_rows)


def cell_coordinates(path: Path, keys: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """Entries of `obsm` of an h5ad file, rows by columns."""
    (coordinates,) = _behind_glass(_coordinates, path, tuple(keys))
    return dict(coordinates)


def _behind_glass(work: Any, path: Path, *args: Any) -> Any:
    """HDF5 follows whatever a file says, without end or out of bounds: a child process reads in our place."""
    size = path.stat().st_size
    limits = {"seconds": SECONDS + size / BYTES_PER_SECOND, "n_bytes": file_bytes(size)}
    return behind_glass(work, path, *args, what=str(path), **limits)


# In the child


def _open(path: Path) -> Any:
    """A file whose X stays on the disk until it is asked for."""
    return import_extra("anndata", extra="cells", feature="Reading h5ad files").read_h5ad(path, backed="r")


def _loaded(path: Path) -> Iterator[Any]:
    cells = _open(path).to_memory()
    for matrix in (cells.X, *cells.layers.values(), *cells.obsm.values()):
        _checked(matrix)
    yield cells


def _tables(path: Path, roles: Roles, n_rows: int | None) -> Iterator[Table]:
    cells = _open(path)
    total = len(cells.obs_names)
    _require_room(path, min(n_rows or total, total), len(_matrix(cells, roles.matrix)[0]))
    for start in range(0, max(total, 1), n_rows or max(total, 1)):
        yield cells_table(cells, roles, slice(start, start + (n_rows or total)))


def _coordinates(path: Path, keys: tuple[str, ...]) -> Iterator[Any]:
    cells = _open(path)
    yield [(key, coordinates_of(cells, key)) for key in keys]


def _require_room(path: Path, n_rows: int, n_columns: int) -> None:
    require_file_memory(
        16.0 * n_rows * n_columns, f"Reading {n_columns} features of {n_rows} cells", path.stat().st_size,
        "Use a representation of fewer columns, such as use_rep='X_pca' (--rep X_pca).",
    )  # fmt: skip


# Anywhere


def cells_table(cells: Any, roles: Roles, rows: slice = slice(None)) -> Table:
    """The cells as a `Table`: a matrix as features, by ``roles.matrix``, and `obs` beside it.

    Genes named in ``roles.show`` come along even if the features are others.
    """
    part = cells[rows]
    names, matrix = _matrix(part, roles.matrix)
    n_rows = len(part.obs_names)
    require_memory(
        16.0 * n_rows * len(names), f"Reading {len(names)} features of {n_rows} cells",
        "Use a representation of fewer columns, such as use_rep='X_pca' (--rep X_pca).",
    )  # fmt: skip
    X = _dense(matrix)
    beside = {**frame_columns(part.obs, roles), NAMES: text_column([str(name) for name in part.obs_names])}
    shown = [gene for gene in roles.shown if gene in cells.var_names and gene not in names]
    genes = dict(zip(shown, _dense(cells[rows, shown].X).T, strict=True)) if shown else {}
    _refuse_clashes(names, [*beside, *genes])
    columns: dict[str, Column] = {**beside, **genes, **dict(zip(names, X.T, strict=True))}
    roles = roles if roles.ids is not None else replace(roles, ids=NAMES)
    return replace(make_table(columns, n_rows, roles), show=(*beside, *genes))


def coordinates_of(cells: Any, key: str) -> NDArray[np.float64]:
    """An entry of `obsm`, such as the positions of the cells on a map, as rows by columns."""
    if key not in cells.obsm:
        raise InputError(f"the cells have no obsm {key!r}; obsm holds {quoted(cells.obsm.keys()) or 'nothing'}.")
    return _dense(cells.obsm[key]).astype(np.float64)


def matrix_named_by(column: str) -> str | None:
    """The matrix that the name of a feature belongs to; None for a gene of X.

    >>> matrix_named_by("X_pca:12"), matrix_named_by("CD3D")
    ('X_pca', None)
    """
    return column.rpartition(":")[0] or None


def _matrix(cells: Any, key: str | None) -> tuple[list[str], Any]:
    """The names of the features and their values."""
    genes = [str(name) for name in cells.var_names]
    if key is None or (key not in cells.obsm and key not in cells.layers and _is_part_of_a_gene(key, genes)):
        return genes, _main_matrix(cells)
    if key in cells.layers:
        return [f"{key}:{gene}" for gene in genes], _checked(cells.layers[key])
    if key not in cells.obsm:
        raise InputError(
            f"the cells have no representation or layer {key!r}; obsm holds {quoted(cells.obsm.keys()) or 'nothing'}, "
            f"layers {quoted(cells.layers.keys()) or 'nothing'}."
        )
    values = _checked(cells.obsm[key])
    return [f"{key}:{place + 1}" for place in range(values.shape[1])], values


def _main_matrix(cells: Any) -> Any:
    """X, which an object of representations alone does not have; a backed one raises KeyError then."""
    try:
        X = cells.X
    except KeyError:
        X = None
    if X is None:
        raise InputError(
            f"the cells have no X; obsm holds {quoted(cells.obsm.keys()) or 'nothing'}: choose one, such as "
            "use_rep='X_pca' (--rep X_pca)."
        )
    return X


def _is_part_of_a_gene(key: str, genes: list[str]) -> bool:
    """Whether what looks like the name of a matrix is the first half of a gene's."""
    return any(gene.startswith(f"{key}:") for gene in genes)


def _dense(matrix: Any) -> NDArray[Any]:
    matrix = matrix[:] if not isinstance(matrix, np.ndarray) and hasattr(matrix, "file") else matrix
    dense = _checked(matrix).toarray() if sp.issparse(matrix) else np.asarray(matrix)
    if dense.dtype.kind not in "biuf":
        raise InputError(f"the matrix of the cells must hold numbers; got {dense.dtype}.")
    return dense


def _checked(matrix: Any) -> Any:
    """A matrix; a sparse one whose indices lead out of it, which compiled code does not look at, is refused."""
    if sp.issparse(matrix) and hasattr(matrix, "check_format"):
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise InputError(f"the sparse matrix of the cells is damaged: {error}.") from error
    return matrix


def _refuse_clashes(features: list[str], others: list[str]) -> None:
    clash = sorted(set(features) & set(others))
    if clash:
        raise InputError(f"{quoted(clash)} are columns of obs and features too: rename them in obs.")
