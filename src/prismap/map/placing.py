"""Blocks of new rows on all cores."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from prismap.metrics.tiles import n_threads

#: Bytes of one block of squared distances in double precision: a few of them stay in a core's cache.
BLOCK_BYTES = 2**21


def each_block(work, n_rows, n_anchors, *, n_jobs=None):
    """Call ``work(slice)`` for blocks of rows on all cores; a block never depends on another."""
    size = int(np.clip(BLOCK_BYTES / 8 // n_anchors, 64, 1024))
    blocks = [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
    if len(blocks) == 1:
        work(blocks[0])
        return
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        for _ in pool.map(work, blocks):
            pass
