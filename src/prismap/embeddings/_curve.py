"""Rows in an order in which neighbours lie near each other in memory.

The attractive forces of t-SNE look up the positions of all neighbours of a row. With a million rows in any order nearly
every look-up waits for the memory. Rows that are sorted along a space-filling curve through the map find most of their
neighbours in the cache.
"""

from __future__ import annotations

import numpy as np

#: Cells of the curve's grid along each axis, as a power of two, and the quantiles that it reaches from and to.
BITS, EDGES = 12, (0.001, 0.999)


def curve_order(Y):
    """The order of positions Y along Morton's curve (1966): the coordinates of their cells, bit by bit in turn."""
    low, high = np.quantile(Y, EDGES, axis=0)
    cells = (Y - low) / np.where(high > low, high - low, 1.0) * 2**BITS
    cells = np.clip(cells, 0, 2**BITS - 1).astype(np.uint64)
    code, one = np.zeros(len(Y), dtype=np.uint64), np.uint64(1)
    for bit in range(BITS):
        for axis, cell in enumerate(cells.T):
            code |= ((cell >> np.uint64(bit)) & one) << np.uint64(bit * cells.shape[1] + axis)
    return np.argsort(code, kind="stable")


def permuted(P, order):
    """Rows and columns of a sparse matrix in another order: entry (i, j) is ``P[order[i], order[j]]``."""
    place = np.empty(len(order), dtype=P.indices.dtype)
    place[order] = np.arange(len(order), dtype=P.indices.dtype)
    Q = P[order]
    Q.indices = place[Q.indices]
    Q.has_sorted_indices = False
    return Q
