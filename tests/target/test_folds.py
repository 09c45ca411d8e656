"""Folds, draws and permutations: dealing against a slow twin, shares against their rule."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from prismap.target import deal_folds, draw_rows, plain_folds, shares, shuffle_entries, split_rows
from prismap.target._folds import bins, joint_groups


def slow_deal(groups, n_folds, rng):
    """Round the table, a card at a time, from group to group."""
    folds, fold = [None] * len(groups), 0
    for code in sorted(set(groups)):
        for row in rng.permutation([i for i, group in enumerate(groups) if group == code]):
            folds[row] = fold % n_folds
            fold += 1
    return folds


@pytest.mark.parametrize("n_folds", [2, 5, 7])
def test_dealing_goes_round_from_group_to_group(n_folds):
    groups = np.random.default_rng(1).integers(0, 4, 53)
    one, two = np.random.default_rng(2), np.random.default_rng(2)
    assert deal_folds(groups, n_folds, one).tolist() == slow_deal(groups.tolist(), n_folds, two)


def test_splits_are_those_of_scikit_learn():
    groups = np.arange(40) % 3
    ours = split_rows(40, 5, 7, groups)
    theirs = StratifiedKFold(5, shuffle=True, random_state=7).split(np.empty(40), groups)
    for (kept, out), (their_kept, their_out) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(kept, their_kept)
        np.testing.assert_array_equal(out, their_out)
    plain = split_rows(40, 4, 7)
    theirs = KFold(4, shuffle=True, random_state=7).split(np.empty(40))
    assert all(np.array_equal(one[1], two[1]) for one, two in zip(plain, theirs, strict=True))


def test_plain_folds_have_equal_sizes():
    folds = plain_folds(23, 5, np.random.default_rng(0))
    assert sorted(np.bincount(folds)) == [4, 4, 5, 5, 5]


def test_shares_add_up_and_leave_nobody_out():
    rng = np.random.default_rng(0)
    for _ in range(200):
        sizes = rng.integers(0, 50, size=rng.integers(1, 9))
        if not sizes.any():
            continue
        total = int(rng.integers(np.count_nonzero(sizes), sizes.sum() + 1))
        wanted = shares(sizes, total)
        assert wanted.sum() == total
        assert (wanted <= sizes).all()
        assert (wanted[sizes > 0] >= 1).all()


def test_a_draw_leaves_unlabelled_rows_out():
    groups = np.array([-1, 0, 0, 1, -1, 1, 2])
    drawn = draw_rows(groups, 3, np.random.default_rng(0))
    assert sorted(groups[drawn]) == [0, 1, 2]


def test_shuffling_leaves_other_rows_alone():
    values = np.arange(10)
    rows = np.array([1, 4, 5, 8])
    shuffled = shuffle_entries(values, rows, np.random.default_rng(3))
    others = np.setdiff1d(values, rows)
    np.testing.assert_array_equal(shuffled[others], others)
    assert sorted(shuffled[rows]) == rows.tolist()
    np.testing.assert_array_equal(values, np.arange(10))


def test_bins_have_equal_sizes_and_follow_the_ranks():
    values = np.random.default_rng(0).normal(size=(101, 1)) ** 3
    values[[3, 50]] = np.nan
    codes = bins(values)
    assert (codes[[3, 50]] == -1).all()
    known = codes >= 0
    assert np.ptp(np.bincount(codes[known])) <= 1
    order = np.argsort(values[known, 0])
    assert (np.diff(codes[known][order]) >= 0).all()


def test_rows_alike_share_their_classes():
    rng = np.random.default_rng(0)
    values = np.column_stack([rng.integers(0, 2, 80), rng.integers(0, 3, 80), rng.normal(size=80)]).astype(float)
    values[0] = np.nan
    groups = joint_groups(values, np.array([True, True, False]))
    assert groups[0] == -1
    for code in range(groups.max() + 1):
        assert len(np.unique(values[groups == code, :2], axis=0)) == 1
    many = np.column_stack([rng.integers(0, 2, 80), np.arange(80)]).astype(float)
    assert (
        joint_groups(many, np.array([True, True])).max() == 1
    )  # the last column tells all rows apart, and is left out
