"""Fits of 60,000 to a million rows: growth, recall, memory, held-out figures, and openTSNE on the same rows. Hours.

    python -m benchmarks.million --data FOLDER [--rows 60000 250000 1000000] [--who prismap openTSNE neighbours]

The rows are those of covertype, standardised and repeated with noise (0.05 of a standard deviation, so that no two are
the same); they lie in a memory-mapped npy. 10,000 rows and all their repetitions are held out. Every line is a process
of its own: its CPU seconds, its clock, and the most memory that it ever held.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from experiments.common import load
from sklearn.preprocessing import StandardScaler

from benchmarks.large import peak, sampled_recall
from prismap.quality import knn_error

NOISE, N_HELD_OUT = 0.05, 10_000
LIBRARIES = ("OMP", "OPENBLAS", "MKL", "NUMBA")


def write_rows(data_folder, folder, most):
    """Rows to fit and classes as npy files, and those held out."""
    data = load(data_folder, "covertype")
    X = StandardScaler().fit_transform(data["X"].astype(np.float32)).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    held, rest = order[:N_HELD_OUT], order[N_HELD_OUT:]
    rows = np.resize(rest, most)
    out = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, (most, X.shape[1]))
    for start in range(0, most, 100_000):
        part = rows[start : start + 100_000]
        noise = np.random.default_rng(start + 1).standard_normal((len(part), X.shape[1]), dtype=np.float32)
        out[start : start + len(part)] = X[part] + NOISE * noise
    out.flush()
    np.save(folder / "y.npy", data["y"][rows])
    np.savez(folder / "held.npz", X=X[held], y=data["y"][held])


def fit_ours(X, y, held, checkpoint):
    """A map of all rows by default, and what it took, stage by stage."""
    from prismap import PrisMap

    model = PrisMap(fit_rows=len(X), random_state=0).fit(X, y, verbose=1, checkpoint=checkpoint)
    yield {"stages": model.times_, "story": model.parts_.story, "metric": model.metric_.describe()}
    yield held_out(model.embedding_, y, model.transform(held["X"]), held["y"])


def fit_peer(X, y, held, checkpoint):
    """openTSNE of all rows with its own neighbours."""
    import openTSNE

    Y = openTSNE.TSNE(random_state=0, n_jobs=int(os.environ["OMP_NUM_THREADS"]), verbose=True).fit(np.asarray(X))
    yield {}
    yield held_out(np.asarray(Y), y, np.asarray(Y.transform(held["X"])), held["y"])


def search(X, y, held, checkpoint):
    """Neighbours alone under the metric with a fixed share, and their recall at 90 on 1,000 rows."""
    from prismap.metrics import FisherMetric
    from prismap.neighbors import kneighbors

    metric = FisherMetric(supervision=0.8, random_state=0).fit(X, y)
    start = time.process_time()
    found = kneighbors(metric=metric, method="partition", random_state=0)
    yield {"search": round(time.process_time() - start), "rounds": found.n_rounds, "pairs": repr(found)}
    yield {"recall at 90": round(sampled_recall(metric, found.indices), 3)}


def held_out(Y, y, placed, y_held):
    """Accuracy of held-out rows in %, by one and by ten fitted rows in the map."""
    errors = {k: float(knn_error(placed, y_held, Y_fit=Y, y_fit=y, n_neighbors=k)) for k in (1, 10)}
    return {f"{k}-NN, held out": round(100 * (1 - error), 1) for k, error in errors.items()}


WORK = {"prismap": fit_ours, "openTSNE": fit_peer, "neighbours": search}


def one(who, n_rows, folder):
    """One line, as a process of its own."""
    warnings.simplefilter("ignore")
    X = np.load(folder / "X.npy", mmap_mode="r")[:n_rows]
    y, held = np.load(folder / "y.npy")[:n_rows], np.load(folder / "held.npz")
    line = {"who": who, "rows": n_rows}
    before, wall, cpu = peak(), time.perf_counter(), time.process_time()
    work = WORK[who](X, y, held, folder / f"checkpoint-{who}-{n_rows}")
    line |= next(work)
    line |= {"CPU": round(time.process_time() - cpu), "clock": round(time.perf_counter() - wall)}
    line |= {"peak GB": round(peak(), 2), "before GB": round(before, 2)} | next(work)
    print(json.dumps(line, default=str), flush=True)


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[60_000, 250_000, 1_000_000])
    parser.add_argument("--who", choices=list(WORK), nargs="+", default=list(WORK))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument(
        "--folder", type=Path, help="where the rows and checkpoints lie (removed at the end if not given)"
    )
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        return one(args.who[0], args.rows[0], args.folder)
    with tempfile.TemporaryDirectory() as passing:
        folder = args.folder or Path(passing)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "held.npz").exists():
            write_rows(args.data, folder, max(args.rows))
        env = os.environ | {f"{library}_NUM_THREADS": str(args.threads) for library in LIBRARIES}
        for n_rows in args.rows:
            for who in args.who:
                command = [sys.executable, "-m", "benchmarks.million", "--one", "--data", args.data]
                command += ["--who", who, "--rows", str(n_rows), "--folder", str(folder)]
                subprocess.run(command, check=True, env=env)
    return None


if __name__ == "__main__":
    main()
