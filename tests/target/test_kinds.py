"""What a target knows, and its verbs: laws that hold for every kind, and what the kinds differ in."""

import numpy as np
import pandas as pd
import pytest

from prismap.exceptions import InputError
from prismap.target import ClassTarget, NoTarget, RealTarget, SeveralTarget, encode_like, make_target

N = 60
RNG = np.random.default_rng(0)
NAMES = np.array(["c", "a", "b"], dtype=object)[RNG.integers(0, 3, N)]
NAMES[::7] = None
NUMBERS = RNG.normal(size=N)
NUMBERS[::9] = np.nan
SEVERAL = {"sort": NAMES, "size": NUMBERS, "grade": pd.Series(RNG.integers(1, 5, N))}

TARGETS = {
    "none": NoTarget.of(N),
    "class": make_target(NAMES, N),
    "real": make_target(NUMBERS, N),
    "reals": make_target(np.column_stack([NUMBERS, NUMBERS**2]), N, "real"),
    "ordered": make_target(RNG.integers(0, 4, N), N, "ordered"),
    "several": make_target(SEVERAL, N, ["class", "real", "ordered"]),
}
WITH_VALUES = [name for name in TARGETS if name != "none"]


def generator():
    return np.random.default_rng(5)


@pytest.fixture(params=TARGETS)
def target(request):
    return TARGETS[request.param]


def test_kinds_are_those_of_their_columns():
    kinds = {name: type(target) for name, target in TARGETS.items()}
    assert kinds == {
        "none": NoTarget, "class": ClassTarget, "real": RealTarget, "reals": RealTarget, "ordered": SeveralTarget,
        "several": SeveralTarget,
    }  # fmt: skip
    assert [target.kind for target in TARGETS.values()] == [
        "none", "class", "real", "real", ("ordered",), ("class", "real", "ordered")
    ]  # fmt: skip
    reported = [target.reported_kind for target in TARGETS.values()]
    assert reported == ["none", "class", "real", "real", "ordered", "several"]
    assert TARGETS["several"].names == ("sort", "size", "grade")
    assert TARGETS["class"].names == ()


def test_a_target_is_made_once(target):
    assert make_target(target, N) is target
    with pytest.raises(InputError, match=f"y has {N} entries and X has 3 rows"):
        make_target(target, 3)


def test_classes_are_encoded_by_their_names():
    target = TARGETS["class"]
    assert target.classes.tolist() == ["a", "b", "c"]
    assert target.named.tolist() == target.texts == NAMES.tolist()
    np.testing.assert_array_equal(target.labelled, [name is not None for name in NAMES])
    assert target.codes is target.values
    assert all(TARGETS[name].codes is TARGETS[name].texts is None for name in TARGETS if name != "class")


def test_taking_rows_takes_what_is_known_of_them(target):
    rows = np.arange(3, 40, 2)
    part = target.take(rows)
    assert type(part) is type(target)
    assert len(part) == len(rows)
    np.testing.assert_array_equal(part.values, target.values[rows])
    np.testing.assert_array_equal(part.labelled, target.labelled[rows])
    np.testing.assert_array_equal(part.units, rows)
    assert [column.kind for column in part.columns] == [column.kind for column in target.columns]


def test_every_row_is_a_unit_of_its_own(target):
    np.testing.assert_array_equal(target.units, np.arange(N))


@pytest.mark.parametrize("name", WITH_VALUES)
def test_permuting_moves_what_is_known_among_the_labelled(name):
    target = TARGETS[name]
    mixed = target.permuted(generator())
    known = target.labelled
    np.testing.assert_array_equal(mixed.labelled, known)
    assert not np.array_equal(mixed.values[known], target.values[known])
    rows = [tuple(np.ravel(row)) for row in target.values[known]]
    assert sorted(rows) == sorted(tuple(np.ravel(row)) for row in mixed.values[known])  # whole rows are moved


def test_columns_are_targets_of_one_column(target):
    for column in target.columns:
        assert column.values.shape == (N,)
        assert column.columns == (column,)
    first = target.columns[0] if target.columns else target
    assert target.shown.kind == first.kind
    np.testing.assert_array_equal(target.shown.values, first.values)


def test_several_columns_are_labelled_together():
    target = TARGETS["several"]
    expected = np.array([name is not None for name in NAMES]) & ~np.isnan(NUMBERS)
    np.testing.assert_array_equal(target.labelled, expected)
    assert all(np.array_equal(column.labelled, expected) for column in target.columns)
    assert [column.kind for column in target.columns] == ["class", "real", "ordered"]


@pytest.mark.parametrize("name", WITH_VALUES)
def test_folds_have_equal_shares_of_what_is_alike(name):
    target = TARGETS[name]
    rows = target.labelled_rows
    folds = target.folds(rows, 5, generator())
    assert np.ptp(np.bincount(folds, minlength=5)) <= 1
    groups = target.groups[rows]
    for group in np.unique(groups):
        assert np.ptp(np.bincount(folds[groups == group], minlength=5)) <= 1


