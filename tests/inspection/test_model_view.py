"""Views of models: the picture is the model behind an inverse map, and the fidelity is that of rows left out."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from prismap import PrisMap
from prismap.embeddings import SOM
from prismap.exceptions import InputError
from prismap.inspection import ModelView
from prismap.inspection._model_view import cross_validate
from prismap.inspection._view_data import VectorData
from prismap.learners import RSLVQ
from reference.model_reference import signed_certainty_reference

X, CODES = make_blobs(90, 5, centers=3, cluster_std=1.5, random_state=3)
Y = np.array(["ash", "birch", "cedar"])[CODES]
REAL = X[:, 0] + 0.5 * X[:, 1]
MODELS = {
    "svc": (SVC(), Y),
    "svc numbers": (SVC(kernel="linear"), CODES),
    "linear svc": (LinearSVC(), Y),
    "forest": (RandomForestClassifier(10, random_state=0), Y),
    "tree": (DecisionTreeClassifier(random_state=0), Y),
    "neighbours": (KNeighborsClassifier(), Y),
    "network": (MLPClassifier((10,), solver="lbfgs", max_iter=2000, random_state=0), Y),
    "process": (GaussianProcessClassifier(random_state=0), Y),
    "pipeline": (make_pipeline(StandardScaler(), PCA(4), SVC()), Y),
    "rslvq": (RSLVQ(2, random_state=0), Y),
    "svr": (SVR(), REAL),
    "forest regressor": (RandomForestRegressor(10, random_state=0), REAL),
    "tree regressor": (DecisionTreeRegressor(max_depth=4, random_state=0), REAL),
    "neighbours regressor": (KNeighborsRegressor(), REAL),
    "process regressor": (GaussianProcessRegressor(alpha=0.1), REAL),
    "ridge pipeline": (make_pipeline(StandardScaler(), Ridge()), REAL),
}


@pytest.mark.parametrize("name", MODELS)
def test_any_model_is_shown(name):
    model, y = MODELS[name]
    model = model.fit(X, y)
    view = ModelView.from_estimator(model, X, y, map=PCA(2), grid_resolution=25)
    assert view.kind == ("real" if y.dtype.kind == "f" else "class")
    assert view.grid.value.shape == (25, 25)
    assert view.positions.shape == (90, 2)
    if view.kind == "class":
        assert (view.classes[view.predicted] == model.predict(X)).all()
        assert (view.classes[view.truth] == y).all()
        assert view.misshown.mean() < 0.1
        assert view.fidelity_.agreement > 0.9
        assert (view.grid.certainty >= 0).all()
    else:
        np.testing.assert_allclose(view.predicted, model.predict(X))
        assert view.fidelity_.output > (-1 if name == "process regressor" else 0.5)


@pytest.fixture(scope="module")
def plane():
    """Two-dimensional rows, where a view must be the model itself."""
    rows, labels = make_blobs(80, 2, centers=3, cluster_std=2.0, random_state=1)
    return SVC().fit(rows, labels), rows, labels


def test_in_a_plane_the_view_is_the_model_and_scikit_learns_picture(plane):
    model, rows, labels = plane
    view = ModelView.from_estimator(model, rows, labels, map=FunctionTransformer(), grid_resolution=30)
    places = np.column_stack([axis.ravel() for axis in np.meshgrid(view.grid.x, view.grid.y)])
    assert (view.classes[view.grid.value.ravel()] == model.predict(places)).all()
    assert view.fidelity_.agreement == 1
    assert view.fidelity_.certainty == pytest.approx(1)
    assert view.fidelity_.off_surface == pytest.approx(0)
    display = DecisionBoundaryDisplay.from_estimator(model, rows, response_method="predict", grid_resolution=40)
    line, column = view.grid.cells(np.column_stack([display.xx0.ravel(), display.xx1.ravel()]))
    inside = (np.abs(display.xx0.ravel() - view.grid.x[column]) < np.diff(view.grid.x)[0] / 2) & (
        np.abs(display.xx1.ravel() - view.grid.y[line]) < np.diff(view.grid.y)[0] / 2
    )
    same = view.classes[view.grid.value[line, column]] == display.response.ravel()
    assert same[inside].mean() > 0.95


def test_a_view_is_frozen_and_travels(plane):
    view = ModelView.from_estimator(*plane, map=PCA(2), grid_resolution=10)
    for array in (view.positions, view.predicted, view.shown, view.truth, view.regions, view.grid.value, view.grid.far):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        view.positions = None
    again = pickle.loads(pickle.dumps(view))
    assert (again.grid.value == view.grid.value).all()
    assert again.fidelity_.agreement == view.fidelity_.agreement


class Memory(TransformerMixin, BaseEstimator):
    """A map that knows the rows it was fitted on and puts all others in one corner."""

    def fit(self, X, y=None):
        self.rows_, self.pca_ = {row.tobytes() for row in X}, PCA(2).fit(X)
        self.corner_ = self.pca_.transform(X).min(axis=0)
        return self

    def transform(self, X):
        known = np.array([row.tobytes() in self.rows_ for row in X])
        return np.where(known[:, None], self.pca_.transform(X), self.corner_)

    def inverse_transform(self, Y):
        return self.pca_.inverse_transform(Y)


def test_fidelity_judges_rows_by_maps_that_never_saw_them():
    view = ModelView.from_estimator(SVC().fit(X, Y), X, Y, map=Memory(), grid_resolution=10)
    assert view.misshown.mean() < 0.1
    assert view.fidelity_.agreement < 0.7
    assert view.fidelity_.n_folds == 5
    assert view.fidelity_.chance == pytest.approx(1 / 3, abs=0.05)
    assert view.cross_validate(3).n_folds == 3


def test_default_map_is_supervised_by_labels_or_by_the_model():
    """A model that sees a direction the labels do not: only a map of its own answers shows it."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(120, 6))
    rows[:, 5] *= 0.3
    model = LinearSVC().fit(rows, rows[:, 5] > 0)
    options = {"map": PrisMap(random_state=0, perplexity=15), "grid_resolution": 20}
    labels = rows[:, 0] > 0
    by_labels = ModelView.from_estimator(model, rows, labels, **options)
    by_model = ModelView.from_estimator(model, rows, labels, supervision_from="model", **options)
    assert by_model.misshown.mean() < 0.15
    assert by_model.misshown.mean() < by_labels.misshown.mean()
    assert set(by_model.times) == {"map", "inverse", "model"}
    one_sided = LinearSVC().fit(rows, rows[:, 5] > 0)
    one_sided.intercept_ += 100
    with pytest.raises(InputError, match="says 'True' of every row"):
        ModelView.from_estimator(one_sided, rows, labels, supervision_from="model")


