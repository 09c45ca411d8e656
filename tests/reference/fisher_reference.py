"""The Fisher metric straight from the formulas: explicit tensors, one pair at a time. Slow and obvious."""

import heapq
import math

import numpy as np


def kernel_weights(x, support, sigma):
    """``exp(-0.5 ||x - x_l||^2 / sigma^2)`` (000_ eq. 4 with the errata), scaled by its largest."""
    exponent = np.array([-0.5 * np.sum((x - x_l) ** 2) / sigma**2 for x_l in support])
    return np.exp(exponent - exponent.max())


def printed_posterior(x, support, codes, n_classes, sigma):
    """Class posterior as 000_ eq. 4 prints it: ``exp(-0.5 ||x - x_l||^2 / 2 sigma^2)``, both halves."""
    w = np.array([np.exp(-0.5 * np.sum((x - x_l) ** 2) / (2 * sigma**2)) for x_l in support])
    return np.array([w[codes == c].sum() for c in range(n_classes)]) / w.sum()


def posterior(x, support, codes, n_classes, sigma):
    """Class posterior of a Parzen window (000_ eq. 4)."""
    w = kernel_weights(x, support, sigma)
    return np.array([w[codes == c].sum() for c in range(n_classes)]) / w.sum()


def tensor(x, support, codes, n_classes, sigma):
    """``J(x) = E_{p(c|x)} [b b^T] / sigma^4``, ``b = E[x_l|x,c] - E[x_l|x]`` (000_ eq. 5 to 7)."""
    w = kernel_weights(x, support, sigma)
    mean = (w[:, None] * support).sum(axis=0) / w.sum()
    J = np.zeros((len(x), len(x)))
    for c in range(n_classes):
        mass = w[codes == c].sum()
        if mass > 0:
            b = (w[codes == c, None] * support[codes == c]).sum(axis=0) / mass - mean
            J += mass / w.sum() * np.outer(b, b)
    return J / sigma**4


def tangent_length(x, z, support, codes, n_classes, sigma, T, *, symmetric, w=1.0, squared=False):
    """Sum of ``sqrt(dx^T (w J + (1-w) I / sigma^2) dx)`` over T sub-segments.

    Left nodes (thesis eq. 2.18), or left nodes up to the middle and right nodes after it (000_ eq. 9). With `squared`
    no root is taken (003_ sec. 4.1, thesis eq. 2.17).
    """
    step = (z - x) / T
    total = 0.0
    for t in range(T):
        node = t
        if symmetric:
            node = t + 0.5 if 2 * t + 1 == T else (t + 1 if 2 * t + 1 > T else t)
        J = w * tensor(x + node * step, support, codes, n_classes, sigma) + (1 - w) * np.eye(len(x)) / sigma**2
        total += step @ J @ step if squared else np.sqrt(step @ J @ step)
    return total


def chord_length(x, z, support, codes, n_classes, sigma, T, *, w=1.0):
    """Arcs ``4 asin(||sqrt p(t) - sqrt p(t+1)|| / 2)`` over T sub-segments, blended with the Euclidean step."""
    total = 0.0
    for t in range(T):
        p = posterior(x + (z - x) * t / T, support, codes, n_classes, sigma)
        q = posterior(x + (z - x) * (t + 1) / T, support, codes, n_classes, sigma)
        arc = 4 * np.arcsin(np.sqrt(np.sum((np.sqrt(p) - np.sqrt(q)) ** 2)) / 2)
        total += np.sqrt(w * arc**2 + (1 - w) * np.sum((z - x) ** 2) / (T * sigma) ** 2)
    return total


def kernel_tangent_length(i, j, K, support, codes, n_classes, sigma, T):
    """The same from a kernel matrix alone (000_ eq. 11 to 16 with thesis eq. 2.26), symmetric nodes."""
    total = 0.0
    for t in range(T):
        a = (t + 0.5 if 2 * t + 1 == T else (t + 1 if 2 * t + 1 > T else t)) / T
        exponent = np.array(
            [
                K[s, s] + (1 - a) ** 2 * K[i, i] + a**2 * K[j, j]
                - 2 * (1 - a) * K[i, s] - 2 * a * K[j, s] + 2 * a * (1 - a) * K[i, j]
                for s in support
            ]
        )  # fmt: skip
        w = np.exp(-0.5 * (exponent - exponent.min()) / sigma**2)
        form = 0.0
        for c in range(n_classes):
            xi_c = np.where(codes == c, w, 0) / max(w[codes == c].sum(), 1e-300)
            xi = w / w.sum()
            b_i = sum((xi_c[k] - xi[k]) * K[i, s] for k, s in enumerate(support))
            b_j = sum((xi_c[k] - xi[k]) * K[j, s] for k, s in enumerate(support))
            form += w[codes == c].sum() / w.sum() * (b_i - b_j) ** 2
        total += np.sqrt(form) / (T * sigma**2)
    return total


def all_pairs(metric, X, y, length):
    """Lengths between all rows by ``length(i, j, support, codes)``, each pair seeing the support outside its folds."""
    codes = np.searchsorted(metric.classes_, y)
    D = np.zeros((len(X), len(X)))
    folds = metric.folds_[metric.support_]
    for i in range(len(X)):
        for j in range(len(X)):
            kept = metric.support_[(folds < 0) | ((folds != metric.folds_[i]) & (folds != metric.folds_[j]))]
            D[i, j] = 0.0 if i == j else length(i, j, kept, codes[kept])
    return D


def lattice_path(a, b, X, y, n_classes, sigma, supervision, n):
    """The shortest way from a to b over an n x n lattice of places; steps to 16 neighbours, by arcs of posteriors.

    A slow geodesic without derivatives (Dijkstra 1959). Lattices round corners, so it is 1 to 3 % too long.
    """
    low, high = X.min(axis=0) - sigma, X.max(axis=0) + sigma
    axes = [np.linspace(low[k], high[k], n) for k in range(2)]
    places = {(i, j): np.array([axes[0][i], axes[1][j]]) for i in range(n) for j in range(n)}
    root = {key: np.sqrt(posterior(place, X, y, n_classes, sigma)) for key, place in places.items()}
    start, goal = (min(places, key=lambda key, end=end: np.linalg.norm(places[key] - end)) for end in (a, b))
    moves = [(i, j) for i in range(-2, 3) for j in range(-2, 3) if math.gcd(i, j) == 1]
    best, queue = {start: 0.0}, [(0.0, start)]
    while queue:
        length, here = heapq.heappop(queue)
        if here == goal:
            return length
        for i, j in moves:
            there = (here[0] + i, here[1] + j)
            if there not in places:
                continue
            turn = 4 * math.asin(min(1.0, np.linalg.norm(root[here] - root[there]) / 2))
            step = np.linalg.norm(places[here] - places[there]) / sigma
            further = length + math.sqrt(supervision * turn**2 + (1 - supervision) * step**2)
            if further < best.get(there, math.inf):
                best[there] = further
                heapq.heappush(queue, (further, there))
    return math.inf
