"""The costs by which weights of a mixture can be learnt: elastic stress, and those of other maps (Rice 2016, sec. 4).

A cost places rows under a given mixture, ``place(D, Y) -> Minimum``, and is a function of the weights at given
positions, ``of_weights(matrices, weights, Y)``. All mixtures are condensed: each pair once.

The elastic stress (Rice 2016, eq. 1) is E = sum_{i<j} w_ij (D_ij - d_ij)^2, d_ij = |y_i - y_j|, with the elastic
weights w_ij = 1 / D_ij^2 (`prismap._util.costs`). Both gradients printed in the paper are those of 2 E, the sum over
all ordered pairs, while eq. 1 sums over j < i; its weight gradient also lost the pair sum in one line and a fraction
bar in another. The functions here differentiate E.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from numbers import Real

import numpy as np
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.base import BaseEstimator

from prismap._util.affinities import calibrate, lower_perplexity, row_affinities, symmetrised
from prismap._util.arrays import TINY
from prismap._util.blocks import row_blocks
from prismap._util.costs import (
    FLOOR,
    SMALLEST_AFFINITY,
    SMALLEST_BANDWIDTH,
    elastic_weights,
    nerv_cost,
    stress_cost,
    tsne_cost,
)
from prismap._util.graphs import connected_neighbours, geodesics, neighbour_graph
from prismap._util.optimise import Minimum, minimize
from prismap._util.params import Interval, StrOptions
from prismap._util.spectra import classical_scaling, double_centre
from prismap.metrics._base import PrecomputedMetric


def mixture_stress(a, matrices, d, floor, *, block_bytes=2**20):
    """E and dE/da_l for D = sum_l alpha_l D^l, alpha = a / sum(a), at fixed distances d of the positions.

    `matrices` is (L, n_pairs) and `d` (n_pairs,): each pair once. dE/dD = 2 (1 - d/D) d/D^2 above the floor and
    2 (D - d) / floor^2 below it; dE/da_l = (dE/dalpha_l - sum_m alpha_m dE/dalpha_m) / sum(a). A block of pairs of
    `block_bytes` stays in the cache between the passes over it.
    """
    total = a.sum()
    alpha = a / total
    value, by_alpha = 0.0, np.zeros(len(a))
    for pairs in row_blocks(len(d), 8.0 * len(a), budget=block_bytes):
        part = matrices[:, pairs]
        D = alpha @ part
        scale = np.maximum(D, floor)
        relative = (D - d[pairs]) / scale
        value += float(relative @ relative)
        by_alpha += part @ (2 * relative / scale * np.where(scale > floor, d[pairs] / scale, 1.0))
    return value, (by_alpha - alpha @ by_alpha) / total


def mix(alpha, matrices):
    """D = sum_l alpha_l D^l. (No BLAS: its threads cost more than they bring in a product bound by memory.)"""
    return np.einsum("l,lp->p", alpha, matrices)


def largest_eigenvalue(D):
    """The largest eigenvalue of a symmetric matrix of dissimilarities (zero diagonal, so never negative)."""
    if len(D) < 3 or not D.any():
        return max(float(np.linalg.eigvalsh(D)[-1]), 0.0)
    # A constant start is close to the leading vector of a non-negative matrix, and the same on every run.
    return float(eigsh(D, k=1, which="LA", v0=np.ones(len(D)), return_eigenvectors=False)[0])


class ElasticCost:
    """``sum_{i<j} (D_ij - |y_i - y_j|)^2 / D_ij^2``, the paper's eq. 1."""

    def place(self, D, Y, **options):
        """Positions of lower stress."""
        D = squareform(D)
        return minimize(partial(stress_cost, D=D, W=elastic_weights(D, FLOOR)), Y, relative=True, **options)

    def of_weights(self, matrices, weights, Y):
        """The stress as a function of the raw weights."""
        d = pdist(Y)
        return lambda a: mixture_stress(a, matrices, d, FLOOR)


class PairCost(ABC):
    """A cost that is a sum over pairs of a function of D and d = |y_i - y_j|; subclasses write the function.

    Two of the maps that Rice (2016, sec. 4) names have such a cost.
    """

    @abstractmethod
    def pair_cost(self, D, d):
        """The cost of each pair and its derivatives by D and d."""

    def place(self, D, Y, **options):
        """Positions of lower cost."""
        return minimize(partial(self.of_positions, D=D), Y, relative=True, **options)

    def of_positions(self, Y, D):
        """The cost of positions and its gradient; two rows at one place do not move each other."""
        d = pdist(Y)
        cost, _, by_d = self.pair_cost(D, d)
        F = squareform(np.divide(by_d, d, out=np.zeros_like(d), where=d > 0), checks=False)
        return float(cost.sum()), F.sum(axis=1)[:, None] * Y - F @ Y

    def of_weights(self, matrices, weights, Y):
        """The cost as a function of the raw weights."""
        d = pdist(Y)

        def objective(a):
            total = a.sum()
            alpha = a / total
            cost, by_D, _ = self.pair_cost(mix(alpha, matrices), d)
            by_alpha = matrices @ by_D
            return float(cost.sum()), (by_alpha - alpha @ by_alpha) / total

        return objective


