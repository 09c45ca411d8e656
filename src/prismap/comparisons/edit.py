"""Edit distance: letters or tokens to change, add or leave out until two sequences are equal (Levenshtein 1966).

rapidfuzz computes it if it is installed (the extra `things`). The way without is the bit-parallel algorithm of Myers
(1999) in the form of Hyyrö (2003): a column of the dynamic program is two whole numbers, one bit per letter, and
Python's whole numbers are as long as they need to be.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np


@cache
def has_rapidfuzz():
    """Whether the fast way is installed."""
    return find_spec("rapidfuzz") is not None


def prepare(thing):
    """A string as it is, another sequence as a list of hashable tokens."""
    if isinstance(thing, str):
        return thing
    if isinstance(thing, (bytes, dict, set, frozenset)):
        raise TypeError("a string or a list of tokens is needed")
    tokens = [token.item() if isinstance(token, np.generic) else token for token in thing]
    hash(tuple(tokens))
    return tokens


def edit_distance(a, b):
    """Fewest changes, additions and removals of single letters (or tokens) that turn a into b.

    >>> edit_distance("kitten", "sitting")
    3.0
    """
    if has_rapidfuzz():
        from rapidfuzz.distance import Levenshtein

        return float(Levenshtein.distance(a, b))
    return float(bit_parallel_distance(a, b))


def block(A, B, n_jobs=1):
    """All distances between two lists, by rapidfuzz."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    workers = -1 if n_jobs is None else n_jobs
    return cdist(A, B, scorer=Levenshtein.distance, dtype=np.float64, workers=workers)


def bit_parallel_distance(a, b):
    """The distance by bit vectors: `more` and `less` mark where a column of the dynamic program goes up and down."""
    if not a or not b:
        return len(a) or len(b)
    where: dict[Any, int] = {}
    for k, letter in enumerate(a):
        where[letter] = where.get(letter, 0) | 1 << k
    every, last = (1 << len(a)) - 1, 1 << (len(a) - 1)
    more, less, distance = every, 0, len(a)
    for letter in b:
        equal = where.get(letter, 0)
        diagonal = ((((equal & more) + more) ^ more) | equal | less) & every
        up, down = (less | ~(diagonal | more)) & every, more & diagonal
        if up & last:
            distance += 1
        elif down & last:
            distance -= 1
        up, down = (up << 1 | 1) & every, (down << 1) & every
        more, less = (down | ~(diagonal | up)) & every, up & diagonal
    return distance
