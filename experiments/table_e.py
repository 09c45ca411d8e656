"""Table E: pictures of trained models (thesis 3.5 and 3.6).

**Protocol.** Agreement of labels and correlation of certainty or output, in %, between a model and its picture, on rows
left out, one draw of the rows:

* *inverse*: as in the thesis, all rows are on the map and each of ten folds is left out of the inverse map only;
* *strict*: each of five folds is left out of both maps, and placed as new rows are (``ModelView.fidelity_``);
* *published*: as *inverse*, with the in-sample density of the thesis (``cross_fit=False``), which pulls every row to
  its own label; *permuted*: the same with shuffled labels, so what is left comes from the rows alone.

r is the correlation of certainty, in %. Of two classes it is *signed*, as the decision value of the thesis' machines
(3.5), and absolute, as the shades of a picture; of more classes it is the smallest one-versus-one margin.

usps, letter, phoneme: a support vector machine (C = 10) on 1,500 rows, usps in 30 principal components, plain and
Fisher maps. The inverse is the surface of `ModelView`; *kernels* is the one of the thesis (3.3), under the Fisher
tensor of the map's metric, the model's own where RSLVQ supervises the map. *neighbours r*: a row's certainty against
the mean of its 15 neighbours on the map, which needs no inverse.

*usps, size of the tree*: the thesis does not print the size of its tree, only its accuracy (89 % on training and 66 %
on test rows) and the agreement of two Fisher SOM pictures with it (87.8 % supervised by labels, 92.3 % by the tree).
Between 60 and 90 leaves our trees are as accurate on training rows, and more accurate on test rows than the thesis'.
There the picture supervised by the tree agrees as in the thesis, and the one supervised by labels stays below; it needs
the full tree to get there. [Reasons](reasons.md) has what else was tried.

**What differs.** The thesis gives Fig. 3.11 as a chart: "Fisher better in every pair" is what is compared. The toy sets
are rebuilt from the text and are not the thesis' own: figures can be compared in kind only. The rows of usps, letter
and phoneme are drawn anew.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from experiments import toys
from experiments.common import load, processor_seconds, quietly
from experiments.ledger import main
from prismap import PrisMap
from prismap.inspection import ModelView
from prismap.inspection._inverse import inverse_of
from prismap.inspection._responses import Responder
from prismap.inspection._tasks import Answer
from prismap.learners import RSLVQ
from prismap.metrics import FisherMetric
from prismap.quality._fidelity import correlation

READING = """
Fisher is better in all fifteen pairs. Rows of usps left out of *both* maps: 95.3 % against 92.7 % (ICPRAM 2013: 92 and
85). With the in-sample density of the thesis 99.6, of which the same with permuted labels, 77.7, shows how much it owes
to the labels it is given.

Certainty with its sign reaches the paper on the toy sets (set 1 1.00 for .99, set 2 with t-SNE 1.00 for .98, the cube
.93 to .99 for .82 to .91), SOM comes close (.94 and .96 for .98 and .99). Earlier editions of this page compared it
without the sign and blamed the inverse. For usps, phoneme and letter the thesis prints no correlation. Ours are low
because of the machine more than of the inverse: training puts support vectors at margin 1, where 51 % of the rows of
usps, 36 % of phoneme and 59 % of letter lie, and certainty hardly varies. With a machine that was trained on other
rows, r rises from 40 to 63, from 56 to 72 and from 45 to 61. The kernels of the thesis agree on labels within 2.4
points of the local means for support vector machines and RSLVQ, and are 7 to 17 points below them for the tree. They
show certainty better on some sets and worse on letter.

The outlier of set 2 of the regressions no longer spoils the map under its own target, since the process behind the
metric draws in extreme targets: 98.0 for the support vector regression with GTM, where it was 62.8 (thesis: 99).

