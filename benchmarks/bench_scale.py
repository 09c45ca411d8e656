"""Mapping of files: rows a second and memory a process, in a pool and on a Dask cluster of this machine.

``python -m benchmarks.bench_scale FOLDER [--rows N] [--engine local dask] [--workers N] [--fit-rows N]`` writes N
generated rows of 32 columns to FOLDER as parquet, maps them, checks that every row is there once, and removes all
of it. Within ``benchmarks.run`` two processes are compared with one on few rows.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet

from prismap.map import PrisMap
from prismap.scale import map_files

N_COLUMNS, N_CLASSES, ROW_GROUP, FILE_ROWS = 32, 8, 125_000, 2_500_000


def make_rows(n_rows, seed):
    """Gaussian classes in 32 columns, float32, and the classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(N_CLASSES, size=n_rows)
    centers = 2 * np.random.default_rng(0).standard_normal((N_CLASSES, N_COLUMNS), dtype=np.float32)
    return centers[y] + rng.standard_normal((n_rows, N_COLUMNS), dtype=np.float32), y


def write_files(folder, n_rows):
    """The rows as parquet files of at most 2.5 million."""
    folder.mkdir(parents=True)
    names = [f"x{j}" for j in range(N_COLUMNS)]
    for number, start in enumerate(range(0, n_rows, FILE_ROWS)):
        schema = pa.schema([(name, pa.float32()) for name in names])
        stop = min(start + FILE_ROWS, n_rows)
        with parquet.ParquetWriter(folder / f"rows-{number:03d}.parquet", schema) as writer:
            for first in range(start, stop, ROW_GROUP):
                X, _ = make_rows(min(ROW_GROUP, stop - first), first + 1)
                writer.write_table(pa.table([np.ascontiguousarray(column) for column in X.T], schema=schema))


def fitted_model(folder, fit_rows):
    """A saved map with a class target."""
    X, y = make_rows(20_000, 0)
    PrisMap(fit_rows=fit_rows, random_state=0).fit(X, y).save(folder / "model.prismap")
    return folder / "model.prismap"


class Watch(threading.Thread):
    """The most resident bytes of this process and of each below it."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self.ended = {}, threading.Event()

    def run(self):
        own = psutil.Process()
        while not self.ended.wait(0.2):
            for process in (own, *own.children(recursive=True)):
                try:
                    resident = process.memory_info().rss
                except psutil.Error:
                    continue
                self.most[process.pid] = max(self.most.get(process.pid, 0), resident)


def measure(folder, n_rows, model, engine, n_workers):
    """One run: rows a second, the most memory of a process, and every row of every file once and in order."""
    out = folder / f"out-{engine}"
    watch = Watch()
    watch.start()
    begin, before = time.perf_counter(), core_seconds()
    results = map_files(folder / "data", out, model, engine=engine, n_workers=n_workers, progress=follow)
    seconds, used = time.perf_counter() - begin, core_seconds() - before
    watch.ended.set()
    assert [result.error for result in results] == [None] * len(results)
    assert sum(result.rows for result in results) == n_rows
    rows_of = {}
    for result in results:
        rows_of.setdefault(result.source, []).append(parquet.read_table(result.out, columns=["row"])["row"].to_numpy())
    for source, rows in rows_of.items():
        assert np.array_equal(np.concatenate(rows), np.arange(parquet.read_metadata(source).num_rows))
    far = sum(result.far for result in results) / n_rows
    print(
        f"{engine}, {n_workers} workers: {n_rows:,} rows in {seconds:.1f} s, {n_rows / seconds:,.0f} rows/s, "
        f"{n_rows / used:,.0f} rows a second of a core, largest process {max(watch.most.values()) / 2**20:.0f} MiB, "
        f"{far:.2%} far, {len(results)} outputs",
        flush=True,
    )
    return out


def core_seconds():
    """Seconds that cores worked for this process and those below it that have ended: fair on a busy machine."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def follow(progress):
    """A line every tenth file."""
    if progress.files_done % 10 == 0:
        print(f"  {progress.rows:,} rows, {progress.rate:,.0f} rows/s, {progress.seconds_left:.0f} s left", flush=True)


def same_files(one, other):
    """Whether two folders hold the same positions, to the last bit."""
    return all(
        parquet.read_table(path).equals(parquet.read_table(other / path.relative_to(one)))
        for path in one.rglob("*.parquet")
    )


def main():
    """The large run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--engine", nargs="+", default=["local", "dask"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fit-rows", type=int, default=1000)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside, it still removes its files
    folder = args.folder / "bench_scale"
    try:
        begin = time.perf_counter()
        write_files(folder / "data", args.rows)
        print(f"{args.rows:,} rows x {N_COLUMNS} written in {time.perf_counter() - begin:.0f} s", flush=True)
        model = fitted_model(folder, args.fit_rows)
        outs = [measure(folder, args.rows, model, engine, args.workers) for engine in args.engine]
        if len(outs) == 2:
            print("bit-equal" if same_files(*outs) else "NOT EQUAL", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def cases(data_folder=None):
    """200,000 rows: two processes against one; start-up included, so the ratio stays below two."""
    folder = Path(tempfile.mkdtemp())
    write_files(folder / "data", 200_000)
    model = fitted_model(folder, 500)

    def run_with(n_workers):
        return lambda: map_files(folder / "data", folder / f"{n_workers}", model, n_workers=n_workers, resume=False)

    try:
        yield {
            "name": "mapping 200,000 rows from parquet: two processes, against one",
            "ours": run_with(2),
            "theirs": run_with(1),
            "check": lambda *_: same_files(folder / "2", folder / "1"),
            "repeat": 3,
        }
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
