"""A grid of the plane, the rows that lie behind its places, and what a model says of them.

``place z -> row pi^-1(z) -> f(pi^-1(z))`` (Schulz 2017, sec. 3.4.2). The rows behind a plane form a surface in the data
space.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

from prismap._util.repr import Brief
from prismap.exceptions import InputError
from prismap.inspection._tasks import Answer

#: The grid reaches this share of the plane's width beyond the rows.
MARGIN = 0.06
#: A place is far from the data when no row is nearer than this share of the map's diagonal, or than this many times the
#: distance that 95 % of the rows have to another one, whichever is more.
FAR_SHARE, FAR_NEIGHBORS = 0.04, 3.0
#: A region of the picture with fewer rows than this share of them is no region of its own.
SMALL_REGION = 0.01
#: Bands of output that are the regions of a regressor's picture.
N_BANDS = 5


@dataclass(frozen=True, repr=False)
class Grid(Brief):
    """A picture of a model: its answers at places of the plane, line 0 at the lowest y. Arrays are read-only.

    Parameters
    ----------
    x, y : places of the columns and of the lines.
    value : (lines, columns) codes of classes, or real output.
    certainty : the same for the model's certainty, or None.
    far : which places are far from all rows.
    """

    x: np.ndarray
    y: np.ndarray
    value: np.ndarray
    certainty: np.ndarray | None
    far: np.ndarray

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """(x_min, x_max, y_min, y_max) of the outer edges of the cells."""
        dx, dy = (self.x[1] - self.x[0]) / 2, (self.y[1] - self.y[0]) / 2
        return (float(self.x[0] - dx), float(self.x[-1] + dx), float(self.y[0] - dy), float(self.y[-1] + dy))

    def cells(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(line, column) of the cell each position lies in."""
        places = []
        for axis, coordinate in ((self.y, positions[:, 1]), (self.x, positions[:, 0])):
            step = axis[1] - axis[0]
            places.append(np.clip(np.rint((coordinate - axis[0]) / step).astype(np.intp), 0, len(axis) - 1))
        return places[0], places[1]

    def height(self, positions: np.ndarray) -> np.ndarray | None:
        """Certainty, or output where there are no classes, between the places of the grid; None: there is neither."""
        height = self.certainty if self.value.dtype.kind in "iu" else self.value
        if height is None:
            return None
        axes = ((self.y, positions[:, 1]), (self.x, positions[:, 0]))
        lines, columns = ((coordinate - axis[0]) / (axis[1] - axis[0]) for axis, coordinate in axes)
        return np.asarray(ndimage.map_coordinates(height, [lines, columns], order=1, mode="nearest"))


def frozen(array: Any) -> Any:
    """A read-only copy of an array; None stays None."""
    if array is None:
        return None
    array = np.array(array)
    array.setflags(write=False)
    return array


def plane_axes(positions: np.ndarray, resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """Places of the columns and lines of a grid around positions, the same number along both."""
    low, high = positions.min(axis=0), positions.max(axis=0)
    width = np.maximum(high - low, 1e-9 * max(float(np.max(high - low)), 1.0))
    low, high = low - MARGIN * width, high + MARGIN * width
    return np.linspace(low[0], high[0], resolution), np.linspace(low[1], high[1], resolution)


def far_places(places: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Which places have no row nearby."""
    tree = cKDTree(positions)
    usual = np.quantile(tree.query(positions, k=min(2, len(positions)))[0].reshape(len(positions), -1)[:, -1], 0.95)
    limit = max(FAR_SHARE * float(np.linalg.norm(np.ptp(positions, axis=0))), FAR_NEIGHBORS * float(usual))
    return np.asarray(tree.query(places)[0] > limit)


def make_grid(inverse: Any, responder: Any, positions: np.ndarray, resolution: int) -> Grid:
    """The model's picture around the positions: ``responder(inverse(place))`` for each place of a grid."""
    x, y = plane_axes(positions, resolution)
    places = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    answer: Answer = responder(inverse(places))
    shape = (len(y), len(x))
    sure = None if answer.certainty is None else answer.certainty.reshape(shape)
    return Grid(
        frozen(x), frozen(y), frozen(answer.value.reshape(shape)), frozen(sure),
        frozen(far_places(places, positions).reshape(shape)),
    )  # fmt: skip


def positions_of(fitted: Any, X: Any) -> np.ndarray:
    """Places of rows on a fitted map, which must have two dimensions."""
    positions = np.asarray(fitted.transform(X), dtype=np.float64)
    if positions.ndim != 2 or positions.shape[1] != 2:
        raise InputError(f"map must place rows in two dimensions; {type(fitted).__name__} gave {positions.shape[1:]}.")
    return positions


def region_codes(grid: Grid, positions: np.ndarray) -> np.ndarray:
    """The region of the picture each row lies in: connected places with one class, or one band of output.

    Numbered from 0 by size; -1 for rows in regions that hold hardly any.
    """
    level = grid.value if grid.value.dtype.kind in "iu" else output_bands(grid.value, positions, grid)
    labels = np.zeros(level.shape, dtype=np.intp)
    n_labels = 0
    for value in np.unique(level):
        parts, count = ndimage.label((level == value) & ~grid.far)
        labels[parts > 0] = parts[parts > 0] + n_labels
        n_labels += count
    own = labels[grid.cells(positions)]
    sizes = np.bincount(own, minlength=n_labels + 1)
    sizes[0] = 0
    large = np.flatnonzero(sizes >= max(2, SMALL_REGION * len(positions)))
    large = large[np.argsort(-sizes[large], kind="stable")]
    number = np.full(n_labels + 1, -1, dtype=np.intp)
    number[large] = np.arange(len(large))
    return np.asarray(number[own])


def output_bands(value: np.ndarray, positions: np.ndarray, grid: Grid) -> np.ndarray:
    """Real output cut into bands with equally many rows."""
    at_rows = value[grid.cells(positions)]
    edges = np.quantile(at_rows, np.linspace(0, 1, N_BANDS + 1)[1:-1])
    return np.searchsorted(edges, value)
