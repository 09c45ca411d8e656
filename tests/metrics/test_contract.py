"""A metric that writes `fit` and `pairwise` only, as docs/extending.md shows it, works everywhere a metric does."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from large_maps import count_as_large
from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.metrics import Metric
from prismap.neighbors import kneighbors

X, CLASSES = make_blobs(400, 4, centers=3, cluster_std=3.0, random_state=0)


class WeightedMetric(Metric):
    """The example of docs/extending.md: columns weighted by their correlation with the target."""

    def fit(self, X, y=None):
        X = self.keep(X)
        self.weights_ = np.abs([np.corrcoef(column, y)[0, 1] for column in X.T])
        return self

    def pairwise(self, A=None, B=None):
        A = (self.rows_ if A is None else np.asarray(A)) * self.weights_
        B = (self.rows_ if B is None else np.asarray(B)) * self.weights_
        return np.sqrt(np.maximum((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T, 0))


@pytest.fixture
def small_is_large(monkeypatch):
    """200 rows are a large map, carried by 80 landmarks."""
    count_as_large(monkeypatch, 200, n_landmarks=80)


def test_what_the_base_class_adds_agrees_with_pairwise():
    metric = WeightedMetric().fit(X, CLASSES)
    D = metric.pairwise()
    np.testing.assert_allclose(metric.between(np.arange(5), np.arange(400)), D[:5])
    distances, indices = metric.kneighbors(None, 7)
    np.fill_diagonal(D, np.inf)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :7])
    assert not (indices == np.arange(400)[:, None]).any()
    anchors = np.array([3, 50, 311])
    np.testing.assert_allclose(
        metric.to_anchors(anchors).see(X[:9] + 1).distances, metric.pairwise(X[:9] + 1, X[anchors])
    )


def test_neighbours_are_searched_without_all_pairs():
    metric = WeightedMetric().fit(X, CLASSES)
    found = kneighbors(None, 5, metric=metric, method="partition", random_state=0)
    assert found.recall > 0.9


def test_it_makes_a_large_map(small_is_large):
    model = PrisMap(TSNE(max_iter=100, perplexity=10), metric=WeightedMetric(), perplexity=10, random_state=0)
    model.fit(X, CLASSES)
    assert model.map_.is_large
    assert len(model.map_.anchors) == 80
    np.testing.assert_array_equal(model.transform(X), model.embedding_)
    new = X[:60] + 0.01
    Y, spread = model.transform(new), np.ptp(model.embedding_, axis=0).max()
    alone = np.vstack([model.transform(new[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(alone, Y[:5], atol=1e-5 * spread)
    # 80 landmarks are few, so the projection is coarse, but it must keep most neighbourhoods.
    gap = np.linalg.norm(Y - model.embedding_[:60], axis=1)
    assert np.median(gap) < 0.1 * spread
    report = model.report(n_permutations=1, budget="quick")
    assert any("landmarks" in note for note in report.notes)
    assert model.is_far(X[:3] + 100).all()
