"""What the experiments share: data sets from a folder, scores, tables as text."""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA

from prismap.quality import knn_error


def load(folder, name):
    """Arrays of one data set by name."""
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        raise SystemExit(f"{path} is not there: --data names the folder of the data sets.")
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def split_rows(X, y, n_train, n_test, seed, n_components=30):
    """Random training and test rows, reduced to the training rows' principal components if there are more features."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    X = X.astype(np.float64)
    if X.shape[1] > n_components:
        pca = PCA(n_components, random_state=0, svd_solver="randomized").fit(X[train])
        return pca.transform(X[train]), y[train], pca.transform(X[test]), y[test]
    return X[train], y[train], X[test], y[test]


def accuracy(Y, y, Y_fit=None, y_fit=None):
    """1-NN accuracy in %, inside the rows or from fitted to other rows."""
    return 100 * (1 - float(knn_error(Y, y, Y_fit=Y_fit, y_fit=y_fit)))


def run_peer(python, code, **arrays):
    """Run `code` in another environment on arrays (as X, y, ...); it must set `out`, a dict of arrays."""
    with tempfile.TemporaryDirectory() as folder:
        np.savez(Path(folder) / "in.npz", **arrays)
        script = (
            "import sys, time, warnings, numpy as np\nwarnings.simplefilter('ignore')\n"
            f"data = dict(np.load({str(Path(folder) / 'in.npz')!r})); globals().update(data)\n{code}\n"
            f"np.savez({str(Path(folder) / 'out.npz')!r}, **out)\n"
        )
        subprocess.run([python, "-c", script], check=True)
        with np.load(Path(folder) / "out.npz") as file:
            return {key: file[key] for key in file.files}


def timed(work):
    """Result and seconds."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def markdown(rows):
    """Rows (dicts) as a Markdown table; floats with one decimal."""
    names = list(dict.fromkeys(key for row in rows for key in row))
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(cell(row.get(name, "")) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def cell(value):
    """A table cell."""
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def main(run, description):
    """The command line of an experiment: --data, --quick, --out, --peers."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument(
        "--quick", action="store_true", help="smaller, on generated or scikit-learn data where possible"
    )
    parser.add_argument("--out", help="folder for the table (Markdown and JSON)")
    parser.add_argument("--peers", help="Python of an environment with umap-learn and openTSNE, for the peers' columns")
    args = parser.parse_args()
    options = {"peers": args.peers} if args.peers else {}
    if args.out and "out" in run.__code__.co_varnames[: run.__code__.co_argcount]:
        options["out"] = args.out  # an experiment that draws
    rows, seconds = timed(lambda: run(args.data, args.quick, **options))
    print(markdown(rows), f"\n\n{seconds:.0f} s")
    if args.out:
        name = run.__module__.split(".")[-1] if run.__module__ != "__main__" else Path(run.__code__.co_filename).stem
        Path(args.out).mkdir(parents=True, exist_ok=True)
        (Path(args.out) / f"{name}.md").write_text(f"# {description}\n\n{markdown(rows)}\n", encoding="utf-8")
        (Path(args.out) / f"{name}.json").write_text(json.dumps(rows, indent=1), encoding="utf-8")
