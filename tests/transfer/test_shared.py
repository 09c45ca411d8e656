"""SharedEmbedding: recovery of what is known, honesty about what is not, and the contract of an estimator."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from prismap.embeddings import MDS
from prismap.exceptions import InputError, PrismapWarning
from prismap.transfer import Matching, SharedEmbedding

CENTERS = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 1.0], [3.0, 4.0, 0.0], [2.0, -2.0, 1.0]])
SIZES = (32, 12, 18, 13)


def blobs(seed, sizes=SIZES, centers=CENTERS, noise=0.4):
    """Clusters of different sizes at uneven distances: no symmetry."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    return centers[y] + noise * rng.normal(size=(len(y), centers.shape[1])), y


def turned(X, seed, scale=30.0, dims=5):
    """The rows through a random frame, scaled and moved."""
    frame, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(dims, X.shape[1])))
    return scale * X @ frame.T - 400


def transfer_accuracy(model, y, y_target, classifier=None):
    """Train on the source's positions, count on the target's."""
    classifier = classifier or KNeighborsClassifier(5)
    return classifier.fit(model.source_positions_, y).score(model.target_positions_, y_target)


@pytest.fixture(scope="module")
def task():
    (X, y), (W, y_target) = blobs(0), blobs(1)
    return X, y, turned(W, 2), y_target


@pytest.fixture(scope="module")
def fitted(task):
    X, _, Z, _ = task
    return {
        "linear": SharedEmbedding("linear", n_init=8, random_state=0).fit(X, Z),
        "kernel": SharedEmbedding("kernel", n_init=3, n_landmarks=40, perplexity=8, random_state=0).fit(X, Z),
    }


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_recovers_a_turned_scaled_and_moved_target(kind, fitted, task):
    _, y, _, y_target = task
    model = fitted[kind]
    assert transfer_accuracy(model, y, y_target, SVC(kernel="linear")) >= 0.97
    assert not model.ambiguous_
    assert model.agreement_ > 0.5
    assert model.starts_[0].displacement == 0.0
    scores = [start.score for start in model.starts_]
    assert scores == sorted(scores, reverse=True)


def test_linear_recovers_the_map_itself():
    """Without noise in the map, target rows lie where the source's own map would put them."""
    (X, _), (W, _) = blobs(0, sizes=(128, 48, 72, 52)), blobs(1, sizes=(128, 48, 72, 52))
    model = SharedEmbedding(n_init=8, random_state=0).fit(X, turned(W, 3))
    there = model.transform_source(W)
    gap = np.sqrt(np.square(model.target_positions_ - there).sum(axis=1).mean())
    assert gap < 0.25 * np.sqrt(np.square(there - there.mean(axis=0)).sum(axis=1).mean())


@pytest.mark.parametrize("missing", ["source", "target"])
def test_a_class_missing_on_one_side(missing):
    most = (32, 12, 18, 0)
    X, y = blobs(0, sizes=most if missing == "source" else SIZES)
    W, y_target = blobs(1, sizes=most if missing == "target" else SIZES)
    model = SharedEmbedding(n_init=8, matching=Matching(outliers=0.3), random_state=0)
    model = _quietly(model, X, turned(W, 4))
    shared = y_target < 3
    predicted = KNeighborsClassifier(5).fit(model.source_positions_, y).predict(model.target_positions_[shared])
    assert (predicted == y_target[shared]).mean() >= 0.9


def _quietly(model, *args, **known):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        return model.fit(*args, **known)


@pytest.mark.parametrize("kind", ["linear", "kernel"])
def test_maps_new_rows_one_by_one(kind, fitted, task):
    X, _, Z, _ = task
    model = fitted[kind]
    np.testing.assert_allclose(model.transform_target(Z), model.target_positions_, atol=1e-8)
    np.testing.assert_allclose(model.transform_target(Z[3:4])[0], model.transform_target(Z)[3], atol=1e-8)
    new, _ = blobs(7)
    spread = model.source_positions_.std()
    assert np.abs(model.transform_source(X) - model.source_positions_).mean() < 0.2 * spread
    labels = KNeighborsClassifier(5).fit(model.source_positions_, blobs(0)[1])
    assert labels.score(model.transform_source(new), blobs(7)[1]) >= 0.95
    assert labels.score(model.transform_target(turned(new, 2)), blobs(7)[1]) >= 0.95


