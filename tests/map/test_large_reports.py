"""The verdict of a large map comes from samples: no matrix of all pairs, and no comparison of maps of unequal size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from large_maps import count_as_large
from prismap import PrisMap
from prismap.judging._refits import Comparison, Judged
from prismap.judging._scores import judged_scores
from prismap.metrics import FisherMetric
from prismap.metrics._geometry import VectorMetric
from prismap.quality import _distances as distances
from prismap.quality import knn_error, r_nx
from prismap.target import make_target

X, Y_TRUE = make_blobs(500, 4, centers=4, cluster_std=4.0, random_state=0)


@pytest.mark.parametrize("supervision", [0.0, 0.8])
def test_curves_of_many_fitted_rows_need_no_matrix_of_all_pairs(monkeypatch, supervision):
    metric = FisherMetric(supervision=supervision, random_state=0).fit(X, Y_TRUE)
    at_once = r_nx(None, X[:, :2], metric=metric, n_samples=60, random_state=0)
    monkeypatch.setattr(distances, "FEW_FITTED", 100)
    monkeypatch.setattr(FisherMetric, "pairwise", None)
    monkeypatch.setattr(VectorMetric, "pairwise", None)
    in_blocks = r_nx(None, X[:, :2], metric=metric, n_samples=60, random_state=0)
    np.testing.assert_allclose(np.asarray(in_blocks), np.asarray(at_once), atol=1e-3)  # ties in single precision


@pytest.fixture(scope="module")
def large():
    """A map of more rows than all distances have room for, as it is judged."""
    from prismap.judging import _refits as refits

    with pytest.MonkeyPatch.context() as patch:
        count_as_large(patch, 300, n_landmarks=80)
        patch.setattr(refits, "MOST_KEPT", 150)
        patch.setattr(distances, "FEW_FITTED", 300)
        model = PrisMap(random_state=0, perplexity=10).fit(X, Y_TRUE)
        yield model, model.report()


def test_errors_inside_and_outside_are_of_maps_of_one_size(large):
    model, report = large
    judged = model.judgement_.comparison.on_map
    assert [len(case.fitted_positions) for case in judged] == [150] * len(judged)
    inside = np.mean([knn_error(case.fitted_positions, case.fitted_target.values, n_neighbors=10) for case in judged])
    score = report.scores[0]
    assert score.name == "10-NN error"
    assert float(score.in_sample) == pytest.approx(float(inside))
    assert float(score.in_sample) != pytest.approx(float(knn_error(model.embedding_, Y_TRUE, n_neighbors=10)))
    assert "by cross-validation with maps of 150 rows" in report.verdict


def test_a_map_that_was_judged_as_a_whole_has_its_own_error_inside():
    rng = np.random.default_rng(0)
    positions, y = rng.normal(size=(60, 2)), rng.integers(0, 2, size=60)
    target = make_target(y, 60)
    judged = (Judged(rng.normal(size=(20, 2)), target.take(slice(20)), positions[20:40], target.take(slice(20, 40))),)
    comparison = Comparison(on_map=judged, on_permuted=judged, folded=True)
    whole, _ = judged_scores(positions, target, comparison)
    small, _ = judged_scores(positions, target, replace(comparison, small_maps=True))
    assert float(whole[0].in_sample) == pytest.approx(float(knn_error(positions, y, n_neighbors=None)))
    assert float(small[0].in_sample) == pytest.approx(float(knn_error(positions[20:40], y[20:40], n_neighbors=None)))
