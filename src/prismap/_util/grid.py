"""Squared distances that every processor computes to the same bits.

A matrix product adds its terms in an order that depends on the processor, on the number of threads and on the place of
a row in its block, and rounding makes that order visible. Whole numbers below 2^53 are added without rounding. So rows
are laid on a grid whose step is far below anything that matters, and there

    ||x - z||^2 = ||x||^2 + ||z||^2 - 2 <x, z>

is a sum of whole numbers that comes out the same alone, among others, and on any machine. Rows too long for that are
written with several digits in base ``2^bits``: every product of two digits is exact, and the few roundings of their sum
happen element by element, in a fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from prismap._util.blocks import PAIRS

Array: TypeAlias = Any

#: The step at most, as a share of the typical distance between neighbours, and at least, as a share of that.
RESOLUTION, FINEST = 2.0**-15, 2.0**-12
#: How many times as far out as the fitted rows a new row may lie and still be written with one digit.
ROOM = 4.0
#: Digits of a coordinate at most; longer rows are drawn in on the line to the origin.
MOST_DIGITS = 3
#: With several digits, squared distances below this share of the norms have lost digits and are measured again.
CANCELLED = 2.0**-26


@dataclass(frozen=True)
class GridRows:
    """Rows on a grid: their digits, lowest first, each an array of whole numbers, and their squared norms.

    `present` marks the values that are not missing; None where none is, and missing ones are 0.
    """

    digits: tuple[Array, ...]
    norms: Array
    present: Array = None

    def __len__(self) -> int:
        return len(self.norms)

    @cached_property
    def lifted(self) -> Array:
        """``[-2 x, 1, ||x||^2]`` of rows of one digit, whose product with ``[z, ||z||^2, 1]`` is a squared distance."""
        return np.hstack([-2 * self.digits[0], np.ones((len(self), 1)), self.norms[:, None]])

    def take(self, index: Array) -> GridRows:
        """Some of the rows."""
        present = None if self.present is None else self.present[index]
        return GridRows(tuple(digit[index] for digit in self.digits), self.norms[index], present)


class Grid:
    """A grid of whole multiples of `step`, a power of two, under rows of `n_columns` numbers."""

    def __init__(self, step: float, n_columns: int) -> None:
        self.step = 2.0 ** np.floor(np.log2(step))
        # 4 D 2^(2 bits) <= 2^53: norms and twice the inner product, and so the squared distance, stay exact.
        self.bits = int((51 - np.ceil(np.log2(max(n_columns, 1)))) // 2)
        self.base = 2.0**self.bits

    @classmethod
    def under(cls, rows: Array, typical: float) -> Grid:
        """A grid that moves no row by more than a small share of a typical distance between neighbours.

        It is as fine as rows of one digit allow, with room for new rows a few times as far out.
        """
        n_columns = max(rows.shape[1], 1)
        coarse = max(typical, np.finfo(np.float64).tiny * 1e16) * RESOLUTION / np.sqrt(n_columns)
        grid = cls(coarse, n_columns)
        largest = max(float(abs(rows).max()), typical)
        return cls(float(np.clip(ROOM * largest / grid.base, coarse * FINEST, coarse)), n_columns)

    def lay(self, rows: Array, present: Array = None) -> GridRows:
        """The rows on the grid, and which of their values are present (None: all)."""
        sparse = sp.issparse(rows)
        numbers = np.asarray(rows.data if sparse else rows, dtype=np.float64) / self.step
        reach = self.base**MOST_DIGITS / 4
        if np.abs(numbers).max(initial=0.0) > reach:
            numbers = self._drawn_in(rows, numbers, reach)
        digits = []
        numbers = np.rint(numbers)
        while np.abs(numbers).max(initial=0.0) > self.base:
            higher = np.rint(numbers / self.base)
            digits.append(numbers - higher * self.base)
            numbers = higher
        digits.append(numbers)
        if sparse:
            digits = [sp.csr_array((digit, rows.indices, rows.indptr), shape=rows.shape) for digit in digits]
        return GridRows(tuple(digits), self._weighted(digits, digits, rowwise_product), present)

    def squared(self, A: GridRows, B: GridRows) -> Array:
        """Squared distances of all pairs, (n_A, n_B), in the units of the rows: sums over the columns both have."""
        whole = A.present is None and B.present is None
        if whole and len(A.digits) + len(B.digits) == 2 and not sp.issparse(A.digits[0]):
            # The square of the step is a power of two, so that numbers times it are as exact as before.
            return self.step**2 * np.hstack([A.digits[0], A.norms[:, None], np.ones((len(A), 1))]) @ B.lifted.T
        D2 = self._weighted(A.digits, B.digits, all_products)
        D2 *= -2
        D2 += self._squares_met(A, B) + self._squares_met(B, A).T
        if len(A.digits) + len(B.digits) > 2:
            self._measure_again(A, B, D2)
        D2 *= self.step**2
        return D2

    def squares_unmet(self, A: GridRows, B: GridRows) -> Array:
        """``sum_j a_j^2 [b_j is missing] + sum_j [a_j is missing] b_j^2`` of all pairs, in the units of the rows."""
        met = self._squares_met(A, B) + self._squares_met(B, A).T
        return np.asarray((A.norms[:, None] + B.norms[None, :] - met) * self.step**2)

    def _squares_met(self, A: GridRows, B: GridRows) -> Array:
        """``sum_j a_j^2 [b_j is present]`` of all pairs: the norms of A, where nothing of B is missing."""
        if B.present is None:
            return A.norms[:, None]
        met = B.present.astype(np.float64).T
        return self._weighted(A.digits, A.digits, lambda a, b: (a * b) @ met)

    def _weighted(self, A: Any, B: Any, product: Any) -> Array:
        """``sum_pq base^(p + q) product(a_p, b_q)``, summed alike for norms, inner products and their mirror images."""
        total = None
        for power in range(len(A) + len(B) - 1):
            # The products of one power are whole numbers whose sum is exact too.
            part = sum(product(a, B[power - p]) for p, a in enumerate(A) if 0 <= power - p < len(B))
            total = part if total is None else total + part * self.base**power
        return total

    def _drawn_in(self, rows: Array, numbers: Array, reach: float) -> Array:
        """Rows beyond the grid, drawn in on the line to the origin. They are far from everything all the same."""
        if not sp.issparse(rows):
            longest = np.abs(numbers).max(axis=1, keepdims=True)
            return numbers * np.where(longest > reach, reach / np.maximum(longest, reach), 1.0)
        lengths = np.diff(rows.indptr)
        row = np.repeat(np.arange(len(lengths)), lengths)
        longest = np.zeros(len(lengths))
        np.maximum.at(longest, row, np.abs(numbers))
        return numbers * np.where(longest > reach, reach / np.maximum(longest, reach), 1.0)[row]

    def _measure_again(self, A: GridRows, B: GridRows, D2: Array) -> None:
        """Pairs that lost their digits to cancellation, by differences; in place."""
        np.maximum(D2, 0, out=D2)
        if sp.issparse(A.digits[0]):
            return
        i, j = np.nonzero(CANCELLED * (A.norms[:, None] + B.norms[None, :]) >= D2)
        for start in range(0, len(i), PAIRS):
            pairs = slice(start, start + PAIRS)
            some, others = A.take(i[pairs]), B.take(j[pairs])
            gap = as_numbers(some, self.base) - as_numbers(others, self.base)
            for present in (some.present, others.present):
                gap = gap if present is None else gap * present
            D2[i[pairs], j[pairs]] = np.einsum("ij,ij->i", gap, gap)


def as_numbers(rows: GridRows, base: float) -> Array:
    """The rows as single numbers again, in steps of the grid."""
    if len(rows.digits) == 1:
        return rows.digits[0]
    total = rows.digits[-1]
    for digit in rows.digits[-2::-1]:
        total = total * base + digit
    return total


def all_products(a: Array, b: Array) -> Array:
    """Inner products of all pairs of rows."""
    product = a @ b.T
    return product.toarray() if sp.issparse(product) else product


def rowwise_product(a: Array, b: Array) -> Array:
    """Inner products of rows with their counterparts."""
    if sp.issparse(a):
        return np.asarray(a.multiply(b).sum(axis=1), dtype=np.float64).ravel()
    return np.einsum("ij,ij->i", a, b)


def sum_products(K: Array, coefficients: Array) -> Array:
    """``K @ coefficients`` for few columns, each row summed by itself: no library decides on the order of its terms."""
    K = np.ascontiguousarray(K)  # in another layout the order would depend on the number of rows
    columns = np.ascontiguousarray(coefficients.T, dtype=K.dtype)
    return np.stack([np.einsum("ij,j->i", K, column) for column in columns], axis=1)
