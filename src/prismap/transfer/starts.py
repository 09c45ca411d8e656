"""Where a match starts: turned axes, and couplings of the two spaces by their own distances.

Matching without correspondences has many local optima: axes may be turned, mirrored or exchanged, clusters may change
places. Starts are first positions for target rows; `shared` decides between what becomes of them.
"""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import ortho_group

#: Entropy of a coupling from soft to sharp, without and with a start, in units of the mean distance squared.
_FROM_NOTHING, _FROM_ANCHORS = np.geomspace(0.1, 0.001, 12), np.geomspace(0.02, 0.001, 8)
_COUPLING_STEPS, _SINKHORN_STEPS = 4, 30
#: Rows that pin down a random start of a coupling.
_N_ANCHORS = 4
#: Couplings whose distortions differ by less than this share count as one.
_SAME = 0.003

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


def couplings(C, D, n_starts, rng, most=4):
    """The best few different couplings of structures C (n, n) and D (m, m): ``(distortion, coupling)``, best first.

    One comes from no start at all, the others from far-apart rows of both spaces paired at random.
    """
    found = [_lower(C, D, np.full((len(C), len(D)), 1.0 / (len(C) * len(D))), _FROM_NOTHING)]
    for _ in range(n_starts - 1):
        found.append(_lower(C, D, _anchored(C, D, rng), _FROM_ANCHORS))
    ranked = sorted(((distortion(C, D, T), k) for k, T in enumerate(found)))
    kept: list[tuple[float, int]] = []
    for value, k in ranked:
        if not kept or value > kept[-1][0] * (1 + _SAME):
            kept.append((value, k))
    return [(value, found[k]) for value, k in kept[:most]]


def _lower(C, D, T, entropies):
    """Minimise sum (c_ik - d_jl)^2 t_ij t_kl over couplings T of two uniform distributions, entropy falling.

    The Gromov-Wasserstein problem by projected mirror descent (Peyré, Cuturi & Solomon 2016): each step is an optimal
    transport with the cost linearised at T. Time O(n m (n + m)) a step.
    """
    constant = np.square(C).mean(axis=1)[:, None] + np.square(D).mean(axis=1)
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
