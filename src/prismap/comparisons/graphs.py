"""The Weisfeiler-Lehman subtree kernel of graphs with labelled nodes (Shervashidze et al. 2011).

In each round a node's label becomes that of its neighbourhood: its own and the sorted labels of its neighbours. Graphs
are compared by how often each label of each round occurs in them. New labels are numbers made from their content, so
that graphs seen at different times, in different programs, can be compared without a common list of labels.

A graph is written ``{"nodes": [label, ...], "edges": [[i, j], ...]}``, with whole numbers i, j that count nodes from 0.
A number of nodes in place of the list says that they have no labels. Edges have no direction.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from prismap.comparisons.counts import Counts, cosines, counted, inner_products, number_of
from prismap.exceptions import InputError


def prepare(thing, n_iterations=3):
    """Labels of all rounds, counted."""
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


def _relabelled(own, near):
    """A number for a label and the sorted labels around it."""
    content = np.array([own, *near], dtype="<u8").tobytes()
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little")


def weisfeiler_lehman(a, b, n_iterations=3, normalized=True):
    """Similarity of two graphs by the subtrees they share, 1 for graphs that the test cannot tell apart.

    Parameters
    ----------
    a, b : graphs, ``{"nodes": [label, ...], "edges": [[i, j], ...]}``.
    n_iterations : rounds, the depth of the subtrees.
    normalized : whether the kernel is divided by the square root of the graphs' kernels with themselves.

    >>> path = {"nodes": ["C", "C", "O"], "edges": [[0, 1], [1, 2]]}
    >>> weisfeiler_lehman(path, {"nodes": ["O", "C", "C"], "edges": [[0, 1], [1, 2]]})
    1.0
    """
    return float(block([prepare(a, n_iterations)], [prepare(b, n_iterations)], normalized)[0, 0])


def block(A, B, normalized=True):
    """The kernel between two lists of counted graphs."""
    return cosines(A, B) if normalized else inner_products(A, B)
