"""Placing new rows: the Fisher map and the Euclidean map against openTSNE's transform and against matrix products."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import openTSNE
from sklearn.decomposition import PCA

from prismap import PrisMap
from prismap.exceptions import PrismapWarning
from prismap.mappings import KernelMap

N_FIT, N_NEW = 2000, 10_000


def rows(data_folder):
    """mnist in 30 components if it is at hand, else Gaussian classes of the same size."""
    path = None if data_folder is None else Path(data_folder) / "mnist.npz"
    if path is None or not path.exists():
        rng = np.random.default_rng(0)
        y = np.arange(N_FIT + N_NEW) % 10
        return rng.normal(size=(10, 30))[y] * 2 + rng.normal(size=(len(y), 30)), y
    with np.load(path) as file:
        order = np.random.default_rng(0).permutation(len(file["X"]))[: N_FIT + N_NEW]
        X, y = file["X"][order].astype(np.float64), file["y"][order]
    return PCA(30, random_state=0).fit_transform(X), y


def products_alone(X, new, Y):
    """The two products of a Euclidean kernel map: rows by fitted rows, kernels by coefficients."""
    K = np.empty((len(new), len(X)), dtype=X.dtype)

    def work():
        np.matmul(new, X.T, out=K)
        return K @ Y

    return work


def cases(data_folder=None):
    """10,000 new rows on a map of 2,000."""
    warnings.simplefilter("ignore", PrismapWarning)
    X, y = rows(data_folder)
    new, X, y = X[N_FIT:], X[:N_FIT], y[:N_FIT]
    peer = openTSNE.TSNE(random_state=0, n_jobs=1).fit(X)
    name = f"placing {N_NEW} rows on a map of {N_FIT}"
    for mapping in ("vote", "fisher"):
        model = PrisMap(supervision=0.8, mapping=mapping, random_state=0).fit(X, y)
        yield {
            "name": f"{name}: Fisher metric, mapping={mapping!r}, against openTSNE's transform",
            "ours": lambda model=model: model.transform(new), "theirs": lambda: peer.transform(new),
        }  # fmt: skip
    Y = model.embedding_
    for dtype in (np.float64, np.float32):
        rows_, new_ = X.astype(dtype), new.astype(dtype)
        kernel = KernelMap(bandwidth=0.5, ridge=1e-3).fit(rows_, Y)
        yield {
            "name": f"{name}: Euclidean map, {np.dtype(dtype).name}, against its matrix products alone",
            "ours": lambda kernel=kernel, new_=new_: kernel.transform(new_),
            "theirs": products_alone(rows_, new_, Y.astype(dtype)),
        }
