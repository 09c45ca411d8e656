"""Earth mover's distance: the least work that moves one heap of weight into the shape of another (Rubner et al. 2000).

For histograms over the same bins in a row, one bin apart, the work is the sum of the differences of the running totals.
For weighted points in space it is a linear program, which POT solves by network simplex (the extra `things`). With
equally many points of equal weight it is an assignment, which scipy solves faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from prismap._util.arrays import Numbers
from prismap._util.optional import import_extra
from prismap.exceptions import InputError

#: Steps of the network simplex: as many as it takes.
MAX_STEPS = 10**9


class Histogram(NamedTuple):
    """Running totals of the shares, from 0 to 1."""

    cumulative: np.ndarray


class Cloud(NamedTuple):
    """Points (n, d) and their shares of the weight."""

    points: np.ndarray
    weights: np.ndarray


def prepare(thing: Any) -> Histogram:
    """A histogram as running totals of its shares."""
    return thing if isinstance(thing, Histogram) else Histogram(np.cumsum(_shares(thing)))


def _shares(weights: Any) -> Numbers:
    weights = np.asarray(weights, dtype=np.float64)
    if weights.ndim != 1 or not np.isfinite(weights).all() or (weights < 0).any() or not weights.sum() > 0:
        raise ValueError("a list of weights that are not negative and not all 0 is needed")
    return np.asarray(weights / weights.sum())


def bins(histogram: Any) -> str:
    """What histograms must have in common."""
    return f"{len(histogram.cumulative)} bins"


def earth_mover(a: Any, b: Any) -> float:
    """Work, in bins, that moves one histogram into another; both are scaled to the total 1.

    >>> earth_mover([1, 0, 0], [0, 0, 5])
    2.0
    """
    a, b = prepare(a), prepare(b)
    if len(a.cumulative) != len(b.cumulative):
        raise InputError(f"histograms must be equally long; got {len(a.cumulative)} and {len(b.cumulative)} bins.")
    return float(np.abs(a.cumulative - b.cumulative).sum())


def block(A: Sequence[Any], B: Sequence[Any]) -> Numbers:
    """Distances between two lists of histograms."""
    return np.asarray(cdist(np.stack([a.cumulative for a in A]), np.stack([b.cumulative for b in B]), "cityblock"))


def prepare_cloud(thing: Any) -> Cloud:
    """Weighted points: ``{"points": [[...], ...], "weights": [...]}``, or points alone, which weigh the same."""
    if isinstance(thing, Cloud):
        return thing
    pot()
    points = np.asarray(thing["points"] if isinstance(thing, dict) else thing, dtype=np.float64)
    points = points[:, None] if points.ndim == 1 else points
    if points.ndim != 2 or not points.size or not np.isfinite(points).all():
        raise ValueError(f"finite points (n, dimensions) are needed, not {points.shape}")
    weights = thing.get("weights") if isinstance(thing, dict) else None
    shares = _shares(np.ones(len(points)) if weights is None else weights)
    if len(shares) != len(points):
        raise ValueError(f"{len(points)} points have {len(shares)} weights")
    return Cloud(points, shares)


def dimensions(cloud: Any) -> str:
    """What clouds must have in common."""
    return f"{cloud.points.shape[1]} dimensions"


def transport(a: Any, b: Any) -> float:
    """Earth mover's distance of two clouds of weighted points under Euclidean distance.

    >>> transport([[0.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 1.0]])
    1.0
    """
    a, b = prepare_cloud(a), prepare_cloud(b)
    D = cdist(a.points, b.points)
    if len(a.points) == len(b.points) and np.ptp(a.weights) == 0 and np.ptp(b.weights) == 0:
        return float(D[linear_sum_assignment(D)].mean())
    work, log = pot().emd2(a.weights, b.weights, D, numItermax=MAX_STEPS, log=True, check_marginals=False)
    if log["warning"] is not None:
        raise InputError(f"the linear program of the transport did not end: {log['warning']}")
    return max(0.0, float(work))


def pot() -> Any:
    """The package POT."""
    return import_extra("ot", extra="things", feature="Earth mover's distance of points")
