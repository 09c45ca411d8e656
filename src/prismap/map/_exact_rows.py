"""A row that equals a fitted one is recognised by its content, not by a distance that rounding could move."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.arrays import Rows

#: Odd numbers that mix the bits of a value.
MIXING = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


class KnownRows:
    """The fitted rows (vectors, or entries against the fitted rows), to be found again by their exact values."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows
        seed = np.random.default_rng(0)
        self.keys = seed.integers(0, 2**63, size=rows.shape[1], dtype=np.uint64) * 2 + 1
        marks = self._marks(rows)
        self.order = np.argsort(marks, kind="stable")
        self.marks = marks[self.order]

    def find(self, rows: Any) -> tuple[Rows, Rows]:
        """Which of some new rows equal a fitted one, and the first that each equals: (rows, fitted rows)."""
        rows = rows.astype(self.rows.dtype, copy=False)
        marks = self._marks(rows)
        first = np.searchsorted(self.marks, marks)
        fitted = np.full(len(marks), -1, dtype=np.intp)
        open_rows = np.arange(len(marks))
        while len(open_rows):  # rows of the same mark are tried one after the other
            place = np.minimum(first[open_rows], len(self.marks) - 1)
            tried = (first[open_rows] < len(self.marks)) & (self.marks[place] == marks[open_rows])
            open_rows, candidates = open_rows[tried], self.order[place[tried]]
            same = self._same(rows[open_rows], self.rows[candidates])
            fitted[open_rows[same]] = candidates[same]
            open_rows = open_rows[~same]
            first[open_rows] += 1
        equal = np.flatnonzero(fitted >= 0)
        return equal, fitted[equal]

    @staticmethod
    def _same(rows: Any, others: Any) -> NDArray[np.bool_]:
        """Which rows equal their counterparts, value by value."""
        if not rows.shape[0]:
            return np.zeros(0, dtype=bool)
        other = rows != others
        if not sp.issparse(rows):
            other &= ~(np.isnan(rows) & np.isnan(others))  # a value that is missing in both
        same: NDArray[np.bool_] = np.asarray(other.sum(axis=1)).ravel() == 0
        return same

    def _marks(self, rows: Any) -> NDArray[np.uint64]:
        """``sum_j key_j mixed(x_j)`` modulo 2^64 of each row: equal rows have equal marks, others hardly ever."""
        if sp.issparse(rows):
            rows = sp.csr_array(rows)
            bits = sp.csr_array((self._mixed(rows.data), rows.indices, rows.indptr), shape=rows.shape)
            return np.asarray(bits @ self.keys)
        return np.asarray((self._mixed(rows) * self.keys).sum(axis=1, dtype=np.uint64))

    @staticmethod
    def _mixed(values: NDArray[Any]) -> NDArray[np.uint64]:
        """The bits of numbers, mixed; those of zero are zero whatever its sign, those of NaN always alike.

        The bits of small whole numbers are zeros but for the first few, and so would their products be but for these:
        each round (multiply, then shift, as in Steele, Lea and Flood 2014, sec. 3) lets every bit decide on all others.
        """
        numbers = values.astype(np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan
        bits = numbers.view(np.uint64)
        for factor in MIXING:
            bits ^= bits >> np.uint64(32)
            bits *= factor
        bits ^= bits >> np.uint64(32)
        return bits


class KnownObjects:
    """The fitted objects, to be found again by their content."""

    def __init__(self, rows: Any) -> None:
        self.first: dict[Any, int] = {}
        for place, key in enumerate(rows.content_keys()):
            self.first.setdefault(key, place)

    def find(self, rows: Any) -> tuple[Rows, Rows]:
        """Which of some new objects equal a fitted one, and the first that each equals: (rows, fitted rows)."""
        places = np.array([self.first.get(key, -1) for key in rows.content_keys()], dtype=np.intp)
        equal = np.flatnonzero(places >= 0)
        return equal, places[equal]
