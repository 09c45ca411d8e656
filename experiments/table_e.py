"""Table E: pictures of trained models (thesis 3.5 and 3.6), paper | ours.

    python -m experiments.table_e [--data FOLDER] [--quick] [--folds N] [--strict N] [--sets toys,usps,...] [--out DIR]

Sets: toys (no data needed), letter, phoneme, usps (SVM under five embeddings, plain and Fisher), rslvq and tree (on
usps), regression (toy sets and diabetes, no data needed), time. Agreement and correlations in %, on rows left out:

* *inverse*: as in the thesis, all rows are on the map and each fold is left out of the inverse map only;
* *strict*: each fold is left out of both maps, and placed as new rows are (``ModelView.fidelity_``);
* *published*: as *inverse*, with the in-sample density of the thesis (``cross_fit=False``), which pulls every row to
  its own label; *permuted*: the same with shuffled labels, so what is left comes from the rows alone.

The inverse is the surface of `ModelView`; the thesis trains kernels. The thesis gives Fig. 3.11 as a chart: "Fisher
better in every pair" is what is compared.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from experiments import toys
from experiments.common import load, markdown
from prismap import PrisMap
from prismap.inspection import ModelView
from prismap.inspection.held_out import compare, part
from prismap.inspection.responses import Answer, Responder
from prismap.inspection.surface import inverse_of
from prismap.learners import RSLVQ

METHODS = ("tsne", "isomap", "mvu", "som", "gtm")
N_ROWS = 1500


def left_out_of_inverse(view, model, X, y, n_folds):
    """The thesis' figure: each fold left out of the inverse map only; all rows have their place on the map."""
    responder, said = Responder(model, X, y), Answer(view.said, view.said_certainty)
    cut = StratifiedKFold if view.kind == "class" else KFold
    parts = []
    for train, test in cut(n_folds, shuffle=True, random_state=0).split(X, view.said):
        inverse = inverse_of(view.map, view.positions[train], np.asarray(X)[train])
        shown = responder(inverse(view.positions[test]))
        parts.append(compare(part(said, test), shown, view.kind))
    names = [name for name in ("agreement", "certainty", "output") if getattr(parts[0], name) is not None]
    return {name: 100 * float(np.mean([getattr(one, name) for one in parts])) for name in names}


def rows_of(name, data, n_rows, seed=0):
    """A random subset of a benchmark set, usps on 30 principal components (thesis 3.5.3)."""
    if name == "phoneme":
        arrays = load(data, "phoneme_lvqpak")
        X, y = arrays["X"][arrays["subset13"]], arrays["y"][arrays["subset13"]]
    else:
        arrays = load(data, {"letter": "letter", "usps": "usps9298"}[name])
        X, y = arrays["X"], arrays["y"]
    chosen = np.random.default_rng(seed).permutation(len(X))[:n_rows]
    X, y = X[chosen].astype(np.float64), y[chosen]
    return (PCA(30, random_state=0).fit_transform(X) if name == "usps" else X), y


