"""Dynamic time warping: the distance of two series after stretching them in time (Sakoe, Chiba 1978).

    D_ij = |a_i - b_j|^2 + min(D_i-1,j, D_i,j-1, D_i-1,j-1),    d(a, b) = sqrt(D_nm),   |i - j| <= w

The band w keeps a moment of one series near the same moment of the other. The triangle inequality does not hold.
dtaidistance computes the program in compiled code (the extra `things`), without its pruning, which gives infinity where
the upper bound is rounded below the distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers
from prismap._util.optional import import_extra
from prismap.exceptions import InputError


def prepare(thing: Any) -> Numbers:
    """A series as a float array (time, channels)."""
    dtaidistance()
    series = np.asarray(thing, dtype=np.float64, order="C")
    series = series[:, None] if series.ndim == 1 else series
    if series.ndim != 2 or not series.size:
        raise ValueError(f"an array (time,) or (time, channels) is needed, not {series.shape}")
    if not np.isfinite(series).all():
        raise ValueError(f"{int((~np.isfinite(series)).sum())} values are missing or infinite")
    return series


def channels(series: Numbers) -> str:
    """What series must have in common."""
    return f"{series.shape[1]} channels"


def dtw(a: Any, b: Any, band: Any = 0.1) -> float:
    """Dynamic time warping distance of two series.

    Parameters
    ----------
    a, b : arrays (time,) or (time, channels); the lengths may differ.
    band : how far moments may be shifted, as a share of the longer series, at least the difference of the lengths; None
        for any.

    >>> dtw([0, 0, 1, 2, 1, 0], [0, 1, 2, 1, 0, 0], band=0.2)
    0.0
    """
    a, b = prepare(a), prepare(b)
    if a.shape[1] != b.shape[1]:
        raise InputError(f"series must have equally many channels; got {a.shape[1]} and {b.shape[1]}.")
    return float(block([a], [b], band)[0, 0])


def block(A: Sequence[Any], B: Sequence[Any], band: Any = 0.1) -> Numbers:
    """Distances between two lists of prepared series."""
    distance, values = dtaidistance().distance_fast, np.empty((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            # dtaidistance counts the diagonal as part of its window; None is no window.
            window = None if band is None else band_width(len(a), len(b), band) + 1
            values[i, j] = distance(*(equally_long(a, b) if window else (a, b)), window=window, use_pruning=False)
    return values


def band_width(n: int, m: int, band: Any) -> int:
    """Steps that indices may differ by."""
    if band is None:
        return max(n, m)
    if not 0 <= band <= 1:
        raise InputError(f"band must be a share between 0 and 1, or None; got {band!r}.")
    return int(max(ceil(band * max(n, m)), abs(n - m)))


def equally_long(a: Any, b: Any) -> tuple[Numbers, ...]:
    """Series of one length and the same distance, since the window of dtaidistance is wider where lengths differ.

    Both are continued by a value that lies so far out that only itself can stand against it: a match with any other
    value costs more than every path without such a match. The last values of both then match, and so do the values
    added, at no cost.
    """
    n, m = len(a), len(b)
    if n == m:
        return a, b
    largest = max(np.abs(a).max(), np.abs(b).max())
    # A path has fewer than n + m steps, and a step costs at most (2 largest)^2 per channel.
    far = 1.0 + largest * (1.0 + 2.0 * sqrt(n + m))
    length = max(n, m) + 1
    return tuple(np.concatenate([one, np.full((length - len(one), one.shape[1]), far)]) for one in (a, b))


def dtaidistance() -> Any:
    """dtaidistance for series of several channels."""
    return import_extra("dtaidistance.dtw_ndim", extra="things", feature="Dynamic time warping")
