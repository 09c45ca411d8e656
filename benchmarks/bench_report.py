"""What a verdict costs: the full and the quick report against the fit of the same map.

The goals are at most the time of the fit, and three tenths of it. The first report of a process also imports what it
needs, so a small map is judged beforehand. Rows of mnist are on 50 components.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.decomposition import PCA

from prismap import PrisMap

#: Rows of digits, and of mnist where it is at hand; all rows of the cancer table stand between them.
DIGITS, MNIST = (150, 1797), (5_000,)
#: The least fit / report that is wanted.
GOALS = {"full": 1.0, "quick": 3.33}


def tables(data_folder):
    """(name, rows, classes) by ascending size."""
    X, y = load_digits(return_X_y=True)
    yield f"{DIGITS[0]} digits", X[: DIGITS[0]], y[: DIGITS[0]]
    cancer = load_breast_cancer(return_X_y=True)
    yield f"{len(cancer[1])} rows of cancer", *cancer
    yield f"{DIGITS[1]:,} digits", X, y
    path = None if data_folder is None else Path(data_folder) / "mnist.npz"
    if path is None or not path.exists():
        return
    with np.load(path) as file:
        order = np.random.default_rng(0).permutation(len(file["X"]))[: max(MNIST)]
        X, y = file["X"][order].astype(np.float32), file["y"][order]
    X = PCA(50, random_state=0).fit_transform(X)
    for n_rows in MNIST:
        yield f"{n_rows:,} rows of mnist", X[:n_rows], y[:n_rows]


def as_fitted(model):
    """The same model without a report, and without what its map has found out since the fit."""
    model = copy.copy(model)
    model.map_ = replace(model.map_)
    return model


def cases(data_folder=None):
    """What is compared: (name, ours, theirs), both of the same rows."""
    X, y = load_digits(return_X_y=True)
    PrisMap(random_state=0).fit(X[:100], y[:100]).report()
    for name, X, y in tables(data_folder):
        model = PrisMap(fit_rows=len(X), random_state=0).fit(X, y)
        for budget, goal in GOALS.items():
            yield {
                "name": f"{budget} report on {name}, against the fit",
                "ours": lambda model=model, budget=budget: as_fitted(model).report(budget=budget),
                "theirs": lambda X=X, y=y: PrisMap(fit_rows=len(X), random_state=0).fit(X, y),
                "goal": goal, "repeat": 2 if len(X) < 500 else 1, "peak": False,
            }  # fmt: skip
