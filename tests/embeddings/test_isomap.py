"""Isomap: agreement with scikit-learn, the swiss roll's own coordinates, landmarks, graphs that fall apart."""

import numpy as np
import pytest
from sklearn import manifold
from sklearn.datasets import load_iris, make_swiss_roll
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.utils.estimator_checks import parametrize_with_checks

from prismap._util.graphs import connected_neighbours, smallest_connected
from prismap.embeddings import MDS, Isomap
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.metrics._base import NamedMetric, PrecomputedMetric
from reference.manifold_reference import n_components_reference, shortest_paths_reference


@pytest.fixture(scope="module")
def roll():
    return make_swiss_roll(1000, random_state=1)


@pytest.fixture(scope="module")
def islands():
    """Clouds of 30 and 12 rows far apart, and one row yet farther from both."""
    rng = np.random.default_rng(0)
    return np.vstack([rng.normal(size=(30, 2)), 50 + rng.normal(size=(12, 2)), [[200.0, 0.0]]])


@parametrize_with_checks([Isomap(), Isomap(n_landmarks=8)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def equal_up_to_sign(A, B):
    return np.abs(np.sign(np.sum(A * B, axis=0)) * A - B).max()


def test_agrees_with_scikit_learn(roll):
    X = roll[0]
    theirs = manifold.Isomap(n_neighbors=9, n_components=3).fit(X)
    ours = Isomap(3, n_neighbors=9, random_state=0).fit(X)
    assert equal_up_to_sign(ours.embedding_, theirs.embedding_) < 1e-8
    assert ours.objective_ == pytest.approx(theirs.reconstruction_error(), rel=1e-6)


def test_recovers_the_parameters_of_the_swiss_roll(roll):
    X, t = roll
    arc = 0.5 * (t * np.sqrt(1 + t**2) + np.arcsinh(t))
    Y = Isomap(n_neighbors=10, random_state=0).fit_transform(X)
    assert abs(np.corrcoef(Y[:, 0], arc)[0, 1]) > 0.999
    assert abs(np.corrcoef(Y[:, 1], X[:, 1])[0, 1]) > 0.985
    assert np.std(Y[:, 0]) == pytest.approx(np.std(arc), rel=0.05)


def test_duplicated_rows_stay_connected():
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 3)), 4, axis=0)
    model = Isomap(random_state=0).fit(X)
    assert np.isfinite(model.embedding_).all()
    gaps = np.abs(model.embedding_[::4] - model.embedding_[1::4]).max()
    assert gaps < 1e-9 * np.abs(model.embedding_).max()


def test_auto_is_the_smallest_number_that_connects(islands):
    metric = NamedMetric().fit(islands)
    k = Isomap(random_state=0).fit(islands).n_neighbors_
    everything = metric.kneighbors(None, len(islands) - 1)[1]
    counts = [n_components_reference(everything[:, :m]) for m in range(1, k + 1)]
    assert counts[-1] == 1
    assert min(counts[:-1]) > 1
    assert smallest_connected(metric, len(islands), least=k + 3)[1].shape[1] == k + 3


def test_mutual_is_the_smallest_number_that_connects_rows_which_have_each_other(roll):
    X = roll[0][:150]
    near = NamedMetric().fit(X).kneighbors(None, len(X) - 1)[1]
    model = Isomap(n_neighbors="mutual", random_state=0).fit(X)
    D, lengths = pairwise_distances(X), {}
    for k in (model.n_neighbors_ - 1, model.n_neighbors_):
        own = [set(row[:k].tolist()) for row in near]
        i, j = np.array([(i, j) for i in range(len(X)) for j in own[i] if j > i and i in own[j]]).T
        lengths[k] = shortest_paths_reference(i, j, D[i, j], len(X))
    assert np.isinf(lengths[model.n_neighbors_ - 1]).any()
    paths = lengths[model.n_neighbors_]
    expected = MDS(kind="classical", metric="precomputed", random_state=0).fit_transform(paths)
    assert equal_up_to_sign(model.embedding_, expected) < 1e-6 * np.abs(expected).max()
    assert model.n_neighbors_ > Isomap(random_state=0).fit(X).n_neighbors_


