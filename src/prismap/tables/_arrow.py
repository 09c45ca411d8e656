"""Arrow data and data frames as tables: whatever has named columns, in memory, in parquet and in arrow files.

Parquet files are read column by column, so that no value is held twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.blocks import require_file_memory
from prismap._util.optional import import_extra
from prismap.exceptions import FileFormatError, InputError, MissingExtraError
from prismap.tables._cells import cells_table, is_cells
from prismap.tables._column import Column, TextColumn, text_column
from prismap.tables._frame_columns import frame_columns
from prismap.tables._table import Roles, Table, chosen_names, entries_of, make_table, quoted, refuse_double_names

#: Endings of parquet files.
PARQUET = (".parquet", ".pq")


# Columns


def table_from_arrow(batch: Any, roles: Roles) -> Table:
    """A pyarrow Table or RecordBatch as a `Table`."""
    refuse_double_names(batch.schema.names)
    return table_from_columns(zip(batch.schema.names, batch.columns, strict=True), batch.num_rows, roles)


def table_from_columns(arrays: Iterable[tuple[str, Any]], n_rows: int, roles: Roles) -> Table:
    """Names and pyarrow arrays as a `Table`; each array is released before the next one is read."""
    columns: dict[str, Column] = {}
    for name, array in arrays:
        if len(array) != n_rows:
            raise FileFormatError(f"the column {name!r} has {len(array)} values, and the table {n_rows} rows.")
        vectors = vectors_from_arrow(array) if roles.may_be_vectors(name) else None
        if vectors is None:
            columns[name] = column_from_arrow(array, as_text=name in roles.text, as_label=roles.is_label(name))
        else:
            columns |= entries_of(name, vectors)
    return make_table(columns, n_rows, roles)


def vectors_from_arrow(array: Any) -> NDArray[Any] | None:
    """A column of lists of numbers, all equally long and none missing, as a matrix; None for any other column."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    if not lists or not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
        return None
    lengths = pc.unique(pc.list_value_length(array)).to_pylist()
    if len(lengths) != 1 or not lengths[0]:
        return None
    return _floats(pc.list_flatten(array)).reshape(len(array), lengths[0])


def _floats(array: Any) -> NDArray[Any]:
    """Numbers with NaN for null; in single precision if they are stored so, or in half of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    single = pa.types.is_float32(array.type) or pa.types.is_float16(array.type)
    cast = pc.cast(array, pa.float32() if single else pa.float64(), safe=False)
    return np.asarray(cast.to_numpy(zero_copy_only=False))


def column_from_arrow(array: Any, *, as_text: bool, as_label: bool = False) -> Column:
    """Numbers and booleans as floats with NaN for null, labels exactly; everything else as text."""
    import pyarrow as pa  # installed, since there is an array of it
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        # Numbers that were declared a category are names of its levels, unless they have an order.
        as_text = as_text or not (array.type.ordered or pa.types.is_string(array.type.value_type))
        if is_text(array.type.value_type):  # not written out: a long text may stand for many rows
            return _text_of_codes(array, as_text=as_text or as_label)
        array = pc.cast(array, array.type.value_type)
    kind = array.type
    if as_label and not as_text and (pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.scale == 0)):
        return _exact_labels(array)
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not as_text and (number or pa.types.is_null(kind) or (pa.types.is_boolean(kind) and not as_label)):
        return _floats(pc.cast(array, pa.float64()) if as_label and pa.types.is_floating(kind) else array)
    if pa.types.is_duration(kind):  # as Python writes them, and not as a count of their unit
        durations = pc.cast(array, pa.duration("us"), safe=False).to_pylist()
        array = pa.array([None if one is None else str(one) for one in durations], pa.string())
    try:
        array = pc.cast(array, pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists and other nested values
        return text_column([None if value is None else str(value) for value in array.to_pylist()])
    return _text_of_codes(pc.dictionary_encode(array), as_text=as_text or as_label)


def is_text(kind: Any) -> bool:
    """Whether values of a type of arrow are text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _text_of_codes(array: Any, *, as_text: bool) -> Column:
    """Text from a dictionary and codes; numbers that are all missing where there is no value and no wish for text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
        array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    words = array.dictionary.to_pylist()
    codes = np.asarray(pc.fill_null(pc.cast(array.indices, pa.int64()), -1).to_numpy(zero_copy_only=False))
    used = np.zeros(len(words) + 1, dtype=bool)
    used[codes] = True
    levels = sorted({word for word, there in zip(words, used[:-1], strict=True) if there and word is not None})
    if not levels and not as_text:
        return np.full(len(array), np.nan)
    rank = {word: place for place, word in enumerate(levels)}
    places = np.array([rank.get(word, -1) for word in words] + [-1], dtype=np.intp)
    return TextColumn(places[codes], tuple(levels))


def _exact_labels(array: Any) -> Column:
    """Integers of 64 bits, masked where null; text where they need more bits."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for kind in (pa.int64(), pa.uint64()):
        try:
            whole = pc.cast(array, kind)
        except pa.ArrowInvalid:
            continue
        numbers = pc.fill_null(whole, 0).to_numpy(zero_copy_only=False)
        missing = pc.is_null(whole).to_numpy(zero_copy_only=False)
        return np.ma.MaskedArray(numbers, missing) if missing.any() else np.asarray(numbers)
    return text_column([None if value is None else str(value) for value in array.to_pylist()])


