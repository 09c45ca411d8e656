"""One file in, one file out: `map_file`, on which every engine rests.

Reading, placing and writing go batch by batch, so a file may be larger than memory. The output is written aside and
renamed when its rows have been counted; a note in it (model, source, row groups) lets a later run see that it is done.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from prismap._util.blocks import keep_freed_memory
from prismap._util.optional import import_extra
from prismap._util.threads import limit_threads
from prismap._version import __version__
from prismap.bundle import arrow_column, map_writer, read_bundle, written_aside
from prismap.exceptions import FileFormatError, InputError, MissingExtraError
from prismap.map import PrisMap
from prismap.map._drift import column_drift
from prismap.map._predictions import votes_at
from prismap.map._tables import may_lack
from prismap.scale._objects import knows_trust, placed_objects
from prismap.scale._records import Mapped, Part, failed
from prismap.tables import TextColumn, arrow_batches, encoding_of, read_batches, reader_of, table_from_arrow
from prismap.tables._table import chosen_names

#: The file of the model in a folder of `prismap map`.
MODEL = "model.prismap"
#: Where a parquet file keeps what it was made of.
NOTE = b"prismap.mapped"
#: Bytes at each end of a source that are compared when a run is resumed.
ENDS = 2**20
#: A batch has at most so many rows, and at most so many bytes as numbers.
BATCH_ROWS, BATCH_BYTES = 50_000, 64 * 2**20

#: Bytes read at a time of each column: without it a whole row group is read at once.
READ_BYTES = 2**20


def map_file(
    source: str | Path,
    out: str | Path,
    model: Any,
    *,
    keep_columns: bool = False,
    resume: bool = True,
    progress: Callable[[int], Any] | None = None,
    sheet: str | None = None,
    skip_rows: int | None = None,
) -> Mapped:
    """Place the rows of a file on a map and write their positions.

    Parameters
    ----------
    source : path of a parquet, arrow, csv, npz or npy file; parquet, arrow and csv may be larger than memory. For a map
        of objects: FASTA, JSON lines, or a table with the column of text that the map was made of.
    out : path that ends in .parquet or .csv. Columns: ``id`` (the file's, or the row's number), ``x``, ``y``,
        ``split`` ("new"), ``far`` (whether the row is far from all the map has seen), ``distance`` (to the nearest
        fitted row, in units of their typical distance), ``row`` (its number in the source), ``trust`` (the chance that
        the rows around it predict its target correctly) if the map was judged, ``target`` if the source has it, and
        what the ten nearest fitted rows on the map say: ``neighbor_class`` and ``neighbor_share``, for numbers
        ``neighbor_mean`` and ``neighbor_std``.
    model : a `PrisMap`, or the path of a saved one.
    keep_columns : bool
        Whether the other columns of the source are written, too; names that are taken get " (source)" at their end.
    resume : bool
        Whether a parquet output that was made of the same source by the same model is left as it is.
    progress : called with the number of rows placed, a batch at a time.
    sheet, skip_rows : the sheet of a workbook, and the rows above its names, as in `prismap.tables.read_table`.

    Returns
    -------
    Mapped : rows, far rows, seconds, whether it was skipped, and what was noticed.

    Examples
    --------
    >>> map_file("new.parquet", "placed.parquet", "model.prismap").rows  # doctest: +SKIP
    1000000
    """
    loaded, mark = opened_model(model)
    part = Part(Path(source), Path(out), rows=None, keep_columns=keep_columns, sheet=sheet, skip_rows=skip_rows)
    if part.out.suffix.lower() not in (".parquet", ".csv"):
        raise InputError(f"out must name a .parquet or .csv file; got {part.out}.")
    if part.out.exists() and part.source.exists() and part.out.samefile(part.source):
        raise InputError(f"out={str(part.out)!r} is the file to read; name another.")
    return map_part(part, loaded, mark, resume=resume, progress=progress)


def map_part(
    part: Part, model: Any, mark: str, *, resume: bool = True, progress: Callable[[int], Any] | None = None
) -> Mapped:
    """Place the rows of a part with a loaded model whose fingerprint is `mark`."""
    begin = perf_counter()
    if not part.source.is_file():
        raise InputError(f"there is no file {part.source}.")
    if resume and (done := finished(part, mark)):
        return done
    tally = Tally(model)
    as_parquet = part.out.suffix.lower() == ".parquet"
    with _rows_aside(part, mark, tally) if as_parquet else map_writer(part.out) as write:
        for columns in _placed(part, model, tally):
            write(columns)
            if progress is not None:
                progress(tally.rows)
        if not tally.rows:
            raise InputError(f"{part.source} has no rows.")
        if part.rows not in (None, tally.rows):
            raise FileFormatError(f"{part.source} announces {part.rows} rows and holds {tally.rows}.")
    return Mapped(str(part.source), str(part.out), seconds=perf_counter() - begin, **tally.counts())


def attempt(part: Part, *, path: str, mark: str, resume: bool, progress: Callable[[int], Any] | None = None) -> Mapped:
    """`map_part` with the model of a file, on one thread; what goes wrong is part of the result. For worker processes.

    One thread each: the processes share the cores, and a position never depends on how many there are.
    """
    keep_freed_memory()
    try:
        with limit_threads(1):
            return map_part(part, model_of(path, mark), mark, resume=resume, progress=progress)
    except MissingExtraError:
        raise
    except Exception as error:
        return failed(part, f"{error}" if isinstance(error, (InputError, OSError)) else repr(error))


# The model


@lru_cache(maxsize=2)
def model_of(path: str, mark: str) -> Any:
    """The model of a file, loaded once per process."""
    return PrisMap.load(path)


def opened_model(model: Any) -> tuple[Any, str]:
    """A `PrisMap` from an object or a path, and its fingerprint."""
    if not isinstance(model, PrisMap):
        path = model_path(model)
        return PrisMap.load(path), fingerprint(path)
    with TemporaryDirectory() as folder:
        return model, fingerprint(saved_model(model, Path(folder) / MODEL))


def model_path(model: Any) -> Path:
    """The file of a saved model: itself, or inside the folder of `prismap map`."""
    path = Path(model)
    return path / MODEL if path.is_dir() else path


def saved_model(model: Any, path: Path) -> Path:
    """Write a `PrisMap` with whatever it was loaded with."""
    model.save(path, extra_header=getattr(model, "extra_header_", None))
    return path


def fingerprint(path: Any) -> str:
    """A digest of all in a saved model that decides where rows go and how they are trusted; not of its times."""
    bundle = read_bundle(path)
    digest = hashlib.sha256()
    for name, array in sorted(bundle.arrays.items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    about = {key: bundle.header.get(key) for key in ("params", "target_kind", "extra")}
    trust = (bundle.header.get("report") or {}).get("trust")
    if trust is not None:  # it decides a column of the output
        about["trust"] = trust
    digest.update(json.dumps(about, sort_keys=True).encode())
    return digest.hexdigest()


# Reading and placing


class Tally:
    """What was noticed, added up over the batches."""

    def __init__(self, model: Any) -> None:
        fitted = getattr(model, "map_", None)
        known = getattr(model, "classes_", None) if fitted is None else fitted.given.target.shown.classes
        self.known = None if known is None else {str(value) for value in known}
        self.rows = self.far = 0
        self.filled: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.new_levels: dict[str, list[str]] = {}
        self.absent: dict[str, str] = {}
        self.doubtful = False
        self.new_classes: set[str] = set()
        self.encoding: Any = None
        self.columns = None if fitted is None else column_drift(fitted)

    def add(self, far: Any, encoded: Any, target: Any) -> None:
        """Count a batch."""
        self.rows += len(far)
        self.far += int(far.sum())
        if encoded is not None:  # objects have no columns
            self.filled.update(encoded.filled)
            self.unknown.update(encoded.unknown)
            self.absent |= encoded.absent
            self.doubtful |= encoded.doubtful
            for name, levels in encoded.levels.items():
                self.new_levels[name] = sorted({*self.new_levels.get(name, ()), *levels})[:10]
            if self.columns is not None:
                self.columns.add(encoded.X)
        if self.known is not None and target is not None:
            values = {value for value in set(target.tolist()) if value is not None and value == value}
            whole = (isinstance(value, float) and value.is_integer() for value in values)
            names = {str(int(value) if no_point else value) for value, no_point in zip(values, whole, strict=True)}
            self.new_classes |= names - self.known

    def counts(self) -> dict[str, Any]:
        """As `Mapped` takes them, and JSON too."""
        return {
            "rows": self.rows, "far": self.far, "filled": dict(self.filled), "unknown": dict(self.unknown),
            "new_classes": tuple(sorted(self.new_classes)), "new_levels": self.new_levels, "absent": self.absent,
            "doubtful": self.doubtful,
            "drifted": {} if self.columns is None or self.encoding is None else self.columns.in_words(self.encoding),
        }  # fmt: skip


def batch_rows(n_features: int) -> int:
    """Rows of a batch: the same for every run of a model, whatever the machine."""
    return int(np.clip(BATCH_BYTES // (8 * n_features), 1000, BATCH_ROWS))


def _placed(part: Part, model: Any, tally: Tally) -> Iterator[dict[str, Any]]:
    """The columns of the output, a batch at a time; ids and target as the source has them."""
    fitted = model.map_
    if fitted.data.kind == "objects":
        yield from placed_objects(part.source, model, tally)
        return
    encoding = tally.encoding = encoding_of(model)
    spared = may_lack(fitted, encoding)
    n_features = sum(len(column.center) for column in encoding.columns)
    nameless = without_names(model)
    for table, ids, target, kept in _batches(part, encoding, model.data, batch_rows(n_features)):
        encoded = encoding.apply(table, may_lack=spared)
        placed = placed_columns(nameless, encoded.X, encoded.given)
        placed["far"] |= encoded.doubtful
        first = part.start + tally.rows
        rows = np.arange(first, first + table.n_rows)
        tally.add(placed["far"], encoded, table.target)
        columns = {
            "id": rows if ids is None else ids, **{name: placed.pop(name) for name in ("x", "y")},
            "split": np.full(len(rows), "new"), **{name: placed.pop(name) for name in ("far", "distance")}, "row": rows,
        }  # fmt: skip
        columns |= {"trust": placed.pop("trust")} if "trust" in placed else {}
        columns |= {} if target is None else {"target": target}
        columns |= placed
        yield columns | {f"{name} (source)" if name in columns else name: values for name, values in kept.items()}


def without_names(model: Any) -> Any:
    """The same map for arrays, whose columns an encoding has matched by name."""
    nameless = copy(model)
    vars(nameless).pop("feature_names_in_", None)
    return nameless


def placed_columns(model: Any, X: Any, given: Any = None) -> dict[str, Any]:
    """What is known of rows of features: ``x``, ``y``, ``far``, ``distance``, ``trust``, and what is around them.

    given : the levels of the rows, if the map was fitted with some.
    """
    Y, far, distance = model.place(X, given=given, return_distance=True)
    trust = {"trust": model.trust(X, given=given, positions=(Y, far))} if knows_trust(model) else {}
    return {"x": Y[:, 0], "y": Y[:, 1], "far": far, "distance": distance, **trust, **votes_at(model.map_, Y)}


def _batches(part: Part, encoding: Any, kind: Any, n_rows: int) -> Iterator[tuple[Any, Any, Any, dict[str, Any]]]:
    """Tables, with the ids, the target and the columns that are kept, as they are to be written."""
    reader = reader_of(part.source)
    names = None if part.keep_columns else encoding.names
    if reader not in ("parquet", "arrow"):
        place: dict[str, Any] = {"sheet": part.sheet, "skip_rows": part.skip_rows}
        for table in read_batches(part.source, names, encoding.roles, kind=kind, n_rows=n_rows, **place):
            kept = table.columns.items() if part.keep_columns else ()
            values = {name: one.values() if isinstance(one, TextColumn) else one for name, one in kept}
            yield table, table.ids, table.target, values | {f"target_{name}": one for name, one in table.also.items()}
        return
    record_batches = (
        _parquet_part(part, encoding, n_rows)
        if reader == "parquet"
        else arrow_batches(part.source, names, encoding.roles, n_rows)
    )
    labels = (encoding.ids, encoding.target, *encoding.also)
    for batch in record_batches:
        # Labels keep the type the file gives them: one batch must not decide it for the others.
        ids, target, *_ = (batch.column(name) if name in batch.schema.names else None for name in labels)
        others = [name for name in batch.schema.names if name not in labels] if part.keep_columns else []
        also = {f"target_{name}": batch.column(name) for name in encoding.also if name in batch.schema.names}
        values = {name: batch.column(name) for name in others} | also
        yield table_from_arrow(batch, encoding.roles), ids, target, values


def _parquet_part(part: Part, encoding: Any, n_rows: int) -> Iterator[Any]:
    """The record batches of the part's row groups."""
    with open_parquet(part.source) as file:
        wanted = None if part.keep_columns else encoding.names
        names = chosen_names(file.schema_arrow.names, wanted, encoding.roles)
        groups = None if part.row_groups is None else range(*part.row_groups)
        for batch in file.iter_batches(batch_size=n_rows, row_groups=groups, columns=names, use_threads=False):
            batch.validate(full=True)
            yield batch


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """A parquet file; what pyarrow raises on damaged bytes becomes one kind of error."""
    parquet = import_extra("pyarrow.parquet", extra="io", feature="Reading parquet files")
    try:
        with parquet.ParquetFile(path, buffer_size=READ_BYTES, page_checksum_verification=True) as file:
            yield file
    except (InputError, MissingExtraError):
        raise
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise FileFormatError(f"{path} cannot be read as parquet: {what[:300]}") from error


