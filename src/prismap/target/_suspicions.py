"""Columns that name units: rows of one level are alike, and neighbours of the same level know the target.

A column with many levels that repeat, such as a patient's number, is held against two questions.

- Are rows of one level alike? Among the nearest rows in the other features, the share of the same level is compared
  with that of columns whose values are permuted among rows of the same class (or of near values of a number), so that
  a column that only goes with the target is not taken for a unit.
- Does it matter? Neighbours predict the target with and without the rows of the same level. Where rows are independent
  given the features, leaving out a few rows makes no difference. A column whose own name is that of units is not asked
  this: its rows are not independent, whatever few neighbours show.

Only a person knows whether a new row will bring a level that is known (a shop) or a new one (a patient), so that such a
column is a suspicion. It is beyond doubt where rows of one level are alike, the target is the same for all of them,
the column is no feature, and its values are numbers or names with digits, or its name is that of units
(`UNIT_WORDS`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import row_blocks
from prismap._util.evidence import SIGNIFICANT
from prismap._util.missing import mean_filled
from prismap._util.search import smallest
from prismap.target._copies import number_units
from prismap.target._kinds import Target
from prismap.target._labels import label_array, missing_mask


@dataclass(frozen=True)
class Asking:
    """Which rows are asked.

    Attributes
    ----------
    neighbors : nearest rows that each asks.
    most_asking : rows that ask, at most.
    most_asked : rows that are asked, at most.
    n_permutations : columns permuted among rows of a class.
    """

    neighbors: int = 5
    most_asking: int = 1_000
    most_asked: int = 20_000
    n_permutations: int = 30


ASKING = Asking()


@dataclass(frozen=True)
class UnitRules:
    """When a column names units.

    Attributes
    ----------
    least_levels : levels at least.
    least_repeated : the least share of the rows in levels that repeat.
    alike_ratio : rows of one level are alike if their share among the nearest is so many times what permuted
        columns give,
    alike_deviations : by so many of their standard deviations.
    least_difference : it matters from this difference of the disagreement with the nearest rows on, if it is
        certain,
    large_difference : and from this one in any case: of few units, none is certain.
    sure_levels : beyond doubt: so many levels,
    sure_share : and so large a share of the rows with the commonest target of their level.
    """

    least_levels: int = 8
    least_repeated: float = 0.5
    alike_ratio: float = 2.0
    alike_deviations: float = 6.0
    least_difference: float = 0.05
    large_difference: float = 0.3
    sure_levels: int = 10
    sure_share: float = 0.98


UNITS = UnitRules()

#: Parts of the names of columns that name units.
UNIT_WORDS = {
    "id", "ids", "patient", "subject", "donor", "participant", "person", "user", "customer", "client", "animal",
    "individual", "case", "specimen", "speaker", "author", "family", "household", "slide", "plate", "cage", "litter",
}  # fmt: skip


@dataclass(frozen=True)
class Difference:
    """How far the nearest rows miss the target, where chance is 1: of all rows, and of other units only."""

    by_rows: float
    by_units: float
    standard_error: float

    @property
    def matters(self) -> bool:
        """Whether rows of the same unit know more than the others."""
        gap = self.by_units - self.by_rows
        least = max(UNITS.least_difference, SIGNIFICANT * self.standard_error)
        return gap >= min(least, UNITS.large_difference)


@dataclass(frozen=True)
class Suspicion:
    """Rows that are alike for a reason that the features do not say.

    Attributes
    ----------
    name : of the column; None for the order of the rows.
    units : the unit of each row.
    n_units : how many there are.
    likeness : how many times more often the nearest rows are of the same unit than by chance; for the order of the
        rows, the correlation of rows that follow each other.
    deviations : by how many standard deviations of permuted columns, or rows.
    difference : how far neighbours miss the target with and without those of the same unit.
    sure : whether it is beyond doubt.
    in_order : whether units are stretches of rows that go over into each other, numbered in their order.
    """

    name: str | None
    units: Rows
    n_units: int
    likeness: float
    deviations: float
    difference: Difference
    sure: bool
    in_order: bool = False


def suspicious_columns(
    columns: Mapping[str, Any],
    X: Any,
    target: Target,
    rng: np.random.Generator,
    *,
    encoded: Mapping[str, Any] | None = None,
) -> list[Suspicion]:
    """Columns whose levels seem to be units, the most harmful first.

    Parameters
    ----------
    columns : the values of each column, features or not.
    X : (n, D) vectors, dense or csr: the features.
    target : what they are held against. Without one, nothing can be overstated, and nothing is suspicious.
    rng : for samples of rows and permutations.
    encoded : for a column that is a feature, the positions of its columns in X. They are left out when it is tested.
    """
    if not target.exists:
        return []
    encoded = {} if encoded is None else encoded
    features = profile(X)
    suspicions = []
    for name, values in columns.items():
        units = repeated_levels(values)
        if units is None:
            continue
        own = np.asarray(encoded.get(name, ()), dtype=np.intp)
        rest = np.setdiff1d(np.arange(features.shape[1]), own) if len(own) else slice(None)
        named = name not in encoded and has_unit_word(str(name))
        may_be_sure = named or (name not in encoded and has_digits(values))
        one = suspicion_of(str(name), units, features[:, rest], target.shown, rng, named=named, may_be_sure=may_be_sure)
        if one is not None:
            suspicions.append(one)
    return sorted(suspicions, key=lambda one: one.difference.by_rows - one.difference.by_units)


def repeated_levels(values: Any) -> Rows | None:
    """The level of each row, missing ones on their own; None if the column cannot name units.

    Numbers with fractions are measurements. So are whole numbers that are mostly all different.
    """
    values = label_array(values)
    missing = missing_mask(values)
    known = values[~missing]
    if not len(known) or (known.dtype.kind == "f" and not np.array_equal(known, np.round(known))):
        return None
    units = np.arange(len(values)) + len(values)
    units[~missing] = np.unique(known.astype(str) if known.dtype.kind == "O" else known, return_inverse=True)[1].ravel()
    units = number_units(units)
    sizes = np.bincount(units)
    repeated = sizes[sizes > 1]
    if len(repeated) < UNITS.least_levels or repeated.sum() < UNITS.least_repeated * len(values):
        return None
    return units


def profile(X: Any) -> Any:
    """Columns at variance 1, far values brought in to four deviations; sparse rows as they are."""
    if sp.issparse(X):
        return sp.csr_array(X)
    Z = mean_filled(np.asarray(X, dtype=np.float32 if len(X) > ASKING.most_asked else np.float64))
    spread = Z.std(axis=0)
    return np.clip((Z - Z.mean(axis=0)) / np.where(spread > 0, spread, 1), -4, 4)


def has_unit_word(name: str) -> bool:
    """Whether the name of a column is that of units.

    >>> has_unit_word("patientNumber"), has_unit_word("shop")
    (True, False)
    """
    return bool(UNIT_WORDS & set(re.split(r"[^a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())))


def has_digits(values: Any) -> bool:
    """Whether all values of a column hold digits, as the numbers of units and names such as P01 do."""
    values = label_array(values)
    known = values[~missing_mask(values)].astype(str)
    return all(any(sign.isdigit() for sign in text) for text in np.unique(known))


def suspicion_of(
    name: str, units: Rows, Z: Any, target: Target, rng: np.random.Generator, *, named: bool, may_be_sure: bool
) -> Suspicion | None:
    """A column as a suspicion, None if its rows are not alike or nothing follows from it.

    named : whether its own name is that of units. may_be_sure : whether its name or its values are like those of units.
    """
    if Z.shape[1] == 0:
        return None
    asking, asked = ask_rows(units, target, rng)
    near, outside = nearest_rows(Z, units, asking, asked)
    likeness, deviations = likeness_of(units, target.groups, asking, near, rng)
    if likeness < UNITS.alike_ratio or deviations < UNITS.alike_deviations:
        return None
    n_units = int(units.max()) + 1
    difference = difference_of(units, target, asking, near, outside)
    sure = may_be_sure and n_units >= UNITS.sure_levels and share_of_commonest(units, target.groups) >= UNITS.sure_share
    follows = sure or named or difference.matters
    return Suspicion(name, units, n_units, likeness, deviations, difference, sure) if follows else None


# --- neighbours of the same unit and of others ------------------------------------------------------------------------


def ask_rows(units: Rows, target: Target, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Labelled rows that ask, and those that are asked: whole units, so that each has its own among them."""
    rows = target.labelled_rows
    if len(rows) > ASKING.most_asked:
        order = rng.permutation(int(units.max()) + 1)[units[rows]]
        rows = np.sort(rows[np.argsort(order, kind="stable")[: ASKING.most_asked]])
    asking = rows if len(rows) <= ASKING.most_asking else np.sort(rng.choice(rows, ASKING.most_asking, replace=False))
    return asking, rows


