"""Where a t-SNE map would tear: the two scores of the leave-one-out map (Liu, Ma & Zhong 2025, Nature Communications).

With all other rows where they are, the place of one row x is where its share of the t-SNE cost is lowest,

    L(y; x) = 2 sum_j p_j(x) log(1 + |y - y_j|^2) + log(Z + 2 sum_j w_j(y)),    w_j(y) = 1 / (1 + |y - y_j|^2),

with Z the sum of w over all ordered pairs of other rows. As x moves, this place may jump. Two scores tell where:

- *perturbation*: how far the place of a row moves if the row is moved by a given length along one of the first three
  principal directions, either way; the largest of the six. High between clusters: which of them a row belongs to is
  stated with more confidence than the data have.
- *singularity*: 1 over the smallest eigenvalue of the Hessian of L at the row's own place. High inside clusters that
  the map breaks into pieces, where the place of a row is hardly determined.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from prismap._util.affinities import calibrate, lower_perplexity
from prismap._util.random import as_generator
from prismap.exceptions import InputError
from prismap.quality._distances import distance_rows

#: Principal directions that a row is moved along, either way.
N_DIRECTIONS = 3
#: Places that the search starts from: the row's own, and those of the rows that it is nearest to.
N_STARTS = 2


def singularity_scores(X: Any, Y: Any, *, perplexity: float = 30, metric: Any = "euclidean") -> np.ndarray:
    """How little the place of each row of a t-SNE map is determined, (n,): 1 / smallest eigenvalue of the Hessian.

    Infinite where the place is no minimum: an optimisation that ended too early, or another method's map.

    Parameters
    ----------
    X : rows, distances (with ``metric="precomputed"``), or None for the fitted rows of a metric object
    Y : (n, 2) positions of the same rows
    perplexity : float, default=30
        That of the map.
    metric : name, ``"precomputed"`` or a fitted metric object

    Returns
    -------
    array (n,)

    References
    ----------
    Z. Liu, R. Ma, Y. Zhong (2025), Assessing and improving reliability of neighbor embedding methods: a map-continuity
    perspective, Nature Communications.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> singularity_scores(rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), perplexity=5).shape
    (30,)
    """
    P, Y = _both(X, Y, perplexity, metric)
    n, dimensions = Y.shape
    W = _similarities(Y)
    S = W.sum()
    scores = np.empty(n)
    for i in range(n):
        d, w, p = Y[i] - Y, W[i], P[i]
        outer = d[:, :, None] * d[:, None, :]
        pull = 4 * (p @ w) * np.eye(dimensions) - 8 * np.tensordot(p * w**2, outer, axes=1)
        g = (w**2) @ d
        push = (-4 * (w**2).sum() * np.eye(dimensions) + 16 * np.tensordot(w**3, outer, axes=1)) / S
        least = np.linalg.eigvalsh(pull + push - 16 * np.outer(g, g) / S**2)[0]
        scores[i] = 1.0 / least if least > 0 else np.inf
    return scores


def perturbation_scores(
    X: Any, Y: Any, *, length: float, perplexity: float = 30, n_samples: int | None = 200, random_state: Any = 0
) -> tuple[np.ndarray, np.ndarray]:
    """How far the places of rows jump on a t-SNE map if the rows move a little: (scores, which rows).

    Widths of the other rows' Gaussians are left as they are, and the moved row's is found anew.

    Parameters
    ----------
    X : (n, d) rows, compared by Euclidean distances
    Y : (n, 2) positions of the same rows, at a minimum of the cost: ``GradientDescent(tol=0)`` does all iterations
    length : float
        How far a row is moved, in units of X.
    perplexity : float, default=30
        That of the map.
    n_samples : int or None, default=200
        Rows that are judged; None: all. Each takes eighteen searches for a minimum.
    random_state : for the sample

    Returns
    -------
    scores : array, one per judged row
    rows : array of the numbers of the judged rows

    References
    ----------
    Liu, Ma & Zhong (2025), as for `singularity_scores`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    >>> scores, rows = perturbation_scores(X, Y, length=1.0, perplexity=5, n_samples=4)
    >>> scores.shape, rows.shape
    ((4,), (4,))
    """
    X = np.asarray(X, dtype=np.float64)
    if not length > 0:
        raise InputError(f"length must be above 0; got {length!r}.")
    _, Y = _both(X, Y, perplexity, "euclidean")
    n = len(Y)
    rows = np.arange(n)
    if n_samples is not None and n_samples < n:
        rows = np.sort(as_generator(random_state).choice(n, n_samples, replace=False))
    D2 = cdist(X, X, "sqeuclidean")
    np.fill_diagonal(D2, np.inf)
    perplexity = lower_perplexity(perplexity, n)
    sigma = calibrate(D2, perplexity)[1]
    sums = np.exp(-D2 / (2 * sigma[:, None] ** 2)).sum(axis=1)
    directions = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:N_DIRECTIONS]
    W = _similarities(Y)
    scores = np.zeros(len(rows))
    for place, i in enumerate(rows):
        others = np.delete(np.arange(n), i)
        Z = W.sum() - 2 * W[i].sum()
        rest = sums[others] - np.exp(-D2[others, i] / (2 * sigma[others] ** 2))
        for direction in (*directions, *-directions):
            d2 = np.square(X[others] - (X[i] + length * direction)).sum(axis=1)
            near = np.exp(-d2 / (2 * sigma[others] ** 2))
            theirs = near / np.maximum(rest + near, np.finfo(float).tiny)
            p = (calibrate(d2[None], perplexity)[0][0] + theirs) / (2 * n)
            moved = leave_one_out_place(Y[others], p, Z, Y[i])
            scores[place] = max(scores[place], float(np.linalg.norm(moved - Y[i])))
    return scores, rows


def leave_one_out_place(Y: np.ndarray, p: np.ndarray, Z: float, start: np.ndarray) -> np.ndarray:
    """Where a row with affinities p to rows at Y has the lowest cost: the best minimum from a few starts."""
    starts = [start, *Y[np.argsort(-p, kind="stable")[:N_STARTS]]]
    minima = [minimize(leave_one_out_cost, y, args=(Y, p, Z), jac=True, method="BFGS") for y in starts]
    return np.asarray(min(minima, key=lambda one: one.fun).x)


def leave_one_out_cost(y: np.ndarray, Y: np.ndarray, p: np.ndarray, Z: float) -> tuple[float, np.ndarray]:
    """L(y; x) and its gradient."""
    d = y - Y
    w = 1.0 / (1.0 + np.square(d).sum(axis=1))
    S = Z + 2 * w.sum()
    return float(-2 * p @ np.log(w) + np.log(S)), 4 * ((p * w) @ d - (w**2) @ d / S)


def _similarities(Y: np.ndarray) -> np.ndarray:
    """w of all pairs, zero on the diagonal."""
    W = np.asarray(1.0 / (1.0 + cdist(Y, Y, "sqeuclidean")))
    np.fill_diagonal(W, 0.0)
    return W


def _both(X: Any, Y: Any, perplexity: float, metric: Any) -> tuple[np.ndarray, np.ndarray]:
    """Joint affinities of all pairs, and the positions."""
    source, Y = distance_rows(X, metric, name="X"), np.asarray(Y, dtype=np.float64)
    n = source.n_rows
    if Y.ndim != 2 or len(Y) != n or not np.isfinite(Y).all():
        raise InputError(f"Y must hold finite positions of the {n} rows of X; got an array of shape {Y.shape}.")
    D2 = np.square(source.block(np.arange(n)))
    np.fill_diagonal(D2, np.inf)
    P = calibrate(D2, lower_perplexity(perplexity, n))[0]
    return (P + P.T) / (2 * n), Y
