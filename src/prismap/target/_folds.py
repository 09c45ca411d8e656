"""Folds, draws and permutations: every one of the package is made here.

Pure functions on arrays. `groups` are whole numbers, one per row, of which folds and draws get equal shares: codes of
classes, or bins of a number; rows whose group is negative are unlabelled. `units` are whole numbers, too: rows of one
unit are not independent of each other, so that no fold and no permutation may tear them apart.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold, StratifiedKFold

from prismap._util.arrays import Rows

Generator = np.random.Generator

#: A number is cut into so many bins at most, of at least so many rows.
MOST_BINS, ROWS_PER_BIN = 20, 5
#: Units of which so few are of about one size exchange their values with those of another size.
FEWEST_PARTNERS = 5
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


def deal_units(groups: Rows, units: Rows, n_folds: int, rng: Generator) -> Rows:
    """A fold for each row, the same for all rows of a unit: as equal shares of every group as whole units allow.

    The largest units are dealt first. Each goes to the fold that has the fewest rows of its commonest group and, among
    equals, the fewest rows of all.
    """
    _, unit = np.unique(units, return_inverse=True)
    sizes = np.bincount(unit)
    commonest = commonest_groups(groups, unit)
    order = rng.permutation(len(sizes))
    of_group = np.zeros((int(commonest.max(initial=0)) + 1, n_folds), dtype=np.intp).tolist()
    of_all, fold = [0] * n_folds, np.empty(len(sizes), dtype=np.intp)
    for one in order[np.argsort(-sizes[order], kind="stable")].tolist():
        filled, size = of_group[commonest[one]], int(sizes[one])
        taken = min(range(n_folds), key=lambda f, filled=filled: (filled[f], of_all[f]))  # type: ignore[misc]
        fold[one] = taken
        filled[taken] += size
        of_all[taken] += size
    return np.asarray(fold[unit])


def commonest_groups(groups: Rows, unit: Rows) -> Rows:
    """The group that most rows of each unit are of, numbered from 0 on; the lowest of several."""
    _, group = np.unique(groups, return_inverse=True)
    n_groups = int(group.max(initial=0)) + 1
    pairs, counts = np.unique(unit * n_groups + group, return_counts=True)
    commonest = np.empty(int(unit.max(initial=-1)) + 1, dtype=np.intp)
    ascending = np.lexsort((-pairs, counts))  # the last one that is written has the most rows
    commonest[pairs[ascending] // n_groups] = pairs[ascending] % n_groups
    return commonest


def consecutive_folds(units: Rows, n_folds: int) -> Rows:
    """A fold for each row, of consecutive units: in time, only the ends of a fold lie beside others."""
    _, unit = np.unique(units, return_inverse=True)
    ends = np.cumsum(np.bincount(unit))
    fold = np.minimum((ends - 1) * n_folds // max(int(ends[-1]), 1), n_folds - 1)
    return np.asarray(np.unique(fold, return_inverse=True)[1][unit])


def plain_folds(n_rows: int, n_folds: int, rng: Generator) -> Rows:
    """A fold for each row, by chance alone."""
    return np.asarray(rng.permutation(np.arange(n_rows) % n_folds))


def split_rows(
    n_rows: int, n_splits: int, seed: int, groups: Rows | None = None, units: Rows | None = None,
    *, in_order: bool = False,
) -> list[tuple[Rows, Rows]]:  # fmt: skip
    """(kept, left out) rows of each part of scikit-learn's shuffled folds; `groups` get equal shares if given.

    units : of rows that are not independent; parts are whole units then, and consecutive ones if they are `in_order`.
    """
    if units is not None:
        alike = np.zeros(n_rows, dtype=np.intp) if groups is None else groups
        rng = np.random.default_rng(seed)
        folds = consecutive_folds(units, n_splits) if in_order else deal_units(alike, units, n_splits, rng)
        return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]
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


def draw_units(groups: Rows, units: Rows, most: int | None, rng: Generator) -> Rows:
    """Sorted numbers of the labelled rows of some units, about `most` of them, with every group represented.

    Units come in any order until there is no room for the next. A group that none of them has gets its first unit,
    however large it is.
    """
    labelled = np.flatnonzero(groups >= 0)
    if most is None or most >= len(labelled):
        return labelled
    unit = np.unique(units[labelled], return_inverse=True)[1]
    order = rng.permutation(int(unit.max()) + 1)
    room = np.cumsum(np.bincount(unit)[order]) <= most
    drawn = np.zeros(len(order), dtype=bool)
    drawn[order[room]] = True
    place = np.argsort(order)  # of each unit
    for group in np.setdiff1d(groups[labelled], groups[labelled][drawn[unit]]):
        having = unit[groups[labelled] == group]
        drawn[having[place[having].argmin()]] = True
    return labelled[drawn[unit]]


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


def exchange_units(values: NDArray[Any], rows: Rows, units: Rows, rng: Generator) -> NDArray[Any]:
    """A copy of `values` in which units exchange what their `rows` have, and rows do so inside each unit.

    A unit gets the values of another one of about its size. If the two differ in size, values are repeated or left out,
    so that the unit has the other's shares of them as nearly as its size allows. Of units of one row each this is a
    plain permutation.
    """
    unit = np.unique(units[rows], return_inverse=True)[1]
    order = np.lexsort((rng.random(len(rows)), unit))  # units one after the other, their rows in any order
    sizes = np.bincount(unit)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    here, shuffled = rows[order], values.copy()
    for one, other in enumerate(partners(sizes, rng).tolist()):
        theirs = here[starts[other] : starts[other + 1]]
        shuffled[here[starts[one] : starts[one + 1]]] = values[theirs[np.arange(sizes[one]) % len(theirs)]]
    return shuffled


def partners(sizes: Rows, rng: Generator) -> Rows:
    """For each unit another one of about its size (or itself), a permutation: among units of one size, or of near ones.

    Units are sorted by size and cut where it doubles; a part of fewer than `FEWEST_PARTNERS` units is joined to the
    next smaller one.
    """
    order = np.lexsort((rng.random(len(sizes)), sizes))
    octave = np.floor(np.log2(sizes[order])).astype(np.intp)
    cuts = [0, *(np.flatnonzero(np.diff(octave)) + 1).tolist(), len(sizes)]
    for cut in cuts[-2:0:-1]:
        place = cuts.index(cut)
        if min(cuts[place + 1] - cut, cut - cuts[place - 1]) < FEWEST_PARTNERS:
            cuts.remove(cut)
    partner = np.empty(len(sizes), dtype=np.intp)
    for start, end in pairwise(cuts):
        partner[order[start:end]] = rng.permutation(order[start:end])
    return partner


def shuffle_inside(values: NDArray[Any], rows: Rows, units: Rows, rng: Generator) -> NDArray[Any]:
    """A copy of `values` in which the entries of `rows` are permuted inside each unit."""
    shuffled, chance = values.copy(), rng.random(len(rows))
    ordered, mixed = (rows[np.lexsort((second, units[rows]))] for second in (np.arange(len(rows)), chance))
    shuffled[ordered] = values[mixed]
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