class CurvilinearCost(PairCost):
    """Curvilinear component analysis (Demartines and Herault 1997): ``(D - d)^2 exp(-d / reach)``.

    Near places of the map count, far ones do not, so that a manifold can be cut open. `reach` is in units of the mean
    of D at the start, which is about 1.
    """

    def __init__(self, reach):
        self.reach = reach

    def pair_cost(self, D, d):
        """The cost of each pair and its derivatives by D and d."""
        near, gap = np.exp(-d / self.reach), D - d
        return gap**2 * near, 2 * gap * near, -(2 * gap + gap**2 / self.reach) * near


class BregmanCost(PairCost):
    """Bregman scaling by the divergence of ``t log t``: ``d log(d / D) - d + D`` (Sun, Crowe and Fyfe 2011).

    Its second order at d = D is half of Sammon's stress. D counts as `FLOOR` at least.
    """

    def pair_cost(self, D, d):
        """The cost of each pair and its derivatives by D and d."""
        above = np.maximum(D, FLOOR)
        ratio = np.log(np.maximum(d, TINY) / above)
        return d * ratio - d + above, np.where(above > FLOOR, 1 - d / above, 0.0), ratio


class NeuroScaleCost:
    """The elastic stress of positions that are a function of the mixture: ``Y = phi(D) W`` (Rice 2016, sec. 2).

    phi is a Gaussian at every row, as wide as `reach`. The weights of the mixture move the positions, too, for the W
    that the positions have: ``dE/dD = dE/dD |_Y + phi'(D) (g W^T + W g^T)``, each pair once, with ``g = dE/dY``.
    """

    def __init__(self, reach):
        self.reach = reach

    def basis(self, D):
        """phi(D) of a square mixture."""
        return np.exp(-0.5 * np.square(np.maximum(D, 0.0) / self.reach))

    def directions(self, D, smallest=0.01):
        """The large eigenvalues of phi(D) and their vectors: with small ones positions would jump with the weights."""
        values, vectors = np.linalg.eigh(self.basis(D))
        kept = np.abs(values) > smallest * np.abs(values).max()
        return values[kept], vectors[:, kept]

    def place(self, D, Y, **options):
        """Positions of lower stress among those that the layer can give."""
        D = squareform(D)
        weights, U = elastic_weights(D, FLOOR), self.directions(D)[1]

        def objective(C):
            cost, by_Y = stress_cost(U @ C, D, weights)
            return cost, U.T @ by_Y

        lowest = minimize(objective, U.T @ Y, relative=True, **options)
        return Minimum(U @ lowest.x, lowest.value, lowest.n_iter, lowest.stop_reason)

    def of_weights(self, matrices, weights, Y):
        """The stress as a function of the raw weights, for the W of the present ones."""
        values, U = self.directions(squareform(mix(weights, matrices)))
        W = U @ (U.T @ Y / values[:, None])

        def objective(a):
            total = a.sum()
            alpha = a / total
            D = squareform(mix(alpha, matrices))
            F = self.basis(D)
            moved = F @ W
            _, by_Y = stress_cost(moved, D, elastic_weights(D, FLOOR))
            value, by_a = mixture_stress(a, matrices, pdist(moved), FLOOR)
            pull = by_Y @ W.T
            by_D = -np.maximum(D, 0.0) / self.reach**2 * F * (pull + pull.T)
            by_alpha = matrices @ squareform(by_D, checks=False)
            return value, by_a + (by_alpha - alpha @ by_alpha) / total

        return objective


