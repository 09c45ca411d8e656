"""Thesis chapter 5 as it is written, with loops over rows: slow twins of prismap.transfer."""

import numpy as np


def density(x, center, sigma):
    """N(x | center, sigma^2 I)."""
    q = len(x)
    return np.exp(-np.sum((x - center) ** 2) / (2 * sigma**2)) / (2 * np.pi * sigma**2) ** (q / 2)


def responsibilities(source, target, theta, sigma, outliers, volume, emission=None):
    """gamma_ij (eq. 5.4) with mixing weights, and a uniform density for rows without a partner."""
    gamma = np.empty((len(source), len(target)))
    for i, x in enumerate(source):
        joint = [
            (1 - outliers) * theta[j] * density(x, f, sigma) * (1 if emission is None else emission[i, j])
            for j, f in enumerate(target)
        ]
        gamma[i] = np.array(joint) / (sum(joint) + outliers / volume)
    return gamma


def log_likelihood(rows, centers, weights, sigma, outliers, volume):
    """log p of each row under the mixture of Gaussians (eq. 5.2) and the uniform density."""
    return np.array(
        [
            np.log(
                outliers / volume
                + (1 - outliers) * sum(w * density(x, c, sigma) for w, c in zip(weights, centers, strict=True))
            )
            for x in rows
        ]
    )


def weighted_least_squares(rows, source, gamma, ridge):
    """W and b that minimise sum_ij gamma_ij |xi_i - W z_j - b|^2 + ridge |W|^2 (eq. 5.5), one equation a pair."""
    left, right = [], []
    for i, x in enumerate(source):
        for j, z in enumerate(rows):
            root = np.sqrt(gamma[i, j])
            left.append(root * np.append(z, 1.0))
            right.append(root * x)
    for k in range(rows.shape[1]):
        left.append(np.sqrt(ridge) * np.eye(rows.shape[1] + 1)[k])
        right.append(np.zeros(source.shape[1]))
    return np.linalg.lstsq(np.array(left), np.array(right), rcond=None)[0]


def kernel_positions(rows, landmarks, bandwidth, W):
    """f(z) = sum_j w_j k(z, z_j) / sum_l k(z, z_l) (eq. 5.6)."""
    positions = []
    for z in rows:
        k = [np.exp(-0.5 * np.sum((z - c) ** 2) / s**2) for c, s in zip(landmarks, bandwidth, strict=True)]
        positions.append(sum(a * w for a, w in zip(k, W, strict=True)) / sum(k))
    return np.array(positions)


def regularised_cost(source, positions, gamma, penalty):
    """Eq. 5.7: sum_ij gamma_ij |xi_i - f(z_j)|^2 + lambda Q, the second summand given."""
    total = penalty
    for i, x in enumerate(source):
        for j, f in enumerate(positions):
            total += gamma[i, j] * np.sum((x - f) ** 2)
    return total


def coupling_distortion(C, D, T):
    """Root mean squared c_ik - d_jl over pairs of pairs drawn from T."""
    total = 0.0
    for i in range(len(C)):
        for k in range(len(C)):
            for j in range(len(D)):
                for m in range(len(D)):
                    total += (C[i, k] - D[j, m]) ** 2 * T[i, j] * T[k, m]
    return np.sqrt(total)
