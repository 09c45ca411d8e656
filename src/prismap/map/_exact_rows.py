"""A row that equals a fitted one is recognised by its content, not by a distance that rounding could move."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from prismap._util.arrays import Rows


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
        place = np.minimum(np.searchsorted(self.marks, marks), len(self.marks) - 1)
        candidates = np.flatnonzero(self.marks[place] == marks)
        fitted = self.order[place[candidates]]
        if not len(candidates):
            return candidates, fitted
        other = rows[candidates] != self.rows[fitted]
        if not sp.issparse(rows):
            other &= ~(np.isnan(rows[candidates]) & np.isnan(self.rows[fitted]))  # a value that is missing in both
        same = np.asarray(other.sum(axis=1)).ravel() == 0
        return candidates[same], fitted[same]

    def _marks(self, rows: Any) -> NDArray[np.uint64]:
        """``sum_j key_j bits(x_j)`` modulo 2^64 of each row: equal rows have equal marks, others hardly ever."""
        if sp.issparse(rows):
            rows = sp.csr_array(rows)
            bits = sp.csr_array((self._bits(rows.data), rows.indices, rows.indptr), shape=rows.shape)
            return np.asarray(bits @ self.keys)
        return np.asarray((self._bits(rows) * self.keys).sum(axis=1, dtype=np.uint64))

    @staticmethod
    def _bits(values: NDArray[Any]) -> NDArray[np.uint64]:
        """The bits of numbers as whole numbers; those of zero are zero whatever its sign, those of NaN always alike."""
        numbers = values.astype(np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan
        return numbers.view(np.uint64)


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
