"""A part of the large page: fits of 60,000 to a million rows, and openTSNE on the same rows. Hours.

    python -m benchmarks.million --data FOLDER [--rows 60000 1000000] [--who prismap openTSNE permuted neighbours]
        [--folder FOLDER]

The rows are those of covertype, standardised and repeated with noise (0.05 of a standard deviation, so that no two are
the same); they lie in a memory-mapped npy. 10,000 rows and all their repetitions are held out. Every line is a process
of its own: its CPU seconds, its clock, and the most memory that it ever held. It is kept in the folder with the commit
of the code, where the part of the page finds it; so is how far openTSNE has come, so that a run that was stopped is
still a lower bound.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from experiments import ledger
from experiments.common import load
from experiments.run import ONE_THREAD
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import clocked, peak_gb
from benchmarks.maps import sampled_recall
from prismap.quality import knn_error

N_ROWS, NOISE, N_HELD_OUT = 1_000_000, 0.05, 10_000
#: openTSNE's iterations, and how often it tells how far it is.
N_ITER, EVERY = 750, 50


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


def fit_ours(X, y, held, folder):
    """A map of all rows by default, and what it took, stage by stage; then held-out rows, and a verdict by sampling."""
    from prismap import PrisMap

    checkpoint = folder / f"checkpoint-prismap-{len(X)}"
    model = PrisMap(fit_rows=len(X), random_state=0).fit(X, y, verbose=1, checkpoint=checkpoint)
    yield {"stages": model.times_, "story": model.map_.story, "metric": model.metric_.describe()}
    placed, seconds = clocked(lambda: model.transform(held["X"]))
    yield {"place 10,000, CPU": round(seconds), **held_out(model.embedding_, y, placed, held["y"])}
    report, seconds = clocked(lambda: model.report(budget="quick"))
    yield {"quick report, CPU": round(seconds), "verdict": str(report).splitlines()[0], "peak GB, report": peak()}


def fit_permuted(X, y, held, folder):
    """The same with permuted labels, without a verdict."""
    from prismap import PrisMap

    rng = np.random.default_rng(0)
    y, y_held = rng.permutation(y), rng.permutation(held["y"])
    checkpoint = folder / f"checkpoint-permuted-{len(X)}"
    model = PrisMap(fit_rows=len(X), random_state=0).fit(X, y, verbose=1, checkpoint=checkpoint)
    yield {"stages": model.times_, "story": model.map_.story, "metric": model.metric_.describe()}
    yield held_out(model.embedding_, y, model.transform(held["X"]), y_held)


def fit_peer(X, y, held, folder):
    """openTSNE of all rows with its own neighbours, telling how far it is."""
    import openTSNE

    start, done = time.process_time(), []

    def tell(*_):
        if sum(done) == N_ITER:  # now it is held-out rows that are placed
            return
        done.append(EVERY)
        progress = {"iterations": sum(done), "CPU": round(time.process_time() - start), "peak GB": peak()}
        print(f"openTSNE: {progress}", file=sys.stderr, flush=True)
        keep(folder, "openTSNE", len(X), {"who": "openTSNE", "rows": len(X), "stopped": True, **progress})

    options = {"callbacks": tell, "callbacks_every_iters": EVERY, "verbose": True}
    Y = openTSNE.TSNE(random_state=0, n_jobs=int(os.environ["OMP_NUM_THREADS"]), **options).fit(np.asarray(X))
    yield {"story": {"n_iter": N_ITER}}
    yield held_out(np.asarray(Y), y, np.asarray(Y.transform(held["X"])), held["y"])


def search(X, y, held, folder):
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


def peak():
    """The most memory of this process, GB."""
    return round(peak_gb(), 2)


WORK = {"prismap": fit_ours, "openTSNE": fit_peer, "permuted": fit_permuted, "neighbours": search}


def one(who, n_rows, folder):
    """One line, as a process of its own: kept after the fit, and again with what is measured afterwards."""
    warnings.simplefilter("ignore")
    X = np.load(folder / "X.npy", mmap_mode="r")[:n_rows]
    y, held = np.load(folder / "y.npy")[:n_rows], np.load(folder / "held.npz")
    line = {"who": who, "rows": n_rows}
    wall, cpu = time.perf_counter(), time.process_time()
    work = WORK[who](X, y, held, folder)
    line |= next(work)
    line |= {"CPU": round(time.process_time() - cpu), "clock": round(time.perf_counter() - wall), "peak GB": peak()}
    keep(folder, who, n_rows, line)
    for more in work:
        line |= more
        keep(folder, who, n_rows, line)
    print(json.dumps(line, default=str), flush=True)


def line_path(folder, who, n_rows):
    """Where a line is kept."""
    return Path(folder) / f"line-{who}-{n_rows}.json"


def keep(folder, who, n_rows, line):
    """Keep a line with the commit of the code."""
    text = json.dumps(line | {"commit": ledger.commit()}, default=str, indent=1)
    line_path(folder, who, n_rows).write_text(text + "\n", encoding="utf-8")


def run_lines(data_folder, folder, sizes, who, threads=1):
    """Every line in a process of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "held.npz").exists():
        write_rows(data_folder, folder, max(sizes))
    env = os.environ | {name: str(threads) for name in ONE_THREAD}
    for n_rows in sizes:
        for name in who:
            command = [sys.executable, "-m", "benchmarks.million", "--one", "--data", data_folder]
            command += ["--who", name, "--rows", str(n_rows), "--folder", str(folder)]
            subprocess.run(command, check=True, env=env)


