"""Table C: kernel t-SNE with a target, 1-NN accuracy of the projected rows (003_ Table 2).

Protocol of the paper: usps 1,000 and the others 2,000 training rows, 30 principal components (letter as it is); the map
is fitted on the training rows, all test rows are placed. "inside" is the paper's figure (nearest neighbour among the
projected test rows), "fit to test" takes the nearest fitted row. Permuted: training and test labels shuffled.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from experiments.common import accuracy, load, main, run_peer, split_rows, timed
from prismap import PrisMap
from prismap.exceptions import PrismapWarning

#: The paper's test accuracies: kernel t-SNE, parametric t-SNE, Fisher kernel t-SNE.
PAPER = {"letter": (80.1, 27.8, 80.4), "mnist": (85.8, 62.5, 86.3), "usps11000": (84.8, 58.6, 87.4)}
ROWS = {"letter": 2000, "mnist": 2000, "usps11000": 1000}
MOST_TEST = 10_000

UMAP = """
import umap
start = time.time(); model = umap.UMAP(random_state=0).fit(X, y if supervised else None); out = {"Y": model.embedding_}
out["fit"] = np.array(time.time() - start); start = time.time()
out["Z"] = model.transform(X_test); out["seconds"] = np.array(time.time() - start)
"""


def run(data_folder=None, quick=False, peers=None, seeds=(0,)):
    """One row a data set, method and seed."""
    warnings.simplefilter("ignore", PrismapWarning)
    rows = []
    for name in ["digits"] if quick or data_folder is None else ROWS:
        for seed in seeds:
            rows += data_set(data_folder, name, seed, peers)
    return rows


def data_set(data_folder, name, seed, peers):
    """All methods on one split."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        parts = split_rows(X, y, 600, 1197, seed)
    else:
        data = load(data_folder, name)
        parts = split_rows(data["X"], data["y"], ROWS[name], MOST_TEST, seed)
    X, y, X_test, y_test = parts
    paper = PAPER.get(name, ("", "", ""))
    svm = SVC(C=10).fit(X, y)
    rows = [{"set": name, "method": "RBF SVM on the same rows", "fit to test": 100 * svm.score(X_test, y_test)}]
    rows.append({"set": name, "method": "paper: Fisher kernel t-SNE", "inside": paper[2]})
    rows.append(our_row(name, "prismap", parts, {}, seed))
    rows.append(our_row(name, "prismap, Parzen, w = 1", parts, {"posterior": "parzen", "supervision": 1.0}, seed))
    rows.append(our_row(name, "prismap, no target", parts, {"target": "none"}, seed))
    rng = np.random.default_rng(seed + 1)
    shuffled = (X, rng.permutation(y), X_test, rng.permutation(y_test))
    rows.append(our_row(name, "prismap, permuted labels", shuffled, {}, seed))
    for supervised in (False, True) if peers else ():
        found = run_peer(peers, UMAP, X=X, y=y, X_test=X_test, supervised=np.array(supervised))
        label = "UMAP, with labels" if supervised else "UMAP"
        rows.append(
            scores(name, label, found["Y"], y, found["Z"], y_test, float(found["fit"]), float(found["seconds"]))
        )
        if supervised:
            found = run_peer(peers, UMAP, X=X, y=shuffled[1], X_test=X_test, supervised=np.array(True))
            rows.append(scores(name, "UMAP, permuted labels", found["Y"], shuffled[1], found["Z"], shuffled[3]))
    return rows


def our_row(name, method, parts, options, seed):
    """Fit on the training rows, place the test rows."""
    X, y, X_test, y_test = parts
    m, fit = timed(lambda: PrisMap(random_state=seed, fit_rows=len(X), **options).fit(X, y))
    Z, place = timed(lambda: m.transform(X_test))
    label = f"{method} ({m.metric_.posterior_.name})" if m.target_ != "none" else method
    return scores(name, label, m.embedding_, y, Z, y_test, fit, place)


def scores(name, method, Y, y, Z, z, fit="", place=""):
    """Accuracies of one map."""
    return {
        "set": name, "method": method, "train, in-sample": accuracy(Y, y), "inside": accuracy(Z, z),
        "fit to test": accuracy(Z, z, Y, y), "fit s": fit, "place s": place,
    }  # fmt: skip


if __name__ == "__main__":
    main(run, "Table C: accuracies of projected rows")
