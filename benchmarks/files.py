"""Parts of the large page on files: rows per core second and memory per process, in a pool and on a Dask cluster.

Also by itself: ``python -m benchmarks.files [--rows N ...] [--engine local dask workers] [--folder FOLDER]`` writes N
generated rows of 32 columns as parquet, maps them, checks that every row is there once, and removes all of it.
"workers" is a Dask cluster of processes that were started by themselves, each in a folder of its own, as machines are.
With several N the difference of two runs shows a row's cost without the start-up. The cost is compared with that of
reading the same files, and of the matrix product with the fitted rows.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import distributed
import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet
from threadpoolctl import threadpool_limits

from benchmarks.harness import clocked, core_seconds
from prismap.map import PrisMap
from prismap.scale import map_files
from prismap.scale._run import private_cluster

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
    """One run, with every row of every file once and in order: core seconds, the clock's, largest process in bytes."""
    out = folder / f"out-{engine}"
    watch = Watch()
    watch.start()
    begin, before = time.perf_counter(), core_seconds()
    with own_workers(folder, n_workers) if engine == "workers" else nullcontext() as address:
        name = "dask" if address else engine
        results = map_files(
            folder / "data", out, model, engine=name, address=address, n_workers=n_workers, progress=follow
        )
    seconds, used = time.perf_counter() - begin, core_seconds() - before
    watch.ended.set()
    assert [result.error for result in results] == [None] * len(results)
    assert sum(result.rows for result in results) == n_rows
    rows_of = {}
    for result in results:
        rows_of.setdefault(result.source, []).append(parquet.read_table(result.out, columns=["row"])["row"].to_numpy())
    for source, rows in rows_of.items():
        assert np.array_equal(np.concatenate(rows), np.arange(parquet.read_metadata(source).num_rows))
    return used, seconds, max(watch.most.values())


@contextmanager
def own_workers(folder, n_workers):
    """The address of a scheduler with workers that know of each other by it only, each in a folder of its own."""
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    about = folder / "scheduler.json"
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", about], **options)]
    try:
        for number in range(n_workers):
            own = folder / f"machine-{number}"
            own.mkdir(exist_ok=True)
            worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", about, "--nthreads", "1"]
            started.append(subprocess.Popen([*worker, "--no-dashboard", "--local-directory", own], cwd=own, **options))
        while not about.exists():
            time.sleep(0.2)
        yield json.loads(about.read_text(encoding="utf-8"))["address"]
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()
        about.unlink(missing_ok=True)


def reading_seconds(folder):
    """Core seconds of reading the files as they are read to be mapped, and nothing else."""

    def read():
        for path in sorted((folder / "data").glob("*.parquet")):
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(50_000, use_threads=False):
                    batch.validate(full=True)

    return clocked(read)[1]


def product_seconds(n_rows, n_fitted):
    """Core seconds of the products of rows with the fitted ones, in double precision, a block at a time."""
    A, B = np.ones((256, N_COLUMNS)), np.ones((N_COLUMNS, n_fitted))
    out, n_blocks = np.empty((256, n_fitted)), 100
    with threadpool_limits(1):
        np.matmul(A, B, out=out)
        before = time.process_time()
        for _ in range(n_blocks):
            np.matmul(A, B, out=out)
    return (time.process_time() - before) * n_rows / (256 * n_blocks)


def follow(progress):
    """A line every tenth file."""
    if progress.files_done % 10 == 0 and progress.files_done:
        print(f"  {progress.rows:,} rows, {progress.rate:,.0f} rows/s, {progress.seconds_left:.0f} s left", flush=True)


def same_files(one, other):
    """Whether two folders hold the same positions, to the last bit."""
    return all(
        parquet.read_table(path).equals(parquet.read_table(other / path.relative_to(one)))
        for path in one.rglob("*.parquet")
    )


def mapped(sizes, engines=("local", "dask"), n_workers=2, fit_rows=1000, folder=None):
    """A row per size and engine, and one per engine with what a row costs without the start-up."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    used = {}
    try:
        model = fitted_model(folder, fit_rows)
        for n_rows in sorted(sizes):
            write_files(folder / "data", n_rows)
            reading, products = reading_seconds(folder), product_seconds(n_rows, fit_rows)
            for engine in engines:
                used[engine, n_rows], wall, largest = measure(folder, n_rows, model, engine, n_workers)
                same = same_files(folder / f"out-{engines[0]}", folder / f"out-{engine}")
                yield one_run(engine, n_rows, used[engine, n_rows], reading, products) | {
                    "clock s": round(wall, 1), "largest process MiB": round(largest / 2**20),
                    "outputs": "same bits" if same else "OTHER BITS",
                }  # fmt: skip
            for path in (folder / "data", *folder.glob("out-*")):
                shutil.rmtree(path)
        few, many = min(sizes), max(sizes)
        share = (many - few) / many  # of the last reading and products
        for engine in engines if many > few else ():
            more = used[engine, many] - used[engine, few]
            row = one_run(engine, many - few, more, share * reading, share * products)
            yield row | {"engine": f"{ENGINES[engine]}, without start-up"}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def one_run(engine, n_rows, seconds, reading, products):
    """What a run took, and its ratios."""
    return {
        "engine": ENGINES[engine], "rows": n_rows, "core s": round(seconds, 1),
        "rows per core second": round(n_rows / seconds), "x reading": f"{seconds / reading:.1f}",
        "x products": f"{seconds / products:.1f}", "reading, core s": f"{reading:.2f}",
        "products, core s": f"{products:.2f}",
    }  # fmt: skip


ENGINES = {"local": "pool", "dask": "Dask", "workers": "Dask, workers in their own folders"}


def files(options):
    """Two million rows, and so few that most of it is start-up."""
    return mapped((50_000, 100_000) if options.quick else (200_000, 2_000_000), folder=options.folder)


def files_of_20_million(options):
    """The size of the goal."""
    return mapped((100_000, 200_000) if options.quick else (200_000, 20_000_000), folder=options.folder)


def machines(options):
    """A cluster of workers that know of each other by an address only."""
    return mapped((50_000,) if options.quick else (200_000,), ("local", "workers"), folder=options.folder)


def waiting(options):
    """What a Dask cluster of two workers takes while it does nothing."""
    for pause in (0, 5) if options.quick else (0, 30):
        begin, before = time.perf_counter(), core_seconds()
        with private_cluster(distributed, 2):
            time.sleep(pause)
        used, clock = core_seconds() - before, time.perf_counter() - begin
        yield {"cluster that waits, s": pause, "core s": f"{used:.2f}", "clock s": round(clock, 1)}


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--engine", nargs="+", choices=list(ENGINES), default=["local", "dask"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fit-rows", type=int, default=1000)
    parser.add_argument("--folder", type=Path, help="where the files are written and removed again")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside, it still removes its files
    for row in mapped(args.rows, args.engine, args.workers, args.fit_rows, args.folder):
        print("  ".join(f"{key}={value}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
