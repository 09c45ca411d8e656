"""What more fitted rows are worth, and whether a time as `fit_rows` is kept. Minutes to an hour.

    python -m benchmarks.fit_rows --data FOLDER [--sets covertype letter mnist] [--rows 1000 2000 5000 10000]
    python -m benchmarks.fit_rows --data FOLDER --sets covertype --rows "20 s" "60 s"

All rows but the held-out ones are given, and so many of them are embedded. The held-out rows are projected onto the map
and judged by the fitted rows there. `--permuted` permutes the target of all rows first: that is chance. A time is set
beside what the fit took by the clock and in CPU seconds of this process, the trial fits included.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings

import numpy as np
from experiments.common import load
from sklearn.preprocessing import StandardScaler

from benchmarks.maps import mnist
from benchmarks.million import held_out
from prismap import PrisMap

N_HELD_OUT = 5000


def standardised(folder, name):
    """Rows that are held out and all others, standardised by all."""
    data = load(folder, name)
    X = StandardScaler().fit_transform(data["X"].astype(np.float32)).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(X))
    held, rest = order[:N_HELD_OUT], order[N_HELD_OUT:]
    return X[rest], data["y"][rest], X[held], data["y"][held]


def rows_of(folder, name):
    """(X, y, X_held, y_held) of a data set."""
    if name != "mnist":
        return standardised(folder, name)
    X, y, X_held, y_held = mnist(folder)
    return X, y, X_held[:N_HELD_OUT], y_held[:N_HELD_OUT]


def line(name, rows, fit_rows, seed, permuted):
    """One fit in plain values."""
    X, y, X_held, y_held = rows
    if permuted:
        y, y_held = (np.random.default_rng(1).permutation(one) for one in (y, y_held))
    wall, cpu = time.perf_counter(), time.process_time()
    model = PrisMap(fit_rows=fit_rows, random_state=seed).fit(X, y)
    clock = {"CPU": round(time.process_time() - cpu, 1), "clock": round(time.perf_counter() - wall, 1)}
    fitted = {"set": name, "asked": fit_rows, "rows": len(model.fit_rows_), "seed": seed, "permuted": permuted}
    figures = held_out(model.embedding_, y[model.fit_rows_], model.transform(X_held), y_held)
    told = {"stages": model.times_, "supervision": model.supervision_, "notes": model.notes_}
    told["metric"] = model.metric_.describe()
    return fitted | clock | figures | told | {"iterations": model.map_.story["n_iter"]}


def main():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--sets", nargs="+", default=["covertype", "letter", "mnist"])
    parser.add_argument("--rows", nargs="+", default=["1000", "2000", "5000", "10000"], help="numbers, or times")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--permuted", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in args.sets:
        rows = rows_of(args.data, name)
        for fit_rows in args.rows:
            for seed in args.seeds:
                asked = int(fit_rows) if fit_rows.isdigit() else fit_rows
                print(json.dumps(line(name, rows, asked, seed, args.permuted), default=str), flush=True)


if __name__ == "__main__":
    main()
