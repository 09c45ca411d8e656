"""Rows begin a descent in parcels: the same cost in fewer dimensions, and afterwards a map like any other."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_blobs, make_swiss_roll

from prismap._util.affinities import joint_affinities
from prismap.bundle import _checkpoint
from prismap.embeddings import TSNE, GradientDescent, _tsne
from prismap.embeddings._descent import SORTED_ROWS, Descent
from prismap.embeddings._mesh import MeshEngine, attraction
from prismap.embeddings._places import Places
from prismap.embeddings._starts import Parcels
from prismap.embeddings._tsne import exact_engine
from prismap.metrics._base import NamedMetric

OPTIONS = {"perplexity": 10, "max_iter": 150, "random_state": 0}


@pytest.fixture(scope="module")
def X():
    """Enough rows for parcels."""
    return make_blobs(1_000, 5, centers=6, cluster_std=2.0, random_state=0)[0]


@pytest.fixture(scope="module")
def P(X):
    return joint_affinities(*NamedMetric().fit(X[:400]).kneighbors(None, 30), 10)


@pytest.fixture(scope="module")
def parcels(P):
    return Parcels.around(P, np.random.default_rng(0).random(400) < 0.25)


def test_each_row_is_with_the_sampled_one_that_it_is_most_attracted_to(P, parcels):
    dense, sampled = P.toarray(), set(parcels.sampled.tolist())
    for row in range(400):
        around = parcels.sampled[parcels.of[row]]
        assert around == row or (row not in sampled and dense[row, around] == dense[row, parcels.sampled].max())
    assert parcels.masses.sum() == 400
    together = parcels.of[:, None] == np.arange(len(parcels.sampled))
    expected = together.T.astype(float) @ dense @ together
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(parcels.P.toarray(), expected, atol=1e-15)


def test_rows_that_touch_no_sampled_one_stay_alone():
    P = sp.csr_matrix(np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]) / 4)
    parcels = Parcels.around(P, np.array([True, False, False, False]))
    assert parcels.of.tolist() == [0, 0, 1, 2]
    assert parcels.sampled.tolist() == [0, 2, 3]
    assert parcels.P.toarray().tolist() == [[0, 0, 0], [0, 0, 0.25], [0, 0.25, 0]]


@pytest.mark.parametrize("span", [0.5, 15])
def test_the_gradient_of_a_parcel_is_the_mean_of_those_of_its_rows(P, parcels, span):
    """Over all pairs of rows, in single and in double precision."""
    places = span * np.random.default_rng(1).random((len(parcels.sampled), 2))
    Y = places[parcels.of]
    _, exact = exact_engine(Y, P)
    _, gradient = MeshEngine()(places, parcels.P, masses=parcels.masses)
    pull = parcels.means(attraction(Y, P, False, 1)[0])
    np.testing.assert_allclose(
        attraction(places, parcels.P, False, 1)[0] / parcels.masses[:, None], pull, atol=1e-12 * np.abs(pull).max()
    )
    expected = parcels.means(MeshEngine()(Y, P)[1])  # of all rows on the same mesh
    np.testing.assert_allclose(gradient, expected, atol=(1e-9 if span < 1 else 1e-5) * np.abs(expected).max())
    expected = parcels.means(exact)
    assert np.linalg.norm(gradient - expected) < 0.03 * np.linalg.norm(expected - pull)  # of the repulsion alone


def test_rows_of_a_parcel_come_apart(P, parcels):
    places, rng = np.random.default_rng(1).random((len(parcels.sampled), 2)), np.random.default_rng(2)
    np.testing.assert_allclose(parcels.means(places[parcels.of]), places)
    Y = parcels.spread(places, P, rng.normal(size=(400, 2)))
    assert len(np.unique(Y, axis=0)) == 400
    shared = places[parcels.of]
    half = (shared + P.toarray() @ shared / P.toarray().sum(axis=1, keepdims=True)) / 2
    assert np.abs(Y - half).max() < 0.01
    twins = sp.csr_matrix(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]) / 4)  # attracted by the same row
    together = Parcels.around(twins, np.array([True, False, False]))
    assert together.masses.tolist() == [3]
    assert len(np.unique(together.spread(np.zeros((1, 2)), twins, rng.normal(size=(3, 2))), axis=0)) == 3


def test_masses_are_sorted_with_the_positions():
    n, rng = SORTED_ROWS, np.random.default_rng(0)
    ring = sp.csr_matrix((np.full(n, 1.0 / n), ((np.arange(n), (np.arange(n) + 1) % n))), shape=(n, n))
    masses = np.arange(1.0, n + 1)
    descent = Descent(ring, rng.normal(size=(n, 2)), engine=MeshEngine(), masses=masses)  # which sorts them
    assert not np.array_equal(descent.order, np.arange(n))
    np.testing.assert_array_equal(descent.masses, masses[descent.order])


def test_the_map_is_as_good_as_that_of_single_rows(monkeypatch):
    """By the cost, and on a surface by how far neighbours come apart."""
    roll = make_swiss_roll(1_000, noise=0.1, random_state=0)[0]
    options = {"init": "spectral", "max_iter": 250, "random_state": 0}
    short = TSNE(**options).fit(roll)
    monkeypatch.setattr(_tsne, "PARCELLED_ROWS", 10**9)
    long = TSNE(**options).fit(roll)
    assert "at first between parcels of 4 rows" in short.repulsion_
    assert "parcels" not in long.repulsion_
    assert short.kl_divergence_ < long.kl_divergence_ + 0.03
    assert share_torn(roll, short.embedding_) < share_torn(roll, long.embedding_) + 0.01


def share_torn(X, Y):
    """Of the pairs of near neighbours in the data, those that are far apart on the map."""
    near = NamedMetric().fit(X).kneighbors(None, 10)[1]
    lengths = np.linalg.norm(Y[:, None] - Y[near], axis=2)
    return np.mean(lengths > 6 * np.median(lengths))


def test_a_callback_sees_all_rows_and_can_stop(X):
    seen = []
    whole = TSNE(
        **OPTIONS, callback=lambda i, error, Y: seen.append((i, error, Y.shape)), descent=GradientDescent(tol=0)
    )
    assert whole.fit(X).n_iter_ == 225
    assert [i for i, _, _ in seen] == [50, 125, 175, 225]
    assert {shape for _, _, shape in seen} == {(1_000, 2)}
    assert all(0 < error < 10 for _, error, _ in seen)
    stopped = TSNE(**OPTIONS, callback=lambda i, *_: i >= 50).fit(X)
    assert (stopped.n_iter_, stopped.stop_reason_) == (50, "callback")
    assert stopped.kl_divergence_ == pytest.approx(seen[0][1])


def test_the_same_bits_at_any_number_of_threads(X):
    one, two = (TSNE(**OPTIONS | {"max_iter": 152}, n_jobs=jobs).fit(X) for jobs in (1, 2))
    np.testing.assert_array_equal(one.embedding_, two.embedding_)


@pytest.mark.parametrize("last", [50, 125])
def test_a_killed_run_comes_to_the_same_bits(X, monkeypatch, tmp_path, last):
    """Killed among parcels it begins anew, and later it goes on."""
    monkeypatch.setattr(_checkpoint, "SECONDS_BETWEEN", 0.0)

    def stop(iteration, *_):
        if iteration >= last:
            raise KeyError

    kept = GradientDescent(tol=0.001, checkpoint=tmp_path / "kept")
    with pytest.raises(KeyError):
        TSNE(**OPTIONS, callback=stop, descent=kept).fit(X)
    again, whole = TSNE(**OPTIONS, descent=kept).fit(X), TSNE(**OPTIONS, descent=GradientDescent(tol=0.001)).fit(X)
    np.testing.assert_array_equal(again.embedding_, whole.embedding_)
    assert again.n_iter_ == whole.n_iter_


def test_places_pull_parcels_as_they_pull_rows(X):
    """Groups come to lie where they are held, and a start of which hardly any row is held is no error."""
    groups = make_blobs(1_000, 5, centers=6, cluster_std=2.0, random_state=0)[1]
    places = 10 * np.stack([np.cos(np.arange(6)), np.sin(np.arange(6))], axis=1)
    held = GradientDescent(arrangement=Places(groups, places, 1.0))
    Y = TSNE(**OPTIONS, descent=held).fit_transform(X)
    means = np.stack([Y[groups == group].mean(axis=0) for group in range(6)])
    gaps = [np.linalg.norm(A[:, None] - A[None], axis=2)[np.triu_indices(6, 1)] for A in (means, places)]
    assert np.corrcoef(*gaps)[0, 1] > 0.9
    one = np.where(np.arange(1_000) == 7, 0, -1)
    lonely = GradientDescent(arrangement=Places(one, np.zeros((1, 2)), 1.0))
    assert np.isfinite(TSNE(**OPTIONS, descent=lonely).fit_transform(X)).all()