def test_the_models_scalers_set_the_geometry():
    scales = np.array([1, 1, 1, 1, 1e5])
    model = make_pipeline(StandardScaler(), SVC()).fit(X * scales, Y)
    frame = pd.DataFrame(X * scales, columns=list("abcde"))
    view = ModelView.from_estimator(model, frame, Y, map=None, grid_resolution=10)
    assert [type(step).__name__ for _, step in view.map.steps] == ["FrozenEstimator", "PrisMap"]
    assert view.misshown.mean() < 0.1
    assert view.exemplars.name == "support vector"
    assert len(view.exemplars.rows) == len(model[-1].support_)
    np.testing.assert_allclose(view.exemplars.rows, view.positions[model[-1].support_], atol=1e-6)


def test_the_kind_of_target_is_the_models_not_a_guess():
    """Grades 1, 2, 3 are quantities to a regressor."""
    grades = CODES + 1
    view = ModelView.from_estimator(Ridge().fit(X, grades), X, grades, map=PrisMap(random_state=0, perplexity=10))
    assert view.map.target_ == view.kind == "real"


def test_fitted_maps_and_maps_with_their_own_inverse_are_used_as_they_are():
    som = SOM(grid=(6, 5), random_state=0).fit(X)
    view = ModelView.from_estimator(SVC().fit(X, Y), X, Y, map=som, grid_resolution=12)
    assert view.map is som
    np.testing.assert_allclose(view.positions, som.transform(X))
    places = np.column_stack([axis.ravel() for axis in np.meshgrid(view.grid.x, view.grid.y)])
    expected = SVC().fit(X, Y).predict(som.inverse_transform(places))
    assert (view.classes[view.grid.value.ravel()] == expected).all()


