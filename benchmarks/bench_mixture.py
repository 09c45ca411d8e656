"""Mixtures of dissimilarities at n = 700: building the matrices against scipy's pdist, learning against elastic MDS.

The paper says that training, once the matrices are built, takes almost as long as plain elastic MDS (004_ 3.5). Both
sides do the same number of iterations of the positions here, plain elastic MDS by starting again where it converged.
"""

from functools import partial
from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform

from prismap._util.costs import elastic_weights, stress_cost
from prismap._util.optimise import minimize
from prismap.metrics import DISSIMILARITIES, AlternatingDescent, dissimilarity
from prismap.metrics._mixture import eigenvalue_weights, learn_mixture
from prismap.metrics._mixture_costs import ElasticCost

N_ROWS = 700
N_EPOCHS, N_ITER = 10, 75
#: Our name, scipy's, options of scipy, and the factor between the two.
IN_SCIPY = (
    ("euclidean", "euclidean", {}, 1.0),
    ("city_block", "cityblock", {}, 1.0),
    ("max_norm", "chebyshev", {}, 1.0),
    ("minkowski", "minkowski", {"p": 1.2}, 1.0),
    ("cosine", "cosine", {}, 0.5),
    ("bray_curtis", "braycurtis", {}, 1.0),
)


def rows(data_folder):
    """The isomap faces if they are at hand, else as many random rows of the same width."""
    path = None if data_folder is None else Path(data_folder) / "isomap_faces_32.npz"
    if path is None or not path.exists():
        return np.random.default_rng(0).gamma(1.5, size=(N_ROWS, 1024))
    with np.load(path) as file:
        return file["X"].astype(np.float64)


def scipy_all(X):
    """The six measures that scipy has, one number a pair."""
    return [factor * pdist(X, name, **options) for _, name, options, factor in IN_SCIPY]


def close(ours, theirs):
    """Equal up to float32 rounding in the powers."""
    return all(np.allclose(squareform(D, checks=False), d, rtol=1e-5) for D, d in zip(ours, theirs, strict=True))


def cases(data_folder=None):
    """What is compared: (name, ours, theirs, check)."""
    X = rows(data_folder)
    size = f"n = {len(X)}, {X.shape[1]} features"
    yield {
        "name": f"six dissimilarities that scipy has, {size}, against pdist",
        "ours": lambda: [dissimilarity(name, X) for name, *_ in IN_SCIPY],
        "theirs": lambda: scipy_all(X),
        "check": close,
    }
    yield {
        "name": f"all fifteen dissimilarities, {size}, against pdist for its six",
        "ours": lambda: [dissimilarity(name, X) for name in list(DISSIMILARITIES)[:15]],
        "theirs": lambda: scipy_all(X),
        "check": lambda ours, theirs: len(ours) == 15,
    }
    matrices = np.array(
        [squareform(np.maximum(dissimilarity(n, X), 0), checks=False) for n in list(DISSIMILARITIES)[:15]]
    )
    matrices /= matrices.mean(axis=1, keepdims=True)
    weights = eigenvalue_weights(matrices)
    D = cdist(X, X) / pdist(X).mean()
    W, start = elastic_weights(D), np.random.default_rng(0).normal(size=(len(X), 2))

    def mixture(n_weight_iter):
        descent = AlternatingDescent(n_epochs=N_EPOCHS, max_iter=N_ITER, n_weight_iter=n_weight_iter)
        return learn_mixture(matrices, weights, start, ElasticCost(), descent)

    def plain(max_iter):
        while max_iter > 0:
            max_iter -= minimize(
                partial(stress_cost, D=D, W=W), start, max_iter=min(max_iter, N_ITER), tol=1e-7, relative=True
            ).n_iter

    for steps in (1, 5):
        as_many = mixture(steps).n_iter
        yield {
            "name": f"learning ({steps} steps of the weights an epoch), {size}, against as many steps of elastic MDS",
            "ours": lambda steps=steps: mixture(steps),
            "theirs": lambda as_many=as_many: plain(as_many),
            "check": lambda ours, theirs: bool((np.diff(ours.history) <= 0).all()),
        }
