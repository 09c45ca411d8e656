"""The support of the posterior: which rows carry it, in which fold each lies, how wide its kernels are."""

from __future__ import annotations

import numpy as np


def stratified_support(codes, n_support, rng):
    """Indices of at most `n_support` labelled rows, sorted, with every class represented by its share.

    Rows whose code is negative (unlabelled) are never support. A class keeps at least one row.
    """
    labelled = np.flatnonzero(codes >= 0)
    if n_support is None or n_support >= len(labelled):
        return labelled
    sizes = np.bincount(codes[labelled])
    wanted = shares(sizes, max(n_support, np.count_nonzero(sizes)))
    chosen = [
        rng.choice(np.flatnonzero(codes == code), size, replace=False) for code, size in enumerate(wanted) if size
    ]
    return np.sort(np.concatenate(chosen))


def shares(sizes, total):
    """`total` split in proportion to `sizes` by largest remainders; every non-empty class gets at least one.

    >>> shares(np.array([90, 10, 1]), 10).tolist()
    [8, 1, 1]
    """
    sizes = np.asarray(sizes)
    ideal = sizes * (total / sizes.sum())
    wanted = np.maximum(np.floor(ideal), sizes > 0).astype(np.intp)
    while wanted.sum() < total:
        wanted[np.argmax(np.where(wanted < sizes, ideal - wanted, -np.inf))] += 1
    while wanted.sum() > total:
        wanted[np.argmax(np.where(wanted > 1, wanted - ideal, -np.inf))] -= 1
    return wanted


def stratified_folds(codes, n_folds, rng):
    """A fold for each support row: equal shares of every class, dealt round from class to class.

    Dealing goes on where the last class stopped, so that small classes do not all fall into the first folds.
    """
    folds = np.empty(len(codes), dtype=np.intp)
    dealt = 0
    for code in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == code))
        folds[rows] = (dealt + np.arange(len(rows))) % n_folds
        dealt += len(rows)
    return folds


def calibrated_bandwidths(D2, perplexity, *, tol=1e-5, max_iter=100):
    """A bandwidth sigma for each row of squared distances so that ``exp(-D2 / 2 sigma^2)`` has the given perplexity.

    Infinite entries are left out (a row's distance to itself, say). All rows are bisected at once on
    ``beta = 1 / 2 sigma^2``. Rows with no spread (all distances equal) get the bandwidth ``sqrt(D2 / 2)``.
    """
    D2 = np.asarray(D2, dtype=np.float64)
    smallest = D2.min(axis=1)
    D2 = D2 - smallest[:, None]
    counted = np.isfinite(D2)
    finite = np.where(counted, D2, 0.0)
    mean = finite.sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
    mean = np.where(mean > 0, mean, 1.0)
    target = np.log(np.minimum(perplexity, np.maximum(counted.sum(axis=1) - 1e-3, 1.0)))
    beta = 1.0 / mean
    low, high = np.zeros(len(D2)), np.full(len(D2), np.inf)
    for _ in range(max_iter):
        weights = np.exp(-beta[:, None] * D2)
        total = weights.sum(axis=1)
        entropy = np.log(total) + beta * np.einsum("ij,ij->i", weights, finite) / total
        error = entropy - target
        if np.all(np.abs(error) < tol):
            break
        low = np.where(error > 0, beta, low)
        high = np.where(error > 0, high, beta)
        # Ties at the smallest distance can make the target unreachable; beta then stays below 1e12 / mean.
        beta = np.where(np.isinf(high), np.minimum(beta * 2, 1e12 / mean), (low + high) / 2)
    return np.where(finite.any(axis=1), np.sqrt(0.5 / beta), np.sqrt(np.maximum(smallest, 0) / 2))


def mean_bandwidth(D2, perplexity):
    """The mean of the calibrated bandwidths, and 1 for data in which all rows are one point."""
    mean = float(calibrated_bandwidths(D2, perplexity).mean())
    return mean if mean > 0 else 1.0
