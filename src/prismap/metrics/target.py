"""What a target is: classes or a real number, by looking or by being told."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap._validation import check_magnitude, check_target_length, missing_mask
from prismap.exceptions import InputError

#: Whole numbers with more distinct values than this (and fewer than two rows a value, on average five) are quantities.
MOST_INTEGER_CLASSES = 50


def resolve_target(y, n_rows, target="auto"):
    """("class" or "real", y as an array with one entry a row, or (n, targets) for several real targets).

    "auto": text and booleans are classes; numbers with fractions are real; whole numbers are classes unless there are
    more than 50 different ones with fewer than five rows each. Several columns are several real targets.
    """
    shape = np.asarray(y).shape
    if target != "class" and len(shape) == 2 and shape[1] > 1:
        return "real", real_targets(y, n_rows)
    values = check_target_length(y, n_rows)
    refuse_infinite(values)
    kind = target if target != "auto" else guess_target(values)
    return kind, values if kind == "class" else real_values(values)


def guess_target(values: Any) -> str:
    """ "class" or "real" from the values alone.

    >>> guess_target(np.array([0.5, 1.25, 3.0])), guess_target(np.array([1, 2, 2])), guess_target(np.array(["a"]))
    ('real', 'class', 'class')
    """
    known = values[~missing_mask(values)]
    if known.dtype.kind == "O":
        if not all(isinstance(value, (int, float, np.number)) and not isinstance(value, bool) for value in known):
            return "class"
        known = known.astype(np.float64)
    if known.dtype.kind not in "iuf":
        return "class"
    if known.dtype.kind == "f" and not np.array_equal(known, np.round(known)):
        return "real"
    distinct = len(np.unique(known))
    return "real" if distinct > MOST_INTEGER_CLASSES and len(known) < 5 * distinct else "class"


def known_targets(y):
    """Which rows of a resolved target are known: codes from 0 on, or numbers throughout."""
    if y.dtype.kind != "f":
        return y >= 0
    missing = np.isnan(y)
    return ~(missing.any(axis=1) if y.ndim == 2 else missing)


def real_targets(y, n_rows):
    """Real targets as (n, number of targets); rows in which one is missing are NaN throughout."""
    y = np.asarray(y)
    columns = list(y.T) if y.ndim == 2 else [y]
    Y = np.stack([real_values(check_target_length(column, n_rows)) for column in columns], axis=1)
    Y[np.isnan(Y).any(axis=1)] = np.nan
    return Y


def real_values(values):
    """A real target as floats, NaN where it is missing; refused when it cannot teach anything."""
    try:
        numbers = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("target='real' needs numbers in y; text was found. Use target='class'.") from error
    refuse_infinite(numbers)
    check_magnitude(np.nan_to_num(numbers), "y")
    known = numbers[~np.isnan(numbers)]
    distinct = len(np.unique(known))
    if distinct < 3:
        what = "no value" if not len(known) else "one constant value" if distinct == 1 else "only two distinct values"
        way_out = "target='class'" if distinct == 2 else "target='none' (supervision=0 in FisherMetric)"
        raise InputError(f"y as a real target holds {what}; at least three are needed. Use {way_out}.")
    return numbers


def refuse_infinite(values):
    """No target, real or by class, is infinite."""
    infinite = int(np.isinf(values).sum()) if values.dtype.kind == "f" else 0
    if infinite:
        raise InputError(f"y holds {infinite} infinite values; drop those rows or mark them as NaN.")
