"""The Parzen posterior of many rows: every row is judged by its own nearest labelled rows, out of all of them.

A support of a few thousand rows makes the posterior coarse where there are many more. Here each row x has its local
support, its nearest labelled rows outside its fold, with Gaussian weights of the wanted perplexity:

    p(c | x) = sum_{l near x, c_l = c} w_l(x),    w_l(x) ~ exp(-||x - x_l||^2 / 2 sigma(x)^2).

All labels are seen, for the price of one neighbour search in the data's own geometry; what lies between two rows is not
looked at (one sub-segment, see `prismap.metrics.posteriors.rowwise`).
"""

from __future__ import annotations

import numpy as np

from prismap._affinities import bandwidths
from prismap._blocks import WORKING_BYTES, row_blocks
from prismap._partition import partition_neighbors
from prismap._search import smallest
from prismap.metrics.geometry import FittedIndex
from prismap.metrics.support import stratified_folds

#: Neighbours in units of the perplexity, and how many folds share them out.
NEIGHBORS_FACTOR, N_FOLDS = 3, 10


def local_probabilities(geometry, codes, n_classes, perplexity, rng, *, cross_fit=True):
    """Class probabilities (n, C) of the fitted rows, each by labelled rows outside its own fold."""
    labelled = np.flatnonzero(codes >= 0)
    k = min(int(NEIGHBORS_FACTOR * perplexity), len(labelled) - 1)

    def between(a, b):
        return geometry.squared_to(FittedIndex(labelled[a]), labelled[b])

    found = partition_neighbors(between, len(labelled), k, random_state=rng)
    folds = stratified_folds(codes[labelled], N_FOLDS, rng) if cross_fit else np.arange(len(labelled))
    D2 = np.maximum(found.distances.astype(np.float64), 0)
    D2[folds[found.indices] == folds[:, None]] = np.inf
    P = np.empty((geometry.n_rows_, n_classes))
    P[labelled] = class_shares(D2, codes[labelled][found.indices], n_classes, perplexity)
    others = np.flatnonzero(codes < 0)
    P[others] = probabilities_of_new(geometry, FittedIndex(others), len(others), codes, n_classes, perplexity)
    return P


def probabilities_of_new(geometry, rows, n_rows, codes, n_classes, perplexity, self_similarity=None):
    """Class probabilities of rows that have no label, by their nearest labelled ones."""
    labelled = np.flatnonzero(codes >= 0)
    k = min(int(NEIGHBORS_FACTOR * perplexity), len(labelled))
    P = np.empty((n_rows, n_classes))
    for block in row_blocks(n_rows, 24.0 * len(labelled), WORKING_BYTES):
        part = FittedIndex(rows.index[block]) if isinstance(rows, FittedIndex) else rows[block]
        own = None if self_similarity is None else self_similarity[block]
        D2, near = smallest(np.maximum(geometry.squared_to(part, labelled, own), 0), k)
        P[block] = class_shares(D2.astype(np.float64), codes[labelled][near], n_classes, perplexity)
    return P


def class_shares(D2, codes, n_classes, perplexity):
    """Gaussian weights of the wanted perplexity, summed by class; infinite distances carry none.

    A row whose whole neighbourhood was struck out knows nothing: all classes alike.
    """
    D2 = D2.copy()
    blind = ~np.isfinite(D2).any(axis=1)
    D2[blind] = 0.0
    sigma = bandwidths(D2, perplexity)
    sigma = np.where(sigma > 0, sigma, 1.0)
    W = np.exp((D2.min(axis=1, keepdims=True) - D2) / (2 * sigma[:, None] ** 2))
    shares = np.zeros((len(D2), n_classes))
    np.add.at(shares, (np.arange(len(D2))[:, None], codes), W)
    shares /= shares.sum(axis=1, keepdims=True)
    shares[blind] = 1.0 / n_classes
    return shares
