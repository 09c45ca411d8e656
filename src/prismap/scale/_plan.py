"""From what the user names (a file, a folder, a pattern, a list) to the parts of a run, each with its own output."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryFile
from typing import Any

from prismap.comparisons._reading import FASTA, JSON
from prismap.exceptions import FileFormatError, InputError
from prismap.scale._files import open_parquet
from prismap.scale._objects import is_object_file
from prismap.scale._records import Part
from prismap.tables import ENDINGS, reader_of

#: A parquet file is split, between its row groups, into parts of about so many rows.
PART_ROWS = 250_000
#: Bytes that a placed row takes at the least: two positions and its number.
ROW_BYTES = 20
_ASIDE = re.compile(r"\.(.+)\.[0-9a-f]{8}\.parquet")


def plan(sources: Any, out_dir: Path, *, objects: bool = False) -> list[Part]:
    """The parts of a run. Outputs are named like their sources, in the same sub-folders.

    A parquet file of several row groups becomes ``name-part-00000.parquet`` and so on (``part-00000.parquet`` if it is
    the only source), so that several processes can share it and a run that was stopped loses little. With `objects`,
    files of sequences and of JSON lines are sources too, and none is split.
    """
    files = find_sources(sources, out_dir, objects=objects)
    root = _common_folder(files)
    parts: list[Part] = []
    for path in files:
        name = _without_ending(path.relative_to(root))
        stretches = [(None, 0, None)] if objects else list(row_group_stretches(path))
        for number, (groups, start, rows) in enumerate(stretches):
            stem = name if len(stretches) == 1 else name.with_name(f"{name.name}-part-{number:05d}")
            if len(stretches) > 1 and len(files) == 1:
                stem = Path(f"part-{number:05d}")
            parts.append(Part(path, out_dir / f"{stem}.parquet", groups, start, rows))
    if not parts:
        raise InputError(f"the files at {sources} have no rows.")
    _refuse_clashes(parts)
    return parts


def _common_folder(files: list[Path]) -> Path:
    """The deepest folder that holds all files; outputs keep the sub-folders below it."""
    try:
        return Path(os.path.commonpath([path.parent for path in files]))
    except ValueError as error:  # Windows
        raise InputError(
            "the files are on different drives: map those of each drive into a folder of their own."
        ) from error


def find_sources(sources: Any, out_dir: Path, *, objects: bool = False) -> list[Path]:
    """The data files, sorted and each once, without those in `out_dir`."""
    if isinstance(sources, (str, os.PathLike)):
        path = Path(sources)
        if path.is_dir():
            candidates: Iterable[Path] = path.rglob("*")
        elif glob.has_magic(str(sources)) and not path.exists():
            candidates = map(Path, glob.glob(str(sources), recursive=True))
        else:
            return [_a_file(path)]
        inside = out_dir.resolve()
        files = sorted(
            {file.absolute() for file in candidates if _is_data(file, objects) and inside not in file.resolve().parents}
        )
    else:
        files = sorted({_a_file(Path(path)) for path in sources})
    if not files:
        endings = (*FASTA, *JSON, *ENDINGS) if objects else ENDINGS
        raise InputError(f"no data file at {sources}; data files end in {', '.join(endings)}.")
    return files


def _a_file(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"there is no file {path}.")
    return path.absolute()


def _is_data(path: Path, objects: bool = False) -> bool:
    known = is_object_file(path) if objects else reader_of(path) is not None
    return path.is_file() and known and not path.name.startswith((".", "_"))


def _without_ending(path: Path) -> Path:
    bare = path.with_suffix("") if path.suffix.lower() == ".gz" else path
    return bare.with_suffix("")


def row_group_stretches(path: Path) -> Iterator[tuple[tuple[int, int] | None, int, int | None]]:
    """(row groups, first row, rows) of each part of a file; one part for all but large parquet files."""
    sizes = row_group_sizes(path)
    rows = None if sizes is None else sum(sizes)
    if sizes is None or rows is None or rows <= PART_ROWS or len(sizes) == 1:
        if rows != 0:  # folders of other tools often hold files without a row
            yield None, 0, rows
        return
    first = start = count = 0
    for number, size in enumerate(sizes):
        if count and count + size > PART_ROWS:
            yield (first, number), start, count
            first, start, count = number, start + count, 0
        count += size
    yield (first, len(sizes)), start, count


def row_group_sizes(path: Path) -> list[int] | None:
    """Rows of each row group; None for files that are not parquet, or damaged (an error when they are read)."""
    if reader_of(path) == "parquet":
        with suppress(FileFormatError), open_parquet(path) as file:
            return [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
    return None


def _refuse_clashes(parts: list[Part]) -> None:
    """Two sources for one output, or an output that is a source."""
    by_out: dict[Path, Part] = {}
    for part in parts:
        other = by_out.setdefault(part.out, part)
        if other is not part:
            raise InputError(
                f"{other.source} and {part.source} would both be written to {part.out}: map them apart, or rename one."
            )
    sources = {part.source.resolve() for part in parts}
    for part in parts:
        if part.out.resolve() in sources:
            raise InputError(f"{part.out} is one of the files to read; name another folder.")


def prepare_folder(out_dir: Path, parts: list[Part]) -> None:
    """Make the folders, unless they hold rows of another run, which are not mixed with this one's; see if they can be
    written and have room left."""
    if out_dir.exists() and not out_dir.is_dir():
        raise InputError(f"{out_dir} is a file; a folder is needed for the outputs.")
    expected = {part.out for part in parts}
    others = sorted(path for path in out_dir.rglob("*.parquet") if path not in expected and path.name[0] != ".")
    if others:
        shown = ", ".join(str(path.relative_to(out_dir)) for path in others[:4]) + (", ..." if others[4:] else "")
        raise InputError(f"{out_dir} holds files that are not of this run ({shown}): name another folder.")
    for folder in {part.out.parent for part in parts}:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with TemporaryFile(dir=folder):
                pass
        except OSError as error:
            raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from error
    free = disk_usage(out_dir).free
    needed = ROW_BYTES * sum(part.rows or 0 for part in parts if not part.out.exists())
    if free < needed:
        raise InputError(
            f"{out_dir} has {free / 2**20:.0f} MiB left, and the rows of this run need about {needed / 2**20:.0f} MiB."
        )


def remove_asides(parts: Iterable[Part]) -> None:
    """Remove what processes that were killed had not finished of these parts; other runs may write beside them."""
    outs = {part.out for part in parts}
    for folder in {out.parent for out in outs}:
        for path in folder.glob(".*.parquet"):
            if (match := _ASIDE.fullmatch(path.name)) and folder / f"{match[1]}.parquet" in outs:
                path.unlink(missing_ok=True)