# Files


def parquet_files(folder: Path) -> list[Path]:
    """The parquet files of a folder and its sub-folders, by name, without hidden files of other tools."""
    files = (path for path in folder.rglob("*") if path.name.lower().endswith(PARQUET) and path.is_file())
    return sorted(path for path in files if not any(part[0] in "._" for part in path.relative_to(folder).parts))


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
    size = sum(path.stat().st_size for path in files)
    require_file_memory(sum(map(_content_bytes, abouts)), f"Reading {where}", size, "Use fewer rows or columns.")
    columns = ((name, _column(files, abouts, name)) for name in names)
    return table_from_columns(columns, n_rows, roles)


def _content_bytes(about: Any) -> float:
    """Memory of the columns of a parquet file and of the features they become, in single precision where stored so.

    Lists have more values than rows. Text is held once however often it occurs, with a code for each row.
    """
    total = 0.0
    for group in range(about.num_row_groups):
        for place in range(about.num_columns):
            part = about.row_group(group).column(place)
            text = part.physical_type == "BYTE_ARRAY"
            total += 2.0 * part.num_values * (4 if part.physical_type == "FLOAT" else 8)
            total += 2.0 * part.total_uncompressed_size if text else 0.0
    return max(total, float(2 * 4 * about.num_rows * about.num_columns))


def open_parquet(path: Path, **options: Any) -> Any:
    """A parquet file of pyarrow."""
    parquet = import_extra("pyarrow.parquet", extra="io", feature="Reading parquet files")
    return parquet.ParquetFile(path, **options)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever a parser raises on damaged bytes into one kind of error; parsers raise nearly everything."""
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
        coded = [name] if is_text(about.schema.to_arrow_schema().field(name).type) else None
        with reading(path), open_parquet(path, metadata=about, read_dictionary=coded) as file:
            pieces.append(file.read(columns=[name], use_threads=False))
            pieces[-1].validate(full=True)  # damaged arrow data would otherwise crash the process later
    try:
        joined = pieces[0] if len(pieces) == 1 else pyarrow.concat_tables(pieces, promote_options="permissive")
    except pyarrow.ArrowException as error:
        what = " ".join(str(error).split())
        raise InputError(f"column {name!r} is of another type in some of the files: {what[:200]}.") from error
    return joined.column(name)


def arrow_batches(path: Path, columns: Collection[str] | None, roles: Roles, n_rows: int) -> Iterator[Any]:
    """The record batches of a parquet or arrow file, checked."""
    batches = _parquet_batches if path.name.lower().endswith(PARQUET) else _ipc_batches
    with reading(path):
        for batch in batches(path, columns, roles, n_rows):
            batch.validate(full=True)
            yield batch


def _parquet_batches(path: Path, columns: Collection[str] | None, roles: Roles, n_rows: int) -> Iterator[Any]:
    with open_parquet(path) as file:
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


def read_ipc(path: Path) -> Any:
    """All batches, each checked: damaged arrow data would otherwise crash the process later."""
    pyarrow = import_extra("pyarrow", extra="io", feature="Reading arrow files")
    batches, n_bytes, size = [], 0.0, path.stat().st_size
    with _open_ipc(path) as file:
        numbered = hasattr(file, "num_record_batches")
        for batch in map(file.get_batch, range(file.num_record_batches)) if numbered else file:
            batch.validate(full=True)
            n_bytes += 2.0 * batch.nbytes
            require_file_memory(n_bytes, f"Reading {path}", size, "Use fewer rows or columns.")
            batches.append(batch)
        return pyarrow.Table.from_batches(batches, schema=file.schema)


def _ipc_batches(path: Path, columns: Collection[str] | None, roles: Roles, n_rows: int) -> Iterator[Any]:
    with _open_ipc(path) as file:
        names = chosen_names(file.schema.names, columns, roles)
        numbered = hasattr(file, "num_record_batches")
        for batch in map(file.get_batch, range(file.num_record_batches)) if numbered else file:
            for start in range(0, batch.num_rows, n_rows):
                yield batch.select(names).slice(start, n_rows)


# --- whatever has named columns ---------------------------------------------------------------------------------------


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
