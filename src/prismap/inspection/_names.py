"""Names on a picture: beside what they name, over no point, inside the frame and apart from each other.

The page does the same (``web/src/labelling.ts``). Points are looked for in the cells of a grid, whose sums tell at once
whether a box is free. A name goes to the nearest free box around the densest place of its points; the first ones choose
first. Where there is a gap between a name and its points, a line leads from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Numbers, Rows


@dataclass(frozen=True)
class NameRoom:
    """Where a name may stand beside its points, in pixels and as shares of the frame.

    Attributes
    ----------
    cell : a cell in which points are looked for.
    margin : the free room around a name.
    step : a step outwards.
    bridged : the gap that is bridged by a line.
    reach : names stay within this part of the frame from their points,
    reach_of_many : and within this part if there are many, whose lines would cross.
    many : more names than this are many.
    grid : cells along each side of the grid on which the densest place of a class is looked for.
    """

    cell: float = 3.0
    margin: float = 4.0
    step: float = 6.0
    bridged: float = 14.0
    reach: float = 0.45
    reach_of_many: float = 0.12
    many: int = 12
    grid: int = 28


ROOM = NameRoom()

#: Directions in which room is looked for, in degrees: sideways first, where names read best.
ANGLES = np.radians(
    [0, 180, 90, 270, 30, 150, 210, 330, 60, 120, 240, 300, 15, 165, 195, 345, 45, 135, 225, 315, 75, 105, 255, 285]
)


class PlacedName(NamedTuple):
    """The centre of a name, and the line from it to its points; None where they touch."""

    code: int
    centre: Numbers
    line: Numbers | None


def densest_places(positions: Numbers, codes: Rows, n_classes: int) -> Numbers:
    """Where each class has most of its rows, (n_classes, 2): the mean around its fullest cell; NaN without rows."""
    low, span = positions.min(axis=0), np.maximum(np.ptp(positions, axis=0), 1e-12)
    cells = np.minimum((ROOM.grid * (positions - low) / span).astype(np.intp), ROOM.grid - 1)
    places = np.full((n_classes, 2), np.nan)
    for code in range(n_classes):
        rows = np.flatnonzero(codes == code)
        if len(rows):
            own = np.zeros((ROOM.grid, ROOM.grid))
            np.add.at(own, tuple(cells[rows].T), 1)
            fullest = np.array(np.unravel_index(own.argmax(), own.shape))
            places[code] = positions[rows[np.abs(cells[rows] - fullest).max(axis=1) <= 1]].mean(axis=0)
    return places


class Cover:
    """Which cells of a frame hold points, and of which class.

    Parameters
    ----------
    points, codes : of the rows, in pixels from the lower left corner of the frame.
    size : of the frame.
    radius : of a point.
    """

    def __init__(self, points: Numbers, codes: Rows, size: Numbers, radius: float) -> None:
        self.owner = np.full(np.ceil(size / ROOM.cell).astype(np.intp), -2, dtype=np.intp)
        reach = max(0, int(np.ceil((radius - ROOM.cell / 2) / ROOM.cell)))
        cells = np.floor(points / ROOM.cell).astype(np.intp)
        for step in np.ndindex(2 * reach + 1, 2 * reach + 1):
            at = cells + np.array(step) - reach
            inside = ((at >= 0) & (at < self.owner.shape)).all(axis=1)
            self.owner[tuple(at[inside].T)] = codes[inside]
        self.sums = np.pad((self.owner > -2).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))

    def is_free(self, low: Numbers, high: Numbers) -> NDArray[np.bool_]:
        """Which of some boxes (m, 2) no point lies in."""
        most = np.array(self.owner.shape)
        (x0, y0), (x1, y1) = (
            np.clip(rounded(corner / ROOM.cell).astype(np.intp), 0, most).T
            for corner, rounded in ((low, np.floor), (high, np.ceil))
        )
        free: NDArray[np.bool_] = self.sums[x1, y1] - self.sums[x0, y1] - self.sums[x1, y0] + self.sums[x0, y0] == 0
        return free

    def leader(self, low: Numbers, high: Numbers, place: Numbers, code: int) -> Numbers | None:
        """From the near edge of a box towards a place, up to the first point of the class; None if that is close."""
        start = np.clip(place, low, high)
        length = float(np.linalg.norm(place - start))
        if length <= ROOM.bridged:
            return None
        along = np.linspace(0, 1, int(2 * length / ROOM.cell) + 2)
        path = start + along[:, None] * (place - start)
        cells = np.clip((path / ROOM.cell).astype(np.intp), 0, np.array(self.owner.shape) - 1)
        own = np.flatnonzero(self.owner[tuple(cells.T)] == code)
        end = int(own[0]) if len(own) else len(path) - 1
        return np.array([start, path[end]]) if along[end] * length > ROOM.bridged else None


def place_names(places: Numbers, sizes: Numbers, order: Rows, cover: Cover, frame: Numbers) -> list[PlacedName]:
    """Room for names of some `sizes` (n, 2) around `places` (n, 2), in this order; those without room are left out."""
    taken = np.empty((0, 2, 2))
    placed = []
    reach = (ROOM.reach_of_many if len(order) > ROOM.many else ROOM.reach) * frame.max()
    for code in order:
        box = nearest_free(places[code], sizes[code] / 2, cover, taken, frame, reach)
        if box is not None:
            taken = np.concatenate([taken, box[None]])
            line = cover.leader(box[0], box[1], places[code], int(code))
            placed.append(PlacedName(int(code), box.mean(axis=0), line))
    return placed


def nearest_free(
    place: Numbers, half: Numbers, cover: Cover, taken: Numbers, frame: Numbers, reach: float
) -> Numbers | None:
    """The free box (low, high) nearest to a place; its near edge moves outwards."""
    if not np.isfinite(place).all():
        return None
    ways = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    far = np.arange(0, reach, ROOM.step)
    centres = (place + (far[:, None, None] + half) * ways).reshape(-1, 2)
    low, high = centres - half, centres + half
    fine = ((low >= ROOM.margin) & (high <= frame - ROOM.margin)).all(axis=1) & cover.is_free(low, high)
    apart = (low[:, None] >= taken[:, 1] + ROOM.margin) | (high[:, None] <= taken[:, 0] - ROOM.margin)
    fine &= apart.any(axis=2).all(axis=1)
    best = int(fine.argmax())
    return np.array([low[best], high[best]]) if fine.any() else None
