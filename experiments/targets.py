"""Real targets: how much of what is known of a number a map still shows.

nRMSE of held-out rows (1 is the mean of the target), means of three splits: for a map by the ten nearest fitted rows,
weighted by 1/distance. *Process*: the Gaussian process that the metric of the map is made of, asked for the same rows.
*Over process*: the error in the map over that, by which 1 is a map that loses nothing, and its standard deviation over
the splits. *Permuted*: the target was shuffled before anything was fitted. Rivals: the first two components of partial
least squares (PLS) and of sliced inverse regression (SIR; Li 1991, ten slices), judged alike, and prismap without the
target. *Structure*: area under R_NX against the data, of prismap and without the target. Columns are standardised; of
more than 64 the first 30 principal components are taken.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from experiments.common import load, spread
from experiments.ledger import main
from prismap import PrisMap
from prismap.metrics import FisherMetric
from prismap.quality import knn_nrmse, r_nx

READING = """
The error in the map is at most 1.10 times that of its process on seven of nine sets, and all were wanted: friedman1 has
1.11 and tecator 1.14. (Two are below 1, because ten neighbours also see what the process does not.) It is below that of
PLS and SIR on seven of nine, in most cases by far. **The exceptions are diabetes** (0.789, SIR 0.776) **and
elevation**: 0.515, PLS 0.500, SIR 0.494. There the process itself is not much better than a line (0.471; PLS as a
regression 0.497), and the plane costs more than that: ten neighbours under the metric, before there is a map, have 0.49
to 0.50. On a processor of another kind friedman1 had 1.10, diabetes 0.767, and tecator 0.137 instead of 0.160: of its
shares, which are chosen on a hundred rows, two of three were 0.99 there and are 0.8 here. Shuffled targets were left
out of all 27 maps. The price is structure: where few directions tell the target, the map keeps little of the others.

Auto-mpg was wanted too and is not among the stored sets; diabetes and tecator stand in its place.
"""
N_SPLITS, N_FIT, N_TEST, N_COMPONENTS, MOST_COLUMNS = 3, 400, 500, 30, 64
#: Fitted rows of sets that have few.
ROWS = {"boston": 300, "diabetes": 270, "tecator, fat": 130}
#: Values of the laser's series that are looked at, and how many of them tell the next.
SERIES, LAGS = 4000, 8
N_SLICES = 10


def friedman(folder, seed):
    """Friedman's first function of 5 of 10 features, with noise of variance 1."""
    return make_friedman1(N_FIT + N_TEST, 10, noise=1.0, random_state=100 + seed)


def laser(folder, seed):
    """The next value of a chaotic laser from the eight before it."""
    series = load(folder, "santafe_laser_a")["series"][:SERIES].astype(np.float64)
    return np.lib.stride_tricks.sliding_window_view(series, LAGS)[:-1], series[LAGS:]


def elevation(folder, seed):
    """The elevation of a place in a forest from all else that is known of it, but for the cover itself."""
    X = load(folder, "covertype")["X"]
    drawn = X[np.random.default_rng(seed).choice(len(X), N_FIT + N_TEST, replace=False)].astype(np.float64)
    return drawn[:, 1:], drawn[:, 0]


def stored(folder, seed, name, column=None):
    """A stored set, with one of its targets."""
    found = load(folder, name)
    return found["X"].astype(np.float64), found["y"] if column is None else found["y"][:, column]


def diabetes(folder, seed):
    """scikit-learn's own: what becomes of 442 patients in a year."""
    return load_diabetes(return_X_y=True)


SETS = {
    "friedman1": friedman, "diabetes": diabetes, "boston": partial(stored, name="boston"), "laser": laser,
    "faces, light": partial(stored, name="isomap_faces_32", column=0),
    "faces, pan": partial(stored, name="isomap_faces_32", column=1),
    "faces, tilt": partial(stored, name="isomap_faces_32", column=2), "covertype, elevation": elevation,
    "tecator, fat": partial(stored, name="tecator"),
}  # fmt: skip


