"""Whether columns go with a target: the test against permutations, its level and its power, and by units."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kruskal, spearmanr

from prismap.quality._agreement import MOST_PERMUTATIONS, chance_of_columns, standard_ranks
from prismap.target import make_target


def table(seed, gap=0.0, n_rows=100, n_columns=6, shifted=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, :shifted] += gap * y[:, None]
    return X, y


def chance_of(X, target, rng):
    return chance_of_columns(X, target.numeric, target, rng)


def chance(X, y, **more):
    return chance_of(X, replace(make_target(y, len(y)), **more), np.random.default_rng(0))


def test_the_statistic_is_that_of_kruskal_and_wallis_and_of_spearman():
    X, y = table(0)
    R = standard_ranks(X, 100)
    H = np.square(R.T @ standard_ranks(np.eye(2)[y], 2)).sum(axis=1) / 100
    np.testing.assert_allclose(H * 99 / 200, [kruskal(x[y == 0], x[y == 1]).statistic for x in X.T])
    number = X[:, 0] + X[:, 1]
    r = R.T @ standard_ranks(number[:, None], 1)[:, 0] / 100
    np.testing.assert_allclose(r, [spearmanr(x, number).statistic for x in X.T])
    np.testing.assert_array_equal(standard_ranks(X * np.arange(6), 2), R[:, -2:])  # those of the largest variance


def test_chances_of_noise_are_no_smaller_than_they_say():
    """Even where most values are equal and one class is rare, for which the usual approximations fail."""
    found = []
    for seed in range(200):
        X, _ = table(seed, n_rows=60)
        y = np.arange(60) % 10 == 0
        found.append(chance(np.where(X > 1.7, X, 0.0), y.astype(int)))
    assert np.mean(np.array(found) < 0.05) <= 0.08
    assert np.mean(np.array(found) < 0.01) <= 0.02


@pytest.mark.parametrize(("gap", "shifted"), [(1.2, 1), (0.5, 6)])
def test_weak_effects_are_found_in_one_column_and_over_all(gap, shifted):
    found = [chance(*table(seed, gap, shifted=shifted)) for seed in range(10)]
    assert sum(one < 0.00135 for one in found) >= 8
    assert min(found) == pytest.approx(2 / (MOST_PERMUTATIONS + 1))


def test_copies_of_rows_make_nothing_surer():
    X, y = table(3, 0.6, n_rows=40)
    once = chance(X, y)
    five = np.repeat(np.arange(40), 5)
    assert chance(X[five], y[five], units=five) == pytest.approx(once, rel=0.5)
    assert chance(X[five], y[five]) < once / 2


def test_nothing_is_known_of_constant_columns_and_in_time():
    X, y = table(0)
    assert chance(np.ones((100, 2)), y) is None
    assert chance(X, y, in_order=True) is None


def test_what_two_columns_tell_only_together_is_not_found():
    X = np.random.default_rng(0).normal(size=(300, 2))
    assert chance(X, (X[:, 0] * X[:, 1] > 0).astype(int)) > 0.01


def coins(rng):
    """Rows of 40 patients, each with a coin: whatever rows of a patient share, their labels say nothing."""
    unit = np.repeat(np.arange(40), 5)
    X = rng.normal(size=(40, 8))[unit] + 0.3 * rng.normal(size=(200, 8))
    return X, replace(make_target(rng.permutation(np.arange(40) % 2)[unit], 200), units=unit)


NOISE = {
    "60 rows": lambda rng: (rng.normal(size=(60, 8)), make_target(rng.integers(2, size=60), 60)),
    "5 classes": lambda rng: (rng.normal(size=(400, 8)), make_target(rng.integers(5, size=400), 400)),
    "20 classes": lambda rng: (rng.normal(size=(200, 8)), make_target(rng.integers(20, size=200), 200)),
    "50 columns": lambda rng: (rng.normal(size=(200, 50)), make_target(rng.integers(2, size=200), 200)),
    "few answers": lambda rng: (rng.integers(3, size=(200, 4)), make_target(rng.integers(3, size=200), 200)),
    "a number": lambda rng: (rng.normal(size=(300, 6)), make_target(rng.normal(size=300), 300)),
    "patients": coins,
}


@pytest.mark.parametrize("make", NOISE.values(), ids=NOISE)
def test_noise_is_not_sold_as_signal(make):
    """At three standard errors, 0.00135, hardly one of forty tables may be found; by rows, half of the patients are."""
    chances = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        chances.append(chance_of(*make(rng), rng))
    assert sum(one < 0.00135 for one in chances) <= 1
    assert np.median(chances) > 0.2
