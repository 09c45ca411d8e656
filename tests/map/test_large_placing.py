"""Projection onto large maps whose posterior is that of local supports: searched, against a pass over all rows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from large_maps import count_as_large
from prismap import PrisMap
from prismap.embeddings import TSNE
from prismap.map import _cells as cells
from prismap.metrics import FisherMetric
from prismap.metrics import _vector_search as vector_search
from prismap.metrics.posteriors import _base as base
from prismap.metrics.posteriors._local_parzen import PassedNearest, SearchedNearest

X, CLASSES = make_blobs(1500, 5, centers=12, cluster_std=2.0, random_state=0)
CLASSES = np.where(np.arange(1500) % 6 == 0, None, (CLASSES % 3).astype(object))
FITTED, NEW = X[:1300], X[1300:]


@pytest.fixture(scope="module")
def model():
    with pytest.MonkeyPatch.context() as patch:
        count_as_large(patch, 400, n_landmarks=100)
        patch.setattr(base, "MOST_SUPPORT", 200)
        patch.setattr(vector_search, "MOST_COMPARED", 150)
        metric = FisherMetric(posterior="parzen", perplexity=10)
        options = {"metric": metric, "supervision": 0.8, "perplexity": 10, "random_state": 0}
        yield PrisMap(TSNE(max_iter=60, perplexity=10), **options).fit(FITTED, CLASSES[:1300])


def test_the_nearest_rows_decide_and_are_searched(model):
    assert model.metric_.posterior_.name == "parzen"
    assert model.map_.is_large
    assert model.map_.cells.search.cells.n_cells > 0
    assert model.map_.map_anchors.metric.posterior_.labelled is model.metric_.posterior_.labelled
    assert isinstance(model.metric_.posterior_.labelled.nearest, SearchedNearest)


def test_votes_measure_no_distances_between_landmarks(model):
    assert len(model.map_.mapping.embedding_) == len(model.map_.anchors) == 100
    assert not hasattr(model.map_.mapping, "metric_")


def test_a_row_gets_the_same_bits_alone_and_in_any_company(model):
    together = model.transform(NEW)
    alone = np.vstack([model.transform(NEW[i : i + 1]) for i in range(0, 200, 9)])
    np.testing.assert_array_equal(alone, together[::9])
    np.testing.assert_array_equal(model.transform(np.asfortranarray(NEW[::-1]))[::-1], together)
    company = np.vstack([NEW[:20], np.full((1, 5), 1e7)])
    np.testing.assert_array_equal(model.transform(company)[:20], together[:20])


def test_rows_with_missing_values_change_nothing_for_others(model, monkeypatch):
    holed = np.where(np.arange(5) == 2, np.nan, NEW[20:25])
    by_landmarks, in_cells = [], cells.Cells._in_cells
    monkeypatch.setattr(cells.Cells, "_in_cells", lambda self, D: by_landmarks.append(len(D)) or in_cells(self, D))
    mixed = model.transform(np.vstack([NEW[:10], holed, NEW[10:20]]))
    assert by_landmarks == [5]  # the others are searched
    np.testing.assert_array_equal(np.delete(mixed, np.arange(10, 15), axis=0), model.transform(NEW[:20]))
    np.testing.assert_array_equal(mixed[10:15], model.transform(holed))
    distances = model.distance_to_data(np.vstack([NEW[:20], holed]))
    np.testing.assert_array_equal(distances[:20], model.distance_to_data(NEW[:20]))


def test_a_row_that_equals_a_fitted_one_gets_its_position(model):
    np.testing.assert_array_equal(model.transform(FITTED), model.embedding_)
    assert not model.distance_to_data(FITTED[:50]).any()


def test_a_loaded_map_gives_the_same_bits(model, tmp_path):
    model.save(tmp_path / "m.prismap")
    again = PrisMap.load(tmp_path / "m.prismap")
    np.testing.assert_array_equal(again.transform(NEW), model.transform(NEW))
    # Distances between fitted rows are not asked for by placing, and what they need is not made.
    assert "rows" not in vars(again.metric_.posterior_)
    np.testing.assert_allclose(again.metric_.pairwise(NEW[:3]), model.metric_.pairwise(NEW[:3]))


def test_a_map_is_pickled_with_its_cells(model):
    together = model.transform(NEW)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).transform(NEW), together)


def exact_find(self, rows, n_neighbors):
    """The slow twin of `VectorSearch.find`."""
    every = self.rows_at(slice(None))
    D2 = np.square(np.asarray(rows)[:, None] - every[None]).sum(axis=2)
    return np.sort(np.argsort(D2, axis=1, kind="stable")[:, :n_neighbors], axis=1)


def test_positions_are_nearly_those_of_a_pass_over_all_rows(model, monkeypatch):
    found, far = model.transform(NEW), model.distance_to_data(NEW)
    P = model.metric_.class_probabilities(NEW)
    monkeypatch.setattr(vector_search.VectorSearch, "find", exact_find)
    same = np.linalg.norm(found - model.transform(NEW), axis=1) <= 0.02 * np.ptp(model.embedding_)
    assert same.mean() > 0.97
    np.testing.assert_allclose(far, model.distance_to_data(NEW), atol=0.2)
    assert np.abs(P - model.metric_.class_probabilities(NEW)).mean() < 2e-3


def test_the_searched_coordinates_order_rows_as_the_metric_does(model):
    parts = model.map_
    seen = parts.map_anchors.see(NEW[:40], parts.data_anchors.see(NEW[:40]))
    every = parts.cells.search.rows_at(slice(None))
    straight = np.sqrt(np.square(seen.coordinates[:, None] - every[None]).sum(axis=2))
    D = seen.among(np.broadcast_to(np.arange(1300), (40, 1300)))
    assert (straight <= D * (1 + 1e-4)).all()
    assert (straight >= D * 0.89).all()
    candidates = parts.cells.search.find(seen.coordinates, 48)
    nearest = np.argsort(D, axis=1)[:, :5]
    assert np.mean([np.isin(a, b).mean() for a, b in zip(nearest, candidates, strict=True)]) > 0.97


def test_rows_of_one_posterior_are_not_one_point_where_the_target_is_all_that_counts(model):
    pure = FisherMetric(posterior="parzen", perplexity=10, supervision=1.0, random_state=0)
    pure.fit(FITTED, CLASSES[:1300])
    assert pure.cheaper() is not pure
    assert pure.placing() is pure
    assert model.metric_.placing() is not model.metric_


def test_the_posterior_by_a_pass_is_the_reference(model):
    judged = model.metric_.posterior_.labelled
    squared, near = judged.nearest.find(NEW, judged.n_neighbors)
    slow, exact = PassedNearest(judged.nearest.data, judged.nearest.columns).find(NEW, judged.n_neighbors)
    assert np.mean([np.isin(a, b).mean() for a, b in zip(exact, near, strict=True)]) > 0.95
    assert (squared[:, 0] <= slow[:, 0] * (1 + 1e-9)).mean() > 0.98