def million(options):
    """The lines of the folder of long runs as they are; where it has none, all are measured."""
    sizes, who = (12_000,) if options.quick else (60_000, N_ROWS), ("prismap", "openTSNE", "permuted")
    with tempfile.TemporaryDirectory() as passing:
        folder = options.folder or Path(passing)
        if not any(folder.glob("line-*.json")):
            run_lines(options.data, folder, sizes, who)
        for path in (line_path(folder, name, n_rows) for n_rows in sizes for name in who):
            if path.exists():
                yield as_row(json.loads(path.read_text(encoding="utf-8")))


def as_row(line):
    """A line as a row of the page; a run that was stopped says so, and its seconds are a lower bound."""
    story = line.get("story", {})
    recall = re.search(r"recall (?:of )?([0-9.]+[0-9])", str(story.get("neighbors", "")))
    stopped = line.get("stopped")
    done = f"{line['iterations']} of {N_ITER}, stopped" if stopped else story.get("n_iter", "")
    return {
        "rows": line["rows"], "map": {"permuted": "prismap, permuted labels"}.get(line["who"], line["who"]),
        "metric": line.get("metric", ""), "recall": recall.group(1) if recall else "", "iterations": done,
        "fit, CPU s": f"> {line['CPU']}" if stopped else line["CPU"], "peak GB": f"{line['peak GB']:.2f}",
        "10-NN, held out": line.get("10-NN, held out", ""), "1-NN, held out": line.get("1-NN, held out", ""),
        "place 10,000, CPU s": line.get("place 10,000, CPU", ""),
        "quick report, CPU s": line.get("quick report, CPU", ""),
        "commit": line.get("commit") or "earlier", "note": line.get("note", ""),
    }  # fmt: skip


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--rows", type=int, nargs="+", default=[60_000, N_ROWS])
    parser.add_argument("--who", choices=list(WORK), nargs="+", default=list(WORK))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where rows, checkpoints and lines lie (without it, removed)")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        return one(args.who[0], args.rows[0], args.folder)
    with tempfile.TemporaryDirectory() as passing:
        run_lines(args.data, args.folder or Path(passing), args.rows, args.who, args.threads)
    return None


if __name__ == "__main__":
    main()
