"""t-SNE on any metric: starts, neighbours, duplicates, tiny data, callbacks, seeds."""

import numpy as np
import pytest
import scipy.sparse as sp
from openTSNE.tsne import kl_divergence_bh
from sklearn.datasets import load_digits, make_blobs
from sklearn.manifold import trustworthiness
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap._util.affinities import calibrate, joint_affinities
from prismap.embeddings import TSNE, GradientDescent
from prismap.embeddings import _mesh as mesh
from prismap.embeddings._mesh import MeshEngine, attraction, cubic_splines
from prismap.embeddings._tsne import EXACT_ROWS, exact_engine
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics import FisherMetric
from prismap.metrics._base import NamedMetric
from reference.embedding_costs_reference import tsne_cost as slow_cost


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(120, 5, centers=4, cluster_std=0.5, random_state=3)


@pytest.fixture(scope="module")
def many():
    """More rows than the exact engine takes."""
    return make_blobs(EXACT_ROWS + 100, 5, centers=4, cluster_std=0.5, random_state=3)


@pytest.mark.filterwarnings("ignore:perplexity=:prismap.exceptions.PrismapWarning")
@parametrize_with_checks([TSNE(max_iter=4)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def one_neighbour_error(Y, y):
    D = pairwise_distances(Y)
    np.fill_diagonal(D, np.inf)
    return float(np.mean(y[D.argmin(axis=1)] != y))


@pytest.mark.parametrize("init", ["auto", "pca", "spectral", "random"])
def test_clusters_stay_together_from_every_start(blobs, init):
    X, y = blobs
    model = TSNE(perplexity=10, init=init, max_iter=150, descent=GradientDescent(tol=0), random_state=0).fit(X)
    assert one_neighbour_error(model.embedding_, y) == 0
    assert model.stop_reason_ == "max_iter"
    assert model.n_iter_ == 75 + 150


def test_neighbours_are_preserved_on_digits():
    X = load_digits().data[:700]
    Y = TSNE(max_iter=250, random_state=0).fit_transform(X)
    assert trustworthiness(X, Y, n_neighbors=10) > 0.97


def test_objective_is_the_divergence_of_the_positions(blobs):
    X, _ = blobs
    model = TSNE(perplexity=10, max_iter=60, random_state=0).fit(X[:40])
    P = joint_affinities(*model.metric_.kneighbors(None, 39), model.perplexity_).toarray()
    assert P.sum() == pytest.approx(1)
    assert model.kl_divergence_ == pytest.approx(slow_cost(model.embedding_, P), rel=1e-9)
    assert model.objective_ == model.kl_divergence_


def test_engines_agree_on_the_objective(many):
    """The tree's estimate of the divergence is close to the exact one at the same positions."""
    X, _ = many
    model = TSNE(max_iter=100, random_state=0).fit(X)
    P = joint_affinities(*model.metric_.kneighbors(None, 90), 30).toarray()
    assert model.kl_divergence_ == pytest.approx(slow_cost_by_matrix(model.embedding_, P), rel=0.01)


@pytest.mark.parametrize("exaggeration", [1, 12])
def test_exact_engine_is_the_tree_without_approximation(blobs, exaggeration):
    """openTSNE's gradient at theta = 0, whose scale (a quarter of the derivative) the learning rates rely on."""
    X, _ = blobs
    P = exaggeration * joint_affinities(*NamedMetric().fit(X).kneighbors(None, 60), 20)
    Y = np.random.default_rng(0).normal(size=(len(X), 2))
    cost, gradient = exact_engine(Y, P, should_eval_error=True)
    peer_cost, peer_gradient = kl_divergence_bh(Y, P, dof=1, bh_params={"theta": 0.0}, should_eval_error=True)
    assert cost == pytest.approx(peer_cost, rel=1e-9)
    np.testing.assert_allclose(gradient, peer_gradient, atol=1e-12)


@pytest.mark.parametrize("span", [0.0001, 15, 150])
def test_the_mesh_is_near_all_pairs(many, span):
    """Of maps at the start, exaggerated ones and grown ones."""
    X, _ = many
    P = joint_affinities(*NamedMetric().fit(X).kneighbors(None, 60), 20)
    P, Y = sp.block_diag([P] * 3).tocsr() / 3, np.random.default_rng(0).normal(size=(3 * len(X), 2))
    Y *= span / np.ptp(Y)
    engine = MeshEngine()
    cost, gradient = engine(Y, P, should_eval_error=True)
    exact_cost, exact = exact_engine(Y, P, should_eval_error=True)
    pull = attraction(Y, P, False, 1)[0]
    assert np.linalg.norm(gradient - exact) < 0.03 * np.linalg.norm(exact - pull)  # of the repulsion alone
    assert cost == pytest.approx(exact_cost, abs=2e-3)
    for again in (engine(Y, P), MeshEngine()(Y, P, n_jobs=2), MeshEngine()(Y, P, n_jobs=3)):
        np.testing.assert_array_equal(again[1], gradient)  # whatever was computed before, and on any threads


def test_a_mesh_over_outliers_parts_its_nodes(monkeypatch):
    """One row far away does not take all memory, and the others are pushed as a mesh with that step would."""
    monkeypatch.setattr(mesh, "MOST_NODES", 60)
    rng = np.random.default_rng(0)
    Y = np.vstack([rng.normal(size=(200, 2)), [[1e9, -1e9]]])
    force, Z = MeshEngine().repulsion(Y)
    assert np.isfinite(force).all()
    assert Z > 0
    Y = rng.normal(size=(200, 2)) * 8
    coarse, _ = MeshEngine().repulsion(Y)
    D = Y[:, None] - Y[None]
    exact = (D / np.square(1 + np.square(D).sum(axis=2, keepdims=True))).sum(axis=1)
    assert 0.01 < np.linalg.norm(coarse - exact) / np.linalg.norm(exact) < 0.3


def test_splines_sum_to_one_and_their_slopes_are_derivatives():
    t = np.linspace(0, 0.999, 50)
    weights, slopes = cubic_splines(t)
    np.testing.assert_allclose(weights.sum(axis=0), 1)
    np.testing.assert_allclose(np.arange(-1, 3) @ weights, t, atol=1e-12)
    np.testing.assert_allclose(slopes, (cubic_splines(t + 1e-6)[0] - cubic_splines(t - 1e-6)[0]) / 2e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("size", "n_components", "words"),
    [("blobs", 2, "all pairs"), ("many", 3, "Barnes-Hut"), ("many", 2, "a mesh"), ("many", 1, "a grid")],
)
def test_the_repulsion_in_words(size, n_components, words, request):
    X, _ = request.getfixturevalue(size)
    assert TSNE(n_components, max_iter=2, init="random", random_state=0).fit(X).repulsion_.startswith(words)


def slow_cost_by_matrix(Y, P):
    W = 1 / (1 + pairwise_distances(Y) ** 2)
    np.fill_diagonal(W, 0)
    inside = P > 0
    return float((P[inside] * np.log(P[inside] / (W / W.sum())[inside])).sum())


@pytest.mark.parametrize("size", ["blobs", "many"])
def test_same_seed_same_bits_at_any_n_jobs(size, request):
    """All pairs, and the mesh, whose threads are Python's and openTSNE's."""
    X, _ = request.getfixturevalue(size)
    runs = [TSNE(max_iter=20, init="random", random_state=5, n_jobs=jobs).fit(X) for jobs in (None, 1, 2)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.embedding_, runs[0].embedding_)
        assert run.kl_divergence_ == runs[0].kl_divergence_
    assert not np.array_equal(runs[0].embedding_, TSNE(max_iter=20, random_state=6).fit_transform(X))


@pytest.mark.parametrize("size", ["blobs", "many"])
def test_precomputed_and_metric_objects_equal_the_named_metric(size, request):
    X, _ = request.getfixturevalue(size)
    options = {"perplexity": 8, "max_iter": 10, "init": "spectral", "random_state": 0}
    named = TSNE(metric="manhattan", **options).fit_transform(X)
    given = TSNE(metric="precomputed", **options).fit_transform(pairwise_distances(X, metric="manhattan"))
    passed = TSNE(metric=NamedMetric("manhattan"), **options).fit_transform(X)
    np.testing.assert_allclose(given, named, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(passed, named)


def test_a_metric_with_a_target_makes_the_fisher_form():
    """The same as its distances passed ready-made; the labels count."""
    X, y = make_blobs(60, 3, centers=3, cluster_std=3.0, random_state=0)
    options = {"perplexity": 5, "max_iter": 4, "init": "spectral", "random_state": 0}
    model = TSNE(metric=FisherMetric(perplexity=8, random_state=0), **options).fit(X, y)
    given = TSNE(metric="precomputed", **options).fit_transform(np.array(model.metric_.pairwise(), dtype=float))
    np.testing.assert_allclose(model.embedding_, given, atol=1e-4 * np.abs(given).max())
    other = TSNE(metric=FisherMetric(perplexity=8, random_state=0), **options).fit_transform(X, np.roll(y, 7))
    assert np.abs(other - given).max() > 0.1 * np.abs(given).max()


def test_a_metric_without_a_seed_gets_that_of_the_embedding():
    X, y = load_digits(return_X_y=True)
    metric = FisherMetric(posterior="parzen", perplexity=10)

    def fitted(metric):
        return TSNE(metric=metric, perplexity=10, max_iter=20, random_state=3).fit(X[:80], y[:80])

    first, again = fitted(metric), fitted(metric)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)
    assert (first.metric_.random_state, metric.random_state) == (3, None)
    assert fitted(FisherMetric(posterior="parzen", perplexity=10, random_state=0)).metric_.random_state == 0


def test_ready_made_neighbours_are_used(many):
    X, _ = many
    options = {"max_iter": 10, "init": "random", "random_state": 0}
    plain = TSNE(**options).fit(X)
    neighbors = plain.metric_.kneighbors(None, 90)
    np.testing.assert_array_equal(TSNE(neighbors=neighbors, **options).fit_transform(X), plain.embedding_)
    other = (neighbors[0], neighbors[1][::-1].copy())
    other[1][other[1] == np.arange(len(X))[:, None]] = 0
    other[1][0][other[1][0] == 0] = 1
    assert not np.array_equal(TSNE(neighbors=other, **options).fit_transform(X), plain.embedding_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d, i: (d, i, i), "pair"),
        (lambda d, i: (d[:-1], i[:-1]), "n_rows=20"),
        (lambda d, i: (d[:, :2], i), "one shape"),
        (lambda d, i: (d, i.astype(float)), "whole numbers"),
        (lambda d, i: (d, np.where(i == 3, 20, i)), "0 to 19"),
        (lambda d, i: (d, np.tile(np.arange(20)[:, None], (1, 5))), "own neighbour"),
        (lambda d, i: (d - 100, i), "not negative"),
        (lambda d, i: (d + np.nan, i), "finite"),
    ],
)
def test_bad_neighbours(blobs, change, message):
    X = blobs[0][:20]
    neighbors = change(*NamedMetric().fit(X).kneighbors(None, 5))
    with pytest.raises(InputError, match=message):
        TSNE(perplexity=2, neighbors=neighbors).fit(X)


