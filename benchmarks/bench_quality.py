"""Quality measures against the usual full n x n code: the area under R_NX of 10,000 rows, goal at least 5x faster.

The peers here are written the way co-ranking code usually is, with numpy and scipy: distance matrices, rank matrices by
double argsort, the co-ranking matrix, its cumulated sums. `lean_area` leaves out what the area does not need and is
about the best that whole n x n matrices allow.
"""

import numpy as np
from scipy.spatial.distance import cdist, pdist, squareform

from prismap.quality import auc_log_k, knn_error

N_ROWS = 10_000


def coranking_area(X, Y):
    """Area under R_NX from an explicit co-ranking matrix."""
    n = len(X)
    rho, r = (squareform(pdist(A)).argsort(axis=1).argsort(axis=1) for A in (X, Y))
    q = np.bincount((rho * n + r).ravel(), minlength=n * n).reshape(n, n)[1:, 1:]
    return _area(q.cumsum(axis=0).cumsum(axis=1).diagonal(), n)


def lean_area(X, Y):
    """Area under R_NX from two full orders, without ranks on one side and without a co-ranking matrix."""
    n = len(X)
    order = cdist(X, X).argsort(axis=1)
    place = np.empty_like(order)
    np.put_along_axis(place, order, np.arange(n)[None, :], axis=1)
    worse = np.maximum(np.take_along_axis(place, cdist(Y, Y).argsort(axis=1), axis=1), np.arange(n))
    return _area(np.bincount(worse.ravel(), minlength=n)[1:].cumsum(), n)


def _area(kept, n):
    k = np.arange(1, n - 1)
    Q = kept[:-1] / (k * n)
    R = ((n - 1) * Q - k) / (n - 1 - k)
    return (R / k).sum() / (1 / k).sum()


def brute_error(Y, y):
    """Leave-one-out 1-NN error from the full distance matrix."""
    D = squareform(pdist(Y))
    np.fill_diagonal(D, np.inf)
    return np.mean(y[D.argmin(axis=1)] != y)


def same(ours, theirs):
    """Equal to rounding."""
    return abs(float(ours) - float(theirs)) < 1e-10


def cases(data_folder=None):
    """What is compared: (name, ours, theirs, check)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 50)) * np.geomspace(1.0, 0.1, 50)
    Y = X[:, :2] + 0.3 * rng.normal(size=(N_ROWS, 2))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
    size = f"{N_ROWS // 1000}k rows"
    yield {
        "name": f"area under R_NX, {size} x 50, against a co-ranking matrix",
        "ours": lambda: auc_log_k(X, Y),
        "theirs": lambda: coranking_area(X, Y),
        "check": same,
        "goal": 5.0,
    }
    yield {
        "name": f"area under R_NX, {size} x 50, against lean n x n code",
        "ours": lambda: auc_log_k(X, Y),
        "theirs": lambda: lean_area(X, Y),
        "check": same,
    }
    yield {
        "name": f"1-NN error in a map of {size}, against the distance matrix",
        "ours": lambda: knn_error(Y, y),
        "theirs": lambda: brute_error(Y, y),
        "check": same,
    }