Below the paper: the regression tree of set 2 ({regression_gtm} and {regression_tsne} for 99; its output jumps, so a
small error of the inverse becomes a large one of the output), and the tree on usps under labels ({tree} for 87.8, and
{tree_90} to {tree_full} for larger trees). The thesis prints the accuracy of its tree and not its size. The complex
machine of set 1 has a region around the astray row and no longer border otherwise, so the one claim marked NO is not
seen in our rebuilt set.
"""
QUOTED = {
    **{
        f"regression_{name}": ("regression", {"set": "set 2, tree", "method": f"Fisher {title}"}, "ours, inverse")
        for name, title in (("gtm", "GTM"), ("tsne", "t-SNE"))
    },
    "tree": ("usps, other models", {"model": "tree", "map": "Fisher som", "supervised by": "labels"}, "ours, inverse"),
    "tree_90": ("usps, size of the tree", {"leaves": 90}, "supervised by labels"),
    "tree_full": ("usps, size of the tree", {"leaves": 199}, "supervised by labels"),
}
METHODS = ("tsne", "isomap", "mvu", "som", "gtm")
N_ROWS, N_FOLDS, N_STRICT = 1500, 10, 5


def left_out_of_inverse(view, model, X, y, n_folds=N_FOLDS, inverse="auto"):
    """The thesis' figure: each fold left out of the inverse map only; all rows have their place on the map."""
    responder, predicted = Responder(model, X, y), Answer(view.predicted, view.certainty)
    cut = StratifiedKFold if view.kind == "class" else KFold
    parts = []
    for train, test in cut(n_folds, shuffle=True, random_state=0).split(X, view.predicted):
        back = inverse_of(view.map, view.positions[train], np.asarray(X)[train], inverse)
        shown = responder(back(view.positions[test]))
        parts.append(view.task.compare(predicted.take(test), shown))
    figures = ("agreement", "certainty", "output", "signed_certainty")
    names = [name for name in figures if getattr(parts[0], name) is not None]
    return {name: 100 * float(np.mean([getattr(one, name) for one in parts])) for name in names}


def neighbor_certainty(view, n_neighbors=15):
    """Correlation of a row's certainty with the mean of its neighbours' on the map, in %.

    It needs no inverse: a certainty that differs between rows in one place cannot be shown by any picture of the map.
    """
    index = NearestNeighbors(n_neighbors=n_neighbors + 1).fit(view.positions).kneighbors(view.positions)[1][:, 1:]
    return 100 * correlation(view.certainty, view.certainty[index].mean(axis=1))


def rows_of(name, options, part=0):
    """A random subset of a benchmark set, usps on the 30 principal components of the first one (thesis 3.5.3)."""
    if name == "phoneme":
        arrays = load(options.data, "phoneme_lvqpak")
        X, y = arrays["X"][arrays["subset13"]], arrays["y"][arrays["subset13"]]
    else:
        arrays = load(options.data, {"letter": "letter", "usps": "usps9298"}[name])
        X, y = arrays["X"], arrays["y"]
    n_rows, order = 500 if options.quick else N_ROWS, np.random.default_rng(0).permutation(len(X))
    first, chosen = order[:n_rows], order[part * n_rows : (part + 1) * n_rows]
    if name == "usps":
        X = PCA(30, random_state=0).fit(X[first]).transform(X)
    return X[chosen].astype(np.float64), y[chosen]


def pair(model, X, y, recipe, strict):
    """One view, plain or Fisher, in all the ways it is judged."""
    view = ModelView.from_estimator(model, X, y, map=recipe, grid_resolution=50)
    found = {"inverse": left_out_of_inverse(view, model, X, y)}
    if strict:
        honest = view.cross_validate(N_STRICT)
        found["strict"] = {"agreement": 100 * honest.agreement, "certainty": 100 * honest.certainty}
    return found


