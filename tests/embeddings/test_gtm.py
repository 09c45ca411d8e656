"""GTM: the slow twin, vectors against distances, likelihood that never falls, planes, smooth maps and inverses."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap.embeddings import GTM
from prismap.embeddings._gtm import Basis, fit_sheet, responsibilities, spacing, square_lattice
from prismap.embeddings._lattice import RelationalSpace, VectorSpace
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from reference.lattice_reference import gtm_reference


@parametrize_with_checks([GTM(max_iter=4)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def plane():
    """A noisy rectangle in six dimensions, far from the origin, and its own coordinates."""
    rng = np.random.default_rng(0)
    U = rng.uniform(-1, 1, size=(400, 2)) * [3.0, 2.0]
    return 7.0 + U @ np.linalg.qr(rng.normal(size=(6, 2)))[0].T + 0.05 * rng.normal(size=(400, 6)), U


@pytest.fixture(scope="module")
def small():
    """Everything that EM needs, on 30 rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3)) * [3, 2, 0.5] + 1
    nodes = square_lattice(4, 3)
    basis = Basis(square_lattice(2, 2), spacing((2, 2)))
    R = rng.dirichlet(np.ones(12), size=30)
    return X, nodes, basis, R, np.r_[0.0, 1e-3, 1e-3, np.full(4, 0.3)]


def test_steps_equal_the_slow_twin(small):
    X, nodes, basis, R, penalty = small
    W, noise, slow_R, objectives = gtm_reference(X - X.mean(axis=0), basis(nodes), R.T, penalty, 1.7, 6)
    seen = []
    sheet = fit_sheet(
        VectorSpace(X), nodes, basis(nodes), R, penalty, variance=1.7, max_iter=6, tol=0.0,
        callback=lambda step, error, Y: seen.append(-error),
    )  # fmt: skip
    assert 1 / sheet.precision == pytest.approx(noise)
    np.testing.assert_allclose(sheet.responsibilities, slow_R.T, atol=1e-10)
    np.testing.assert_allclose(seen, objectives, rtol=1e-6)
    np.testing.assert_allclose(sheet.prototypes.mixing @ sheet.prototypes.totals, basis(nodes) @ W + X.mean(axis=0))


def test_distances_give_the_fit_that_vectors_give(small):
    X, nodes, basis, R, penalty = small
    run = {"variance": 1.7, "max_iter": 15, "tol": 0.0}
    vectors = fit_sheet(VectorSpace(X), nodes, basis(nodes), R, penalty, **run)
    D2 = pairwise_distances(X) ** 2
    distances = fit_sheet(RelationalSpace(D2, dimension=3), nodes, basis(nodes), R, penalty, **run)
    np.testing.assert_allclose(vectors.responsibilities, distances.responsibilities, atol=1e-8)
    assert vectors.objective == pytest.approx(distances.objective)
    np.testing.assert_allclose((distances.prototypes.mixing @ distances.prototypes.sums).sum(axis=1), 1)


def test_the_objective_never_falls(plane):
    X, _ = plane
    seen = []
    GTM(alpha=5.0, tol=0.0, max_iter=40, callback=lambda i, error, Y: seen.append(error), random_state=0).fit(X)
    assert np.diff(seen).max() <= 1e-9
    assert seen[0] - seen[-1] > 0.5


def test_a_plane_is_recovered_with_its_inverse(plane):
    X, U = plane
    model = GTM(random_state=0).fit(X)
    Z = np.column_stack([np.ones(len(U)), model.embedding_])
    rest = U - Z @ np.linalg.lstsq(Z, U, rcond=None)[0]
    assert 1 - rest.var() / U.var() > 0.97
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-6)
    np.testing.assert_allclose(model.responsibilities(X), model.responsibilities_, atol=1e-6)
    back = model.inverse_transform(model.embedding_)
    assert np.sqrt(np.mean((back - X) ** 2)) < 0.15 * X.std()
    np.testing.assert_allclose(model.inverse_transform(model.nodes_), model.codebook_, atol=1e-9)
    np.testing.assert_allclose(model.embedding_, model.responsibilities_ @ model.nodes_, atol=1e-12)


