"""Margins and curvature of a picture: against single segments, on a picture of everything, and on one of nothing."""

import numpy as np
import pytest
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.svm import SVC, SVR

from prismap.inspection import ModelView
from prismap.quality._fidelity import second_difference, segment_fidelity
from reference.model_reference import segment_reference


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(200, noise=0.15, random_state=0)
    return X, y, SVC(gamma=2.0).fit(X, y)


@pytest.fixture(scope="module")
def view(moons):
    X, y, model = moons
    return ModelView.from_estimator(model, X, y, map=PCA(2).fit(X), grid_resolution=400)


def test_figures_are_those_of_single_segments(moons, view):
    X, _, model = moons
    X, pca = X[:120], view.map
    found = view.segment_fidelity(model, X, n_neighbors=3)
    Y = pca.transform(X)
    pairs = [(i, j) for i, near in enumerate(cKDTree(Y).query(Y, k=4)[1][:, 1:]) for j in near]

    def f(row):
        return model.predict(row[None])[0], abs(model.decision_function(row[None])[0])

    shares, bends = segment_reference(f, lambda z: pca.inverse_transform(z[None])[0], X, Y, pairs, 17)
    assert (found.n_segments, found.n_borders) == (360, len(shares))
    assert found.margin == pytest.approx(np.corrcoef(shares.T)[0, 1], abs=0.03)
    assert found.curvature == pytest.approx(np.corrcoef(bends.T)[0, 1], abs=0.03)


def test_a_picture_of_all_that_there_is_shows_margins_and_curvature(moons, view):
    found = view.segment_fidelity(moons[2], moons[0])
    assert found.margin > 0.98
    assert found.curvature > 0.98


def test_a_picture_that_hides_a_column_does_not(moons):
    """Two more columns that vary most, and that the model does not look at, fill the picture."""
    X, y, _ = moons
    X = np.column_stack([X, 30 * np.random.default_rng(0).normal(size=(200, 2))])
    model = SVC(gamma=2.0).fit(X[:, :2], y)

    class Deaf(ClassifierMixin, BaseEstimator):
        classes_ = model.classes_

        def __sklearn_is_fitted__(self):
            return True

        def predict(self, rows):
            return model.predict(np.asarray(rows)[:, :2])

        def decision_function(self, rows):
            return model.decision_function(np.asarray(rows)[:, :2])

    found = ModelView.from_estimator(Deaf(), X, y, map=PCA(2).fit(X)).segment_fidelity(Deaf(), X)
    assert not found.margin > 0.2  # NaN where the picture has one colour
    assert abs(found.curvature) < 0.2


def test_numbers_have_curvature_and_no_margin(moons):
    X, _, _ = moons
    target = np.sin(3 * X[:, 0])
    model = SVR(gamma=2.0).fit(X, target)
    view = ModelView.from_estimator(model, X, target, map=PCA(2).fit(X), grid_resolution=300)
    found = view.segment_fidelity(model, X)
    assert (found.margin, found.n_borders) == (None, 0)
    assert found.curvature > 0.98
    flat = LinearRegression().fit(X, target)
    bends = ModelView.from_estimator(flat, X, target, map=PCA(2).fit(X)).segment_fidelity(flat, X)
    assert bends.n_segments == 1000


def test_shares_and_bends_by_hand():
    codes = np.array([[0, 0, 0, 1, 1], [0, 1, 1, 1, 1], [1, 1, 1, 1, 1]])
    shown = np.array([[0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [1, 1, 1, 0, 0]])
    height = np.array([[0.0, 1, 2, 1, 0], [0, 0, 0, 0, 0], [1, 0, -1, 0, 1]])
    found = segment_fidelity(codes, shown, height, 2 * height)
    assert (found.n_segments, found.n_borders) == (3, 2)
    assert found.margin == pytest.approx(1.0)  # shares .6 and .2, .4 and .2
    assert found.curvature == pytest.approx(1.0)
    assert segment_fidelity(codes, shown, None, None).curvature is None
    np.testing.assert_allclose(second_difference(np.array([[1.0, 5, 2, 5, 7], [3, 0, 4, 0, 3]])), [-2.0, 1.0])
