"""A descent ends when the arrangement of the rows has settled, and not before."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from prismap.embeddings import TSNE, GradientDescent
from prismap.embeddings._descent import N_LOOKED_AT, Settling, arrangement, neighborhoods, share_moved


@pytest.fixture
def Y():
    return np.random.default_rng(0).normal(size=(40, 2))


def nearest(Y, rows, k):
    """The slow twin of `neighborhoods`: by sorting all distances."""
    return [set(np.argsort(np.hypot(*(Y - Y[row]).T), kind="stable")[: k + 1].tolist()) for row in rows]


def test_arrangement_by_its_formula(Y):
    distances = [np.hypot(*(Y[i] - Y[j])) for i in range(40) for j in range(i + 1, 40)]
    np.testing.assert_allclose(arrangement(Y), distances / np.sqrt(np.sum(np.square(distances))), rtol=1e-12)


def test_scale_place_and_orientation_do_not_count(Y):
    turn = np.array([[np.cos(1), -np.sin(1)], [np.sin(1), np.cos(1)]])
    np.testing.assert_allclose(arrangement(7 * Y @ turn + 3), arrangement(Y), atol=1e-14)
    assert np.linalg.norm(arrangement(Y * [1, 2]) - arrangement(Y)) > 0.1


def test_moved_neighbours_by_sets(Y):
    rows, other = np.array([0, 7, 39]), Y + np.random.default_rng(1).normal(scale=0.3, size=Y.shape)
    sets = [nearest(Z, rows, 10) for Z in (Y, other)]
    expected = np.mean([len(after - before) / 10 for before, after in zip(*sets, strict=True)])
    found = [neighborhoods(Z, rows) for Z in (Y, other)]
    assert [set(row.tolist()) for row in found[0]] == sets[0]
    assert 0 < expected < 1
    assert share_moved(*found) == pytest.approx(expected)


@pytest.mark.parametrize("n_rows", [2, 3, 40, 1000])
def test_the_first_look_tells_nothing_and_no_tolerance_is_never_met(n_rows):
    Y = np.random.default_rng(0).normal(size=(n_rows, 2))
    settling, never = (Settling(n_rows, tol) for tol in (0.01, 0.0))
    assert len(settling.rows) == min(n_rows, N_LOOKED_AT)
    assert [settling.is_settled(Y) for _ in range(2)] == [False, True]
    assert [never.is_settled(Y) for _ in range(2)] == [False, False]


def test_neighbours_may_move_where_the_arrangement_does_not(Y):
    """Two far clusters, in one of which the rows change places."""
    Y = 0.01 * Y + np.where(np.arange(40) < 20, 0, 100)[:, None]
    shuffled = np.concatenate([np.random.default_rng(2).permutation(20), np.arange(20, 40)])
    assert np.linalg.norm(arrangement(Y[shuffled]) - arrangement(Y)) < 0.01
    settling = Settling(40, 0.01)
    assert [settling.is_settled(Z) for Z in (Y, Y[shuffled], Y[shuffled])] == [False, False, True]


@pytest.mark.parametrize("n_rows", [120, 400])
def test_a_settled_map_is_as_good_as_the_map_of_all_iterations(n_rows):
    """On both engines: fewer iterations, all of the exaggerated ones among them, and as many neighbours kept."""
    X, _ = make_blobs(n_rows, 5, centers=4, cluster_std=1.5, random_state=3)
    short, long = (TSNE(perplexity=15, descent=GradientDescent(tol=tol), random_state=0).fit(X) for tol in (0.03, 0))
    assert (long.n_iter_, long.stop_reason_) == (750, "max_iter")
    assert short.stop_reason_ == "converged"
    assert short.n_iter_ % 25 == 0
    assert 250 < short.n_iter_ < 500
    own, *near = (neighborhoods(Y, np.arange(n_rows)) for Y in (X, short.embedding_, long.embedding_))
    assert share_moved(own, near[0]) == pytest.approx(share_moved(own, near[1]), abs=0.02)
    assert short.kl_divergence_ < long.kl_divergence_ + 0.1


def test_a_callback_sees_every_fiftieth_iteration_of_both_phases():
    X, _ = make_blobs(60, 5, centers=4, random_state=3)
    seen = []
    all_steps = TSNE(perplexity=8, max_iter=200, descent=GradientDescent(tol=0), random_state=0)
    model = all_steps.set_params(callback=lambda *call: seen.append(call[0])).fit(X)
    assert seen == [50, 100, 150, 200, 250, 300]
    assert model.n_iter_ == 300


def test_bad_tolerance():
    with pytest.raises(ValueError, match="tol"):
        TSNE(descent=GradientDescent(tol=-1)).fit(np.eye(5))
