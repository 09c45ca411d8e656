"""The least-squares machine on more rows than its kernel matrix has room for.

Kernels stand at m landmarks only, the targets of all n rows are fitted: with ``K`` the (n, m) kernels of all rows
against the landmarks and ``L`` the (m, m) ones between landmarks,

    alpha = (K^T K + lambda L)^{-1} K^T T        (subset of regressors; lambda as in `lssvm`).

``K^T K`` is a sum over rows, so a machine that never saw a fold is the same solution with that fold's part taken away:
one pass over the rows serves all folds. Time O(n m^2) up to 200,000 rows and O(n m) beyond, memory O(folds m^2).
"""

from __future__ import annotations

import numpy as np

from prismap._blocks import row_blocks
from prismap.metrics.geometry import FittedIndex
from prismap.metrics.posteriors.lssvm import LeastSquaresSVM, best_temperature, search, softmax

#: Landmarks of a machine that is fitted on more rows than the metric has support.
N_LANDMARKS = 2000
N_FOLDS = 10
#: Labelled rows that it is fitted on at most: a hundred for each landmark. Others are predicted by a machine that never
#: saw them.
MOST_FITTED = 200_000
#: Added to the diagonal of the normal equations, in units of its mean: kernels of near landmarks are nearly equal.
JITTER = 1e-10


def fit_on_all_rows(geometry, target, rng, *, cross_fit=True):
    """A machine with a sample of the labelled rows as landmarks, fitted on many of them: (machine, probabilities).

    The probabilities (n, C) are those of all rows: each labelled one's by the machine that never saw its fold (of the
    machine itself without `cross_fit`).
    """
    codes, n_classes = target.values, len(target.classes)
    landmarks, labelled = target.draw(N_LANDMARKS, rng), target.labelled_rows
    if len(labelled) > MOST_FITTED:
        labelled = np.sort(rng.choice(labelled, MOST_FITTED, replace=False))
    L = np.maximum(geometry.squared_to(FittedIndex(landmarks), landmarks), 0).astype(np.float64)
    gamma, ridge = search(L, codes[landmarks], n_classes, np.arange(len(landmarks)) % N_FOLDS, rng)
    folds = np.full(len(codes), -1, dtype=np.intp)
    folds[labelled] = target.folds(labelled, N_FOLDS, rng)
    mean = np.bincount(codes[labelled], minlength=n_classes) / len(labelled)

    def kernels(rows):
        return np.exp(np.maximum(geometry.squared_to(FittedIndex(rows), landmarks), 0) * geometry.dtype.type(-gamma))

    products, moments = normal_equations(kernels, codes, folds, mean, len(landmarks))
    penalty = ridge * np.exp(-gamma * L)
    whole = solve_normal(products.sum(axis=0), moments.sum(axis=0), penalty)
    scores = np.empty((len(codes), n_classes))
    for fold in range(-1, N_FOLDS if cross_fit else 0):
        seen = np.arange(N_FOLDS) != fold
        coefficients = (
            whole if fold < 0 else solve_normal(products[seen].sum(axis=0), moments[seen].sum(axis=0), penalty)
        )
        rows = np.flatnonzero(folds == fold) if cross_fit else np.arange(len(codes))
        for block in row_blocks(len(rows), 24.0 * len(landmarks)):
            scores[rows[block]] = kernels(rows[block]) @ coefficients.astype(geometry.dtype) + mean
    temperature = best_temperature(scores[labelled], codes[labelled])
    return LeastSquaresSVM(whole, mean, gamma, temperature, landmarks), softmax(temperature * scores)


def normal_equations(kernels, codes, folds, mean, n_landmarks):
    """``K^T K`` (folds, m, m) and ``K^T (T - mean)`` (folds, m, C) of the rows of each fold."""
    products = np.zeros((N_FOLDS, n_landmarks, n_landmarks))
    moments = np.zeros((N_FOLDS, n_landmarks, len(mean)))
    for fold in range(N_FOLDS):
        rows = np.flatnonzero(folds == fold)
        for block in row_blocks(len(rows), 24.0 * n_landmarks):
            K = kernels(rows[block]).astype(np.float64)
            products[fold] += K.T @ K
            moments[fold] += K.T @ (np.eye(len(mean))[codes[rows[block]]] - mean)
    return products, moments


def solve_normal(product, moment, penalty):
    """``(K^T K + lambda L)^{-1} K^T T``."""
    A = product + penalty
    A[np.diag_indices_from(A)] += JITTER * np.trace(A) / len(A)
    return np.linalg.solve(A, moment)
