"""How the data's own metric and the Fisher metric measure new rows against anchors (`prismap.metrics._base.Anchors`).

What a block of rows needs more than once, its place on the grid and its class probabilities, is kept in its `Seen`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from operator import getitem
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from prismap._util.blocks import row_blocks
from prismap._util.grid import Grid, as_numbers
from prismap._util.missing import completed, unknown_variance
from prismap.metrics._base import Anchors, Seen
from prismap.metrics._segments import arc, blend
from prismap.metrics._vector_search import vector_search


class FittedIndex:
    """Some of the fitted rows, by index, where new rows could stand."""

    def __init__(self, index):
        self.index = index


class VectorAnchors(Anchors):
    """Vectors on a grid, where their distances are the same on every machine and in any batch."""

    searchable, threaded = True, False

    def __init__(self, geometry, anchors):
        super().__init__(geometry, anchors)
        typical = typical_neighbor_distance(geometry.rows_)
        # Within these limits the squares of all distances on the grid are numbers in single precision.
        self.dtype = np.dtype(np.float32 if 1e-12 < typical < 1e4 else np.float64)
        self.grid = Grid.under(geometry.rows_, typical)
        present = None if geometry.present is None else geometry.present[anchors]
        self.rows = self.grid.lay(geometry.rows_[anchors], present)

    @cached_property
    def all_rows(self):
        """All fitted rows on the grid."""
        return SingleRows.of(self.grid, self.grid.lay(self.metric.rows_, self.metric.present))

    @cached_property
    def search(self):
        """All fitted rows, to be searched; None where values are missing, or no grid holds them."""
        rows = self.metric.rows_
        if sp.issparse(rows) or self.metric.present is not None:
            return None
        return vector_search(partial(getitem, rows), len(rows), typical_neighbor_distance(rows))

    def see(self, rows, own=None):
        """Look at a block of rows."""
        return SeenVectors(self, self.grid.lay(self.metric.centred(rows), self.metric.present_of(rows)))

    def of_fitted(self, index):
        """The same of fitted rows."""
        present = None if self.metric.present is None else self.metric.present[index]
        return SeenVectors(self, self.grid.lay(self.metric.rows_[index], present))


class SeenVectors(Seen):
    """A block of vectors on the grid. Rounding exact numbers to single precision is safe, and halves the work."""

    def __init__(self, anchors, rows):
        self.anchors, self.rows = anchors, rows
        self._asked = (None, None)

    @cached_property
    def squared(self):
        """Squared distances to the anchors."""
        A, B = self.rows, self.anchors.rows
        D2 = self.anchors.grid.squared(A, B)
        if not self.is_complete:
            unknown = self._unknown(A)[:, None] + self._unknown(B)
            D2 = self._completed(D2, common_columns(A, B), self.anchors.grid.squares_unmet(A, B) + unknown)
        return D2.astype(self.anchors.dtype)

    @property
    def is_complete(self):
        """Whether no value is missing, here or in the anchors."""
        return self.rows.present is None and self.anchors.rows.present is None

    @property
    def distances(self):
        """Distances to the anchors."""
        return np.sqrt(self.squared)

    @property
    def coordinates(self):
        """What is searched; None where values are missing."""
        if self.rows.present is not None:
            return None
        return as_numbers(self.rows, self.anchors.grid.base) * self.anchors.grid.step

    def squared_among(self, candidates):
        """Squared distances of each row to its candidates. Those asked for last are kept: two metrics ask."""
        if self._asked[0] is not candidates:
            self._asked = candidates, self._measured(candidates)
        return self._asked[1]

    def _measured(self, candidates):
        A, B = self.rows, self.anchors.all_rows
        D2 = squared_pairs(self.anchors.grid, A, B, candidates)
        if A.present is not None or B.present is not None:
            common = common_present(A, B, candidates)
            unknown = self._unknown(A)[:, None] + self._unknown(B)[candidates]
            unmet = unmet_pairs(self.anchors.grid, A, B, candidates) + unknown
            D2 = self._completed(D2, common.sum(axis=2), unmet)
        return D2.astype(self.anchors.dtype)

    def _unknown(self, rows):
        """The variance of what each row lacks."""
        return unknown_variance(rows.present, self.anchors.metric.column_variances, len(rows))

    def _completed(self, sums, counts, unmet):
        """Squared distances from sums over the columns that pairs have in common."""
        return completed(sums, counts, self.anchors.metric.n_features_in_, unmet)

    def among(self, candidates):
        """Distances of each row to its candidates."""
        return np.sqrt(self.squared_among(candidates))


class MatrixAnchors(Anchors):
    """Similarities or dissimilarities: a new row comes with its entries against the fitted ones."""

    threaded = False

    def see(self, rows, own=None):
        """Look at a block of rows."""
        return SeenEntries(self, np.maximum(self.metric.squared_to(rows, self.anchors), 0))


class SeenEntries(Seen):
    """A block of rows of entries."""

    is_complete = True

    def __init__(self, anchors, squared):
        super().__init__(np.sqrt(squared))
        self.anchors, self.squared = anchors, squared


class FisherAnchors(Anchors):
    """The Fisher metric along segments, in double precision."""

    def see(self, rows, own=None):
        """Look at a block of rows."""
        return Seen(self.metric.distances_to(rows, FittedIndex(self.anchors)))


class RowwiseAnchors(Anchors):
    """The Fisher metric of a posterior that is known at the rows: arcs between square roots of probabilities.

    With supervision w the squared distance is ``w arc^2 + (1 - w) ||x - x'||^2 / sigma^2``. An arc is at most a ninth
    longer than the straight line ``2 ||r - r'||``, so that rows ``[2 sqrt(w) r, sqrt(1 - w) x / sigma]`` are searched.
    """

    threaded = False

    def __init__(self, metric, anchors):
        super().__init__(metric, anchors)
        roots = metric.posterior_.fitted_roots()
        self.grid = unit_grid(roots.shape[1])
        self.roots = self.grid.lay(roots[anchors])
        self.searchable = not metric.data_.is_matrix

    @cached_property
    def all_roots(self):
        """The square roots of all fitted rows' probabilities."""
        return SingleRows.of(self.grid, self.grid.lay(self.metric.posterior_.fitted_roots()))

    @cached_property
    def search(self):
        """The coordinates of all fitted rows, to be searched; None where the data's own metric has none."""
        data = self.metric.data_
        if data.is_matrix or sp.issparse(data.rows_) or not data.is_complete:
            return None
        typical = typical_neighbor_distance(self.fitted_coordinates(spread_sample(data.rows_)))
        return vector_search(self.fitted_coordinates, data.n_rows_, typical)

    def fitted_coordinates(self, index):
        """What is searched, of some of the fitted rows."""
        return self.coordinates_of(self.metric.posterior_.fitted_roots()[index], self.metric.data_.rows_[index])

    def coordinates_of(self, roots, rows):
        """What is searched, of rows by the square roots of their probabilities and the data's own coordinates."""
        share = self.metric.supervision
        own = np.sqrt(1 - share) / self.metric.bandwidth_
        return np.hstack([2 * np.sqrt(share) * roots, own * rows.astype(np.float64)])

    def see(self, rows, own=None):
        """Look at a block of rows."""
        return SeenRowwise(self, self.grid.lay(self.metric.posterior_.new_roots(rows, own)), own)

    def of_fitted(self, index, own):
        """The same of fitted rows, each with its own cross-fitted posterior."""
        return SeenRowwise(self, self.grid.lay(self.metric.posterior_.fitted_roots()[index]), own)