@pytest.mark.parametrize("n_rows", [2, 3, 4, 5])
def test_tiny_data(n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    with pytest.warns(PrismapWarning, match="perplexity=30 is too high"):
        model = TSNE(max_iter=50, random_state=0).fit(X)
    assert model.embedding_.shape == (n_rows, 2)
    assert np.isfinite(model.embedding_).all()
    assert len(np.unique(model.embedding_, axis=0)) == n_rows
    assert np.isfinite(model.kl_divergence_)


def test_one_row_is_refused():
    with pytest.raises(InputError, match="at least 2 rows"):
        TSNE().fit(np.zeros((1, 3)))


@pytest.mark.parametrize("n_rows", [200, EXACT_ROWS + 100])
@pytest.mark.parametrize("noise", [0.0, 1e-9])
def test_duplicates_keep_their_classes_apart(n_rows, noise):
    """Distances that all but vanish inside a class, as the Fisher metric gives them."""
    y = np.arange(n_rows) % 4
    D = np.where(y[:, None] == y, noise * np.random.default_rng(0).random((n_rows, n_rows)), 3.0)
    D = np.triu(D, 1) + np.triu(D, 1).T
    Y = TSNE(perplexity=10, metric="precomputed", max_iter=250, random_state=0).fit_transform(D)
    assert len(np.unique(Y, axis=0)) == n_rows
    assert one_neighbour_error(Y, y) == 0
    centres = np.array([Y[y == c].mean(axis=0) for c in range(4)])
    spread = max(Y[y == c].std(axis=0).max() for c in range(4))
    assert pairwise_distances(centres)[np.triu_indices(4, 1)].min() > 2 * spread


@pytest.mark.parametrize("init", ["pca", "spectral"])
@pytest.mark.parametrize("n_rows", [50, EXACT_ROWS + 100])
def test_all_rows_equal(n_rows, init):
    Y = TSNE(perplexity=5, init=init, max_iter=40, random_state=0).fit_transform(np.ones((n_rows, 3)))
    assert np.isfinite(Y).all()
    assert len(np.unique(Y, axis=0)) == n_rows


def test_callback_sees_a_running_count_and_can_stop(blobs):
    seen = []

    def stop_late(iteration, error, embedding):
        seen.append((iteration, error, embedding))
        return iteration >= 200

    descent = GradientDescent(tol=0)
    model = TSNE(perplexity=10, max_iter=200, descent=descent, callback=stop_late, random_state=0).fit(blobs[0])
    assert [iteration for iteration, _, _ in seen] == [50, 100, 150, 200]
    assert model.stop_reason_ == "callback"
    assert model.n_iter_ == 200
    assert model.kl_divergence_ == pytest.approx(seen[-1][1])
    np.testing.assert_array_equal(model.embedding_, seen[-1][2])
    assert type(seen[0][2]) is np.ndarray


def test_an_error_in_the_callback_reaches_the_caller(blobs):
    def interrupt(iteration, error, embedding):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        TSNE(perplexity=10, callback=interrupt).fit(blobs[0])


@pytest.mark.parametrize("n_components", [1, 3, 4])
@pytest.mark.parametrize("n_rows", [60, EXACT_ROWS + 100])
def test_other_numbers_of_dimensions(many, n_components, n_rows):
    Y = TSNE(n_components, perplexity=5, max_iter=20, random_state=0).fit_transform(many[0][:n_rows])
    assert Y.shape == (n_rows, n_components)
    assert np.isfinite(Y).all()
    assert (Y.std(axis=0) > 0).all()


def test_a_given_start_is_used(blobs):
    X, _ = blobs
    start = np.random.default_rng(0).normal(size=(len(X), 2))
    still = GradientDescent(learning_rate=1e-12)
    options = {"perplexity": 5, "max_iter": 1, "descent": still, "random_state": 0}
    runs = [TSNE(init=positions, **options).fit_transform(X) for positions in (start, 50 * start + 3)]
    np.testing.assert_allclose(runs[0], runs[1], rtol=1e-6)
    np.testing.assert_allclose(runs[0], 1e-4 * (start - start.mean(axis=0)) / start.std(axis=0).max(), atol=5e-6)


def test_bad_starts(blobs):
    X, _ = blobs
    with pytest.raises(InputError, match=r"init must have one position per row, shape \(120, 2\)"):
        TSNE(init=np.zeros((3, 2))).fit(X)
    with pytest.raises(InputError, match="init must be finite"):
        TSNE(init=np.full((120, 2), np.nan)).fit(X)
    with pytest.raises(InputError, match="init='pca' needs vectors"):
        TSNE(init="pca", metric="precomputed").fit(pairwise_distances(X))


def test_refuses_what_memory_cannot_hold(blobs, monkeypatch):
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="t-SNE of 120 rows in 4 dimensions.*GiB"):
        TSNE(4).fit(blobs[0])


def test_the_nearest_rows_that_hold_a_share_of_the_affinities(blobs):
    """Row by row: as few of the nearest as hold it; the others count nothing, and all sum to one."""
    distances, indices = NamedMetric().fit(blobs[0]).kneighbors(None, 60)
    whole = calibrate(distances**2, 10)[0]
    P, expected = joint_affinities(distances, indices, 10, share=0.9), np.zeros((120, 120))
    for row, affinities in enumerate(whole):
        held = 0.0
        for column, affinity in zip(indices[row], affinities, strict=True):
            if held < 0.9:
                expected[row, column] = affinity
            held += affinity
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(P.toarray(), (expected + expected.T) / 240, atol=1e-15)
    assert P.sum() == pytest.approx(1)
    assert P.nnz < joint_affinities(distances, indices, 10).nnz
