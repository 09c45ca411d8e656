"""Mapping of files: rows a second and memory a process, in a pool and on a Dask cluster of this machine.

``python -m benchmarks.bench_scale FOLDER [--rows N ...] [--engine local dask workers] [--workers N] [--fit-rows N]``
writes N generated rows of 32 columns to FOLDER as parquet, maps them, checks that every row is there once, and removes
all of it. "workers" is a Dask cluster of processes that were started by themselves, each in a folder of its own, as
machines are. With several N the difference of two runs shows a row's cost without the start-up. The cost is compared
with that of reading the same files, and of the matrix product with the fitted rows. Within ``benchmarks.run`` two
processes are compared with one on few rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet
from threadpoolctl import threadpool_limits

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
    """One run: core seconds, with every row of every file once and in order."""
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
    far = sum(result.far for result in results) / n_rows
    print(
        f"{engine}, {n_workers} workers: {n_rows:,} rows in {seconds:.1f} s, {n_rows / seconds:,.0f} rows/s, "
        f"{n_rows / used:,.0f} rows a second of a core ({used:.1f} s), largest process "
        f"{max(watch.most.values()) / 2**20:.0f} MiB, {far:.2%} far, {len(results)} outputs",
        flush=True,
    )
    return used


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
    before = time.process_time()
    for path in sorted((folder / "data").glob("*.parquet")):
        with parquet.ParquetFile(path) as file:
            for batch in file.iter_batches(50_000, use_threads=False):
                batch.validate(full=True)
    return time.process_time() - before


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
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--engine", nargs="+", choices=("local", "dask", "workers"), default=["local", "dask"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--fit-rows", type=int, default=1000)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ended from outside, it still removes its files
    folder = args.folder / "bench_scale"
    used = {}
    try:
        folder.mkdir(parents=True)
        model = fitted_model(folder, args.fit_rows)
        for n_rows in sorted(args.rows):
            write_files(folder / "data", n_rows)
            reading, products = reading_seconds(folder), product_seconds(n_rows, args.fit_rows)
            print(f"{n_rows:,} rows: reading {reading:.2f} core s, products {products:.2f} core s", flush=True)
            for engine in args.engine:
                used[engine, n_rows] = spent = measure(folder, n_rows, model, engine, args.workers)
                print(f"  {spent / reading:.0f} x reading, {spent / products:.1f} x products, start-up included")
            same = [same_files(folder / f"out-{args.engine[0]}", folder / f"out-{one}") for one in args.engine[1:]]
            print("bit-equal" if all(same) else "NOT EQUAL", flush=True)
            for path in (folder / "data", *folder.glob("out-*")):
                shutil.rmtree(path)
        few, many = min(args.rows), max(args.rows)
        for engine in args.engine if many > few else ():
            cost = (used[engine, many] - used[engine, few]) / (many - few)
            print(f"{engine}: {1 / cost:,.0f} rows per core second without start-up", flush=True)
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
