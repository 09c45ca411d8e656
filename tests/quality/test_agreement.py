"""Votes that go with the target: the test against permutations, its level and its power, and orders of classes."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import spearmanr

from prismap.quality._agreement import Agreement, agreement
from prismap.quality._errors import errors_of, order_of_codes
from prismap.target import known_order, make_target


def votes(n, strength, seed, n_classes=3):
    """Classes, and shares of ten votes that name them a little more often than others."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, size=n)
    P = np.full((n, n_classes), (1 - strength) / n_classes) + strength * np.eye(n_classes)[codes]
    V = np.array([rng.multinomial(10, p) for p in P]) / 10
    return V, np.eye(n_classes)[codes], make_target(codes, n)


def test_its_standard_deviation_is_that_of_permutations():
    V, T, target = votes(80, 0.1, 0)
    rng = np.random.default_rng(1)
    centred = V - V.mean(axis=0)
    permuted = [(centred * T[rng.permutation(80)]).sum() for _ in range(4000)]
    found = agreement(V, T, target, rng)
    S = (centred * T).sum()
    assert found.deviations == pytest.approx((S - np.mean(permuted)) / np.std(permuted), rel=0.05)
    assert -1 <= found.correlation <= 1
    assert Agreement.from_dict(found.to_dict()) == found


def test_units_are_permuted_as_a_whole():
    """Every row ten times: as sure as the rows themselves, and not more."""
    V, T, target = votes(60, 0.3, 0)
    once = agreement(V, T, target, np.random.default_rng(0))
    ten = replace(target.take(np.repeat(np.arange(60), 10)), units=np.repeat(np.arange(60), 10))
    again = agreement(np.repeat(V, 10, axis=0), np.repeat(T, 10, axis=0), ten, np.random.default_rng(0))
    assert again.deviations == pytest.approx(once.deviations, rel=0.1)
    assert again.correlation == pytest.approx(once.correlation)


def test_noise_is_rarely_beyond_three_deviations_and_weak_relations_often():
    noise = [agreement(*votes(200, 0.0, seed), np.random.default_rng(0)).deviations for seed in range(300)]
    assert np.mean(np.array(noise) > 3) <= 0.01
    assert abs(np.mean(noise)) < 0.2
    assert np.std(noise) == pytest.approx(1, abs=0.15)
    weak = [agreement(*votes(200, 0.25, seed), np.random.default_rng(0)).deviations for seed in range(50)]
    assert np.mean(np.array(weak) > 3) > 0.9


def test_votes_that_are_all_the_same_say_nothing():
    _, T, target = votes(30, 0.0, 0)
    assert agreement(np.ones((30, 3)), T, target, np.random.default_rng(0)) == Agreement(0.0, 0.0)


@pytest.mark.parametrize(
    ("names", "places"),
    [
        (["agree", "disagree", "neutral", "strongly agree", "strongly disagree"], [3, 1, 2, 4, 0]),
        (["High", "LOW", "medium"], [2, 0, 1]),
        (["very_low", "very-high", "moderate"], [0, 2, 1]),
        ([10, 2, 1], [2, 1, 0]),
        (["10", "2", "1"], [2, 1, 0]),
        ([0.5, 1.0, 2.0], None),
        (["cat", "dog", "low"], None),
        (["low", "high"], None),
        ([0, 1], None),
    ],
)
def test_names_that_have_an_order(names, places):
    found = known_order(names)
    assert found is None if places is None else found.tolist() == places


def test_classes_with_an_order_are_judged_by_it_too():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 5, size=200)
    Y = level[:, None] + 3 * rng.normal(size=(200, 2))
    names = np.array(["strongly disagree", "disagree", "neutral", "agree", "strongly agree"])
    target = make_target(names[level], 200)
    [order] = [kind for kind in errors_of(target) if kind.name == "rank correlation"]
    assert order.chance(target) == 0.0
    found = order.measure(Y[100:], target.take(slice(100, None)), Y[:100], target.take(slice(100)))
    D = np.linalg.norm(Y[100:, None] - Y[None, :100], axis=2)
    sizes = np.bincount(level[:100])
    means = []
    for row in D:
        near = level[:100][np.argsort(row)]
        means.append(near[: min(10, sizes[near[0]] // 2)].mean())
    assert found == pytest.approx(spearmanr(level[100:], means)[0])
    assert not [kind for kind in errors_of(make_target(names[level % 2], 200)) if kind.name == "rank correlation"]
    assert order_of_codes(Y, level, places=np.arange(5)[::-1]) == pytest.approx(
        order_of_codes(Y, level, places=np.arange(5))
    )


def test_what_the_level_tells_of_the_target_is_no_agreement():
    """Votes know the batch and nothing else; rows of a batch have mostly one class."""
    rng = np.random.default_rng(0)
    batch = rng.integers(3, size=300)
    codes = (rng.random(300) < np.array([0.1, 0.5, 0.9])[batch]).astype(int)
    V = np.column_stack([1 - batch / 2, batch / 2]) + 0.1 * rng.normal(size=(300, 2))
    T, target = np.eye(2)[codes], make_target(codes, 300)
    assert agreement(V, T, target, rng).deviations > 5
    inside = agreement(V, T, target.inside(batch, 3), rng)
    assert abs(inside.deviations) < 2.5
    known = agreement(V + 0.2 * T, T, target.inside(batch, 3), rng)
    assert known.deviations > 5
    permuted = [(V * T[target.inside(batch, 3).permuted_rows(rng)]).sum() for _ in range(2000)]
    assert inside.deviations == pytest.approx(((V * T).sum() - np.mean(permuted)) / np.std(permuted), abs=0.1)
    pairs = replace(target.inside(batch, 3), units=np.argsort(np.argsort(batch, kind="stable")) // 2)
    assert abs(agreement(V, T, pairs, rng).deviations) < 2.5
