"""The nearest of some fitted rows, for new ones: by a pass over all of them, or by `prismap.metrics.vector_search`."""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from prismap._blocks import WORKING_BYTES, row_blocks
from prismap._search import smallest
from prismap.metrics.anchors import FittedIndex, typical_neighbor_distance
from prismap.metrics.vector_search import vector_search


def nearest_among(data, columns):
    """What finds the nearest of the fitted rows `columns` of the data's own metric.

    Many vectors are searched; few, and those of which values are missing, sparse ones and matrices are passed.
    """
    if data.is_matrix or not data.is_complete or sp.issparse(data.rows_):
        return PassedNearest(data, columns)
    rows_at = partial(rows_among, data.rows_, columns)
    search = vector_search(rows_at, len(columns), typical_neighbor_distance(data.rows_))
    return PassedNearest(data, columns) if search is None else SearchedNearest(data, columns, search)


def rows_among(rows, columns, block):
    """Some of the rows `columns`. A function of its own, so that a map can be pickled."""
    return rows[columns[block]]


class PassedNearest:
    """The nearest of some fitted rows by a pass over all of them."""

    def __init__(self, data, columns):
        self.data, self.columns = data, columns

    def find(self, rows, n_neighbors, self_similarity=None):
        """Squared distances of rows, new ones or a `FittedIndex`, and which of the `columns`, nearest first."""
        n_rows = number_of(rows)
        squared, near = np.empty((n_rows, n_neighbors)), np.empty((n_rows, n_neighbors), dtype=np.intp)
        for block in row_blocks(n_rows, 24.0 * len(self.columns), WORKING_BYTES):
            own = None if self_similarity is None else self_similarity[block]
            D2 = np.maximum(self.data.squared_to(part_of(rows, block), self.columns, own), 0)
            squared[block], near[block] = smallest(D2, n_neighbors)
        return squared, near


class SearchedNearest:
    """The nearest of many fitted vectors by a `VectorSearch`. What it found is measured in double precision."""

    def __init__(self, data, columns, search):
        self.data, self.columns, self.search = data, columns, search

    def find(self, rows, n_neighbors, self_similarity=None):
        """Squared distances of rows, new ones or a `FittedIndex`, and which of the `columns`, nearest first."""
        if isinstance(rows, FittedIndex):
            return self._measured(self.data.rows_[rows.index], n_neighbors)
        missing = self.data.present_of(rows)
        if missing is None:
            return self._measured(self.data.centred(rows), n_neighbors)
        holed = ~missing.all(axis=1)
        squared, near = np.empty((len(rows), n_neighbors)), np.empty((len(rows), n_neighbors), dtype=np.intp)
        squared[holed], near[holed] = PassedNearest(self.data, self.columns).find(rows[holed], n_neighbors)
        if not holed.all():
            squared[~holed], near[~holed] = self.find(rows[~holed], n_neighbors)
        return squared, near

    def _measured(self, rows, n_neighbors):
        near = self.search.find(rows, n_neighbors)
        squared = np.empty(near.shape)
        for i, (row, found) in enumerate(zip(rows.astype(np.float64), self.columns[near], strict=True)):
            squared[i] = np.square(self.data.rows_[found] - row).sum(axis=1)
        order = np.argsort(squared, axis=1, kind="stable")
        return np.take_along_axis(squared, order, axis=1), np.take_along_axis(near, order, axis=1)


def number_of(rows):
    """How many rows there are, new ones or a `FittedIndex`."""
    return len(rows.index) if isinstance(rows, FittedIndex) else rows.shape[0]


def part_of(rows, block):
    """Some of the rows, new ones or a `FittedIndex`."""
    return FittedIndex(rows.index[block]) if isinstance(rows, FittedIndex) else rows[block]
