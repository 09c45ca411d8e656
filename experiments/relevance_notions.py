"""Notions of relevance beside each other: bounds, the L2 canonical map, paths, entropy, independence (thesis 4.3).

The same features by every notion that the thesis discusses. *weight*: the model's own, as fitted. *bounds*: smallest
and largest weight of an equivalent model (linear programs). *L2*: the canonical representative of the smallest
Euclidean length. *lasso*, *elastic net*, *ridge*: their weights for what the model does, where their L1 norm is half of
the model's (Fig. 4.17, whose curves are the picture). *hinge*: bounds over all models without a larger hinge loss, for
a linear support vector machine. *entropy*: bounds by leaving out and greedy search with the conditional entropy, in
nats. *RIT*: the round in which the recursive independence test finds the feature, 0 for never.

xor (thesis 4.3.5): 200 samples, features 1 to 3 are noisy copies of one, feature 4 is the other, 5 and 6 are noise; a
GMLVQ with two prototypes per class, the leading row of its matrix. The class depends on the copies and on feature 4
together only. toy: 150 samples, classes by the sign of feature 2 plus feature 3, feature 1 a copy of 2, 4 to 6 noise;
a linear support vector machine. diabetes: 442 patients, standardised; linear regression, slack 0.1.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.svm import LinearSVC

from experiments.ledger import main
from experiments.table_f import standardize, xor
from prismap.learners import GMLVQ
from prismap.relevance import RelevanceBounds, coefficient_paths, recursive_independence_test

READING = """
Equal features: the bounds say that each can carry all of the weight and none must (xor 1 to 3, toy 1 and 2). The L2 map
and ridge regression share the weight among them, lasso picks one, as the thesis finds, and elastic net is between. The
hinge loss leaves a little more room than agreement on the data, since a machine may move as long as its margin holds.
Conditional entropy needs no linear model and agrees: feature 4 of xor cannot be replaced (.68 of the .69 nats of two
classes). On diabetes no feature is irreplaceable by entropy, and only the upper bounds of bmi, s5 and bp stand well
above those with a permuted target; those of columns with few values (sex, s4, s6) do not. Independence tests look at
pairs, so they find nothing in xor at all, and on diabetes everything, though nothing with a permuted target.
"""


def table(X, names, weights, y, *, slack, effective_dim, machine=None):
    """One row per feature: a figure for every notion."""
    found = RelevanceBounds(effective_dim, slack=slack).fit(X, weights)
    permuted = np.random.default_rng(0).permutation(y)
    greedy, null = (
        RelevanceBounds(method="greedy", criterion="entropy", max_iter=4).fit(X, weights, t).interval_
        for t in (y, permuted)
    )
    paths = coefficient_paths(X, weights)
    half = 0.5 * np.abs(weights).sum()
    at_half = {name: path[np.abs(lengths - half).argmin()] for name, (lengths, path) in paths.items()}
    rounds, chance = recursive_independence_test(X, y), recursive_independence_test(X, permuted)
    hinge = None if machine is None else RelevanceBounds(method="hinge", slack=slack).fit(X, machine, y).interval_
    for j, name in enumerate(names):
        row = {"feature": name, "weight": f"{weights[j]:.2f}", "bounds": span(found.interval_[j])}
        row |= {"class": int(found.relevance_classes_[j]), "L2": f"{found.canonical_map_[0, j]:.2f}"}
        row |= {name: f"{path[j]:.2f}" for name, path in at_half.items()}
        row |= {} if hinge is None else {"hinge": span(hinge[j])}
        row |= {"entropy": span(greedy[j]), "entropy, permuted target": span(null[j])}
        yield row | {"RIT": int(rounds[j]), "RIT, permuted target": int(chance[j])}


def span(bounds):
    """An interval."""
    return f"{bounds[0]:.2f} to {bounds[1]:.2f}"


def on_xor(options):
    """Thesis 4.3.5, with the picture of Fig. 4.17."""
    X, y = xor(np.random.default_rng(0))
    X = standardize(X)
    weights = GMLVQ(2, n_components=2, random_state=0).fit(X, y).omega_[0]
    if options.out:
        draw_paths(coefficient_paths(X, weights), options.out / "relevance_notions_paths.png")
    yield from table(X, range(1, 7), weights, y, slack=0.01, effective_dim=3)


def on_toy(options):
    """Two classes and a linear support vector machine."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 5))
    X = standardize(np.column_stack([x[:, 0], x]))
    y = (x[:, 0] + x[:, 1] + 0.3 * rng.normal(size=150) > 0).astype(int)
    machine = LinearSVC(C=10, random_state=0).fit(X, y)
    yield from table(X, range(1, 7), machine.coef_[0], y, slack=0.01, effective_dim=5, machine=machine)


def on_diabetes(options):
    """The regression of thesis 4.3.1 and 4.3.4."""
    data = load_diabetes()
    X, y = standardize(data.data), data.target
    weights = LinearRegression().fit(X, y).coef_
    yield from table(X, data.feature_names, weights, y, slack=0.1, effective_dim=None)


def draw_paths(paths, path):
    """Fig. 4.17: the weights of each feature against the L1 norm of all."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(paths), figsize=(10, 3), sharey=True, constrained_layout=True)
    for axis, (name, (lengths, weights)) in zip(axes, paths.items(), strict=True):
        for j, curve in enumerate(np.abs(weights).T, 1):
            axis.plot(lengths, curve, label=f"feature {j}")
        axis.set(title=name, xlabel="L1 norm of all weights")
    axes[0].set_ylabel("size of the weight")
    axes[-1].legend(fontsize=7)
    figure.savefig(path, dpi=80)
    plt.close(figure)


PARTS = {"xor": on_xor, "toy, linear support vector machine": on_toy, "diabetes": on_diabetes}
WITHOUT_DATA = tuple(PARTS)

if __name__ == "__main__":
    main(sys.modules[__name__])
