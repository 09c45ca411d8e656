"""`PrisMap.score`: held-out figures by which scikit-learn chooses parameters."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from prismap import PrisMap
from prismap.exceptions import InputError

OPTIONS = {"random_state": 0, "method": "mds", "perplexity": 8}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 30)
    return rng.normal(size=(90, 4)) + 2.5 * np.eye(3, 4)[np.repeat(range(3), 30)], y


def test_classes_by_ten_neighbours(rows):
    X, y = rows
    fit, new = np.arange(90) % 3 > 0, np.arange(90) % 3 == 0
    m = PrisMap(**OPTIONS).fit(X[fit], y[fit])
    twin = KNeighborsClassifier(10).fit(m.embedding_, y[fit]).predict(m.transform(X[new])) == y[new]
    assert m.score(X[new], y[new]) == pytest.approx(twin.mean(), abs=0.04)  # votes that tie are shared here
    assert 0.4 < m.score(X[new], y[new]) < 1


def test_real_targets_by_r2(rows):
    X, _ = rows
    y = X[:, 0] + 0.1 * X[:, 1]
    m = PrisMap(**OPTIONS, supervision=0.0).fit(X[30:], y[30:])
    near = KNeighborsRegressor(10, weights="distance").fit(m.embedding_, y[30:])
    assert m.score(X[:30], y[:30]) == pytest.approx(near.score(m.transform(X[:30]), y[:30]), abs=1e-9)


def test_what_fit_takes_beside_rows_is_routed_through_a_pipeline(rows):
    X, y = rows
    seen = []
    with config_context(enable_metadata_routing=True):
        m = PrisMap(random_state=0, perplexity=8, supervision=0.8).set_fit_request(callback=True)
        flow = make_pipeline(StandardScaler(), m)
        flow.fit(X, y, callback=lambda iteration, *_: seen.append(iteration))
        assert seen[:2] == [50, 100]
        with pytest.raises(UnsetMetadataPassedError, match="checkpoint"):  # which was not requested
            flow.fit(X, y, checkpoint="folder")


def test_grid_search_works_alone_and_in_a_pipeline(rows):
    X, y = rows
    search = GridSearchCV(PrisMap(**OPTIONS), {"supervision": [0.0, 0.8]}, cv=2, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    pipeline = make_pipeline(StandardScaler(), PrisMap(**OPTIONS)).set_output(transform="pandas").fit(X, y)
    assert list(pipeline.transform(X[:2]).columns) == ["prismap0", "prismap1"]
    assert pipeline.score(X, y) > 0.5


def test_a_loaded_map_scores_alike(rows, tmp_path):
    X, y = rows
    for target in (y, np.where(np.arange(90) % 9 == 0, None, y), X[:, 0]):
        m = PrisMap(**OPTIONS).fit(X[30:], target[30:])
        m.save(tmp_path / "m.prismap")
        assert PrisMap.load(tmp_path / "m.prismap").score(X[:30], target[:30]) == m.score(X[:30], target[:30])


def test_what_cannot_be_scored_is_said(rows):
    X, y = rows
    with pytest.raises(InputError, match="fitted with a target"):
        PrisMap(**OPTIONS).fit(X).score(X, y)
    with pytest.raises(InputError, match="pass y"):
        PrisMap(**OPTIONS).fit(X, y).score(X)
