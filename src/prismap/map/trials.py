"""What a map would show, tried out before it is made: how well the nearest rows tell the target of a row.

Pure functions on arrays. The loss of a row is 0 or 1 for a class, by the majority of its ten nearest, and the mean
squared error of their mean for numbers, which are standardised and have a column each.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

from prismap._random import as_generator
from prismap._search import smallest
from prismap.map.quick import quick_maps
from prismap.mappings.vote_map import vote

N_NEIGHBORS = 10


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
    return float((own[:, :, None] == near[:, None, :]).any(axis=2).mean())


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


def placed_losses(placed, y, Y, fitted, *, real, n_neighbors=N_NEIGHBORS):
    """Loss of each placed row by its nearest fitted rows on the map."""
    near = smallest(cdist(placed, Y), min(n_neighbors, len(Y)))[1]
    if real:
        return np.square(fitted[near].mean(axis=1) - y).mean(axis=1)
    return (~is_majority(fitted[near], y)).astype(np.float64)


def quick_losses(D2, y, *, perplexity, seed, real):
    """Losses (candidates, rows) of each row by its nearest rows on a quick map of the other half of the rows.

    D2 : squared distances (candidates, rows, rows) of an even number of rows. Votes place a row on the map of the half
    without it. Distances do not know what two dimensions can hold: where much of them is noise, a map keeps less than
    they tell, and a short t-SNE shows it already. The halves have equal shares of the classes; no more of the nearest
    are asked than a class has rows in a half, on average.
    """
    rng, n_neighbors = as_generator(seed), N_NEIGHBORS
    if not real:
        n_neighbors = int(np.clip(len(y) // 2 // len(np.unique(y)), 1, N_NEIGHBORS))
    order = np.lexsort((rng.permutation(len(y)), y[:, 0] if real else y))
    halves, losses = (order[::2], order[1::2]), np.empty((len(D2), len(y)))
    among = np.concatenate([D2[:, half[:, None], half] for half in halves])
    maps = quick_maps(among, min(perplexity, (len(halves[0]) - 1) / 3), rng).reshape(2, len(D2), -1, 2)
    for kept, out, positions in zip(halves, halves[::-1], maps, strict=True):
        for candidate, Y in enumerate(positions):
            near, columns = smallest(D2[candidate][out[:, None], kept], min(N_NEIGHBORS, len(kept)))
            placed = vote(near, Y[columns], 1.0)
            told = placed_losses(placed, y[out], Y, y[kept], real=real, n_neighbors=n_neighbors)
            losses[candidate, out] = told
    return losses


def standardised(y):
    """Real targets with mean 0 and variance 1, one a column."""
    y = y.reshape(len(y), -1).astype(np.float64)
    spread = y.std(axis=0)
    return (y - y.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
