"""What a mapping minimises: the cost of an embedding, over its coefficients or over one new position at a time.

Notation: Z (b, d) are new positions, Y (n, d) the fixed ones. Sums over rows go through ``einsum`` instead of matrix
products where a row's result must not depend on the other rows.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.base import BaseEstimator

from prismap._util.affinities import lower_perplexity, pair_affinities
from prismap._util.arrays import TINY
from prismap._util.costs import FLOOR, elastic_weights, gaussian_cost, sammon_weights, stress_cost, tsne_cost
from prismap._util.optimise import minimize
from prismap._util.params import Interval, StrOptions
from prismap.exceptions import InputError

#: The powers of a distance by which the stresses divide its squared error.
STRESSES = {"mds": 0, "sammon": 1, "elastic": 2}
#: Methods that place a new sample in closed form.
SPECTRAL = ("classical", "isomap", "lle", "mvu")
#: The costs by which coefficients are trained, and those by which single samples are placed.
MAP_COSTS = ("tsne", "tnerv", "nerv", *STRESSES)
PLACEMENT_COSTS = ("tsne", "nerv", *STRESSES, *SPECTRAL)


class MapCost(BaseEstimator):
    """The cost that a mapping minimises: that of the embedding from which the positions come.

    Parameters
    ----------
    name : str, default="tsne"
        "tsne": KL(P || Q) of t-SNE. "nerv" and "tnerv": ``gamma KL(P || Q) + (1 - gamma) KL(Q || P)`` of NeRV and
        t-NeRV. "mds", "sammon" and "elastic": the stress of the distances. For `DirectPlacement` also the spectral
        methods "classical", "isomap", "lle" and "mvu", and not "tnerv".
    perplexity : float, default=30
        Effective number of neighbours, that of the embedding ("tsne", "tnerv" and "nerv").
    gamma : float in [0, 1], default=0.5
        For "nerv" and "tnerv". 1 asks that no neighbour is missed, 0 that no false neighbour is shown.
    n_neighbors : int or "auto", default="auto"
        Neighbours of the graph ("isomap") or of the weights ("lle", "mvu"). "auto" is what the embeddings take: as few
        as connect all samples, from 10 on for "lle", and 6 for "mvu".

    See Also
    --------
    KernelMap : ``solver=MapCost(...)`` trains its coefficients.
    ParametricMap : ``cost=MapCost(...)`` trains its weights.
    DirectPlacement : ``cost=MapCost(...)`` places each sample where the cost is lowest.

    Examples
    --------
    >>> MapCost("nerv", perplexity=10, gamma=0.2)
    MapCost(gamma=0.2, name='nerv', perplexity=10)
    """

    _parameter_constraints: dict = {
        "name": [StrOptions({*MAP_COSTS, *PLACEMENT_COSTS})],
        "perplexity": [Interval(Real, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, name="tsne", *, perplexity=30, gamma=0.5, n_neighbors="auto"):
        self.name = name
        self.perplexity = perplexity
        self.gamma = gamma
        self.n_neighbors = n_neighbors


def as_cost(cost, known):
    """The `MapCost` of a parameter that is a name or a `MapCost`, checked; its name must be one of `known`."""
    cost = MapCost(cost) if isinstance(cost, str) else cost
    cost._validate_params()
    if cost.name not in known:
        raise InputError(f"the cost {cost.name!r} is none that this mapping can minimise; use one of {known}.")
    return cost


def map_cost(cost, D):
    """A `MapCost` of rows with distances D, as a function of their positions: ``(cost_of, unit of length)``.

    Stress is relative, ``sum_{i<j} w_ij (d_ij - |y_i - y_j|)^2 / sum_{i<j} w_ij d_ij^2``, w of 1, 1 / d or 1 / d^2.
    """
    D2 = np.square(D)
    unit = float(np.sqrt(D2.mean())) or 1.0
    if cost.name in STRESSES:
        W = stress_weights(cost.name, D)
        total = 0.5 * float(D2.sum() if W is None else np.vdot(W, D2)) or 1.0
        return lambda Y: tuple(value / total for value in stress_cost(Y, D, W)), unit
    np.fill_diagonal(D2, np.inf)
    perplexity = lower_perplexity(cost.perplexity, len(D))
    if cost.name == "nerv":
        return gaussian_cost(D2, perplexity, gamma=cost.gamma), unit
    gamma = 1.0 if cost.name == "tsne" else cost.gamma
    return partial(tsne_cost, P=pair_affinities(D2, perplexity), gamma=gamma), 1.0


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

    minimum = minimize(
        of_coefficients, A / unit, max_iter=max_iter, n_evaluations=2 * max_iter, tol=1e-9, gradient_tol=1e-8
    )
    return unit * minimum.x, minimum.value


def _pull(F, Z, Y):
    """``sum_j F_ij (z_i - y_j)``, row by row."""
    return F.sum(axis=1)[:, None] * Z - np.einsum("ij,jk->ik", F, Y)


def tsne_placement(Z, Y, P, rest):
    """The part of KL(P || Q) that depends on a new position, with all others fixed (Gisbrecht et al. 2012, sec. 2).

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

    q_j ~ exp(-|z - y_j|^2 / 2 sigma^2) with the row's sigma in the data space, as NeRV has it (Schulz 2017, 2.2.2).
    """
    half = 0.5 / np.square(sigma)[:, None]
    D2 = cdist(Z, Y, "sqeuclidean")
    E = -half * D2
    log_q = E - logsumexp(E, axis=1, keepdims=True)
    Q = np.exp(log_q)
    ratio = log_q - np.log(np.maximum(P, TINY))
    recall = -np.einsum("ij,ij->i", P, ratio)
    precision = np.einsum("ij,ij->i", Q, ratio)
    F = gamma * (P - Q) - (1 - gamma) * Q * (ratio - precision[:, None])
    return gamma * recall + (1 - gamma) * precision, _pull(2 * half * F, Z, Y)


def stress_placement(Z, Y, D, power=0):
    """``sum_j w_j (d_j - |z - y_j|)^2 / sum_j w_j d_j^2``, the stress of the new row, with ``w_j = d_j^-power``.

    Powers 0, 1 and 2 are metric, Sammon's and elastic scaling. Distances below `FLOOR` of the row's mean distance count
    as that in the weights.
    """
    E = cdist(Z, Y)
    gap = D - E
    W = np.maximum(D, np.maximum(FLOOR * D.mean(axis=1, keepdims=True), TINY)) ** -float(power)
    scale = np.maximum((W * np.square(D)).sum(axis=1), TINY)[:, None]
    F = -2 * W * gap / np.where(E > 0, E, np.inf) / scale  # at a fitted position there is no direction to push in
    return (W * np.square(gap) / scale).sum(axis=1), _pull(F, Z, Y)
