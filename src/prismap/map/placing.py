"""Distances of new rows to the fitted ones, for placing: one matrix product serves everything that is asked of a row.

The squared distances of a block of rows to the anchors (all fitted rows, or the landmarks of a large map) give the
nearest row, the profile against the support, and the Euclidean part of the metric. Posteriors that know rows only then
need no more than the arc between square roots, so a block is one thread's work from end to end.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from prismap._blocks import WORKING_BYTES
from prismap.metrics.geometry import FittedIndex, VectorGeometry, squared_distances
from prismap.metrics.segments import blend
from prismap.metrics.sources import MachineSource
from prismap.metrics.tiles import n_threads

#: Bytes of one block of squared distances where each thread has its own: a few of them stay in cache.
BLOCK_BYTES = 2 * 2**20
#: Blocks have a multiple of so many rows.
ROW_STEP = 32
#: Single precision serves where its rounding is below this share of the typical squared distance to the nearest row.
ROUNDING_SHARE = 1e-4


class Distances:
    """Distances of new rows to the anchors: those of the map (Fisher, or the data's own) and the data's own squared.

    Parameters
    ----------
    metric : the fitted `FisherMetric`.
    anchors : indices of the fitted rows that distances are wanted to.
    by_fisher : whether the map's distances are the Fisher ones.
    typical : typical distance of a fitted row to its nearest neighbour; decides on the precision.
    own : the user's metric, whose distances are then those of the map.
    """

    def __init__(self, metric, anchors, by_fisher, typical, own=None):
        self.metric, self.geometry, self.by_fisher, self.own = metric, metric.geometry_, by_fisher, own
        every = len(anchors) == self.geometry.n_rows
        self.anchors = slice(None) if every else anchors
        self.dtype = precision(self.geometry, typical)
        if isinstance(self.geometry, VectorGeometry):
            self.rows = self.geometry.rows[self.anchors].astype(self.dtype)
            self.norms = self.geometry.squared_norms[self.anchors].astype(self.dtype)
        self.machine = by_fisher and isinstance(metric._source, MachineSource) and metric._graph is None
        if self.machine:
            landmarks = metric._source.machine.landmarks
            self.profile_known = every and np.array_equal(landmarks, anchors)
            self.anchor_rows = metric.posterior_.rows(metric._source.fitted_probabilities[self.anchors], self.dtype)

    @property
    def parallel(self):
        """Whether blocks may be computed by several threads at once."""
        return self.own is None and (self.machine or not self.by_fisher)

    def __call__(self, rows):
        """``(D, D2)`` of a block of rows."""
        D2 = np.maximum(self._squared(rows), 0)
        if self.own is not None:
            return np.asarray(self.own.pairwise(rows))[:, self.anchors], D2
        if not self.by_fisher:
            return np.sqrt(D2), D2
        if not self.machine:
            return self.metric.distances_to(rows, FittedIndex(np.arange(self.geometry.n_rows)[self.anchors])), D2
        machine = self.metric._source.machine
        profile = D2 if self.profile_known else np.maximum(self.geometry.squared_to(rows, machine.landmarks), 0)
        P = machine.probabilities(profile)
        block = self.metric.posterior_.block(self.metric.posterior_.rows(P, self.dtype), self.anchor_rows)
        w, every = self.metric.supervision, slice(None)
        steps = D2 / self.dtype.type(self.metric.bandwidth_**2) if w < 1 else None
        return blend(block.sub_lengths(every, every), 1, w, steps), D2

    def _squared(self, rows):
        if not isinstance(self.geometry, VectorGeometry):
            return self.geometry.squared_to(rows, self.anchors)
        centred, norms = self.geometry._side(rows)
        return squared_distances(centred.astype(self.dtype), norms.astype(self.dtype), self.rows, self.norms)


def precision(geometry, typical):
    """The floating-point type that placing works in."""
    if isinstance(geometry, VectorGeometry):
        rounding = np.finfo(np.float32).eps * float(geometry.squared_norms.max())
        if rounding <= ROUNDING_SHARE * typical**2:
            return np.dtype(np.float32)
    return np.dtype(geometry.dtype)


def each_block(work, rows, n_anchors, *, parallel, n_jobs=None):
    """Call ``work(slice, block)`` for blocks of rows, on all cores where `parallel`; a block never depends on another.

    A block that is no multiple of `ROW_STEP` rows is filled up with copies of its last one, so that matrix products sum
    in the same order wherever a row stands: alone or among others, it gets the same position.
    """
    n_rows = rows.shape[0]
    size = int((BLOCK_BYTES / 4 if parallel else WORKING_BYTES / 64) // n_anchors)
    size = ROW_STEP * max(1, min(size, 4096) // ROW_STEP)

    def run(start):
        stop = min(start + size, n_rows)
        filled = ROW_STEP * -(-(stop - start) // ROW_STEP)
        work(slice(start, stop), rows[np.minimum(np.arange(start, start + filled), stop - 1)])

    if not parallel:
        for start in range(0, n_rows, size):
            run(start)
        return
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        for _ in pool.map(run, range(0, n_rows, size)):
            pass
