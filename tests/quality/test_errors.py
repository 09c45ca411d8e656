"""The table of errors by kind of target: the same figures as the public functions, in the order of a report."""

from dataclasses import replace

import numpy as np
import pytest

from prismap.quality import (
    chance_error,
    chance_nrmse,
    knn_error,
    knn_nrmse,
    knn_rank_correlation,
    knn_rank_error,
    knn_steps,
)
from prismap.quality._errors import errors_of
from prismap.quality._estimates import Estimate
from prismap.quality._knn import chance_steps
from prismap.quality._scores import TargetScore
from prismap.target import NoTarget, RealTarget, make_target


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=120)
    return rng.normal(size=(120, 2)) + codes[:, None], codes


def names(target):
    return [kind.name for kind in errors_of(target)]


def halves(Y, target):
    return Y[60:], target.take(slice(60, None)), Y[:60], target.take(slice(60))


def test_errors_of_classes_are_those_of_the_vote(rows):
    Y, codes = rows
    target = make_target(np.array(["c", "a", "b"])[codes], 120)
    ten, one, balanced = errors_of(target)
    assert (ten.name, one.name, balanced.name) == ("10-NN error", "1-NN error", "balanced 10-NN error")
    for kind, k in ((ten, None), (one, 1), (ten.at_most(4), 4)):
        found = kind.measure(*halves(Y, target))
        expected = knn_error(Y[60:], codes[60:], n_neighbors=k, Y_fit=Y[:60], y_fit=codes[:60])
        assert (found, found.spread) == (expected, expected.spread)
        common = target.values != 1
        assert kind.measure(Y, target, judged=common) == knn_error(Y, codes, n_neighbors=k, judged=common)
        assert kind.chance(target) == chance_error(target.values, k)
        assert kind.chance(target, [1]) == chance_error(target.values, k, judged=common)


def test_the_vote_comes_first_and_is_one_of_ten_only_where_classes_are_large():
    few, many = (np.repeat(list("abcdef"), n) for n in (24, 25))
    assert names(make_target(many, 150)) == ["10-NN error", "1-NN error", "balanced 10-NN error"]
    assert names(make_target(few, 144)) == ["vote error", "1-NN error", "balanced vote error"]


def test_the_balanced_error_comes_first_where_classes_are_very_unequal():
    """20 of 2,000: a map that shows them perfectly has an error of 0, and one that knows nothing has 1 %."""
    unequal = make_target(np.repeat([0, 1], [1980, 20]), 2000)
    balanced, plain, _ = errors_of(unequal)
    assert (balanced.name, plain.name) == ("balanced vote error", "vote error")
    assert balanced.chance(unequal) == pytest.approx(0.5, abs=1e-3)
    assert plain.chance(unequal) == pytest.approx(0.01, abs=1e-3)
    four = make_target(np.repeat([0, 1, 2, 3], [900, 40, 40, 3]), 983)
    assert errors_of(four)[0].chance(four) == pytest.approx(0.75, abs=0.02)
    assert errors_of(four)[0].chance(four, rare=[3]) == pytest.approx(2 / 3, abs=0.02)


def test_ordered_classes_have_steps_first(rows):
    Y, codes = rows
    target = replace(make_target(codes, 120), ordered=True)
    steps, *votes = errors_of(target)
    assert [steps.name, *(kind.name for kind in votes)] == [
        "mean class steps",
        "10-NN error",
        "1-NN error",
        "rank correlation",
    ]
    assert steps.measure(*halves(Y, target)) == knn_steps(Y[60:], codes[60:], Y_fit=Y[:60], y_fit=codes[:60])
    assert steps.chance(target) == chance_steps(codes)


def test_numbers_are_judged_by_ranks_first(rows):
    Y, _ = rows
    y = np.exp(Y[:, 0] + np.random.default_rng(1).normal(size=120))
    target = make_target(y, 120)
    public = (knn_rank_error, knn_nrmse, knn_rank_correlation)
    assert names(target) == ["rank error", "nRMSE", "rank correlation"]
    for kind, measure, chance in zip(errors_of(target), public, (chance_nrmse(5), chance_nrmse(5), 0.0), strict=True):
        found, expected = kind.measure(*halves(Y, target)), measure(Y[60:], y[60:], Y_fit=Y[:60], y_fit=y[:60])
        assert (found, found.spread) == (expected, expected.spread)
        assert kind.chance(target) == chance
        if chance:
            assert kind.at_most(2).chance(target) == chance_nrmse(2)


def test_of_several_numbers_the_errors_are_averaged(rows):
    Y, _ = rows
    values = Y + np.random.default_rng(1).normal(size=(120, 2))
    target = RealTarget(values)
    ranks, nrmse, _ = errors_of(target)
    assert ranks.name == "mean rank error of 2 targets"
    each = [knn_nrmse(Y, column) for column in values.T]
    found = nrmse.measure(Y, target)
    assert found == pytest.approx(np.mean(each))
    assert found.spread == pytest.approx(np.mean([one.spread for one in each]))


def test_several_kinds_are_asked_one_column_at_a_time():
    several = make_target({"a": ["x", "y"] * 9, "b": np.arange(18) / 7}, 18)
    assert [len(errors_of(column)) for column in several.columns] == [3, 3]
    for target in (several, NoTarget.of(4)):
        with pytest.raises(TypeError, match="one column at a time"):
            errors_of(target)


def test_every_error_is_spoken_of_by_its_name():
    classes = make_target(np.repeat([0, 1], 30), 60)
    expected = {"10-NN error": "30.0 ± 10.0 % of the rows have another label than most", "1-NN error": "nearest",
                "mean class steps": "row's class", "rank error": "row's rank", "nRMSE": "row's value"}  # fmt: skip
    kinds = [*errors_of(replace(classes, ordered=True)), *errors_of(RealTarget(np.arange(9.0)))]
    for kind in kinds:
        score = TargetScore(kind.name, Estimate(0.3, 0.1), 0.5)
        assert score.is_share == ("NN" in kind.name)
        assert expected.get(kind.name, "") in score.meaning
        assert score.figure(0.3) == ("30.0 %" if score.is_share else "0.30")
        assert score.noise_at_chance(100) == pytest.approx(0.05 if score.is_share else 0.5 / np.sqrt(200))


@pytest.mark.parametrize("kind", ["class", "ordered", "real"])
@pytest.mark.parametrize("per_unit", [1, 4])
def test_an_error_is_the_mean_of_the_parts_of_its_rows(rows, kind, per_unit):
    """So that two errors of the same rows can be compared row by row: their mean and their spread are those of it."""
    Y, codes = rows
    values = codes + np.random.default_rng(1).normal(size=120) if kind == "real" else codes
    target = make_target(values, 120, kind)
    target = replace(target, units=np.arange(120) // per_unit).columns[0]
    asked = np.arange(60) % 5 > 0
    checked = 0
    for error in errors_of(target):
        if error.of_rows is None:
            assert error.name == "rank correlation"
            continue
        whole = error.measure(*halves(Y, target), judged=asked)
        parts = error.rows(*halves(Y, target), judged=asked)
        again = Estimate.over_rows(parts, target.units[60:][asked])
        assert len(parts) == asked.sum()
        assert again == pytest.approx(whole, rel=1e-12)
        assert again.spread == pytest.approx(whole.spread, rel=1e-9)
        checked += 1
    assert checked >= 2