def classifiers(name, options):
    """SVM under each embedding, plain and Fisher (Fig. 3.11)."""
    X, y = rows_of(name, options)
    model = SVC(C=10).fit(X, y)
    for method in METHODS[::3] if options.quick else METHODS:
        start, strict = processor_seconds(), method == "tsne"
        plain = pair(model, X, y, PrisMap(method, target="none", random_state=0), strict)
        fisher = pair(model, X, y, PrisMap(method, random_state=0), strict)
        row = {"method": method}
        for kind in plain:
            row |= {f"{kind}: plain": plain[kind]["agreement"], f"{kind}: Fisher": fisher[kind]["agreement"]}
            row |= {f"{kind}: plain r": plain[kind]["certainty"], f"{kind}: Fisher r": fisher[kind]["certainty"]}
        if strict:
            row |= as_published(method, model, X, y)
        yield row | {"seconds": processor_seconds() - start}


def as_published(method, model, X, y):
    """Agreement with the in-sample density, and with the same of permuted labels."""
    recipe = PrisMap(method, metric=FisherMetric(cross_fit=False, posterior="parzen"), supervision=1.0, random_state=0)
    shuffled = np.random.default_rng(0).permutation(y)
    found = {"published": pair(model, X, y, recipe, strict=False)["inverse"]["agreement"]}
    mixed = ModelView.from_estimator(model, X, y, map=recipe.fit(X, shuffled), grid_resolution=50)
    return found | {"permuted": left_out_of_inverse(mixed, model, X, y)["agreement"]}


def certainty_of_many_classes(options):
    """Why certainty is hard to show on these sets: one Fisher map, a machine that saw its rows, one that did not."""
    for name in ("usps", "phoneme", "letter"):
        X, y = rows_of(name, options)
        plane = PrisMap(random_state=0).fit(X, y)
        for words, rows in (("the rows of the map", (X, y)), ("other rows", rows_of(name, options, part=1))):
            model = SVC(C=10).fit(*rows)
            view = ModelView.from_estimator(model, X, y, map=plane, grid_resolution=50)
            found, smooth = (left_out_of_inverse(view, model, X, y, inverse=way) for way in ("local", "kernel"))
            row = {"set": name, "machine trained on": words, "agreement": found["agreement"], "r": found["certainty"]}
            row |= {"kernels: agreement": smooth["agreement"], "kernels: r": smooth["certainty"]}
            row["neighbours r"] = neighbor_certainty(view)
            row["rows at margin 1, %"] = 100 * float(np.mean(np.abs(view.certainty - 1) < 0.02))
            yield row | {"spread of certainty": float(view.certainty.std())}


def other_models(options):
    """RSLVQ and a classification tree on usps, supervised by labels and by the model (thesis 3.5.5)."""
    X, y = rows_of("usps", options)
    tree = DecisionTreeClassifier(max_leaf_nodes=60, random_state=0)
    for name, made, paper in (
        ("RSLVQ", RSLVQ(2, random_state=0), {"labels": "", "model": 97.9}),
        ("tree", tree, {"labels": 87.8, "model": 92.3}),
    ):
        model = made.fit(X, y)
        for method in ("som", "tsne"):
            for source in ("labels", "model"):
                recipe = PrisMap(method, random_state=0)
                view = ModelView.from_estimator(model, X, y, map=recipe, supervision_from=source, grid_resolution=50)
                row = {"model": name, "map": f"Fisher {method}", "supervised by": source}
                row["paper"] = paper[source] if method == "som" else ""
                row["ours, inverse"] = left_out_of_inverse(view, model, X, y)["agreement"]
                yield row | {"kernels": left_out_of_inverse(view, model, X, y, inverse="kernel")["agreement"]}


