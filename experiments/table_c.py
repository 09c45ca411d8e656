"""Table C: new rows on the map (Gisbrecht, Schulz, Hammer 2015, Table 2).

**Protocol.** 1-NN accuracy in % of projected rows, as in the paper: usps 1,000 and the others 2,000 training rows, 30
principal components (letter as it is). The map is fitted on the training rows, and 10,000 test rows are projected.
Means and standard deviations of three random splits. *Inside* is the paper's figure (the nearest neighbour among the
projected test rows), *fit to test* takes the nearest fitted row. Permuted: training and test labels shuffled. UMAP with
`--peers`, its seconds with its compilation.

The parts *as published* are Algorithms 1 and 2 of the paper, line by line and in plain double precision: t-SNE of the
training rows, under the Euclidean metric (Algorithm 1) or under Fisher distances of a Parzen density that has seen the
rows it judges (Algorithm 2; T = 5, speeds at left nodes), and then a kernel map on Euclidean distances whose width is a
factor times each row's distance to its nearest neighbour. The paper takes the smallest factor for which "all entries of
K are within the range of representable numbers (resp. a predefined interval)". We show two readings of it and our own
kernel map, whose width is cross-validated:

- *every pair*: every kernel value between two training rows is a normal number (``bandwidth="all-representable"`` of
  `KernelMap`);
- *every row* (``bandwidth="representable"``): every training row has a normal kernel value at one other training row at
  least. A new row that is farther than that from all training rows gets no kernel value at all and falls to the origin,
  which the paper observed of some of its rows (*rows at origin*, number of test rows).

**What differs.** The paper tells neither its splits nor its perplexity (ours: 30) nor T. Its formula for the Fisher
distance lacks the square root that the thesis has; we take the root. norb is not among our sets.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from experiments.common import accuracy, load, run_peer, split_rows, spread, timed
from experiments.ledger import main
from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.exceptions import PrismapWarning
from prismap.mappings import KernelMap
from prismap.mappings._kernels import interpolate
from prismap.metrics import FisherMetric

READING = """
Our default is above every entry of the paper and within three points of the support vector machine on the rows
themselves, and permuted labels stay at chance. Projecting 10,000 rows takes a fraction of a second, where UMAP's
`transform` takes 17 to 30. UMAP with labels separates its training rows whatever the labels are, and projects new rows
worse than prismap by 5 (mnist) to 20 (letter) points on the sets of the paper. Without a target, new rows go where most
of their nearest fitted rows are, and prismap is 10 to 23 points ahead of UMAP there.

