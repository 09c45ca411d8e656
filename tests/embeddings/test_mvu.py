"""MVU: the semi-definite program as truth, kept distances, the swiss roll, bridges, landmarks."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap._util.graphs import bridged_edges, neighbour_edges
from prismap.embeddings import MVU
from prismap.embeddings._mvu import augmented_cost, incidence, landmark_weights, unfold
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.metrics._base import NamedMetric
from reference.manifold_reference import mvu_reference, n_components_reference, shortest_paths_reference


@parametrize_with_checks([MVU(tol=0.2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cloud():
    """Rows in ten dimensions: four neighbours leave the program an interior, so that its solution is well defined."""
    return np.random.default_rng(0).normal(size=(40, 10))


def test_equals_the_semi_definite_program(cloud):
    edges = neighbour_edges(*NamedMetric().fit(cloud).kneighbors(None, 4))
    K, trace = mvu_reference(*edges, len(cloud))
    model = MVU(n_neighbors=4, tol=1e-5, random_state=0).fit(cloud)
    assert model.stop_reason_ == "converged"
    assert model.objective_ == pytest.approx(trace, rel=1e-4)
    values, vectors = np.linalg.eigh(K)
    truth = vectors[:, :-3:-1] * np.sqrt(values[:-3:-1])
    signs = np.sign(np.sum(model.embedding_ * truth, axis=0))
    np.testing.assert_allclose(model.embedding_ * signs, truth, atol=0.01 * np.sqrt(values[-1]))
    np.testing.assert_allclose(model.explained_[:4], values[:-5:-1] / trace, atol=1e-3)


def test_keeps_the_distances_it_promises_and_spreads_the_rest(cloud):
    i, j, length = edges = neighbour_edges(*NamedMetric().fit(cloud).kneighbors(None, 4))
    start = np.random.default_rng(1).normal(size=(40, 10))
    run = unfold(edges, start, tol=1e-4)
    kept = np.linalg.norm(run.factors[i] - run.factors[j], axis=1)
    np.testing.assert_allclose(kept, length, rtol=2e-3)
    assert run.error <= 1e-4
    assert np.sum(run.factors**2) > 1.2 * np.sum((cloud - cloud.mean(axis=0)) ** 2)
    np.testing.assert_allclose(run.factors.mean(axis=0), 0, atol=1e-9)
    # The dual certificate: multipliers that bound every other solution from above.
    B = incidence(i, j, 40)
    laplacian = (B.T @ (run.multipliers[:, None] * B.toarray())) + np.ones((40, 40))
    assert np.linalg.eigvalsh(laplacian).min() > 0.995
    assert run.multipliers @ length**2 == pytest.approx(np.sum(run.factors**2), rel=1e-3)


def test_gradient_of_the_augmented_cost(cloud):
    rng = np.random.default_rng(0)
    i, j, length = neighbour_edges(*NamedMetric().fit(cloud).kneighbors(None, 3))
    B = incidence(i, j, len(cloud))
    graph = (B, B.T.tocsr(), length**2)
    weights = rng.normal(size=len(i))

    def cost(x):
        return augmented_cost(x.reshape(40, 3), graph, weights, 0.7)[0]

    def gradient(x):
        return augmented_cost(x.reshape(40, 3), graph, weights, 0.7)[1].ravel()

    R = rng.normal(size=120)
    assert check_grad(cost, gradient, R, seed=0) < 1e-6 * np.linalg.norm(gradient(R))
    gaps = [
        np.sum((R.reshape(40, 3)[a] - R.reshape(40, 3)[b]) ** 2) - d**2 for a, b, d in zip(i, j, length, strict=True)
    ]
    centred = R.reshape(40, 3) - R.reshape(40, 3).mean(axis=0)
    assert cost(R) == pytest.approx(-np.sum(centred**2) + weights @ gaps + 0.35 * np.sum(np.square(gaps)))


def test_straightens_a_bent_chain():
    # With one neighbour on each side the largest variance is that of a straight line of the same length.
    t = np.linspace(0, 2 * np.pi * 0.9, 30)
    X = np.column_stack([np.cos(t), np.sin(t)])
    step = np.linalg.norm(X[1] - X[0])
    model = MVU(n_neighbors=2, tol=1e-5, random_state=0).fit(X)
    # Ends reach their second neighbour too, which bends the first and last link; the middle is straight.
    Y = model.embedding_[2:-2, 0]
    np.testing.assert_allclose(np.abs(np.diff(Y)), step, rtol=0.02)
    assert model.explained_[0] > 0.999


def test_unrolls_a_bent_sheet():
    rng = np.random.default_rng(0)
    t, height = rng.uniform(0, 1.6 * np.pi, 250), rng.uniform(0, 2, 250)
    X = np.column_stack([np.cos(t), height, np.sin(t)])
    for model in (MVU(tol=0.01, random_state=0), MVU(n_landmarks=100, tol=0.01, random_state=0)):
        Y = model.fit_transform(X)
        assert abs(np.corrcoef(Y[:, 0], t)[0, 1]) > 0.99
        assert abs(np.corrcoef(Y[:, 1], height)[0, 1]) > 0.9
    assert len(model.landmarks_) == 100


def test_bridges_are_the_shortest_links_between_parts():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(15, 2)), [9, 0] + rng.normal(size=(14, 2)), np.tile([30.0, 0.0], (8, 1))])
    i, j, length = bridged_edges(NamedMetric().fit(X), len(X), 3)
    assert np.isfinite(shortest_paths_reference(i, j, length, len(X))).all()
    assert n_components_reference(NamedMetric().fit(X).kneighbors(None, 3)[1]) == 3
    D = pairwise_distances(X)
    np.testing.assert_allclose(length, D[i, j], atol=1e-9)
    cluster = np.repeat([0, 1, 2], [15, 14, 8])
    between = sorted(length[cluster[i] != cluster[j]])
    assert between == pytest.approx([D[:15, 15:29].min(), D[15:29, 29:].min()])


def test_clusters_apart_are_unfolded_with_their_distance_kept():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(25, 6)), 30 + rng.normal(size=(25, 6))])
    model = MVU(random_state=0).fit(X)
    assert model.stop_reason_ == "converged"
    gap = abs(model.embedding_[:25, 0].mean() - model.embedding_[25:, 0].mean())
    assert gap == pytest.approx(30 * np.sqrt(6), rel=0.1)


def test_distances_that_no_space_can_keep_are_kept_as_well_as_can_be():
    rng = np.random.default_rng(0)
    D = rng.uniform(1.0, 6.0, size=(30, 30))
    D = np.triu(D, 1) + np.triu(D, 1).T
    with pytest.warns(ConvergenceWarning, match="relative error of 0\\.[0-9]+ only .*stalled"):
        model = MVU(metric="precomputed", n_neighbors=20, random_state=0).fit(D)
    assert model.stop_reason_ == "stalled"
    assert 0.05 < model.error_ < 0.8


def test_fisher_mvu_runs_on_the_metric_object():
    X, y = load_iris(return_X_y=True)
    model = MVU(metric=FisherMetric(posterior="parzen", random_state=0), tol=0.02, random_state=0).fit(X, y)
    D = pairwise_distances(model.embedding_)
    np.fill_diagonal(D, np.inf)
    assert np.mean(y[D.argmin(axis=1)] != y) < 0.12


def test_landmarks_keep_their_place_and_weights_add_up_to_one():
    X = np.random.default_rng(0).normal(size=(50, 2))
    landmarks = np.arange(0, 50, 3)
    W = landmark_weights(pairwise_distances(X[landmarks], X), landmarks, 6).toarray()
    np.testing.assert_allclose(W.sum(axis=1), 1)
    np.testing.assert_array_equal(W[landmarks], np.eye(len(landmarks)))
    np.testing.assert_allclose((W @ X[landmarks])[1], X[1], atol=0.2)


def test_the_callback_stops_the_run_and_seeds_fix_it(cloud):
    calls = []

    def stop_at_third(iteration, error, embedding):
        calls.append((iteration, error, embedding))
        return len(calls) % 3 == 0

    for n_landmarks in (None, 20):
        model = MVU(n_landmarks=n_landmarks, callback=stop_at_third, random_state=0).fit(cloud)
        assert model.stop_reason_ == "callback"
        assert (model.n_iter_, model.error_) == calls[-1][:2]
        np.testing.assert_allclose(calls[-1][2], model.embedding_, atol=1e-9)
    a, b = (MVU(tol=0.01, random_state=3).fit_transform(cloud) for _ in range(2))
    np.testing.assert_array_equal(a, b)


def test_trouble_is_told(cloud, monkeypatch):
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        MVU(max_iter=3, random_state=0).fit(cloud)
    with pytest.raises(InputError, match="falls into .* parts"):
        MVU(n_neighbors=1).fit(cloud)
    with pytest.raises(InputError, match="n_components=12 of MVU needs at least 13 rows"):
        MVU(12, n_landmarks=10).fit(cloud)
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="Lower n_landmarks"):
        MVU(n_landmarks=10, n_neighbors=4).fit(cloud)


def test_rows_that_are_all_one_point_stay_one_point():
    model = MVU(random_state=0).fit(np.ones((12, 3)))
    np.testing.assert_array_equal(model.embedding_, 0)
    assert model.stop_reason_ == "converged"
