"""What a map minimises: t-SNE over its coefficients, and an embedding's own cost over one new position at a time.

Notation: Z (b, d) are new positions, Y (n, d) the fixed ones. Sums over rows go through ``einsum`` instead of matrix
products where a row's result must not depend on its company.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from prismap._costs import tsne_cost
from prismap._optimise import minimize

_TINY = np.finfo(np.float64).tiny


def minimize_tsne_cost(K, A, P, n_iter):
    """Coefficients A of the map ``Y = K A`` with a lower t-SNE cost: ``(A, cost)`` (Gisbrecht et al. 2012, sec. 3).

    The gradient in A is K^T times that in Y, which is the paper's formula. L-BFGS never ends above its start.
    """

    def of_coefficients(A):
        cost, gradient = tsne_cost(K @ A, P)
        return cost, K.T @ gradient

    found = minimize(of_coefficients, A, n_iter=n_iter, n_evaluations=2 * n_iter, tol=1e-9, gradient_tol=1e-8)
    return found.x, found.value


def _pull(F, Z, Y):
    """``sum_j F_ij (z_i - y_j)``, row by row."""
    return F.sum(axis=1)[:, None] * Z - np.einsum("ij,jk->ik", F, Y)


def tsne_placement(Z, Y, P, rest):
    """The part of KL(P || Q) that depends on a new position, with all others fixed (Gisbrecht et al. 2012, section 2).

    P (b, n) are the joint affinities of the new rows with the fitted ones, `rest` is the sum of w over all pairs of
    fitted rows: cost = 2 sum_j p_j log(1 + |z - y_j|^2) + log(rest + 2 sum_j w_j), times n + 1 to be of order one.
    """
    D2 = cdist(Z, Y, "sqeuclidean")
    W = 1 / (1 + D2)
    total = rest + 2 * W.sum(axis=1)
    scale = len(Y) + 1
    cost = 2 * np.einsum("ij,ij->i", P, np.log1p(D2)) + np.log(total / rest)
    return scale * cost, _pull(4 * scale * W * (P - W / total[:, None]), Z, Y)


def nerv_placement(Z, Y, P, sigma, gamma):
    """``gamma KL(p || q) + (1 - gamma) KL(q || p)`` of the new row's own neighbourhood.

    q_j ~ exp(-|z - y_j|^2 / 2 sigma^2) with the row's sigma in the data space, as NeRV has it (thesis 2.2.2).
    """
    half = 0.5 / np.square(sigma)[:, None]
    D2 = cdist(Z, Y, "sqeuclidean")
    E = -half * D2
    log_q = E - logsumexp(E, axis=1, keepdims=True)
    Q = np.exp(log_q)
    ratio = log_q - np.log(np.maximum(P, _TINY))
    recall = -np.einsum("ij,ij->i", P, ratio)
    precision = np.einsum("ij,ij->i", Q, ratio)
    F = gamma * (P - Q) - (1 - gamma) * Q * (ratio - precision[:, None])
    return gamma * recall + (1 - gamma) * precision, _pull(2 * half * F, Z, Y)


def mds_placement(Z, Y, D):
    """``sum_j (d_j - |z - y_j|)^2 / sum_j d_j^2``: the stress of the new row."""
    scale = np.maximum(np.square(D).sum(axis=1), _TINY)[:, None]
    found = cdist(Z, Y)
    F = 2 * (1 - D / np.maximum(found, 1e-300)) / scale
    F[found == 0] = 0  # no direction to push in
    return (np.square(D - found) / scale).sum(axis=1), _pull(F, Z, Y)
