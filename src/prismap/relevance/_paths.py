"""Weights of regularised regressions as their penalty falls, to compare with bounds (Schulz 2017, fig. 4.17)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import enet_path

from prismap._util.arrays import Numbers
from prismap.exceptions import InputError
from prismap.relevance._linear_maps import linear_map

#: Share of the L1 part in the penalty of each method; ridge regression has none.
L1_SHARES = {"lasso": 1.0, "elastic net": 0.5}
#: Their penalties run down from the smallest that leaves no weight, over this many powers of ten.
LASSO_POWER = -4
#: Nearly equal features need many steps.
ACCURACY = {"tol": 1e-6, "max_iter": 100_000}
#: Penalties of ridge regression run over this many powers of ten below the largest eigenvalue, and above it.
RIDGE_POWERS = (-6, 3)


def coefficient_paths(X: Numbers, coef: Any, *, n_alphas: int = 50) -> dict[str, tuple[Numbers, Numbers]]:
    """Weights of lasso, elastic net and ridge regression that predict what a linear model does, ``X coef``.

    Parameters
    ----------
    X : array (n_samples, n_features)
    coef : array (n_features,), or a fitted linear model or pipeline with one output
    n_alphas : int, default=50
        Number of penalties per method, the largest first.

    Returns
    -------
    paths : dict
        For each method the L1 norms of the weights, shape (n_alphas,), and the weights, shape (n_alphas, n_features).

    Notes
    -----
    The order in which weights grow is no relevance: among equal features lasso picks one by chance, and the others
    share the weight among all of them, so none looks as if it could be left out. `RelevanceBounds` tells both.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> X = np.column_stack([x[:, 0], x[:, 0], x[:, 1]])
    >>> {name: weights[-1].round(1).tolist() for name, (_, weights) in coefficient_paths(X, [0.5, 0.5, 1.0]).items()}
    {'lasso': [1.0, 0.0, 1.0], 'elastic net': [0.5, 0.5, 1.0], 'ridge': [0.5, 0.5, 1.0]}
    """
    given = linear_map(np.asarray(X, dtype=np.float64), coef)
    if len(given.weights) != 1:
        raise InputError(f"coef has {len(given.weights)} outputs; pass the weights of one of them.")
    rows = given.rows - given.rows.mean(axis=0)
    target = rows @ given.weights[0]
    largest = float(np.abs(rows.T @ target).max()) / len(rows) or 1.0  # the lasso's smallest penalty without any weight
    penalties = np.logspace(0, LASSO_POWER, n_alphas) * largest
    paths = {
        name: enet_path(rows, target, l1_ratio=share, alphas=penalties / share, **ACCURACY)[1].T
        for name, share in L1_SHARES.items()
    }
    paths["ridge"] = ridge_path(rows, target, n_alphas)
    return {name: (np.abs(weights).sum(axis=1), weights) for name, weights in paths.items()}


def ridge_path(X: Numbers, y: Numbers, n_alphas: int) -> Numbers:
    """``(X^T X + a I)^-1 X^T y`` for penalties a from large to small, by one singular value decomposition."""
    U, singular, Vt = np.linalg.svd(X, full_matrices=False)
    low, high = RIDGE_POWERS
    penalties = np.logspace(high, low, n_alphas) * max(float(singular[0]) ** 2, np.finfo(np.float64).tiny)
    shrunk = singular / (singular**2 + penalties[:, None])
    return np.asarray((shrunk * (U.T @ y)) @ Vt)
