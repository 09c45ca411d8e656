"""Folds, draws and permutations: every one of the package is made here.

Pure functions on arrays. `groups` are whole numbers, one per row, of which folds and draws get equal shares: codes of
classes, or bins of a number; rows whose group is negative are unlabelled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from prismap._util.arrays import Rows

Generator = np.random.Generator

#: A number is cut into so many bins at most, of at least so many rows.
MOST_BINS, ROWS_PER_BIN = 20, 5
#: Rows with the same classes in several columns are one group where there are so many of them on average.
ROWS_ALIKE = 5


def deal_folds(groups: Rows, n_folds: int, rng: Generator) -> Rows:
    """A fold for each row: equal shares of every group, dealt round from group to group.

    Dealing goes on where the last group stopped, so that small groups do not all fall into the first folds.
    """
    folds = np.empty(len(groups), dtype=np.intp)
    dealt = 0
    for code in np.unique(groups):
        rows = rng.permutation(np.flatnonzero(groups == code))
        folds[rows] = (dealt + np.arange(len(rows))) % n_folds
        dealt += len(rows)
    return folds


def plain_folds(n_rows: int, n_folds: int, rng: Generator) -> Rows:
    """A fold for each row, by chance alone."""
    return np.asarray(rng.permutation(np.arange(n_rows) % n_folds))


def split_rows(n_rows: int, n_splits: int, seed: int, groups: Rows | None = None) -> list[tuple[Rows, Rows]]:
    """(kept, left out) rows of each part of scikit-learn's shuffled folds; `groups` get equal shares if given."""
    cut = (KFold if groups is None else StratifiedKFold)(n_splits, shuffle=True, random_state=seed)
    return list(cut.split(np.empty(n_rows), groups))


def draw_rows(groups: Rows, most: int | None, rng: Generator) -> Rows:
    """Sorted numbers of at most `most` labelled rows, with every group represented by its share and at least once."""
    labelled = np.flatnonzero(groups >= 0)
    if most is None or most >= len(labelled):
        return labelled
    sizes = np.bincount(groups[labelled])
    wanted = shares(sizes, max(most, int(np.count_nonzero(sizes))))
    chosen = [
        rng.choice(np.flatnonzero(groups == code), size, replace=False) for code, size in enumerate(wanted) if size
    ]
    return np.sort(np.concatenate(chosen))


def sample_rows(groups: Rows, most: int, rng: Generator) -> Rows:
    """Sorted numbers of at most `most` rows: all, or a draw with equal shares of all groups, -1 among them."""
    if len(groups) <= most:
        return np.arange(len(groups))
    codes, members = np.unique(groups, return_inverse=True)
    wanted = shares(np.bincount(members), max(most, len(codes)))
    chosen = [rng.choice(np.flatnonzero(members == g), size, replace=False) for g, size in enumerate(wanted)]
    return np.sort(np.concatenate(chosen))


def shares(sizes: Any, total: int) -> Rows:
    """`total` split in proportion to `sizes` by largest remainders; every non-empty group gets at least one.

    >>> shares(np.array([90, 10, 1]), 10).tolist()
    [8, 1, 1]
    """
    sizes = np.asarray(sizes)
    ideal = sizes * (total / sizes.sum())
    wanted: Rows = np.maximum(np.floor(ideal), sizes > 0).astype(np.intp)
    while wanted.sum() < total:
        wanted[np.argmax(np.where(wanted < sizes, ideal - wanted, -np.inf))] += 1
    while wanted.sum() > total:
        wanted[np.argmax(np.where(wanted > 1, wanted - ideal, -np.inf))] -= 1
    return wanted


def shuffle_entries(values: NDArray[Any], rows: Rows, rng: Generator) -> NDArray[Any]:
    """A copy of `values` in which the entries of `rows` are permuted among themselves."""
    shuffled = values.copy()
    shuffled[rows] = values[rng.permutation(rows)]
    return shuffled


def bins(values: NDArray[np.float64]) -> Rows:
    """The bin of each row of (n, columns) numbers, equally many rows in each, by their mean rank; -1 if missing."""
    codes = np.full(len(values), -1, dtype=np.intp)
    known = np.flatnonzero(~np.isnan(values[:, 0]))
    ranks = np.argsort(np.argsort(values[known], axis=0, kind="stable"), axis=0).mean(axis=1)
    place = np.argsort(np.argsort(ranks, kind="stable"), kind="stable")
    codes[known] = place * min(MOST_BINS, max(1, len(known) // ROWS_PER_BIN)) // max(len(known), 1)
    return codes


def joint_groups(values: NDArray[np.float64], nominal: NDArray[np.bool_]) -> Rows:
    """Groups of rows with the same classes in the `nominal` columns, or with near values if there are none of these.

    Columns are left out from the last on until rows share their classes. Unlabelled rows are -1.
    """
    if not nominal.any():
        return bins(values)
    codes, known = np.full(len(values), -1, dtype=np.intp), ~np.isnan(values[:, 0])
    for n_columns in range(int(nominal.sum()), 0, -1):
        _, alike = np.unique(values[known][:, nominal][:, :n_columns], axis=0, return_inverse=True)
        if n_columns == 1 or ROWS_ALIKE * (alike.max() + 1) <= len(alike):
            codes[known] = alike.ravel()
            break
    return codes