class SeenRowwise(Seen):
    """A block of rows with their posteriors."""

    def __init__(self, anchors, roots, own):
        self.anchors, self.roots, self.own = anchors, roots, own

    @cached_property
    def distances(self):
        """Distances to the anchors."""
        gap = self.anchors.grid.squared(self.roots, self.anchors.roots).astype(np.float32)
        return self._blended(gap, self.own.squared)

    @property
    def coordinates(self):
        """What is searched; None where values are missing."""
        own = self.own.coordinates
        if own is None:
            return None
        return self.anchors.coordinates_of(self.roots.digits[0] * self.anchors.grid.step, own)

    def among(self, candidates):
        """Distances of each row to its candidates."""
        gap = squared_pairs(self.anchors.grid, self.roots, self.anchors.all_roots, candidates).astype(np.float32)
        return self._blended(gap, self.own.squared_among(candidates))

    def _blended(self, gap, squared):
        metric = self.anchors.metric
        steps = squared / squared.dtype.type(metric.bandwidth_**2)
        return blend([arc(gap)], 1, metric.supervision, steps)


class MomentAnchors(Anchors):
    """The Fisher metric of real targets that are known at the rows: Fisher-Rao distances between their Gaussians.

    These are computed pair by pair and element by element, so a row gets the same bits in any batch.
    """

    threaded = False

    def __init__(self, metric, anchors):
        super().__init__(metric, anchors)
        self.states = metric.posterior_.fitted_states()
        self.searchable = not metric.data_.is_matrix

    def see(self, rows, own=None):
        """Look at a block of rows."""
        return SeenMoments(self, self.metric.posterior_.new_states(rows), own)

    def of_fitted(self, index, own):
        """The same of fitted rows, each with its own cross-fitted posterior."""
        return SeenMoments(self, self.states[index], own)


