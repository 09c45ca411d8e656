"""What single columns say: leaks are named, honest columns are not; leave-one-out rules against slow twins."""

import numpy as np
import pytest
from experiments.tables_of_truth import odd_category, sparse_genes

from prismap.relevance._target_columns import (
    leaking_columns,
    loo_classes,
    loo_values,
    screened_columns,
    target_groups,
    telling_columns,
)
from prismap.target import ClassTarget, make_target


def as_target(y):
    return make_target(y, len(y))


def one_hot(codes):
    return np.eye(codes.max() + 1)[codes]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_copies_of_a_class_target_are_named_in_every_disguise(rng):
    y = rng.integers(3, size=300)
    wrong = y.copy()
    wrong[:2] = (wrong[:2] + 1) % 3
    columns = {
        "number": np.array([7.0, -2.0, 30.0])[y], "category": one_hot(y), "nearly": wrong + 0.01 * rng.normal(size=300),
        "good": y + 0.5 * rng.normal(size=300), "noise": rng.normal(size=300),
        "site": one_hot(rng.integers(4, size=300)),
    }  # fmt: skip
    leaks = leaking_columns(columns, as_target(y))
    assert {leak.names for leak in leaks} == {("number",), ("category",), ("nearly",)}
    assert str(leaks[0]).startswith("Column 'number' alone gives 0.0 % error: is it a copy of the target?")
    assert 0 < leaks[-1].error <= 0.02


def test_copies_of_a_real_target_are_named(rng):
    y = rng.normal(size=300)
    columns = {"euros": 0.9 * y + 3, "cubed": y**3, "noisy": y + 0.3 * rng.normal(size=300), "key": np.arange(300.0)}
    leaks = leaking_columns(columns, as_target(y))
    assert ("euros",) in {leak.names for leak in leaks} <= {("euros",), ("cubed",)}
    assert "an nRMSE of 0.0" in str(leaks[0])


def test_few_rows_and_rare_classes_make_no_leak(rng):
    y = np.array([0] * 97 + [1] * 3)  # always saying 0 errs in 3 %
    assert not leaking_columns({"constant": np.ones(100), "noise": rng.normal(size=100)}, as_target(y))
    assert not leaking_columns({"copy": np.arange(10.0)}, as_target(np.arange(10) // 5))
    assert not leaking_columns({"copy": np.arange(50.0)}, ClassTarget(np.full(50, -1), names_of_classes=np.arange(2)))


def test_unknown_targets_do_not_count(rng):
    y = rng.integers(2, size=200)
    copy = y.astype(float)
    y[:50] = -1
    assert [leak.error for leak in leaking_columns({"copy": copy}, as_target(y))] == [0.0]


def test_many_columns_of_noise_are_never_a_leak(rng):
    y = np.arange(40) % 2
    assert not leaking_columns({str(j): rng.normal(size=40) for j in range(200)}, as_target(y))


@pytest.mark.parametrize("kind", ["class", "real"])
def test_of_many_columns_those_that_follow_the_target_are_kept(rng, kind):
    y = rng.integers(3, size=200) if kind == "class" else rng.normal(size=200)
    y[:5] = -1 if kind == "class" else np.nan
    groups = target_groups(as_target(y))
    assert (groups[:5] == -1).all()
    columns = {f"noise {j}": rng.normal(size=200) for j in range(300)}
    columns["copy"] = np.where(groups >= 0, np.array([5.0, -1, 2])[groups % 3] if kind == "class" else y**2, 0.0)
    columns["levels"] = one_hot(np.maximum(groups, 0) % 3)
    kept = screened_columns(columns, groups, 20)
    assert list(kept)[-2:] == ["copy", "levels"]
    assert len(kept) == 20
    assert screened_columns(columns, groups, 400) == columns
    assert screened_columns(columns, np.full(200, -1), 20) == {}


def test_luck_is_counted_over_all_columns(rng):
    """A figure that is sure among two columns is not sure among 10^30."""
    y = rng.integers(2, size=60)
    columns = {"copy": 3.0 * y, "noise": rng.normal(size=60)}
    assert len(leaking_columns(columns, as_target(y), n_columns=100)) == 1
    assert leaking_columns(columns, as_target(y), n_columns=10**30) == []
    assert telling_columns(columns, as_target(y), n_columns=100)["copy"]
    assert not telling_columns(columns, as_target(y), n_columns=10**30)["copy"]


def test_telling_columns_say_something_in_any_form(rng):
    y = rng.integers(2, size=500)
    columns = {
        "shift": y + rng.normal(size=500), "spread": (1 + 2 * y) * rng.normal(size=500),
        "level": one_hot(np.where(rng.random(500) < 0.3, y, rng.integers(2, size=500) + 2)),
        **{f"noise {j}": rng.normal(size=500) for j in range(20)}, "site": one_hot(rng.integers(5, size=500)),
    }  # fmt: skip
    telling = telling_columns(columns, as_target(y))
    assert {name for name, tells in telling.items() if tells} == {"shift", "spread", "level"}
    real = telling_columns(
        {"parabola": np.abs(columns["shift"]), "noise": columns["noise 1"]}, as_target(columns["shift"])
    )
    assert real == {"parabola": True, "noise": None}  # too many bins for the power
    few = {name: values[:60] for name, values in columns.items() if name.startswith("noise")}
    assert set(telling_columns(few, as_target(y[:60])).values()) == {None}  # no test could find a weak relation


@pytest.mark.parametrize("table", [sparse_genes, odd_category])
def test_columns_with_many_equal_values_are_not_called_silent(table):
    columns, y, truth = table()
    telling = telling_columns(columns, as_target(y))
    assert {name for name, tells in telling.items() if tells} == set(truth["telling"])


def test_what_is_called_silent_has_no_weak_relation():
    """The power that is stated: a relation of w = 0.2 is called nothing in one of twenty tables, at most."""
    answers = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        y, other = rng.integers(2, size=400), rng.integers(2, size=400)
        column = np.where(rng.random(400) < 0.2, y, other)  # w is the share that is a copy
        answers.append(telling_columns({"weak": one_hot(column)}, as_target(y))["weak"])
    assert answers.count(False) <= 6
    assert None in answers


def slow_class(value, y, row, ordered):
    others = np.arange(len(y)) != row
    same = others & (value == value[row])
    if not same.any():
        if not ordered:
            return np.bincount(y).argmax()
        apart = np.abs(value - value[row])
        nearest = value[others][apart[others].argmin()]
        same = others & (value == nearest)
    return np.bincount(y[same], minlength=3).argmax()


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("decimals", [0, 8])
def test_leave_one_out_classes_agree_with_the_slow_rule(rng, ordered, decimals):
    value, y = np.round(3 * rng.normal(size=80), decimals), rng.integers(3, size=80)
    wanted = [slow_class(value, y, row, ordered) for row in range(80)]
    assert loo_classes(value, y, ordered).tolist() == wanted


@pytest.mark.parametrize("decimals", [0, 8])
def test_leave_one_out_values_agree_with_the_slow_rule(rng, decimals):
    value, y = np.round(3 * rng.normal(size=60), decimals), rng.normal(size=60)
    guess = loo_values(value, y, True)
    for row in range(60):
        others = np.arange(60) != row
        same = others & (value == value[row])
        if same.any():
            assert guess[row] == pytest.approx(y[same].mean())
            continue
        levels = np.unique(value[others])
        means = np.array([y[others & (value == level)].mean() for level in levels])
        if levels[0] < value[row] < levels[-1]:
            assert guess[row] == pytest.approx(np.interp(value[row], levels, means))
