"""Which out-of-sample projection? Kernels, votes and direct placement.

One fit per set, plain (t-SNE of the rows) and Fisher (the default with the labels). Each mapping projects the same
2,000 held-out rows onto the same map; `mapping="auto"` chooses between the first two. 1-NN accuracy in %: *fit to
test*, by the nearest fitted row; *inside*, by the nearest projected row. *Q_local*: how far projected rows keep their
neighbourhoods, in the data's own distances. Permuted: labels of both parts shuffled before the fit. Seconds for the
2,000 rows, on one core. Data and sizes as on the page [posteriors](posteriors.md).

*Smoothness*: 20 segments between two held-out rows each, walked in 200 steps; the largest step in the map, and the
median over the segments of each one's largest, in % of the map's spread (the root mean square distance of its rows from
their mean). A map that moved evenly from end to end would take the *even step*.

*Density*: up to 5,000 held-out rows on Fisher maps, by votes as they are, by votes that are spread (the default), and
by kernels. *Spacing*: the median distance of a projected row to the nearest other one, among as many of them as there
are fitted rows, in units of the same distance among the fitted rows. 1 is as dense as these, less is denser. *Kept*: of
the ten nearest fitted rows in the metric, how many are among the ten nearest on the map.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from scipy.spatial import cKDTree
from sklearn.datasets import load_digits

from experiments.common import accuracy, timed
from experiments.ledger import main
from experiments.posteriors import ROWS, problem
from prismap import PrisMap
from prismap.mappings import VoteMap
from prismap.quality import knn_error, q_local

READING = """
Plain maps tear neighbourhoods apart. On them, kernels lose 1 (digits, phoneme) to 9 (fashion) points of accuracy
against votes of the nearest rows. Direct placement is within about two points of votes and 20 to 75 times slower. On
Fisher maps the three are within two points of each other, except on letter, where votes are three ahead. Permuted
labels stay at chance with all of them.

Kernels move with the row: on 500 digits the largest of 200 steps along a segment is 1.6 % of the map's spread on a
plain map and 14 % on a Fisher map, where a row crosses from one class to another within a few steps. Votes jump: once
or twice on the way a row leaves one group for another in a single step, of 0.7 to 1.0 of the map's spread. So votes say
where a row belongs, and kernels show a row between two groups as lying between them.

Votes alone put projected rows at 0.47 to 0.61 of the spacing of fitted ones: strings on a map of many rows. Spread by
their distances to those who voted, they come to 0.64 to 0.76 (on 600 digits only to 0.51). The error stays within 0.1
points, and more neighbours are kept, by about one in a hundred.
"""
MAPPINGS, N_TEST = ("fisher", "vote", "direct"), 2000
N_SEGMENTS, N_STEPS = 20, 200


def rows_of(name, options):
    """One row a metric and mapping."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = problem(options.data, name, options.quick)
    X_test, y_test = X_test[:N_TEST], y_test[:N_TEST]
    rng = np.random.default_rng(1)
    shuffled, shuffled_test = rng.permutation(y), rng.permutation(y_test)
    for target in ("none", "auto"):
        for mapping in MAPPINGS:
            model = PrisMap(target=target, mapping=mapping, random_state=0).fit(X, y)
            Z, seconds = timed(lambda model=model: model.transform(X_test))
            row = {
                "metric": "plain" if target == "none" else "Fisher",
                "mapping": "kernels" if mapping == "fisher" else mapping,
                "fit to test": accuracy(Z, y_test, model.embedding_, y), "inside": accuracy(Z, y_test),
                "Q_local": f"{float(q_local(X_test, Z)):.3f}", "seconds": f"{seconds:.2f}",
            }  # fmt: skip
            if target == "auto":
                null = PrisMap(mapping=mapping, random_state=0).fit(X, shuffled)
                row["permuted"] = accuracy(null.transform(X_test), shuffled_test, null.embedding_, shuffled)
            yield row


def smoothness(options):
    """How far a row that moves slowly moves on the map, by kernels and by votes."""
    warnings.simplefilter("ignore")
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y, n_fit = X[order], y[order], 200 if options.quick else 500
    ends = X[n_fit : n_fit + 2 * N_SEGMENTS].reshape(N_SEGMENTS, 2, 1, -1)
    t = np.linspace(0, 1, N_STEPS + 1)[:, None]
    segments = (1 - t) * ends[:, 0] + t * ends[:, 1]
    for target in ("none", "auto"):
        for mapping in ("fisher", "vote"):
            model = PrisMap(target=target, supervision=0.8, mapping=mapping, random_state=0).fit(X[:n_fit], y[:n_fit])
            Z = model.transform(segments.reshape(-1, X.shape[1])).reshape(N_SEGMENTS, N_STEPS + 1, 2)
            spread = np.sqrt(np.square(model.embedding_ - model.embedding_.mean(axis=0)).sum(axis=1).mean())
            steps = 100 * np.linalg.norm(np.diff(Z, axis=1), axis=2) / spread
            even = 100 * np.linalg.norm(Z[:, -1] - Z[:, 0], axis=1) / spread / N_STEPS
            yield {
                "metric": "plain" if target == "none" else "Fisher",
                "mapping": "kernels" if mapping == "fisher" else mapping, "even step": float(np.median(even)),
                "largest of a segment": float(np.median(steps.max(axis=1))), "largest": float(steps.max()),
                "steps over 5 %, per segment": float((steps > 5).sum(axis=1).mean()),
            }  # fmt: skip


def density(options):
    """How dense projected rows lie, beside the error of their ten neighbours and how many of these are kept."""
    warnings.simplefilter("ignore")
    mappings = {"votes alone": VoteMap(spread=0), "votes, spread": "vote", "kernels": "fisher"}
    for name in ("digits",) if options.quick else ("digits", "letter", "mnist", "fashion_mnist_40k", "usps11000"):
        X, y, X_test, y_test = problem(options.data, name, options.quick)
        for label, mapping in mappings.items():
            model = PrisMap(mapping=mapping, random_state=0).fit(X, y)
            Y, Z = model.embedding_, model.transform(X_test)
            D = np.asarray(model.map_.metric.pairwise(X_test))
            near, true = cKDTree(Y).query(Z, 10)[1], np.argpartition(D, 9, axis=1)[:, :10]
            n = min(len(Y), len(Z))
            yield {
                "set": name, "mapping": label, "fitted / projected": f"{len(Y)} / {len(Z)}",
                "10-NN error": 100 * float(knn_error(Z, y_test, Y_fit=Y, y_fit=y, n_neighbors=10)),
                "kept": 100 * (near[:, :, None] == true[:, None, :]).any(axis=2).mean(),
                "spacing": f"{spacing(Z[:n]) / spacing(Y[:n]):.2f}",
            }  # fmt: skip


def spacing(Y):
    """Median distance of a position to the nearest other one."""
    return float(np.median(cKDTree(Y).query(Y, 2)[0][:, 1]))


PARTS = {name: partial(rows_of, name) for name in ROWS}
PARTS |= {"smoothness": smoothness, "density": density}
WITHOUT_DATA = ("digits", "smoothness")

if __name__ == "__main__":
    main(sys.modules[__name__])