def test_score_and_responsibilities(fitted, task):
    X, _, Z, _ = task
    model = fitted["linear"]
    assert model.score(X) == pytest.approx(model.log_likelihood_)
    assert model.score(X, Z) > model.score(X, Z + 3 * Z.std(axis=0)) + 1
    gamma = np.vstack([block for _, block in model.responsibilities()])
    assert gamma.shape == (75, 75)
    assert (gamma.sum(axis=1) <= 1 + 1e-12).all()
    partner = gamma @ model.target_positions_ / gamma.sum(axis=1, keepdims=True)
    assert np.sqrt(np.square(partner - model.source_positions_).sum(axis=1)).mean() < 2 * model.sigma_


@pytest.mark.parametrize("change", [lambda Z: 1e-6 * Z, lambda Z: 1e6 * Z + 1e6])
def test_scale_and_place_of_the_target_do_not_matter(change, task, fitted):
    X, _, Z, _ = task
    other = SharedEmbedding("linear", n_init=8, random_state=0).fit(X, change(Z))
    np.testing.assert_allclose(other.target_positions_, fitted["linear"].target_positions_, atol=1e-3)


def test_same_seed_same_result_and_input_untouched(task):
    X, y, Z, _ = task
    X0, Z0 = X.copy(), Z.copy()
    first, second = (SharedEmbedding(n_init=2, random_state=3).fit(X, Z, y).target_positions_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(X, X0)
    np.testing.assert_array_equal(Z, Z0)


def symmetric_clouds(seed):
    """Two equal clusters: which is which cannot be known."""
    return blobs(seed, sizes=(40, 40), centers=np.array([[-4.0, 0.0, 0.0], [4.0, 0.0, 0.0]]), noise=0.6)


def test_says_when_symmetry_makes_the_match_ambiguous():
    (X, y), (W, y_target) = symmetric_clouds(0), symmetric_clouds(1)
    Z = turned(W, 5)
    with pytest.warns(PrismapWarning, match="Ambiguous match"):
        model = SharedEmbedding(n_init=8, random_state=0).fit(X, Z)
    assert model.ambiguous_
    accuracies = [
        KNeighborsClassifier(5).fit(model.source_positions_, y).score(start.positions, y_target)
        for start in model.starts_
        if start.displacement == 0 or start.displacement > 0.5
    ]
    assert min(accuracies) < 0.05
    assert max(accuracies) > 0.95


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("what", ["pairs", "labels"])
def test_a_few_known_rows_settle_it(swap, what):
    (X, y), (W, y_target) = symmetric_clouds(0), symmetric_clouds(1)
    Z = turned(-W if swap else W, 5)
    if what == "pairs":
        known = {"pairs": [[0, 0], [1, 1], [41, 41], [42, 42]]}
    else:
        labels = np.full(80, -1)
        labels[[0, 3, 50, 60]] = y_target[[0, 3, 50, 60]] + 1
        known = {"y": y + 1, "y_target": labels}
    model = _quietly(SharedEmbedding(n_init=4, random_state=0), X, Z, **known)
    assert transfer_accuracy(model, y, y_target) >= 0.97


@pytest.mark.filterwarnings("ignore:Ambiguous match")
def test_one_cluster_against_several_warns():
    X, _ = blobs(0, noise=0.2)
    Z = np.random.default_rng(0).normal(size=(60, 4))
    with pytest.warns(PrismapWarning, match="Poor match"):
        SharedEmbedding(n_init=4, random_state=0).fit(Z, X)
    with pytest.warns(PrismapWarning, match="Poor match"):
        model = SharedEmbedding(n_init=4, random_state=0).fit(X, Z)
    (again, _), (W, _) = blobs(0), blobs(1)
    good = SharedEmbedding(n_init=4, random_state=0).fit(again, turned(W, 2))
    assert model.agreement_ < good.agreement_ - 0.2
    assert model.distortion_ > 2 * good.distortion_


@pytest.mark.parametrize("source", ["pca", "lda", "tsne", "fisher", PCA(2), MDS(), "array"])
def test_every_way_to_embed_the_source(source, task):
    X, y, Z, y_target = task
    positions = PCA(2).fit_transform(X) if source == "array" else source
    # t-SNE bends the source, and only a kernel map can follow.
    kind = "kernel" if source in ("tsne", "fisher") else "linear"
    model = SharedEmbedding(kind, source=positions, n_init=4, n_landmarks=40, perplexity=8, random_state=0)
    model = _quietly(model, X, Z, y)
    assert model.transform_source(X[:5]).shape == (5, 2)
    assert transfer_accuracy(model, y, y_target) >= 0.9


def test_one_dimension(task):
    X, _, Z, _ = task
    model = _quietly(SharedEmbedding(n_components=1, n_init=2, random_state=0), X, Z)
    assert model.target_positions_.shape == (75, 1)


def test_columns_are_checked_on_both_sides(fitted, task):
    X, _, Z, _ = task
    frames = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Z, columns=list("vwxyz"))
    model = SharedEmbedding(n_init=1, random_state=0).fit(*frames)
    with pytest.raises(InputError, match="Z_target: The feature names"):
        model.transform_target(frames[1][list("wvxyz")])
    with pytest.raises(InputError, match="The feature names"):
        model.transform_source(frames[0][list("bac")])
    with pytest.raises(InputError, match="Z_target: X has 4 features"):
        fitted["linear"].transform_target(Z[:, :4])


