"""When a difference counts: one threshold, the error of a mean that it is held against, and what is mere rounding.

Rows that are not independent come in units, and it is the number and the variance of units that a standard error rests
on: of the mean over rows it is ``sqrt(U / (U - 1) sum_u (sum_{i in u} (v_i - mean))^2) / n`` for U units (Liang & Zeger
1986). If every row is a unit of its own, this is the usual standard error.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A difference counts from so many standard errors on, here and in every sentence of a verdict.
SIGNIFICANT = 3.0


def paired_gap(a: NDArray[np.float64], b: Any, units: NDArray[np.intp] | None = None) -> tuple[float, float]:
    """Mean of a - b over rows, and its standard error; inf of a single row or unit."""
    gap = a - b
    error = error_of_mean(gap, units)
    return float(gap.mean()), np.inf if np.isnan(error) else error


def among_smallest(losses: Any, rtol: float = 1e-9) -> NDArray[np.bool_]:
    """Which losses are the smallest one, but for rounding: a share `rtol` of the largest finite one."""
    losses = np.asarray(losses, dtype=np.float64)
    size = np.abs(losses[np.isfinite(losses)]).max(initial=0.0)
    return np.asarray(losses <= np.fmin.reduce(losses) + rtol * size)


def first_of_equals(losses: Any, rtol: float = 1e-9) -> int:
    """Index of the first loss that is the smallest one, but for rounding.

    Candidates are listed from the simplest on. So the simplest of near equals is taken, on every processor.

    >>> first_of_equals([0.5, 0.2 + 1e-13, 0.2])
    1
    """
    return int(among_smallest(losses, rtol).argmax())


def error_of_mean(values: NDArray[np.float64], units: NDArray[np.intp] | None = None) -> float:
    """The standard error of the mean over rows that come in units (None: every row is one); NaN of a single one."""
    unit = None if units is None else np.unique(units, return_inverse=True)[1]
    if unit is None or int(unit.max(initial=-1)) + 1 == len(values):
        return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    sums = np.bincount(unit, weights=values - values.mean())
    if len(sums) < 2:
        return float("nan")
    return float(np.sqrt(len(sums) / (len(sums) - 1) * np.square(sums).sum()) / len(values))
