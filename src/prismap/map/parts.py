"""A map, as a value: the data's own metric, the metric of the map, positions, and the mapping of new rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._blocks import row_blocks
from prismap._brief import Brief
from prismap._missing import present_in
from prismap._spacing import far_threshold, typical_distance
from prismap._threads import parallel_map
from prismap.exceptions import InputError
from prismap.map.cells import Cells
from prismap.map.known import KnownObjects, KnownRows
from prismap.mappings.base import Mapping
from prismap.metrics import Metric
from prismap.metrics.geometry import DataMetric
from prismap.metrics.objects import ObjectRows

#: Up to so many rows all distances are computed; beyond, neighbours are searched and landmarks carry the mapping.
DENSE_ROWS = 10_000
#: Bytes of one block of distances of new rows in double precision: a few of them stay in a core's cache.
BLOCK_BYTES = 2**21


@dataclass(frozen=True, repr=False)
class MapParts(Brief):
    """What is saved, judged and served. `prismap.map.PrisMap` makes it, and it knows nothing of how.

    Attributes
    ----------
    rows : the fitted rows, as they were given.
    data : the metric of the data's own distances, fitted on these rows.
    metric : the metric of the map; the same object without a target.
    positions : (n, 2), of the fitted rows.
    mapping : positions of new rows from their distances to the anchors.
    anchors : the fitted rows that new rows are compared with: all, on a large map its landmarks.
    placed_by_data : whether these distances are the data's own, and not those of the map.
    nearest : distance of each anchor to its nearest other one, in the data's own metric.
    seed : seed of the sample that tells the spacing of a large map.
    embedding : the fitted embedding; a map that was read from a file has none.
    story, times : how the embedding ended, and the seconds of each stage.
    """

    rows: Any
    data: DataMetric
    metric: Metric
    positions: np.ndarray
    mapping: Mapping
    anchors: np.ndarray
    placed_by_data: bool
    nearest: np.ndarray
    seed: int
    embedding: Any = None
    story: dict[str, Any] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)

    def place(self, rows):
        """Positions of new rows (vectors, or entries against the fitted rows), and their distances to the data.

        Each row by itself, block by block. A row that equals a fitted one gets exactly that one's position. Distances
        are those to the nearest fitted row in the data's own metric, in units of the typical such distance.
        """
        Y, nearest = np.empty((rows.shape[0], self.positions.shape[1])), np.empty(rows.shape[0])
        by_vectors = self.cells is not None and not self.data.is_matrix and not isinstance(rows, ObjectRows)
        holed = rows_with_holes(rows) if by_vectors else None
        if holed is not None and 0 < holed.sum() < len(holed):  # they find their candidates in other ways
            for some in (holed, ~holed):
                Y[some], nearest[some] = self.place(rows[some])
            return Y, nearest
        by_map, cells, known = self.map_anchors, self.cells, self.known  # made here once, and not by every thread

        def place_block(block, part, own):
            seen = own if by_map is None else by_map.see(part, own)
            if cells is not None:
                Y[block], nearest[block] = cells.place(seen, own)
            else:
                Y[block] = self.mapping.place(seen.distances)
                nearest[block] = np.sqrt(own.squared.min(axis=1))
            found, fitted = known.find(part)
            Y[block][found], nearest[block][found] = self.positions[fitted], 0.0

        if cells is not None and len(self._blocks(len(Y))) > 1:  # what is made at first use is made here, too
            place_block(slice(0, 1), rows[:1], self.data_anchors.see(rows[:1]))
        self.look(rows, place_block)
        lost = int((~np.isfinite(Y)).any(axis=1).sum())
        if lost:  # only numbers that no fit gives lead here: a damaged or forged file
            raise InputError(f"the map gives {lost} of {len(Y)} rows no finite position: its file is damaged.")
        return Y, nearest / self.typical_distance

    def distances(self, rows, look=None):
        """The distances to the data that `place` gives, without positions; `look` as in `MapParts.look`, and its sum.

        On a large map the nearest row is found by way of the positions' candidates, so there both are computed.
        """
        if self.cells is not None:
            return self.place(rows)[1], sum(self.look(rows, look)) if look else 0
        nearest, known = np.empty(rows.shape[0]), self.known

        def measure(block, part, own):
            nearest[block] = np.sqrt(own.squared.min(axis=1))
            nearest[block][known.find(part)[0]] = 0.0
            return look(block, part, own) if look else 0

        total = sum(self.look(rows, measure))
        return nearest / self.typical_distance, total

    def look(self, rows, work):
        """``work(block, part, own)`` of every block of rows: slice, rows, and how the data's own metric sees them."""
        by_data, by_map = self.data_anchors, self.map_anchors

        def on_block(block):
            part = rows[block]
            return work(block, part, by_data.see(part))

        # A metric that has threads of its own gets one block after another.
        threads = 1 if by_map is not None and by_map.threaded else None
        return parallel_map(on_block, self._blocks(rows.shape[0]), threads)

    def _blocks(self, n_rows):
        """Slices of rows that are looked at together."""
        size = int(np.clip(BLOCK_BYTES / 8 // len(self.anchors), 64, 1024))
        return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]

    def place_some(self, rows, index, columns):
        """`place` of the rows `index` among others, of which no more than a block at a time is copied.

        `columns` are the fitted ones, for matrix data.
        """
        Y, nearest = np.empty((len(index), self.positions.shape[1])), np.empty(len(index))
        n_numbers = rows.nnz / rows.shape[0] if sp.issparse(rows) else math.prod(rows.shape[1:])
        for block in row_blocks(len(index), 16.0 * n_numbers):
            Y[block], nearest[block] = self.place(self.data.entries(rows[index[block]], columns))
        return Y, nearest

    @cached_property
    def known(self):
        """The fitted rows, to be found again by their exact values."""
        return KnownObjects(self.rows) if isinstance(self.rows, ObjectRows) else KnownRows(self.rows)

    @cached_property
    def data_anchors(self):
        """New rows measured by the data's own metric."""
        return self.data.to_anchors(self.anchors)

    @cached_property
    def map_anchors(self):
        """New rows measured by the metric that places them; None where that is the data's own.

        A large map may have one that costs less.
        """
        if self.placed_by_data or self.metric is self.data:
            return None
        return (self.metric.placing() if self.is_large else self.metric).to_anchors(self.anchors)

    @cached_property
    def cells(self):
        """What finds the nearest fitted rows on a large map, where distances to single rows are cheap; else None."""
        by = self.data_anchors if self.map_anchors is None else self.map_anchors
        if not self.is_large or not by.searchable or sp.issparse(self.rows):
            return None
        return Cells(self.data_anchors, self.map_anchors, self.positions, self.seed)

    @property
    def is_large(self):
        """Whether the map was made of searched neighbours."""
        return len(self.positions) > DENSE_ROWS

    @property
    def typical_distance(self):
        """Median distance of a fitted row to its nearest neighbour."""
        return typical_distance(self.nearest)

    @property
    def far_threshold(self):
        """99 % of the fitted rows are nearer than this to another one, in units of the typical distance."""
        return far_threshold(self.nearest)


def rows_with_holes(rows):
    """Which of some vectors miss values; None if none does."""
    present = present_in(rows)
    return None if present is None else ~present.all(axis=1)


def nearest_anchors(data, anchors):
    """Distance of each anchor to its nearest other one."""
    nearest = np.empty(len(anchors))
    for block in row_blocks(len(anchors), 24.0 * len(anchors)):
        D = data.between(anchors[block], anchors).astype(np.float64)
        D[np.arange(len(D)), np.arange(block.start, block.stop)] = np.inf
        nearest[block] = D.min(axis=1)
    return nearest
