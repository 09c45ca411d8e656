"""Groups that are pulled to places: the pull, the coarse layout, how strong it may be, and what t-SNE makes of it."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from prismap.embeddings import TSNE, GradientDescent, _descent
from prismap.embeddings._places import (
    Places,
    between_groups,
    coarse_layout,
    largest_affordable,
    neighbors_lost,
    similar,
    spread_medoids,
)
from prismap.exceptions import InputError
from prismap.metrics._base import NamedMetric


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture(scope="module")
def line():
    """Eight groups of 40 rows on a line in ten dimensions, with as much noise as there is way between two groups."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(8), 40)
    X = rng.normal(size=(320, 10))
    X[:, 0] += 6.0 * groups
    return X, groups


def centre_distances(Y, groups):
    return pdist(np.stack([Y[groups == g].mean(axis=0) for g in range(groups.max() + 1)]))


def test_a_similarity_brings_positions_back(rng):
    A = rng.normal(size=(20, 2))
    turn = np.array([[0.0, 1.0], [1.0, 0.0]])  # a reflection
    np.testing.assert_allclose(similar(A, 3 * A @ turn + 5), 3 * A @ turn + 5, atol=1e-12)


def test_no_other_similarity_is_nearer(rng):
    A, B, weights = rng.normal(size=(12, 2)), rng.normal(size=(12, 2)), rng.uniform(1, 3, size=12)
    best = similar(A, B, weights)
    cost = weights @ np.square(best - B).sum(axis=1)
    for _ in range(50):
        angle, scale, shift = rng.normal(0, 0.1), 1 + rng.normal(0, 0.1), rng.normal(0, 0.1, size=2)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        assert weights @ np.square(scale * best @ turn + shift - B).sum(axis=1) >= cost


def test_the_pull_moves_groups_as_a_whole(rng):
    Y, groups = rng.normal(size=(30, 2)), np.repeat([0, 1, 2, -1], [10, 8, 7, 5])
    places = Places(groups, rng.normal(size=(3, 2)), 0.5)
    pull = places.pull(Y)
    sizes = np.array([10, 8, 7])
    means = np.stack([Y[groups == g].mean(axis=0) for g in range(3)])
    expected = 0.01 * 0.25 / 30 * (means - similar(places.positions, means, sizes.astype(float)))
    for g in range(3):
        np.testing.assert_allclose(pull[groups == g], np.tile(expected[g], (sizes[g], 1)), atol=1e-15)
    assert not pull[groups < 0].any()


def test_groups_at_their_places_are_not_pulled(rng):
    groups = np.repeat(np.arange(5), 6)
    positions = rng.normal(size=(5, 2))
    Y = -2 * positions[groups][:, ::-1] + 3
    np.testing.assert_allclose(Places(groups, positions).pull(Y), 0, atol=1e-14)


def test_distances_between_groups_are_those_of_their_means(rng):
    X, groups = rng.normal(size=(40, 6)), np.repeat(np.arange(4), 10)
    D = between_groups(squareform(pdist(X, "sqeuclidean")), groups, 4)
    np.testing.assert_allclose(squareform(D, checks=False), centre_distances(X, groups), atol=1e-10)


def test_medoids_are_in_different_clusters(line, rng):
    X, groups = line
    medoids = spread_medoids(squareform(pdist(X, "sqeuclidean")), 8, rng)
    assert len(np.unique(groups[medoids])) >= 7


def test_equal_rows_make_one_group(rng):
    assert len(spread_medoids(np.zeros((10, 10)), 4, rng)) == 1


def test_a_layout_has_the_distances_of_the_metric(line, rng):
    X, groups = line
    places = coarse_layout(NamedMetric("euclidean").fit(X), len(X), rng, strength=1.0)
    Y = places.positions[places.groups]
    assert spearmanr(centre_distances(X, groups), centre_distances(Y, groups))[0] > 0.97


def test_nothing_is_pulled_at_strength_0(line):
    X, _ = line
    free = TSNE(max_iter=50, random_state=0).fit_transform(X)
    for arrangement in (0, Places(np.zeros(len(X), dtype=int), np.zeros((1, 2)), 0.0)):
        own = TSNE(max_iter=50, descent=GradientDescent(arrangement=arrangement), random_state=0)
        np.testing.assert_array_equal(free, own.fit_transform(X))
        assert own.arrangement_ == 0