def test_contract_of_an_estimator(fitted, task):
    X, _, Z, _ = task
    model = SharedEmbedding("kernel", n_init=3, matching=Matching(sigma=(0.4, 0.1)))
    assert repr(clone(model)) == repr(model)
    assert not [name for name in vars(model) if name.endswith("_")]
    assert clone(fitted["linear"]).set_params(n_init=1).fit(X, Z) is not None
    back = pickle.loads(pickle.dumps(fitted["kernel"]))
    np.testing.assert_array_equal(back.transform_target(Z), fitted["kernel"].transform_target(Z))
    for call in (model.transform_source, model.transform_target, model.score):
        with pytest.raises(NotFittedError):
            call(X)
    with pytest.raises(NotFittedError):
        model.responsibilities()


GOOD_X, GOOD_Z = np.random.default_rng(0).normal(size=(20, 3)), np.random.default_rng(1).normal(size=(25, 4))


@pytest.mark.parametrize(
    ("params", "args", "known", "message"),
    [
        ({}, (GOOD_X,), {}, "Z_target is missing"),
        ({}, (GOOD_X, GOOD_X[:, 0]), {}, "Z_target: Expected 2D"),
        ({}, (GOOD_X, np.where(GOOD_Z > 1, np.nan, GOOD_Z)), {}, "Z_target: Input .*NaN"),
        ({}, (np.where(GOOD_X > 1, np.inf, GOOD_X), GOOD_Z), {}, "infinit"),
        ({}, (GOOD_X, GOOD_Z[:2]), {}, "minimum of 3"),
        ({}, (GOOD_X, np.ones((9, 4))), {}, "Z_target: all rows are equal"),
        ({}, (np.ones((9, 4)), GOOD_Z), {}, "X_source: all rows are equal"),
        ({"source": "lda"}, (GOOD_X, GOOD_Z), {}, "needs the labels of the source"),
        ({"source": "lda"}, (GOOD_X, GOOD_Z, np.arange(20) % 2), {}, "n_components=2 is more than"),
        ({"n_components": 4}, (GOOD_X, GOOD_Z), {}, "n_components=4 is more than"),
        ({"source": GOOD_X[:4]}, (GOOD_X, GOOD_Z), {}, "one finite position per source row"),
        ({"matching": Matching(sigma=(0.1, 0.5))}, (GOOD_X, GOOD_Z), {}, "sigma must fall"),
        ({"matching": Matching(sigma=(0.1,))}, (GOOD_X, GOOD_Z), {}, "sigma must be two numbers"),
        ({"kind": "cubic"}, (GOOD_X, GOOD_Z), {}, "'kind' parameter"),
        ({}, (GOOD_X, GOOD_Z, np.zeros(3)), {}, "y has 3 entries"),
        ({}, (GOOD_X, GOOD_Z), {"pairs": [[0.5, 1]]}, "pairs must be whole numbers"),
        ({}, (GOOD_X, GOOD_Z), {"pairs": [[0, 25]]}, "outside of the 20 source rows and 25 target rows"),
        ({}, (GOOD_X, GOOD_Z), {"y_target": np.zeros(25)}, "y_target needs the labels of the source"),
    ],
)
def test_bad_input_is_named(params, args, known, message):
    with pytest.raises(ValueError, match=message):
        SharedEmbedding(n_init=1, random_state=0, **params).fit(*args, **known)


def test_fewer_target_rows_than_columns():
    (X, y), (W, y_target) = blobs(0), blobs(1, sizes=(16, 6, 9, 7))
    Z = turned(W, 6, dims=40)
    with pytest.warns(PrismapWarning, match="38 rows and 40 columns"):
        model = SharedEmbedding(n_init=8, random_state=0).fit(X, Z)
    assert transfer_accuracy(model, y, y_target) >= 0.9
