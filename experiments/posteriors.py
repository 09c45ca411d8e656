"""Posteriors: which estimate of the classes a map is made of.

1-NN accuracy in % of held-out rows, with supervision 0.8. Rows are reduced to 30 principal components of
the fitted ones (letter and phoneme are used as they are), there are at most 5,000 test rows, and one seed. *Inside*:
the nearest neighbour among the projected test rows. *Fit to test*: the nearest fitted row. *Permuted*: the labels were
shuffled before anything was fitted. `lssvm` is the least-squares support vector machine, judged out of fold, and "auto"
takes it or Parzen by out-of-fold log-loss. The ceiling is an RBF support vector machine (C = 10) on the rows
themselves.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from experiments.common import load, split_rows
from experiments.ledger import main
from experiments.table_c import our_row
from prismap.exceptions import PrismapWarning
from prismap.metrics import FisherMetric

#: Fitted rows of each set.
ROWS = {
    "usps11000": 1000, "letter": 2000, "mnist": 2000, "phoneme_lvqpak": 1500, "sc_zeisel": 1500,
    "fashion_mnist_40k": 2000, "digits": 600,
}  # fmt: skip
READING = """
"auto" takes the support vector machine on all sets. Its map stays within two points of the ceiling, except on fashion
(5.5): where classes overlap, the nearest neighbour errs up to twice as often as the best classifier.
"""
MOST_TEST = 5000


def problem(data_folder, name, quick, seed=0):
    """(X, y, X_test, y_test), prepared as the set needs."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        data = load(data_folder, name)
        X, y = data["X"], data["y"]
        if "subset13" in data:
            X, y = X[data["subset13"]], y[data["subset13"]]
        if name.startswith("sc_"):
            X = X.astype(np.float64)
            X = np.log1p(X / X.sum(axis=1, keepdims=True) * np.median(X.sum(axis=1)))
    n_fit = ROWS[name] // (3 if quick else 1)
    return split_rows(X, y, n_fit, MOST_TEST, seed)


def rows_of(name, options):
    """Ceiling, then true and permuted figures of each posterior."""
    warnings.simplefilter("ignore", PrismapWarning)
    parts = problem(options.data, name, options.quick)
    X, y, X_test, y_test = parts
    rng = np.random.default_rng(1)
    shuffled = (X, rng.permutation(y), X_test, rng.permutation(y_test))
    ceiling = SVC(C=10).fit(X, y).score(X_test, y_test)
    size = f"{len(X)} / {len(X_test)}"
    yield {"fitted / test": size, "posterior": "SVM on the rows (ceiling)", "inside": "", "fit to test": 100 * ceiling}
    yield figures(size, "no target", parts, None, {"target": "none"})
    chosen = figures(size, "auto", parts, shuffled, {})
    yield chosen
    other = "parzen" if "lssvm" in chosen["posterior"] else "lssvm"
    yield figures(size, other, parts, shuffled, {"metric": FisherMetric(posterior=other)})


def figures(size, method, parts, shuffled, options):
    """One row of the table."""
    found = our_row(method, parts, options, 0)
    row = {"fitted / test": size, "posterior": found["method"]}
    row |= {key: found[key] for key in ("inside", "fit to test")}
    if shuffled is not None:
        twin = our_row(method, shuffled, options, 0)
        row |= {"inside, permuted": twin["inside"], "fit to test, permuted": twin["fit to test"]}
        row["chance"] = 100 * float(np.sum((np.unique(parts[3], return_counts=True)[1] / len(parts[3])) ** 2))
    return row


PARTS = {name: partial(rows_of, name) for name in ROWS}
WITHOUT_DATA = ("digits",)

if __name__ == "__main__":
    main(sys.modules[__name__])
