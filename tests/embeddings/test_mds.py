"""Classical, metric and Sammon scaling: limits, outside implementations, distances that are not Euclidean."""

import numpy as np
import pytest
from scipy.spatial import procrustes
from sklearn.datasets import load_digits, make_blobs
from sklearn.decomposition import PCA
from sklearn.manifold import MDS as SklearnMDS
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

import reference.embedding_costs_reference as slow
from prismap.embeddings import MDS
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics import FisherMetric
from prismap.metrics._base import NamedMetric

KINDS = ["classical", "metric", "sammon"]


@pytest.fixture(scope="module")
def X():
    return load_digits().data[:150]


@pytest.fixture(scope="module")
def plane():
    return np.random.default_rng(7).normal(size=(60, 2))


@pytest.mark.filterwarnings("ignore:.*pairs of rows are closer:prismap.exceptions.PrismapWarning")
@parametrize_with_checks([MDS(kind=kind, max_iter=5) for kind in KINDS])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("n_components", [1, 2, 5])
def test_classical_on_euclidean_distances_is_pca(X, n_components):
    model = MDS(n_components, kind="classical", random_state=0).fit(X)
    pca = PCA(n_components).fit(X)
    expected = pca.transform(X)
    signs = np.sign((model.embedding_ * expected).sum(axis=0))
    np.testing.assert_allclose(model.embedding_ * signs, expected, atol=1e-6)
    np.testing.assert_allclose(model.eigenvalues_, pca.explained_variance_ * (len(X) - 1), rtol=1e-8)
    assert model.negative_mass_ == 0
    assert model.stop_reason_ == "closed form"


def test_classical_objective_is_what_is_left_of_the_gram_matrix(X):
    model = MDS(kind="classical", metric="manhattan", random_state=0).fit(X)
    n = len(X)
    J = np.eye(n) - 1 / n
    G = -J @ pairwise_distances(X, metric="manhattan") ** 2 @ J / 2
    assert model.objective_ == pytest.approx(np.linalg.norm(G - model.embedding_ @ model.embedding_.T) / n, rel=1e-8)
    values = np.linalg.eigvalsh(G)
    assert model.negative_mass_ == pytest.approx(-values[values < 0].sum() / np.abs(values).sum(), rel=1e-8)
    assert model.negative_mass_ > 0.01


def test_negative_eigenvalues_are_clipped_and_reported():
    """Three rows mutually at 2 and a fourth at 1 from each: no Euclidean space holds it."""
    D = np.array([[0, 2, 2, 1.0], [2, 0, 2, 1], [2, 2, 0, 1], [1, 1, 1, 0]])
    model = MDS(4, kind="classical", metric="precomputed").fit(D)
    assert model.eigenvalues_[-1] < 0
    np.testing.assert_array_equal(model.embedding_[:, -1], 0)
    assert model.negative_mass_ > 0
    assert np.isfinite(model.embedding_).all()


def test_negative_mass_of_many_rows_is_an_estimate_from_some(X, monkeypatch):
    exact = MDS(kind="classical", metric="manhattan").fit(X).negative_mass_
    monkeypatch.setattr("prismap.embeddings._mds.SPECTRUM_ROWS", 120)
    estimates = [MDS(kind="classical", metric="manhattan", random_state=s).fit(X).negative_mass_ for s in (0, 1)]
    assert estimates[0] != estimates[1]
    np.testing.assert_allclose(estimates, exact, rtol=0.1)


@pytest.mark.parametrize("kind", ["metric", "sammon"])
@pytest.mark.parametrize("init", ["classical", "random"])
def test_planar_rows_are_recovered_exactly(plane, kind, init):
    model = MDS(kind=kind, init=init, tol=1e-15, max_iter=1000, random_state=1).fit(plane)
    np.testing.assert_allclose(pairwise_distances(model.embedding_), pairwise_distances(plane), atol=1e-5)
    assert model.objective_ < 1e-10


def test_metric_agrees_with_scikit_learn(X):
    """Each stays where the other ended, at the same stress: they minimise one function."""
    X = X[:60]

    def peer(start):
        model = SklearnMDS(n_init=1, init="random", max_iter=3000, eps=1e-12, normalized_stress=False)
        return model.fit(X, init=start)

    theirs = peer(PCA(2).fit_transform(X))
    ours = MDS(tol=1e-12, max_iter=1000, random_state=0).fit(X)
    for end, stress, stayed in [
        (theirs.embedding_, theirs.stress_, MDS(init=theirs.embedding_, tol=1e-12).fit(X)),
        (ours.embedding_, ours.objective_, peer(ours.embedding_)),
    ]:
        assert getattr(stayed, "objective_", getattr(stayed, "stress_", None)) == pytest.approx(stress, rel=1e-6)
        assert procrustes(stayed.embedding_, end)[2] < 1e-6
    assert ours.objective_ == pytest.approx(slow.stress(ours.embedding_, pairwise_distances(X)), rel=1e-9)
    assert ours.objective_ == pytest.approx(theirs.stress_, rel=0.03)  # local minima differ a little


def test_sammon_lowers_its_own_stress_and_minds_small_distances(X):
    X = np.unique(X[:80], axis=0)
    D = pairwise_distances(X)
    models = {kind: MDS(kind=kind, random_state=0).fit(X) for kind in KINDS}
    stresses = {kind: slow.sammon_stress(model.embedding_, D) for kind, model in models.items()}
    assert stresses["sammon"] < stresses["metric"] < stresses["classical"]
    assert models["sammon"].objective_ == pytest.approx(stresses["sammon"], rel=1e-9)
    assert models["metric"].objective_ < slow.stress(models["sammon"].embedding_, D)


