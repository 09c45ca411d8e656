"""Embedding costs and affinities written from the formulas, one pair at a time."""

import math

import numpy as np


def entropy_bits(p):
    return -sum(v * math.log2(v) for v in p if v > 0)


def row_affinities(D, perplexity):
    """p_{j|i} (thesis eq. 4.1): sigma_i by plain bisection so that 2^H equals the perplexity. D is square."""
    n = len(D)
    P, sigmas = np.zeros((n, n)), np.zeros(n)
    for i in range(n):
        others = [j for j in range(n) if j != i]
        low, high = 0.0, 1e6
        for _ in range(200):
            sigma = (low + high) / 2
            nearest = min(D[i, j] for j in others)
            w = [math.exp(-0.5 * (D[i, j] ** 2 - nearest**2) / sigma**2) for j in others]
            p = [v / sum(w) for v in w]
            low, high = (low, sigma) if 2 ** entropy_bits(p) > perplexity else (sigma, high)
        P[i, others], sigmas[i] = p, sigma
    return P, sigmas


def tsne_cost(Y, P):
    """sum_ij p_ij log(p_ij / q_ij) over i != j, q from Student's t over all pairs (thesis 2.2.1)."""
    n = len(Y)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    w = {(i, j): 1.0 / (1.0 + sum((Y[i] - Y[j]) ** 2)) for i, j in pairs}
    total = sum(w.values())
    return sum(P[pair] * math.log(P[pair] / (w[pair] / total)) for pair in pairs if P[pair] > 0)


def tnerv_cost(Y, P, gamma):
    """gamma KL(P || Q) + (1 - gamma) KL(Q || P), both over all pairs, q from Student's t."""
    n = len(Y)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    w = {(i, j): 1.0 / (1.0 + sum((Y[i] - Y[j]) ** 2)) for i, j in pairs}
    total = sum(w.values())
    recall = sum(P[pair] * math.log(P[pair] / (w[pair] / total)) for pair in pairs)
    precision = sum(w[pair] / total * math.log(w[pair] / total / P[pair]) for pair in pairs)
    return gamma * recall + (1 - gamma) * precision


def nerv_cost(Y, P, sigma, gamma):
    """Thesis eq. 4.2 and 4.3, row by row."""
    n, cost = len(Y), 0.0
    for i in range(n):
        others = [j for j in range(n) if j != i]
        w = {j: math.exp(-0.5 * sum((Y[i] - Y[j]) ** 2) / sigma[i] ** 2) for j in others}
        q = {j: w[j] / sum(w.values()) for j in others}
        cost += gamma * sum(P[i, j] * math.log(P[i, j] / q[j]) for j in others)
        cost += (1 - gamma) * sum(q[j] * math.log(q[j] / P[i, j]) for j in others)
    return cost


def stress(Y, D):
    """sum_{i<j} (d_ij - |y_i - y_j|)^2."""
    n = len(Y)
    return sum((D[i, j] - math.dist(Y[i], Y[j])) ** 2 for i in range(n) for j in range(i + 1, n))


def sammon_stress(Y, D):
    """Sammon (1969), eq. 1: sum_{i<j} (d_ij - |y_i - y_j|)^2 / d_ij, over sum_{i<j} d_ij."""
    pairs = [(i, j) for i in range(len(Y)) for j in range(i + 1, len(Y))]
    return sum((D[p] - math.dist(Y[p[0]], Y[p[1]])) ** 2 / D[p] for p in pairs) / sum(D[p] for p in pairs)


def curvilinear_cost(Y, D, reach):
    """``sum_{i<j} (d_ij - |y_i - y_j|)^2 exp(-|y_i - y_j| / reach)`` (Demartines and Herault 1997)."""
    total = 0.0
    for i in range(len(Y)):
        for j in range(i):
            e = np.linalg.norm(Y[i] - Y[j])
            total += (D[i, j] - e) ** 2 * np.exp(-e / reach)
    return total


def bregman_cost(Y, D):
    """``sum_{i<j} phi(e) - phi(d) - phi'(d) (e - d)`` for phi(t) = t log t, e = |y_i - y_j| (Sun et al. 2011)."""
    total = 0.0
    for i in range(len(Y)):
        for j in range(i):
            e, d = np.linalg.norm(Y[i] - Y[j]), D[i, j]
            total += e * np.log(e) - d * np.log(d) - (np.log(d) + 1) * (e - d)
    return total


def numeric_gradient(cost, Y, step=1e-6):
    """Central differences, one coordinate at a time."""
    gradient = np.zeros_like(Y)
    for place in np.ndindex(*Y.shape):
        move = np.zeros_like(Y)
        move[place] = step
        gradient[place] = (cost(Y + move) - cost(Y - move)) / (2 * step)
    return gradient