class NeighborCost:
    """The cost of t-SNE or NeRV, whose affinities follow the mixture, bandwidths included.

    With ``s_ij = D_ij^2``, p_{j|i} ~ exp(-b_i s_ij) and b_i such that the perplexity stays as it is, a change of s
    moves b_i by ``-b_i Cov_p(s, ds) / Var_p(s)``. For g = dE/dp and h the derivative by b_i at fixed p (NeRV only,
    whose q have the same bandwidth) this gives ``dE/ds_ij = b_i p_ij ((s_ij - mean_p s) (Cov_p(g, s) - h) / Var_p(s) -
    (g_ij - mean_p g))``.
    """

    def __init__(self, name, perplexity, gamma):
        self.name, self.perplexity, self.gamma = name, perplexity, gamma

    def affinities(self, D):
        """P of the rows, their bandwidths and which of these the perplexity decides, for a square mixture D."""
        D2 = np.square(D)
        np.fill_diagonal(D2, np.inf)
        P, sigma = calibrate(D2, lower_perplexity(self.perplexity, len(D)))
        smallest = SMALLEST_BANDWIDTH * np.sqrt(np.mean(D2, where=np.isfinite(D2)))
        floored = (sigma < smallest) & (self.name == "nerv")  # as the embedding has it
        if floored.any():
            sigma[floored] = smallest
            P[floored] = row_affinities(D2[floored], sigma[floored])
        return P, sigma, ~floored

    def place(self, D, Y, **options):
        """Positions of lower cost."""
        P, sigma, _ = self.affinities(squareform(np.maximum(D, 0.0)))
        if self.name == "nerv":
            cost = partial(nerv_cost, P=P, sigma=sigma, gamma=self.gamma)
        else:
            cost = partial(tsne_cost, P=symmetrised(P))
        return minimize(cost, Y, relative=True, **options)

    def of_weights(self, matrices, weights, Y):
        """The cost as a function of the raw weights."""
        E2 = cdist(Y, Y, "sqeuclidean")

        def objective(a):
            total = a.sum()
            alpha = a / total
            D = mix(alpha, matrices)
            value, slope = self.slope(squareform(np.maximum(D, 0.0)), E2)
            by_D = squareform(slope + slope.T, checks=False) * 2 * np.maximum(D, 0.0)
            by_alpha = matrices @ by_D
            return value, (by_alpha - alpha @ by_alpha) / total

        return objective

    def slope(self, D, E2):
        """The cost of a square mixture D at squared distances E2 of positions, and dE/ds of each ordered pair."""
        P, sigma, free = self.affinities(D)
        s, beta = np.square(D), 0.5 / np.square(sigma)[:, None]
        value, g, h = self._nerv(P, beta, E2) if self.name == "nerv" else self._tsne(P, E2)
        centred, g = s - (P * s).sum(axis=1, keepdims=True), g - (P * g).sum(axis=1, keepdims=True)
        variance = (P * centred**2).sum(axis=1, keepdims=True)
        moved = (P * g * centred).sum(axis=1, keepdims=True) - h
        # Where equal rows alone decide, or the bandwidth is at its floor, it does not follow the distances.
        follows = (variance > 1e-12 * np.square(s.max(axis=1, keepdims=True))) & free[:, None]
        moved = np.divide(moved, variance, out=np.zeros_like(moved), where=follows)
        return value, beta * P * (centred * moved - g)

    def _tsne(self, P, E2):
        """KL(P || Q) over all pairs, its derivative by p_{j|i}, and none by b."""
        joint = symmetrised(P)
        W = 1 / (1 + E2)
        np.fill_diagonal(W, 0.0)
        ratio = np.log(np.maximum(joint, TINY) / np.maximum(W / W.sum(), TINY))
        np.fill_diagonal(ratio, 0.0)
        return float((joint * ratio).sum()), ratio / len(P), 0.0

    def _nerv(self, P, beta, E2):
        """The cost of NeRV, its derivative by p_{j|i}, and the one by b_i through q alone."""
        log_q = -beta * E2
        np.fill_diagonal(log_q, -np.inf)
        log_q -= log_q.max(axis=1, keepdims=True)
        Q = np.exp(log_q)
        total = Q.sum(axis=1, keepdims=True)
        Q /= total
        floored = np.maximum(P, SMALLEST_AFFINITY)
        ratio = np.log(floored * total) - log_q  # log(p / q)
        np.fill_diagonal(ratio, 0.0)
        value = self.gamma * (P * ratio).sum() - (1 - self.gamma) * (Q * ratio).sum()
        above = P > SMALLEST_AFFINITY
        g = self.gamma * (ratio + above) - (1 - self.gamma) * np.where(above, Q / floored, 0.0)
        by_q = -(1 - self.gamma) * ratio  # and -gamma p / q, whose part is simple: p times the same as q
        means = (Q * E2).sum(axis=1, keepdims=True)
        spread = (Q * by_q * (E2 - means)).sum(axis=1, keepdims=True)
        spread += -self.gamma * (P * (E2 - means)).sum(axis=1, keepdims=True)
        return float(value), g, -spread


