"""The width of the kernels: by cross-validation, by what numbers can represent, or from the fifth neighbour."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.spatial.distance import cdist

from prismap._util.evidence import first_of_equals
from prismap._util.scales import nearest_distances, typical_distance, typical_spacing
from prismap.exceptions import PrismapWarning
from prismap.mappings._kernels import NEAREST_FLOOR, ElmKernel, GaussianKernel, interpolate

#: What cross-validation tries: from "nearest row only" to very smooth, and from interpolation to regression.
FACTORS = {"rbf": (0.15, 0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0), "elm": (0.5, 1.0, 2.0, 4.0)}
RIDGES = (1e-6, 1e-2)
#: Cross-validation looks at no more rows than this: factors are relative to the rows' own spacing.
MOST_ROWS = 1000
N_FOLDS = 5
#: Settings whose local quality is within this share of the best count as equally good.
TOLERANCE = 0.03
#: The smallest kernel that counts as representable: the smallest normal float64 number.
SMALLEST_KERNEL = float(np.finfo(np.float64).tiny)


def make_kernels(name, D, factors):
    """Kernels of rows with mutual distances D: one common width, a factor times the typical nearest distance.

    A width of its own for every row, as in Gisbrecht et al. (2015), gives isolated rows very wide kernels: on held-out
    rows of digits and usps the common width is 4 and 10 points of 1-NN accuracy better.
    """
    if name == "elm":
        return [ElmKernel.of(D, factor) for factor in factors]
    width = typical_distance(nearest_distances(D))
    return [GaussianKernel(np.full(len(D), factor * width)) for factor in factors]


def representable_kernel(D, smallest, *, every_entry):
    """The published rule, ``sigma_j = f n_j``, n_j the nearest distance of row j, and its f (Gisbrecht et al. 2015).

    f is "the smallest value in such a way that all entries of K are within the range of representable numbers (resp. a
    predefined interval)", here from `smallest` to 1. A kernel is in it if ``f >= r_ij = d_ij / n_j / sqrt(-2 log
    smallest)``. To the letter, with `every_entry`, ``f = max_ij r_ij``. But entries that underflow to zero do no harm,
    and these factors are not the "small positive value" of the paper. What does harm is a row that is near to
    no other kernel, whose sum is zero, as happens to the paper's new rows that fall to the origin. So otherwise f is
    the smallest factor for which each row has a kernel of another row in the interval: ``f = max_i min_j!=i r_ij``.
    """
    nearest = nearest_distances(D)
    nearest = np.maximum(nearest, NEAREST_FLOOR * typical_distance(nearest))
    ratios = D / nearest
    if not every_entry and len(D) > 1:
        np.fill_diagonal(ratios, np.inf)
        ratios = ratios.min(axis=1)
    factor = float(ratios.max(initial=0.0) / np.sqrt(-2 * np.log(smallest))) or 1.0
    return GaussianKernel(factor * nearest), factor


def fifth_neighbor_kernel(D):
    """One width, the mean distance of a row to its fifth nearest neighbour (Gisbrecht et al. 2012, sec. 4)."""
    return GaussianKernel(np.full(len(D), float(nearest_distances(D, 5).mean()) or 1.0)), np.nan


def cross_validate(D, Y, kernel, factors, ridges, *, normalize, rng):
    """The (factor, ridge) whose map places held-out rows best.

    Each fold is placed by a map fitted on the others, its width included. Among the settings whose held-out rows keep
    their local neighbourhoods best (`local_quality`, up to `TOLERANCE`), the one that puts them nearest to where the
    embedding had them wins: an error e counts as ``log(1 + e^2 / s^2)``, s the typical spacing of positions, so a few
    rows that land in another part of the map do not decide alone.
    """
    order = rng.permutation(len(D))[:MOST_ROWS]
    spacing = typical_spacing(Y[order], 10)
    quality, misplaced = np.zeros((2, len(factors), len(ridges)))
    for held_out in np.array_split(order, min(N_FOLDS, len(order))):
        kept = np.setdiff1d(order, held_out)
        ranks = neighbor_ranks(D[np.ix_(held_out, held_out)])
        for (f, r), predicted in held_out_positions(D, Y, kept, held_out, kernel, factors, ridges, normalize):
            error = np.square(predicted - Y[held_out]).sum(axis=1)
            misplaced[f, r] += np.log1p(error / spacing**2).sum()
            quality[f, r] += local_quality(ranks, neighbor_ranks(cdist(predicted, predicted)))
    misplaced[quality < (1 - TOLERANCE) * quality.max()] = np.inf
    f, r = np.unravel_index(first_of_equals(misplaced.ravel()), misplaced.shape)
    return factors[f], ridges[r]


def held_out_positions(D, Y, kept, held_out, kernel, factors, ridges, normalize):
    """Positions of the rows `held_out` by maps fitted on the rows `kept`, one for each setting."""
    inside, outside = D[np.ix_(kept, kept)], D[np.ix_(held_out, kept)]
    center = Y[kept].mean(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # a width that is too large simply scores badly
        for f, made in enumerate(make_kernels(kernel, inside, factors)):
            K, K_new = made.weights(inside, normalize=normalize), made.weights(outside, normalize=normalize)
            for r, ridge in enumerate(ridges):
                yield (f, r), K_new @ interpolate(K, Y[kept] - center, ridge)[0] + center


def local_quality(ranks, map_ranks):
    """Q_local of a map from the ranks of neighbours in the data and in the map (Lee & Verleysen 2010).

    Q(k) is the share of k-nearest neighbours that the map keeps; Q_local its mean up to the k where Q(k) exceeds
    chance most. 0 for fewer than five rows, which have no neighbourhoods to speak of. For a few hundred rows at most.
    """
    n = len(ranks)
    if n < 5:
        return 0.0
    k = np.arange(1, n)
    Q = np.cumsum(np.bincount(np.maximum(ranks, map_ranks).ravel(), minlength=n)[1:n]) / (n * k)
    return float(Q[: np.argmax(Q - k / (n - 1)) + 1].mean())


def neighbor_ranks(D):
    """Rank of each row's distances: itself 0, its nearest 1."""
    D = D.copy()
    np.fill_diagonal(D, -1)
    ranks = np.empty(D.shape, dtype=np.intp)
    np.put_along_axis(ranks, np.argsort(D, axis=1, kind="stable"), np.arange(len(D))[None], axis=1)
    return ranks
