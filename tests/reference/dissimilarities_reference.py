"""The fifteen measures pair by pair, the stress and printed gradients, as the paper writes them (Rice 2016)."""

import math

import numpy as np


def euclidean(x, y):
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def weighted_euclidean(x, y, mean):
    return math.sqrt(sum((a - b) ** 2 / m**2 for a, b, m in zip(x, y, mean, strict=True) if m != 0))


def city_block(x, y):
    return sum(abs(a - b) for a, b in zip(x, y, strict=True))


def max_norm(x, y):
    return max(abs(a - b) for a, b in zip(x, y, strict=True))


def minkowski(x, y, p=1.2):
    return sum(abs(a - b) ** p for a, b in zip(x, y, strict=True)) ** (1 / p)


def mahalanobis(x, y, inverse_covariance):
    gap = [a - b for a, b in zip(x, y, strict=True)]
    d = len(gap)
    return math.sqrt(sum(gap[i] * inverse_covariance[i, j] * gap[j] for i in range(d) for j in range(d)))


def median(x, y):
    gaps = sorted(abs(a - b) for a, b in zip(x, y, strict=True))
    half = len(gaps) // 2
    return gaps[half] if len(gaps) % 2 else (gaps[half - 1] + gaps[half]) / 2


def dot(x, y):
    return sum(a * b for a, b in zip(x, y, strict=True))


def correlation(x, y):
    return 0.5 * (1 - dot(x, y) / (dot(x, x) + dot(y, y)))


def correlation2(x, y):
    return 0.5 * (1 - dot(x, y) / (dot(x, x) + dot(y, y) - 2 * dot(x, y)))


def cosine(x, y):
    norms = math.sqrt(dot(x, x)) * math.sqrt(dot(y, y))
    return 0.5 * (1 - dot(x, y) / norms) if norms else 0.5


def divergence(x, y):
    return math.sqrt(sum((a - b) ** 2 / (a + b) ** 2 for a, b in zip(x, y, strict=True) if a + b))


def bray_curtis(x, y):
    return sum(abs(a - b) for a, b in zip(x, y, strict=True)) / sum(a + b for a, b in zip(x, y, strict=True))


def soergel(x, y):
    return sum(abs(a - b) for a, b in zip(x, y, strict=True)) / sum(max(a, b) for a, b in zip(x, y, strict=True))


def ware_hedges(x, y):
    return sum(1 - min(a, b) / max(a, b) for a, b in zip(x, y, strict=True) if max(a, b))


def geodesics(X, n_neighbors):
    """All shortest paths over the graph of nearest rows, by relaxing every edge until nothing changes."""
    n = len(X)
    length = np.full((n, n), np.inf)
    for i in range(n):
        length[i, i] = 0.0
        others = sorted((j for j in range(n) if j != i), key=lambda j: (euclidean(X[i], X[j]), j))
        for j in others[:n_neighbors]:
            length[i, j] = length[j, i] = euclidean(X[i], X[j])
    for k in range(n):
        for i in range(n):
            for j in range(n):
                length[i, j] = min(length[i, j], length[i, k] + length[k, j])
    return length


def pairs(measure, A, B, **options):
    """The matrix of `measure` over all pairs; equal rows are at 0 by the package's convention."""
    return np.array([[0.0 if list(a) == list(b) else measure(a, b, **options) for b in B] for a in A])


def elastic_stress(Y, D):
    """Eq. 1: the sum over j < i."""
    n = len(Y)
    return sum((D[i, j] - euclidean(Y[i], Y[j])) ** 2 / D[i, j] ** 2 for i in range(n) for j in range(i))


def printed_position_gradient(Y, D):
    """The paper's dE/dy_i, with its factor 4."""
    gradient = np.zeros_like(Y)
    for i in range(len(Y)):
        for j in range(len(Y)):
            if i != j:
                d = euclidean(Y[i], Y[j])
                gradient[i] += 4 * (-1 / (D[i, j] * d) + 1 / D[i, j] ** 2) * (Y[i] - Y[j])
    return gradient


def printed_weight_gradient(a, matrices, Y):
    """The paper's dE/da_l: its two lines put together, summed over all ordered pairs."""
    total = sum(a)
    gradient = np.zeros(len(a))
    for i in range(len(Y)):
        for j in range(len(Y)):
            if i == j:
                continue
            d = euclidean(Y[i], Y[j])
            mixture = sum(weight * D[i, j] for weight, D in zip(a, matrices, strict=True))
            D_ij = mixture / total
            outer = -2 * d**2 / D_ij**3 + 2 * d / D_ij**2
            for k in range(len(a)):
                gradient[k] += outer * (matrices[k][i, j] / total - mixture / total**2)
    return gradient
