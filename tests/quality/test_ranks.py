from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances

from prismap.exceptions import InputError
from prismap.metrics import NamedMetric, PrecomputedMetric
from prismap.quality import auc_log_k, local_quality, q_local, q_nx, r_nx
from prismap.quality._distances import distance_rows
from prismap.quality._ranks import kept_shares, nearest_first, rank_counts
from reference.ranks_reference import (
    auc_log_k_reference,
    coranking_matrix,
    distances_reference,
    q_local_reference,
    q_nx_reference,
    r_nx_reference,
    rank_matrix,
)


def some_map(n=40, n_columns=6, noise=0.5, seed=0):
    """Rows and a map of them that keeps part of their neighbourhoods."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns))
    return X, X[:, :2] + noise * rng.normal(size=(n, 2))


def reference_matrix(X, Y):
    order = np.argsort(np.random.default_rng(0).permutation(len(X)))
    return coranking_matrix(rank_matrix(distances_reference(X), order), rank_matrix(distances_reference(Y), order))


@pytest.mark.parametrize("n_columns", [3, 12])
@pytest.mark.parametrize("n", [3, 4, 41])
def test_measures_equal_the_coranking_matrix(n, n_columns):
    X, Y = some_map(n, n_columns)
    q = reference_matrix(X, Y)
    np.testing.assert_allclose(q_nx(X, Y).value, q_nx_reference(q), rtol=1e-13)
    np.testing.assert_allclose(r_nx(X, Y).value, r_nx_reference(q), rtol=1e-12, atol=1e-13)
    assert auc_log_k(X, Y) == pytest.approx(auc_log_k_reference(q), abs=1e-13)
    expected, k_max = q_local_reference(q)
    assert q_local(X, Y) == pytest.approx(expected, abs=1e-13)
    assert q_nx(X, Y).k_max == k_max


def test_ties_are_ranked_by_the_same_order_on_both_sides():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(35, 2)).astype(float)  # a grid: nearly every distance is tied
    Y = rng.integers(0, 2, size=(35, 2)).astype(float)
    q = reference_matrix(X, Y)
    np.testing.assert_allclose(q_nx(X, Y).value, q_nx_reference(q), rtol=1e-13)
    np.testing.assert_array_equal(q_nx(X, Y).value, q_nx(Y, X).value)


def test_one_size_equals_that_point_of_the_curve():
    rng = np.random.default_rng(2)
    for X, Y in (some_map(60), (rng.integers(0, 3, (60, 3)).astype(float), rng.integers(0, 2, (60, 2)).astype(float))):
        for measure in (q_nx, r_nx):
            curve = measure(X, Y)
            for k in (1, 7, 58):
                assert measure(X, Y, n_neighbors=k) == pytest.approx(curve.value[k - 1], abs=1e-12)
            np.testing.assert_allclose(measure(X, Y, n_neighbors=[7, 3]).value, curve.value[[6, 2]])
        shares = local_quality(X, Y, n_neighbors=7)
        assert shares.shape == (60,)
        assert shares.mean() == pytest.approx(q_nx(X, Y).value[6], abs=1e-12)


def test_local_quality_counts_kept_neighbours_row_by_row():
    X, Y = some_map(30)
    near_x, near_y = (np.argsort(cdist(A, A), axis=1)[:, 1:6] for A in (X, Y))
    expected = [len(set(a) & set(b)) / 5 for a, b in zip(near_x, near_y, strict=True)]
    np.testing.assert_allclose(local_quality(X, Y, n_neighbors=5), expected)


@pytest.mark.parametrize("n_columns", [2, 20])
def test_a_perfect_map_scores_one_even_with_duplicates(n_columns):
    X, _ = some_map(50, n_columns)
    X = np.vstack([X, X[:20], X[:5]]) + 1000.0  # far from the origin, where products lose digits
    curve = r_nx(X, X)
    np.testing.assert_allclose(curve.value, 1.0, rtol=1e-14)
    assert curve.auc_log_k == pytest.approx(1.0, abs=1e-14)
    assert curve.q_local == pytest.approx(1.0, abs=1e-14)


def test_duplicates_lie_at_distance_zero_however_distances_are_made():
    X = np.random.default_rng(0).normal(size=(50, 30)) * 7 + 300.0
    D = distance_rows(np.vstack([X, X])).block(np.arange(50))
    np.testing.assert_array_equal(np.diag(D[:, 50:]), 0.0)
    np.testing.assert_allclose(D[:, :50], cdist(X, X), rtol=1e-9)


def test_a_random_map_scores_near_zero():
    rng = np.random.default_rng(0)
    areas = [auc_log_k(rng.normal(size=(200, 5)), rng.normal(size=(200, 2))) for _ in range(20)]
    assert abs(np.mean(areas)) < 4 * np.std(areas) / np.sqrt(20)
    assert np.max(np.abs(areas)) < 0.03


def test_a_collapsed_map_scores_as_chance_however_rows_are_sorted():
    areas = []
    for seed in range(10):
        X = np.random.default_rng(seed).normal(size=(300, 1))
        same_place = np.zeros((300, 2))
        areas.append([auc_log_k(X, same_place), auc_log_k(np.sort(X, axis=0), same_place)])
    assert np.abs(np.mean(areas, axis=0)).max() < 0.01


def test_rotation_scale_and_row_order_change_nothing():
    X, Y = some_map(80, 12)
    rng = np.random.default_rng(3)
    turn = np.linalg.qr(rng.normal(size=(12, 12)))[0]
    rows = rng.permutation(80)
    expected = q_nx(X, Y).value
    np.testing.assert_allclose(q_nx(X @ turn * 7 - 3, Y[:, ::-1] * 0.01 + 5).value, expected, atol=1e-14)
    np.testing.assert_allclose(q_nx(X[rows], Y[rows]).value, expected, atol=1e-14)
    np.testing.assert_allclose(q_nx(X * 1e-100, Y * 1e150).value, expected, atol=1e-14)


def test_rounding_breaks_no_ties():
    grid = np.array([[a, b] for a in range(6) for b in range(6)], dtype=float)
    turned = (grid + [123.456, 0.1]) @ np.array([[0.6, 0.8], [-0.8, 0.6]]) * 0.7
    wide = np.hstack([turned, np.zeros((36, 10))])
    for X in (turned, wide):
        np.testing.assert_allclose(q_nx(X, grid).value, 1.0, rtol=1e-14)


def test_rows_distances_and_metric_objects_agree():
    X, Y = some_map(50, 12)
    metric = NamedMetric("cityblock").fit(X)
    D = pairwise_distances(X, metric="cityblock")
    expected = q_nx(X, Y, metric="cityblock").value
    single = PrecomputedMetric().fit(D.astype(np.float32))
    for source, how in ((D, "precomputed"), (None, metric), (X, metric), (None, single)):
        np.testing.assert_allclose(q_nx(source, Y, metric=how).value, expected, atol=1e-14)
    np.testing.assert_allclose(q_nx(D + np.eye(50) * 1e-9, Y, metric="precomputed").value, expected, atol=1e-14)
    np.testing.assert_array_equal(D, pairwise_distances(X, metric="cityblock"))  # the caller's matrix is untouched


@pytest.mark.parametrize("budget", [1, 40 * 60 * 7, 10**9])
def test_blocks_of_any_size_give_the_same(budget):
    X, Y = some_map(60, 12)
    x, y, rows = distance_rows(X), distance_rows(Y), np.arange(60)
    for found, expected in zip(rank_counts(x, y, rows, budget), rank_counts(x, y, rows), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(kept_shares(x, y, rows, 5, budget), kept_shares(x, y, rows, 5))


def test_rows_that_cost_less_together_are_measured_together():
    X, Y = some_map(60, 12)
    x, y, rows = distance_rows(X), distance_rows(Y), np.arange(60)
    asked = []
    slow = replace(x, block=lambda some: asked.append(len(some)) or x.block(some), together=25)
    np.testing.assert_array_equal(rank_counts(slow, y, rows, 1)[0], rank_counts(x, y, rows)[0])
    assert asked == [25, 25, 10]


def test_a_sample_agrees_with_all_rows_within_its_spread():
    X, Y = some_map(600, 5)
    full = r_nx(X, Y)
    off = []
    for seed in range(20):
        part = r_nx(X, Y, n_samples=150, random_state=seed)
        assert (part.n_rows, part.n_samples) == (600, 150)
        off.append((part.auc_log_k - full.auc_log_k) / part.auc_log_k.spread)
        off.append((part.q_local - full.q_local) / part.q_local.spread)
        off.append((part.value[9] - full.value[9]) / part.spread[9])
    # The spread is a standard error; a quarter of the rows without replacement makes the true one sqrt(3/4) of it.
    assert np.mean(np.square(off)) < 1.6
    assert np.max(np.abs(off)) < 4.5


def test_the_same_seed_gives_the_same_sample_and_a_spread_that_shrinks():
    X, Y = some_map(500)
    first, again, other = (auc_log_k(X, Y, n_samples=60, random_state=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert auc_log_k(X, Y).spread < first.spread


def test_many_rows_are_sampled_by_themselves(monkeypatch):
    X, Y = some_map(300)
    monkeypatch.setattr("prismap.quality._ranks.MOST_PAIRS", 300 * 100)
    monkeypatch.setattr("prismap.quality._ranks.FEWEST_ROWS", 20)
    assert r_nx(X, Y, random_state=0).n_samples == 100
    assert r_nx(X, Y, n_samples=300).n_samples == 300
    assert "100 sampled rows" in str(r_nx(X, Y, random_state=0))


@pytest.mark.parametrize(
    "d",
    [
        np.random.default_rng(0).random(1000),
        np.r_[np.random.default_rng(0).random(1000), 1e12],  # an outlier that the fixed-point copy cannot span
        np.random.default_rng(0).integers(0, 5, 1000).astype(float),
        np.zeros(5),
        np.full(4, 1e-300),
        np.array([3.0]),
    ],
)
def test_nearest_first_is_a_stable_sort(d):
    np.testing.assert_array_equal(nearest_first(d, d.max()), np.argsort(d, kind="stable"))


def test_a_curve_is_thinned_stored_and_used_as_an_array():
    curve = r_nx(*some_map(300))
    thin = curve.thin(20)
    assert thin.k[0] == 1
    assert thin.k[-1] == 298
    assert 10 < len(thin) <= 20
    assert thin.thin(20) is thin
    np.testing.assert_array_equal(thin.value, curve.value[thin.k - 1])
    back = type(curve).from_dict(thin.to_dict())
    assert back.to_dict() == thin.to_dict()
    assert back.auc_log_k.spread == curve.auc_log_k.spread
    np.testing.assert_array_equal(np.asarray(curve), curve.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.zeros((5, 3))}, "X has 5 rows and Y has 20"),
        ({"X": np.full((20, 3), np.nan)}, "X contains NaN"),
        ({"Y": np.full((20, 2), np.inf)}, "Y contains infinity"),
        ({"X": np.zeros((2, 3)), "Y": np.zeros((2, 2))}, "at least 3"),
        ({"X": None}, "X is None"),
        ({"metric": "nonsense"}, "metric='nonsense' is not known"),
        ({"metric": "precomputed"}, "must be a square matrix"),
        ({"X": np.ones((20, 20)), "metric": "precomputed"}, "Are these similarities"),
        ({"X": np.eye(20) - 1, "metric": "precomputed"}, "the smallest entry is -1"),
        ({"metric": 3}, "metric must be a name"),
        ({"n_neighbors": 0}, "between 1 and 19"),
        ({"n_neighbors": 20}, "between 1 and 19"),
        ({"n_neighbors": 2.5}, "whole numbers"),
        ({"n_samples": 21}, "n_samples must lie between 2 and the 20 rows"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"X": np.random.default_rng(0).normal(size=(20, 3)), "Y": np.zeros((20, 2)), **change}
    with pytest.raises(InputError, match=message):
        q_nx(given.pop("X"), given.pop("Y"), **given)
