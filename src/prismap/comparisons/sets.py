"""Sets compared by what they share: Jaccard's index, the number of common items and Ochiai's index, all kernels."""

from __future__ import annotations

import numpy as np

from prismap.comparisons.counts import Counts, cosines, counted, inner_products, number_of, squares


def prepare(thing):
    """The items of a set, each once."""
    if isinstance(thing, Counts):
        return thing
    if isinstance(thing, (str, bytes, dict)):
        raise TypeError("a set or a list of items is needed; cut text into items first, as by text.split()")
    return counted({number_of(item) for item in thing})


def jaccard(a, b):
    """Common items as a share of all items of two sets; 1 for two empty ones.

    >>> jaccard({"a", "b"}, {"b", "c"}) == 1 / 3
    True
    """
    return _single(jaccard_block, a, b)


def intersection(a, b):
    """The number of common items.

    >>> intersection(["a", "b"], ["b", "c"])
    1.0
    """
    return _single(intersection_block, a, b)


def ochiai(a, b):
    """Common items over the geometric mean of the numbers of items; 1 for two empty sets.

    >>> ochiai({"a"}, {"a", "b", "c", "d"})
    0.5
    """
    return _single(ochiai_block, a, b)


def jaccard_block(A, B):
    """Jaccard's index between two lists of sets."""
    common = inner_products(A, B)
    either = squares(A)[:, None] + squares(B) - common
    return np.divide(common, either, out=np.ones(common.shape), where=either > 0)


intersection_block = inner_products
ochiai_block = cosines


def _single(block, a, b):
    return float(block([prepare(a)], [prepare(b)])[0, 0])
