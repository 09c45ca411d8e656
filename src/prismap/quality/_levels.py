"""Does a map tell units apart, or the samples inside a unit? Where the target varies inside units, both are asked.

For judged rows with votes V_i and what is true T_i, and their means V_u and T_u in unit u of n_u rows:

- *between* ``sum_u n_u <V_u - mean V, T_u - mean T>``, with targets permuted between units of about equal size;
- *inside* ``sum_i <V_i - V_u(i), T_i - T_u(i)>``, with targets permuted inside each unit.

A map of patients can tell the ill from the healthy without telling good days from bad ones, and the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from prismap._util.arrays import Numbers, Rows
from prismap.quality._agreement import centred
from prismap.target import Target

#: Permutations of each: the standard deviation of as many is known to 4 %.
N_PERMUTATIONS = 400


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
