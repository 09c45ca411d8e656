"""Distances of new rows to the fitted ones, for placing: one matrix product serves everything that is asked of a row.

The squared distances of a block of rows to the anchors (all fitted rows, or the landmarks of a large map) give the
nearest row, the profile against the support, and the Euclidean part of the metric. Posteriors that know rows only then
need no more than the arc between square roots, so a block is one thread's work from end to end.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from prismap.metrics.geometry import FittedIndex, VectorGeometry, squared_distances
from prismap.metrics.segments import blend
from prismap.metrics.sources import ExcessSource, MachineSource
from prismap.metrics.tiles import n_threads

#: Bytes of one block of squared distances where each thread has its own: a few of them stay in cache.
BLOCK_BYTES = 2 * 2**20
#: Rows of a block where the metric's own threads share it.
BLOCK_ROWS = 256
#: Single precision serves where its rounding is below this share of the typical squared distance to the nearest row.
ROUNDING_SHARE = 1e-4
#: ... and where squares of this size are numbers: the fitted rows' squared norms, and 1/size for the smallest.
SINGLE_RANGE = 1e20
#: New rows beyond so many times the radius of the fitted ones are drawn in, where placing is in single precision.
FARTHEST = 1e6


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
        source = metric._source
        self.rowwise = bool(
            own is None and by_fisher and hasattr(source, "fitted_probabilities") and metric._graph is None
        )
        self.machine = self.rowwise and isinstance(source, MachineSource)
        if self.rowwise:
            self.anchor_rows = metric.posterior_.rows(source.fitted_probabilities[self.anchors], self.dtype)
        if self.machine:
            self.profile_known = every and np.array_equal(source.machine.landmarks, anchors)

    @property
    def parallel(self):
        """Whether blocks may be computed by several threads at once."""
        return self.own is None and (self.machine or not self.by_fisher)

    def __call__(self, rows):
        """``(D, D2, state)`` of a block of rows; state is what the posterior says of them, None where not rowwise."""
        D2 = self._squared(rows)
        if self.own is not None:
            return np.asarray(self.own.pairwise(rows))[:, self.anchors], D2, None
        if not self.by_fisher:
            return np.sqrt(D2), D2, None
        if not self.rowwise:
            columns = FittedIndex(np.arange(self.geometry.n_rows)[self.anchors])
            return self.metric.distances_to(rows, columns), D2, None
        state = self._state(rows, D2)
        return self._blended(state, D2), D2, state

    def of_fitted(self, block):
        """The same of a slice of the fitted rows, each with its own honest posterior."""
        rows = FittedIndex(np.arange(self.geometry.n_rows)[block])
        D2 = self._squared(rows)
        if isinstance(self.metric._source, ExcessSource) and self.by_fisher and self.own is None:
            return self.metric.distances_to(rows, FittedIndex(np.arange(self.geometry.n_rows)[self.anchors])), D2, None
        if not self.rowwise:
            return np.sqrt(D2), D2, None
        state = self.metric.posterior_.rows(self.metric._source.fitted_probabilities[block], self.dtype)
        return self._blended(state, D2), D2, state

    def _state(self, rows, D2):
        source = self.metric._source
        if not self.machine:
            return source.new(rows)
        machine = source.machine
        profile = D2 if self.profile_known else np.maximum(self.geometry.squared_to(rows, machine.landmarks), 0)
        return self.metric.posterior_.rows(machine.probabilities(profile), self.dtype)

    def _blended(self, state, D2):
        block, every, w = self.metric.posterior_.block(state, self.anchor_rows), slice(None), self.metric.supervision
        steps = D2 / self.dtype.type(self.metric.bandwidth_**2) if w < 1 else None
        return blend(block.sub_lengths(every, every), 1, w, steps)

    def centred(self, rows):
        """Vectors as the geometry keeps them, in this precision."""
        return self.geometry._side(rows)[0].astype(self.dtype, copy=False)

    def within_reach(self, rows):
        """Rows, those too far for single precision drawn in on the line to the centre of the data.

        Their position is that of the direction, and they are far all the same. Double precision reaches all rows.
        """
        if not isinstance(self.geometry, VectorGeometry) or np.float32 not in (self.dtype, self.geometry.dtype):
            return rows
        norms = np.asarray(self.geometry._side(rows)[1], dtype=np.float64)
        most = FARTHEST**2 * (float(self.geometry.squared_norms.max()) or 1.0)
        if norms.max(initial=0.0) <= most:
            return rows
        share = np.sqrt(most / np.maximum(norms, most))[:, None]
        if sp.issparse(rows):
            return rows.multiply(share).tocsr()
        center = self.geometry.center
        return np.where(share < 1, center + share * (rows - center), rows)

    def _squared(self, rows):
        """Squared distances to the anchors in the data's own geometry, not negative."""
        if not isinstance(self.geometry, VectorGeometry):
            return np.maximum(self.geometry.squared_to(rows, self.anchors), 0)
        side, norms = self.geometry._side(rows)
        side, norms = side.astype(self.dtype, copy=False), norms.astype(self.dtype, copy=False)
        return np.maximum(squared_distances(side, norms, self.rows, self.norms), 0)


def precision(geometry, typical):
    """The floating-point type that placing works in."""
    if isinstance(geometry, VectorGeometry):
        largest = float(geometry.squared_norms.max())
        exact = float(np.finfo(np.float32).eps) * largest <= ROUNDING_SHARE * typical**2
        if exact and 1 / SINGLE_RANGE <= largest <= SINGLE_RANGE:
            return np.dtype(np.float32)
    return np.dtype(geometry.dtype)


def each_block(work, rows, n_anchors, *, parallel, n_jobs=None):
    """Call ``work(slice, block)`` for blocks of rows, on all cores where `parallel`; a block never depends on another.

    All blocks of a map have the same number of rows, the last one filled up with copies: matrix products of one shape
    sum in the same order, so a row gets the same position, to the last bit, alone and among others.
    """
    n_rows = rows.shape[0]
    size = int(np.clip(BLOCK_BYTES / 4 // n_anchors, 64, 1024)) if parallel else BLOCK_ROWS

    def run(start):
        index = np.minimum(np.arange(start, start + size), n_rows - 1)
        work(slice(start, min(start + size, n_rows)), rows[index])

    if not parallel:
        for start in range(0, n_rows, size):
            run(start)
        return
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        for _ in pool.map(run, range(0, n_rows, size)):
            pass
