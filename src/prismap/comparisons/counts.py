"""Objects as counts of what they hold: a block of inner products is one sparse product."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from prismap.comparisons.keys import digest


class Counts(NamedTuple):
    """Items, each as a whole number, and how often they occur; ``squared`` is the sum of squared counts."""

    items: np.ndarray
    counts: np.ndarray
    squared: float


def counted(numbers):
    """Counts of whole numbers below 2**64."""
    items, counts = np.unique(np.array(list(numbers), dtype=np.uint64), return_counts=True)
    counts = counts.astype(np.float64)
    return Counts(items, counts, float(counts @ counts))


def number_of(thing):
    """A whole number that stands for an item in every program: eight bytes of its content key."""
    return int.from_bytes(digest(thing)[:8], "little")


def inner_products(A, B):
    """Sums over items of count times count, (len(A), len(B)). Items that only one side holds take no part."""
    if sum(len(a.items) for a in A) > sum(len(b.items) for b in B):
        return inner_products(B, A).T
    vocabulary = np.unique(np.concatenate([a.items for a in A]))
    if not len(vocabulary):
        return np.zeros((len(A), len(B)))
    return (_rows(A, vocabulary) @ _rows(B, vocabulary).T).toarray()


def squares(A):
    """The inner products of objects with themselves."""
    return np.array([a.squared for a in A])


def _rows(objects, vocabulary):
    items = np.concatenate([one.items for one in objects])
    counts = np.concatenate([one.counts for one in objects])
    rows = np.repeat(np.arange(len(objects)), [len(one.items) for one in objects])
    place = np.minimum(np.searchsorted(vocabulary, items), len(vocabulary) - 1)
    known = vocabulary[place] == items
    return csr_array((counts[known], (rows[known], place[known])), shape=(len(objects), len(vocabulary)))


def cosines(A, B):
    """Inner products over the square root of those with themselves; objects without items are like each other only."""
    own_a, own_b = squares(A)[:, None], squares(B)[None]
    product = np.sqrt(own_a * own_b)
    values = np.divide(inner_products(A, B), product, out=np.zeros(product.shape), where=product > 0)
    values[(own_a == 0) & (own_b == 0)] = 1.0
    return values
