"""What the levels of a column shift: against a slow twin, and laws."""

import numpy as np
import pytest

from prismap.metrics._shift import LevelShift, fit_shift
from prismap.target import NoTarget, make_target
from reference.shift_reference import without_levels


def batches(n_rows=160, n_levels=3, correlation=0.6, effect=2.0, shift=5.0, seed=0):
    """(X, y, level): two classes that differ in two of six features, and levels that shift all of them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    level = np.where(rng.random(n_rows) < correlation, y, rng.integers(n_levels, size=n_rows))
    X = rng.normal(size=(n_rows, 6)) * np.array([1.0, 1.5, 0.7])[level % 3][:, None]
    X[:, :2] += effect * y[:, None]
    return X + shift * rng.normal(size=(n_levels, 6))[level], y, level


def shifted(X, y, level, n_levels=3):
    target = NoTarget.of(len(X)) if y is None else make_target(y, len(X))
    return fit_shift(X, target.inside(level, n_levels))


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.9])
def test_rows_without_levels_equal_those_of_least_squares(correlation):
    X, y, level = batches(correlation=correlation)
    np.testing.assert_allclose(shifted(X, y, level).apply(X, level), without_levels(X, level, y), atol=1e-9)


def test_bins_of_a_number_are_its_groups():
    X, y, level = batches(seed=2)
    numbers = X[:, 0] - shifted(X, y, level).offsets[level, 0] + np.random.default_rng(0).normal(size=len(X))
    target = make_target(numbers, len(X)).inside(level, 3)
    np.testing.assert_allclose(fit_shift(X, target).apply(X, level), without_levels(X, level, target.groups), atol=1e-9)


def test_without_a_target_levels_are_centred():
    X, _, level = batches()
    Z = shifted(X, None, level).apply(X, level)
    means = np.stack([Z[level == b].mean(axis=0) for b in range(3)])
    np.testing.assert_allclose(means - X.mean(axis=0), 0, atol=1e-12)


def test_a_known_shift_is_taken_out_and_the_effect_stays():
    X, y, level = batches(n_rows=4000, effect=2.0, shift=20.0)
    Z = shifted(X, y, level).apply(X, level)
    for b in range(3):
        gaps = [Z[(level == b) & (y == c)].mean(axis=0) - Z[(level == 0) & (y == c)].mean(axis=0) for c in (0, 1)]
        np.testing.assert_allclose(np.transpose(gaps)[2:], 0, atol=0.2)
        np.testing.assert_allclose(np.mean(gaps, axis=0), 0, atol=0.4)  # the spread of a level divides the effect, too
        np.testing.assert_array_less(
            1.2, (Z[(level == b) & (y == 1)] - Z[(level == b) & (y == 0)].mean(axis=0)).mean(axis=0)[:2]
        )


def test_a_target_of_chance_leaves_plain_centring():
    """Levels that go with the target: what is shown of it inside levels is chance, and must not be kept."""
    X, y, level = batches(effect=0.0, correlation=0.9, n_rows=600)
    Z = shifted(X, y, level).apply(X, level)
    means = np.stack([Z[level == b].mean(axis=0) for b in range(3)])
    assert np.median(np.ptp(means, axis=0)) < 1e-9


def test_a_constant_in_a_level_changes_nothing():
    X, y, level = batches()
    moved = X + 100.0 * np.arange(6) * (level == 1)[:, None]
    apart = shifted(moved, y, level).apply(moved, level) - shifted(X, y, level).apply(X, level)
    np.testing.assert_allclose(apart, np.broadcast_to(apart[0], apart.shape), atol=1e-9)


def test_unlabelled_rows_and_missing_values_count_for_their_level():
    X, y, level = batches(n_rows=2000)
    expected = shifted(X, y, level).apply(X, level)
    rng = np.random.default_rng(0)
    labels = np.where(rng.random(len(y)) < 0.3, -1, y + 1)
    holed = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    Z = shifted(holed, np.where(labels < 0, np.nan, labels), level).apply(holed, level)
    assert np.array_equal(np.isnan(Z), np.isnan(holed))
    assert np.nanmean(np.abs(Z - expected), axis=0).max() < 0.3


def test_levels_that_share_no_class_are_centred():
    """Where each level has a class of its own, nothing can say which of the two differs."""
    X, y, _ = batches()
    Z = shifted(X, y, y, 2).apply(X, y)
    np.testing.assert_allclose(Z[y == 0].mean(axis=0), Z[y == 1].mean(axis=0), atol=1e-9)


def test_a_level_without_rows_shifts_nothing():
    X, y, level = batches(n_levels=2)
    shift = shifted(X, y, level, n_levels=3)
    Z = shift.apply(X[:2], np.array([2, 2]))
    np.testing.assert_allclose(Z - X[:2], 0, atol=1e-9)


def test_one_level_is_no_shift():
    X, y, _ = batches()
    assert shifted(X, y, np.zeros(len(X), dtype=int), 1) is None
    assert fit_shift(X, make_target(y, len(X))) is None


def test_each_row_is_shifted_by_itself_in_its_own_precision():
    X, y, level = batches()
    X = X.astype(np.float32)
    shift = shifted(X, y, level)
    Z = shift.apply(X, level)
    assert isinstance(shift, LevelShift)
    assert Z.dtype == np.float32
    assert np.array_equal(Z[5:6], shift.apply(X[5:6], level[5:6]))
