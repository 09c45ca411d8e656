"""Batches: maps that leave out a column of no interest, beside maps that do not and other corrections.

Rows come from four batches, each with a shift and a spread of its own in every feature. Batch and target go together to
a known degree: of two halves of the classes, one has the share ``(1 + r) / 2`` of the rows in every other batch and the
share ``(1 - r) / 2`` in the rest. *Generated*: two classes 2.5 standard deviations apart in 5 of 30 features. The best
that can be had without the batch is 10.6 % wrong for equal classes. *Cells*: expression of cells in 30 principal
components, where the batch adds to the logarithm of every gene a number of its own. *Without batches* is the plain map
of the same cells before anything was added.

*Plain*: `PrisMap` as it is. *Centred*: each batch centred before. *Linear*: least squares of features on batch and
target, of which the batch is subtracted, and the spread of each batch divided out (as ComBat does). *Given*:
``fit(X, y, given=batch)``. *Posterior*: the posterior of a support vector machine that has the batch as columns, with
the same shares of classes in every batch, beside distances that are centred and scaled per batch. *Subtracted*: the
squared Fisher distance of batch and target together minus that of the batch, beside centred distances.

All figures are % of rows that ten neighbours on the map get wrong, means over the runs. *Target, rows*: on held-out
rows of the same batches. *Target, batches*: on the rows of a batch that was left out, which are moved as if they had
the classes of all rows (the last two forms need a known batch). *Permuted*: on held-out rows, with targets permuted
inside batches before anything was fitted; it should be as high as *chance*, what ten neighbours drawn at random would
get wrong. *Batch*: the batch of fitted rows. *Batch by target*: the same for batches permuted among rows of one
class, what the target alone shows of them. On a map without the batch these two are alike.
"""

from __future__ import annotations

import sys
import warnings
from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from experiments.common import load, timed
from experiments.ledger import main
from prismap import PrisMap
from prismap.metrics import FisherMetric
from prismap.quality import chance_error, knn_error

READING = """
*Plain* maps show the batch, and where batch and target go together they know a target that was permuted inside batches
as well as a true one. *Centred* maps lose the target with the batch. *Linear* is as good as *given* up to a correlation
of 0.6. At 0.9 it shows a permuted target (30 % wrong, chance is 49.5), and is better at the true one than anything can
be without the batch. *Given* stays at chance there, and pays with an error of 22 %. *Posterior* is honest, and far
behind it at 0.9: distances that are centred per batch lie wrong for any posterior. *Subtracted* is the worst form:
between batches that lie apart both distances are at their maximum, and nothing is left of the target.

On cells all forms keep the target, which is much larger than the shift. *Given* shows least of the batch where *linear*
does not remove it (zeisel), and both leave a trace on pbmc4k, with some hundred cells per batch. The permuted figure of
cells is below chance for every method at 0.6 and 0.9: real cell types go with the batch, and tell it, and so half of a
target that goes with the batch, whatever is done about the shift.

A batch that was left out is placed well if batch and target are independent. Otherwise its mix of classes is not that
of the others, and nothing tells the two apart: no correction is safe, and new levels are refused by `transform`.
"""
N_BATCHES, N_RUNS, N_FIT, N_TEST = 4, 3, 400, 400
CORRELATIONS, OF_CELLS = (0.0, 0.3, 0.6, 0.9), (0.0, 0.6, 0.9)
SHARE = 0.8


# --- data -------------------------------------------------------------------------------------------------------------