class SeenMoments(Seen):
    """A block of rows with means and variances of their targets."""

    def __init__(self, anchors, states, own):
        self.anchors, self.states, self.own = anchors, states, own

    @cached_property
    def distances(self):
        """Distances to the anchors."""
        return self._blended(self.anchors.states[self.anchors.anchors][None], self.own.squared)

    def among(self, candidates):
        """Distances of each row to its candidates."""
        return self._blended(self.anchors.states[candidates], self.own.squared_among(candidates))

    def _blended(self, others, squared):
        metric = self.anchors.metric
        length = metric.posterior_.pair_lengths(self.states[:, None], others)
        return blend([length], 1, metric.supervision, squared / metric.bandwidth_**2)


def unit_grid(n_columns):
    """The finest grid on which numbers between 0 and 1, square roots of probabilities, have one digit."""
    return Grid(1 / Grid(1.0, n_columns).base, n_columns)


@dataclass(frozen=True)
class SingleRows:
    """Rows on a grid as one number per value, to be compared one by one; `norms` where they are of one digit."""

    numbers: Any
    norms: Any
    present: Any

    def __len__(self):
        return len(self.numbers)

    @classmethod
    def of(cls, grid, rows):
        """From `GridRows`."""
        return cls(as_numbers(rows, grid.base), rows.norms if len(rows.digits) == 1 else None, rows.present)


def squared_pairs(grid, A, B, candidates):
    """Squared distances (n, c) of each row of A, `GridRows`, to its own `SingleRows` of B.

    The rows of B for few of A at a time stay in a core's cache.
    """
    D2 = np.empty(candidates.shape)
    for block in row_blocks(len(A), 8.0 * candidates.shape[1] * B.numbers.shape[1], 2**20):
        D2[block] = squared_to_own(grid, A.take(block), B, candidates[block])
    D2 *= grid.step**2
    return D2


def squared_to_own(grid, A, B, candidates):
    """The same in steps of the grid."""
    others = B.numbers[candidates]
    if len(A.digits) == 1 and B.norms is not None and A.present is None and B.present is None:
        D2 = np.einsum("icd,id->ic", others, A.digits[0])  # of whole numbers: exact
        D2 *= -2
        D2 += A.norms[:, None]
        D2 += B.norms[candidates]
        return D2
    others -= as_numbers(A, grid.base)[:, None]
    if A.present is not None or B.present is not None:
        others = np.where(common_present(A, B, candidates), others, 0.0)
    return np.einsum("icd,icd->ic", others, others)


def unmet_pairs(grid, A, B, candidates):
    """The squares of values that the other row of a pair lacks, added up, (n, c)."""
    D2 = np.empty(candidates.shape)
    for block in row_blocks(len(A), 8.0 * candidates.shape[1] * B.numbers.shape[1], 2**20):
        part = A.take(block)
        squares = np.square(as_numbers(part, grid.base))[:, None] + np.square(B.numbers[candidates[block]])
        D2[block] = np.where(common_present(part, B, candidates[block]), 0.0, squares).sum(axis=2)
    D2 *= grid.step**2
    return D2


def common_columns(A, B):
    """How many columns each pair of rows has in common."""
    M, N = (np.ones(rows.digits[0].shape) if rows.present is None else rows.present * 1.0 for rows in (A, B))
    return M @ N.T


def common_present(A, B, candidates):
    """Which columns each row of A and each of its own rows of B have in common, (n, c, D)."""
    M = np.True_ if A.present is None else A.present[:, None]
    N = np.True_ if B.present is None else B.present[candidates]
    return np.broadcast_to(M & N, (*candidates.shape, B.numbers.shape[1]))


def typical_neighbor_distance(all_rows):
    """Median distance of a row to its nearest other one, on a sample of the rows; only its magnitude counts."""
    rows = all_rows[spread_sample(all_rows)].astype(np.float64)
    if sp.issparse(rows):
        products = (rows @ rows.T).toarray()
        norms = np.diag(products)
        D2 = np.maximum(norms[:, None] + norms[None, :] - 2 * products, 0)
    else:
        D2 = cdist(rows, rows, "sqeuclidean")
    nearest = np.min(D2, axis=1, where=D2 > 0, initial=np.inf)
    nearest = np.sqrt(nearest[np.isfinite(nearest)])
    return float(np.median(nearest)) if len(nearest) else float(abs(rows).max()) or 1.0


def spread_sample(rows, work=2e8):
    """Indices of some rows, as far apart in number as they can be: few enough that their pairs have `work` numbers."""
    n_rows, n_columns = rows.shape
    most = int(np.clip(np.sqrt(work / n_columns), 64, 512))
    return np.unique(np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.intp))
