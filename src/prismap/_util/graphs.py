"""Neighbour graphs: edges from neighbours, whether they connect all rows, and the lengths of paths along them.

A graph is a symmetric sparse matrix of lengths. A stored zero is an edge of length zero, between copies of a row, and
not a missing edge. scipy's searches for paths and for components read it so. Its element-wise functions of two sparse
matrices and its spanning tree drop stored zeros, so lengths never go through them.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree, shortest_path

from prismap._util.blocks import require_memory
from prismap._util.search import check_n_neighbors, smallest
from prismap.exceptions import InputError


def neighbour_edges(distances, indices):
    """Undirected edges ``(i, j, length)`` with i < j, one for each pair of which one is a neighbour of the other.

    Where a metric is not symmetric the shorter of the two lengths counts.
    """
    n_rows, k = indices.shape
    i, j, length = np.repeat(np.arange(n_rows), k), indices.ravel(), np.asarray(distances, dtype=np.float64).ravel()
    low, high = np.minimum(i, j), np.maximum(i, j)
    order = np.lexsort((length, high, low))
    low, high, length = low[order], high[order], length[order]
    first = np.r_[True, (low[1:] != low[:-1]) | (high[1:] != high[:-1])]
    return low[first], high[first], length[first]


def edge_graph(edges, n_rows):
    """The graph of undirected edges ``(i, j, length)``."""
    i, j, length = edges
    rows, columns, values = np.r_[i, j], np.r_[j, i], np.r_[length, length]
    order = np.lexsort((columns, rows))
    starts = np.r_[0, np.cumsum(np.bincount(rows, minlength=n_rows))]
    return sp.csr_array((values[order], columns[order], starts), shape=(n_rows, n_rows))


def neighbour_graph(distances, indices):
    """The graph that joins each row to its neighbours."""
    return edge_graph(neighbour_edges(distances, indices), len(indices))


def geodesics(graph, indices=None, *, predecessors=False):
    """Lengths of the shortest paths along a graph, from all rows or from those in `indices`.

    With `predecessors` also the row before each row on its path, negative where there is none.
    """
    return shortest_path(graph, method="D", directed=True, indices=indices, return_predecessors=predecessors)


def complete_geodesics(D):
    """The same along the complete graph with edge lengths D, of two ways the shorter (Floyd and Warshall)."""
    D = np.minimum(D, D.T).astype(np.float64)
    through = np.empty_like(D)
    for k in range(len(D)):
        np.minimum(D, np.add(D[:, k, None], D[k], out=through), out=D)
    return D


def paths_through(D, n_neighbors, lengths):
    """``min_k (D_ik + lengths_kj)`` over the smallest D_ik: into the graph by one of the nearest rows, then on."""
    near, columns = smallest(D, n_neighbors)
    shortest = near[:, :1] + lengths[columns[:, 0]]
    for k in range(1, near.shape[1]):
        np.minimum(shortest, near[:, k : k + 1] + lengths[columns[:, k]], out=shortest)
    return shortest


def parts_of(indices, *, closed=False):
    """Number of parts of a neighbour graph, and the part of each row (-1: in none).

    Parts are connected components when the direction of neighbourhood is ignored; with `closed` they are the closed
    groups instead: strongly connected sets of rows none of whose neighbours lies outside. Between closed groups LLE's
    weights carry nothing, even where some row has neighbours in both.
    """
    n_rows, k = indices.shape
    links = (np.ones(n_rows * k, dtype=np.int8), indices.ravel(), np.arange(0, n_rows * k + 1, k))
    graph = sp.csr_array(links, shape=(n_rows, n_rows))
    if not closed:
        return connected_components(graph, directed=False)
    n_parts, part = connected_components(graph, directed=True, connection="strong")
    leaves = part[indices] != part[:, None]
    is_closed = np.ones(n_parts, dtype=bool)
    is_closed[part[leaves.any(axis=1)]] = False
    number = np.where(is_closed, np.cumsum(is_closed) - 1, -1)
    return int(is_closed.sum()), number[part]


def connected_neighbours(metric, n_rows, n_neighbors, *, least=1, closed=False):
    """Neighbours ``(distances, indices)`` whose graph is in one piece.

    ``n_neighbors="auto"`` takes the smallest number, not below `least`, that connects all rows (Rice 2016, sec. 4).
    A number that does not connect them is refused, with the parts it leaves and the number that would do.
    """
    if n_neighbors == "auto":
        return smallest_connected(metric, n_rows, least=least, closed=closed)
    distances, indices = metric.kneighbors(None, check_n_neighbors(n_neighbors, n_rows, own=True))
    n_parts, part = parts_of(indices, closed=closed)
    if n_parts > 1:
        enough = smallest_connected(metric, n_rows, least=n_neighbors + 1, closed=closed)[1].shape[1]
        what = "closed groups with no path between them" if closed else "parts with no path between them"
        raise InputError(
            f"The neighbour graph with n_neighbors={n_neighbors} falls into {n_parts} {what}: {describe(part)}. "
            f"Raise n_neighbors to {enough}, the smallest number that connects all rows, set n_neighbors='auto', "
            "or take the parts one by one."
        )
    return distances, indices


def smallest_connected(metric, n_rows, *, least=1, closed=False):
    """Neighbours for the smallest number, not below `least`, that connects all rows: doubling, then bisection."""
    start = max(least, 8)
    distances, indices, low = until_connected(partial(metric.kneighbors, None), n_rows, start, closed=closed)
    low, high = max(low, min(least, n_rows - 1)), indices.shape[1]
    while low < high:
        middle = (low + high) // 2
        if parts_of(indices[:, :middle], closed=closed)[0] == 1:
            high = middle
        else:
            low = middle + 1
    return distances[:, :low], indices[:, :low]


def mutual_graph(distances, indices):
    """The graph that joins two rows if each is a neighbour of the other."""
    n_rows, k = indices.shape
    i, j = np.repeat(np.arange(n_rows), k), indices.ravel()
    pair = np.minimum(i, j) * n_rows + np.maximum(i, j)
    pairs, counts = np.unique(pair, return_counts=True)
    low, high, length = neighbour_edges(distances, indices)
    both = np.isin(low * n_rows + high, pairs[counts == 2])
    return edge_graph((low[both], high[both], length[both]), n_rows)


def smallest_mutual(metric, n_rows):
    """The graph of mutual neighbours for the smallest number of them that connects all rows, and this number."""
    low, high = 1, n_rows - 1
    distances, indices = metric.kneighbors(None, high)
    while low < high:
        middle = (low + high) // 2
        graph = mutual_graph(distances[:, :middle], indices[:, :middle])
        if connected_components(graph, directed=False)[0] == 1:
            high = middle
        else:
            low = middle + 1
    return mutual_graph(distances[:, :low], indices[:, :low]), low


def until_connected(kneighbors, n_rows, n_neighbors, *, closed=False):
    """Neighbours ``(distances, indices, fewest)``, whose number is doubled from `n_neighbors` on until they connect.

    kneighbors : ``kneighbors(k)``, distances and indices of the k nearest rows of each row.
    fewest : no smaller number that was tried connects all rows, so none below this does.
    """
    k, fewest = min(n_neighbors, n_rows - 1), 1
    while True:
        require_memory(
            16.0 * n_rows * k, f"A graph of {k} neighbours per row", "Remove the outliers, or use fewer rows."
        )
        distances, indices = kneighbors(k)
        if k == n_rows - 1 or parts_of(indices, closed=closed)[0] == 1:
            return distances, indices, fewest
        k, fewest = min(2 * k, n_rows - 1), k + 1


def bridged_edges(metric, n_rows, n_neighbors):
    """Edges to the nearest `n_neighbors`, with the shortest bridges between parts where these leave several.

    The bridges are the edges of the minimum spanning tree of the smallest connected neighbour graph that join parts.
    """
    distances, indices = metric.kneighbors(None, min(n_neighbors, n_rows - 1))
    edges = neighbour_edges(distances, indices)
    n_parts, part = parts_of(indices)
    if n_parts == 1:
        return edges
    i, j, length = neighbour_edges(*smallest_connected(metric, n_rows, least=n_neighbors + 1))
    # The tree depends on the order of lengths only, and ranks, unlike lengths, are never zero.
    rank = np.empty(len(length))
    rank[np.argsort(length, kind="stable")] = np.arange(1, len(length) + 1)
    tree = minimum_spanning_tree(edge_graph((i, j, rank), n_rows)).tocoo()
    chosen = np.argsort(rank)[tree.data.astype(np.intp) - 1]
    chosen = chosen[part[i[chosen]] != part[j[chosen]]]
    return tuple(np.r_[old, new[chosen]] for old, new in zip(edges, (i, j, length), strict=True))


def describe(part, most=6):
    """The sizes of parts, largest first, each with a row that lies in it.

    >>> describe(np.array([0, 0, 1, 0]))
    '3 rows (row 0 among them), 1 row (row 2)'
    """
    labels, first, sizes = np.unique(part[part >= 0], return_index=True, return_counts=True)
    inside = np.flatnonzero(part >= 0)
    order = np.argsort(-sizes, kind="stable")
    texts = [
        f"{sizes[a]} rows (row {inside[first[a]]} among them)" if sizes[a] > 1 else f"1 row (row {inside[first[a]]})"
        for a in order[:most]
    ]
    return ", ".join(texts) + (f" and {len(labels) - most} more" if len(labels) > most else "")
