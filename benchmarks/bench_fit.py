"""Whole fits: `PrisMap.fit` against openTSNE on the same rows, and a descent that settles against all iterations.

CPU seconds of one process. With a data folder, rows of mnist in 50 components; else digits.
"""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path

import numpy as np
import openTSNE
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from prismap import PrisMap
from prismap.embeddings import TSNE, GradientDescent
from prismap.embeddings._tsne import choose_engine, described_engine

SIZES = (2_000, 5_000, 9_000)
#: A fit is to take at most this share of openTSNE's time.
MOST = 0.4


def rows(data_folder):
    """Vectors and classes, in one order."""
    path = None if data_folder is None else Path(data_folder) / "mnist.npz"
    if path is None or not path.exists():
        return load_digits(return_X_y=True)
    with np.load(path) as file:
        X, y = file["X"][:60_000].astype(np.float32), file["y"][:60_000]
    return PCA(50, random_state=0).fit_transform(X).astype(np.float32), y


def fit(X, y, **options):
    """A map of all these rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrisMap(fit_rows=len(X), random_state=0, **options).fit(X, y)


def cases(data_folder=None):
    """Every size with the default and with a fixed share of the target, and the iterations alone."""
    X, y = rows(data_folder)
    for n in (size for size in SIZES if size <= len(X)) if len(X) >= SIZES[0] else (len(X),):
        peer = partial(openTSNE.TSNE(random_state=0, n_jobs=1).fit, X[:n])
        for options in ({}, {"supervision": 0.8}):
            words = "default" if not options else "supervision=0.8"
            yield {
                "name": f"PrisMap.fit, {n:,} rows, {words}, against openTSNE",
                "ours": partial(fit, X[:n], y[:n], **options), "theirs": peer, "repeat": 1,
                "goal": 1 / MOST, "peak": False,
            }  # fmt: skip
    X = X[:1500].astype(np.float64)
    done = [TSNE(descent=GradientDescent(tol=tol), random_state=0).fit(X).n_iter_ for tol in (0.03, 0)]
    yield {
        "name": f"t-SNE until it has settled ({done[0]} iterations), against all {done[1]}",
        "ours": lambda: TSNE(random_state=0).fit(X), "repeat": 2,
        "theirs": lambda: TSNE(descent=GradientDescent(tol=0), random_state=0).fit(X),
        "goal": 2.0, "note": described_engine(choose_engine(len(X), 2)),
    }  # fmt: skip
