"""Neighbours by pivots: exact where all is evaluated, counted, and close to exact with few evaluations."""

import numpy as np
import pytest

from prismap.comparisons import Objects, neighbors_by_pivots
from prismap.exceptions import InputError


def strings(n_clusters, size, seed=0):
    """Random words, each changed in a few places many times."""
    rng = np.random.default_rng(seed)
    letters, words = list("abcdefgh"), []
    for _ in range(n_clusters):
        word = rng.choice(letters, 20)
        for _ in range(size):
            changed, places = word.copy(), rng.integers(0, 20, rng.integers(1, 7))
            changed[places] = rng.choice(letters, len(places))
            words.append("".join(changed))
    return words


def exact(D, k):
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    return np.sort(D, axis=1)[:, :k]


@pytest.mark.parametrize("settings", [{"n_pivots": 60}, {"n_pivots": 3, "n_candidates": 59}])
def test_neighbours_are_exact_where_all_is_evaluated(settings):
    evaluator = Objects("edit").over(strings(6, 10))
    neighbors = neighbors_by_pivots(evaluator, 5, random_state=0, **settings)
    D = evaluator.block()
    np.testing.assert_array_equal(neighbors.distances, exact(D, 5))
    np.testing.assert_array_equal(neighbors.distances, np.take_along_axis(D, neighbors.indices, axis=1))
    assert not (neighbors.indices == np.arange(60)[:, None]).any()
    assert all(len(set(row)) == 5 for row in neighbors.indices.tolist())
    assert neighbors.recall == 1.0


def test_few_evaluations_find_most_neighbours():
    evaluator = Objects("edit").over(strings(60, 20))
    neighbors = neighbors_by_pivots(evaluator, 5, n_pivots=20, n_candidates=15, random_state=0)
    distances = exact(evaluator.block(), 5)
    recall = (neighbors.distances <= distances[:, -1:]).mean()
    assert recall > 0.9
    assert neighbors.share < 0.05
    assert neighbors.recall == pytest.approx(recall, abs=0.05)
    again = neighbors_by_pivots(evaluator, 5, n_pivots=20, n_candidates=15, random_state=0)
    np.testing.assert_array_equal(neighbors.indices, again.indices)


def test_neighbours_of_neighbours_find_what_coordinates_missed():
    evaluator = Objects("edit").over(strings(30, 20))
    without, once = (
        neighbors_by_pivots(evaluator, 5, n_pivots=6, n_candidates=12, n_rounds=rounds, random_state=0)
        for rounds in (0, 1)
    )
    assert once.recall > without.recall + 0.05
    assert once.n_evaluations > without.n_evaluations


def test_evaluations_are_counted_and_no_pair_is_asked_for_twice():
    asked = []

    def gap(a, b):
        asked.append(frozenset((a, b)))
        return abs(a - b)

    values = np.random.default_rng(0).permutation(80) ** 1.5
    evaluator = Objects(gap, "dissimilarity", n_jobs=1).over(values.tolist())
    neighbors = neighbors_by_pivots(evaluator, 3, n_pivots=4, n_candidates=6, n_checked=0, random_state=0)
    assert len(asked) == evaluator.n_evaluations + evaluator.n_checks
    assert len(set(asked) - {frozenset([value]) for value in values}) == evaluator.n_evaluations
    assert evaluator.n_evaluations <= neighbors.n_evaluations < 80 * 79 / 2
    assert neighbors.n_checks == 0
    assert np.isnan(neighbors.recall)


def test_similarities_become_distances():
    rng = np.random.default_rng(0)
    graphs = [{"nodes": [int(x) for x in rng.integers(0, 3, 6)], "edges": [[0, 1], [1, 2], [3, int(rng.integers(6))]]}
              for _ in range(40)]  # fmt: skip
    evaluator = Objects("weisfeiler_lehman").over(graphs)
    neighbors = neighbors_by_pivots(evaluator, 4, n_pivots=10, n_candidates=39, random_state=0)
    D = np.sqrt(np.maximum(2 - 2 * evaluator.block(), 0))
    np.testing.assert_allclose(neighbors.distances, exact(D, 4), atol=1e-7)


def test_more_neighbours_than_objects_are_refused():
    with pytest.raises(InputError, match="n_neighbors must lie between 1 and 2, with 3 objects; got 3"):
        neighbors_by_pivots(Objects("edit").over(["a", "b", "c"]), 3)