def test_an_arranged_map_keeps_the_order_of_groups(line):
    X, groups = line
    kept = {}
    for strength in (0, 1):
        model = TSNE(max_iter=200, init="random", descent=GradientDescent(arrangement=strength), random_state=0).fit(X)
        kept[strength] = spearmanr(centre_distances(X, groups), centre_distances(model.embedding_, groups))[0]
        assert model.arrangement_ == strength
    assert kept[1] > 0.95 > kept[0]


def test_rows_that_are_sorted_in_memory_keep_their_groups(line, monkeypatch):
    X, groups = line
    monkeypatch.setattr(_descent, "SORTED_ROWS", 50)
    order = np.random.default_rng(2).permutation(len(X))
    Y = TSNE(max_iter=200, descent=GradientDescent(arrangement=1), random_state=0).fit_transform(X[order])
    assert spearmanr(centre_distances(X, groups), centre_distances(Y, groups[order]))[0] > 0.95


def test_free_rows_start_among_their_neighbours(rng):
    P = sp.csr_array(np.array([
        [0, 1, 2, 0, 0, 0], [1, 0, 2, 0, 0, 0], [2, 2, 0, 3, 0, 0], [0, 0, 3, 0, 0, 0], [0, 0, 0, 0, 0, 1],
        [0, 0, 0, 0, 1, 0],
    ], dtype=float))  # fmt: skip
    places = Places(np.array([0, 1, -1, -1, -1, -1]), np.array([[0.0, 0.0], [4.0, 2.0]]))
    Y = places.start(P, rng)
    np.testing.assert_allclose(Y[:2], places.positions)
    np.testing.assert_allclose(Y[2], [2.0, 1.0])  # the mean of both
    np.testing.assert_allclose(Y[3], Y[2])  # reached through it
    assert np.isfinite(Y).all()
    assert np.abs(Y[4:]).max() > 0  # which touch nothing that is held


def test_the_largest_affordable_strength_is_taken(rng):
    base = rng.uniform(size=400)
    error = base.std(ddof=1) / 20
    cost = {0.0: 0.0, 0.1: 0.1, 0.3: 0.9, 0.6: 1.1, 1.0: 5.0}
    strength, means = largest_affordable(lambda s: base + error * cost[s])
    assert strength == 0.3
    assert sorted(means) == [0.0, 0.3, 0.6, 1.0]  # smaller ones are not tried any more
    assert largest_affordable(lambda s: base + error * (5 if s else 0))[0] == 0
    # Copies in four do not make the error smaller.
    units = np.repeat(np.arange(100), 4)
    copied = np.repeat(base[:100], 4)
    wide = base[:100].std(ddof=1) / 10
    assert largest_affordable(lambda s: copied + 0.95 * wide * (s > 0), units)[0] == 1.0
    assert largest_affordable(lambda s: copied + 0.95 * wide * (s > 0))[0] == 0.0


def test_lost_neighbours_by_their_definition(rng):
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    D, lost = squareform(pdist(X)), neighbors_lost(squareform(pdist(X)), Y, 5)
    E = squareform(pdist(Y))
    for i in range(30):
        near, on_map = (set(np.argsort(np.delete(d[i], i))[:5]) for d in (D, E))
        assert lost[i] == pytest.approx(1 - len(near & on_map) / 5)


def test_auto_is_a_map_of_the_strength_that_it_takes(line):
    X, _ = line
    auto = TSNE(max_iter=50, descent=GradientDescent(arrangement="auto"), random_state=0).fit(X)
    again = TSNE(max_iter=50, descent=GradientDescent(arrangement=auto.arrangement_), random_state=0).fit(X)
    assert auto.arrangement_ in (0, 0.1, 0.3, 0.6, 1)
    np.testing.assert_array_equal(auto.embedding_, again.embedding_)


@pytest.mark.parametrize("arrangement", [-0.1, 1.5, "much"])
def test_other_arrangements_are_refused(line, arrangement):
    with pytest.raises((InputError, ValueError), match="arrangement"):
        TSNE(descent=GradientDescent(arrangement=arrangement)).fit(line[0])