# Writing, and knowing what is written


@contextmanager
def _rows_aside(part: Part, mark: str, tally: Tally) -> Iterator[Callable[[dict[str, Any]], None]]:
    """A function that adds columns to the parquet output, which gets its name when its rows are counted."""
    pa = import_extra("pyarrow", extra="io", feature="Writing parquet")
    parquet = import_extra("pyarrow.parquet", extra="io", feature="Writing parquet")
    note = _note(part, mark)
    writer: Any = None

    def write(columns: dict[str, Any]) -> None:
        nonlocal writer
        table = pa.table({name: arrow_column(pa, column) for name, column in columns.items()})
        if writer is None:
            writer = parquet.ParquetWriter(aside, table.schema, write_page_checksum=True)
        try:
            writer.write_table(table.cast(writer.schema))
        except pa.ArrowInvalid as error:
            raise InputError(
                f"{part.source}: ids or target change their type after row {part.start + tally.rows - len(table)} "
                f"({' '.join(str(error).split())}). Make them all numbers or all text."
            ) from error

    with written_aside(part.out) as aside:
        try:
            yield write
            writer.add_key_value_metadata({NOTE: json.dumps({**note, **tally.counts()})})
        finally:
            if writer is not None:
                writer.close()
        written = parquet.read_metadata(aside).num_rows
        if written != tally.rows:
            raise OSError(f"{part.out}: {tally.rows} rows were placed and {written} are in the file.")


