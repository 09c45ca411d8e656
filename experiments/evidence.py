"""Supervision by evidence: chosen beside a fixed share and plain t-SNE, on sets that are hard for one of them.

Maps of 300 to 1,500 rows, at most 1,000 other rows placed on them; one split. *Accuracy* in %, by the
nearest and by the ten nearest fitted rows on the map (*error*: nRMSE of five neighbours, for a real target). *Auto* is
`supervision="auto", mapping="auto"`; *fixed* the default, 0.8 and kernels; *max* is `supervision="max"`; *plain* a map
without target, by votes. *Full space*: the better of a support vector machine and a forest. *Permuted, 0 taken*: how
often the choice leaves a permuted target out. Seconds of the processor for the fit.
"""

from __future__ import annotations

import sys
import time
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from experiments.common import load, spread
from experiments.ledger import main
from prismap import PrisMap
from prismap.map.choose import choose
from prismap.metrics import FisherMetric
from prismap.metrics.geometry import data_metric
from prismap.quality import knn_error, knn_nrmse

READING = """
Where few features matter or classes are bent, the choice gains 1 to 19 points of ten neighbours over a fixed share, and
more over a plain map; on shells and signs it is at or near the full space. On few of 100 and on xor it falls 10 and 12
points short of it: a share that is as good in the metric is not as good in two dimensions ("max" gains 5 points on the
first and loses 2 on the second). On housing it takes the former share. Permuted targets were left out in 59 of 60
cases. Fits take 1.6 to 2.2 times as long: the forests, the curve and the choice of the mapping.
"""
N_TEST, N_SPLITS, N_PERMUTED, PERMUTED_ROWS = 1000, 1, 10, 300
MAPS = {
    "auto": {"supervision": "auto", "mapping": "auto"}, "fixed": {}, "max": {"supervision": "max", "mapping": "auto"},
    "plain": {"target": "none"},
}  # fmt: skip


def few(n, seed):
    """Four classes in 6 of 100 features."""
    return make_classification(n, 100, n_informative=6, n_redundant=0, n_classes=4, random_state=seed)


def shells(n, seed):
    """Three shells around the origin in 3 of 15 dimensions."""
    rng = np.random.default_rng(seed)
    y, X, direction = rng.integers(3, size=n), rng.normal(size=(n, 15)), rng.normal(size=(n, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    X[:, :3] = direction * (1 + y[:, None]) + 0.12 * rng.normal(size=(n, 3))
    return X, y


def signs(n, seed):
    """The signs of 2 of 30 features."""
    X = np.random.default_rng(seed).normal(size=(n, 30))
    return X, 2 * (X[:, 0] > 0) + (X[:, 1] > 0)


def xor(n, seed):
    """Whether the signs of 2 of 20 features differ."""
    X = np.random.default_rng(seed).normal(size=(n, 20))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)


def imbalanced(n, seed):
    """Three classes of 90, 7 and 3 %."""
    return make_classification(
        n, 20, n_informative=6, n_redundant=4, n_classes=3, weights=[0.9, 0.07, 0.03], random_state=seed
    )


GENERATED = {"few of 100": few, "shells": shells, "signs": signs, "xor": xor, "imbalanced": imbalanced}
REAL = {"digits": 600, "usps9298": 1000, "letter": 1500, "phoneme_lvqpak": 800, "boston": 300}


def problem(name, options, seed):
    """(X, y, X_test, y_test), standardised where columns have scales of their own."""
    n_fit = 200 if options.quick else REAL.get(name, 600)
    if name in GENERATED:
        X, y = GENERATED[name](n_fit + N_TEST, seed)
    else:
        X, y = load_digits(return_X_y=True) if name == "digits" else (load(options.data, name)[key] for key in "Xy")
    order = np.random.default_rng(seed).permutation(len(X))[: n_fit + N_TEST]
    X, y = X[order].astype(np.float64), y[order]
    if name == "boston":
        X = (X - X[:n_fit].mean(axis=0)) / X[:n_fit].std(axis=0)
    elif y.dtype.kind not in "iu" or name in REAL:
        y = np.unique(y, return_inverse=True)[1]
    return X[:n_fit], y[:n_fit], X[n_fit:], y[n_fit:]


def rows_of(name, options):
    """One row per map."""
    warnings.simplefilter("ignore")
    splits = [problem(name, options, seed) for seed in range(1 if options.quick else N_SPLITS)]
    kind = "real" if name == "boston" else "class"
    for label, params in MAPS.items():
        runs = [figures(kind, {"target": kind, **params}, parts, seed) for seed, parts in enumerate(splits)]
        row = {key: spread([run[key] for run in runs], 1 if kind == "class" else 3) for key in runs[0] if key[0] != "w"}
        row = {"map": label, **row, "taken": "; ".join(run["was taken"] for run in runs)}
        if label == "auto":
            row["permuted, 0 taken"] = permuted(kind, splits[0], 2 if options.quick else N_PERMUTED)
        yield row
    ceiling = spread([full_space(kind, parts) for parts in splits], 1 if kind == "class" else 3)
    yield {"map": "full space", ("10-NN accuracy" if kind == "class" else "error"): ceiling}


def figures(kind, params, parts, seed):
    """Held-out figures of one map, what it took, and the seconds of its fit."""
    X, y, new, truth = parts
    start = time.process_time()
    model = PrisMap(random_state=seed, **params).fit(X, y)
    seconds = time.process_time() - start
    fitted = {"Y_fit": model.embedding_, "y_fit": y}
    Z = model.transform(new)
    if kind == "class":
        found = {f"{k}-NN accuracy": 100 * (1 - float(knn_error(Z, truth, n_neighbors=k, **fitted))) for k in (1, 10)}
    else:
        found = {"error": float(knn_nrmse(Z, truth, n_neighbors=5, **fitted))}
    posterior = model.metric_.describe().split(",")[0] if model.supervision_ else "no target"
    mapping = {"KernelMap": "kernels", "VoteMap": "votes"}[type(model.parts_.mapping).__name__]
    return {**found, "seconds": seconds, "was taken": f"{posterior} {model.supervision_:g}, {mapping}"}


def permuted(kind, parts, n_permuted):
    """How often a permuted target is left out."""
    X, y = parts[0][:PERMUTED_ROWS], parts[1][:PERMUTED_ROWS]
    y = np.unique(y, return_inverse=True)[1] if kind == "class" else y.astype(np.float64)
    data = data_metric("vectors").over(X)
    taken = 0
    for seed in range(n_permuted):
        shuffled = np.random.default_rng(seed + 1).permutation(y)
        taken += choose(FisherMetric(kind, random_state=seed), data, shuffled, "auto", seed).supervision == 0
    return f"{taken} of {n_permuted}"


def full_space(kind, parts):
    """The better of two models that see all features."""
    X, y, new, truth = parts
    if kind == "class":
        models = SVC(), RandomForestClassifier(200, random_state=0)
        return max(100 * float(make_pipeline(StandardScaler(), one).fit(X, y).score(new, truth)) for one in models)
    models = SVR(C=10), RandomForestRegressor(200, random_state=0)
    mean, scale = y.mean(), y.std()
    return min(
        float(
            np.sqrt(
                1 - make_pipeline(StandardScaler(), one).fit(X, (y - mean) / scale).score(new, (truth - mean) / scale)
            )
        )
        for one in models
    )


PARTS = {name: partial(rows_of, name) for name in (*GENERATED, *REAL)}
WITHOUT_DATA = (*GENERATED, "digits")

if __name__ == "__main__":
    main(sys.modules[__name__])
