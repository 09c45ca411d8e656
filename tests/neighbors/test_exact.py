"""One contract for neighbours, whatever the metric."""

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.metrics import FisherMetric, PrecomputedMetric, fit_metric
from prismap.neighbors import kneighbors

X = np.random.default_rng(0).normal(size=(40, 3))
y = (X[:, 0] > 0).astype(int)
D = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize(("rows", "metric"), [(X, "euclidean"), (D, "precomputed")])
def test_neighbors_equal_sorted_distances(rows, metric):
    distances, indices = kneighbors(rows, 5, metric=metric)
    off = D + np.diag(np.full(40, np.inf))
    np.testing.assert_allclose(distances, np.sort(off, axis=1)[:, :5])
    np.testing.assert_array_equal(indices, np.argsort(off, axis=1)[:, :5])


def test_new_rows_may_find_themselves():
    distances, indices = kneighbors(X, 1, queries=X[:4])
    np.testing.assert_allclose(distances, 0, atol=1e-7)
    np.testing.assert_array_equal(indices.ravel(), range(4))


def test_fitted_and_unfitted_metric_objects_agree():
    metric = FisherMetric(perplexity=5, random_state=0)
    fitted = metric.fit(X, y)
    for one, two in zip(kneighbors(X, 4, metric=metric, y=y), kneighbors(None, 4, metric=fitted), strict=True):
        np.testing.assert_array_equal(one, two)


def test_distances_that_are_known_to_be_right_are_not_looked_at_again(monkeypatch):
    ready = PrecomputedMetric.of(D)
    for one, two in zip(kneighbors(D, 4, metric="precomputed"), kneighbors(None, 4, metric=ready), strict=True):
        np.testing.assert_array_equal(one, two)
    assert ready.n_rows_ == ready.n_features_in_ == 40
    other = D.copy()
    assert fit_metric(ready, other) is not ready
    with pytest.raises(InputError, match="symmetric"):
        fit_metric(ready, np.triu(D))
    monkeypatch.setattr("prismap.metrics._base.check_dissimilarity", None)
    assert fit_metric(ready, D) is ready


def test_bad_questions_are_named():
    with pytest.raises(InputError, match="method must be one of"):
        kneighbors(X, 3, method="magic")
    with pytest.raises(InputError, match="X is missing"):
        kneighbors(None, 3)
    with pytest.raises(InputError, match="n_neighbors must lie between 1 and 39"):
        kneighbors(X, 40)
    with pytest.raises(InputError, match="is not known"):
        kneighbors(X, 3, metric="taxi")
    with pytest.raises(InputError, match="subclass of prismap.metrics.Metric"):
        kneighbors(X, 3, metric=3)
