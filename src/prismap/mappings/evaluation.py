"""Does a map treat new rows as it treats the fitted ones? The distribution of q_ij (Gisbrecht et al. 2015, Fig. 3)."""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist

from prismap._random import as_generator

#: More positions than this are sampled: the histogram of two million pairs is smooth enough.
MOST_POSITIONS = 2000


def affinity_distribution(Y, *, bins=50, random_state=0):
    """Share of pairs of positions by their q_ij, scaled so that sets of different size compare: ``(shares, edges)``.

    ``q_ij = w_ij / sum w``, w = 1 / (1 + |y_i - y_j|^2), is scaled to one for coinciding positions, which makes it w
    itself. `bins` equal bins from 0 to 1. Rows piled up in one spot show as a share of pairs in the last bin that
    fitted rows do not have.
    """
    Y = np.asarray(Y, dtype=np.float64)
    if len(Y) > MOST_POSITIONS:
        Y = Y[as_generator(random_state).choice(len(Y), MOST_POSITIONS, replace=False)]
    counts, edges = np.histogram(1 / (1 + pdist(Y, "sqeuclidean")), bins, range=(0.0, 1.0))
    return counts / counts.sum(), edges
