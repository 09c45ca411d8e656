"""Dynamic time warping: the distance of two series after stretching them in time (Sakoe, Chiba 1978).

    D_ij = |a_i - b_j|^2 + min(D_i-1,j, D_i,j-1, D_i-1,j-1),    d(a, b) = sqrt(D_nm),   |i - j| <= w

The band w keeps a moment of one series near the same moment of the other. The entries of an anti-diagonal (i + j
constant) do not depend on each other and are computed together, for many series of equal length at once. The triangle
inequality does not hold.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from prismap._blocks import row_blocks
from prismap.exceptions import InputError

#: Bytes of the diagonals in hand: they should stay in the processor's cache.
WORKING = 2 * 2**20


def prepare(thing):
    """A series as a float array (time, channels)."""
    series = np.asarray(thing, dtype=np.float64)
    series = series[:, None] if series.ndim == 1 else series
    if series.ndim != 2 or not series.size:
        raise ValueError(f"an array (time,) or (time, channels) is needed, not {series.shape}")
    if not np.isfinite(series).all():
        raise ValueError(f"{int((~np.isfinite(series)).sum())} values are missing or infinite")
    return series


def channels(series):
    """What series must have in common."""
    return f"{series.shape[1]} channels"


def dtw(a, b, band=0.1):
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
    return float(one_to_many(a, b[None], band)[0])


def block(A, B, band=0.1):
    """Distances between two lists of series; those of equal length are computed together."""
    values = np.empty((len(A), len(B)))
    lengths = np.array([len(b) for b in B])
    for length in np.unique(lengths):
        places = np.flatnonzero(lengths == length)
        together = np.stack([B[k] for k in places])
        for i, a in enumerate(A):
            for part in row_blocks(len(places), 32.0 * len(a), WORKING):
                values[i, places[part]] = one_to_many(a, together[part], band)
    return values


def band_width(n, m, band):
    """Steps that indices may differ by."""
    if band is None:
        return max(n, m)
    if not 0 <= band <= 1:
        raise InputError(f"band must be a share between 0 and 1, or None; got {band!r}.")
    return max(ceil(band * max(n, m)), abs(n - m))


def one_to_many(a, B, band):
    """Distances of one series (n, channels) to several of one length (count, m, channels)."""
    n, m, w = len(a), B.shape[1], band_width(len(a), B.shape[1], band)
    columns = np.ascontiguousarray(B.transpose(2, 1, 0))  # (channels, m, count): the series side by side
    before, last, now = (np.full((n + 2, len(B)), np.inf) for _ in range(3))  # row i + 1 holds D_ij
    for k in range(n + m - 1):
        low, high = max(0, k - m + 1, (k - w + 1) // 2), min(n - 1, k, (k + w) // 2)
        # w = 0: every other anti-diagonal is empty.
        cost = 0.0
        for a_channel, b_channel in zip(a.T, columns, strict=True):
            cost = cost + np.square(a_channel[low : high + 1, None] - b_channel[k - high : k - low + 1][::-1])
        if k:
            best = np.minimum(last[low : high + 1], last[low + 1 : high + 2])
            np.minimum(best, before[low : high + 1], out=best)
            cost = cost + best
        now[low + 1 : high + 2] = cost
        now[low] = now[high + 2] = np.inf
        before, last, now = last, now, before
    return np.sqrt(last[n])