def test_a_strong_prior_flattens_the_sheet_to_a_plane():
    rng = np.random.default_rng(0)
    t = rng.uniform(-1, 1, size=(200, 2))
    X = np.column_stack([2 * t[:, 0], t[:, 1], t[:, 0] ** 2])
    bent, flat = (GTM(alpha=alpha, random_state=0).fit(X) for alpha in (0.1, 1e9))

    def bend(model):
        Z = np.column_stack([np.ones(len(model.nodes_)), model.nodes_])
        return np.std(model.codebook_ - Z @ np.linalg.lstsq(Z, model.codebook_, rcond=None)[0])

    assert bend(flat) < 1e-4
    np.testing.assert_allclose(np.ptp(flat.codebook_[:, :2], axis=0), np.ptp(X[:, :2], axis=0), rtol=0.4)
    assert bend(bent) > 0.1


def test_the_map_is_smooth_and_scale_free(plane):
    X, _ = plane
    model = GTM(random_state=0).fit(X)
    way = np.linspace(X[0], X[1], 400)
    steps = np.linalg.norm(np.diff(model.transform(way), axis=0), axis=1)
    assert steps.max() < 0.1
    scaled = GTM(random_state=0).fit(1000 * X)
    np.testing.assert_allclose(scaled.embedding_, model.embedding_, atol=1e-6)
    assert scaled.precision_ == pytest.approx(model.precision_ / 1e6, rel=1e-6)


def test_rows_far_away_still_get_a_place(plane):
    model = GTM(random_state=0).fit(plane[0])
    Y = model.transform(np.full((1, 6), 1e6))
    assert np.isfinite(Y).all()
    assert np.abs(Y).max() <= 1
    R, _ = responsibilities(np.array([[1e9, 1e9 + 1.0]]), 2.0)
    np.testing.assert_allclose(R, [[1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))]])


@pytest.mark.parametrize("q", [2, 5])
def test_effective_dimension_counts_directions_of_equal_spread(q):
    X = np.linalg.qr(np.random.default_rng(0).normal(size=(300, q)))[0]
    X = X - X.mean(axis=0)
    assert RelationalSpace(pairwise_distances(X) ** 2).dimension == pytest.approx(q, rel=0.02)


def test_fisher_gtm_separates_better_and_maps_new_rows():
    X, y = load_iris(return_X_y=True)
    X = np.hstack([X, 2.0 * np.random.default_rng(0).normal(size=(150, 4))])
    fit, new = np.arange(0, 150, 2), np.arange(1, 150, 2)

    def error(model):
        D = pairwise_distances(model.transform(X[new]), model.embedding_)
        return np.mean(y[fit][D.argmin(axis=1)] != y[new])

    plain = GTM(random_state=0).fit(X[fit])
    fisher = GTM(metric=FisherMetric(posterior="parzen", perplexity=15, random_state=0), random_state=0).fit(
        X[fit], y[fit]
    )
    assert error(fisher) < error(plain) - 0.1
    assert fisher.inverse_transform(fisher.embedding_).shape == (75, 8)
    assert 1 <= fisher.dimension_ < 8


def test_sparse_rows_precomputed_distances_and_seeds(plane):
    X = plane[0][:100]
    model = GTM(random_state=0).fit(X)
    np.testing.assert_allclose(GTM(random_state=0).fit(sp.csr_array(X)).embedding_, model.embedding_, atol=1e-5)
    np.testing.assert_array_equal(GTM(random_state=0).fit(X).embedding_, model.embedding_)
    D = pairwise_distances(X)
    relational = GTM(metric="precomputed", random_state=0).fit(D)
    np.testing.assert_allclose(relational.transform(D[:5]), relational.embedding_[:5], atol=1e-9)
    with pytest.raises(InputError, match="distances alone"):
        relational.inverse_transform(np.zeros((1, 2)))


def test_stops_are_told_and_bad_input_is_refused(plane, monkeypatch):
    X, _ = plane
    model = GTM(callback=lambda i, e, Y: i == 5).fit(X)
    assert (model.n_iter_, model.stop_reason_) == (5, "callback")
    assert GTM(max_iter=2).fit(X).stop_reason_ == "max_iter"
    assert GTM().fit(X).stop_reason_ == "converged"
    with pytest.raises(InputError, match=r"grid=\(30, 30\) has 900 nodes"):
        GTM(grid=(30, 30)).fit(X)
    with pytest.raises(InputError, match="basis must be"):
        GTM(basis=(0, 2)).fit(X)
    assert np.isfinite(GTM().fit(np.ones((20, 3))).embedding_).all()
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="Use a smaller grid"):
        GTM().fit(X)
