"""Shortest paths over one graph of straight segments: a true metric, and never longer than any path along its edges.

Up to `EXACT_ROWS` rows every pair is an edge, so the paths are the shortest over all rows, no longer than the straight
segments. Beyond, the edges lead to the nearest neighbours, and a path may be longer than the segment that is no edge.

A new row enters by edges too. It must not be a shortcut between fitted rows, whose distances do not know of it, so an
edge l_e to row e is lengthened to ``max_f D(e, f) - l_f`` where it is shorter than that. Then
``f(j) = min_e l_e + D(e, j)`` keeps ``|f(j) - f(k)| <= D(j, k)`` and ``D(j, k) <= f(j) + f(k)`` for all fitted j, k.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, dijkstra

#: Rows up to which all segments are edges.
EXACT_ROWS = 1000
#: Neighbours of a row in the graph to start with; doubled until the graph hangs together.
GRAPH_NEIGHBORS = 15


class SegmentGraph:
    """Fitted rows as nodes, straight segments as edges.

    Parameters
    ----------
    straight : ``straight()``, lengths of all segments.
    kneighbors : ``kneighbors(k)``, lengths and indices of the shortest segments of each row.
    n_rows : number of rows.
    """

    def __init__(self, straight, kneighbors, n_rows):
        self.n_rows, self.complete = n_rows, n_rows <= EXACT_ROWS
        if self.complete:
            self.lengths = all_shortest_paths(straight())
        else:
            self.graph = connected_graph(kneighbors, n_rows)

    def describe(self):
        """Which segments are edges, in words."""
        return "shortest paths over all segments" if self.complete else "shortest paths over segments to neighbours"

    @property
    def n_entries(self):
        """Segments by which a new row enters the graph."""
        return self.n_rows if self.complete else min(GRAPH_NEIGHBORS, self.n_rows)

    def paths(self, index=None):
        """Path lengths (n, n_rows) from some nodes, or all, to all."""
        if self.complete:
            return self.lengths.copy() if index is None else self.lengths[index]
        return dijkstra(self.graph, directed=False, indices=index)

    def paths_of_new(self, lengths, entries):
        """Path lengths of new rows to all nodes from the segments by which they enter, (n_new, n_entries) each."""
        nodes, place = np.unique(entries, return_inverse=True)
        D, place = self.paths(nodes), place.reshape(entries.shape)
        out = np.empty((len(entries), self.n_rows))
        for i, own in enumerate(place):
            edges = lengths[i].astype(np.float64)
            among = D[np.ix_(own, entries[i])]
            edges = np.maximum(edges, (among - edges).max(axis=1))
            out[i] = (edges[:, None] + D[own]).min(axis=0)
        return out


def all_shortest_paths(D):
    """Shortest paths over the complete graph with edge lengths D (Floyd and Warshall)."""
    D = np.minimum(D, D.T).astype(np.float64)
    through = np.empty_like(D)
    for k in range(len(D)):
        np.minimum(D, np.add(D[:, k, None], D[k], out=through), out=D)
    return D


def neighbor_graph(distances, indices, n_nodes):
    """Directed edges of rows to their neighbours, as a sparse matrix with explicit, positive lengths."""
    n_rows, n_neighbors = indices.shape
    rows = np.repeat(np.arange(n_rows), n_neighbors)
    # The path routines read a stored zero as "no edge".
    lengths = np.maximum(distances.ravel().astype(np.float64), np.finfo(np.float64).tiny)
    return sp.csr_array((lengths, (rows, indices.ravel())), shape=(n_nodes, n_nodes))


def connected_graph(kneighbors, n_rows):
    """The symmetric neighbour graph of the fewest neighbours (15, doubled as needed) that is connected."""
    n_neighbors = min(GRAPH_NEIGHBORS, n_rows - 1)
    while True:
        distances, indices = kneighbors(n_neighbors)
        graph = neighbor_graph(distances, indices, n_rows)
        graph = graph.maximum(graph.T)
        if n_neighbors >= n_rows - 1 or connected_components(graph, directed=False)[0] == 1:
            return graph
        n_neighbors = min(2 * n_neighbors, n_rows - 1)
