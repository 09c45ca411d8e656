"""Relevance of features for a map, from the thesis' formulas by plain loops."""

import numpy as np


def neighborhood_shares(D, k):
    """For each row the share of every other row in the k nearest, ties sharing what is left: expected membership."""
    n = len(D)
    shares = np.zeros((n, n))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for j in others:
            nearer = sum(D[i, m] < D[i, j] for m in others)
            tied = sum(D[i, m] == D[i, j] for m in others)
            shares[i, j] = min(1.0, max(0.0, (k - nearer) / tied))
    return shares


def q_nx_reference(X, Y, k, rows=None):
    """Thesis eq. 2.2, averaged over random tie-breaking; squared distances by differences."""
    shares = []
    for A in (X, Y):
        D = ((A[:, None] - A[None]) ** 2).sum(axis=2)
        shares.append(neighborhood_shares(D, k))
    rows = range(len(X)) if rows is None else rows
    return np.mean([(shares[0][i] * shares[1][i]).sum() / k for i in rows])


def nerv_reference(A, Y, sigma_data, sigma_map, gamma, rows=None):
    """Thesis eq. 4.1 to 4.3 with separate bandwidths, summed over the given rows; in logs, q is at least 1e-12."""
    n = len(A)
    total = 0.0
    for i in range(n) if rows is None else rows:
        others = [j for j in range(n) if j != i]
        p = np.array([np.exp(-0.5 * ((A[i] - A[j]) ** 2).sum() / sigma_data[i] ** 2) for j in others])
        q = np.array([np.exp(-0.5 * ((Y[i] - Y[j]) ** 2).sum() / sigma_map[i] ** 2) for j in others])
        p, q = p / p.sum(), q / q.sum()
        log_ratio = np.log(p) - np.log(np.maximum(q, 1e-12))
        total += gamma * (p * log_ratio).sum() - (1 - gamma) * (q * log_ratio).sum()
    return total
