"""The one neighbour graph: lengths, copies of rows, connection, and paths, against loops over all rows and edges."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from prismap._util.graphs import (
    bridged_edges,
    complete_geodesics,
    edge_graph,
    geodesics,
    neighbour_edges,
    neighbour_graph,
    parts_of,
    paths_through,
    smallest_connected,
    until_connected,
)
from prismap.metrics import NamedMetric
from reference.manifold_reference import n_components_reference, shortest_paths_reference

RNG = np.random.default_rng(3)
PLAIN = RNG.normal(size=(40, 3))
COPIES = np.repeat(RNG.normal(size=(12, 3)), 3, axis=0)


@pytest.mark.parametrize("X", [PLAIN, COPIES], ids=["plain", "copies"])
def test_paths_equal_floyd_and_warshall(X):
    near = NamedMetric().fit(X).kneighbors(None, 6)
    slow = shortest_paths_reference(*neighbour_edges(*near), len(X))
    graph = neighbour_graph(*near)
    np.testing.assert_allclose(geodesics(graph), slow, rtol=1e-12)
    np.testing.assert_allclose(geodesics(graph, [5, 2]), slow[[5, 2]], rtol=1e-12)
    lengths, before = geodesics(graph, predecessors=True)
    D = cdist(X, X)
    for i, j in [(0, 7), (30, 4), (11, 12)]:
        walked, here = 0.0, j
        while here != i:
            walked, here = walked + D[before[i, here], here], before[i, here]
        assert walked == pytest.approx(lengths[i, j], abs=1e-12)


def test_an_edge_between_copies_is_an_edge():
    distances, indices = np.array([[0.0], [0.0], [2.0]]), np.array([[1], [0], [0]])
    graph = neighbour_graph(distances, indices)
    assert graph.nnz == 4
    assert geodesics(graph).tolist() == [[0, 0, 2], [0, 0, 2], [2, 2, 0]]
    assert parts_of(indices)[0] == 1


def test_of_two_lengths_for_one_edge_the_shorter_counts():
    i, j, length = neighbour_edges(np.array([[3.0], [2.0], [9.0]]), np.array([[1], [0], [0]]))
    assert (i.tolist(), j.tolist(), length.tolist()) == ([0, 0], [1, 2], [2.0, 9.0])
    D = np.array([[0.0, 3.0, 9.0], [2.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    assert complete_geodesics(D)[0, 1] == 2


def test_the_complete_graph_gives_the_shortest_of_all_paths():
    D = np.random.default_rng(0).random((12, 12))
    D = np.triu(D, 1) + np.triu(D, 1).T
    expected = D.copy()
    for _ in range(12):  # paths of ever more edges, by brute force
        expected = (expected[:, :, None] + D[None]).min(axis=1)
    np.testing.assert_allclose(complete_geodesics(D), expected, atol=1e-12)
    every = [np.delete(np.arange(12), i) for i in range(12)]
    graph = neighbour_graph(np.array([D[i, others] for i, others in enumerate(every)]), np.array(every))
    np.testing.assert_allclose(geodesics(graph), complete_geodesics(D), atol=1e-12)


def test_new_rows_enter_by_one_of_their_nearest():
    lengths = geodesics(neighbour_graph(*NamedMetric().fit(PLAIN).kneighbors(None, 6)))
    D = cdist(RNG.normal(size=(5, 3)), PLAIN)
    for i, paths in enumerate(paths_through(D, 4, lengths)):
        near = np.argsort(D[i])[:4]
        np.testing.assert_allclose(paths, [min(D[i, k] + lengths[k, j] for k in near) for j in range(40)], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_number_that_connects(seed):
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.random((rng.integers(2, 12), 2)) + 3 * part for part in range(3)])
    metric = NamedMetric().fit(X)
    everything = metric.kneighbors(None, len(X) - 1)[1]
    counts = [n_components_reference(everything[:, :k]) for k in range(1, len(X))]
    smallest = 1 + counts.index(1)
    assert smallest_connected(metric, len(X))[1].shape[1] == smallest
    assert smallest_connected(metric, len(X), least=smallest + 1)[1].shape[1] == smallest + 1
    _, indices, fewest = until_connected(lambda k: metric.kneighbors(None, k), len(X), 1)
    assert indices.shape[1] // 2 < smallest <= indices.shape[1]
    assert all(count > 1 for count in counts[: fewest - 1])


def test_closed_groups_are_found_where_components_are_not():
    # Row 4 looks at both pairs, nobody looks at it: one component, two closed groups.
    neighbours = np.array([[1, 1], [0, 0], [3, 3], [2, 2], [0, 2]])
    assert parts_of(neighbours)[0] == 1
    n_closed, part = parts_of(neighbours, closed=True)
    assert n_closed == 2
    assert part.tolist() == [0, 0, 1, 1, -1] or part.tolist() == [1, 1, 0, 0, -1]


def test_bridges_join_clusters_of_copies():
    X = np.repeat([[0.0], [1.0], [10.0]], 4, axis=0)
    i, j, length = bridged_edges(NamedMetric().fit(X), 12, 3)
    assert np.isfinite(geodesics(edge_graph((i, j, length), 12))).all()
    assert sorted(length[length > 0].tolist()) == [1.0, 9.0]
