"""Elastic stress and its gradients, in the positions and in the weights of a mixture (Rice 2016, eq. 1).

E = sum_{i<j} w_ij (D_ij - d_ij)^2, d_ij = |y_i - y_j|, elastic weights w_ij = 1 / D_ij^2.

Eq. 1 divides by zero for equal rows. Pairs nearer than `floor` (`FLOOR` of the mean dissimilarity) are therefore
weighted as if they were that far apart: w_ij = 1 / max(D_ij, floor)^2. Nothing else changes.

Both gradients printed in the paper are those of 2 E, the sum over all ordered pairs, while eq. 1 sums over j < i; its
weight gradient also lost the pair sum in one line and a fraction bar in another. The functions here differentiate E.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import eigsh

from prismap._blocks import row_blocks

#: Pairs nearer than this share of the mean dissimilarity are weighted as if they were that far apart.
FLOOR = 1e-3
#: Classical positions are moved by this share of the mean dissimilarity: from a line no gradient leads away.
JITTER = 1e-4
#: Bytes of one block of pairs: it stays in the cache between the passes over it.
BLOCK_BYTES = 2**20


def elastic_floor(D):
    """The floor for a matrix (or vector) of dissimilarities between pairs; 1 if all are zero."""
    n_pairs = D.size - len(D) if D.ndim == 2 else D.size
    return FLOOR * float(D.sum()) / max(n_pairs, 1) or 1.0


def elastic_weights(D, floor=None):
    """w_ij = 1 / max(D_ij, floor)^2, and 0 on the diagonal."""
    W = np.maximum(D, elastic_floor(D) if floor is None else floor)
    W *= W
    np.reciprocal(W, out=W)
    np.fill_diagonal(W, 0.0)
    return W


def stress(Y, D, W):
    """E and dE/dy_i = 2 sum_j w_ij (1 - D_ij / d_ij) (y_i - y_j), for square symmetric D and W (zero diagonal).

    Points that coincide push each other nowhere (the zero subgradient).
    """
    total, gradient = 0.0, np.empty_like(Y)
    with_one = np.column_stack([Y, np.ones(len(Y))])
    for rows in row_blocks(len(Y), 8.0 * len(Y), budget=BLOCK_BYTES):
        d = distances(Y[rows], Y)
        residual = D[rows] - d
        force = W[rows] * residual
        total += float(np.einsum("ij,ij->", force, residual)) / 2
        d[d == 0] = np.inf
        force /= d
        pulled = force @ with_one
        gradient[rows] = 2 * (pulled[:, :-1] - pulled[:, -1:] * Y[rows])
    return total, gradient


def distances(A, B):
    """|a_i - b_j| in few dimensions, by passes over a block in the cache: three times scipy's speed."""
    d = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        gap = np.subtract.outer(a, b)
        gap *= gap
        d += gap
    return np.sqrt(d, out=d)


def position_objective(D, W, n_components):
    """E as a function of the flattened positions, for a minimiser."""

    def objective(flat):
        value, gradient = stress(flat.reshape(-1, n_components), D, W)
        return value, gradient.ravel()

    return objective


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


def weight_objective(matrices, d, floor, allow_negative=True):
    """E as a function of the raw weights a, or of their roots (a = b^2) where weights must not be negative."""
    if allow_negative:
        return lambda a: mixture_stress(a, matrices, d, floor)

    def objective(b):
        value, gradient = mixture_stress(b**2, matrices, d, floor)
        return value, 2 * b * gradient

    return objective


def largest_eigenvalue(D):
    """The largest eigenvalue of a symmetric matrix of dissimilarities (zero diagonal, so never negative)."""
    if len(D) < 3 or not D.any():
        return max(float(np.linalg.eigvalsh(D)[-1]), 0.0)
    # A constant start is close to the leading vector of a non-negative matrix, and the same on every run.
    return float(eigsh(D, k=1, which="LA", v0=np.ones(len(D)), return_eigenvectors=False)[0])


def classical_positions(D, n_components):
    """Classical scaling: leading coordinates of the doubly centred squared dissimilarities (kernel PCA of -D^2/2).

    Negative eigenvalues are clipped; each axis points to where its largest entry is positive.
    """
    G = -0.5 * D**2
    G -= G.mean(axis=0)
    G -= G.mean(axis=1, keepdims=True)
    G = (G + G.T) / 2
    if len(D) > 10 * n_components:
        values, vectors = eigsh(G, k=n_components, which="LA", v0=np.linspace(1, 2, len(D)))
    else:
        values, vectors = np.linalg.eigh(G)
    order = np.argsort(values)[::-1][:n_components]
    vectors = vectors[:, order]
    vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])])
    Y = vectors * np.sqrt(np.maximum(values[order], 0.0))
    return np.pad(Y, ((0, 0), (0, n_components - Y.shape[1])))
