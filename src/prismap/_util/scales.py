"""How far apart rows usually are: nearest distances, their typical size, and from where on a new row is far."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from scipy.spatial import cKDTree

Array: TypeAlias = Any

#: A new row is far when it is farther from the data than this share of the fitted rows are from each other.
FAR_QUANTILE = 0.99


def nearest_distances(D: Array, k: int = 1) -> Array:
    """Distance of each row to its k-th nearest other row, from the square matrix D."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    k = min(k, D.shape[1] - 1)
    return np.partition(D, k - 1, axis=1)[:, k - 1] if k else np.ones(len(D))


def position_spacing(Y: Array, k: int = 1, *, rows: Array | slice = slice(None)) -> Array:
    """Distance of each position (or of some `rows` of them) to its k-th nearest other one; 1 for a single one.

    >>> position_spacing(np.array([[0.0], [1.0], [3.0]])).tolist()
    [1.0, 1.0, 2.0]
    """
    if len(Y) < 2:
        return np.ones(len(Y))
    return cKDTree(Y).query(Y[rows], k=[min(k, len(Y) - 1) + 1])[0][:, 0]


def typical_distance(nearest: Array) -> float:
    """The median of nearest distances that are not zero; 1 if all are."""
    positive = nearest[nearest > 0]
    return float(np.median(positive)) if len(positive) else 1.0


def far_threshold(nearest: Array) -> float:
    """From how many typical distances on a new row is far, for fitted rows with these distances to their nearest.

    The 99 % quantile of those distances (the largest, below 100 rows): of new rows like the fitted ones, about one in a
    hundred is called far.
    """
    rank = min(len(nearest), int(np.ceil((len(nearest) + 1) * FAR_QUANTILE)))
    return float(np.sort(nearest)[rank - 1] / typical_distance(nearest))


def typical_spacing(Y: Array, k: int = 1) -> float:
    """Median distance between a position and its k-th nearest other one; the largest, or 1, where that is zero."""
    spacing = position_spacing(Y, k)
    return float(np.median(spacing)) or float(spacing.max()) or 1.0
