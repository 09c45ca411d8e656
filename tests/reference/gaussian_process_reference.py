"""A Gaussian process and its Fisher metric straight from the thesis: explicit sums, one point or pair at a time."""

import numpy as np


def kernel(x, z, signal, beta):
    """``s exp(-beta ||x - z||^2)`` (thesis eq. 2.30, with a signal variance)."""
    return signal * np.exp(-beta * np.sum((x - z) ** 2))


def moments(x, support, y, signal, beta, noise):
    """Mean and variance of the target at x (thesis eq. 2.32 to 2.34, noise included in both places)."""
    n = len(support)
    K = np.array([[kernel(support[i], support[j], signal, beta) for j in range(n)] for i in range(n)])
    k = np.array([kernel(x, z, signal, beta) for z in support])
    inverse = np.linalg.inv(K + noise * np.eye(n))
    return y.mean() + k @ inverse @ (y - y.mean()), signal + noise - k @ inverse @ k


def tensor(x, support, y, signal, beta, noise):
    """``J = (2 beta^2 / v)(2 t1 t1^T + t2 t2^T / v)`` with explicit t1 and t2 (thesis eq. 2.38 to 2.40)."""
    n = len(support)
    K = np.array([[kernel(support[i], support[j], signal, beta) for j in range(n)] for i in range(n)])
    k = np.array([kernel(x, z, signal, beta) for z in support])
    inverse = np.linalg.inv(K + noise * np.eye(n))
    alpha = inverse @ (y - y.mean())
    v = signal + noise - k @ inverse @ k
    t1 = sum((support[i] - x) * k[i] * alpha[i] for i in range(n))
    t2 = sum(
        k[i] * sum((support[i] + support[j] - 2 * x) * k[j] * inverse[j, i] for j in range(n)) for i in range(n)
    )  # fmt: skip
    return 2 * beta**2 / v * (2 * np.outer(t1, t1) + np.outer(t2, t2) / v)


def log_density_speed(x, direction, support, y, hyper, step=1e-4):
    """``sqrt(E[(d log p(y*|x + a direction) / da)^2])`` by central differences and Gauss-Hermite quadrature."""
    m, v = moments(x, support, y, *hyper)
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    values = m + np.sqrt(v) * nodes

    def log_density(a):
        mean, variance = moments(x + a * direction, support, y, *hyper)
        return -0.5 * np.log(2 * np.pi * variance) - 0.5 * (values - mean) ** 2 / variance

    # Five points: the error is of fourth order in the step.
    score = (
        (log_density(-2 * step) - 8 * log_density(-step) + 8 * log_density(step) - log_density(2 * step)) / 12 / step
    )
    return np.sqrt((weights * score**2).sum() / weights.sum())


def tangent_length(x, z, support, y, hyper, T, *, symmetric, w=1.0, sigma=1.0):
    """Sum of ``sqrt(dx^T (w J + (1-w) I / sigma^2) dx)`` over T sub-segments, left or mirrored nodes (eq. 2.18)."""
    dx = (z - x) / T
    total = 0.0
    for t in range(T):
        node = t
        if symmetric:
            node = t + 0.5 if 2 * t + 1 == T else (t + 1 if 2 * t + 1 > T else t)
        J = w * tensor(x + node * dx, support, y, *hyper) + (1 - w) * np.eye(len(x)) / sigma**2
        total += np.sqrt(dx @ J @ dx)
    return total


def fisher_rao(m1, v1, m2, v2):
    """Distance of two Gaussians: ``sqrt(2)`` times that of ``(m / sqrt(2), s)`` in the hyperbolic half-plane."""
    s1, s2 = np.sqrt(v1), np.sqrt(v2)
    return np.sqrt(2) * np.arccosh(1 + ((m1 - m2) ** 2 / 2 + (s1 - s2) ** 2) / (2 * s1 * s2))


def chord_length(x, z, support, y, hyper, T, *, w=1.0, sigma=1.0):
    """Fisher-Rao distances between the Gaussians at consecutive nodes, blended with the Euclidean step."""
    total = 0.0
    for t in range(T):
        one = moments(x + (z - x) * t / T, support, y, *hyper)
        two = moments(x + (z - x) * (t + 1) / T, support, y, *hyper)
        total += np.sqrt(w * fisher_rao(*one, *two) ** 2 + (1 - w) * np.sum((z - x) ** 2) / (T * sigma) ** 2)
    return total


def seen_support(metric, i, j):
    """Support rows that the pair of fitted rows i and j may see."""
    folds = metric.folds_[metric.support_]
    return metric.support_[(folds < 0) | ((folds != metric.folds_[i]) & (folds != metric.folds_[j]))]


def kernel_of_two_parts(A, B, scales, signal, linear, support):
    """``s exp(-sum_d b_d (x_d - z_d)^2) + l (sum_d b_d (x_d - c_d)(z_d - c_d) + t)``, one pair at a time.

    c is the mean of the support, t the mean of its scaled squared distances to c.
    """
    center = support.mean(axis=0)
    spread = np.mean([np.sum(scales * (x - center) ** 2) for x in support])
    K = np.empty((len(A), len(B)))
    for i, x in enumerate(A):
        for j, z in enumerate(B):
            smooth = signal * np.exp(-np.sum(scales * (x - z) ** 2))
            K[i, j] = smooth + linear * (np.sum(scales * (x - center) * (z - center)) + spread)
    return K


def moments_of_two_parts(A, X, g, scales, signal, linear, noise, support):
    """Means and variances of g at rows A by a process that has learnt from rows X, noise included."""
    inverse = np.linalg.inv(kernel_of_two_parts(X, X, scales, signal, linear, support) + noise * np.eye(len(X)))
    k = kernel_of_two_parts(A, X, scales, signal, linear, support)
    own = np.diag(kernel_of_two_parts(A, A, scales, signal, linear, support))
    return g.mean() + k @ inverse @ (g - g.mean()), own + noise - np.einsum("ij,jk,ik->i", k, inverse, k)
