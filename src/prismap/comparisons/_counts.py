"""Objects compared by counts of what they hold: kernels of sets, and of graphs with labelled nodes.

A block of inner products of counts is one sparse product. Sets are compared by Jaccard's index, by the number of common
items and by Ochiai's index. Graphs are compared by the Weisfeiler-Lehman subtree kernel (Shervashidze et al. 2011).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from prismap._util.arrays import Numbers
from prismap.comparisons._content import digest
from prismap.exceptions import InputError


class Counts(NamedTuple):
    """Items, each as a whole number, and how often they occur; ``squared`` is the sum of squared counts."""

    items: np.ndarray
    counts: np.ndarray
    squared: float


def counted(numbers: Any) -> Counts:
    """Counts of whole numbers below 2**64."""
    items, counts = np.unique(np.array(list(numbers), dtype=np.uint64), return_counts=True)
    counts = counts.astype(np.float64)
    return Counts(items, counts, float(counts @ counts))


def number_of(thing: Any) -> int:
    """A whole number that stands for an item in every program: eight bytes of its content key."""
    return int.from_bytes(digest(thing)[:8], "little")


def inner_products(A: Sequence[Any], B: Sequence[Any]) -> Numbers:
    """Sums over items of count times count, (len(A), len(B)). Items that only one side holds add nothing."""
    if sum(len(a.items) for a in A) > sum(len(b.items) for b in B):
        return inner_products(B, A).T
    vocabulary = np.unique(np.concatenate([a.items for a in A]))
    if not len(vocabulary):
        return np.zeros((len(A), len(B)))
    return np.asarray((_rows(A, vocabulary) @ _rows(B, vocabulary).T).toarray())


def squares(A: Sequence[Any]) -> Numbers:
    """The inner products of objects with themselves."""
    return np.array([a.squared for a in A])


def _rows(objects: Sequence[Any], vocabulary: NDArray[Any]) -> Any:
    items = np.concatenate([one.items for one in objects])
    counts = np.concatenate([one.counts for one in objects])
    rows = np.repeat(np.arange(len(objects)), [len(one.items) for one in objects])
    place = np.minimum(np.searchsorted(vocabulary, items), len(vocabulary) - 1)
    known = vocabulary[place] == items
    return csr_array((counts[known], (rows[known], place[known])), shape=(len(objects), len(vocabulary)))


def cosines(A: Sequence[Any], B: Sequence[Any]) -> Numbers:
    """Inner products over the square root of those with themselves; two objects without items have the value 1."""
    own_a, own_b = squares(A)[:, None], squares(B)[None]
    product = np.sqrt(own_a * own_b)
    values = np.divide(inner_products(A, B), product, out=np.zeros(product.shape), where=product > 0)
    values[(own_a == 0) & (own_b == 0)] = 1.0
    return values


# Sets


def prepare_set(thing: Any) -> Counts:
    """The items of a set, each once."""
    if isinstance(thing, Counts):
        return thing
    if isinstance(thing, (str, bytes, dict)):
        raise TypeError("a set or a list of items is needed; cut text into items first, as by text.split()")
    return counted({number_of(item) for item in thing})


def jaccard(a: Any, b: Any) -> float:
    """Common items as a share of all items of two sets; 1 for two empty ones.

    >>> jaccard({"a", "b"}, {"b", "c"}) == 1 / 3
    True
    """
    return _single(jaccard_block, a, b)


def intersection(a: Any, b: Any) -> float:
    """The number of common items.

    >>> intersection(["a", "b"], ["b", "c"])
    1.0
    """
    return _single(intersection_block, a, b)


def ochiai(a: Any, b: Any) -> float:
    """Common items over the geometric mean of the numbers of items; 1 for two empty sets.

    >>> ochiai({"a"}, {"a", "b", "c", "d"})
    0.5
    """
    return _single(ochiai_block, a, b)


def jaccard_block(A: Sequence[Any], B: Sequence[Any]) -> Numbers:
    """Jaccard's index between two lists of sets."""
    common = inner_products(A, B)
    either = squares(A)[:, None] + squares(B) - common
    return np.divide(common, either, out=np.ones(common.shape), where=either > 0)


intersection_block = inner_products
ochiai_block = cosines


def _single(block: Callable[..., Any], a: Any, b: Any) -> float:
    return float(block([prepare_set(a)], [prepare_set(b)])[0, 0])


# Graphs


def prepare_graph(thing: Any, n_iterations: int = 3) -> Counts:
    """The counts of the labels of all rounds (Shervashidze et al. 2011).

    In each round a node's label becomes that of its neighbourhood: its own and the sorted labels of its neighbours. New
    labels are numbers made from their content, so that graphs of different programs can be compared without a common
    list of labels. A graph is written ``{"nodes": [label, ...], "edges": [[i, j], ...]}``, with whole numbers i, j that
    count nodes from 0. A number of nodes in place of the list says that they have no labels. Edges have no direction.
    """
    if isinstance(thing, Counts):
        return thing
    if not isinstance(n_iterations, (int, np.integer)) or n_iterations < 0:
        raise InputError(f"n_iterations must be a whole number from 0 on; got {n_iterations!r}.")
    if not isinstance(thing, dict) or "nodes" not in thing:
        raise TypeError("a dictionary with 'nodes' and 'edges' is needed")
    nodes, edges = thing["nodes"], thing.get("edges", ())
    labels = [number_of(label) for label in ([0] * nodes if isinstance(nodes, int) else nodes)]
    neighbors: list[list[int]] = [[] for _ in labels]
    for i, j in edges:
        if not (0 <= i < len(labels) and 0 <= j < len(labels)):
            raise ValueError(f"edge [{i}, {j}] leads to a node that is not among the {len(labels)}")
        neighbors[i].append(j)
        if i != j:
            neighbors[j].append(i)
    every = list(labels)
    for _ in range(n_iterations):
        labels = [
            _relabelled(own, sorted(labels[k] for k in near)) for own, near in zip(labels, neighbors, strict=True)
        ]
        every += labels
    return counted(every)


def _relabelled(own: Any, near: Any) -> int:
    """A number for a label and the sorted labels around it."""
    content = np.array([own, *near], dtype="<u8").tobytes()
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def weisfeiler_lehman(a: Any, b: Any, n_iterations: int = 3, normalized: bool = True) -> float:
    """Similarity of two graphs by the subtrees they share, 1 for graphs that the test cannot distinguish.

    Parameters
    ----------
    a, b : graphs, ``{"nodes": [label, ...], "edges": [[i, j], ...]}``.
    n_iterations : rounds, the depth of the subtrees.
    normalized : whether the kernel is divided by the square root of the graphs' kernels with themselves.

    >>> path = {"nodes": ["C", "C", "O"], "edges": [[0, 1], [1, 2]]}
    >>> weisfeiler_lehman(path, {"nodes": ["O", "C", "C"], "edges": [[0, 1], [1, 2]]})
    1.0
    """
    A, B = [prepare_graph(a, n_iterations)], [prepare_graph(b, n_iterations)]
    return float(weisfeiler_lehman_block(A, B, normalized)[0, 0])


def weisfeiler_lehman_block(A: Sequence[Any], B: Sequence[Any], normalized: bool = True) -> Numbers:
    """The kernel between two lists of counted graphs."""
    return cosines(A, B) if normalized else inner_products(A, B)
