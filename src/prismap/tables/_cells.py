"""Single cells: an AnnData object or h5ad file as a table.

The features are one of its matrices: the genes of X, those of a layer as ``layer:gene``, or the columns of an entry of
`obsm` as ``X_pca:1``, ``X_pca:2``, ... A later file finds its matrix by these names. The columns of `obs` come along:
one of them is the target, and the others are shown and not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.blocks import require_memory
from prismap._util.optional import import_extra
from prismap.exceptions import InputError
from prismap.tables._column import Column, text_column
from prismap.tables._frame_columns import frame_columns
from prismap.tables._table import Roles, Table, make_table, quoted

#: The column of ids that the names of the cells become.
NAMES = "obs_names"
#: Whole numbers above this are taken for raw counts, which no distance should be measured by.
COUNTS_FROM = 20


def is_cells(X: Any) -> bool:
    """Whether X is an AnnData object."""
    return type(X).__module__.split(".")[0] == "anndata" and hasattr(X, "obsm")


def open_cells(path: Path) -> Any:
    """An h5ad file whose X stays on the disk until it is asked for."""
    return import_extra("anndata", extra="cells", feature="Reading h5ad files").read_h5ad(path, backed="r")


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
    shown = [gene for gene in roles.show if gene in cells.var_names and gene not in names]
    genes = dict(zip(shown, _dense(cells[rows, shown].X).T, strict=True)) if shown else {}
    _refuse_clashes(names, [*beside, *genes])
    columns: dict[str, Column] = {**beside, **genes, **dict(zip(names, X.T, strict=True))}
    roles = roles if roles.ids is not None else replace(roles, ids=NAMES)
    return replace(make_table(columns, n_rows, roles, _notes(X, names)), show=(*beside, *genes))


def cell_batches(path: Path, roles: Roles, n_rows: int) -> Iterator[Table]:
    """The cells of a file, some at a time."""
    cells = open_cells(path)
    for start in range(0, len(cells.obs_names), n_rows):
        yield cells_table(cells, roles, slice(start, start + n_rows))


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
        return [f"{key}:{gene}" for gene in genes], cells.layers[key]
    if key not in cells.obsm:
        raise InputError(
            f"the cells have no representation or layer {key!r}; obsm holds {quoted(cells.obsm.keys()) or 'nothing'}, "
            f"layers {quoted(cells.layers.keys()) or 'nothing'}."
        )
    values = cells.obsm[key]
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
    dense = matrix.toarray() if sp.issparse(matrix) else np.asarray(matrix)
    if dense.dtype.kind not in "biuf":
        raise InputError(f"the matrix of the cells must hold numbers; got {dense.dtype}.")
    return dense


def _refuse_clashes(features: list[str], others: list[str]) -> None:
    clash = sorted(set(features) & set(others))
    if clash:
        raise InputError(f"{quoted(clash)} are columns of obs and features too: rename them in obs.")


def _notes(X: NDArray[Any], names: list[str]) -> list[str]:
    """That a matrix looks like raw counts."""
    sample = X[:200]
    if sample.size and (sample >= 0).all() and (sample == np.round(sample)).all() and sample.max() >= COUNTS_FROM:
        return [
            f"{'the matrix' if ':' not in names[0] else repr(matrix_named_by(names[0]))} holds whole numbers up to "
            f"{sample.max():.0f}, which look like raw counts: normalise them by library size and take log1p first"
        ]
    return []
