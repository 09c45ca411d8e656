"""The support of the posterior: which rows carry it, and in which fold each lies."""

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
