"""A least-squares support vector machine on profiles, with its cross-validated scores in closed form.

With ``K = exp(-gamma q)`` between support rows and one-hot targets T, the machine of ridge lambda is
``alpha = H T``, ``H = (K + lambda I)^{-1}``. The scores of a fold F by the machine that never saw F need no second fit:

    s_F = T_F - H_FF^{-1} alpha_F        (block leave-one-out of kernel ridge regression).

Scores become probabilities by a softmax whose temperature minimises the out-of-fold log-loss; gamma and lambda minimise
it too. Only squared profiles enter, so vectors, similarities and dissimilarities are served alike, and a new row costs
one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from prismap._grid import sum_products
from prismap._threads import on_one_thread

#: Widths tried first, in units of 1 / (half the mean squared distance), and ridges tried with each.
WIDTHS = (0.25, 1.0, 4.0)
RIDGES = (0.01, 0.1, 1.0)
#: Support rows that the search for width and ridge looks at: so many a class, within limits.
SEARCH_ROWS_A_CLASS, SEARCH_ROWS = 60, (600, 2000)


@dataclass(frozen=True)
class LeastSquaresSVM:
    """A fitted machine: scores of profiles, and probabilities from scores."""

    coefficients: np.ndarray
    mean: np.ndarray
    gamma: float
    temperature: float
    landmarks: np.ndarray

    def probabilities(self, Q):
        """Class probabilities of rows from their squared profiles against the landmarks."""
        return softmax(self.temperature * self.scores(Q))

    def scores(self, Q):
        """One score per class: 1 for a certain member, 0 for a certain non-member."""
        return sum_products(np.exp(Q * Q.dtype.type(-self.gamma)), self.coefficients) + self.mean


def fit_lssvm(Q, codes, n_classes, folds, rng, support):
    """The machine fitted on all support rows, its landmarks, and the out-of-fold probabilities of these rows.

    Q : squared distances between the support rows. folds : fold of each, or None for in-sample probabilities. support :
    indices of the support among the fitted rows.
    """
    Q = np.maximum(Q.astype(np.float64), 0)
    judged = folds if folds is not None else folds_by_profile(Q, codes)
    gamma, ridge = search(Q, codes, n_classes, judged, rng)
    coefficients, mean, scores = solve(Q, codes, n_classes, judged, gamma, ridge)
    temperature = best_temperature(scores, codes)
    machine = LeastSquaresSVM(coefficients, mean, gamma, temperature, support)
    return machine, softmax(temperature * scores) if folds is not None else machine.probabilities(Q)


def folds_by_profile(Q, codes, n_folds=10):
    """Folds for the search of width and ridge where none are given: the order of the rows does not matter for them."""
    folds = np.empty(len(codes), dtype=np.intp)
    folds[np.lexsort((Q.mean(axis=1), codes))] = np.arange(len(codes)) % n_folds
    return folds


@on_one_thread
def search(Q, codes, n_classes, folds, rng):
    """Width and ridge with the smallest out-of-fold log-loss: a coarse grid, then half and double the best width."""
    rows = np.arange(len(codes))
    most = int(np.clip(SEARCH_ROWS_A_CLASS * n_classes, *SEARCH_ROWS))
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    Q, codes, folds = Q[np.ix_(rows, rows)], codes[rows], folds[rows]
    unit = 2.0 / (float(Q.mean()) or 1.0)
    losses = {}

    def try_width(width):
        for ridge in RIDGES:
            _, _, scores = solve(Q, codes, n_classes, folds, width * unit, ridge)
            losses[width, ridge] = log_loss(softmax(best_temperature(scores, codes) * scores), codes)

    for width in WIDTHS:
        try_width(width)
    best = min(losses, key=lambda tried: losses[tried])[0]
    for width in (best / 2, best * 2):
        try_width(width)
    width, ridge = min(losses, key=lambda tried: losses[tried])
    return width * unit, ridge


def solve(Q, codes, n_classes, folds, gamma, ridge):
    """Coefficients, mean target, and the scores of every row by the machine that never saw its fold."""
    targets = np.eye(n_classes)[codes]
    mean = targets.mean(axis=0)
    K = np.exp(-gamma * Q)
    K[np.diag_indices_from(K)] += ridge
    H = np.linalg.inv(K)
    coefficients = H @ (targets - mean)
    scores = np.empty_like(targets)
    for fold in np.unique(folds):
        rows = np.flatnonzero(folds == fold)
        scores[rows] = targets[rows] - np.linalg.solve(H[np.ix_(rows, rows)], coefficients[rows])
    return coefficients, mean, scores


def best_temperature(scores, codes):
    """The factor on the scores with the smallest log-loss."""
    found = minimize_scalar(
        lambda t: log_loss(softmax(np.exp(t) * scores), codes), bounds=(-2.0, 4.5), method="bounded"
    )
    return float(np.exp(found.x))


def softmax(scores):
    """Row-wise softmax."""
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def log_loss(P, codes):
    """Mean negative log-probability of the true classes; a class given no chance counts as one in 10^12."""
    return float(-np.log(np.maximum(P[np.arange(len(codes)), codes], 1e-12)).mean())
