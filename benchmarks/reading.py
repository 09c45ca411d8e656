"""A part of the large page: memory of a fit as a share of the data, of a memory-mapped npy file and of parquet files.

Generated rows of 64 columns in single precision are written, read and mapped in processes of their own, and removed.
The peak is that of the process: all its memory, or only its own (anonymous) memory, since pages of a mapped file are
given up when others need them. What an import of prismap holds is taken off.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

N_COLUMNS, N_CLASSES, N_FILES = 64, 8, 8

WATCHED = """
import json, sys, threading, time, warnings
import numpy as np
warnings.simplefilter("ignore")
from prismap import PrisMap
from prismap.cli.main import main
from prismap.tables import read_table
PrisMap(random_state=0).fit(np.random.default_rng(0).normal(size=(40, 3)))  # imports all there is

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":"))

def watch():
    while True:
        peak["own"] = max(peak["own"], status("RssAnon"))
        time.sleep(0.005)

before = {"own": status("RssAnon"), "all": status("VmRSS")}
peak = {"own": 0}
threading.Thread(target=watch, daemon=True).start()
begin = time.process_time()
folder, fit_rows = sys.argv[1], int(sys.argv[2])
with open(f"{folder}/y.npy", "rb") as file:
    y = np.load(file)
WORK
peak["all"] = status("VmHWM")
print(json.dumps({**{name: peak[name] - before[name] for name in peak}, "cpu": time.process_time() - begin}))
"""

WORK = {
    "PrisMap.fit(np.load(..., mmap_mode='r'), y), 1,000 fitted rows":
        "PrisMap(fit_rows=fit_rows, random_state=0).fit(np.load(f'{folder}/X.npy', mmap_mode='r'), y)",
    "the same, and positions of all rows":
        "PrisMap(fit_rows=fit_rows, random_state=0).fit(np.load(f'{folder}/X.npy', mmap_mode='r'), y).positions()",
    "read_table(folder of parquet)":
        "table = read_table(f'{folder}/parts')",
    "PrisMap.from_table(read_table(folder), 'y'), 1,000 fitted rows":
        "PrisMap.from_table(read_table(f'{folder}/parts'), 'y', fit_rows=fit_rows, random_state=0)",
    "prismap map folder --quick":
        "main(['map', f'{folder}/parts', '--target', 'y', '-o', f'{folder}/map', '--force', '--quick', '--quiet', "
        "'--fit-rows', str(fit_rows)])",
    "prismap map X.npy --quick (no target)":
        "main(['map', f'{folder}/X.npy', '-o', f'{folder}/map', '--force', '--quick', '--quiet', "
        "'--fit-rows', str(fit_rows)])",
}  # fmt: skip


def write_data(folder: Path, n_rows: int) -> int:
    """The rows as one npy file and as parquet files; returns their bytes."""
    rng = np.random.default_rng(0)
    y = rng.integers(N_CLASSES, size=n_rows)
    X = rng.standard_normal((n_rows, N_COLUMNS), dtype=np.float32)
    X += 2 * rng.standard_normal((N_CLASSES, N_COLUMNS), dtype=np.float32)[y]
    (folder / "parts").mkdir()
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    for number, rows in enumerate(np.array_split(np.arange(n_rows), N_FILES)):
        columns = {f"x{j}": np.ascontiguousarray(X[rows, j]) for j in range(N_COLUMNS)}
        parquet.write_table(pa.table({**columns, "y": y[rows]}), folder / "parts" / f"part-{number}.parquet")
    return X.nbytes


def reading(options):
    """Write, measure each way in a process of its own, remove."""
    n_rows, fit_rows = (20_000, 200) if options.quick else (300_000, 1000)
    folder = Path(tempfile.mkdtemp(dir=options.folder))
    try:
        n_bytes = write_data(folder, n_rows)
        for name, work in WORK.items():
            command = [sys.executable, "-c", WATCHED.replace("WORK", work), str(folder), str(fit_rows)]
            ended = subprocess.run(command, capture_output=True, text=True, check=False)
            if ended.returncode:
                raise SystemExit(f"{name}: {ended.stderr}")
            found = json.loads(ended.stdout.splitlines()[-1])
            yield {
                "what": name, "rows": n_rows, "data MiB": round(n_bytes / 2**20),
                "own memory x the data": f"{found['own'] / n_bytes:.2f}",
                "all memory x the data": f"{found['all'] / n_bytes:.2f}", "CPU s": round(found["cpu"]),
            }  # fmt: skip
    finally:
        shutil.rmtree(folder, ignore_errors=True)