def problem(name, options, seed):
    """(X, y, X_test, y_test) of a split."""
    X, y = SETS[name](options.data, seed)
    n_fit = 80 if options.quick else ROWS.get(name, N_FIT)
    order = np.random.default_rng(seed).permutation(len(X))[: n_fit + (100 if options.quick else N_TEST)]
    X, y = X[order], np.asarray(y, dtype=np.float64)[order]
    X = StandardScaler().fit(X[:n_fit]).transform(X)
    if X.shape[1] > MOST_COLUMNS:
        X = PCA(N_COMPONENTS, random_state=0).fit(X[:n_fit]).transform(X)
    return X[:n_fit], y[:n_fit], X[n_fit:], y[n_fit:]


def inverse_regression(X, y, n_components=2):
    """The directions (D, 2) of sliced inverse regression (Li 1991): the means of X over slices of y, whitened."""
    values, vectors = np.linalg.eigh(np.cov(X.T))
    kept = values > 1e-9 * values[-1]
    whiten = vectors[:, kept] / np.sqrt(values[kept])
    Z, slices = (X - X.mean(axis=0)) @ whiten, np.array_split(np.argsort(y), N_SLICES)
    M = sum(len(rows) / len(y) * np.outer(Z[rows].mean(axis=0), Z[rows].mean(axis=0)) for rows in slices)
    return whiten @ np.linalg.eigh(M)[1][:, -n_components:]


def split_figures(name, options, seed):
    """All figures of one split."""
    X, y, X_test, y_test = problem(name, options, seed)
    rng = np.random.default_rng(seed)

    def error(Z, Y, truth=y_test, told=y):
        return float(knn_nrmse(Z, truth, n_neighbors=10, Y_fit=Y, y_fit=told))

    model = PrisMap(random_state=0, target="real").fit(X, y)
    none = PrisMap(random_state=0, target="none").fit(X)
    fisher = model.metric_
    if not model.supervision_:
        fisher = FisherMetric("real", supervision=0.8, random_state=0).fit(X, y)
    own = float(np.sqrt(np.mean((fisher.target_moments(X_test)[0][:, 0] - y_test) ** 2)) / y_test.std())
    shuffled, shuffled_test = rng.permutation(y), rng.permutation(y_test)
    permuted = PrisMap(random_state=0, target="real").fit(X, shuffled)
    pls, axes = PLSRegression(2).fit(X, y), inverse_regression(X, y)
    return {
        "map": error(model.transform(X_test), model.embedding_), "process": own,
        "without target": error(none.transform(X_test), none.embedding_),
        "PLS": error(pls.transform(X_test), pls.transform(X)), "SIR": error(X_test @ axes, X @ axes),
        "permuted": error(permuted.transform(X_test), permuted.embedding_, shuffled_test, shuffled),
        "structure": float(r_nx(X, model.embedding_).auc_log_k),
        "structure, none": float(r_nx(X, none.embedding_).auc_log_k),
        "share": model.supervision_, "share, permuted": permuted.supervision_,
    }  # fmt: skip


def rows_of(names, options):
    """A row per set: means of the splits."""
    warnings.simplefilter("ignore")
    for name in names:
        found = [split_figures(name, options, seed) for seed in range(1 if options.quick else N_SPLITS)]
        ratio = [one["map"] / one["process"] for one in found]
        row = {"set": name, "map": "", "process": "", "over process": spread(ratio, 2)}
        for key in found[0]:
            values = [one[key] for one in found]
            row[key] = "; ".join(f"{v:g}" for v in values) if key.startswith("share") else f"{np.mean(values):.3f}"
        yield row


WITHOUT_DATA = ("generated and bundled",)
BUNDLED = ("friedman1", "diabetes")
PARTS = {
    "generated and bundled": partial(rows_of, BUNDLED),
    "stored": partial(rows_of, [name for name in SETS if name not in BUNDLED]),
}

if __name__ == "__main__":
    main(sys.modules[__name__])
