"""Files to tables, whole or in batches: the reader of every format is chosen by the end of the file's name."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.tables._arrow import arrow_batches, parquet_files, read_ipc, read_parquet, reading, table_from_arrow
from prismap.tables._cells import cell_coordinates, cell_tables
from prismap.tables._delimited import delimited_source
from prismap.tables._json_xlsx import json_source, sheet_source
from prismap.tables._numpy_files import load_numpy, numpy_table, rows_of
from prismap.tables._table import Roles, Table
from prismap.tables._tokens import Source, read_by_batches, read_whole

#: Endings of the files that can be read, and the reader of each.
ENDINGS = {
    ".csv": "text", ".tsv": "text", ".tab": "text", ".txt": "text", ".csv.gz": "text", ".tsv.gz": "text",
    ".txt.gz": "text", ".jsonl": "json", ".ndjson": "json", ".json": "json", ".jsonl.gz": "json", ".xlsx": "sheet",
    ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow",
    ".npz": "numpy", ".npy": "numpy", ".h5ad": "cells",
}  # fmt: skip
#: What to do with files of other programs, by their endings.
ADVICE = {
    ".xls .xlsb .xlsm .ods .numbers": "Save it as xlsx or csv",
    ".zip .bz2 .xz .7z .tar .tgz .zst": "Unpack it; only .gz is read as it is",
    ".dta .sav .sas7bdat .rds .rda .pkl .pickle .h5 .hdf5 .mat .orc .db .sqlite": "Read it in Python and give the "
    "data frame to PrisMap.from_table",
}


def reader_of(path: Path) -> str | None:
    """The reader of a file by the end of its name: text, json, sheet, parquet, arrow, numpy, cells; None if unknown."""
    name = path.name.lower()
    return next((reader for ending, reader in ENDINGS.items() if name.endswith(ending)), None)


def read_table(
    path: str | Path,
    roles: Roles | None = None,
    *,
    kind: str | None = None,
    sheet: str | None = None,
    skip_rows: int | None = None,
) -> Table:
    """The whole file, or all parquet files of a folder. `kind` chooses the matrix of an npz file.

    Parameters
    ----------
    path : str or Path
        A data file, or a folder whose parquet files, in its sub-folders too and in the order of their names, are read
        as one table. They must have the same columns.
    roles : `prismap.tables.Roles`, default=None
        Which columns are the target, the ids, or to be left out.
    kind : {"vectors", "cosine", "similarity", "dissimilarity"}, default=None
        Which matrix of an npz file to take.
    sheet : str, default=None
        Which sheet of a workbook to read, by its title or its number from 1 on. Without it, that with most of the
        columns that `roles` name.
    skip_rows : int, default=None
        Rows of a workbook, or lines of a text file, above the names of the columns. Without it, a title is found.

    Returns
    -------
    Table
        Numbers that are stored in single precision stay so.

    Examples
    --------
    >>> PrisMap.from_table(read_table("year/"), "target")  # doctest: +SKIP
    """
    roles = roles or Roles()
    if Path(path).is_dir():
        _refuse_place(path, "parquet", sheet, skip_rows)
        files = parquet_files(Path(path))
        if not files:
            raise InputError(f"{path} is a folder without parquet files; data files end in {', '.join(ENDINGS)}.")
        return read_parquet(files, roles)
    path, reader = _known_file(path)
    _refuse_place(path, reader, sheet, skip_rows)
    if (source := _source(path, reader, roles.mentioned, sheet, skip_rows)) is not None:
        table = read_whole(source, roles, path)
    elif reader == "numpy":
        table = _read_numpy(path, roles, kind)
    elif reader == "cells":
        with reading(path):
            (table,) = cell_tables(path, roles)
    elif reader == "parquet":
        table = read_parquet([path], roles)
    else:
        with reading(path):
            arrow = read_ipc(path)
            table = table_from_arrow(arrow, roles)
    if not table.n_rows:
        raise InputError(f"{path} has column names and no rows.")
    return table


def read_obsm(path: str | Path, keys: Collection[str]) -> dict[str, NDArray[np.float64]]:
    """Entries of `obsm` of an h5ad file, rows by columns."""
    path, _ = _known_file(path)
    with reading(path):
        return cell_coordinates(path, keys)


def read_batches(
    path: str | Path, columns: Collection[str] | None, roles: Roles, *, kind: str | None = None, n_rows: int = 50_000,
    sheet: str | None = None, skip_rows: int | None = None,
) -> Iterator[Table]:  # fmt: skip
    """The file in tables of at most `n_rows` rows, with those of `columns` (None: all), target and ids that it has."""
    path, reader = _known_file(path)
    roles = replace(roles, required=False)
    _refuse_place(path, reader, sheet, skip_rows)
    if (source := _source(path, reader, {*roles.mentioned, *(columns or ())}, sheet, skip_rows)) is not None:
        yield from read_by_batches(source, columns, roles, n_rows)
    elif reader == "numpy":
        table = _read_numpy(path, roles, kind)
        for start in range(0, table.n_rows, n_rows):
            yield rows_of(table, slice(start, start + n_rows))
    elif reader == "cells":
        with reading(path):
            yield from cell_tables(path, roles, n_rows)
    else:
        for batch in arrow_batches(path, columns, roles, n_rows):
            yield table_from_arrow(batch, roles)


def _source(
    path: Path, reader: str, wanted: Collection[str], sheet: str | None, skip_rows: int | None
) -> Source | None:
    """The tokens of a file that holds text; of the sheets of a workbook that with most of the `wanted` columns."""
    if reader == "sheet":
        return sheet_source(path, wanted, sheet, skip_rows)
    if reader == "text":
        return delimited_source(path, wanted, skip_rows)
    return json_source(path) if reader == "json" else None


def _refuse_place(path: str | Path, reader: str, sheet: str | None, skip_rows: int | None) -> None:
    """Refuse the place of a table in a file that has no such places."""
    if sheet is not None and reader != "sheet":
        raise InputError(f"sheet={sheet!r} is for xlsx files; {path} has no sheets.")
    if skip_rows is not None and reader not in ("sheet", "text"):
        raise InputError(f"skip_rows={skip_rows} is for text files and workbooks; {path} has no rows above its names.")


def _read_numpy(path: Path, roles: Roles, kind: str | None) -> Table:
    with reading(path):
        return numpy_table(path, load_numpy(path), roles, kind)


def _known_file(path: str | Path) -> tuple[Path, str]:
    """The path and its reader, if there is a file and its ending is known."""
    path = Path(path)
    reader = reader_of(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; a data file is needed here ({', '.join(ENDINGS)}).")
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    if reader is None:
        raise InputError(
            f"{path}: the ending {path.suffix!r} is not known{_way_out(path)}; data files end in {', '.join(ENDINGS)}."
        )
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty.")
    return path, reader


def _way_out(path: Path) -> str:
    """What to do with a file of another program."""
    ending = path.suffix.lower()
    return next((f". {advice}" for endings, advice in ADVICE.items() if ending in endings.split()), "")
