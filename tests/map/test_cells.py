"""Placing by the fitted rows of the nearest cells, against the same said row by row."""

from types import SimpleNamespace

import numpy as np
import pytest

from prismap.map._cells import CELLS, Cells, spacing

N_CELLS = 40


@pytest.fixture
def line():
    """Landmarks on a line, with 4, 5, 6, ... fitted rows around each: cells of every size, more than are probed."""
    rng = np.random.default_rng(0)
    landmarks = np.column_stack([np.arange(N_CELLS) * 10.0, np.zeros(N_CELLS)])
    cell = np.repeat(np.arange(N_CELLS), np.arange(4, N_CELLS + 4))
    rows = landmarks[cell] + rng.normal(size=(len(cell), 2))
    rows = rows[rng.permutation(len(rows))]
    own = Landmarks(rows, landmarks)
    cells = Cells(own, None, rows / 10, 0)
    cells.radius = 0.15  # some of a cell's rows are beside each other, and not all
    return SimpleNamespace(cells=cells, own=own, rows=rows, landmarks=landmarks, positions=rows / 10)


class Landmarks:
    """Rows seen from the landmarks, by the plain formula."""

    search = None

    def __init__(self, rows, landmarks):
        self.rows, self.landmarks, self.anchors = rows, landmarks, np.arange(len(landmarks))

    def see(self, new):
        seen = SimpleNamespace(distances=to(new, self.landmarks))
        seen.among = lambda candidates: np.sqrt(((new[:, None] - self.rows[candidates]) ** 2).sum(axis=2))
        return seen

    def of_fitted(self, block):
        return self.see(self.rows[block])


def placed(line, new):
    seen = line.own.see(new)
    return line.cells.place(seen, seen)


def to(A, B):
    return np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))


def slow_place(x, line):
    """The weighted mean of the nearest rows in the nearest cells, those beside the very nearest one on the map."""
    probed = np.argsort(to(x[None], line.landmarks)[0])[: CELLS.most_probed]
    own = to(line.rows, line.landmarks).argmin(axis=1)
    candidates = [j for j in range(len(line.rows)) if own[j] in probed]
    nearest = sorted(candidates, key=lambda j: np.sum((x - line.rows[j]) ** 2))[: CELLS.deciding]
    squared = np.array([np.sum((x - line.rows[j]) ** 2) for j in nearest])
    total, weight = np.zeros(2), 0.0
    for d2, j in zip(squared, nearest, strict=True):
        if np.linalg.norm(line.positions[j] - line.positions[nearest[0]]) <= line.cells.radius:
            w = np.exp(-0.5 * (d2 - squared[0]) / squared.max())
            total, weight = total + w * line.positions[j], weight + w
    return total / weight, np.sqrt(squared[0])


def test_equals_the_slow_twin_where_cells_differ_in_size(line):
    # Near the first landmark there are few rows to look at, near the last one many: the first needs filling up.
    new = np.random.default_rng(1).normal(size=(60, 2)) + np.repeat(
        [[0.0, 0.0], [390.0, 0.0], [200.0, 3.0]], 20, axis=0
    )
    Y, nearest = placed(line, new)
    for x, y, distance in zip(new, Y, nearest, strict=True):
        expected, expected_distance = slow_place(x, line)
        np.testing.assert_allclose(y, expected)
        assert distance == pytest.approx(expected_distance)


def test_filling_up_counts_for_nothing(line):
    # The filling is a true row, that of the first cell: beside it, a row alone and one in large company must agree.
    first = line.rows[line.cells.members[0][0]][None] + 0.01
    company = np.vstack([first, line.landmarks[-1:]])
    alone, among = placed(line, first)[0], placed(line, company)[0]
    np.testing.assert_allclose(among[0], alone[0], rtol=1e-12)


def test_a_fitted_row_finds_itself(line):
    assert not placed(line, line.rows[:50])[1].any()


def test_spacing_is_the_median_distance_to_the_tenth_neighbour(line):
    D = np.sort(to(line.positions, line.positions), axis=1)
    assert spacing(line.positions, 0) == pytest.approx(np.median(D[:, 10]))
