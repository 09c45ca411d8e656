"""Relevance against what a careful user would write: bounds one scipy program at a time, NeRV by positions.

`cases` yields dicts with a name, `ours` and `theirs` (callables) and `check`, which takes both results and says whether
they agree. The papers' form of a bound is a program with 2 D + 1 dense inequalities; 768 of them for the wine spectra
take minutes, so `theirs` solves those of eight features only, and the ratio it is part of is 32 times too small.
"""

from pathlib import Path

import numpy as np
from scipy.optimize import linprog
from scipy.spatial.distance import cdist
from sklearn.linear_model import Ridge

from prismap._util.affinities import calibrate
from prismap._util.costs import nerv_cost
from prismap.relevance import RelevanceBounds
from prismap.relevance._bounds import leading_directions
from prismap.relevance._neighborhoods import map_neighbors, matrix_cost

DIM, SLACK = 9, 0.01
FEATURES = range(0, 256, 32)


def spectra(data_folder):
    """The wine spectra (or smooth made-up ones), standardised, and the weights of a ridge regression."""
    if data_folder is not None:
        wine = np.load(Path(data_folder) / "wine_nir.npz")
        X, y = wine["X"], wine["y"]
    else:
        rng = np.random.default_rng(0)
        peaks = np.exp(-0.5 * ((np.arange(256) - np.linspace(0, 256, 30)[:, None]) / 12) ** 2)
        amounts = rng.normal(size=(124, 30))
        X, y = amounts @ peaks + 1e-3 * rng.normal(size=(124, 256)), amounts[:, 10] + amounts[:, 20]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    return Z, Ridge(0.01).fit(Z, y).coef_


def large_form(Z, w, features):
    """Thesis (4.15), (4.18), (4.19): three programs a feature over w~ and the coordinates in the null space."""
    N = np.linalg.eigh(Z.T @ Z)[1][:, ::-1][:, DIM:]
    D, n_null = N.shape
    bounds = [(0, None)] * D + [(None, None)] * n_null
    both = np.block([[-np.eye(D), N], [-np.eye(D), -N]])
    limits = np.concatenate([-w, w])
    ones = np.concatenate([np.ones(D), np.zeros(n_null)])
    mu = linprog(ones, A_ub=both, b_ub=limits, bounds=bounds).fun
    A, b = np.vstack([both, ones]), np.append(limits, (1 + SLACK) * mu)
    found = []
    for j in features:
        lower = linprog(np.eye(1, D + n_null, j)[0], A_ub=A, b_ub=b, bounds=bounds).fun
        along = np.concatenate([np.zeros(D), N[j]])
        ends = [s * w[j] - linprog(-s * along, A_ub=A, b_ub=b, bounds=bounds).fun for s in (1, -1)]
        found.append([lower, max(ends)])
    return np.array(found)


def small_form(Z, w):
    """The same bounds by one scipy program each in the small form: V^T (p - n) = V^T w."""
    V = leading_directions(Z)[0][:, :DIM]
    D = len(w)
    A, b = np.hstack([V.T, -V.T]), V.T @ w
    mu = linprog(np.ones(2 * D), A_eq=A, b_eq=b).fun
    limit = {"A_ub": np.ones((1, 2 * D)), "b_ub": [(1 + SLACK) * mu], "A_eq": A, "b_eq": b}
    found = []
    for j in range(D):
        both, diff = np.zeros(2 * D), np.zeros(2 * D)
        both[[j, D + j]], diff[[j, D + j]] = 1.0, (1.0, -1.0)
        ends = [-linprog(-s * diff, **limit).fun for s in (1, -1)]
        found.append([linprog(both, **limit).fun, max(ends)])
    return np.array(found)


def cases(data_folder=None):
    """Bounds of 256 features in both forms, and one step of Omega learning."""
    Z, w = spectra(data_folder)
    yield {
        "name": "relevance bounds, D=256, dim 9: all 512 against 24 of the papers' 768 programs (true ratio 32x that)",
        "ours": lambda: RelevanceBounds(DIM, slack=SLACK).fit(Z, w).interval_,
        "theirs": lambda: large_form(Z, w, FEATURES),
        "check": lambda ours, theirs: np.allclose(ours[FEATURES], theirs, atol=1e-7),
    }
    yield {
        "name": "relevance bounds, D=256, dim 9: against one scipy program a bound in the small form",
        "ours": lambda: RelevanceBounds(DIM, slack=SLACK).fit(Z, w).interval_,
        "theirs": lambda: small_form(Z, w),
        "check": lambda ours, theirs: np.allclose(ours, theirs, atol=1e-7),
    }
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2000, 256)), rng.normal(size=(2000, 2))
    near = map_neighbors(X, Y, 10, np.arange(2000), 0.5)
    D2 = cdist(Y, Y, "sqeuclidean")
    np.fill_diagonal(D2, np.inf)
    P, sigma = calibrate(D2, 10)[0], np.sqrt(0.5 / near.beta)
    omega = np.eye(256)

    def by_positions():
        cost, gradient = nerv_cost(X @ omega.T, P, sigma, gamma=0.5)
        return cost, gradient.T @ X

    yield {
        "name": "one cost and gradient of Omega, 2,000 x 256: against the NeRV cost by positions",
        "ours": lambda: matrix_cost(omega, X, near, 0.0),
        "theirs": by_positions,
        "check": lambda ours, theirs: np.isclose(ours[0], theirs[0]) and np.allclose(ours[1], theirs[1], atol=1e-6),
    }
