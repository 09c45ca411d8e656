"""The last step of placing on a large map: from landmarks to the fitted rows themselves.

A large map has more clusters than its landmarks show, and a smooth map between landmarks falls between them. So a new
row finds its nearest fitted rows, and goes to the weighted mean of those that the map shows beside the very nearest
one. Where the metric has coordinates, these rows are searched (`prismap.metrics._vector_search`), at a cost that hardly
grows with the map. Where it has none, fitted rows are kept by their nearest landmark, and a new row looks into the
cells of its nearest landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import row_blocks
from prismap._util.scales import position_spacing
from prismap._util.search import concatenated


@dataclass(frozen=True)
class CellRules:
    """How many rows decide where a new one goes on a large map.

    Attributes
    ----------
    candidates : fitted rows that a search gives, to be measured.
    most_probed : cells that a row looks into at most.
    enough_rows : how many rows in them are enough.
    fewest_probed : cells that it looks into in any case.
    deciding : fitted rows that decide where it goes.
    beside : rows are beside each other on the map within the typical distance to so many neighbours.
    spacing_rows : rows of the map that tell the typical distance.
    """

    candidates: int = 48
    most_probed: int = 24
    enough_rows: int = 500
    fewest_probed: int = 8
    deciding: int = 5
    beside: int = 10
    spacing_rows: int = 1000


CELLS = CellRules()


class Cells:
    """The nearest fitted rows of new ones, and where they send these.

    Parameters
    ----------
    own : searchable anchors of the data's own geometry to the landmarks.
    metric : those of the map's metric, None where that is the data's own geometry.
    positions : of all fitted rows.
    seed : of the sample that tells the map's spacing.
    """

    def __init__(self, own: Any, metric: Any, positions: Numbers, seed: int) -> None:
        self.own, self.metric, self.positions = own, metric, positions
        self.search = own.search if metric is None else metric.search
        self.radius = spacing(positions, seed)

    @cached_property
    def members(self) -> tuple[Rows, Rows]:
        """The fitted rows, one cell of a landmark after another, and where the cells start; made at first use."""
        n_landmarks = len(self.own.anchors)
        cell = np.empty(len(self.positions), dtype=np.intp)
        for block in row_blocks(len(self.positions), 64.0 * n_landmarks):
            seen = self.own.of_fitted(block)
            seen = seen if self.metric is None else self.metric.of_fitted(block, seen)
            cell[block] = seen.distances.argmin(axis=1)
        members = np.argsort(cell, kind="stable")
        return members, np.searchsorted(cell[members], np.arange(n_landmarks + 1))

    def place(self, seen: Any, own: Any) -> tuple[Numbers, Numbers]:
        """Positions of rows seen by the map's metric and by the data's own, and their distances to the nearest row."""
        coordinates = None if self.search is None else seen.coordinates
        real: Any
        if coordinates is None:
            candidates, real = self._in_cells(seen.distances)
        else:
            candidates = self.search.find(coordinates, CELLS.candidates)
            real = np.True_
        D2 = np.where(real, seen.among(candidates) ** 2, np.inf)
        squared, near = nearest_of(D2, candidates)
        Y = self.positions[near]
        beside = ((Y - Y[:, :1]) ** 2).sum(axis=2) <= self.radius**2
        widest = np.max(squared, axis=1, keepdims=True, where=np.isfinite(squared), initial=np.finfo(D2.dtype).tiny)
        weights = np.exp(-0.5 * (squared - squared[:, :1]) / widest) * beside
        mean = np.einsum("ij,ijk->ik", weights, Y) / weights.sum(axis=1, keepdims=True)
        return mean, np.where(real, own.among(candidates), np.inf).min(axis=1)

    def _in_cells(self, D: Numbers) -> tuple[Rows, NDArray[np.bool_]]:
        """Fitted rows in the nearest cells (n, most), and which entries are real: rows look at unequal numbers."""
        probed = np.argpartition(D, min(CELLS.most_probed, D.shape[1]) - 1, axis=1)[:, : CELLS.most_probed]
        probed = np.take_along_axis(probed, np.argsort(np.take_along_axis(D, probed, axis=1), axis=1), axis=1)
        members, edges = self.members
        sizes = edges[probed + 1] - edges[probed]
        before = sizes.cumsum(axis=1) - sizes
        sizes[:, CELLS.fewest_probed :][before[:, CELLS.fewest_probed :] >= CELLS.enough_rows] = 0
        totals = sizes.sum(axis=1)
        real = np.arange(totals.max()) < totals[:, None]
        places = np.zeros(real.shape, dtype=np.intp)
        places[real] = concatenated(edges[probed], sizes)
        return members[places], real


def nearest_of(D2: Numbers, candidates: Rows) -> tuple[Numbers, Rows]:
    """The deciding rows, nearest first and ties by index: squared distances and rows."""
    order = np.argpartition(D2, min(CELLS.deciding, D2.shape[1]) - 1, axis=1)[:, : CELLS.deciding]
    squared, near = np.take_along_axis(D2, order, axis=1), np.take_along_axis(candidates, order, axis=1)
    order = np.lexsort((near, squared), axis=1)
    return np.take_along_axis(squared, order, axis=1), np.take_along_axis(near, order, axis=1)


def spacing(positions: Numbers, seed: int) -> float:
    """The typical distance of a row to its tenth neighbour on the map."""
    sample = np.random.default_rng(seed).choice(len(positions), min(CELLS.spacing_rows, len(positions)), replace=False)
    return float(np.median(position_spacing(positions, CELLS.beside, rows=sample)))