def drawn_batches(half, correlation, rng):
    """A batch for each row, which goes with the half of its class to this degree."""
    odd = rng.random(len(half)) < (1 + correlation * np.where(half, 1, -1)) / 2
    return 2 * rng.integers(N_BATCHES // 2, size=len(half)) + odd


def generated(correlation, options, seed):
    """(X, y, batch) of fitted and held-out rows."""
    rng, n_rows = np.random.default_rng(seed), sizes(options)[0] + sizes(options)[1]
    y = rng.integers(2, size=n_rows)
    batch = drawn_batches(y == 1, correlation, rng)
    effect = np.zeros(30)
    effect[:5] = 2.5 / np.sqrt(5)
    shifts, spreads = rng.normal(0, 1.5, (N_BATCHES, 30)), np.exp(rng.normal(0, 0.2, (N_BATCHES, 30)))
    return (rng.normal(size=(n_rows, 30)) + y[:, None] * effect) * spreads[batch] + shifts[batch], y, batch


def cells(name, correlation, options, seed, *, strength=1.0):
    """(X, y, batch) of cells, to the logarithm of whose counts each batch adds a number for each gene."""
    rng, found = np.random.default_rng(seed), load(options.data, name)
    n_fit, n_test = sizes(options)
    some = rng.permutation(len(found["X"]))[: n_fit + n_test]
    counts, y = found["X"][some].astype(np.float64), np.unique(found["y"][some], return_inverse=True)[1]
    logs = np.log1p(counts / counts.sum(axis=1, keepdims=True) * np.median(counts.sum(axis=1)))
    batch = drawn_batches(y % 2 == 1, correlation, rng)
    logs = logs + (strength * rng.normal(size=(N_BATCHES, logs.shape[1])) * logs.std(axis=0))[batch]
    return PCA(30, random_state=0, svd_solver="randomized").fit(logs[:n_fit]).transform(logs), y, batch


def sizes(options):
    """Fitted and held-out rows."""
    return (120, 120) if options.quick else (N_FIT, N_TEST)


# --- methods: positions of fitted rows, and the function from new rows and their batches to positions -----------------


def plain(X, y, batch):
    """The map of the rows as they are."""
    model = PrisMap(random_state=0).fit(X, y)
    return model.embedding_, lambda A, _: model.transform(A)


def after(correct, X, y, batch):
    """The map of corrected rows."""
    positions, place = plain(correct(X, batch), y, batch)
    return positions, lambda A, b: place(correct(A, b), b)


def centred(X, y, batch):
    """Each batch centred before."""
    means = batch_means(X, batch)
    return after(lambda A, b: A - means[b], X, y, batch)


def linear(X, y, batch):
    """The batch's part of a linear model of batch and target subtracted, and its spread divided out."""
    design = np.hstack([np.eye(N_BATCHES)[batch], np.eye(y.max() + 1)[y][:, 1:]])
    coefficients = np.linalg.lstsq(design, X, rcond=None)[0]
    shifts, residuals = coefficients[:N_BATCHES], X - design @ coefficients
    spreads = np.sqrt(batch_means(np.square(residuals), batch) / np.square(residuals).mean(axis=0))
    return after(lambda A, b: (A - shifts[b]) / np.maximum(spreads[b], 1e-9), X, y, batch)


def given(X, y, batch):
    """The map without what batches shift."""
    model = PrisMap(random_state=0).fit(X, y, given=batch)
    return model.embedding_, lambda A, b: model.transform(A, given=b)


def posterior(X, y, batch):
    """The batch as columns of the posterior, which gets the same shares of classes in all of them."""
    means = batch_means(X, batch)
    spreads = np.sqrt(batch_means(np.square(X - means[batch]), batch))
    Z, n_classes, prior = (X - means[batch]) / spreads[batch], y.max() + 1, np.bincount(y) / len(y)
    shares = np.stack([np.bincount(y[batch == b], minlength=n_classes) + prior for b in range(N_BATCHES)])
    weights = prior / (shares / shares.sum(axis=1, keepdims=True))

    def ask(model, rows, b):
        P = np.full((len(rows), n_classes), 1e-9)
        P[:, model.classes_] += model.predict_proba(with_batch(rows, b))
        P *= weights[b]
        return np.sqrt(P / P.sum(axis=1, keepdims=True))

    def learn(rows):
        return SVC(probability=True, random_state=0).fit(with_batch(Z[rows], batch[rows]), y[rows])

    roots = np.empty((len(y), n_classes))
    for kept, out in StratifiedKFold(5, shuffle=True, random_state=0).split(Z, y):
        roots[out] = ask(learn(kept), Z[out], batch[out])
    whole, width = learn(np.arange(len(y))), FisherMetric(supervision=0).fit(Z).bandwidth_

    def distances(rows, own):
        return np.sqrt(SHARE * arcs(own, roots) ** 2 + (1 - SHARE) * cdist(rows, Z, "sqeuclidean") / width**2)

    positions, place = by_distances(distances(Z, roots), y)

    def place_rows(A, b):
        rows = (A - means[b]) / spreads[b]
        return place(distances(rows, ask(whole, rows, b)))

    return positions, place_rows


def subtracted(X, y, batch):
    """The squared arcs of target and batch together minus those of the batch."""
    means = batch_means(X, batch)
    Z, width = X - means[batch], FisherMetric(supervision=0).fit(X - means[batch]).bandwidth_
    together, alone = (
        FisherMetric("class", posterior="lssvm", random_state=0).fit(X, labels)
        for labels in (y * N_BATCHES + batch, batch)
    )
    known = [np.sqrt(metric.class_probabilities()) for metric in (together, alone)]

    def distances(rows, roots):
        both, own = (arcs(one, other) ** 2 for one, other in zip(roots, known, strict=True))
        steps = cdist(rows, Z, "sqeuclidean") / width**2
        return np.sqrt(SHARE * np.maximum(both - own, 0) + (1 - SHARE) * steps)

    positions, place = by_distances(distances(Z, known), y)

    def place_rows(A, b):
        return place(distances(A - means[b], [np.sqrt(metric.class_probabilities(A)) for metric in (together, alone)]))

    return positions, place_rows


METHODS = {
    "plain": plain, "centred": centred, "linear": linear, "given": given, "posterior": posterior,
    "subtracted": subtracted,
}  # fmt: skip
#: Those that know what to do with the rows of a new batch, once its mean is where that of others is.
FOR_NEW_BATCHES = ("plain", "centred", "linear", "given")


def by_distances(D, y):
    """The map of a matrix of distances, and what places new rows by theirs."""
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    model = PrisMap(data="dissimilarity", supervision=0, random_state=0).fit(D, y)
    return model.embedding_, model.transform


def arcs(A, B):
    """Fisher distances between posteriors, by their square roots."""
    return 2 * np.arccos(np.clip(A @ B.T, 0, 1))


def with_batch(rows, batch):
    """Rows with their batch in columns that weigh about as much as a feature that matters."""
    return np.hstack([rows, 3 * np.eye(N_BATCHES)[batch]])


def batch_means(X, batch):
    """Means of each batch; zero of one without rows."""
    return np.stack(
        [X[batch == b].mean(axis=0) if (batch == b).any() else np.zeros(X.shape[1]) for b in range(N_BATCHES)]
    )


# --- figures ----------------------------------------------------------------------------------------------------------


def wrong(Y, y, Y_fit=None, y_fit=None):
    """% that ten neighbours get wrong."""
    return 100 * float(knn_error(Y, y, n_neighbors=10, Y_fit=Y_fit, y_fit=y_fit))


def inside(values, groups, rng):
    """Values permuted among rows of the same group."""
    shuffled = values.copy()
    for group in np.unique(groups):
        shuffled[groups == group] = rng.permutation(values[groups == group])
    return shuffled


def on_held_out(method, X, y, batch, n_fit):
    """Positions of the fitted rows, % of the held-out rows that are wrong, and seconds."""
    (positions, place), seconds = timed(lambda: method(X[:n_fit], y[:n_fit], batch[:n_fit]))
    return positions, wrong(place(X[n_fit:], batch[n_fit:]), y[n_fit:], positions, y[:n_fit]), seconds


def on_new_batch(name, X, y, batch):
    """% of the rows of the last batch that are wrong on a map of the others: they come as rows of the first batch.

    All but the plain map get them with the mean that rows of the first batch would have with the classes of all rows.
    """
    new = batch == N_BATCHES - 1
    positions, place = METHODS[name](X[~new], y[~new], batch[~new])
    rows = X[new]
    if name != "plain":
        first = [X[(batch == 0) & (y == c)] for c in range(y.max() + 1)]
        present = [c for c, part in enumerate(first) if len(part)]
        center = np.average([first[c].mean(axis=0) for c in present], axis=0, weights=np.bincount(y)[present])
        rows = rows - rows.mean(axis=0) + center
    return wrong(place(rows, np.zeros(len(rows), dtype=int)), y[new], positions, y[~new])


def figures(name, X, y, batch, n_fit, seed):
    """All figures of a method in one run."""
    rng = np.random.default_rng(1000 + seed)
    positions, held_out, seconds = on_held_out(METHODS[name], X, y, batch, n_fit)
    shuffled = inside(y, batch, rng)
    fitted, own = batch[:n_fit], y[:n_fit]
    return {
        "target, rows": held_out,
        "target, batches": on_new_batch(name, X[:n_fit], own, fitted) if name in FOR_NEW_BATCHES else np.nan,
        "permuted": on_held_out(METHODS[name], X, shuffled, batch, n_fit)[1],
        "chance": 100 * chance_error(own, 10), "batch": wrong(positions, fitted),
        "batch by target": wrong(positions, inside(fitted, own, rng)), "seconds": seconds,
    }  # fmt: skip


def rows_of(draw, correlations, options):
    """A row for each correlation and method."""
    warnings.simplefilter("ignore")
    for correlation in correlations[-1:] if options.quick else correlations:
        runs = [draw(correlation, options, seed) for seed in range(1 if options.quick else N_RUNS)]
        for name in METHODS:
            found = [figures(name, *run, sizes(options)[0], seed) for seed, run in enumerate(runs)]
            mean = {key: float(np.mean([one[key] for one in found])) for key in found[0]}
            yield {"correlation": correlation, "method": name} | {
                key: "" if np.isnan(value) else value for key, value in mean.items()
            }


def of_cells(name, options):
    """The same of cells, after the plain map of the cells without batches."""
    warnings.simplefilter("ignore")
    runs = [cells(name, 0.0, options, seed, strength=0.0) for seed in range(1 if options.quick else N_RUNS)]
    n_fit = sizes(options)[0]
    clean = float(np.mean([on_held_out(plain, *run, n_fit)[1] for run in runs]))
    yield {"correlation": 0.0, "method": "without batches", "target, rows": clean}
    yield from rows_of(partial(cells, name), OF_CELLS, options)


PARTS = {
    "generated": partial(rows_of, generated, CORRELATIONS), "pbmc4k": partial(of_cells, "sc_pbmc4k"),
    "zeisel": partial(of_cells, "sc_zeisel"),
}  # fmt: skip
WITHOUT_DATA = ("generated",)

if __name__ == "__main__":
    main(sys.modules[__name__])