class IsomapCost:
    """``|G - Y Y^T|^2 / |G|^2``, the share of the Gram matrix of path lengths that classical scaling leaves out.

    The paths are those over the smallest connected neighbour graph of the mixture. While the weights move they stay as
    they are, so that lengths are mixtures again, of the lengths of the same paths by each measure.
    """

    def place(self, D, Y, **options):
        """The positions of classical scaling."""
        D2 = np.square(self._paths(D)[0])
        size = float(np.square(double_centre(D2)).sum()) or 1.0
        Y, _, missing = classical_scaling(D2, Y.shape[1])
        return Minimum(Y, (missing * len(Y)) ** 2 / size, 1, "closed form")

    def of_weights(self, matrices, weights, Y):
        """The share as a function of the raw weights, for the paths of the present ones."""
        _, before = self._paths(mix(weights, matrices))
        lengths = path_lengths(matrices, before)
        wanted = (Y - Y.mean(axis=0)) @ (Y - Y.mean(axis=0)).T

        def objective(a):
            total = a.sum()
            alpha = a / total
            D = squareform(mix(alpha, lengths))
            G = double_centre(np.square(D))
            rest, size = G - wanted, float(np.square(G).sum()) or 1.0
            value = float(np.square(rest).sum()) / size
            by_G = 2 * (rest - value * G) / size
            by_D2 = double_centre(by_G)  # G = -J D2 J / 2, and so is the way back
            by_alpha = lengths @ squareform(4 * by_D2 * D, checks=False)
            return value, (by_alpha - alpha @ by_alpha) / total

        return objective

    def _paths(self, D):
        """Lengths of the shortest paths of a condensed mixture, and the row before each on them."""
        D = squareform(np.maximum(D, 0.0))
        near = connected_neighbours(PrecomputedMetric.of(D), len(D), "auto")
        return geodesics(neighbour_graph(*near), predecessors=True)


def path_lengths(matrices, before):
    """Lengths of the paths i -> j given by the row `before` j on each, by every measure: (L, n_pairs), condensed."""
    n = len(before)
    squares = np.stack([squareform(row) for row in matrices])
    lengths = np.zeros_like(squares)
    sources = np.broadcast_to(np.arange(n)[:, None], (n, n))
    known = np.eye(n, dtype=bool)
    while not known.all():
        last = np.where(before >= 0, before, 0)
        ready = ~known & known[sources, last]
        i, j = np.nonzero(ready)
        lengths[:, i, j] = lengths[:, i, last[i, j]] + squares[:, last[i, j], j]
        known |= ready
    return np.stack([squareform(0.5 * (one + one.T), checks=False) for one in lengths])


class MixtureCost(BaseEstimator):
    """What a mixture of dissimilarities is learnt by: the cost of an embedding, and its numbers.

    Parameters
    ----------
    name : {"elastic", "tsne", "nerv", "isomap", "cca", "bregman", "neuroscale"}, default="elastic"
        The elastic stress of the paper, KL(P || Q) of t-SNE, the cost of NeRV, the share of the path lengths' Gram
        matrix that Isomap leaves out, ``(D - d)^2 exp(-d / reach)`` of curvilinear component analysis, or the Bregman
        divergence ``d log(d / D) - d + D``, with D of the mixture and d of the positions. "neuroscale" is the elastic
        stress of positions ``phi(D) W``, which move with the weights.
    perplexity : float, default=30
        Effective number of neighbours ("tsne" and "nerv").
    reach : float, default=1.0
        How far pairs count on the map ("cca"), or the width of the basis functions ("neuroscale"), in units of the mean
        dissimilarity.
    gamma : float in [0, 1], default=0.5
        For "nerv". 1 asks that no neighbour is missed, 0 that no false neighbour is shown.

    See Also
    --------
    MixtureMetric : Takes it as ``cost=MixtureCost(...)``.

    Examples
    --------
    >>> MixtureCost("tsne", perplexity=10)
    MixtureCost(name='tsne', perplexity=10)
    """

    _parameter_constraints = {
        "name": [StrOptions({"elastic", "tsne", "nerv", "isomap", "cca", "bregman", "neuroscale"})],
        "perplexity": [Interval(Real, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "reach": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(self, name="elastic", *, perplexity=30, gamma=0.5, reach=1.0):
        self.name = name
        self.reach = reach
        self.perplexity = perplexity
        self.gamma = gamma

    def made(self):
        """The cost, after a check of the parameters."""
        self._validate_params()
        if self.name in ("tsne", "nerv"):
            return NeighborCost(self.name, self.perplexity, self.gamma)
        if self.name in ("cca", "neuroscale"):
            return (CurvilinearCost if self.name == "cca" else NeuroScaleCost)(self.reach)
        return {"elastic": ElasticCost, "isomap": IsomapCost, "bregman": BregmanCost}[self.name]()


def of_roots(objective):
    """A function of weights as one of their roots: squares are never negative."""

    def squared(b):
        value, gradient = objective(b**2)
        return value, 2 * b * gradient

    return squared
