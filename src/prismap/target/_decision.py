"""Whether a target is classes or a quantity, decided by its values and by the rows that have them.

Of many whole numbers the rows decide: do those that lie close together have values that lie close together? The names
of classes may be exchanged at will, so a quantity shows by comparison with the same rows under exchanged values: where
neighbours differ, they differ by less than exchanged values would.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from prismap._util.missing import mean_filled
from prismap.target._labels import label_array, missing_mask

#: So many different whole numbers are few enough for classes, whatever their order: digits, months, stars.
FEW_VALUES = 12
#: Whole numbers with more different values than this, and fewer than five rows each, are quantities if nothing is known
#: of the rows.
MANY_VALUES = 50
#: A quantity: unequal neighbours differ by less than this share of what exchanged values would, by so many deviations.
ORDERED_RATIO, ORDERED_DEVIATIONS = 0.8, 2.5


@dataclass(frozen=True)
class TargetDecision:
    """What a target was taken for ("class" or "real"), why, and what to say to have it otherwise."""

    kind: str
    reason: str
    certain: bool = False
    """Whether it could be nothing else: words, or two values."""

    @property
    def way_out(self) -> str | None:
        """How to overrule it; None if that makes no sense."""
        if self.certain:
            return None
        return (
            "target='class' takes its values as classes"
            if self.kind == "real"
            else "target='real' takes it as a quantity"
        )

    def __str__(self) -> str:
        taken = "a quantity" if self.kind == "real" else "classes"
        return f"the target is taken as {taken}: {self.reason}" + (f" ({self.way_out})" if self.way_out else "")


def guess_target(values: Any, X: Any = None, data: str = "vectors") -> str:
    """ "class" or "real".

    >>> guess_target(np.array([0.5, 1.25, 3.0])), guess_target(np.array([1, 2, 2])), guess_target(np.array(["a"]))
    ('real', 'class', 'class')
    """
    return decide_target(values, X, data).kind


def decide_target(values: Any, X: Any = None, data: str = "vectors") -> TargetDecision:
    """What a target is, with the reason.

    Text and booleans are classes; numbers with fractions are a quantity. Whole numbers are classes if they are few, and
    a quantity if neighbouring rows of `X` (vectors, or a matrix of pairs as `data` says) have neighbouring values; if
    that cannot be determined, by how many there are and how they fill their range.
    """
    values = label_array(values)
    rows = np.flatnonzero(~missing_mask(values))
    known = values[rows]
    if known.dtype.kind == "O" and all(_is_plain_number(value) for value in known):
        known = known.astype(np.float64)
    if known.dtype.kind not in "iuf":
        return TargetDecision("class", "its values are words", certain=True)
    if known.dtype.kind == "f" and not np.array_equal(known, np.round(known)):
        return TargetDecision("real", "its values have fractions")
    levels = np.unique(known)
    if len(levels) < 3:
        return TargetDecision("class", f"it has {len(levels)} different values", certain=True)
    if len(levels) <= FEW_VALUES:
        return TargetDecision("class", f"it has {len(levels)} different whole numbers, few enough for classes")
    return _decide_whole(values, known, levels, rows, X, data)


def _decide_whole(
    values: NDArray[Any], known: NDArray[Any], levels: NDArray[Any], rows: NDArray[np.intp], X: Any, data: str
) -> TargetDecision:
    """The decision on many whole numbers: by their pattern, their order among neighbours, and their number."""
    low, high = int(levels[0]), int(levels[-1])
    many = f"it has {len(levels)} different whole numbers"
    gaps = np.array([int(above) - int(below) for below, above in pairwise(levels)], dtype=object)
    step = int(np.gcd.reduce(gaps))
    steps = (high - low) // step
    if sorted(gaps)[len(gaps) // 2] > 10 * step and len(known) >= 3 * len(levels):
        return TargetDecision("class", f"{many} that leave out most of their range and repeat, as codes do")
    if data == "objects":
        X = None  # looking at neighbours would cost evaluations
    if X is not None:
        numbers = np.zeros(len(values))
        numbers[rows] = known
        ratio, deviations = order_of_values(X, numbers, rows, data)
        if ratio < ORDERED_RATIO and deviations > ORDERED_DEVIATIONS:
            return TargetDecision("real", f"{many}, and neighbouring rows have neighbouring values")
    numbered = low in (0, 1) and steps + 1 == len(levels)
    if X is not None and numbered:
        return TargetDecision(
            "class", f"{many} from {low} to {high}, and neighbouring rows do not have neighbouring values"
        )
    if len(levels) > MANY_VALUES and len(known) < 5 * len(levels):
        return TargetDecision("real", f"{many} with few rows each")
    if low > 1 and 2 * len(levels) > steps:
        return TargetDecision("real", f"{many} that fill the range from {low} to {high}")
    return TargetDecision("class", f"{many}, each with several rows")


def _is_plain_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


# --- order ------------------------------------------------------------------------------------------------------------

#: Rows that are looked at, and operations that may be spent on them.
MOST_ROWS, MOST_OPERATIONS = 1000, 10**10
NEIGHBORS = 5
EXCHANGES = 50


def order_of_values(
    X: Any, values: NDArray[Any], rows: NDArray[np.intp] | None = None, data: str = "vectors", seed: int = 0
) -> tuple[float, float]:
    """(ratio, deviations): how much nearer unequal neighbours are in value than after an exchange of the values.

    Only `rows` count, or a draw of them: those whose value is known.
    `ratio` is their mean difference in rank over that of exchanged values (1 for names, towards 0 for a quantity);
    `deviations` says by how many standard deviations of the exchanges it is lower.
    """
    rng = np.random.default_rng(seed)
    rows = np.arange(len(values)) if rows is None else rows
    n_columns = X.shape[1] if data == "vectors" else 1
    most = int(np.clip(np.sqrt(MOST_OPERATIONS / max(n_columns, 1)), 100, MOST_ROWS))
    if len(rows) > most:
        rows = np.sort(rng.choice(rows, most, replace=False))
    levels, codes = np.unique(values[rows], return_inverse=True)
    near = _neighbors(X, rows, data)
    here, there = np.repeat(codes, near.shape[1]), codes[near.ravel()]
    unequal = here != there
    if unequal.sum() < 20 or len(levels) < 3:
        return 1.0, 0.0
    here, there = here[unequal], there[unequal]
    sizes = np.bincount(codes)
    orders = [np.arange(len(levels)), *(rng.permutation(len(levels)) for _ in range(EXCHANGES))]
    actual, *exchanged = (_mean_rank_difference(here, there, sizes, order) for order in orders)
    usual, spread = float(np.mean(exchanged)), max(float(np.std(exchanged)), np.finfo(float).tiny)
    return actual / usual, (usual - actual) / spread


def _mean_rank_difference(
    here: NDArray[np.intp], there: NDArray[np.intp], sizes: NDArray[np.intp], order: NDArray[np.intp]
) -> float:
    """Of pairs of rows, with the values in this order. Ranks among all rows: a few extreme values do not decide."""
    ranks = np.empty(len(order))
    ranks[order] = np.cumsum(sizes[order]) - sizes[order] / 2
    return float(np.abs(ranks[here] - ranks[there]).mean())


def _neighbors(X: Any, rows: NDArray[np.intp], data: str) -> NDArray[np.intp]:
    """The nearest of `rows` to each of them, by their number within `rows`."""
    n_neighbors = min(NEIGHBORS, len(rows) - 1)
    if data == "vectors":
        part = X[rows] if sp.issparse(X) else mean_filled(np.asarray(X)[rows].astype(np.float64))
        if not sp.issparse(part):
            spread = part.std(axis=0)
            part = part / np.where(spread > 0, spread, 1.0)
        return np.asarray(NearestNeighbors(n_neighbors=n_neighbors).fit(part).kneighbors(return_distance=False))
    D = np.asarray(X)[np.ix_(rows, rows)].astype(np.float64)
    if data == "similarity":
        diagonal = np.diag(D)
        D = diagonal[:, None] + diagonal[None] - 2 * D
    np.fill_diagonal(D, np.inf)
    return np.argsort(D, axis=1, kind="stable")[:, :n_neighbors]
