"""What columns of a table say about a target: whether they give it away, and whether they say anything at all.

*Leaks*: `leaking_columns`, and for two columns `prismap.relevance._pairs`. A row is predicted from the rows with the
same or the next value of the column, itself left out. *Gaps*: `telling_gaps`, where a column is missing. *Anything*:
`telling_columns`, by a chi-squared test of binned values, and a test of ranks. All are judged without a model of all
columns, and corrected for their number.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom, chi2, chi2_contingency, kruskal, ncx2, rankdata

from prismap.target import Target

#: Rows that are looked at, for a target and for clusters, and the fewest that are enough.
MOST_ROWS, FEWEST_ROWS = 2000, 20


@dataclass(frozen=True)
class LeakRules:
    """When a column gives the target away.

    Attributes
    ----------
    error : it alone errs this rarely,
    nrmse : or a number's nRMSE is this small,
    better_than_chance : and so many times more rarely than chance.
    """

    error: float = 0.02
    nrmse: float = 0.05
    better_than_chance: float = 10.0


LEAK = LeakRules()

#: How sure each finding must be, over all columns together.
ALPHA = 0.01


@dataclass(frozen=True)
class TellingRules:
    """When a column says something about the target, or is silent.

    Attributes
    ----------
    hint : a column is silent if it gives no hint at this level,
    weak : though a weak relation, of this Cohen's w,
    power : would with this chance.
    strong : Cohen's w from which on gaps are a relation that a reader should know of.
    most_bins : bins of a column's values.
    """

    hint: float = 0.05
    weak: float = 0.2
    power: float = 0.95
    strong: float = 0.3
    most_bins: int = 10


TELLING = TellingRules()


Columns = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True)
class Leak:
    """Columns that give the target away.

    Attributes
    ----------
    names : of the columns, one or two.
    error : by these alone, out of fold (nRMSE of a number).
    figure : what they give, in words.
    kind : "copy" of a single column, "pair" of two that do so only together, "gaps" of one whose missing values do.
    """

    names: tuple[str, ...]
    error: float
    figure: str
    kind: str = "copy"

    def __str__(self) -> str:
        named = " and ".join(map(repr, self.names))
        if self.kind == "gaps":
            return f"{self.figure}: the gaps of {named} predict the target. Are they there before the target is known?"
        if self.kind == "pair":
            return (
                f"Columns {named} together give {self.figure}, and neither does alone: was the target made of them? "
                "Then leave one of them out of the map."
            )
        return f"Column {named} alone gives {self.figure}: is it a copy of the target? Then leave it out of the map."


def screened_columns(columns: Columns, groups: NDArray[Any], most: int) -> dict[str, NDArray[np.float64]]:
    """The columns, at most so many, whose variance lies between groups of rows to the largest share.

    The share is the correlation ratio ``1 - var(within) / var(all)`` (Pearson 1905), of a category summed over its
    levels. A column that gives the groups away in whatever form has one near 1, so that of many columns few need a
    closer look.

    Parameters
    ----------
    columns : features by name, (n,) or (n, k).
    groups : the group of each row, -1 for none.
    most : how many columns to keep, in their order.
    """
    if len(columns) <= most:
        return dict(columns)
    rows = np.flatnonzero(groups >= 0)
    if not len(rows):
        return {}
    codes, sizes = groups[rows], np.bincount(groups[rows])
    shares = []
    for values in columns.values():
        block = np.asarray(values, dtype=np.float64)[rows].reshape(len(rows), -1)
        block = block - block.mean(axis=0)
        sums = np.stack([np.bincount(codes, weights=part, minlength=len(sizes)) for part in block.T])
        total = float((block**2).sum())
        shares.append(float((sums**2 / np.maximum(sizes, 1)).sum()) / total if total > 0 else 0.0)
    kept = set(np.argsort(-np.array(shares), kind="stable")[:most].tolist())
    return {name: values for place, (name, values) in enumerate(columns.items()) if place in kept}


def target_groups(target: Target, n_bins: int = 20) -> NDArray[np.intp]:
    """Groups of rows with a like target: the classes, or bins of a number; -1 where it is unknown."""
    if target.codes is not None:
        return target.codes
    known, groups = target.labelled_rows, np.full(len(target), -1, dtype=np.intp)
    groups[known] = binned(target.values[known], n_bins)
    return groups


def leaking_columns(columns: Columns, target: Target, *, seed: int = 0, n_columns: int | None = None) -> list[Leak]:
    """The columns that alone give the target away, the surest first.

    Parameters
    ----------
    columns : features by name, (n,) or (n, k); a column of several features is a category, one feature per level.
    target : of one column.
    n_columns : how many columns these were taken from; None for as many as there are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(3, size=200)
    >>> columns = {"noise": rng.normal(size=200), "code": 7.0 * y}
    >>> from prismap.target import make_target
    >>> [leak.names for leak in leaking_columns(columns, make_target(y, 200))]
    [('code',)]
    """
    rows = known_sample(target, seed)
    if len(rows) < FEWEST_ROWS:
        return []
    judge = class_leak if target.codes is not None else number_leak
    leaks = []
    for name, values in columns.items():
        value, ordered = as_one(values[rows])
        leak, luck = judge(name, value, target.values[rows], ordered)
        if leak is not None and luck * (n_columns or len(columns)) < ALPHA:
            leaks.append(leak)
    return sorted(leaks, key=lambda leak: leak.error)


def class_leak(name: str, value: NDArray[Any], y: NDArray[Any], ordered: bool) -> tuple[Leak | None, float]:
    """What a column gives away of classes, if that is nearly all, and how likely that is by chance."""
    chance = 1.0 - np.bincount(y).max() / len(y)
    error = float((loo_classes(value, y, ordered) != y).mean())
    perfect = error <= min(LEAK.error, chance / LEAK.better_than_chance)
    leak = Leak((name,), error, f"{100 * error:.1f} % error") if perfect else None
    return leak, float(binom.cdf(round(error * len(y)), len(y), chance))


def number_leak(name: str, value: NDArray[Any], y: NDArray[Any], ordered: bool) -> tuple[Leak | None, float]:
    """The same of a number."""
    error = float(np.sqrt(np.mean((loo_values(value, y, ordered) - y) ** 2)) / (y.std() or 1.0))
    leak = Leak((name,), error, f"an nRMSE of {error:.3f}") if error <= LEAK.nrmse else None
    return leak, float(beta.sf(1 - min(error, 1.0) ** 2, 0.5, (len(y) - 2) / 2))


def telling_gaps(gaps: Mapping[str, NDArray[np.bool_]], target: Target, *, n_columns: int | None = None) -> list[Leak]:
    """The columns whose missing values predict the target, and not a little (`TellingRules.strong`).

    Parameters
    ----------
    gaps : where each column is missing, (n,), by name.
    target : of one column.
    n_columns : how many columns these were taken from; None for as many as there are.
    """
    rows = target.labelled_rows
    groups = target_groups(target.take(rows), 5)
    leaks = []
    for name, gap in gaps.items():
        missing = gap[rows].astype(np.intp)
        table = np.zeros((2, int(groups.max()) + 1))
        np.add.at(table, (missing, groups), 1.0)
        table = table[:, table.sum(axis=0) > 0]
        if len(rows) < FEWEST_ROWS or (table.sum(axis=1) < 5).any() or table.shape[1] < 2:
            continue
        statistic, luck, *_ = chi2_contingency(table, correction=False)
        if luck * (n_columns or len(gaps)) < ALPHA and statistic >= TELLING.strong**2 * len(rows):
            leaks.append(_gap_leak(name, missing, target.take(rows)))
    return sorted(leaks, key=lambda leak: leak.error)


def _gap_leak(name: str, missing: NDArray[np.intp], target: Target) -> Leak:
    """How the target differs where a column is missing."""
    y = target.values
    if target.codes is None:
        error = float(np.sqrt(np.mean((loo_values(missing, y, False) - y) ** 2)) / (y.std() or 1.0))
        figure = (
            f"Where {name!r} is missing, the target is {y[missing == 1].mean():.3g} on average, and "
            f"{y[missing == 0].mean():.3g} elsewhere"
        )
        return Leak((name,), error, figure, "gaps")
    sizes = np.maximum(np.bincount(y), 1)
    shares = np.bincount(y, weights=missing) / sizes
    elsewhere = (missing.sum() - shares * sizes) / np.maximum(len(y) - sizes, 1)
    code = int(np.abs(shares - elsewhere).argmax())
    figure = (
        f"{name!r} is missing in {shares[code]:.0%} of the rows of {target.classes[code]} and in {elsewhere[code]:.0%} "
        "of the others"
    )
    return Leak((name,), float((loo_classes(missing, y, False) != y).mean()), figure, "gaps")


def telling_columns(
    columns: Columns, target: Target, *, seed: int = 0, n_columns: int | None = None
) -> dict[str, bool | None]:
    """Whether each column alone says anything about the target, in whatever form; parameters as `leaking_columns`.

    True if a test finds it, over all columns together. False if no test has a hint of it (at 5 %, for this column
    alone) though a weak relation would most probably give one (`TellingRules`). None if neither:
    nothing is known of the column.
    """
    rows = known_sample(target, seed)
    groups = np.unique(target_groups(target.take(rows), 5), return_inverse=True)[1]
    keep = np.bincount(groups)[groups] >= 5  # a class of fewer rows cannot be judged
    rows, groups = rows[keep], np.unique(groups[keep], return_inverse=True)[1]
    if len(rows) < FEWEST_ROWS or len(np.unique(groups)) < 2:
        return dict.fromkeys(columns, None)
    n_bins = int(np.clip(len(rows) / (5 * len(np.unique(groups))), 2, TELLING.most_bins))
    among = n_columns or len(columns)
    telling: dict[str, bool | None] = {}
    for name, values in columns.items():
        value, ordered = as_one(values[rows])
        luck, power = _dependence(binned(value, n_bins) if ordered else value, groups)
        trend = _trend(value, groups) if ordered else 1.0
        silent = min(luck, trend) > TELLING.hint and power >= TELLING.power
        telling[name] = True if 2 * min(luck, trend) * among < ALPHA else False if silent else None
    return telling


def loo_classes(value: NDArray[Any], y: NDArray[Any], ordered: bool) -> NDArray[Any]:
    """The class of each row by the other rows of the same value; of a lone value by the nearest one."""
    levels, place = np.unique(value, return_inverse=True)
    counts = np.zeros((len(levels), int(y.max()) + 1))
    np.add.at(counts, (place, y), 1.0)
    others = counts[place]
    others[np.arange(len(y)), y] -= 1.0
    lone = others.sum(axis=1) == 0
    others[lone] = counts[_next_level(levels)[place[lone]]] if ordered and len(levels) > 1 else counts.sum(axis=0)
    return np.asarray(others.argmax(axis=1))


def loo_values(value: NDArray[Any], y: NDArray[Any], ordered: bool) -> NDArray[Any]:
    """The target of each row by the mean of the others of the same value; of a lone value by its two neighbours."""
    levels, place = np.unique(value, return_inverse=True)
    sizes = np.bincount(place)
    sums = np.bincount(place, weights=y)
    lone = sizes[place] == 1
    guess = np.empty(len(y))
    guess[~lone] = (sums[place[~lone]] - y[~lone]) / (sizes[place[~lone]] - 1)
    if not ordered or len(levels) < 3:
        guess[lone] = y.mean()
        return guess
    means, at = sums / sizes, place[lone]
    # At the ends the line through the next two goes on.
    left = np.where(at == 0, 1, np.where(at == len(levels) - 1, at - 2, at - 1))
    right = np.where(at == 0, 2, np.where(at == len(levels) - 1, at - 1, at + 1))
    share = (levels[at] - levels[left]) / (levels[right] - levels[left])
    guess[lone] = means[left] + share * (means[right] - means[left])
    return guess


def _next_level(levels: NDArray[Any]) -> NDArray[Any]:
    """The number of the level nearest to each."""
    gaps = np.diff(levels)
    before, after = np.concatenate([[np.inf], gaps]), np.concatenate([gaps, [np.inf]])
    return np.arange(len(levels)) + np.where(after < before, 1, -1)


def known_sample(target: Target, seed: int) -> NDArray[Any]:
    return np.sort(np.random.default_rng(seed).permutation(target.labelled_rows)[:MOST_ROWS])


def as_one(values: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """A column as one array, and whether its values have an order: the levels of a category have none."""
    if values.ndim == 1 or values.shape[1] == 1:
        return np.ravel(values), True
    return np.unique(values, axis=0, return_inverse=True)[1].ravel(), False


def binned(value: NDArray[Any], n_bins: int) -> NDArray[Any]:
    """The number of the bin, of equally many rows each; equal values share a bin, however many they are."""
    if len(np.unique(value)) <= n_bins:
        return np.unique(value, return_inverse=True)[1]
    # Quantiles as edges would put all rows of a column that is mostly 0 into one bin.
    share = (rankdata(value) - 0.5) / len(value)
    return np.unique((share * n_bins).astype(np.intp), return_inverse=True)[1]


def _dependence(first: NDArray[Any], second: NDArray[Any]) -> tuple[float, float]:
    """How likely two codings are so dependent by chance, and the power of that test for a weak relation.

    The chi-squared statistic of n rows has about the noncentrality ``n w^2`` (Cohen 1988, sec. 7.2).
    """
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(table, (first, second), 1.0)
    table = table[table.sum(axis=1) > 0]
    if len(table) < 2:
        return 1.0, 0.0
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    power = ncx2.sf(chi2.isf(TELLING.hint, freedom), freedom, table.sum() * TELLING.weak**2)
    return float(chi2_contingency(table)[1]), float(power)


def _trend(value: NDArray[Any], groups: NDArray[Any]) -> float:
    """How likely chance makes the ranks of a column differ so much between groups (Kruskal & Wallis 1952)."""
    if value.min() == value.max():
        return 1.0
    return float(kruskal(*(value[groups == code] for code in np.unique(groups))).pvalue)
