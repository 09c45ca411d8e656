"""The Parzen posterior of many rows: every row is judged by its own nearest labelled rows, out of all of them.

A support of a few thousand rows makes the posterior coarse where there are many more. Here each row x has its local
support, its nearest labelled rows outside its fold, with Gaussian weights of one perplexity:

    p(c | x) = sum_{l near x, c_l = c} w_l(x),    w_l(x) ~ exp(-||x - x_l||^2 / 2 sigma(x)^2).

All labels are seen, for the price of one neighbour search in the data's own geometry. How many rows should judge is
another question than how many a map keeps together: the denser the rows, the fewer know best. So the perplexity is that
of the map or a smaller one, whichever has the lowest log-loss, out of fold.

New rows find their local support by `prismap.metrics.nearest`, without a pass over all labelled rows where these are
many vectors. What lies between two rows is not looked at (one sub-segment, see `prismap.metrics.posteriors.rowwise`).
"""

from __future__ import annotations

import numpy as np

from prismap._affinities import bandwidths
from prismap._blocks import row_blocks
from prismap._partition import partition_neighbors
from prismap.metrics.geometry import FittedIndex
from prismap.metrics.nearest import nearest_among, number_of, part_of
from prismap.metrics.posteriors.lssvm import log_loss

#: Neighbours in units of the perplexity, and how many folds share them out.
NEIGHBORS_FACTOR, N_FOLDS = 3, 10
#: Perplexities that are tried beside the map's own, in units of it, and at least; rows that tell which is best.
SMALLER, FEWEST_JUDGING, TELLING_ROWS = (1 / 2, 1 / 3, 1 / 6), 2.0, 5000


def local_probabilities(geometry, target, perplexity, rng, *, cross_fit=True):
    """Class probabilities (n, C) of the fitted rows, each by labelled rows outside its own fold, and the perplexity."""
    codes, n_classes, labelled = target.values, len(target.classes), target.labelled_rows
    k = min(int(NEIGHBORS_FACTOR * perplexity), len(labelled) - 1)

    def between(a, b):
        return geometry.squared_to(FittedIndex(labelled[a]), labelled[b])

    found = partition_neighbors(between, len(labelled), k, random_state=rng)
    folds = target.folds(labelled, N_FOLDS, rng) if cross_fit else np.arange(len(labelled))
    D2 = np.maximum(found.distances.astype(np.float64), 0)
    D2[folds[found.indices] == folds[:, None]] = np.inf
    near = codes[labelled][found.indices]
    judging = best_perplexity(D2, near, codes[labelled], n_classes, perplexity, rng)
    P = np.empty((geometry.n_rows_, n_classes))
    P[labelled] = class_shares(D2, near, n_classes, judging)
    others = np.flatnonzero(codes < 0)
    if len(others):
        P[others] = LabelledRows(geometry, codes, n_classes, perplexity, judging).judge(FittedIndex(others))
    return P, judging


def best_perplexity(D2, near, codes, n_classes, perplexity, rng):
    """The perplexity of the lowest log-loss, on some rows with these codes whose nearest have the codes `near`."""
    rows = rng.permutation(len(codes))[:TELLING_ROWS]
    D2, near, codes = D2[rows], near[rows], codes[rows]
    smaller = (perplexity * share for share in SMALLER)
    tried = [float(perplexity), *(one for one in smaller if one >= FEWEST_JUDGING)]
    return tried[int(np.argmin([log_loss(class_shares(D2, near, n_classes, one), codes) for one in tried]))]


class LabelledRows:
    """The labelled rows, and how the nearest of them judge rows that have no label.

    Parameters
    ----------
    geometry : the metric of the data's own distances.
    codes : class codes of its rows, -1 where there is no label.
    n_classes : number of classes.
    perplexity, judging : that of the map, which says how many rows are looked at, and that of their weights.
    """

    def __init__(self, geometry, codes, n_classes, perplexity, judging):
        labelled = np.flatnonzero(codes >= 0)
        self.codes, self.nearest = codes[labelled], nearest_among(geometry, labelled)
        self.n_classes, self.judging = n_classes, judging
        self.n_neighbors = min(int(NEIGHBORS_FACTOR * perplexity), len(labelled))

    def judge(self, rows, self_similarity=None):
        """Class probabilities of rows, new ones or a `FittedIndex`."""
        n_rows = number_of(rows)
        P = np.empty((n_rows, self.n_classes))
        for block in row_blocks(n_rows, 64.0 * self.n_neighbors):
            own = None if self_similarity is None else self_similarity[block]
            D2, near = self.nearest.find(part_of(rows, block), self.n_neighbors, own)
            P[block] = class_shares(D2, self.codes[near], self.n_classes, self.judging)
        return P


def class_shares(D2, codes, n_classes, perplexity):
    """Gaussian weights of a perplexity, summed by class; infinite distances carry none.

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
