"""Views of models of objects, and the objects behind places of a map."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import GenericKernelMixin, Kernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from prismap import PrisMap
from prismap.comparisons import ComparisonMatrix, Objects
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.inspection import ModelView
from prismap.inspection._inverse import PreImages, among, among_vectors, squared_of_matrix

WORDS = [stem + end for stem in ("house", "garden", "winter", "summer") for end in ("", "s", "y", "er", "ed", "ing")]
KIND = np.repeat(["place", "season"], 12)
PLANE = PrisMap(TSNE(perplexity=5, max_iter=250), data=Objects("edit"), perplexity=5, random_state=0)


class Letters(GenericKernelMixin, Kernel):
    """Shared letters, as a kernel of strings for a Gaussian process."""

    def __init__(self):
        pass

    def __call__(self, X, Y=None, eval_gradient=False):
        Y = X if Y is None else Y
        K = np.array([[len(set(a) & set(b)) / np.sqrt(len(set(a)) * len(set(b))) for b in Y] for a in X])
        return (K, np.empty((*K.shape, 0))) if eval_gradient else K

    def diag(self, X):
        return np.ones(len(X))

    def is_stationary(self):
        return False


def machine():
    return make_pipeline(ComparisonMatrix("edit", kernel="gaussian"), SVC(kernel="precomputed"))


def test_a_machine_that_compares_strings_is_pictured_by_its_own_comparison():
    model = machine().fit(WORDS, KIND)
    view = ModelView.from_estimator(model, WORDS, KIND, grid_resolution=15)
    assert repr(view.map.data) == "Objects('edit')"
    assert np.array_equal(view.classes[view.predicted], model.predict(WORDS))
    # Each place shows what the model says of the very object behind it.
    places = np.column_stack([axis.ravel() for axis in np.meshgrid(view.grid.x, view.grid.y)])
    behind = view.pre_images(places)
    assert np.array_equal(view.grid.value.ravel(), view.predicted[behind])
    assert view.exemplars.name == "support vector"
    assert len(view.exemplars.rows) == len(model[-1].support_)
    before = view.map.map_.data.n_evaluations
    fidelity = view.cross_validate(3)
    assert view.map.map_.data.n_evaluations == before  # judging compares nothing again
    assert fidelity.agreement > fidelity.chance + 0.2
    assert np.isfinite(fidelity.certainty)
    assert 0 < fidelity.off_surface < 1.5


@pytest.mark.parametrize("supervision_from", ["labels", "model"])
def test_neighbours_and_gaussian_processes_of_objects(supervision_from):
    neighbors = make_pipeline(ComparisonMatrix("edit"), KNeighborsClassifier(3, metric="precomputed"))
    process = GaussianProcessClassifier(Letters(), optimizer=None)
    for model in (neighbors, process):
        model.fit(WORDS, KIND)
        view = ModelView.from_estimator(
            model, WORDS, KIND, map=PLANE, supervision_from=supervision_from, grid_resolution=10
        )
        assert view.misshown.mean() < 0.2
        assert view.cross_validate(2).agreement > 0.7


def test_a_regressor_and_a_fitted_map_of_other_objects():
    lengths = np.array([len(word) for word in WORDS], dtype=float)
    model = make_pipeline(ComparisonMatrix("edit", kernel="gaussian", gamma=0.1), KernelRidge(kernel="precomputed"))
    model.fit(WORDS, lengths)
    plane = clone(PLANE).fit(WORDS, KIND)
    others = [word + "x" for word in WORDS]
    view = ModelView.from_estimator(model, others, lengths + 1, map=plane, grid_resolution=10)
    assert view.kind == "real"
    assert np.array_equal(view.positions, plane.transform(others))
    # Nothing is known between these: the nearest on the map stands behind a place.
    place = view.positions[3] + 1e-9
    assert view.pre_images(place) == [np.linalg.norm(view.positions - place, axis=1).argmin()]
    assert np.isfinite(view.cross_validate(2).output)


def test_what_is_no_view_of_objects_is_refused():
    with pytest.raises(InputError, match="must be a trained classifier or regressor"):
        ModelView.from_estimator(BaseEstimator(), WORDS, KIND, map=PLANE)
    with pytest.raises(InputError, match="X has 3 objects; at least 10"):
        ModelView.from_estimator(machine().fit(WORDS, KIND), WORDS[:3], KIND[:3])
    with pytest.raises(InputError, match=r"new object 23 \(17, int\) is none"):
        ModelView.from_estimator(machine().fit(WORDS, KIND), [*WORDS[:-1], 17], KIND, map=PLANE)


def test_objects_have_no_other_way_back():
    with pytest.raises(InputError, match="behind a place of objects stands one of them"):
        ModelView.from_estimator(machine().fit(WORDS, KIND), WORDS, KIND, inverse="kernel")


def test_a_comparison_matrix_gives_values_or_kernels():
    D = Objects("edit").over(WORDS).block()
    step = ComparisonMatrix("edit", kernel="gaussian").fit(WORDS)
    assert step.gamma_ == 1 / np.median(D[D > 0] ** 2)
    np.testing.assert_array_equal(step.fit_transform(WORDS), np.exp(-step.gamma_ * D**2))
    np.testing.assert_array_equal(step.transform(WORDS[:2]), np.exp(-step.gamma_ * D[:2] ** 2))
    np.testing.assert_array_equal(ComparisonMatrix(Objects("edit")).fit_transform(WORDS), D)
    with pytest.raises(InputError, match="kernel must be 'values' or 'gaussian'; got 'rbf'"):
        ComparisonMatrix("edit", kernel="rbf").fit(WORDS)
    with pytest.raises(InputError, match="a similarity is a kernel as it is"):
        ComparisonMatrix("alignment", kernel="gaussian").fit(WORDS)


def test_the_row_behind_a_place_is_the_nearest_to_the_mean():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    D = euclidean_distances(X)
    found = PreImages(Z, partial(among_vectors, X), n_neighbors=6)
    places = rng.normal(size=(40, 2))
    for place, number in zip(places, found(places), strict=True):
        gap = np.linalg.norm(Z - place, axis=1)
        order = np.argsort(gap)
        near, beyond = order[:6], gap[order[6]]
        weights = (1 - gap[near] / beyond) / np.sqrt(gap[near] ** 2 + found.spacing**2)
        mean = weights @ X[near] / weights.sum()
        assert number == near[np.linalg.norm(X[near] - mean, axis=1).argmin()]
    for kind, matrix in (("dissimilarity", D), ("similarity", X @ X.T)):
        same = PreImages(Z, partial(among, squared_of_matrix(matrix, kind)), n_neighbors=6)
        assert np.array_equal(same(places), found(places))
    nearest = PreImages(Z)
    assert np.array_equal(nearest(Z), np.arange(60))


def test_a_view_of_a_matrix_knows_the_objects_behind_places():
    D = Objects("edit").over(WORDS).block()
    view = ModelView.from_estimator(
        KNeighborsClassifier(3, metric="precomputed").fit(D, KIND), D, KIND, grid_resolution=10
    )
    behind = view.pre_images(view.positions)
    assert behind.shape == (24,)
    assert np.mean(KIND[behind] == KIND) > 0.8