def nearest_rows(Z: Any, units: Rows, asking: Rows, asked: Rows) -> tuple[Rows, Rows]:
    """The nearest rows among all that are asked, and among those of other units; -1 where there are none."""
    B = Z[asked]
    squares_b = np.asarray(B.multiply(B).sum(axis=1) if sp.issparse(B) else np.einsum("ij,ij->i", B, B)).ravel()
    near, outside = [], []
    for part in row_blocks(len(asking), 40 * len(asked)):
        rows = asking[part]
        products = Z[rows] @ B.T
        D = squares_b - 2 * np.asarray(products.toarray() if sp.issparse(products) else products)
        D[rows[:, None] == asked] = np.inf
        near.append(named(D, asked))
        D[units[rows][:, None] == units[asked]] = np.inf
        outside.append(named(D, asked))
    return np.concatenate(near), np.concatenate(outside)


def named(D: Numbers, asked: Rows) -> Rows:
    """The rows with the smallest entries, -1 for infinite ones."""
    values, columns = smallest(D, min(ASKING.neighbors, D.shape[1]))
    return np.where(np.isfinite(values), asked[columns], -1)


def likeness_of(units: Rows, groups: Rows, asking: Rows, near: Rows, rng: np.random.Generator) -> tuple[float, float]:
    """(ratio, deviations) of the share of the same unit among the nearest rows, against units permuted in groups."""

    def share(codes: Rows) -> float:
        return float((codes[asking][:, None] == codes[near]).mean())

    by_group = np.argsort(groups, kind="stable")
    permuted = []
    for _ in range(ASKING.n_permutations):
        codes = units.copy()
        codes[by_group] = units[by_group[np.lexsort((rng.random(len(groups)), groups[by_group]))]]
        permuted.append(share(codes))
    expected = max(float(np.mean(permuted)), 1 / near.size)
    spread = max(float(np.std(permuted, ddof=1)), np.sqrt(expected / near.size))
    observed = share(units)
    return observed / expected, (observed - expected) / spread


