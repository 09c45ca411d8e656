"""The ways back behind a view: the surface of means, the map's own, and the published kernels under the tensor."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from prismap import PrisMap
from prismap.exceptions import InputError
from prismap.inspection import ModelView
from prismap.inspection._inverse import LocalSurface, fitted_factors, inverse_of, kernel_inverse
from prismap.learners import RSLVQ
from prismap.mappings import InverseMap
from prismap.metrics import FisherMetric
from reference.model_reference import tensor_reference

X, CODES = make_blobs(80, 4, centers=3, cluster_std=1.5, random_state=3)
MAP = PrisMap("mds", perplexity=8, random_state=0)


def view_of(model, **options):
    options = {"map": MAP, "grid_resolution": 20, **options}
    return ModelView.from_estimator(model.fit(X, CODES), X, CODES, **options)


@pytest.fixture(scope="module")
def plain():
    return view_of(SVC())


def test_the_default_is_the_surface_of_means(plain):
    back = LocalSurface(plain.positions, X).transform
    np.testing.assert_array_equal(plain.shown, SVC().fit(X, CODES).predict(back(plain.positions)))
    np.testing.assert_array_equal(inverse_of(plain.map, plain.positions, X)(plain.positions), back(plain.positions))
    own = PCA(2).fit(X)
    Y = own.transform(X)
    np.testing.assert_array_equal(inverse_of(own, Y, X)(Y), own.inverse_transform(Y))
    np.testing.assert_array_equal(inverse_of(own, Y, X, "local")(Y), LocalSurface(Y, X).transform(Y))


def test_the_published_inverse_is_the_weighted_kernel_map(plain):
    """On some of the rows, as in cross-validation: the tensors are still those of a fit to all."""
    rows = np.arange(0, 80, 2)
    back = kernel_inverse(plain.map, plain.positions[rows], X[rows])

    class Given:
        n_rows_ = len(rows)

        @staticmethod
        def tensor_factor(_):
            parzen = FisherMetric(posterior="parzen", perplexity=8, random_state=plain.map.seed_)
            return parzen.fit(X, CODES).tensor_factor()[rows]

    slow = InverseMap(Given(), bandwidth="all-representable").fit(plain.positions[rows], X[rows])
    np.testing.assert_allclose(back(plain.positions), slow.transform(plain.positions), atol=1e-8)
    unweighted = InverseMap(bandwidth="all-representable").fit(plain.positions[rows], X[rows])
    assert not np.allclose(unweighted.transform(plain.positions), slow.transform(plain.positions), atol=1e-3)


def test_a_map_by_the_model_is_inverted_under_the_model_s_own_tensor():
    model = RSLVQ(random_state=0)
    view = view_of(model, supervision_from="model", inverse="kernel")
    F = fitted_factors(view.map.map_)
    for i in (0, 33):
        np.testing.assert_allclose(F[i].T @ F[i], tensor_reference(model, X[i]), rtol=1e-4, atol=1e-6)
    assert view.misshown.mean() < 0.2


def test_the_kernels_work_behind_scalers():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X * [1, 10, 100, 1000], CODES)
    view = ModelView.from_estimator(model, X * [1, 10, 100, 1000], CODES, inverse="kernel", grid_resolution=20)
    assert view.misshown.mean() < 0.2


def test_a_map_without_a_target_has_the_squared_error():
    plane = PrisMap("mds", target="none", perplexity=8, random_state=0).fit(X)
    back = inverse_of(plane, plane.embedding_, X, "kernel")
    expected = InverseMap(bandwidth="all-representable").fit(plane.embedding_, X).transform(plane.embedding_)
    np.testing.assert_array_equal(back(plane.embedding_), expected)


def test_an_inverse_of_the_user_s_is_fitted_and_judged():
    smooth = InverseMap(bandwidth=3.0, n_landmarks=10)
    view = view_of(SVC(), map=PCA(2), inverse=smooth)
    expected = InverseMap(bandwidth=3.0, n_landmarks=10).fit(view.positions, X).transform(view.positions)
    np.testing.assert_array_equal(view.classes[view.shown], SVC().fit(X, CODES).predict(expected))
    local, honest = view_of(SVC(), map=PCA(2)).cross_validate(3), view.cross_validate(3)
    assert honest.agreement > 0.7
    assert honest.off_surface != local.off_surface


@pytest.mark.parametrize("wrong", ["kernels", None, PCA(2)])
def test_other_inverses_are_refused(wrong):
    with pytest.raises(InputError, match="inverse must be 'auto', 'local', 'kernel' or an InverseMap"):
        view_of(SVC(), inverse=wrong)
