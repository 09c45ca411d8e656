"""The support of the posterior: which rows carry it, in which fold each lies, and the width of kernels on it."""

from __future__ import annotations

from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from prismap.exceptions import InputError


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


def rule_of_thumb(X):
    """The width of Gaussian kernels that suits normal data: ``s (4 / (d + 2) n)^(1 / (d + 4))`` (Silverman 1986, 4.14).

    s^2 is the mean variance of the d columns of the n rows. In one dimension this is the ``h_rot = 1.06 s n^(-1/5)``
    that the thesis names (Schulz 2017, sec. 2.4.1). Many columns make it wide.
    """
    n, d = X.shape
    variances = mean_variance_axis(X, axis=0)[1] if sp.issparse(X) else np.var(X, axis=0, dtype=np.float64)
    return float(np.sqrt(np.mean(variances)) * (4 / ((d + 2) * n)) ** (1 / (d + 4))) or 1.0


def given_bandwidth(bandwidth, data, support):
    """The width that a posterior asks for itself: a number, or "silverman" for the `rule_of_thumb` of its support."""
    if isinstance(bandwidth, Real) and not isinstance(bandwidth, bool) and 0 < float(bandwidth) < np.inf:
        return float(bandwidth)
    if bandwidth != "silverman":
        raise InputError(
            f"bandwidth must be a positive number, 'silverman' (the rule of thumb) or None (by perplexity); got "
            f"{bandwidth!r}."
        )
    if data.is_matrix:
        raise InputError(
            "bandwidth='silverman' counts columns, and a matrix between rows has none; give a number, or None for the "
            "width by perplexity."
        )
    return rule_of_thumb(data.rows_[support])