def _note(part: Part, mark: str) -> dict[str, Any]:
    """What an output was made of: the model, and the source as it was."""
    about = part.source.stat()
    return {
        "prismap": __version__, "model": mark, "source": part.source.name, "bytes": about.st_size,
        "changed": about.st_mtime_ns, "row_groups": None if part.row_groups is None else list(part.row_groups),
        "ends": _ends(part.source, about.st_size), "keep_columns": part.keep_columns,
        "sheet": part.sheet, "skip_rows": part.skip_rows,
    }  # fmt: skip


def _ends(path: Path, size: int) -> str:
    """SHA-256 of the first and the last MiB: all of a small file, and the directory of a parquet file."""
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read(ENDS))
        file.seek(max(size - ENDS, 0))
        digest.update(file.read(ENDS))
    return digest.hexdigest()


def finished(part: Part, mark: str) -> Mapped | None:
    """The result of an earlier run, if its output is there and was made of the same source by the same model."""
    if part.out.suffix.lower() != ".parquet" or not part.out.is_file():
        return None
    with suppress(FileFormatError, KeyError, TypeError, ValueError), open_parquet(part.out) as file:
        note = json.loads(file.metadata.metadata[NOTE])
        counts = {name: note.pop(name) for name in Tally(None).counts()}
        if note != _note(part, mark) or file.metadata.num_rows != counts["rows"]:
            return None
        counts["new_classes"] = tuple(counts["new_classes"])
        return Mapped(str(part.source), str(part.out), skipped=True, **counts)
    return None
