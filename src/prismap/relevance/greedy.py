"""Relevance bounds for any criterion by leaving out and by greedy search (thesis, algorithms 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

#: From the columns of several subsets, all of one size, shape (n_subsets, size), to one error each.
SubsetErrors = Callable[[np.ndarray], np.ndarray]


def regression_errors(X, Y) -> SubsetErrors:
    """Mean square error of the linear regression of Y on each subset of the columns, from one matrix of moments."""
    X = X - X.mean(axis=0)
    Y = (Y - Y.mean(axis=0)).reshape(len(X), -1)
    G, H = X.T @ X / len(X), X.T @ Y / len(X)
    total = float((Y**2).sum()) / len(X)
    # Keeps collinear subsets solvable; far below any error that matters.
    ridge = 1e-10 * max(float(np.diag(G).max(initial=0.0)), np.finfo(np.float64).tiny)

    def errors(subsets: np.ndarray) -> np.ndarray:
        size = subsets.shape[1]
        if not size:
            return np.full(len(subsets), total)
        G_S = G[subsets[:, :, None], subsets[:, None, :]] + ridge * np.eye(size)
        H_S = H[subsets]
        return np.maximum(total - (H_S * np.linalg.solve(G_S, H_S)).sum(axis=(1, 2)), 0.0)

    return errors


def criterion_errors(criterion, X, y) -> SubsetErrors:
    """``criterion(X[:, subset], y)`` for each subset, every distinct one once; for no feature a constant column."""
    known: dict[frozenset, float] = {}

    def one(subset: np.ndarray) -> float:
        key = frozenset(subset.tolist())
        if key not in known:
            known[key] = float(criterion(X[:, sorted(key)] if key else np.zeros((len(X), 1)), y))
        return known[key]

    return lambda subsets: np.array([one(subset) for subset in subsets])


def greedy_bounds(errors: SubsetErrors, n_features: int, max_iter: int = 6) -> np.ndarray:
    """Lower and upper bound of each feature's relevance, in units of the error; shape (n_features, 2).

    Lower (algorithm 1): what leaving feature j out of all features adds to the error. Upper (algorithm 2): the largest
    drop of the error that adding j brings to any subset met in a forward and a backward search of `max_iter` steps,
    which looks for the company in which j is most useful.
    """
    every = np.arange(n_features)
    others = np.array([np.delete(every, j) for j in every])
    lower = np.maximum(errors(others) - errors(every[None]), 0.0)
    upper = np.maximum(lower, errors(np.empty((1, 0), dtype=np.intp)) - errors(every[:, None]))
    for j in range(n_features):
        chosen = np.empty(0, dtype=np.intp)
        candidates = others[j]
        for _ in range(min(max_iter - 1, len(candidates))):
            k, gain = _best(errors, [np.append(chosen, c) for c in candidates], j)
            upper[j] = max(upper[j], gain)
            chosen, candidates = np.append(chosen, candidates[k]), np.delete(candidates, k)
        while len(chosen):
            k, gain = _best(errors, [np.delete(chosen, c) for c in range(len(chosen))], j)
            upper[j] = max(upper[j], gain)
            chosen = np.delete(chosen, k)
    return np.column_stack([lower, upper])


def _best(errors: SubsetErrors, subsets: list[np.ndarray], j: int) -> tuple[int, float]:
    """Which subset gains most from feature j, and how much."""
    S = np.array(subsets, dtype=np.intp).reshape(len(subsets), -1)
    gains = errors(S) - errors(np.column_stack([S, np.full(len(S), j, dtype=np.intp)]))
    best = int(gains.argmax())
    return best, float(gains[best])
