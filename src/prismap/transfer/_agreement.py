"""How well two matched clouds agree, and whether two matches differ."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.neighbors import NearestNeighbors

from prismap._util.arrays import Numbers

#: Two matches differ if target rows move by more than this share of the source's spread, root mean square.
DIFFERENT = 0.5
#: Two matches are equally likely if their scores differ by less than so many standard errors of the difference.
EQUAL = 1.0
#: Neighbourhoods in which the mixture of two clouds is looked at, as a share of all rows.
NEIGHBORHOOD = 0.1


def agreement(A: Numbers, B: Numbers) -> float:
    """How mixed two clouds are: neighbours from the other cloud relative to what perfect mixing gives, from 0 to 1.

    For a row of A the expected share of B among its k nearest rows in both clouds is m / (n + m - 1), and likewise for
    B (Schilling 1986); k is a tenth of all rows, 100 at most. The figure is the mean over both clouds, each with the
    same weight, at most 1. Clouds drawn from one distribution score about 1, and clouds apart 0.

    Parameters
    ----------
    A, B : (n, d) and (m, d) positions

    Returns
    -------
    float

    Examples
    --------
    >>> A = np.random.default_rng(0).normal(size=(50, 2))
    >>> agreement(A, A + 100)
    0.0
    """
    n, m = len(A), len(B)
    k = int(np.clip(NEIGHBORHOOD * (n + m), 2, 100))
    both, from_b = np.vstack([A, B]), np.repeat([False, True], [n, m])
    near = NearestNeighbors(n_neighbors=k).fit(both).kneighbors(return_distance=False)
    other = (from_b[near] != from_b[:, None]).mean(axis=1)
    mixed = (other[:n].mean() * (n + m - 1) / m + other[n:].mean() * (n + m - 1) / n) / 2
    return float(min(mixed, 1.0))


def displacement(F: Numbers, G: Numbers, spread: float) -> float:
    """Root mean square way of the target rows from one match to another, in units of the source's spread."""
    return float(np.sqrt(np.square(F - G).sum(axis=1).mean()) / spread)


def standard_error(gains: Sequence[Numbers], q: float, n_structure: int) -> float:
    """Standard error of a difference of scores, from the row-wise gains of both sides' log-likelihoods.

    The part of the distortion, measured on `n_structure` rows, is that of q log(a root mean square), q / sqrt(2 n).
    """
    return float(np.sqrt(sum(np.var(gain) / len(gain) for gain in gains) + q**2 / (2 * n_structure)))
