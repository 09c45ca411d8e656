"""Many vectors, searched through the cells of landmarks.

Every 32nd vector, drawn at random, is a *landmark*, and each belongs to the cell of its nearest landmark. A new one
looks for its nearest landmarks, and for its nearest vectors in their cells. Where there are many landmarks, they are
looked for in the same way. So a new vector is compared with a few thousand others, however many there are.

The search goes on on a grid of whole numbers (`prismap._util.grid`), where distances are exact, and equally near
vectors are ordered by their place. So neither the cells nor the result of a search depend on the processor, on the
number of threads, or on the batch that a vector comes in, and cells that are made again from the same vectors are the
same.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from prismap._util.blocks import row_blocks
from prismap._util.grid import Grid, GridRows, rowwise_product
from prismap._util.search import concatenated

#: Rows up to which a pass over all of them is made.
MOST_COMPARED = 4000
#: Rows of a cell on average.
CELL_ROWS = 32
#: Bytes of the distances of a block of rows to landmarks.
BLOCK_BYTES = 2**24


class VectorSearch:
    """Vectors and their cells, which are made at first use.

    Parameters
    ----------
    rows_at : ``rows_at(slice)``, some of the vectors.
    n_rows : how many there are.
    typical : typical distance between neighbours on a sample. Only its magnitude counts: the grid serves the search.
    """

    def __init__(self, rows_at, n_rows, typical):
        self.rows_at, self.n_rows = rows_at, n_rows
        largest = np.concatenate([np.abs(rows_at(block)).max(axis=1, initial=0.0) for block in blocks_of(n_rows)])
        n_columns = rows_at(slice(0, 1)).shape[1]
        finest = 4.0 * float(largest.max()) / Grid(1.0, n_columns).base  # four times: there is room for new rows
        self.grid = Grid(np.clip(finest, 2.0**-30 * typical, 2.0**-8 * typical / np.sqrt(n_columns)), n_columns)
        #: Whether nearly all vectors lie on the grid.
        self.holds = np.mean(largest > self.grid.base * self.grid.step) <= 1e-3

    @cached_property
    def cells(self):
        """The vectors by their landmarks."""
        # A digit has 25 bits at most: half of the memory of double precision, and no other number.
        numbers = np.empty((self.n_rows, self.rows_at(slice(0, 1)).shape[1]), dtype=np.int32)
        norms = np.empty(self.n_rows)
        for block in blocks_of(self.n_rows):
            laid = self.lay(self.rows_at(block))
            numbers[block], norms[block] = laid.digits[0], laid.norms
        return CellSearch(self.grid, GridRows((numbers,), norms))

    def lay(self, rows):
        """Vectors as whole numbers of one digit. The few that lie outside the grid are drawn to its edge."""
        numbers = np.rint(rows.astype(np.float64) / self.grid.step)
        numbers = np.clip(numbers, -self.grid.base, self.grid.base)
        return GridRows((numbers,), rowwise_product(numbers, numbers))

    def find(self, rows, n_neighbors):
        """The nearest vectors of new ones, nearly: their indices (n, k), ascending."""
        near = np.empty((len(rows), n_neighbors), dtype=np.intp)
        for block in row_blocks(len(rows), 8.0 * MOST_COMPARED, BLOCK_BYTES):
            near[block] = self.cells.find(self.lay(rows[block]), n_neighbors)
        return near


def vector_search(rows_at, n_rows, typical):
    """The search of vectors, None where they are too few for it or too far apart for a grid."""
    search = VectorSearch(rows_at, n_rows, typical) if n_rows > MOST_COMPARED else None
    return search if search is not None and search.holds else None


def blocks_of(n_rows):
    """Slices of vectors that are led to their landmarks together."""
    return row_blocks(n_rows, 1.0, 20_000)


class CellSearch:
    """Rows of one digit on a grid, by their nearest landmarks; few rows by themselves.

    Parameters
    ----------
    grid : the `Grid`.
    rows : `GridRows`.
    """

    def __init__(self, grid, rows):
        self.grid, self.n_cells = grid, len(rows) // CELL_ROWS if len(rows) > MOST_COMPARED else 0
        if not self.n_cells:
            self.rows = GridRows((rows.digits[0].astype(np.float64),), rows.norms)
            return
        drawn = np.sort(np.random.default_rng(0).choice(len(rows), self.n_cells, replace=False))
        leads = CellSearch(grid, rows.take(drawn))
        cell = np.concatenate([leads.nearest(rows.take(block)) for block in blocks_of(len(rows))])
        used, cell = np.unique(cell, return_inverse=True)  # of equal landmarks one has all rows
        self.n_cells = len(used)
        self.landmarks = leads if self.n_cells == len(drawn) else CellSearch(grid, rows.take(drawn[used]))
        self.members = np.argsort(cell, kind="stable")
        self.edges = np.searchsorted(cell[self.members], np.arange(self.n_cells + 1))
        self.numbers, self.norms = rows.digits[0][self.members], rows.norms[self.members]

    def find(self, rows, n_neighbors):
        """Which of the rows here are nearest, (n, k) by place; of equally near ones the first."""
        if self.n_cells:
            return self._in_cells(rows, n_neighbors)
        near = np.empty((len(rows), n_neighbors), dtype=np.intp)
        for block in row_blocks(len(rows), 8.0 * len(self.rows), BLOCK_BYTES):
            near[block] = smallest_by_place(self.grid.squared(rows.take(block), self.rows), n_neighbors)
        return near

    def _probed(self, rows, n_neighbors):
        """The cells that rows look into, and how many rows each has.

        They are sixteen times as many as the wanted rows would fill, and eight at least.
        """
        n_probed = max(8, -(-16 * n_neighbors // CELL_ROWS))
        probed = self.landmarks.find(rows, min(n_probed, self.n_cells))
        return probed, self.edges[probed + 1] - self.edges[probed]

    def _in_cells(self, rows, n_neighbors):
        """The nearest rows in the probed cells, for each row by itself: few rows look into the same cells."""
        probed, sizes = self._probed(rows, n_neighbors)
        candidates = np.split(concatenated(self.edges[probed], sizes), sizes.sum(axis=1).cumsum()[:-1])
        near = np.empty((len(rows), n_neighbors), dtype=np.intp)
        for i, (number, places) in enumerate(zip(rows.digits[0], candidates, strict=True)):
            if len(places) < n_neighbors:  # small cells only
                places = np.arange(len(self.members))
            D2 = self.numbers[places].astype(np.float64) @ (-2 * number)
            D2 += self.norms[places]
            near[i] = self.members[places[smallest_by_place(D2[None], n_neighbors)[0]]]
        return np.sort(near, axis=1)

    def nearest(self, rows):
        """The nearest row here of many rows, of equally near ones the first: those that share a cell together."""
        best, place = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.intp)
        if not self.n_cells:
            for block in row_blocks(len(rows), 8.0 * len(self.rows), BLOCK_BYTES):
                place[block] = self.grid.squared(rows.take(block), self.rows).argmin(axis=1)
            return place
        probed, _ = self._probed(rows, 1)
        asking = np.argsort(probed, axis=None, kind="stable")
        starts = np.searchsorted(probed.ravel()[asking], np.arange(self.n_cells + 1))
        for cell in np.flatnonzero(np.diff(starts)):
            some, part = asking[starts[cell] : starts[cell + 1]] // probed.shape[1], self._cell(cell)
            D2 = self.grid.squared(rows.take(some), part)
            nearest = D2.argmin(axis=1)
            D2, nearest = D2[np.arange(len(some)), nearest], self.members[self.edges[cell] + nearest]
            better = (best[some] > D2) | ((best[some] == D2) & (nearest < place[some]))
            best[some[better]], place[some[better]] = D2[better], nearest[better]
        return place

    def _cell(self, cell):
        """The rows of a cell."""
        part = slice(self.edges[cell], self.edges[cell + 1])
        return GridRows((self.numbers[part].astype(np.float64),), self.norms[part])


def smallest_by_place(D, n_smallest):
    """The columns of the smallest entries of each row, ascending; of equal entries the first, on every processor."""
    if n_smallest >= D.shape[1]:
        return np.broadcast_to(np.arange(D.shape[1]), D.shape)
    limit = np.partition(D, n_smallest - 1, axis=1)[:, n_smallest - 1 : n_smallest]
    chosen = limit >= D
    surplus = np.flatnonzero(chosen.sum(axis=1) > n_smallest)
    for row in surplus:
        equal = np.flatnonzero(D[row] == limit[row])
        chosen[row, equal[n_smallest - chosen[row].sum() :]] = False
    return np.nonzero(chosen)[1].reshape(len(D), n_smallest)
