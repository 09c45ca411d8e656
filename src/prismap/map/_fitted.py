"""A fitted map, as a frozen value: what was given, the metric, the positions, and where new rows go."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import CACHED_BYTES, row_blocks
from prismap._util.missing import present_in
from prismap._util.repr import Brief
from prismap._util.scales import far_threshold, typical_distance
from prismap._util.threads import on_one_thread, parallel_map
from prismap._util.validation import changed
from prismap.exceptions import InputError
from prismap.map._cells import Cells
from prismap.map._exact_rows import KnownObjects, KnownRows
from prismap.map._recipe import Given, Recipe
from prismap.mappings import InverseMap
from prismap.mappings._base import Mapping
from prismap.metrics import FisherMetric, Metric
from prismap.metrics._geometry import DataMetric
from prismap.metrics._objects import ObjectRows
from prismap.metrics._shift import LevelShift
from prismap.target import ClassTarget, Dependence, Target

#: Up to so many rows all distances are computed; beyond, neighbours are searched and landmarks carry the mapping.
DENSE_ROWS = 10_000


@dataclass(frozen=True, repr=False)
class FittedMap(Brief):
    """What is judged, shown, saved and served: `prismap.map._fitting.fit_map` makes it.

    Attributes
    ----------
    recipe : how it was to be made.
    given : the samples, their target and names.
    rows : the fitted rows, as they were given; without what their levels shift, if there are levels.
    data : the metric of the data's own distances, fitted on these rows.
    metric : the metric of the map; the same object without a target.
    positions : (n, 2), of the fitted rows.
    mapping : positions of new rows from their distances to the anchors.
    anchors : the fitted rows that new rows are compared with: all, on a large map its landmarks.
    placed_by_data : whether these distances are the data's own, and not those of the map.
    apart : the distances that `nearest` has, where a file or an earlier map knows them; None: measured when asked for.
    supervision : how much the target counts, as it was given or chosen.
    supervision_curve : what that was chosen from; None where it was given.
    notes : what a reader should know about how the map was made.
    embedding : the fitted embedding; a map that was read from a file has none.
    story, times : how the embedding ended, and the seconds of each stage.
    shift : what the levels of a column of no interest shift; None without such a column.
    movement : what has changed since an earlier map; None without one, and of a map that was read from a file.
    versions : the fitted rows on the maps before this one, the oldest first.
    """

    recipe: Recipe
    given: Given
    rows: Any
    data: DataMetric
    metric: Metric
    positions: Numbers
    mapping: Mapping
    anchors: Rows
    placed_by_data: bool
    apart: Numbers | None = field(default=None, repr=False)
    supervision: float = 0.0
    supervision_curve: tuple[dict[str, Any], ...] | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    embedding: Any = field(default=None, repr=False)
    story: dict[str, Any] = field(default_factory=dict, repr=False)
    times: dict[str, float] = field(default_factory=dict, repr=False)
    shift: LevelShift | None = field(default=None, repr=False)
    movement: Any = field(default=None, repr=False)
    versions: tuple[Any, ...] = field(default=(), repr=False)

    @property
    def seed(self) -> int:
        """The seed of all that is random in it."""
        return self.recipe.seed

    @cached_property
    def target(self) -> Target:
        """The target of the fitted rows."""
        return self.given.target.take(self.given.fitted)

    @property
    def dependence(self) -> Dependence:
        """Which of the fitted rows are not independent of each other."""
        return self.given.dependence.take(self.given.fitted)

    def entries(self, rows: Any, levels: Any = None) -> Any:
        """What `place` takes of given rows: vectors as they are, of matrix data the fitted columns.

        levels : the codes of the rows' levels. What these shift is taken out of the rows.
        """
        return self._entries(rows, levels, self.given.entry_columns)

    def _entries(self, rows: Any, levels: Any, columns: Any) -> Any:
        if self.shift is not None:
            return self.shift.apply(rows, levels)
        return self.data.entries(rows, columns)

    @property
    def given_rows(self) -> Any:
        """The fitted rows as they were given."""
        return self.rows if self.shift is None else self.given.rows[self.given.fitted]

    @cached_property
    def placed(self) -> tuple[Numbers, NDArray[np.bool_]]:
        """Positions of all samples that were given, and which of them are far from all fitted ones."""
        return self.place_given(self)

    def place_given(self, other: FittedMap, rows: Any = None) -> tuple[Numbers, NDArray[np.bool_]]:
        """Positions of all given samples on a map of some of them, and which of them are far from those.

        other : a map of this map's fitted rows, or of those of them that `rows` numbers.
        """
        given = self.given
        fitted = given.fitted if rows is None else given.fitted[rows]
        Y, far = np.empty((len(given), other.positions.shape[1])), np.zeros(len(given), dtype=bool)
        others = np.setdiff1d(np.arange(len(given)), fitted)
        Y[fitted] = other.positions
        columns = given.entry_columns if rows is None else fitted
        Y[others], distance = other.place_some(given.rows, others, columns, given.target.levels)
        far[others] = distance > other.far_threshold
        return Y, far

    def place(self, rows: Any) -> tuple[Numbers, Numbers]:
        """Positions of new rows (vectors, or entries against the fitted rows), and their distances to the data.

        Each row by itself, block by block. A row that equals a fitted one gets exactly that one's position. Distances
        are those to the nearest fitted row in the data's own metric, in units of the typical such distance.
        """
        Y, nearest = self.located(rows)
        return Y, nearest / self.typical_distance

    def located(self, rows: Any) -> tuple[Numbers, Numbers]:
        """Positions of new rows as `place` gives them, and their distances to the data as they are."""
        Y, nearest = np.empty((rows.shape[0], self.positions.shape[1])), np.empty(rows.shape[0])
        by_vectors = self.cells is not None and not self.data.is_matrix and not isinstance(rows, ObjectRows)
        holed = rows_with_holes(rows) if by_vectors else None
        if holed is not None and 0 < holed.sum() < len(holed):  # they find their candidates in other ways
            for some in (holed, ~holed):
                Y[some], nearest[some] = self.located(rows[some])
            return Y, nearest
        by_map, cells = self.map_anchors, self.cells  # made here once, and not by every thread

        def see_block(block: slice, part: Any, own: Any) -> Any:
            seen = own if by_map is None else by_map.see(part, own)
            if cells is not None:
                Y[block], nearest[block] = cells.place(seen, own)
                return None
            nearest[block] = np.sqrt(own.squared.min(axis=1))
            return self.mapping.seen(seen.distances)

        if cells is not None and len(self._blocks(len(Y))) > 1:  # what is made at first use is made here, too
            see_block(slice(0, 1), rows[:1], self.data_anchors.see(rows[:1]))
        seen = self.look(rows, see_block)
        if cells is None:
            Y[:] = self.mapping.settled(seen)
        equal, fitted = self.known.find(rows)
        Y[equal], nearest[equal] = self.positions[fitted], 0.0
        lost = int((~np.isfinite(Y)).any(axis=1).sum())
        if lost:  # only numbers that no fit gives lead here: a damaged or forged file
            raise InputError(f"the map gives {lost} of {len(Y)} rows no finite position: its file is damaged.")
        return Y, nearest

    def distances(self, rows: Any, look: Callable[[slice, Any, Any], Any] | None = None) -> tuple[Numbers, Any]:
        """The distances to the data that `place` gives, without positions; `look` as in `FittedMap.look`, and its sum.

        On a large map the nearest row is found by way of the positions' candidates, so there both are computed.
        """
        if self.cells is not None:
            return self.place(rows)[1], sum(self.look(rows, look)) if look else 0
        nearest, known = np.empty(rows.shape[0]), self.known

        def measure(block: slice, part: Any, own: Any) -> Any:
            nearest[block] = np.sqrt(own.squared.min(axis=1))
            nearest[block][known.find(part)[0]] = 0.0
            return look(block, part, own) if look else 0

        total = sum(self.look(rows, measure))
        return nearest / self.typical_distance, total

    def look(self, rows: Any, work: Callable[[slice, Any, Any], Any]) -> list[Any]:
        """``work(block, part, own)`` of every block of rows: slice, rows, and how the data's own metric sees them."""
        by_data, by_map = self.data_anchors, self.map_anchors

        def on_block(block: slice) -> Any:
            part = rows[block]
            return work(block, part, by_data.see(part))

        # A metric that has threads of its own gets one block after another.
        threads = 1 if by_map is not None and by_map.threaded else None
        return parallel_map(on_block, self._blocks(rows.shape[0]), threads)

    def _blocks(self, n_rows: int) -> list[slice]:
        """Slices of rows that are looked at together."""
        size = int(np.clip(CACHED_BYTES / 8 // len(self.anchors), 64, 1024))
        return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]

    def place_some(self, rows: Any, index: Rows, columns: Any, levels: Rows) -> tuple[Numbers, Numbers]:
        """`place` of the rows `index` among others, of which no more than a block at a time is copied.

        `columns` are the fitted ones, for matrix data; `levels` are those of all the others.
        """
        Y, nearest = np.empty((len(index), self.positions.shape[1])), np.empty(len(index))
        n_numbers = rows.nnz / rows.shape[0] if sp.issparse(rows) else math.prod(rows.shape[1:])
        for block in row_blocks(len(index), 16.0 * n_numbers):
            some = index[block]
            Y[block], nearest[block] = self.place(self._entries(rows[some], levels[some], columns))
        return Y, nearest

    @cached_property
    def known(self) -> KnownObjects | KnownRows:
        """The fitted rows, to be found again by their exact values."""
        return KnownObjects(self.rows) if isinstance(self.rows, ObjectRows) else KnownRows(self.rows)

    @cached_property
    def data_anchors(self) -> Any:
        """New rows measured by the data's own metric."""
        return self.data.to_anchors(self.anchors)

    @cached_property
    def map_anchors(self) -> Any:
        """New rows measured by the metric that places them; None where that is the data's own.

        A large map may have one that costs less.
        """
        if self.placed_by_data or self.metric is self.data:
            return None
        return (self.metric.placing() if self.is_large else self.metric).to_anchors(self.anchors)

    @cached_property
    def cells(self) -> Cells | None:
        """What finds the nearest fitted rows on a large map, where distances to single rows are cheap; else None."""
        by = self.data_anchors if self.map_anchors is None else self.map_anchors
        if not self.is_large or not by.searchable or sp.issparse(self.rows):
            return None
        return Cells(self.data_anchors, self.map_anchors, self.positions, self.seed)

    def inverse(self, Y: Any) -> np.ndarray:
        """Rows for positions Y: by the embedding's own surface, or by an `InverseMap`."""
        own = getattr(self.embedding, "codebook_", None) is not None
        return np.asarray(self.embedding.inverse_transform(Y) if own else self._inverse.transform(Y))

    @cached_property
    def _inverse(self) -> InverseMap:
        """A smooth surface through the fitted rows: weighted by the Fisher tensors of a class target, or plain.

        The tensors are those of a Parzen posterior, which has them whatever the map was made with.
        """
        rows = self.rows.toarray() if sp.issparse(self.rows) else self.rows
        metric = None
        if isinstance(self.metric, FisherMetric) and isinstance(self.target, ClassTarget) and not self.is_large:
            metric = changed(self.metric, posterior="parzen", supervision=1.0).fit(rows, self.target)
        surface: InverseMap = InverseMap(metric).fit(like_rows(self.positions, rows), rows)
        return surface

    @property
    def is_large(self) -> bool:
        """Whether the map was made of searched neighbours."""
        return len(self.positions) > DENSE_ROWS

    @cached_property
    def nearest(self) -> Numbers:
        """Distance of each anchor to its nearest other one, in the data's own metric."""
        return nearest_anchors(self.data, self.anchors) if self.apart is None else self.apart

    @property
    def typical_distance(self) -> float:
        """Median distance of a fitted row to its nearest neighbour."""
        return typical_distance(self.nearest)

    @property
    def far_threshold(self) -> float:
        """99 % of the fitted rows are nearer than this to another one, in units of the typical distance."""
        return far_threshold(self.nearest)


def like_rows(Y: np.ndarray, rows: Any) -> np.ndarray:
    """Positions in single precision, if the map was made of such rows."""
    return Y.astype(np.float32) if getattr(rows, "dtype", None) == np.float32 else Y


def rows_with_holes(rows: Any) -> NDArray[np.bool_] | None:
    """Which of some vectors miss values; None if none does."""
    present = present_in(rows)
    return None if present is None else ~present.all(axis=1)


@on_one_thread  # as in a fit, whoever asks first
def nearest_anchors(data: DataMetric, anchors: Rows) -> Numbers:
    """Distance of each anchor to its nearest other one."""
    nearest = np.empty(len(anchors))
    for block in row_blocks(len(anchors), 24.0 * len(anchors), 2**24):
        D = data.between(anchors[block], anchors).astype(np.float64)
        D[np.arange(len(D)), np.arange(block.start, block.stop)] = np.inf
        nearest[block] = D.min(axis=1)
    return nearest
