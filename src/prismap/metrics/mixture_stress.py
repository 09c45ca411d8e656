"""Elastic stress as a function of the weights of a mixture (Rice 2016, eq. 1).

E = sum_{i<j} w_ij (D_ij - d_ij)^2, d_ij = |y_i - y_j|, elastic weights w_ij = 1 / D_ij^2 (`prismap._costs`).

Both gradients printed in the paper are those of 2 E, the sum over all ordered pairs, while eq. 1 sums over j < i; its
weight gradient also lost the pair sum in one line and a fraction bar in another. The functions here differentiate E.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh

from prismap._blocks import row_blocks

#: Bytes of one block of pairs: it stays in the cache between the passes over it.
BLOCK_BYTES = 2**20


def mixture_stress(a, matrices, d, floor):
    """E and dE/da_l for D = sum_l alpha_l D^l, alpha = a / sum(a), at fixed distances d of the positions.

    `matrices` is (L, n_pairs) and `d` (n_pairs,): each pair once. dE/dD = 2 (1 - d/D) d/D^2 above the floor and
    2 (D - d) / floor^2 below it; dE/da_l = (dE/dalpha_l - sum_m alpha_m dE/dalpha_m) / sum(a).
    """
    total = a.sum()
    alpha = a / total
    value, by_alpha = 0.0, np.zeros(len(a))
    for pairs in row_blocks(len(d), 8.0 * len(a), budget=BLOCK_BYTES):
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