def difference_of(units: Rows, target: Target, asking: Rows, near: Rows, outside: Rows) -> Difference:
    """How far the nearest rows miss the target, with those of the same unit and without."""
    usable = (near >= 0).all(axis=1) & (outside >= 0).all(axis=1)
    if not usable.any():
        return Difference(np.nan, np.nan, np.inf)
    asking, near, outside = asking[usable], near[usable], outside[usable]
    with_own, without = misses(target, asking, near), misses(target, asking, outside)
    codes = number_units(units[asking])
    sizes = np.bincount(codes)
    gaps = np.bincount(codes, without - with_own)
    mean = gaps.sum() / sizes.sum()
    error = np.sqrt(((gaps - mean * sizes) ** 2).sum()) / sizes.sum()
    return Difference(float(with_own.mean()), float(without.mean()), float(error))


def misses(target: Target, rows: Rows, others: Rows) -> Numbers:
    """How far the target of each row is from that of the others, in units of two rows at random."""
    values = target.groups if target.codes is None else target.codes
    known = values[target.labelled_rows]
    if target.codes is None:
        ranks = np.sort(known).astype(np.float64)
        weights = 2 * np.arange(1, len(ranks) + 1) - len(ranks) - 1
        by_chance = 2 * float((weights * ranks).sum()) / len(ranks) ** 2
        apart = np.abs(values[rows][:, None] - values[others]).mean(axis=1)
    else:
        by_chance = 1 - float(((np.bincount(known) / len(known)) ** 2).sum())
        apart = (values[rows][:, None] != values[others]).mean(axis=1)
    return np.asarray(apart / max(by_chance, 1e-12), dtype=np.float64)


def share_of_commonest(units: Rows, groups: NDArray[np.intp]) -> float:
    """The share of the rows of repeated units whose group is the commonest of their unit."""
    joint = np.unique(np.stack([units, groups], axis=1), axis=0, return_counts=True)
    most = np.zeros(int(units.max()) + 1)
    np.maximum.at(most, joint[0][:, 0], joint[1])
    sizes = np.bincount(units)
    repeated = sizes > 1
    return float(most[repeated].sum() / max(sizes[repeated].sum(), 1))