@pytest.mark.parametrize("kind", KINDS)
def test_precomputed_and_metric_objects_equal_the_named_metric(X, kind):
    options = {"kind": kind, "max_iter": 15, "random_state": 0}
    named = MDS(metric="manhattan", **options).fit_transform(X)
    given = MDS(metric="precomputed", **options).fit_transform(pairwise_distances(X, metric="manhattan"))
    passed = MDS(metric=NamedMetric("manhattan"), **options).fit_transform(X)
    np.testing.assert_allclose(given, named, atol=1e-8)
    np.testing.assert_array_equal(passed, named)


def test_a_metric_with_a_target_makes_the_fisher_form():
    """The same as its distances passed ready-made; the labels count."""
    X, y = make_blobs(60, 3, centers=3, cluster_std=3.0, random_state=0)
    options = {"max_iter": 5, "random_state": 0}
    model = MDS(metric=FisherMetric(perplexity=8, random_state=0), **options).fit(X, y)
    given = MDS(metric="precomputed", **options).fit_transform(np.array(model.metric_.pairwise(), dtype=float))
    np.testing.assert_allclose(model.embedding_, given, atol=1e-4 * np.abs(given).max())
    other = MDS(metric=FisherMetric(perplexity=8, random_state=0), **options).fit_transform(X, np.roll(y, 7))
    assert np.abs(other - given).max() > 0.1 * np.abs(given).max()


@pytest.mark.parametrize("kind", KINDS)
def test_scale_of_the_distances_is_the_scale_of_the_map(plane, kind):
    small = MDS(kind=kind, random_state=0).fit_transform(plane)
    large = MDS(kind=kind, random_state=0).fit_transform(1e6 * plane)
    np.testing.assert_allclose(large / 1e6, small, atol=1e-3)


def test_duplicates(plane):
    X = np.vstack([plane, plane[:20]])
    with pytest.warns(PrismapWarning, match="20 pairs of rows are closer"):
        sammon = MDS(kind="sammon", random_state=0).fit_transform(X)
    metric = MDS(kind="metric", tol=1e-15, random_state=0).fit_transform(X)
    for Y in (sammon, metric):
        np.testing.assert_allclose(Y[60:], Y[:20], atol=0.05)


@pytest.mark.parametrize("kind", ["metric", "sammon"])
def test_rows_that_the_start_puts_on_one_point_come_apart(kind):
    """A grid and the same grid a little higher: classical scaling in the plane drops the height."""
    floor = np.array([(i, 1.3 * j, 0.0) for i in range(4) for j in range(4)])
    X = np.vstack([floor, floor + [0, 0, 0.5]])
    classical = MDS(kind="classical").fit_transform(X)
    np.testing.assert_allclose(classical[:16], classical[16:], atol=1e-9)
    Y = MDS(kind=kind, random_state=0).fit_transform(X)
    assert np.linalg.norm(Y[:16] - Y[16:], axis=1).min() > 0.01


class OneWayMetric(NamedMetric):
    """Longer in one direction than in the other, as tangent lengths are."""

    def pairwise(self, A=None, B=None):
        D = super().pairwise(A, B)
        return D + 0.1 * np.triu(D) - 0.1 * np.tril(D)


def test_asymmetric_distances_are_averaged(plane):
    expected = MDS(random_state=0).fit_transform(plane)
    np.testing.assert_allclose(MDS(metric=OneWayMetric(), random_state=0).fit_transform(plane), expected, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [2, 3, 4])
def test_tiny_data(kind, n_rows):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    Y = MDS(kind=kind, tol=1e-15, random_state=0).fit_transform(X)
    np.testing.assert_allclose(pairwise_distances(Y), pairwise_distances(X), atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_all_rows_equal(kind):
    model = MDS(kind=kind).fit(np.ones((10, 3)))
    np.testing.assert_array_equal(model.embedding_, 0)
    assert model.negative_mass_ == 0


@pytest.mark.parametrize("kind", ["metric", "sammon"])
def test_same_seed_same_bits_and_callback_stops(X, kind):
    X = np.unique(X, axis=0)
    seen = []

    def stop(iteration, error, embedding):
        seen.append((iteration, error))
        return iteration == 4

    first = MDS(kind=kind, init="random", callback=stop, random_state=3).fit(X)
    assert [iteration for iteration, _ in seen] == [1, 2, 3, 4]
    assert (first.stop_reason_, first.n_iter_, first.objective_) == ("callback", 4, seen[-1][1])
    again = MDS(kind=kind, init="random", max_iter=4, random_state=3).fit(X)
    assert again.stop_reason_ == "max_iter"
    np.testing.assert_array_equal(first.embedding_, again.embedding_)


def test_classical_calls_back_once(X):
    seen = []
    model = MDS(kind="classical", callback=lambda *news: seen.append(news)).fit(X)
    assert len(seen) == 1
    assert seen[0][:2] == (1, model.objective_)


def test_bad_input(plane, monkeypatch):
    with pytest.raises(InputError, match="n_components=61 is more than the 60 rows"):
        MDS(61).fit(plane)
    with pytest.raises(InputError, match="init must have one position per row"):
        MDS(init=np.zeros((5, 2))).fit(plane)
    D = pairwise_distances(plane)
    with pytest.raises(InputError, match="must be symmetric"):
        MDS(metric="precomputed").fit(np.triu(D))
    with pytest.raises(InputError, match="must not be negative"):
        MDS(metric="precomputed").fit(np.where(D > 0, D - 1, 0) * (1 - np.eye(60)))
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 1000)
    with pytest.raises(InputError, match="MDS of 60 rows, which looks at all pairs, would need .* GiB"):
        MDS().fit(plane)
