"""Distances of sequences, texts and trees: how many edits make one of the other, or how well they compress together.

Edit distances are those of sequences (Levenshtein 1966) and of ordered trees (Zhang, Shasha 1989).

The distance of sequences is computed by rapidfuzz if it is installed (the extra `things`), and otherwise by the
bit-parallel algorithm of Myers (1999) in the form of Hyyrö (2003): a column of the dynamic program is two whole numbers
of Python, one bit per letter.

The normalised compression distance (Cilibrasi, Vitanyi 2005) is ``d(x, y) = (C(xy) - min(C(x), C(y))) / max(C(x),
C(y))``, where C is the length after compression. The shorter of two texts (the smaller, if they are equally long) comes
first, which makes the distance symmetric, and equal texts are at distance 0. zlib looks back 32 kilobytes: use "lzma"
for texts longer than half of that.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from prismap._util.arrays import Numbers
from prismap.exceptions import InputError


@cache
def has_rapidfuzz() -> bool:
    """Whether the fast way is installed."""
    return find_spec("rapidfuzz") is not None


def prepare_sequence(thing: Any) -> Any:
    """A string as it is, another sequence as a list of hashable tokens."""
    if isinstance(thing, str):
        return thing
    if isinstance(thing, (bytes, dict, set, frozenset)):
        raise TypeError("a string or a list of tokens is needed")
    tokens = [token.item() if isinstance(token, np.generic) else token for token in thing]
    hash(tuple(tokens))
    return tokens


def edit_distance(a: Any, b: Any) -> float:
    """Fewest changes, additions and removals of single letters (or tokens) that turn a into b.

    >>> edit_distance("kitten", "sitting")
    3.0
    """
    if has_rapidfuzz():
        from rapidfuzz.distance import Levenshtein

        return float(Levenshtein.distance(a, b))
    return float(bit_parallel_distance(a, b))


def edit_block(A: Sequence[Any], B: Sequence[Any], n_jobs: int | None = 1) -> Numbers:
    """All distances between two lists, by rapidfuzz."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    workers = -1 if n_jobs is None else n_jobs
    return cdist(A, B, scorer=Levenshtein.distance, dtype=np.float64, workers=workers)


def bit_parallel_distance(a: Any, b: Any) -> int:
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


# Trees


class Tree(NamedTuple):
    """A tree in postorder: labels, the first leaf below each node, and the nodes where subtrees are compared."""

    labels: list[Any]
    first_leaf: list[int]
    keyroots: list[int]


def prepare_tree(thing: Any) -> Tree:
    """The postorder form of a tree.

    A tree is written ``[label, child, child, ...]``, where a child is a tree or, if it is a leaf, its label alone.
    """
    if isinstance(thing, Tree):
        return thing
    if not isinstance(thing, (list, tuple)):
        raise TypeError("a list [label, child, ...] is needed")
    # Backwards, a postorder is a preorder with the children from right to left.
    labels: list[Any] = []
    sizes: list[int] = []
    parents: list[int] = []
    stack: list[tuple[Any, int]] = [(thing, -1)]
    while stack:
        node, parent = stack.pop()
        node = node if isinstance(node, (list, tuple)) else [node]
        if not node or isinstance(node[0], (list, tuple, dict)):
            raise ValueError("a node must begin with its label, text or a number")
        place = len(labels)
        labels.append(node[0])
        sizes.append(1)
        parents.append(parent)
        stack += [(child, place) for child in node[1:]]
    for place in range(len(labels) - 1, 0, -1):
        sizes[parents[place]] += sizes[place]
    first_leaf = [k - size + 1 for k, size in enumerate(reversed(sizes))]
    last = {leaf: node for node, leaf in enumerate(first_leaf)}
    return Tree(labels[::-1], first_leaf, sorted(last.values()))


def tree_edit_distance(a: Any, b: Any) -> float:
    """Fewest nodes to rename, insert or remove that turn one ordered tree into the other.

    >>> tree_edit_distance(["f", ["d", "a", ["c", "b"]], "e"], ["f", ["c", ["d", "a", "b"]], "e"])
    2.0
    """
    a, b = prepare_tree(a), prepare_tree(b)
    distances = [[0.0] * len(b.labels) for _ in a.labels]
    for i in a.keyroots:
        for j in b.keyroots:
            _forests(a, b, i, j, distances)
    return distances[-1][-1]


def _forests(a: Tree, b: Tree, i: int, j: int, distances: Any) -> None:
    """Distances of all pairs of subtrees whose first leaves are those of i and j, written to `distances`."""
    first_a, first_b = a.first_leaf[i], b.first_leaf[j]
    width = j - first_b + 2
    above = [float(k) for k in range(width)]
    rows = [above]  # rows[x][y]: the first x nodes from first_a on against the first y from first_b on
    for x in range(first_a, i + 1):
        row = [above[0] + 1.0]
        whole_a, leaf_a, label = a.first_leaf[x] == first_a, a.first_leaf[x] - first_a, a.labels[x]
        for y in range(first_b, j + 1):
            best = min(above[y - first_b + 1], row[-1]) + 1.0
            if whole_a and b.first_leaf[y] == first_b:
                best = min(best, above[y - first_b] + (label != b.labels[y]))
                distances[x][y] = best
            else:
                best = min(best, rows[leaf_a][b.first_leaf[y] - first_b] + distances[x][y])
            row.append(best)
        rows.append(row)
        above = row


# --- compression ------------------------------------------------------------------------------------------------------


COMPRESSORS = {"zlib": lambda text: zlib.compress(text, 9), "bz2": bz2.compress, "lzma": lzma.compress}


class Compressed(NamedTuple):
    """A text and its length after compression."""

    text: bytes
    size: int


def prepare_text(thing: Any, compressor: str = "zlib") -> Compressed:
    """A text with its compressed length."""
    if isinstance(thing, Compressed):
        return thing
    if not isinstance(thing, (str, bytes, bytearray)):
        raise TypeError("text is needed")
    text = thing.encode("utf-8", "surrogatepass") if isinstance(thing, str) else bytes(thing)
    return Compressed(text, compressed_size(text, compressor))


def compressed_size(text: bytes, compressor: str) -> int:
    """Bytes after compression."""
    if compressor not in COMPRESSORS:
        raise InputError(f"compressor must be one of {', '.join(COMPRESSORS)}; got {compressor!r}.")
    return len(COMPRESSORS[compressor](text))


def compression_distance(a: Any, b: Any, compressor: str = "zlib") -> float:
    """Normalised compression distance of two texts, near 0 if they share all and near 1 if they share nothing.

    >>> song, other = "round and round the garden, like a teddy bear; ", "one step, two step, tickly under there"
    >>> compression_distance(song * 3, song * 4) < compression_distance(song * 3, other)
    True
    """
    a, b = prepare_text(a, compressor), prepare_text(b, compressor)
    if a.text == b.text:
        return 0.0
    first, second = sorted((a, b), key=lambda one: (len(one.text), one.text))
    together = compressed_size(first.text + second.text, compressor)
    share: float = (together - min(a.size, b.size)) / max(a.size, b.size)
    return share