As published, the width "every pair" spoils the projection (55 % on usps, 40 on letter and 64 on mnist for the paper's
84.8, 80.1 and 85.8). "Every row" comes within 2 to 5 points of the paper, and on mnist a row or two in 30,000 fall to
the origin. With a cross-validated width Algorithm 2 has the paper's figures or more (87.6 for 87.4 on usps, 82.4 for
80.4 on letter, 88.2 for 86.3 on mnist), and Algorithm 1 stays 2 to 4 points below. On usps one common factor of .15 to
.2 gives the paper's figure for Algorithm 1, and a density that is wider by the root of 2 those of Algorithm 2, on
training rows as well ([reasons](reasons.md)). The in-sample metric of Algorithm 2
shows permuted labels on its training rows (67 % on usps and 76 % on mnist, where chance is 10), and nothing of them on
new rows.
"""
#: Accuracies of the paper on training and test rows.
PAPER = {
    "letter": {"kernel t-SNE": (84.1, 80.1), "parametric t-SNE": (21.3, 27.8), "Fisher kernel t-SNE": (85.5, 80.4)},
    "mnist": {"kernel t-SNE": (90.7, 85.8), "parametric t-SNE": (85.4, 62.5), "Fisher kernel t-SNE": (91.1, 86.3)},
    "usps11000": {"kernel t-SNE": (90.5, 84.8), "parametric t-SNE": (86.5, 58.6), "Fisher kernel t-SNE": (96.6, 87.4)},
}
ROWS = {"letter": 2000, "mnist": 2000, "usps11000": 1000}
MOST_TEST, N_SPLITS = 10_000, 3

UMAP = """
import umap
start = time.process_time()
model = umap.UMAP(random_state=int(seed)).fit(X, y if supervised else None); out = {"Y": model.embedding_}
out["fit"] = np.array(time.process_time() - start); start = time.process_time()
out["Z"] = model.transform(X_test); out["seconds"] = np.array(time.process_time() - start)
"""


def rows_of(name, options):
    """One row a method."""
    warnings.simplefilter("ignore", PrismapWarning)
    for method, (train, test) in PAPER.get(name, {}).items():
        yield {"method": f"paper: {method}", "train, in-sample": f"{train}", "inside": f"{test}"}
    runs = [on_split(name, options, seed) for seed in range(1 if options.quick else N_SPLITS)]
    for found in zip(*runs, strict=True):
        keys = [key for key in found[0] if key != "method"]
        methods = ", ".join(dict.fromkeys(row["method"] for row in found))
        yield {"method": methods, **{key: spread([row[key] for row in found]) for key in keys}}


def split(name, options, seed):
    """Training and test rows with labels, and the same with permuted labels."""
    if name == "digits":
        X, y, X_test, y_test = split_rows(*load_digits(return_X_y=True), 600, 1197, seed)
    else:
        data = load(options.data, name)
        X, y, X_test, y_test = split_rows(data["X"], data["y"], ROWS[name], MOST_TEST, seed)
    if options.quick:
        X, y, X_test, y_test = X[:400], y[:400], X_test[:1000], y_test[:1000]
    rng = np.random.default_rng(seed + 1)
    return (X, y, X_test, y_test), (X, rng.permutation(y), X_test, rng.permutation(y_test))


def on_split(name, options, seed):
    """All methods on one split."""
    parts, shuffled = split(name, options, seed)
    X, y, X_test, y_test = parts
    rows = [{"method": "RBF SVM on the same rows", "fit to test": 100 * SVC(C=10).fit(X, y).score(X_test, y_test)}]
    rows.append(our_row("prismap", parts, {}, seed))
    rows.append(our_row("prismap, permuted labels", shuffled, {}, seed))
    pure = {"metric": FisherMetric(posterior="parzen"), "supervision": 1.0}
    rows.append(our_row("prismap, Parzen, w = 1", parts, pure, seed))
    rows.append(our_row("prismap, no target", parts, {"target": "none"}, seed))
    if options.peers:
        rows.append(umap_row("UMAP", parts, False, seed, options.peers))
        rows.append(umap_row("UMAP with labels", parts, True, seed, options.peers))
        rows.append(umap_row("UMAP with permuted labels", shuffled, True, seed, options.peers))
    return rows


def umap_row(method, parts, supervised, seed, peers):
    """UMAP in an environment of its own."""
    X, y, X_test, y_test = parts
    codes = np.unique(y, return_inverse=True)[1]
    found = run_peer(peers, UMAP, X=X, y=codes, X_test=X_test, supervised=supervised, seed=seed)
    return scores(method, found["Y"], y, found["Z"], y_test, float(found["fit"]), float(found["seconds"]))


def our_row(method, parts, options, seed):
    """Fit on the training rows, place the test rows."""
    X, y, X_test, y_test = parts
    m, fit = timed(lambda: PrisMap(random_state=seed, fit_rows=len(X), **options).fit(X, y))
    Z, place = timed(lambda: m.transform(X_test))
    label = f"{method} ({m.metric_.posterior_.name})" if m.supervision_ else method  # no supervision, no posterior
    return scores(label, m.embedding_, y, Z, y_test, fit, place)


def scores(method, Y, y, Z, z, fit, place):
    """Accuracies of one map."""
    return {
        "method": method, "train, in-sample": accuracy(Y, y), "inside": accuracy(Z, z),
        "fit to test": accuracy(Z, z, Y, y), "fit s": fit, "place s": place,
    }  # fmt: skip


# --- Algorithms 1 and 2, as published ---------------------------------------------------------------------------------


def published(name, options):
    """Algorithms 1 and 2 by the width of their kernels, each with permuted labels."""
    warnings.simplefilter("ignore", PrismapWarning)  # an ill-conditioned K, whose pseudo-inverse is taken
    n_splits = 1 if options.quick else N_SPLITS
    runs = [published_on_split(name, options, seed) for seed in range(n_splits)]
    for found in zip(*runs, strict=True):
        first = found[0]
        printed = PAPER.get(name, {}).get(first["method"][13:-1])
        paper = "" if printed is None or first["labels"] == "permuted" else "{} / {}".format(*printed)
        words = {key: first[key] for key in ("method", "width", "labels")} | {"paper: train / inside": paper}
        digits = dict.fromkeys(first, 1) | {"factor": 3}
        yield words | {key: spread([row[key] for row in found], digits[key]) for key in first if key not in words}


def published_on_split(name, options, seed):
    """One split: both algorithms, three widths, true and permuted labels."""
    (X, y, X_test, y_test), (_, shuffled, _, shuffled_test) = split(name, options, seed)
    D, D_test = cdist(X, X), cdist(X_test, X)
    distances = {"plain": D, "true": fisher_distances(X, y), "permuted": fisher_distances(X, shuffled)}
    maps = {kind: TSNE(metric="precomputed", random_state=seed).fit_transform(d) for kind, d in distances.items()}
    placed = {}
    for width, factor in (("every pair", factor_of_pairs(D)), ("every row", factor_of_rows(D))):
        for kind, Z in zip(maps, kernel_map(D, D_test, list(maps.values()), factor), strict=True):
            placed[width, kind] = Z, factor
    for kind, Y in maps.items():
        kernels = KernelMap().fit(X, Y)
        placed["cross-validated", kind] = kernels.transform(X_test), kernels.factor_
    rows = []
    for labels, c, c_test in (("true", y, y_test), ("permuted", shuffled, shuffled_test)):
        for method, kind in (("Algorithm 1 (kernel t-SNE)", "plain"), ("Algorithm 2 (Fisher kernel t-SNE)", labels)):
            for width in ("every pair", "every row", "cross-validated"):
                Y, (Z, factor) = maps[kind], placed[width, kind]
                rows.append({
                    "method": method, "width": width, "labels": labels, "train, in-sample": accuracy(Y, c),
                    "inside": accuracy(Z, c_test), "fit to test": accuracy(Z, c_test, Y, c),
                    "rows at origin": float(np.count_nonzero(~Z.any(axis=1))), "factor": factor,
                })  # fmt: skip
    return rows


def fisher_distances(X, y):
    """CALCPAIRWISEFISHERDIS: in-sample Parzen density, T = 5 left nodes; made symmetric, as t-SNE needs it."""
    metric = FisherMetric(posterior="parzen", path="tangent-left", n_segments=5, cross_fit=False, random_state=0)
    D = metric.fit(X, y).pairwise().astype(np.float64)
    return (D + D.T) / 2


def kernel_map(D, D_test, maps, factor):
    """Lines 6 to 14 of Algorithm 1 for several maps; a row without any kernel value falls to the origin."""
    sigma = factor * nearest(D)
    K, K_test = (np.exp(-0.5 * np.square(distances / sigma)) for distances in (D, D_test))
    K, K_test = (k / np.maximum(k.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny) for k in (K, K_test))
    return np.split(K_test @ interpolate(K, np.hstack(maps), 0.0)[0], len(maps), axis=1)


def nearest(D):
    """Distance of each row to its nearest other row (that is not a duplicate)."""
    return np.where(1e-7 * D.max() < D, D, np.inf).min(axis=1)


def factor_of_pairs(D):
    """Every kernel value is a normal number: ``exp(-d_ij^2 / 2 (f n_j)^2) >= tiny`` for all i, j."""
    return float((D / nearest(D)).max() / REACH)


def factor_of_rows(D):
    """Every row has a normal kernel value at one other row at least: the same for all i and the best j."""
    return float(np.where(D > 0, D / nearest(D), np.inf).min(axis=1).max() / REACH)


#: Widths that a Gaussian can be away before its value is no normal number.
REACH = np.sqrt(-2 * np.log(np.finfo(np.float64).tiny))
PARTS = {
    **{name: partial(rows_of, name) for name in (*ROWS, "digits")},
    **{f"{name}, as published": partial(published, name) for name in (*ROWS, "digits")},
}
WITHOUT_DATA = ("digits", "digits, as published")

if __name__ == "__main__":
    main(sys.modules[__name__])
