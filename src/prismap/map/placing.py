"""Blocks of new rows on all cores."""

from __future__ import annotations

import numpy as np

from prismap._threads import parallel_map

#: Bytes of one block of squared distances in double precision: a few of them stay in a core's cache.
BLOCK_BYTES = 2**21


def each_block(work, n_rows, n_anchors, *, n_jobs=None):
    """Call ``work(slice)`` for blocks of rows on all cores; a block never depends on another."""
    size = int(np.clip(BLOCK_BYTES / 8 // n_anchors, 64, 1024))
    parallel_map(work, [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)], n_jobs)
