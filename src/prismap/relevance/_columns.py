"""Which columns of a table matter: for a map, for its clusters, and for a target.

*For a map*: `column_relevance`, one measure for pages and the command line.

*For a target*: `leaking_columns`, whether one alone gives it away, and `telling_columns`, whether it says anything at
all. Both are judged without a model. A row is predicted from the rows with the same or the next value of the column,
itself left out; dependence is a chi-squared test of binned values. Figures are corrected for the number of columns.

*For clusters*: `explained_clusters`. A column sets a cluster apart if it hardly varies inside: the statistic is
``1 - var(inside) / var(all)``, of a category summed over its levels. What random groups of the same size reach in their
best column is the threshold, so the number of columns is accounted for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom, chi2_contingency

from prismap.relevance._features import FeatureRelevance
from prismap.target import Target

#: Neighbourhoods that are judged; each looks at all rows.
N_SAMPLES = 1000
#: Rows that are looked at, and the fewest that are enough.
MOST_ROWS, FEWEST_ROWS = 2000, 20
#: A column gives the target away if it alone errs this rarely, ten times more rarely than chance.
LEAK_ERROR, LEAK_NRMSE, BETTER_THAN_CHANCE = 0.02, 0.05, 10.0
#: How sure each finding must be, over all columns together.
ALPHA = 0.01
MOST_BINS = 10
#: Random groups that a column is compared with, and how narrow it must be to be named.
N_RANDOM, NARROW = 199, 0.5
#: Share of the values at either end that are drawn in, of columns with more different values than so many.
TAIL, FEW_VALUES = 0.02, 10

Columns = Mapping[str, NDArray[np.float64]]


# --- for a map --------------------------------------------------------------------------------------------------------


def column_relevance(columns: Mapping[str, Any], Y: Any, *, n_neighbors: int = 10, random_state: Any = 0) -> Any:
    """The relevance of the columns of a table, numbers, dates and texts, for a map of its rows.

    Missing numbers are taken as the column's median. Texts are compared by their level (equal, or not). Texts with a
    value of their own for most rows, such as names, are left out.

    Parameters
    ----------
    columns : dict of arrays by name
    Y : (n, 2) positions of the rows
    n_neighbors : int, default=10
    random_state : for the permuted columns

    Returns
    -------
    FeatureRelevance or None : a "forward" one, whose `feature_names_in_` are the columns that could be judged; None if
        there are none.

    Examples
    --------
    >>> Y = np.random.default_rng(0).normal(size=(60, 2))
    >>> relevance = column_relevance({"x": Y[:, 0], "noise": np.random.default_rng(1).normal(size=60)}, Y)
    >>> str(relevance.feature_names_in_[relevance.relevance_.argmax()])
    'x'
    """
    judged = {name: numbers for name, values in columns.items() if (numbers := column_numbers(values)) is not None}
    if not judged or len(Y) < FEWEST_ROWS:
        return None
    model = FeatureRelevance(
        "forward", n_neighbors=min(n_neighbors, (len(Y) - 1) // 2), n_samples=N_SAMPLES, random_state=random_state
    )
    model.fit(np.column_stack(list(judged.values())), Y)
    model.feature_names_in_ = np.array(list(judged), dtype=object)
    return model


def column_numbers(values: Any) -> np.ndarray | None:
    """A column as numbers that tell rows apart as the column does; None where it names rows or is empty."""
    array = np.asarray(values)
    if array.dtype.kind == "M":
        array = np.where(np.isnat(array), np.nan, array.astype("datetime64[us]").astype(np.int64).astype(np.float64))
    if array.dtype.kind in "fiub":
        numbers = array.astype(np.float64)
        known = np.isfinite(numbers)
        return np.where(known, numbers, np.median(numbers[known])) if known.any() else None
    levels, codes = np.unique([str(value) for value in array.tolist()], return_inverse=True)
    return codes.astype(np.float64) if len(levels) <= max(30, len(array) / 2) else None


# --- for a target -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Leak:
    """A column that alone gives the target away, with its leave-one-out error (nRMSE of a number), also in words."""

    name: str
    error: float
    figure: str

    def __str__(self) -> str:
        return (
            f"Column {self.name!r} alone gives {self.figure}: is it a copy of the target? Then leave it out of the map."
        )


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
    groups[known] = _binned(target.values[known], n_bins)
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
    >>> [leak.name for leak in leaking_columns(columns, make_target(y, 200))]
    ['code']
    """
    rows = _known_sample(target, seed)
    if len(rows) < FEWEST_ROWS:
        return []
    judge = class_leak if target.codes is not None else number_leak
    leaks = []
    for name, values in columns.items():
        value, ordered = _as_one(values[rows])
        leak, luck = judge(name, value, target.values[rows], ordered)
        if leak is not None and luck * (n_columns or len(columns)) < ALPHA:
            leaks.append(leak)
    return sorted(leaks, key=lambda leak: leak.error)


