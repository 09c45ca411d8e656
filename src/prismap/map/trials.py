"""What a map would show, tried out before it is made: how well the nearest rows tell the target of a row.

Pure functions on arrays. The loss of a row is 0 or 1 for a class, by the majority of its ten nearest, and the mean
squared error of their mean for numbers, which are standardised and have a column each.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from prismap._random import as_generator
from prismap._search import smallest
from prismap.map.make import make_embedding
from prismap.mappings import VoteMap
from prismap.metrics.base import PrecomputedMetric

N_NEIGHBORS = 10
#: Iterations of a quick map: half as many with exaggeration come on top.
QUICK_STEPS = 50


def nearest_rows(D2):
    """The ten nearest other rows of each row, nearest first, by squared distances (n, n), whose diagonal is lost."""
    np.fill_diagonal(D2, np.inf)
    return smallest(D2, min(N_NEIGHBORS, len(D2) - 1))[1]


def row_losses(near, y, *, real):
    """Loss of each row by its nearest rows."""
    if real:
        return np.square(y[near].mean(axis=1) - y).mean(axis=1)
    return (~is_majority(y[near], y)).astype(np.float64)


def kept_share(near, own):
    """Mean share of the rows' own nearest that are among their nearest."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(own, near, strict=True)]))


def is_majority(votes, codes):
    """Whether the most frequent code among each row's votes, nearest first, is its own; ties go to the nearest."""
    same = votes[:, :, None] == votes[:, None, :]
    counts = same.sum(axis=2)
    winner = votes[np.arange(len(votes)), counts.argmax(axis=1)]
    return winner == codes


def paired_gap(a, b):
    """Mean of a - b over rows, and its standard error."""
    gap = a - b
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else np.inf


def placed_losses(placed, y, Y, fitted, *, real):
    """Loss of each placed row by its ten nearest fitted rows on the map."""
    near = smallest(cdist(placed, Y), min(N_NEIGHBORS, len(Y)))[1]
    if real:
        return np.square(fitted[near].mean(axis=1) - y).mean(axis=1)
    return (~is_majority(fitted[near], y)).astype(np.float64)


def quick_losses(D, y, *, perplexity, seed, real):
    """Loss of each row by its nearest rows on a quick map of the other half of the rows, on which votes place it.

    Distances do not know what two dimensions can hold: where much of them is noise, a map keeps less than they tell. A
    short t-SNE shows it already. The halves have equal shares of the classes.
    """
    ties = as_generator(seed).permutation(len(D))
    order = np.lexsort((ties, y[:, 0] if real else y))
    halves, losses = (order[::2], order[1::2]), np.empty(len(D))
    for kept, out in (halves, halves[::-1]):
        among = D[np.ix_(kept, kept)]
        metric = PrecomputedMetric.of(among)
        settings = {"perplexity": min(perplexity, (len(kept) - 1) / 3), "seed": seed, "n_iter": QUICK_STEPS}
        Y = make_embedding("tsne", **settings).set_params(metric=metric).fit(among).embedding_
        placed = VoteMap(metric=metric).fit(among, Y).place(D[np.ix_(out, kept)])
        losses[out] = placed_losses(placed, y[out], Y, y[kept], real=real)
    return losses


def standardised(y):
    """Real targets with mean 0 and variance 1, one a column."""
    y = y.reshape(len(y), -1).astype(np.float64)
    spread = y.std(axis=0)
    return (y - y.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
