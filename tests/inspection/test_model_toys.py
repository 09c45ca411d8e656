"""Claims of thesis 3.5 and 3.6 on sets with known truth; the slower ones are in experiments/table_e.py."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeRegressor

from prismap import PrisMap
from prismap.inspection import ModelView
from prismap.inspection._model_view import region_values
from prismap.metrics import FisherMetric

PATH = Path(__file__).parents[2] / "experiments" / "toys.py"
spec = importlib.util.spec_from_file_location("toys", PATH)
toys = importlib.util.module_from_spec(spec)
spec.loader.exec_module(toys)


@pytest.mark.parametrize(("gamma", "C", "kept"), [(20.0, 100.0, True), (0.3, 1.0, False)])
def test_set_1_shows_whether_a_machine_keeps_the_outlier(gamma, C, kept):
    X, y = toys.plate_in_ring()
    view = ModelView.from_estimator(SVC(gamma=gamma, C=C).fit(X, y), X, y, map=PCA(2), grid_resolution=60)
    astray = len(y) // 2 - 1
    assert (view.predicted[astray] == view.truth[astray]) == kept
    line, column = view.grid.cells(view.positions[[astray]])
    assert (view.grid.value[line, column] == view.truth[astray]) == kept  # and so does the picture
    assert view.fidelity_.agreement > 0.97
    assert view.fidelity_.certainty > 0.97


@pytest.fixture(scope="module")
def discs():
    X, y = toys.three_discs()
    return SVC(gamma=1.0, C=100).fit(X, y), X, y


def test_set_2_is_hidden_by_pca(discs):
    view = ModelView.from_estimator(*discs, map=PCA(2), grid_resolution=60)
    assert view.fidelity_.agreement < 0.75


@pytest.mark.parametrize(
    "recipe",
    [
        PrisMap(target="none", random_state=0),
        PrisMap("som", metric=FisherMetric(posterior="parzen"), supervision=1.0, random_state=0),
    ],
    ids=["t-SNE", "Fisher SOM"],
)
def test_set_2_is_shown_with_two_modes_of_class_1_by(discs, recipe):
    view = ModelView.from_estimator(*discs, map=recipe, grid_resolution=60)
    assert view.misshown.mean() < 0.05
    assert sorted(view.classes[int(code)] for code in region_values(view)) == [1, 1, 2]


class FirstTwo(TransformerMixin, BaseEstimator):
    """The two dimensions that the target depends on."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X[:, :2]

    def inverse_transform(self, Y):
        return np.column_stack([Y, np.zeros(len(Y))])


def test_regression_set_2_shows_steps_of_a_tree_and_smoothness_of_a_machine():
    X, y = toys.two_clouds()
    tree, smooth = DecisionTreeRegressor(min_samples_split=10, random_state=0).fit(X, y), SVR(C=30, gamma=1.0).fit(X, y)
    steps = {}
    for name, model in (("tree", tree), ("smooth", smooth)):
        view = ModelView.from_estimator(model, X, y, map=FirstTwo(), grid_resolution=120)
        change = np.abs(np.diff(view.grid.value, axis=1)) / np.ptp(view.grid.value)
        steps[name] = change.max(), np.mean(change == 0)
        assert view.fidelity_.output > (0.97 if name == "smooth" else 0.85)
    assert steps["tree"][0] > 5 * steps["smooth"][0]
    assert steps["tree"][1] > 0.5 > 0.01 > steps["smooth"][1]
    assert abs(tree.predict(X[[-1]])[0] - y[-1]) < abs(smooth.predict(X[[-1]])[0] - y[-1])