def class_leak(name: str, value: NDArray[Any], y: NDArray[Any], ordered: bool) -> tuple[Leak | None, float]:
    """What a column gives away of classes, if that is nearly all, and how likely that is by chance."""
    chance = 1.0 - np.bincount(y).max() / len(y)
    error = float((loo_classes(value, y, ordered) != y).mean())
    perfect = error <= min(LEAK_ERROR, chance / BETTER_THAN_CHANCE)
    leak = Leak(name, error, f"{100 * error:.1f} % error") if perfect else None
    return leak, float(binom.cdf(round(error * len(y)), len(y), chance))


def number_leak(name: str, value: NDArray[Any], y: NDArray[Any], ordered: bool) -> tuple[Leak | None, float]:
    """The same of a number."""
    error = float(np.sqrt(np.mean((loo_values(value, y, ordered) - y) ** 2)) / (y.std() or 1.0))
    leak = Leak(name, error, f"an nRMSE of {error:.3f}") if error <= LEAK_NRMSE else None
    return leak, float(beta.sf(1 - min(error, 1.0) ** 2, 0.5, (len(y) - 2) / 2))


def telling_columns(
    columns: Columns, target: Target, *, seed: int = 0, n_columns: int | None = None
) -> dict[str, bool]:
    """Whether each column alone says anything about the target, in whatever form; parameters as `leaking_columns`."""
    rows = _known_sample(target, seed)
    groups = np.unique(target_groups(target.take(rows), 5), return_inverse=True)[1]
    keep = np.bincount(groups)[groups] >= 5  # a class of fewer rows cannot be judged
    rows, groups = rows[keep], np.unique(groups[keep], return_inverse=True)[1]
    if len(rows) < FEWEST_ROWS or len(np.unique(groups)) < 2:
        return dict.fromkeys(columns, False)
    n_bins = int(np.clip(len(rows) / (5 * len(np.unique(groups))), 2, MOST_BINS))
    telling, among = {}, n_columns or len(columns)
    for name, values in columns.items():
        value, ordered = _as_one(values[rows])
        telling[name] = _dependence(_binned(value, n_bins) if ordered else value, groups) * among < ALPHA
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


def _known_sample(target: Target, seed: int) -> NDArray[Any]:
    return np.sort(np.random.default_rng(seed).permutation(target.labelled_rows)[:MOST_ROWS])


