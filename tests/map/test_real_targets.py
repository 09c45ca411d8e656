"""Several real targets on one map."""

import numpy as np
import pytest

from prismap import PrisMap
from prismap.exceptions import InputError
from prismap.quality import knn_nrmse
from prismap.quality._errors import errors_of
from prismap.target import make_target


@pytest.fixture(scope="module")
def two_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 4))
    return X, np.column_stack([X[:, 0] + 0.1 * rng.normal(size=250), 100 * X[:, 1] ** 2])


def test_several_real_targets_make_one_map(two_targets, tmp_path):
    X, Y = two_targets
    Y = Y.copy()
    Y[3, 1] = np.nan
    m = PrisMap(method="mds", supervision=0.8, perplexity=8, fit_rows=45, random_state=0).fit(X, Y)
    assert m.target_ == "real"
    assert m.metric_.target_moments()[0].shape == (45, 2)
    assert m.map_.given.target.labelled.sum() == 249
    np.testing.assert_array_equal(m.map_.given.target.shown.values, np.where(np.arange(250) == 3, np.nan, Y[:, 0]))
    report = m.report(n_permutations=1)
    assert report.scores[0].name == "mean rank error of 2 targets"
    assert float(report.scores[0].value) < report.scores[0].permuted.mean
    assert len(m.plot().figure.axes) == 2  # the map and its colour bar
    m.save(tmp_path / "two.prismap")
    np.testing.assert_array_equal(PrisMap.load(tmp_path / "two.prismap").transform(X[:5] + 1), m.transform(X[:5] + 1))


def test_the_error_of_several_targets_is_the_mean_of_theirs(two_targets):
    X, Y = two_targets
    target = make_target(Y, len(Y))
    error = next(one for one in errors_of(target) if one.name == "mean nRMSE of 2 targets")
    found = error.measure(X[:10], target.take(slice(10)), X[10:], target.take(slice(10, None)))
    parts = [knn_nrmse(X[:10], Y[:10, j], Y_fit=X[10:], y_fit=Y[10:, j]) for j in range(2)]
    assert float(found) == pytest.approx(np.mean([float(part) for part in parts]))
    assert found.spread == pytest.approx(np.mean([part.spread for part in parts]))


def test_a_constant_column_of_classes_is_refused(two_targets):
    X, _ = two_targets
    with pytest.raises(InputError, match="the target 'target 1': y holds only one class"):
        PrisMap(target="class").fit(X, np.ones((250, 2)))
    with pytest.raises(InputError, match="y holds only one class"):
        PrisMap().fit(X, np.full((250, 2), "a"))
