"""Do the neighbours' votes go with the target, and do the features? Tests for effects that an error does not show.

*Votes.* All that they say is used, and not only which class they name.

For judged rows with vote shares V_i (of classes, or a number that is predicted) and true ones T_i (an indicator of each
class, or the number), ``S = sum_i <V_i - mean V, T_i - mean T>``. If the target has nothing to do with the rows, its
values might as well be permuted between independent units. S has mean 0 then, and of independent rows the variance
``tr(V'V T'T) / (n - 1)`` of centred V and T (Hoeffding 1951); of units it is that of permutations between them. The
judged rows are not on the map, so that nothing of T is in V. If the rows have levels of a column of no interest, V and
T are centred and permuted inside each of them: what the level tells of the target is not the map's.

*Power.* Let a share `STATED` of rows and of their neighbours have the class of a hidden group, and all others one by
chance. Then S is ``sqrt(n) l^2 tr M / sqrt(a tr M^2)`` standard deviations above 0 on average, with l = `STATED`, M the
covariance of T and ``a = l^2 + (1 - l^2) / k`` for k voters. With 0.4 and two equal classes, about a third of the error
by chance is gone; for a number it is an R^2 of 0.16.

Where seven of ten neighbours have a row's class, it makes no difference for an error whether it was six or ten of them.
Here it does, so that weak relations are found with fewer rows.

*Features.* With the ranks of the columns and of a target, of classes of their indicators, ``H_j = sum_c r_jc^2`` sums
the squared correlations (of two classes it is the statistic of Kruskal and Wallis 1952, of a number Spearman's
correlation, but for factors). The largest H_j finds an effect in one column, their sum one that is spread over many.
Both are held against permutations of the target between independent units, so that the chance is exact however columns
are distributed; permutations end as soon as `ENOUGH` of them are as good (Besag & Clifford 1991). Of the two chances
the smaller one counts, twice. Of two columns that predict the target only together this test knows nothing: that is for
the posterior (`knows_target` in the curve of the supervision).

*Units.* Does a map tell units apart, or the samples inside a unit? Where the target varies inside units, both are
asked. With means V_u and T_u in unit u of n_u rows:

- *between* ``sum_u n_u <V_u - mean V, T_u - mean T>``, with targets permuted between units of about equal size;
- *inside* ``sum_i <V_i - V_u(i), T_i - T_u(i)>``, with targets permuted inside each unit.

A map of patients can tell the ill from the healthy without telling good days from bad ones, and the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import norm, rankdata

from prismap._util.arrays import Numbers, Rows
from prismap.quality._votes import VOTERS
from prismap.target import Target

#: The size of a relation that must have been seen before its absence is stated.
STATED = 0.4
#: Permutations of units: the standard deviation of as many is known to 4 %.
N_PERMUTATIONS = 400
#: Permutations of the target against columns at most, and how many as good as the target itself are enough to stop.
MOST_PERMUTATIONS, ENOUGH = 4000, 10
#: Rows that are looked at, and products of a permutation: of more columns the ones of the largest variance.
MOST_ROWS, MOST_PRODUCTS = 1000, 2_000_000


@dataclass(frozen=True)
class Agreement:
    """How far votes and target go together.

    Attributes
    ----------
    correlation : S over its largest possible value for these V and T, from -1 to 1
    deviations : S in standard deviations that it has for permuted targets
    expected : what that would be, on average, for a relation of the stated size
    """

    correlation: float
    deviations: float
    expected: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """Plain numbers for JSON."""
        return {name: float(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, float]) -> Agreement:
        """The inverse of `to_dict`."""
        return cls(stored["correlation"], stored["deviations"], stored.get("expected", 0.0))


def agreement(V: Numbers, T: Numbers, target: Target, rng: np.random.Generator, doubled: float = 1.0) -> Agreement:
    """The `Agreement` of votes V (n, columns) and what is true T (n, columns), of rows with the units of a target.

    doubled : by how much the variance is larger, because judged rows vote on others that are judged: every pair of them
        counts twice. 1 if none of them does, and 2 at most, if all do.
    """
    V, T = (centred(part, target) for part in (V, T))
    S, size = float((V * T).sum()), float(np.sqrt(np.square(V).sum() * np.square(T).sum()))
    if size == 0 or len(V) < 2:
        return Agreement(0.0, 0.0)
    by_chance, deviation = 0.0, 0.0
    if target.independent:
        deviation = float(np.sqrt(sum(variance(V[rows], T[rows]) for rows in rows_of_levels(target))))
    else:
        permuted = [(V * T[target.permuted_rows(rng)]).sum() for _ in range(N_PERMUTATIONS)]
        # Units of about one size exchange their targets: if these go with the size, it is so by chance, too.
        by_chance, deviation = float(np.mean(permuted)), float(np.std(permuted))
    deviation *= np.sqrt(doubled)
    expected = expected_deviations(T, target.n_units) / np.sqrt(doubled)
    return Agreement(S / size, (S - by_chance) / deviation if deviation > 0 else 0.0, expected)


def variance(V: Numbers, T: Numbers) -> float:
    """The variance of S of independent rows, whose centred V and T these are, over all permutations of T."""
    return float(((V.T @ V) * (T.T @ T)).sum() / max(len(V) - 1, 1))


def rows_of_levels(target: Target) -> list[Any]:
    """The rows of each level of a column of no interest, among which targets are permuted; all rows without one."""
    if target.n_levels < 2:
        return [slice(None)]
    return [np.flatnonzero(target.levels == level) for level in np.unique(target.levels)]


def centred(values: Numbers, target: Target) -> Numbers:
    """Values without their mean; where the target has levels, without that of the level: it is of no interest."""
    values = np.array(values, dtype=np.float64)
    for rows in rows_of_levels(target):
        values[rows] -= values[rows].mean(axis=0)
    return values


def expected_deviations(T: Numbers, n_units: int) -> float:
    """The deviations of a relation of the stated size, for centred T and so many independent units."""
    M, seen = T.T @ T / len(T), STATED**2
    a = seen + (1 - seen) / VOTERS
    return float(np.sqrt(n_units) * seen * np.trace(M) / np.sqrt(a * np.square(M).sum()))


def chance_of_columns(X: Any, T: Numbers, target: Target, rng: np.random.Generator) -> float | None:
    """How likely columns X (n, columns) go so well with what is true T (n, columns) by chance; None if not known.

    target : of the same rows, all of which are labelled.

    Examples
    --------
    >>> from prismap.target import make_target
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    >>> chance_of_columns(X, y[:, None], make_target(y, 200), rng) > 0.01
    True
    >>> X[:, 3] += 0.7 * y
    >>> chance_of_columns(X, y[:, None], make_target(y, 200), rng) < 0.001
    True
    """
    if target.in_order:  # in time, columns and targets go together by their trends
        return None
    rows = target.draw(MOST_ROWS, rng, whole_units=True)
    target, T = target.take(rows), standard_ranks(T[rows], len(rows))
    R = standard_ranks(X[rows], max(MOST_PRODUCTS // max(T.size, 1), 1))
    if not R.size or not T.size:
        return None

    def statistics(permuted: Numbers) -> Numbers:
        """(largest, sum) of H for each of some targets (permutations, n, columns)."""
        H = np.square(np.tensordot(permuted, R, axes=(1, 0))).sum(axis=1)
        return np.stack([H.max(axis=1), H.sum(axis=1)], axis=1)

    own = statistics(T[None])[0] * (1 - 1e-9)  # rounding makes no difference
    as_good, done = np.zeros(2), 0
    while done < MOST_PERMUTATIONS and as_good.min() < ENOUGH:
        orders = np.stack([target.permuted_rows(rng) for _ in range(5 * ENOUGH)])
        as_good += (statistics(T[orders]) >= own).sum(axis=0)
        done += len(orders)
    return float(min(1.0, 2 * (as_good.min() + 1) / (done + 1)))


def standard_ranks(X: Any, most: int) -> Numbers:
    """Ranks of the columns that vary, of at most so many, with mean 0 and variance 1."""
    X = np.asarray(X, dtype=np.float64)
    X = X[:, X.min(axis=0) < X.max(axis=0)]
    if X.shape[1] > most:
        X = X[:, np.sort(np.argsort(-X.var(axis=0), kind="stable")[:most])]
    R = rankdata(X, axis=0) if X.size else np.zeros_like(X)
    R -= R.mean(axis=0)
    return np.asarray(R / R.std(axis=0))


# --- units and the samples inside them --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Level:
    """How far votes and target go together on one level: their correlation, and its p-value."""

    correlation: float
    p_value: float


@dataclass(frozen=True)
class Levels:
    """The two levels of a target that varies inside units.

    Attributes
    ----------
    between : whether votes separate units with other targets, a `Level`
    inside : whether they separate the samples of one unit, a `Level`
    n_units : judged units
    """

    between: Level
    inside: Level
    n_units: int

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Levels:
        """The inverse of `to_dict`."""
        return cls(Level(**stored["between"]), Level(**stored["inside"]), stored["n_units"])


def levels(V: Numbers, T: Numbers, target: Target, rng: np.random.Generator, doubled: float = 1.0) -> Levels | None:
    """The `Levels` of votes V (n, columns) and what is true T (n, columns); None if no target varies inside a unit.

    doubled : as `prismap.quality._agreement.agreement` takes it.
    """
    if not target.varies_inside:
        return None
    unit = np.unique(target.units, return_inverse=True)[1]
    V, T = (centred(part, target) for part in (V, T))
    of_units, deviations = mean_of_units(V, unit), V - mean_of_units(V, unit)
    between = level(of_units, T, lambda: target.permuted_rows(rng), lambda part: mean_of_units(part, unit), doubled)
    inside = level(
        deviations, T, lambda: target.permuted_rows_inside(rng), lambda part: part - mean_of_units(part, unit), doubled
    )
    return Levels(between, inside, target.n_units)


def level(V: Numbers, T: Numbers, permute: Any, part_of: Any, doubled: float) -> Level:
    """The correlation of V with a part of centred T, and its p-value, by mean and spread for permuted rows of T."""
    own = part_of(T)
    size = float(np.sqrt(np.square(V).sum() * np.square(own).sum()))
    if size == 0:
        return Level(0.0, 1.0)
    common = float((V * own).sum())
    # V is centred on its level, so that V and any permuted T need not be brought to it: <V_u, T_i> = <V_u, T_u>.
    permuted = np.array([(V * T[permute()]).sum() for _ in range(N_PERMUTATIONS)])
    spread = float(permuted.std() * np.sqrt(doubled))
    # Units of about one size exchange their targets, which may go with the size: the mean is not 0 then.
    return Level(common / size, float(norm.sf((common - permuted.mean()) / spread)) if spread > 0 else 1.0)


def mean_of_units(values: Numbers, unit: Rows) -> Numbers:
    """The mean of its unit, for each row."""
    sums = np.stack([np.bincount(unit, weights=column) for column in values.T], axis=1)
    return np.asarray((sums / np.bincount(unit)[:, None])[unit])