def test_a_graph_in_parts_is_refused_with_their_sizes_and_the_number_that_helps(islands):
    with pytest.raises(InputError, match=r"30 rows \(row 0 .*, 13 rows \(row 30 .*Raise n_neighbors to (\d+)") as e:
        Isomap(n_neighbors=3).fit(islands)
    enough = int(str(e.value).split("Raise n_neighbors to ")[1].split(",")[0])
    assert Isomap(n_neighbors=enough).fit(islands).n_neighbors_ == enough
    with pytest.raises(InputError, match="parts"):
        connected_neighbours(NamedMetric().fit(islands), len(islands), enough - 1)


def test_landmarks_on_flat_data_give_the_principal_components():
    X = np.random.default_rng(0).normal(size=(120, 2)) * [3.0, 1.0] @ np.linalg.qr(np.ones((4, 2)) + np.eye(4, 2))[0].T
    Y = Isomap(n_neighbors=119, n_landmarks=15, random_state=0).fit_transform(X)
    np.testing.assert_allclose(pairwise_distances(Y), pairwise_distances(X), atol=1e-9)
    landmarks = Isomap(n_neighbors=119, n_landmarks=15, random_state=0).fit(X).landmarks_
    np.testing.assert_allclose(Y[landmarks].mean(axis=0), 0, atol=1e-9)
    full = Isomap(n_neighbors=119, random_state=0).fit_transform(X)
    assert equal_up_to_sign(full, PCA(2).fit_transform(X)) < 1e-9


def test_landmarks_come_near_the_full_form(roll):
    X = roll[0]
    full = Isomap(n_neighbors=9, random_state=0).fit_transform(X)
    model = Isomap(n_neighbors=9, n_landmarks=150, random_state=0).fit(X)
    assert len(model.landmarks_) == 150
    for axis in (0, 1):
        assert abs(np.corrcoef(full[:, axis], model.embedding_[:, axis])[0, 1]) > 0.97


def test_any_metric_will_do():
    X, y = load_iris(return_X_y=True)
    fisher = FisherMetric(posterior="parzen", random_state=0)
    model = Isomap(metric=fisher, random_state=0).fit(X, y)
    given = Isomap(metric="precomputed", random_state=0).fit(model.metric_.pairwise().astype(float))
    np.testing.assert_allclose(model.embedding_, given.embedding_, atol=1e-3 * np.abs(given.embedding_).max())


@pytest.mark.parametrize(
    ("spoil", "message"), [(lambda D: np.triu(D), "symmetric"), (lambda D: D - 5 * (1 - np.eye(len(D))), "negative")]
)
def test_bad_distances_are_refused(spoil, message):
    D = pairwise_distances(np.random.default_rng(0).normal(size=(20, 2)))
    with pytest.raises(InputError, match=message):
        Isomap(metric="precomputed").fit(spoil(D))


def test_more_than_memory_is_refused_with_the_figure(monkeypatch, roll):
    monkeypatch.setattr("prismap._util.blocks.available_bytes", lambda: 2**20)
    with pytest.raises(InputError, match=r"GiB .*Set n_landmarks"):
        Isomap().fit(roll[0])


def test_too_many_dimensions_are_refused():
    with pytest.raises(InputError, match="n_components=5 of Isomap needs at least 6 rows; got n_samples=5"):
        Isomap(5).fit(np.eye(5))


def test_a_seed_fixes_everything_and_the_callback_is_called(roll):
    calls = []
    a = Isomap(n_landmarks=40, random_state=4, callback=lambda *args: calls.append(args)).fit(roll[0])
    b = Isomap(n_landmarks=40, random_state=4).fit(roll[0])
    np.testing.assert_array_equal(a.embedding_, b.embedding_)
    assert len(calls) == 1
    assert calls[0][:2] == (1, a.objective_)
    assert (a.n_iter_, a.stop_reason_) == (1, "closed form")


def test_precomputed_metric_gives_what_vectors_give(roll):
    X = roll[0][:200]
    D = pairwise_distances(X)
    assert isinstance(Isomap(metric="precomputed").fit(D).metric_, PrecomputedMetric)
    a, b = Isomap(random_state=0).fit_transform(X), Isomap(metric="precomputed", random_state=0).fit_transform(D)
    np.testing.assert_allclose(a, b, atol=1e-7)