def _as_one(values: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """A column as one array, and whether its values have an order: the levels of a category have none."""
    if values.ndim == 1 or values.shape[1] == 1:
        return np.ravel(values), True
    return np.unique(values, axis=0, return_inverse=True)[1].ravel(), False


def _binned(value: NDArray[Any], n_bins: int) -> NDArray[Any]:
    """The number of the quantile bin; the values themselves if they are few."""
    if len(np.unique(value)) <= n_bins:
        return np.unique(value, return_inverse=True)[1]
    edges = np.unique(np.quantile(value, np.linspace(0, 1, n_bins + 1)[1:-1]))
    return np.searchsorted(edges, value, side="right")


def _dependence(first: NDArray[Any], second: NDArray[Any]) -> float:
    """How likely two codings are so dependent by chance."""
    table = np.zeros((int(first.max()) + 1, int(second.max()) + 1))
    np.add.at(table, (first, second), 1.0)
    table = table[table.sum(axis=1) > 0]
    return 1.0 if len(table) < 2 else float(chi2_contingency(table)[1])


# --- for the clusters of a map ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExplainedCluster:
    """A cluster of a map: the numbers of its rows, and the columns that set it apart, the narrowest first."""

    rows: NDArray[np.intp]
    columns: dict[str, float]
    share: float
    """How much of the map it is."""


def sampled(n_rows: int, seed: int) -> NDArray[np.intp]:
    """The rows that are looked at."""
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:MOST_ROWS])


def drawn_in(block: NDArray[Any]) -> NDArray[Any]:
    """A column of numbers (n, 1) without its extremes: a few of them would make it narrow nearly everywhere."""
    if block.shape[1] > 1 or len(np.unique(block)) <= FEW_VALUES:
        return block
    low = np.quantile(block, TAIL, method="higher")
    return np.asarray(np.clip(block, low, np.quantile(block, 1 - TAIL, method="lower")))


def narrowness(X: NDArray[Any], groups: NDArray[Any], first: NDArray[Any]) -> NDArray[Any]:
    """``1 - var(inside) / var(all)`` of each column inside groups of rows, (m, columns); 0 of columns that do not vary.

    X : (n, k) centred features. groups : (m, rows) numbers of rows. first : the first feature of each column.
    """
    member = np.zeros((len(groups), len(X)))
    np.put_along_axis(member, groups, 1.0 / groups.shape[1], axis=1)
    inside = np.add.reduceat(member @ np.square(X) - np.square(member @ X), first, axis=1)
    overall = np.add.reduceat(X.var(axis=0), first)
    constant = overall == 0
    return np.where(constant, 0.0, 1.0 - inside / np.where(constant, 1.0, overall))


def explained_clusters(
    labels: NDArray[np.intp], columns: Mapping[str, NDArray[Any]], *, seed: int = 0
) -> list[ExplainedCluster]:
    """The clusters of a map with the columns that set each apart; none if there is only one.

    Parameters
    ----------
    labels : the cluster of each row, -1 for none (`prismap.quality.find_clusters`)
    columns : (n,) or (n, k) features of the same rows, by name
    seed : of the random groups, and of the sample of more than 2,000 rows
    """
    n_rows, n_clusters = len(labels), int(labels.max(initial=-1)) + 1
    if n_clusters < 2 or not columns:
        return []
    names, among = list(columns), sampled(n_rows, seed)
    blocks = [np.asarray(columns[name], dtype=np.float64).reshape(n_rows, -1)[among] for name in names]
    blocks = [drawn_in(block) for block in blocks]
    first = np.concatenate([[0], np.cumsum([block.shape[1] for block in blocks])])[:-1]
    X = np.hstack([block - block.mean(axis=0) for block in blocks])
    orders, clusters = np.random.default_rng(seed).random((N_RANDOM, len(X))).argsort(axis=1), []
    for label in range(n_clusters):
        rows, inside = np.flatnonzero(labels == label), np.flatnonzero(labels[among] == label)
        if not len(inside):
            continue
        score, *null = narrowness(X, np.vstack([inside, orders[:, : len(inside)]]), first)
        order = [j for j in np.argsort(-score, kind="stable") if score[j] > max(np.max(null), NARROW)]
        clusters.append(ExplainedCluster(rows, {names[j]: float(score[j]) for j in order}, len(rows) / n_rows))
    return clusters
