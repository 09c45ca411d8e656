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
