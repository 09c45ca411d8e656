"""Shortest paths over a neighbour graph: a bound from above on the distance along the best curved path."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, dijkstra

#: Neighbours of a row in the graph to start with; doubled until the graph hangs together.
GRAPH_NEIGHBORS = 15


def neighbor_graph(distances, indices, n_nodes, *, first_row=0):
    """Directed edges of rows to their neighbours, as a sparse matrix with explicit, positive lengths."""
    n_rows, n_neighbors = indices.shape
    rows = np.repeat(np.arange(first_row, first_row + n_rows), n_neighbors)
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


def shortest_paths(graph, index):
    """Path lengths from some nodes to all, over an undirected graph."""
    return dijkstra(graph, directed=False, indices=index)


def shortest_paths_of_new(graph, distances, indices):
    """Path lengths of new rows to all nodes, entering the graph at their nearest nodes."""
    n_nodes, n_new = graph.shape[0], len(indices)
    entries = neighbor_graph(distances, indices, n_nodes + n_new, first_row=n_nodes)
    whole = sp.block_diag([graph, sp.csr_array((n_new, n_new))], format="csr") + entries
    return dijkstra(whole, directed=True, indices=np.arange(n_nodes, n_nodes + n_new))[:, :n_nodes]
