"""Parquet files as one table: a file, or all files of a folder, column by column, so that nothing is held twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from prismap._blocks import require_memory
from prismap._optional import import_extra
from prismap.exceptions import FileFormatError, InputError, MissingExtraError
from prismap.tables.table import Roles, Table, quoted, refuse_double_names, table_from_columns

#: Endings of parquet files.
PARQUET = (".parquet", ".pq")


def parquet_files(folder: Path) -> list[Path]:
    """The parquet files of a folder and its sub-folders, by name; hidden ones, as other tools leave them, are none."""
    found = (path for path in folder.rglob("*") if path.name.lower().endswith(PARQUET) and path.is_file())
    return sorted(path for path in found if not any(part[0] in "._" for part in path.relative_to(folder).parts))


def read_parquet(files: list[Path], roles: Roles) -> Table:
    """The rows of files with the same columns, one file after the other."""
    abouts = [_about(path) for path in files]
    names = abouts[0].schema.to_arrow_schema().names
    refuse_double_names(names)
    for path, about in zip(files, abouts, strict=True):
        odd = set(names) ^ set(about.schema.to_arrow_schema().names)
        if odd:
            raise InputError(f"{path} has other columns than {files[0]}: only one of them has {quoted(sorted(odd))}.")
    n_rows = sum(about.num_rows for about in abouts)
    if not n_rows:
        raise InputError(f"{files[0]} has column names and no rows.")
    where = files[0] if len(files) == 1 else files[0].parent
    # As columns and as features, in single precision where they are stored so.
    widths = (4 if str(kind) in ("float", "halffloat") else 8 for kind in abouts[0].schema.to_arrow_schema().types)
    require_memory(2.0 * n_rows * sum(widths), f"Reading {where}", "Use fewer rows or columns.")
    columns = ((name, _column(files, abouts, name)) for name in names)
    return table_from_columns(columns, n_rows, roles)


def open_parquet(path: Path, **options: Any) -> Any:
    """A parquet file of pyarrow."""
    parquet = import_extra("pyarrow.parquet", extra="io", feature="Reading parquet files")
    return parquet.ParquetFile(path, **options)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Whatever a parser raises on damaged bytes, said as one kind of error. They raise nearly everything."""
    try:
        yield
    except (InputError, MissingExtraError):
        raise
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"{path} cannot be read as {path.suffix.lower()[1:]}: {what[:300]}") from error


def _about(path: Path) -> Any:
    with reading(path), open_parquet(path) as file:
        return file.metadata


def _column(files: list[Path], abouts: list[Any], name: str) -> Any:
    """A column of all files as one array of pyarrow."""
    pyarrow = import_extra("pyarrow", extra="io", feature="Reading parquet files")
    pieces = []
    for path, about in zip(files, abouts, strict=True):
        with reading(path), open_parquet(path, metadata=about) as file:
            pieces.append(file.read(columns=[name], use_threads=False))
            pieces[-1].validate(full=True)  # damaged arrow data would otherwise crash the process later
    try:
        joined = pieces[0] if len(pieces) == 1 else pyarrow.concat_tables(pieces, promote_options="permissive")
    except pyarrow.ArrowException as error:
        what = " ".join(str(error).split())
        raise InputError(f"column {name!r} is of another type in some of the files: {what[:200]}.") from error
    return joined.column(name)
