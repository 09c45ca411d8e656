"""`map_files`: many files, or a large one, on all cores or on a cluster; what is done is not done again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from prismap._locks import locked_folder
from prismap.bundle import read_bundle
from prismap.exceptions import InputError
from prismap.map import PrisMap
from prismap.scale.engines import n_cores, run_dask, run_here, run_pool
from prismap.scale.files import attempt, fingerprint, finished, model_path, saved_model
from prismap.scale.plan import plan, prepare_folder, remove_asides
from prismap.scale.records import Mapped, Part, Progress

ENGINES = ("local", "dask")


def map_files(
    sources, out_dir, model, *, keep_columns=False, engine="local", address=None, n_workers=None, resume=True,
    progress: Callable[[Progress], Any] | None = None,
) -> list[Mapped]:  # fmt: skip
    """Place the rows of many files on a map, in parallel, and write one parquet file for each.

    A file that cannot be read is named in its result and does not stop the others. A large parquet file is split
    between its row groups into parts, each with an output of its own.

    Parameters
    ----------
    sources : a file, a folder (with its sub-folders), a pattern such as ``"data/*.parquet"``, or a list of files.
    out_dir : folder of the outputs, made if needed. Each is there completely or not at all.
    model : a `PrisMap`, or the path of a saved one.
    keep_columns : whether the other columns of the sources are written, too (see `map_file`).
    engine : "local" for processes on this machine, "dask" for a Dask cluster.
    address : address of a Dask scheduler; None starts a cluster on this machine for the run.
    n_workers : processes; None takes the cores there are.
    resume : bool
        Whether outputs that are there, made of the same sources by the same model, are left as they are. The model is
        compared by its content; a source by name, size, time of its last change, and the content of its first and last
        MiB: what else was rewritten with an old time is not seen. ``resume=False`` makes all of them anew.
    progress : called with a `Progress` when something is done.

    Returns
    -------
    list of Mapped : one for each output, in order: rows, far rows, seconds, error.

    Notes
    -----
    Processes are spawned: in a script the call must stand under ``if __name__ == "__main__":``. Each loads the model
    once and works on one thread; memory is the model and one batch a process.
    """
    if engine not in ENGINES:
        raise InputError(f"engine must be 'local' or 'dask'; got {engine!r}.")
    if address is not None and engine != "dask":
        raise InputError(f"address={address!r} is for engine='dask'.")
    out_dir = Path(out_dir).absolute()
    planned = plan(sources, out_dir, objects=compares_objects(model))
    parts = [replace(part, keep_columns=keep_columns) for part in planned]
    prepare_folder(out_dir, parts)
    busy = f"another run is writing into {out_dir}: wait for it, or name another folder."
    with locked_folder(out_dir, refusal=busy), model_file(model, out_dir) as (path, mark):
        remove_asides(parts)
        results = {part: finished(part, mark) if resume else None for part in parts}
        waiting = [part for part, result in results.items() if result is None]
        job = partial(attempt, path=str(path), mark=mark, resume=resume)
        meter = Meter(waiting, progress)
        by_out = {str(part.out): part for part in parts}
        try:
            for result in _run(waiting, job, engine, address, n_workers or n_cores(), meter):
                results[by_out[result.out]] = result
                meter.finished(result)
        finally:
            remove_asides(parts)
    return [result for result in results.values() if result is not None]


def _run(waiting, job, engine, address, n_workers, meter) -> Iterator[Mapped]:
    if not waiting:
        return iter(())
    n_workers = min(n_workers, len(waiting))
    if engine == "dask":
        return run_dask(waiting, job, address, n_workers)
    if n_workers == 1:
        return run_here(waiting, partial(job, progress=meter.within))
    return run_pool(waiting, job, n_workers)


def compares_objects(model) -> bool:
    """Whether the rows of a map, or of the file of one, are objects."""
    if isinstance(model, PrisMap):
        return model.map_.data.kind == "objects"
    return "objects" in read_bundle(model_path(model)).arrays


@contextmanager
def model_file(model, out_dir: Path) -> Iterator[tuple[Path, str]]:
    """The path of the model, for worker processes, and its fingerprint. An object is stored beside the outputs."""
    if not isinstance(model, PrisMap):
        path = model_path(model).absolute()
        yield path, fingerprint(path)
        return
    path = saved_model(model, out_dir / ".model.prismap")
    try:
        yield path, fingerprint(path)
    finally:
        with suppress(FileNotFoundError):
            path.unlink()


class Meter:
    """Counts rows and files, and tells whoever wants to know."""

    def __init__(self, parts: list[Part], tell: Callable[[Progress], Any] | None):
        self.begin = perf_counter()
        self.files = len(parts)
        self.expected = sum(part.rows or 0 for part in parts) if all(part.rows for part in parts) else None
        self.tell = tell
        self.done = self.rows = 0

    def within(self, rows: int) -> None:
        """So many rows of the part at hand are placed."""
        self._tell(self.rows + rows)

    def finished(self, result: Mapped) -> None:
        """A part is done."""
        self.done += 1
        self.rows += result.rows
        self._tell(self.rows)

    def _tell(self, rows: int) -> None:
        if self.tell is not None:
            self.tell(Progress(self.done, self.files, rows, self.expected, perf_counter() - self.begin))
