"""Where a match starts: turned axes, and couplings of the two spaces by their own distances.

Matching without correspondences has many local optima: axes may be turned, mirrored or exchanged, clusters may change
places. Starts are first positions for target rows; `shared` decides between what becomes of them.
"""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform
from scipy.stats import ortho_group

#: Entropy of a coupling from soft to sharp, without and with a start, in units of the mean distance squared.
_FROM_NOTHING, _FROM_ANCHORS = np.geomspace(0.1, 0.001, 12), np.geomspace(0.02, 0.001, 8)
_FROM_EXCHANGE, _SHARP = np.geomspace(0.02, 0.002, 3), np.geomspace(0.005, 0.001, 5)
_COUPLING_STEPS, _SINKHORN_STEPS = 4, 30
#: Rows that pin down a random start of a coupling.
_N_ANCHORS = 4
#: Clusters of the source, at most, that change partners, and the least share of the rows in one.
_MOST_CLUSTERS, _SMALLEST_CLUSTER = 5, 0.05
#: Couplings that put target rows less far apart than this, in units of the mean distance of source rows, count as one.
_SAME = 0.1

_TINY = np.finfo(float).tiny


def turns(q, n_turns, rng):
    """`n_turns` orthogonal matrices (q, q): signed permutations of the axes (8 in the plane) first, then chance.

    >>> len(turns(2, 10, np.random.default_rng(0)))
    10
    """
    found: list[np.ndarray] = []
    for order in permutations(range(q)) if q <= 4 else ():
        for signs in product((1.0, -1.0), repeat=q):
            if len(found) < n_turns:
                found.append(np.eye(q)[list(order)] * np.asarray(signs))
    while len(found) < n_turns:
        found.append(ortho_group.rvs(q, random_state=rng) if q > 1 else rng.choice([-1.0, 1.0], (1, 1)))
    return found


def structure(rows):
    """Square roots of the Euclidean distances between rows, in units of their mean.

    The root weighs near rows, on which two views of the same things agree best, more than far ones.
    """
    R = np.sqrt(cdist(rows, rows))
    return R / max(R.mean(), _TINY)


def couplings(C, D, n_starts, rng, most=6):
    """The best few different couplings of structures C (n, n) and D (m, m): ``(distortion, coupling)``, best first.

    One comes from no start at all, the others from far-apart rows of both spaces paired at random, and then from the
    best by an exchange of two clusters. Two that preserve distances equally well may differ all the same, so it is not
    the distortion that tells them apart.
    """
    found = [_lower(C, D, np.full((len(C), len(D)), 1.0 / (len(C) * len(D))), _FROM_NOTHING)]
    for _ in range(n_starts - 1):
        found.append(_lower(C, D, _anchored(C, D, rng), _FROM_ANCHORS))
    best = different_couplings(C, D, found, 1)[0][1]
    exchanged = different_couplings(C, D, exchanges(C, D, best), most)
    # Sharp from the start, so that an exchange is not undone on the way down.
    found += [_lower(C, D, T, _SHARP) for _, T in exchanged]
    return different_couplings(C, D, found, most)


def exchanges(C, D, T):
    """Couplings like T, but with two clusters of the source changing partners, each lowered without undoing that.

    Clusters are those of single and of Ward's linkage, at every number from 2 to 5, but none of very few rows; a target
    row belongs where most of its partners are.
    """
    n, found = len(C), {}
    for method in ("single", "ward"):
        tree = linkage(squareform(C, checks=False), method)
        for n_clusters in range(2, min(_MOST_CLUSTERS, n) + 1):
            label = fcluster(tree, n_clusters, "maxclust") - 1
            member = np.eye(n_clusters)[label]
            mine = (member.T @ T).argmax(axis=0)
            large = np.flatnonzero(member.sum(axis=0) >= _SMALLEST_CLUSTER * n)
            for a, b in combinations(large.tolist(), 2):
                moved = np.where(mine == a, b, np.where(mine == b, a, mine))
                allowed = (label[:, None] == moved) | ((label != a) & (label != b))[:, None] & (
                    (moved != a) & (moved != b)
                )
                found[allowed.tobytes()] = allowed
    return [_lower(C, D, sinkhorn(1.0 - allowed, 0.05), _FROM_EXCHANGE, allowed) for allowed in found.values()]


def different_couplings(C, D, found, most):
    """``(distortion, coupling)`` of the best couplings that differ, at most so many, best first."""
    ranked = sorted(((distortion(C, D, T), k) for k, T in enumerate(found)))
    kept: list[tuple[float, np.ndarray]] = []
    for value, k in ranked:
        if len(kept) < most and all(way(C, found[k], T) > _SAME for _, T in kept):
            kept.append((value, found[k]))
    return kept


def way(C, S, T):
    """How far two couplings put the target rows apart: the energy distance of their partners, mean over the rows.

    sum_j s_j C t_j - (s_j C s_j + t_j C t_j) / 2 with columns s_j, t_j; C in units of its mean.
    """
    CS, CT = C @ S, C @ T
    return S.shape[1] * float(np.vdot(S, CT) - (np.vdot(S, CS) + np.vdot(T, CT)) / 2)


def _lower(C, D, T, entropies, allowed=None):
    """Minimise sum (c_ik - d_jl)^2 t_ij t_kl over couplings T of two uniform distributions, entropy falling.

    The Gromov-Wasserstein problem by projected mirror descent (Peyré, Cuturi & Solomon 2016): each step is an optimal
    transport with the cost linearised at T. Time O(n m (n + m)) a step. Only pairs in the mask `allowed` are joined.
    """
    constant = np.square(C).mean(axis=1)[:, None] + np.square(D).mean(axis=1)
    if allowed is not None:
        constant = np.where(allowed, constant, constant + 1.0)
    for entropy in entropies:
        for _ in range(_COUPLING_STEPS):
            T = sinkhorn(constant - 2 * C @ T @ D, entropy)
    return T


def _anchored(C, D, rng):
    """A first coupling: rows are alike if they lie alike to far-apart rows, which are paired at random."""
    a, b = _far_apart(C, rng), _far_apart(D, rng)
    k = min(len(a), len(b))
    a, b = a[:k], rng.permutation(b[:k])
    return sinkhorn(cdist(C[:, a], D[:, b], "sqeuclidean") / k, 0.05)


def _far_apart(D, rng):
    chosen = [int(rng.integers(len(D)))]
    while len(chosen) < min(_N_ANCHORS, len(D)):
        chosen.append(int(D[chosen].min(axis=0).argmax()))
    return chosen


def sinkhorn(cost, entropy):
    """The coupling of two uniform distributions of the form u_i exp(-cost_ij / entropy) v_j."""
    n, m = cost.shape
    K = np.maximum(np.exp((cost.min(axis=1, keepdims=True) - cost) / entropy), 1e-200)
    v = np.ones(m)
    for _ in range(_SINKHORN_STEPS):
        u = 1.0 / (n * (K @ v))
        v = 1.0 / (m * (K.T @ u))
    return u[:, None] * K * v


def distortion(C, D, T):
    """Root mean squared c_ik - d_jl over pairs of pairs drawn from a coupling T: 0 if T preserves all distances."""
    p, q = T.sum(axis=1), T.sum(axis=0)
    return float(np.sqrt(max(p @ np.square(C) @ p + q @ np.square(D) @ q - 2 * np.vdot(C @ T @ D, T), 0.0)))
