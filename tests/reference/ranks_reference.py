"""Slow twins of the quality measures, from their definitions: ranks by counting, an explicit co-ranking matrix."""

import numpy as np


def rank_matrix(D, order):
    """rho_ij = |{l : d_il < d_ij, or d_il = d_ij and l comes before j in `order`}| + 1, the row itself left out."""
    n = len(D)
    rho = np.zeros((n, n), dtype=int)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            for other in range(n):
                if other in (i, j):
                    continue
                nearer = D[i, other] < D[i, j] or (D[i, other] == D[i, j] and order[other] < order[j])
                rho[i, j] += nearer
            rho[i, j] += 1
    return rho


def coranking_matrix(rho, r):
    """q_kl = |{(i, j) : rho_ij = k and r_ij = l}|, k, l = 1 .. n-1 (Lee & Verleysen 2009)."""
    n = len(rho)
    q = np.zeros((n - 1, n - 1), dtype=int)
    for i in range(n):
        for j in range(n):
            if i != j:
                q[rho[i, j] - 1, r[i, j] - 1] += 1
    return q


def q_nx_reference(q):
    """Q_NX(k) = 1/(k n) sum of the upper left k x k block."""
    n = len(q) + 1
    return np.array([q[:k, :k].sum() / (k * n) for k in range(1, n)])


def r_nx_reference(q):
    n = len(q) + 1
    Q = q_nx_reference(q)
    return np.array([((n - 1) * Q[k - 1] - k) / (n - 1 - k) for k in range(1, n - 1)])


def auc_log_k_reference(q):
    R = r_nx_reference(q)
    weights = [1 / k for k in range(1, len(R) + 1)]
    return sum(w * value for w, value in zip(weights, R, strict=True)) / sum(weights)


def q_local_reference(q):
    """Mean of Q_NX up to the k of the largest LCMC(k) = Q_NX(k) - k/(n-1) (Lee & Verleysen 2010)."""
    n = len(q) + 1
    Q = q_nx_reference(q)
    lcmc = [Q[k - 1] - k / (n - 1) for k in range(1, n)]
    k_max = int(np.argmax(lcmc)) + 1
    return sum(Q[:k_max]) / k_max, k_max


def distances_reference(X):
    return np.array([[np.sqrt(((a - b) ** 2).sum()) for b in X] for a in X])


def nrmse_reference(D, y, k):
    """Leave-one-out k-NN regression weighted by 1/distance, root mean squared error over the standard deviation."""
    squares = []
    for i in range(len(D)):
        others = sorted((j for j in range(len(D)) if j != i), key=lambda j: D[i, j])[:k]
        weights = [1 / D[i, j] for j in others]
        predicted = sum(w * y[j] for w, j in zip(weights, others, strict=True)) / sum(weights)
        squares.append((y[i] - predicted) ** 2)
    return np.sqrt(np.mean(squares)) / np.std(y)
