"""Quick maps: a stack of short t-SNE, one slope and one start for all."""

import numpy as np
import pytest

from prismap._util.affinities import pair_affinities
from prismap._util.costs import tsne_cost
from prismap._util.scales import typical_spacing
from prismap.embeddings import TSNE
from prismap.map._choose import nearest_rows, neighbor_losses
from prismap.map._quick import MOST_ROWS, Known, ShortTSNE, descent_slope, quick_maps, stacked_affinities, walked_start


@pytest.fixture
def stack():
    """Squared distances of three sets of 30 rows."""
    X = np.random.default_rng(0).normal(size=(3, 30, 4))
    return np.square(X[:, :, None] - X[:, None]).sum(axis=3)


def test_affinities_of_a_stack_are_those_of_its_maps(stack):
    found = stacked_affinities(stack, 8)
    for P, D2 in zip(found, stack, strict=True):
        slow = D2.copy()
        np.fill_diagonal(slow, np.inf)
        np.testing.assert_allclose(P, pair_affinities(slow, 8), atol=1e-5)
    assert np.diagonal(stack, axis1=1, axis2=2).max() == 0  # the given distances stay as they are


def test_the_slope_is_that_of_the_divergence(stack):
    P, Y = stacked_affinities(stack, 8), np.random.default_rng(1).normal(size=(3, 30, 2))
    found = descent_slope(Y, P, 1.0)
    for k in range(3):
        np.testing.assert_allclose(found[k], tsne_cost(Y[k], P[k])[1] / 4, atol=1e-12)


def test_an_exaggerated_slope_pulls_by_the_affinities_times_the_factor(stack):
    P, Y = stacked_affinities(stack, 8), np.random.default_rng(1).normal(size=(3, 30, 2))
    gap = Y[:, :, None] - Y[:, None]
    W = 1 / (1 + np.square(gap).sum(axis=3))
    pull = (P * W)[..., None] * gap
    np.testing.assert_allclose(descent_slope(Y, P, 12.0) - descent_slope(Y, P, 1.0), 11 * pull.sum(axis=2), atol=1e-12)


def test_maps_start_along_the_slowest_directions_of_the_walk():
    """Two groups that hardly touch: the first axis of the start tells them apart."""
    X = np.concatenate([np.random.default_rng(k).normal(size=(20, 3)) + 8 * k for k in range(2)])
    D2 = np.square(X[:, None] - X[None]).sum(axis=2)[None]
    Y = walked_start(stacked_affinities(D2, 6), np.random.default_rng(0))[0]
    side = Y @ np.linalg.lstsq(Y, np.repeat([-1.0, 1.0], 20), rcond=None)[0]
    assert np.array_equal(side > 0, np.repeat([False, True], 20))
    assert np.isclose(Y.std(axis=0).max(), 1e-4, rtol=0.05)


def test_classes_that_lie_apart_lie_apart_on_a_quick_map_whose_spacing_is_one():
    y = np.repeat(np.arange(4), 25)
    X = np.random.default_rng(0).normal(size=(100, 6)) + 12 * np.eye(6)[y]
    D2 = np.square(X[:, None] - X[None]).sum(axis=2)
    (Y,) = quick_maps(D2[None], 15, np.random.default_rng(0))
    assert np.isclose(typical_spacing(Y, 10), 1, rtol=1e-5)
    assert not neighbor_losses(y[nearest_rows(np.square(Y[:, None] - Y[None]).sum(axis=2))], y).any()


def test_rows_that_are_all_one_point_have_a_map():
    assert np.isfinite(quick_maps(np.zeros((2, 12, 12)), 3, np.random.default_rng(0))).all()


def test_a_short_map_is_a_quick_one_of_few_rows_and_a_short_t_sne_of_many(stack):
    D = np.sqrt(stack[0])
    found = ShortTSNE(perplexity=8, metric="precomputed", random_state=0).fit_transform(D)
    np.testing.assert_array_equal(found, quick_maps(np.square(D)[None], 8, np.random.default_rng(0))[0])
    X = np.random.default_rng(0).normal(size=(MOST_ROWS + 1, 3))
    short = ShortTSNE(perplexity=5, random_state=0).fit(X)
    assert short.n_iter_ == 60
    np.testing.assert_array_equal(short.embedding_, TSNE(perplexity=5, max_iter=40, random_state=0).fit_transform(X))


def test_known_positions_are_taken_for_the_metric_of_the_data_alone(stack):
    known, D = np.random.default_rng(0).normal(size=(30, 2)), np.sqrt(stack[0])
    X = np.random.default_rng(1).normal(size=(30, 3))
    short = ShortTSNE(perplexity=8, known=known, random_state=0)
    np.testing.assert_array_equal(short.fit_transform(X), known)
    assert not np.array_equal(short.set_params(metric="precomputed").fit_transform(D), known)
    np.testing.assert_array_equal(Known(known, metric="precomputed").fit_transform(D), known)
