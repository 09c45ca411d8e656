"""Out-of-sample maps, one row and one sum at a time, straight from the formulas of the papers."""

import math

import numpy as np


def kernel_map(D_new, coefficients, bandwidth):
    """y(x) = sum_j alpha_j k_j(x) / sum_l k_l(x), k_j = exp(-d^2 / 2 sigma_j^2) (003_..., section 3)."""
    positions = []
    for distances in D_new:
        kernels = [math.exp(-0.5 * d**2 / s**2) for d, s in zip(distances, bandwidth, strict=True)]
        total = sum(kernels)
        positions.append(sum(k / total * alpha for k, alpha in zip(kernels, coefficients, strict=True)))
    return np.array(positions)


def interpolation_coefficients(D, Y, bandwidth):
    """A = K^+ Y with the normalised Gram matrix K (003_..., section 3)."""
    n = len(D)
    K = np.array([[math.exp(-0.5 * D[i, j] ** 2 / bandwidth[j] ** 2) for j in range(n)] for i in range(n)])
    K = np.array([row / row.sum() for row in K])
    return np.linalg.pinv(K) @ Y


def nearest_neighbor_distances(X):
    """Distance of each row to the closest other row."""
    return np.array([min(np.linalg.norm(x - z) for j, z in enumerate(X) if j != i) for i, x in enumerate(X)])
