"""The levels of a column of no interest: what they are, and permutations inside them."""

import numpy as np
import pandas as pd
import pytest

from prismap.exceptions import InputError
from prismap.target import Levels, make_target, read_levels
from target.test_kinds import TARGETS


def test_levels_are_known_by_their_text():
    levels, codes = read_levels(pd.Series([2.0, 1.0] * 5, name="site"), 10)
    assert levels == Levels(("1", "2"), "site")
    assert codes.tolist() == [1, 0] * 5
    assert levels.encode(["1", "2"], 2).tolist() == levels.encode([1, 2], 2).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["a", "b"] * 4, "one level per row, and X has 10 rows"),
        ([["a", "b"]] * 10, "one level per row"),
        (["a"] * 9 + [None], "misses the level of 1 of 10 rows"),
        (["a"] * 9 + ["b"], "fewer than 5 rows \\('b'\\)"),
    ],
)
def test_levels_that_say_nothing_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        read_levels(given, 10)


def test_a_new_level_is_refused_by_its_name():
    with pytest.raises(InputError, match=r"not fitted with \('c'\). It knows 'a', 'b'"):
        Levels(("a", "b")).encode(["a", "c"], 2)


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "none"])
def test_targets_are_permuted_inside_levels(name):
    target = TARGETS[name]
    levels = np.arange(len(target)) % 3
    shuffled = target.inside(levels, 3).permuted(np.random.default_rng(0))
    assert not np.array_equal(shuffled.values, target.values, equal_nan=target.values.dtype.kind == "f")
    for level in range(3):
        own = [np.sort(one.values[levels == level], axis=0) for one in (target, shuffled)]
        np.testing.assert_array_equal(*own)
    np.testing.assert_array_equal(shuffled.labelled, target.labelled)


def test_levels_go_where_their_rows_go():
    target = TARGETS["several"].inside(np.arange(60) % 3, 3)
    part = target.take(np.arange(6, 12))
    assert part.levels.tolist() == [0, 1, 2, 0, 1, 2]
    assert part.n_levels == part.shown.n_levels == part.absent().n_levels == part.indicators().n_levels == 3
    assert part.columns[1].levels.tolist() == part.absent().levels.tolist() == part.levels.tolist()


def test_without_levels_permutations_are_what_they_were():
    target = make_target(np.arange(20) % 4, 20)
    once = target.permuted(np.random.default_rng(1)).values
    assert np.array_equal(once, target.inside(np.zeros(20, dtype=int), 1).permuted(np.random.default_rng(1)).values)
