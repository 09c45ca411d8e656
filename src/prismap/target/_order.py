"""Rows whose order says something: rows that follow each other are alike, and blocks of them are units.

The profile is the features without what the target explains: R_i = x_i - mean of the class (or of near values) of row
i. Its correlation at lag k is

    rho_k = sum_i <R_i, R_{i+k}> / sum_i <R_i, R_i>,

which for rows in random order has mean near 0 and standard deviation 1 / sqrt(n d), with d = (tr C)^2 / tr C^2 the
effective number of dimensions and C the covariance of R. So a file that is sorted by class shows nothing. The
correlation has died at the first lag at which it is below a twentieth of rho_1, or within two standard deviations
of 0: that many rows are a block.

A file that is sorted by a feature is alike from row to row without any dependence, so that columns that rise or fall
throughout, in all or inside each class, are left out. So is a list of cases, such as all positions of a game: where
every column has few values and no two rows are equal, the order is not looked at.

Where rows come in runs (recordings of one person after another), the ends of blocks are at the jumps between runs:
the partition with the smallest sum of squares around the means of its runs, at the penalty per run that gives
as many runs as the length of blocks lets one expect (Jackson et al. 2005).

The order is beyond doubt where rows that follow each other are much alike, neighbours of the same unit know much more
of the target than others, and the target itself comes in runs although the file is not sorted by it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.stats import spearmanr

from prismap._util.arrays import Numbers, Rows
from prismap.target._copies import number_units
from prismap.target._kinds import Target
from prismap.target._suspicions import Difference, Suspicion, ask_rows, difference_of, misses, nearest_rows, profile


@dataclass(frozen=True)
class OrderRules:
    """When the order of rows says something.

    Attributes
    ----------
    correlation : rows that follow each other are alike from this correlation on,
    deviations : by so many standard deviations.
    died_at : the correlation has died at this share of its first value.
    sorted_share : rows are sorted by a column if so small a share of its steps go the other way.
    few_values : columns of so many values at most are answers.
    fewest_stretches : stretches that rows are cut into at least, however slowly they change.
    fewest_rows : fewer rows have no order that could be seen.
    """

    correlation: float = 0.1
    deviations: float = 6.0
    died_at: float = 0.05
    sorted_share: float = 0.01
    few_values: int = 10
    fewest_stretches: int = 6
    fewest_rows: int = 30


SEEN = OrderRules()


@dataclass(frozen=True)
class BeyondDoubt:
    """When the order is beyond doubt.

    Attributes
    ----------
    correlation : of rows that follow each other,
    deviations : by so many standard deviations.
    difference : so much more do rows of the same unit know of the target.
    disagreement : of the target with that of the next row at most, where chance is 1.
    """

    correlation: float = 0.3
    deviations: float = 10.0
    difference: float = 0.2
    disagreement: float = 0.5


SURE = BeyondDoubt()


@dataclass(frozen=True)
class JumpSearch:
    """How jumps between runs are looked for.

    Attributes
    ----------
    most_rows : in so many rows at most.
    longest_run : between runs of so many rows at most.
    directions : in so many leading directions.
    sample : rows that these directions are found with.
    least_jump : the squared distance across a jump, of that of two rows at random.
    """

    most_rows: int = 5_000
    longest_run: int = 40
    directions: int = 20
    sample: int = 2_000
    least_jump: float = 0.5


JUMPS = JumpSearch()


def order_dependence(X: Any, target: Target, rng: np.random.Generator, order: Any = None) -> Suspicion | None:
    """The order of the rows as a suspicion, with blocks or runs of rows as units; None if it says nothing.

    Parameters
    ----------
    X : (n, D) vectors, dense or csr.
    target : what is left out of the profile, and what neighbours in the file may know.
    rng : for samples of rows.
    order : (n,) times or positions, such as a column of dates; None for the order of the rows.
    """
    if not target.exists or X.shape[0] < SEEN.fewest_rows or is_list_of_cases(X):
        return None
    rows = np.arange(X.shape[0]) if order is None else np.argsort(np.asarray(order), kind="stable")
    features = profile(X)[rows]
    if not sp.issparse(features):
        features = features[:, ~sorted_columns(features, target.shown.groups[rows])]
    if not features.shape[1]:
        return None
    one = dependence_of(directions(features), target.shown.take(rows), rng)
    return None if one is None else replace(one, units=one.units[np.argsort(rows)])


def dependence_of(features: Numbers, target: Target, rng: np.random.Generator) -> Suspicion | None:
    """`order_dependence` of rows in their order."""
    correlations, deviation = autocorrelation(residuals(features, target))
    likeness, deviations = float(correlations[0]), float(correlations[0] / deviation)
    if likeness < SEEN.correlation or deviations < SEEN.deviations:
        return None
    length = min(block_length(correlations, deviation), len(features) // SEEN.fewest_stretches)
    units = blocks(len(features), length)
    difference = difference_in_order(features, units, target, rng)
    if not difference.matters:
        return None
    jumps = runs(features, length)
    if jumps is not None:
        units, difference = jumps, difference_in_order(features, jumps, target, rng)
    sure = (
        likeness >= SURE.correlation
        and deviations >= SURE.deviations
        and difference.by_units - difference.by_rows >= SURE.difference
        and comes_in_runs(target)
    )
    n_units = int(units.max()) + 1
    return Suspicion(None, units, n_units, likeness, deviations, difference, sure, in_order=jumps is None)


def is_list_of_cases(X: Any) -> bool:
    """Whether every column has few values and no two rows are equal."""
    if sp.issparse(X):
        return False
    X = np.asarray(X)
    return all(len(np.unique(column)) <= SEEN.few_values for column in X.T) and len(np.unique(X, axis=0)) == len(X)


def sorted_columns(features: Numbers, groups: Rows) -> NDArray[np.bool_]:
    """Columns that the rows of each group are sorted by, as they are in a file sorted in all, and constant columns."""
    rows = np.argsort(groups, kind="stable")
    steps = np.diff(features[rows], axis=0)[np.diff(groups[rows]) == 0]
    up, down = (steps > 0).sum(axis=0), (steps < 0).sum(axis=0)
    return np.asarray(np.minimum(up, down) <= SEEN.sorted_share * (up + down))


def comes_in_runs(target: Target) -> bool:
    """Whether the target is like that of the next row, although the rows are not sorted by it."""
    rows = target.labelled_rows
    if len(rows) < SEEN.fewest_rows or misses(target, rows[:-1], rows[1:, None]).mean() > SURE.disagreement:
        return False
    if target.codes is None:
        return abs(float(spearmanr(target.groups[rows], rows).statistic)) < 0.95
    codes = target.codes[rows]
    return int((codes[1:] != codes[:-1]).sum()) > 2 * (len(np.unique(codes)) - 1)


def time_blocks(order: Any, X: Any, target: Target | None = None) -> tuple[Rows, int]:
    """(units, length): blocks of rows that follow each other in `order`, and how many rows a block has.

    Blocks are so long that the correlation of the profile has died. Units are numbered in that order, so that the
    neighbours of a unit in time are those with the next numbers. Rows of the same moment are in the same block.

    Parameters
    ----------
    order : (n,) times or positions.
    X : (n, D) vectors, dense or csr.
    target : what is left out of the profile; without one, nothing is.
    """
    _, moments = np.unique(np.asarray(order), return_inverse=True)
    moments = moments.ravel()
    rows = np.argsort(moments, kind="stable")
    features = directions(profile(X))
    left = features if target is None or not target.exists else residuals(features, target.shown)
    correlations, deviation = autocorrelation(left[rows])
    length = block_length(correlations, deviation)
    units = np.empty(len(rows), dtype=np.intp)
    units[rows] = blocks(len(rows), length)
    of_moment = np.empty(int(moments.max()) + 1, dtype=np.intp)
    of_moment[moments[rows[::-1]]] = units[rows[::-1]]  # the block of the first row of each moment
    return np.unique(of_moment[moments], return_inverse=True)[1].ravel(), length


def directions(Z: Any) -> Numbers:
    """The rows in their leading directions, as many as matter: all of few columns."""
    if not sp.issparse(Z) and Z.shape[1] <= JUMPS.directions:
        return np.asarray(Z, dtype=np.float64)
    rng = np.random.default_rng(0)
    sample = Z[np.sort(rng.choice(Z.shape[0], min(JUMPS.sample, Z.shape[0]), replace=False))]
    sketch = rng.normal(size=(Z.shape[1], 2 * JUMPS.directions))
    for _ in range(3):
        sketch = np.linalg.qr(sample.T @ (sample @ sketch))[0]
    basis = sketch @ np.linalg.svd(sample @ sketch, full_matrices=False)[2].T[:, : JUMPS.directions]
    positions: Numbers = np.asarray(Z @ basis.astype(Z.dtype), dtype=np.float64)
    return np.asarray(positions - positions.mean(axis=0))


def residuals(features: Numbers, target: Target) -> Numbers:
    """Features without the mean of each group of the target."""
    groups = target.groups + 1
    sizes = np.maximum(np.bincount(groups), 1)
    means = np.stack([np.bincount(groups, column) / sizes for column in features.T], axis=1)
    return np.subtract(features, means[groups])


def autocorrelation(R: Numbers) -> tuple[Numbers, float]:
    """(rho_1 to rho_{n/2}, standard deviation of one of rows in random order)."""
    n_rows = len(R)
    length = next_fast_len(2 * n_rows, real=True)
    spectrum = sum(np.abs(rfft(column, length)) ** 2 for column in R.T)
    products = irfft(spectrum, length)[: max(n_rows // 2, 2)]
    covariance = R.T @ R
    dimensions = np.trace(covariance) ** 2 / max(float((covariance**2).sum()), 1e-300)
    return products[1:] / max(products[0], 1e-300), float(1 / np.sqrt(n_rows * max(dimensions, 1.0)))


def block_length(correlations: Numbers, deviation: float) -> int:
    """The first lag at which the correlation has died; 1 if it never lived."""
    if correlations[0] <= 2 * deviation:
        return 1
    dead = np.flatnonzero(correlations < max(SEEN.died_at * correlations[0], 2 * deviation))
    return int(dead[0]) + 1 if len(dead) else len(correlations) + 1


def blocks(n_rows: int, length: int) -> Rows:
    """Blocks of so many rows that follow each other, equally long as far as they can be.

    >>> blocks(7, 3).tolist()
    [0, 0, 0, 0, 1, 1, 1]
    """
    n_blocks = max(1, n_rows // max(length, 1))
    return np.arange(n_rows) * n_blocks // n_rows


def runs(features: Numbers, length: int) -> Rows | None:
    """Rows between jumps, as units; None if these are no jumps, as in a slow drift."""
    n_rows = len(features)
    n_runs = max(2, round(n_rows / max(length, 1)))
    if n_rows > JUMPS.most_rows or n_rows < 4 * length or length > JUMPS.longest_run:
        return None
    low, high = 0.0, float(((features - features.mean(axis=0)) ** 2).sum())
    units = np.zeros(n_rows, dtype=np.intp)
    for _ in range(12):
        penalty = (low + high) / 2
        units = cheapest_runs(features, penalty, 3 * length)
        n_present = int(units[-1]) + 1
        if abs(n_present - n_runs) <= n_runs // 50:
            break
        low, high = (penalty, high) if n_present > n_runs else (low, penalty)
    steps = (np.diff(features, axis=0) ** 2).sum(axis=1)[np.diff(units) > 0]
    at_random = 2 * features.var(axis=0).sum()
    return units if len(steps) and steps.mean() >= JUMPS.least_jump * at_random else None


def cheapest_runs(features: Numbers, penalty: float, longest: int) -> Rows:
    """Runs with the smallest sum of squares around their means plus a penalty for each (dynamic programming)."""
    n_rows = len(features)
    sums = np.vstack([np.zeros(features.shape[1]), np.cumsum(features, axis=0)])
    squares = np.concatenate([[0.0], np.cumsum((features**2).sum(axis=1))])
    best, last = np.zeros(n_rows + 1), np.zeros(n_rows + 1, dtype=np.intp)
    for end in range(1, n_rows + 1):
        starts = np.arange(max(0, end - longest), end)
        inside = ((sums[end] - sums[starts]) ** 2).sum(axis=1) / (end - starts)
        costs = best[starts] + squares[end] - squares[starts] - inside + penalty
        place = int(costs.argmin())
        best[end], last[end] = costs[place], starts[place]
    begins = np.zeros(n_rows, dtype=np.intp)
    end = n_rows
    while end > 0:
        end = int(last[end])
        begins[end] = 1
    return number_units(np.cumsum(begins))


def difference_in_order(features: Numbers, units: Rows, target: Target, rng: np.random.Generator) -> Difference:
    """How far neighbours miss the target, with rows of the same unit and without."""
    asking, asked = ask_rows(units, target, rng)
    return difference_of(units, target, asking, *nearest_rows(features, units, asking, asked))
