"""What a map minimises: an embedding's own cost, over coefficients of a map or over one new position at a time.

Notation: Z (b, d) are new positions, Y (n, d) the fixed ones. Sums over rows go through ``einsum`` instead of matrix
products where a row's result must not depend on its company.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from prismap._affinities import lower_perplexity, pair_affinities
from prismap._costs import FLOOR, elastic_weights, gaussian_cost, sammon_weights, stress_cost, tsne_cost
from prismap._optimise import minimize

_TINY = np.finfo(np.float64).tiny
#: The costs that coefficients of a map can be trained by, and those among them that compare distances.
MAP_COSTS = ("tsne", "tnerv", "nerv", "mds", "sammon", "elastic")
STRESSES = ("mds", "sammon", "elastic")


def map_cost(name, D, perplexity, gamma):
    """The cost of an embedding of rows with distances D, as a function of positions: ``(cost_of, unit of length)``.

    Stress is relative, ``sum_{i<j} w_ij (d_ij - |y_i - y_j|)^2 / sum_{i<j} w_ij d_ij^2``, w of 1, 1 / d or 1 / d^2.
    """
    D2 = np.square(D)
    unit = float(np.sqrt(D2.mean())) or 1.0
    if name in STRESSES:
        W = stress_weights(name, D)
        total = 0.5 * float(D2.sum() if W is None else np.vdot(W, D2)) or 1.0
        return lambda Y: tuple(value / total for value in stress_cost(Y, D, W)), unit
    np.fill_diagonal(D2, np.inf)
    perplexity = lower_perplexity(perplexity, len(D))
    if name == "nerv":
        return gaussian_cost(D2, perplexity, gamma=gamma), unit
    return partial(tsne_cost, P=pair_affinities(D2, perplexity), gamma=1.0 if name == "tsne" else gamma), 1.0


def stress_weights(name, D):
    """w_ij of all pairs: None (1) for metric scaling, Sammon's and the elastic ones with small distances floored."""
    if name == "mds":
        return None
    return elastic_weights(D) if name == "elastic" else sammon_weights(D, FLOOR * float(D.mean()))


def minimize_map_cost(K, A, cost_of, unit, max_iter):
    """Coefficients A of the map ``Y = K A`` with a lower cost: ``(A, cost)`` (Gisbrecht et al. 2012, sec. 3).

    The gradient in A is K^T times that in Y, which is the paper's formula. L-BFGS never ends above its start. It sees
    coefficients in the `unit` of length, so that its tolerances mean the same for every scale of the data.
    """

    def of_coefficients(A):
        cost, gradient = cost_of(K @ (unit * A))
        return cost, unit * (K.T @ gradient)

    found = minimize(
        of_coefficients, A / unit, max_iter=max_iter, n_evaluations=2 * max_iter, tol=1e-9, gradient_tol=1e-8
    )
    return unit * found.x, found.value


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


def stress_placement(Z, Y, D, power=0):
    """``sum_j w_j (d_j - |z - y_j|)^2 / sum_j w_j d_j^2``, the stress of the new row, with ``w_j = d_j^-power``.

    Powers 0, 1 and 2 are metric, Sammon's and elastic scaling. Distances below `FLOOR` of the row's mean distance count
    as that in the weights.
    """
    found = cdist(Z, Y)
    gap = D - found
    W = np.maximum(D, np.maximum(FLOOR * D.mean(axis=1, keepdims=True), _TINY)) ** -float(power)
    scale = np.maximum((W * np.square(D)).sum(axis=1), _TINY)[:, None]
    F = -2 * W * gap / np.maximum(found, 1e-300) / scale
    F[found == 0] = 0  # no direction to push in
    return (W * np.square(gap) / scale).sum(axis=1), _pull(F, Z, Y)
