"""Kernels of a row against the landmarks, in log space: exponents first, so that no row ever has only zeros.

For every kernel map ``y(x) = sum_j alpha_j k_j(x) / sum_l k_l(x)`` with ``k_j(x) = exp(-d(x, x_j)^2 / 2 sigma_j^2)``.
Subtracting a row's largest exponent changes numerator and denominator by the same factor, so the ratio stays, the
largest weight is exactly 1, and the "points that fall to the origin" of the papers cannot occur.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

#: Exponents below this are as good as zero beside the largest (exp(-40) is 4e-18); far smaller ones make exp slow.
LOWEST_EXPONENT = -40.0
#: A row much closer to its neighbour than is usual keeps at least this share of the median nearest distance.
NEAREST_FLOOR = 0.1
#: Rows closer than this share of the largest distance count as the same row.
DUPLICATE_SHARE = 1e-7


def nearest_distances(D, k=1):
    """Distance of each row to its k-th nearest other row, from the square matrix D."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    k = min(k, D.shape[1] - 1)
    return np.partition(D, k - 1, axis=1)[:, k - 1] if k else np.ones(len(D))


def floored(nearest):
    """Nearest distances that are safe as bandwidths: zeros and near-duplicates are raised to a share of the median."""
    positive = nearest[nearest > 0]
    if not len(positive):
        return np.ones_like(nearest)
    return np.maximum(nearest, NEAREST_FLOOR * np.median(positive))


def merge_duplicates(D):
    """A group number for each row: rows at distance zero from each other share it (0, 1, ... by first appearance).

    Zero means zero up to rounding: distances from matrix products are wrong by about 1e-8 of the largest.
    """
    zero = DUPLICATE_SHARE * D.max(initial=0.0) >= D
    if np.count_nonzero(zero) <= len(D):
        return np.arange(len(D))
    _, labels = connected_components(zero, directed=False)
    _, first, groups = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[groups]


def gaussian_exponents(D, bandwidth):
    """``-d_ij^2 / 2 sigma_j^2`` (003_..., section 3)."""
    E = np.square(D / bandwidth)
    E *= -0.5
    return E


def weights_in_place(E, *, normalize):
    """exp of the exponents E (overwritten); with `normalize` divided by the largest of each row, so never all zero."""
    if normalize:
        E -= E.max(axis=1, keepdims=True)
    else:
        np.minimum(E, 0, out=E)
    if E.dtype == np.float64:  # float32 has no slow path to avoid
        np.maximum(E, LOWEST_EXPONENT, out=E)
    return np.exp(E, out=E)


def kernel_matrix(D, bandwidth, *, normalize):
    """The matrix K of the map, rows summing to one with `normalize`."""
    K = weights_in_place(gaussian_exponents(D, bandwidth), normalize=normalize)
    K[1.01 * np.exp(LOWEST_EXPONENT) > K] = 0  # products of such numbers have no normal representation: very slow
    if normalize:
        K /= K.sum(axis=1, keepdims=True)
    return K