def tree_sizes(options):
    """Agreement of Fisher SOM pictures with classification trees of growing size on usps (thesis 3.5.5)."""
    X, y = rows_of("usps", options)
    fitted, held_out = np.split(np.random.default_rng(0).permutation(len(X)), [len(X) * 2 // 3])
    for size in (10, 20, 40, 60, 90, 120, None):
        tree = DecisionTreeClassifier(max_leaf_nodes=size, random_state=0)
        test = 100 * tree.fit(X[fitted], y[fitted]).score(X[held_out], y[held_out])
        tree.fit(X, y)
        row = {"leaves": tree.get_n_leaves(), "train, in-sample": 100 * tree.score(X, y), "test": test}
        for source in ("labels", "model"):
            recipe = PrisMap("som", random_state=0)
            view = ModelView.from_estimator(tree, X, y, map=recipe, supervision_from=source, grid_resolution=50)
            row[f"supervised by {source}"] = left_out_of_inverse(view, tree, X, y)["agreement"]
        yield row


def toy_claims(options):
    """Every claim of 3.5.1, 3.5.2 and 3.5.4 with the figure behind it."""
    rows = []

    def claim(text, paper, view, model, X, y, holds):
        found = left_out_of_inverse(view, model, X, y)
        row = {"claim": text, "paper": paper, "agreement": found["agreement"], "signed r": found["signed_certainty"]}
        row["certainty r"] = found["certainty"]
        if isinstance(view.map, PrisMap):
            other = left_out_of_inverse(view, model, X, y, inverse="kernel")
            row |= {"kernels: agreement": other["agreement"], "kernels: signed r": other["signed_certainty"]}
        rows.append(row | {"holds": "yes" if holds(found) else "NO"})

    X, y = toys.plate_in_ring()
    for text, gamma, outlier in (("complex SVM", 20.0, True), ("simple SVM", 0.3, False)):
        model = SVC(gamma=gamma, C=100 if outlier else 1).fit(X, y)
        view = ModelView.from_estimator(model, X, y, map=PCA(2))
        astray = len(y) // 2 - 1
        says = f"set 1, {text}, PCA: faithful; astray row classified {'as it is labelled' if outlier else 'otherwise'}"
        seen = (view.predicted[astray] == view.truth[astray]) == outlier and not view.misshown[astray]
        claim(says, "99 / .99", view, model, X, y, lambda f, seen=seen: seen and f["agreement"] > 97)
        rows[-1]["border length"] = border_length(view)
    rows[-1]["holds"] = "yes" if rows[-2]["border length"] > 1.5 * rows[-1]["border length"] else "NO"
    X, y = toys.three_discs()
    model = SVC(gamma=1.0, C=100).fit(X, y)
    fisher = {"metric": FisherMetric(posterior="parzen"), "supervision": 1.0, "random_state": 0}
    for text, recipe, paper, holds in (
        ("set 2, PCA fails", PCA(2), "42 / .04", lambda f: f["agreement"] < 75),
        ("set 2, SOM", PrisMap("som", target="none", random_state=0), "99 / .98", lambda f: f["agreement"] > 90),
        ("set 2, t-SNE", PrisMap(target="none", random_state=0), "99 / .98", lambda f: f["agreement"] > 95),
        ("set 2, Fisher SOM", PrisMap("som", **fisher), "99 / .99", lambda f: f["agreement"] > 97),
        ("set 2, Fisher t-SNE", PrisMap(**fisher), "-", lambda f: f["agreement"] > 97),
    ):
        claim(text, paper, ModelView.from_estimator(model, X, y, map=recipe), model, X, y, holds)
    for labelling, paper in (("plane", "98.6 / .91"), ("two planes", "96.0 / .90"), ("random", "100 / .82")):
        X, y = toys.cube(labelling=labelling)
        model = SVC(C=10).fit(X, y)
        view = ModelView.from_estimator(model, X, y, map=PrisMap(random_state=0), supervision_from="model")
        claim(f"cube, {labelling}", paper, view, model, X, y, lambda f: f["agreement"] > 90)
    X, y = toys.tube_in_ball()
    model = RSLVQ(4, random_state=0).fit(X, y)
    for source, paper in (("labels", "92"), ("model", "95")):
        view = ModelView.from_estimator(model, X, y, map=PrisMap(random_state=0), supervision_from=source)
        claim(f"set 3, RSLVQ, supervised by {source}", paper, view, model, X, y, lambda f: f["agreement"] > 88)
    return rows


def border_length(view):
    """Cell borders between classes, in places near data: how complex a boundary is."""
    value, near = view.grid.value, ~view.grid.far
    across = (value[:, 1:] != value[:, :-1]) & near[:, 1:] & near[:, :-1]
    along = (value[1:] != value[:-1]) & near[1:] & near[:-1]
    return float(across.sum() + along.sum())


def regressors(options):
    """Table 3.2: correlation of what the picture shows with what the regressor says."""
    X1, y1 = toys.three_plates()
    X2, y2 = toys.two_clouds()
    X3, y3 = load_diabetes(return_X_y=True)
    svr1, svr2 = SVR(C=100, gamma=0.5).fit(X1, y1), SVR(C=30, gamma=1.0).fit(X2, y2)
    tree, svr3 = (
        DecisionTreeRegressor(min_samples_split=10, random_state=0).fit(X2, y2),
        make_pipeline(StandardScaler(), SVR(C=50, gamma=0.02)).fit(X3, y3),
    )
    studies = [
        ("set 1, SVR", svr1, X1, y1, PCA(2), "PCA", "labels", 21),
        ("set 1, SVR", svr1, X1, y1, PrisMap("gtm", target="none", random_state=0), "GTM", "labels", 95),
    ]
    for method, words in (("mds", "Fisher MDS"), ("gtm", "Fisher GTM"), ("tsne", "Fisher t-SNE")):
        studies.append(("set 1, SVR", svr1, X1, y1, PrisMap(method, random_state=0), words, "labels", 99))
    for method, words in (("gtm", "Fisher GTM"), ("tsne", "Fisher t-SNE")):
        studies.append(("set 2, SVR", svr2, X2, y2, PrisMap(method, random_state=0), words, "labels", 99))
        studies.append(("set 2, tree", tree, X2, y2, PrisMap(method, random_state=0), words, "labels", 99))
        for source in ("labels", "model"):
            paper = {"gtm": 94, "tsne": 92}[method]
            studies.append(("diabetes, SVR", svr3, X3, y3, PrisMap(method, random_state=0), words, source, paper))
    for name, model, X, y, recipe, words, source, paper in studies:
        view = ModelView.from_estimator(model, X, y, map=recipe, supervision_from=source, grid_resolution=100)
        row = {"set": name, "method": words, "supervised by": source, "paper": paper}
        yield row | {"ours, inverse": left_out_of_inverse(view, model, X, y)["output"]}
    yield from shapes(svr2, tree, X2, y2)


def shapes(svr, tree, X, y):
    """Set 2: the tree's picture has steps and the SVR's is smooth; the tree keeps the outlier, the SVR passes it by."""
    for name, model in (("SVR", svr), ("tree", tree)):
        view = ModelView.from_estimator(model, X, y, map=PrisMap("gtm", random_state=0), grid_resolution=100)
        steps = np.abs(np.diff(view.grid.value, axis=1)).ravel()
        row = {"set": f"set 2, {name}", "method": "shape", "distinct outputs": len(np.unique(view.grid.value))}
        row["largest step, % of range"] = 100 * float(steps.max() / np.ptp(view.grid.value))
        row["outlier: target - output"] = float(y[-1] - view.predicted[-1])
        yield row


def view_time(options):
    """Seconds by stage of the default view of an SVM on usps."""
    X, y = rows_of("usps", options)
    model = SVC(C=10).fit(X, y)
    start = processor_seconds()
    view = ModelView.from_estimator(model, X, y)
    seconds = processor_seconds() - start
    row = {"set": f"usps, {len(X)} rows", **{f"{stage} s": value for stage, value in view.times.items()}}
    yield row | {"all s": seconds, "DeepView, 200 points (published) s": 71}


PARTS = {
    "toy sets": quietly(toy_claims),
    "regression": quietly(regressors),
    **{name: quietly(partial(classifiers, name)) for name in ("usps", "phoneme", "letter")},
    "certainty, many classes": quietly(certainty_of_many_classes),
    "usps, other models": quietly(other_models),
    "usps, size of the tree": quietly(tree_sizes),
    "time": quietly(view_time),
}
WITHOUT_DATA = ("toy sets", "regression")

if __name__ == "__main__":
    main(sys.modules[__name__])
