"""What the experiments share: data sets from a folder, scores, peers in an environment of their own."""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
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


def peer_has(python, package):
    """Whether the other environment, if there is one, has a package."""
    return bool(python) and subprocess.run([python, "-c", f"import {package}"], capture_output=True).returncode == 0


def timed(work):
    """Result and seconds of the processor."""
    start = processor_seconds()
    result = work()
    return result, processor_seconds() - start


def processor_seconds():
    """What this process and the peers that it started have used so far; other work on the machine does not count."""
    return sum(os.times()[:4])


def spread(values, digits=1):
    """Mean and standard deviation as text; the mean alone if there is one value."""
    mean = f"{np.mean(values):.{digits}f}"
    return f"{mean} +- {np.std(values):.{digits}f}" if len(values) > 1 else mean


def quietly(work, category=Warning):
    """A part whose estimators are not to warn: of small perplexities and ranks, say."""

    def part(options):
        warnings.simplefilter("ignore", category)
        return work(options)

    return part
