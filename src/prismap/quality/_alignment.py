"""Do the columns that predict the target shape the map? Structural importance alignment, after Aumon et al. (2025).

A column matters for the target by what permuting it costs the vote of the nearest rows in the data, and for the map by
what permuting it costs the agreement of neighbours in the data with those on the map,

    c_f = error(X with column f permuted) - error(X),    s_f = Q(X, Y) - Q(X with column f permuted, Y),

each with ten neighbours. Their alignment is Kendall's rank correlation of c and s over the columns. A map that was made
without a target follows the columns that vary most, a supervised one those that matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import kendalltau

from prismap._util.random import as_generator
from prismap._util.search import smallest
from prismap.quality._estimates import Estimate
from prismap.quality._votes import VOTERS, vote_of_lists

#: Its name among the measures of a report.
ALIGNMENT = "importance alignment"


@dataclass(frozen=True)
class AlignmentRules:
    """How much is looked at.

    Attributes
    ----------
    fewest_columns : columns from which on a rank correlation means something.
    most_columns : columns that are looked at.
    fewest_rows : rows from which on neighbours say something of the target.
    most_rows : rows that are looked at.
    """

    fewest_columns: int = 6
    most_columns: int = 200
    fewest_rows: int = 30
    most_rows: int = 500


RULES = AlignmentRules()


def importance_alignment(X: Any, Y: Any, y: Any, *, random_state: Any = 0) -> Estimate | None:
    """Kendall's rank correlation of what columns say about a target and how far they shape a map; None if too few.

    Parameters
    ----------
    X : (n, d) rows, compared by Euclidean distances
    Y : positions of the same rows
    y : codes of classes, or numbers; rows with a code below 0 or NaN are left out
    random_state : for the permutations, and for the sample of more than 500 rows or 200 columns

    Returns
    -------
    Estimate, whose spread is the standard deviation of the correlation for unrelated importances, or None with fewer
    than 6 columns or 30 rows, or where no column matters.

    References
    ----------
    A. Aumon et al. (2025), Random forest autoencoders for guided representation learning. (They name Kendall's
    correlation of these importances, with several measures of structure; here it is the share of neighbours kept.)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 6)), np.repeat([0, 1], 30)
    >>> X[:, 0] += 4 * y
    >>> -1 <= importance_alignment(X, X[:, :2], y) <= 1
    True
    """
    X, Y, y, rng = np.asarray(X, dtype=np.float64), np.asarray(Y), np.asarray(y), as_generator(random_state)
    rows = np.flatnonzero(np.isfinite(y) if y.dtype.kind == "f" else y >= 0)
    if len(rows) > RULES.most_rows:
        rows = np.sort(rng.choice(rows, RULES.most_rows, replace=False))
    columns = np.flatnonzero(np.ptp(X[rows], axis=0) > 0) if len(rows) else np.empty(0, dtype=np.intp)
    if len(columns) > RULES.most_columns:
        columns = np.sort(rng.choice(columns, RULES.most_columns, replace=False))
    if len(rows) < RULES.fewest_rows or len(columns) < RULES.fewest_columns:
        return None
    for_target, for_map = importances(X[np.ix_(rows, columns)], Y[rows], y[rows], rng)
    if not np.ptp(for_target) or not np.ptp(for_map):
        return None
    d = len(columns)
    return Estimate(
        float(kendalltau(for_target, for_map).statistic), float(np.sqrt(2 * (2 * d + 5) / (9 * d * (d - 1))))
    )


def alignment_measure(X: Any, Y: Any, y: Any, *, random_state: Any = 0) -> dict[str, Estimate]:
    """`importance_alignment` as a measure of a report, for the first of several targets.

    Parameters
    ----------
    X, Y, y, random_state : as for `importance_alignment`

    Returns
    -------
    dict : one Estimate by its name, or nothing if it is not known.

    Examples
    --------
    >>> alignment_measure(np.zeros((4, 2)), np.zeros((4, 2)), np.array([0, 0, 1, 1]))
    {}
    """
    alignment = importance_alignment(X, Y, y[:, 0] if y.ndim == 2 else y, random_state=random_state)
    return {} if alignment is None else {ALIGNMENT: alignment}


def importances(X: np.ndarray, Y: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """c and s of the module's formula for each column."""
    D = _squares(X)
    on_map = _nearest(_squares(Y))
    member = np.zeros((len(Y), len(Y)), dtype=bool)
    np.put_along_axis(member, on_map, True, axis=1)

    def missed_and_kept(D: np.ndarray) -> tuple[float, float]:
        near = _nearest(D)
        return _miss(near, y), float(np.take_along_axis(member, near, axis=1).mean())

    error, kept = missed_and_kept(D)
    figures = np.empty((X.shape[1], 2))
    for f, column in enumerate(X.T):
        mixed = rng.permutation(column)
        # Distances differ in one term of their sum.
        figures[f] = missed_and_kept(D - np.square(column[:, None] - column) + np.square(mixed[:, None] - mixed))
    return figures[:, 0] - error, kept - figures[:, 1]


def _miss(near: np.ndarray, y: np.ndarray) -> float:
    """How far the nearest rows miss the target: share of wrong votes, or squared error of their mean over variance."""
    if y.dtype.kind == "f":
        return float(np.square(y[near].mean(axis=1) - y).mean() / y.var())
    return 1.0 - float(vote_of_lists(y[near], int(y.max()) + 1).right(y).mean())


def _squares(X: np.ndarray) -> np.ndarray:
    norms = np.square(X).sum(axis=1)
    D = np.asarray(norms[:, None] + norms - 2 * X @ X.T)
    np.fill_diagonal(D, np.inf)
    return D


def _nearest(D: np.ndarray) -> np.ndarray:
    return smallest(D, VOTERS)[1]
