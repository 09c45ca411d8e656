"""The width of the kernels: by cross-validation, by what numbers can represent, or from the fifth neighbour."""

from __future__ import annotations

import warnings

import numpy as np

from prismap.exceptions import PrismapWarning
from prismap.mappings.kernels import floored, kernel_matrix, nearest_distances
from prismap.mappings.solve import interpolate

#: Factors tried by cross-validation, from "nearest row only" to very smooth.
FACTORS = np.array([0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0, 1.3, 1.7, 2.2, 3.0])
#: Cross-validation looks at no more rows than this: the factor is relative to the rows' own spacing.
MOST_ROWS = 1500
N_FOLDS = 5
#: exp of anything lower is no normal float64 number.
LOWEST_REPRESENTABLE = np.log(np.finfo(np.float64).tiny)


def representable_factor(D, nearest):
    """The smallest factor for which every kernel value is a normal number (003_..., section 3).

    ``exp(-d_ij^2 / 2 (f n_j)^2) >= tiny`` for all pairs gives ``f = max d_ij / n_j / sqrt(-2 log tiny)``.
    """
    return float((D / nearest).max(initial=0.0) / np.sqrt(-2 * LOWEST_REPRESENTABLE)) or 1.0


def fifth_neighbor_width(D):
    """The mean distance of a row to its fifth nearest neighbour (001_..., section 4)."""
    return float(nearest_distances(D, 5).mean()) or 1.0


def choose_factor(D, Y, *, ridge, normalize, rng):
    """The factor whose map places held-out rows best, and the score of each factor tried.

    Each fold is predicted by a map fitted on the others, bandwidths included. An error e counts as
    ``log(1 + e^2 / s^2)``, s the typical spacing of the positions, so a few rows that land in another part of the map
    do not decide alone.
    """
    order = rng.permutation(len(D))[:MOST_ROWS]
    scale = typical_spacing(Y[order])
    scores = np.zeros(len(FACTORS))
    for held_out in np.array_split(order, min(N_FOLDS, len(order))):
        kept = np.setdiff1d(order, held_out)
        nearest = floored(nearest_distances(D[np.ix_(kept, kept)]))
        for f, factor in enumerate(FACTORS):
            predicted = predict_held_out(D, Y, kept, held_out, factor * nearest, ridge=ridge, normalize=normalize)
            error = np.square(predicted - Y[held_out]).sum(axis=1)
            scores[f] += np.log1p(error / scale**2).sum()
    return float(FACTORS[np.argmin(scores)]), scores / len(order)


def predict_held_out(D, Y, kept, held_out, bandwidth, *, ridge, normalize):
    """Positions of the rows `held_out` by the map fitted on the rows `kept`."""
    center = Y[kept].mean(axis=0)
    K = kernel_matrix(D[np.ix_(kept, kept)], bandwidth, normalize=normalize)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # a factor that is too wide simply scores badly
        A, _ = interpolate(K, Y[kept] - center, ridge)
    return kernel_matrix(D[np.ix_(held_out, kept)], bandwidth, normalize=normalize) @ A + center


def typical_spacing(Y):
    """Median distance between a position and its nearest neighbour, of a few hundred positions."""
    from scipy.spatial import cKDTree

    if len(Y) < 2:
        return 1.0
    spacing = cKDTree(Y).query(Y, k=2)[0][:, 1]
    return float(np.median(spacing)) or float(spacing.max()) or 1.0