def show(row):
    """Print a row as soon as it is there."""
    print("  ".join(f"{k}={v:.1f}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items()), flush=True)
    return row


def pair(name, method, model, X, y, args, **options):
    """One view, plain or Fisher, in all the ways it is judged."""
    start = time.perf_counter()
    recipe = PrisMap(method, random_state=0, **options)
    view = ModelView.from_estimator(model, X, y, map=recipe, grid_resolution=50)
    row = {"inverse": left_out_of_inverse(view, model, X, y, args.folds)}
    if args.strict:
        strict = view.cross_validate(args.strict)
        row["strict"] = {"agreement": 100 * strict.agreement, "certainty": 100 * strict.certainty}
    row["seconds"] = time.perf_counter() - start
    return row


def classifiers(name, args):
    """SVM under each embedding, plain and Fisher (Fig. 3.11)."""
    X, y = rows_of(name, args.data, args.rows)
    model = SVC(C=10).fit(X, y)
    rows = []
    for method in args.methods:
        plain = pair(name, method, model, X, y, args, target="none")
        fisher = pair(name, method, model, X, y, args)
        row = {"set": name, "method": method}
        for kind in ("inverse", "strict"):
            if kind in plain:
                row |= {f"{kind}: plain": plain[kind]["agreement"], f"{kind}: Fisher": fisher[kind]["agreement"]}
                row |= {f"{kind}: plain r": plain[kind]["certainty"], f"{kind}: Fisher r": fisher[kind]["certainty"]}
        if args.published:
            shuffled = np.random.default_rng(0).permutation(y)
            in_sample = {"cross_fit": False, "posterior": "parzen", "supervision": 1.0}
            row["published"] = pair(name, method, model, X, y, args, **in_sample)["inverse"]["agreement"]
            mixed = ModelView.from_estimator(
                model, X, y, map=PrisMap(method, random_state=0, **in_sample).fit(X, shuffled), grid_resolution=50
            )
            row["permuted"] = left_out_of_inverse(mixed, model, X, y, args.folds)["agreement"]
        row["seconds"] = plain["seconds"] + fisher["seconds"]
        rows.append(show(row))
    return rows


def other_models(name, args):
    """RSLVQ and a classification tree on usps, supervised by labels and by the model (thesis 3.5.5)."""
    X, y = rows_of("usps", args.data, args.rows)
    made = {"rslvq": (RSLVQ(2, random_state=0), {"labels": "", "model": 97.9})}
    made["tree"] = (DecisionTreeClassifier(max_leaf_nodes=60, random_state=0), {"labels": 87.8, "model": 92.3})
    model, paper = made[name][0].fit(X, y), made[name][1]
    rows = []
    for method in ("som", "tsne"):
        for source in ("labels", "model"):
            recipe = PrisMap(method, random_state=0)
            view = ModelView.from_estimator(model, X, y, map=recipe, supervision_from=source, grid_resolution=50)
            row = {"set": f"usps, {name}", "method": f"Fisher {method}", "supervised by": source}
            row["paper"] = paper[source] if method == "som" else ""
            row["ours"] = left_out_of_inverse(view, model, X, y, args.folds)["agreement"]
            if args.strict:
                row["strict"] = 100 * view.cross_validate(args.strict).agreement
            rows.append(show(row))
    return rows


def toy_claims(args):
    """Every claim of 3.5.1, 3.5.2 and 3.5.4 with the figure behind it."""
    rows = []

    def claim(text, paper, view, model, X, y, holds):
        found = left_out_of_inverse(view, model, X, y, args.folds)
        row = {"claim": text, "paper": paper, "agreement": found["agreement"], "certainty r": found["certainty"]}
        rows.append(show(row | {"holds": "yes" if holds(found) else "NO"}))

    X, y = toys.plate_in_ring()
    for text, gamma, outlier in (("complex SVM", 20.0, True), ("simple SVM", 0.3, False)):
        model = SVC(gamma=gamma, C=100 if outlier else 1).fit(X, y)
        view = ModelView.from_estimator(model, X, y, map=PCA(2))
        astray = len(y) // 2 - 1
        says = f"set 1, {text}, PCA: faithful; astray row classified {'as it is labelled' if outlier else 'otherwise'}"
        seen = (view.said[astray] == view.truth[astray]) == outlier and not view.misshown[astray]
        claim(says, "99 / .99", view, model, X, y, lambda f, seen=seen: seen and f["agreement"] > 97)
        rows[-1]["border length"] = border_length(view)
    rows[-1]["holds"] = "yes" if rows[-2]["border length"] > 1.5 * rows[-1]["border length"] else "NO"
    X, y = toys.three_discs()
    model = SVC(gamma=1.0, C=100).fit(X, y)
    fisher = {"posterior": "parzen", "supervision": 1.0, "random_state": 0}
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


def regressors(args):
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
    rows = []
    for name, model, X, y, recipe, words, source, paper in studies:
        view = ModelView.from_estimator(model, X, y, map=recipe, supervision_from=source, grid_resolution=100)
        row = {"set": name, "method": words, "supervised by": source, "paper": paper}
        row["ours"] = left_out_of_inverse(view, model, X, y, args.folds)["output"]
        if args.strict:
            row["strict"] = 100 * view.cross_validate(args.strict).output
        rows.append(show(row))
    return rows + shapes(svr2, tree, X2, y2)


def shapes(svr, tree, X, y):
    """Set 2: the tree's picture has steps and the SVR's is smooth; the tree keeps the outlier, the SVR passes it by."""
    rows = []
    for name, model in (("SVR", svr), ("tree", tree)):
        view = ModelView.from_estimator(model, X, y, map=PrisMap("gtm", random_state=0), grid_resolution=100)
        steps = np.abs(np.diff(view.grid.value, axis=1)).ravel()
        row = {"set": f"set 2, {name}", "method": "shape", "distinct outputs": len(np.unique(view.grid.value))}
        row["largest step, % of range"] = 100 * float(steps.max() / np.ptp(view.grid.value))
        row["outlier: target - output"] = float(y[-1] - view.said[-1])
        rows.append(show(row))
    return rows


def view_time(args):
    """Seconds by stage of the default view of an SVM on usps."""
    X, y = rows_of("usps", args.data, args.rows)
    model = SVC(C=10).fit(X, y)
    start = time.perf_counter()
    view = ModelView.from_estimator(model, X, y)
    seconds = time.perf_counter() - start
    row = {"set": f"usps, {len(X)} rows", **{f"{stage} s": value for stage, value in view.times.items()}}
    return [show(row | {"all s": seconds, "DeepView, 200 points (published) s": 71})]


def main():
    """Run the sets that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--quick", action="store_true", help="500 rows, 5 folds, t-SNE and SOM only")
    parser.add_argument("--folds", type=int, default=10, help="folds left out of the inverse map")
    parser.add_argument("--strict", type=int, default=0, help="folds left out of both maps (0: not done)")
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--published", action="store_true", help="in-sample density and its permuted twin too")
    parser.add_argument("--sets", default="toys,regression", help="comma-separated; see above")
    parser.add_argument("--out", help="folder for the tables (Markdown and JSON)")
    args = parser.parse_args()
    args.methods = args.methods.split(",")
    if args.quick:
        args.rows, args.folds, args.methods = min(args.rows, 500), min(args.folds, 5), ["tsne", "som"]
    warnings.simplefilter("ignore")
    work = {"toys": toy_claims, "regression": regressors, "time": view_time}
    tables = {}
    for name in args.sets.split(","):
        run = work.get(name) or (lambda a, n=name: (other_models if n in ("rslvq", "tree") else classifiers)(n, a))
        tables[name] = run(args)
        print(f"\n{markdown(tables[name])}\n", flush=True)
    if args.out:
        Path(args.out).mkdir(parents=True, exist_ok=True)
        Path(args.out, "table_e.json").write_text(json.dumps(tables, indent=1), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