@pytest.mark.parametrize("name", WITH_VALUES)
def test_splits_leave_out_every_labelled_row_once(name):
    target = TARGETS[name]
    parts = target.splits(5, generator())
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), target.labelled_rows)
    assert np.ptp([len(part) for part in parts]) <= 3
    if name == "class":
        shares = np.array([np.bincount(target.values[part], minlength=3) for part in parts])
        assert np.ptp(shares, axis=0).max() <= 1


@pytest.mark.parametrize("name", WITH_VALUES)
def test_a_draw_has_every_group_by_its_share(name):
    target = TARGETS[name]
    drawn = target.draw(20, generator())
    assert len(drawn) == max(20, len(np.unique(target.groups[target.labelled])))
    assert target.labelled[drawn].all()
    assert set(target.groups[drawn]) == set(target.groups[target.labelled])
    np.testing.assert_array_equal(target.draw(None, generator()), target.labelled_rows)


def test_a_sample_has_unlabelled_rows_too(target):
    sample = target.sample(20, generator())
    assert len(sample) == 20
    assert (np.diff(sample) > 0).all()
    np.testing.assert_array_equal(target.sample(N, generator()), np.arange(N))
    if isinstance(target, ClassTarget):
        wanted = np.bincount(target.values + 1) * 20 / N
        assert np.abs(np.bincount(target.values[sample] + 1) - wanted).max() <= 1


def test_present_classes_are_those_that_a_labelled_row_has():
    target = TARGETS["class"].take(np.flatnonzero(TARGETS["class"].values != 1))
    present = target.present()
    assert present.classes.tolist() == ["a", "c"]
    assert present.texts == target.texts
    several = TARGETS["several"].take(np.flatnonzero(TARGETS["several"].values[:, 0] != 1)).present()
    assert several.classes[0].tolist() == ["a", "c"]
    assert set(np.unique(several.columns[0].values[several.labelled])) == {0, 1}
    assert TARGETS["real"].present() is TARGETS["real"]


def test_indicators_compare_every_kind_with_means():
    target = TARGETS["several"]
    numbers = target.indicators()
    known = target.labelled
    assert numbers.values.shape == (N, 3 + 1 + 3)  # a class each, the number, a threshold between four grades
    np.testing.assert_array_equal(numbers.values[known, 3], NUMBERS[known])
    np.testing.assert_array_equal(numbers.values[known, :3].sum(axis=1), 1)
    grades = target.columns[2].values[known]
    np.testing.assert_array_equal(numbers.values[known, 4:].sum(axis=1), grades)
    assert np.isnan(numbers.values[~known]).all()
    assert target.indicators([True, False, False]).values.shape == (N, 3)


def test_more_samples_are_joined_with_units_of_their_own():
    target = TARGETS["class"]
    more = target.joined(np.array([0, -1]))
    assert len(more) == N + 2
    assert len(np.unique(more.units)) == N + 2
    assert more.texts[-2:] == ["a", None]


def test_numbers_are_right_within_half_a_deviation():
    assert TARGETS["real"].tolerance == pytest.approx(0.5 * np.nanstd(NUMBERS))
    assert TARGETS["class"].tolerance == 0


def test_later_samples_are_encoded_like_the_fitted_ones():
    target = TARGETS["class"]
    assert encode_like(["b", None, "a"], target, 3).tolist() == [1, -1, 0]
    assert encode_like(None, target, 2).tolist() == [-1, -1]
    with pytest.raises(InputError, match="classes the map does not know"):
        encode_like(["z"], target, 1)
    np.testing.assert_array_equal(encode_like([1.0, None], TARGETS["real"], 2), [1.0, np.nan])
    assert encode_like([1, 2], TARGETS["none"], 2).shape == (2, 0)
    with pytest.raises(InputError, match="fit anew"):
        encode_like([1, 2], TARGETS["several"], 2)


def test_no_target_has_nothing_to_tell():
    target = TARGETS["none"]
    assert not target.exists
    assert not target.labelled.any()
    assert target.columns == ()
    assert target.permuted(generator()) is target
    assert target.present() is target
    assert target.shown is target


def test_a_target_answers_for_its_kind():
    classes, numbers = make_target(["b", "a", "b", None, "c"], 5), make_target([1.5, 2.5, 4.0, np.nan, 0.5], 5)
    assert [(name, rows.tolist()) for name, rows in classes.members] == [("a", [1]), ("b", [0, 2]), ("c", [4])]
    assert classes.majority is None
    assert classes.take([0, 2, 3]).majority == ("b", 1.0)
    assert (classes.n_classes, classes.fewest_values, classes.names_rows, classes.can_be_parted) == (3, 2, True, False)
    np.testing.assert_array_equal(classes.take([1, 4]).numeric, [[1, 0, 0], [0, 0, 1]])
    assert (numbers.n_classes, numbers.fewest_values, numbers.names_rows, numbers.can_be_parted) == (0, 3, False, True)
    assert (numbers.members, numbers.majority) == ([], None)
    known = numbers.take([0, 1, 2, 4]).numeric
    assert (known.shape, known.mean(), known.std()) == ((4, 1), pytest.approx(0), pytest.approx(1))