def test_regions_number_the_modes_of_a_class_and_say_where_the_view_errs():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(150, 3)) * [1, 1, 0.2] + np.repeat([[-6, 0, 0], [0, 0, 0], [6, 0, 0]], 50, axis=0)
    y = np.repeat(["red", "blue", "red"], 50)
    view = ModelView.from_estimator(SVC().fit(rows, y), rows, y, map=PCA(2), grid_resolution=80)
    table = {region.name: region for region in view.fidelity_.regions}
    assert {"red (1 of 2)", "red (2 of 2)", "blue"} <= set(table)
    assert abs(sum(region.n_rows for region in table.values()) - 150) == 0
    hidden = ModelView.from_estimator(SVC().fit(rows[:, ::-1], y), rows[:, ::-1], y, map=Hide(), grid_resolution=80)
    worst = max(hidden.fidelity_.regions, key=lambda region: region.wrong)
    assert worst.wrong > 0.3
    assert worst.mistake in ("red shown as blue", "blue shown as red")
    assert "wrong" in hidden.fidelity_.table()
    assert hidden.fidelity_.to_dict()["regions"][0]["n_rows"] == hidden.fidelity_.regions[0].n_rows


class Hide(PCA):
    """Leaves out the column that matters, the last one."""

    def fit(self, X, y=None):
        return super().fit(X * [1, 1, 0])

    def transform(self, X):
        return super().transform(X * [1, 1, 0])[:, :2]

    def inverse_transform(self, Y):
        return super().inverse_transform(np.column_stack([Y, np.zeros(len(Y))]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"supervision_from": "y"}, "supervision_from must be 'labels' or 'model'; got 'y'"),
        ({"grid_resolution": 1}, "grid_resolution must be a whole number from 2; got 1"),
        ({"map": PCA(3)}, "map must place rows in two dimensions"),
        ({"map": "tsne"}, "map must be a PrisMap or another 2-D transformer with fit and transform; got str"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InputError, match=message):
        ModelView.from_estimator(SVC().fit(X, Y), X, Y, **options)


def test_rows_are_checked():
    model = SVC().fit(X, Y)
    with pytest.raises(InputError, match="X has 5 rows; a view needs at least 10"):
        ModelView.from_estimator(model, X[:5], Y[:5])
    with pytest.raises(InputError, match="1 missing or infinite values"):
        ModelView.from_estimator(model, np.where(np.arange(450).reshape(90, 5) == 7, np.nan, X), Y)
    with pytest.raises(InputError, match="y has 3 entries and X has 90 rows"):
        ModelView.from_estimator(model, X, Y[:3])


@pytest.mark.parametrize("model", [SVC(), LogisticRegression()])
def test_two_classes_are_compared_with_the_sign_of_the_decision(model):
    two = CODES > 0
    model = model.fit(X, two)
    view = ModelView.from_estimator(model, X, two, map=PCA(2), grid_resolution=20)
    found = view.cross_validate(3)
    behind, _ = cross_validate(PCA(2), VectorData(model, X, two, PCA(2), "auto"), two, n_folds=3)
    values = model.decision_function if isinstance(model, SVC) else lambda rows: 2 * model.predict_proba(rows)[:, 1] - 1
    assert found.signed_certainty == pytest.approx(signed_certainty_reference(values(X), values(behind)))
    assert found.spread["signed_certainty"] < 0.2
    assert ModelView.from_estimator(SVC().fit(X, Y), X, Y, map=PCA(2)).cross_validate(2).signed_certainty is None
