"""All pairs of two sets of rows, tile by tile on all cores.

The tiles are independent and each is computed by one thread with single-threaded matrix products, so the result is the
same for any number of threads.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from prismap._threads import parallel_map

#: Rows of a chunk (shared exponentials and gathered columns) and of a tile (arrays that should stay in cache).
CHUNK = 1024
TILE = 192


def fold_chunks(fold, size):
    """Slices of at most `size` consecutive rows that lie in one fold (rows sorted by fold)."""
    edges = np.flatnonzero(np.diff(fold)) + 1
    for start, stop in pairwise([0, *edges.tolist(), len(fold)]):
        for first in range(start, stop, size):
            yield slice(first, min(first + size, stop))


def tile_slices(n_rows):
    """Slices of at most TILE rows, as even as they can be."""
    n_tiles = -(-n_rows // TILE)
    edges = [n_rows * k // n_tiles for k in range(n_tiles + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def fill_pairs(out, A, B, make_block, lengths, *, same, chunk_rows=None):
    """Fill `out` (n_A, n_B) with the lengths of all pairs; rows of A and of B are sorted by fold.

    ``make_block(slice_a, slice_b)`` prepares a pair of chunks, ``lengths(block, chunk_a, chunk_b, tile_a, tile_b)``
    measures a tile of it. With `same`, A is B and only one triangle is computed. `chunk_rows` is what a block may hold.
    """
    size = min(CHUNK, chunk_rows or CHUNK)
    jobs = [(a, b) for a in fold_chunks(A, size) for b in fold_chunks(B, size) if not same or b.start >= a.start]

    def run(job):
        a, b = job
        block = make_block(a, b)
        for tile_a in tile_slices(a.stop - a.start):
            for tile_b in tile_slices(b.stop - b.start):
                if same and a == b and tile_b.start < tile_a.start:
                    continue
                tile = lengths(block, a, b, tile_a, tile_b)
                rows = slice(a.start + tile_a.start, a.start + tile_a.stop)
                columns = slice(b.start + tile_b.start, b.start + tile_b.stop)
                if same and rows == columns:
                    tile = (tile + tile.T) / 2
                out[rows, columns] = tile
                if same:
                    out[columns, rows] = tile.T

    parallel_map(run, jobs)
    return out
