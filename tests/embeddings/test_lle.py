"""LLE: weights from distances alone, agreement with scikit-learn and with the paper's formulas, closed groups."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import manifold
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap._util.spectra import gram_around_centre, reconstruction_weights
from prismap.embeddings import LLE
from prismap.embeddings._lle import smallest_eigenpairs
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.metrics._base import NamedMetric
from reference.manifold_reference import lle_reference


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(700, random_state=1)


@parametrize_with_checks([LLE()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def equal_up_to_sign(A, B):
    return np.abs(np.sign(np.sum(A * B, axis=0)) * A - B).max()


def test_agrees_with_scikit_learn(roll):
    X = roll[0]
    theirs = manifold.LocallyLinearEmbedding(n_neighbors=12, n_components=2, reg=1e-3, eigen_solver="dense").fit(X)
    ours = LLE(n_neighbors=12, random_state=0).fit(X)
    assert equal_up_to_sign(ours.embedding_, theirs.embedding_ * np.sqrt(len(X))) < 1e-5
    assert ours.objective_ == pytest.approx(theirs.reconstruction_error_, rel=1e-4)


@pytest.mark.parametrize("given", ["vectors", "sparse", "distances"])
def test_equals_the_formulas_of_the_paper(given):
    X = np.random.default_rng(0).normal(size=(60, 3))
    D = pairwise_distances(X)
    rows, metric = {
        "vectors": (X, "euclidean"),
        "sparse": (sp.csr_array(X), "euclidean"),
        "distances": (D, "precomputed"),
    }[given]
    model = LLE(metric=metric, n_neighbors=15, random_state=0).fit(rows)
    neighbours = NamedMetric().fit(X).kneighbors(None, 15)[1]
    _, Y, cost = lle_reference(X, neighbours, 1e-3, 2)
    assert equal_up_to_sign(model.embedding_, Y) < 1e-7
    assert model.objective_ == pytest.approx(cost, rel=1e-8)
    assert model.negative_mass_ < 1e-12


def test_weights_come_from_distances_alone():
    X = np.random.default_rng(1).normal(size=(9, 4))
    D2 = pairwise_distances(X) ** 2
    neighbours = np.delete(np.arange(9), 2)
    G = gram_around_centre(D2[2, neighbours][None], D2[np.ix_(neighbours, neighbours)][None])
    W, _ = reconstruction_weights(G, 1e-3)
    slow, _, _ = lle_reference(X, [np.delete(np.arange(9), i) for i in range(9)], 1e-3, 2)
    np.testing.assert_allclose(W[0], slow[2, neighbours], rtol=1e-9)
    assert W.sum() == pytest.approx(1)


def test_negative_eigenvalues_count_as_zero():
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    indefinite, clipped = ((basis * values) @ basis.T for values in ([3.0, 1.0, -0.5], [3.0, 1.0, 0.0]))
    W, negative = reconstruction_weights(indefinite[None], 0.1)
    truth = np.linalg.solve(clipped + 0.1 * 4.0 * np.eye(3), np.ones(3))
    np.testing.assert_allclose(W[0], truth / truth.sum())
    assert negative == pytest.approx(0.5 / 4.5)


def test_distances_that_are_not_euclidean_are_clipped_and_reported():
    rng = np.random.default_rng(0)
    D = rng.uniform(0.1, 2.0, size=(50, 50))
    D = np.triu(D, 1) + np.triu(D, 1).T
    model = LLE(metric="precomputed", random_state=0).fit(D)
    assert 0.01 < model.negative_mass_ < 0.5
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(np.cov(model.embedding_.T, bias=True), np.eye(2), atol=1e-6)


def test_sparse_search_equals_the_dense_one():
    rng = np.random.default_rng(0)
    n = 400
    W = sp.random_array((n, n), density=0.02, rng=rng, format="csr") + sp.eye_array(n).tocsr()[np.roll(np.arange(n), 1)]
    rest = sp.eye_array(n) - sp.diags_array(1 / W.sum(axis=1)) @ W
    M = (rest.T @ rest).tocsr()
    values, vectors = smallest_eigenpairs(M, 3, rng)
    dense = np.linalg.eigvalsh(M.toarray())
    np.testing.assert_allclose(values, dense[1:4], rtol=1e-7)
    np.testing.assert_allclose(M @ vectors, vectors * values, atol=1e-10)


def test_unrolls_the_swiss_roll(roll):
    X, t = roll
    Y = LLE(n_neighbors=10, random_state=0).fit_transform(X)
    ranks = np.argsort(np.argsort(Y[:, 0])), np.argsort(np.argsort(t))
    assert abs(np.corrcoef(*ranks)[0, 1]) > 0.98


def test_closed_groups_are_refused_and_auto_avoids_them():
    rng = np.random.default_rng(0)
    # A row in the middle looks both ways: one component, and yet scikit-learn's eigenvectors would be arbitrary.
    X = np.vstack([rng.normal(size=(20, 2)), [10, 0] + rng.normal(size=(15, 2)), [[5.0, 0.0]]])
    with pytest.raises(InputError, match=r"2 closed groups .*20 rows.*15 rows.*Raise n_neighbors to \d+"):
        LLE(n_neighbors=8).fit(X)
    model = LLE(random_state=0).fit(X)
    assert model.n_neighbors_ > 10
    assert np.isfinite(model.embedding_).all()


def test_duplicates_and_seeds():
    X = np.repeat(np.random.default_rng(0).normal(size=(15, 3)), 3, axis=0)
    a, b = (LLE(random_state=2).fit_transform(X) for _ in range(2))
    np.testing.assert_array_equal(a, b)
    assert np.isfinite(a).all()


def test_fisher_lle_separates_better():
    X, y = load_iris(return_X_y=True)
    rng = np.random.default_rng(0)
    X = np.hstack([X, 2.0 * rng.normal(size=(150, 4))])

    def error(Y):
        D = pairwise_distances(Y)
        np.fill_diagonal(D, np.inf)
        return np.mean(y[D.argmin(axis=1)] != y)

    plain = LLE(random_state=0).fit_transform(X)
    fisher = LLE(metric=FisherMetric(posterior="parzen", random_state=0), random_state=0).fit_transform(X, y)
    assert error(fisher) < error(plain) - 0.1


def test_bad_input_is_refused():
    with pytest.raises(InputError, match="n_components=4 of LLE needs at least 5 rows"):
        LLE(4).fit(np.eye(4))
    with pytest.raises(InputError, match="n_neighbors must lie between 1 and 9"):
        LLE(n_neighbors=10).fit(np.random.default_rng(0).normal(size=(10, 2)))
