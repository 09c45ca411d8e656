"""What is done otherwise with classes than with numbers, against the plain definition of each verb."""

from types import SimpleNamespace

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.inspection._tasks import TASKS, Answer, Classification, Regression

CLASSES = Classification(np.array(["ash", "birch", "cedar"]))
NUMBERS = Regression()


def public(task):
    return {name for name in dir(task) if not name.startswith("_")}


def test_both_tasks_have_the_same_verbs():
    assert public(CLASSES) == public(NUMBERS)
    assert {kind: task.kind for kind, task in TASKS.items()} == {"class": "class", "real": "real"}


def test_labels_are_codes_and_numbers_themselves():
    labels = np.array(["cedar", None, "ash", "elm"], dtype=object)
    assert CLASSES.encode(labels).tolist() == [2, -1, 0, -1]
    assert CLASSES.decode(np.array([2, 0])).tolist() == ["cedar", "ash"]
    assert NUMBERS.decode(NUMBERS.encode(np.array([1.5, np.nan])))[0] == 1.5
    np.testing.assert_array_equal(NUMBERS.check([1, None, 2, 3]), [1, np.nan, 2, 3])


def test_folds_get_equal_shares_of_classes_that_are_large_enough():
    codes = np.array([0, 0, 0, 1, 2])
    assert CLASSES.groups(codes, 3) is codes
    assert CLASSES.groups(codes, 4) is None
    assert NUMBERS.groups(codes, 2) is None


def test_chance_is_the_commonest_class():
    assert CLASSES.chance(np.array([0, 0, 1, 2])) == 0.5
    assert NUMBERS.chance(np.array([0.0, 1.0])) is None


def test_rows_are_shown_wrongly_as_another_class_or_by_half_a_spread():
    assert CLASSES.differs(np.array([0, 1]), np.array([0, 2])).tolist() == [False, True]
    output = np.array([-1.0, 1.0, -1.0, 1.0])
    assert NUMBERS.differs(output, output + [0.49, 0.51, -0.49, -0.51]).tolist() == [False, True, False, True]


def test_the_commonest_mistake_is_named():
    assert CLASSES.mistake(np.array([0, 0, 2]), np.array([1, 1, 0])) == "ash shown as birch"
    output = np.zeros(3)
    assert NUMBERS.mistake(output, np.array([1.0, 1.0, -9.0])) == "too high"
    assert NUMBERS.mistake(output, np.array([-1.0, -1.0, 9.0])) == "too low"


def test_regions_are_named_by_what_they_show():
    assert CLASSES.typical(np.array([2, 0, 2])) == 2
    assert NUMBERS.typical(np.array([5.0, 1.0, 2.0])) == 2
    values = [0.0, 1.0, 0.0]
    assert [CLASSES.region_name(values, k) for k in range(3)] == ["ash (1 of 2)", "birch", "ash (2 of 2)"]
    assert NUMBERS.region_name([1.23456], 0) == "output near 1.23"


def test_agreement_of_classes_and_correlation_of_numbers():
    agreed = CLASSES.compare(Answer(np.array([0, 1, 2, 2])), Answer(np.array([0, 1, 2, 0])))
    assert (agreed.agreement, agreed.certainty, agreed.output) == (0.75, None, None)
    same = NUMBERS.compare(Answer(np.array([1.0, 2.0, 4.0])), Answer(np.array([2.0, 4.0, 8.0])))
    assert same.output == pytest.approx(1)
    assert same.agreement is None


def test_scales_leave_out_the_extremes():
    numbers = np.arange(1001.0)
    view = SimpleNamespace(certainty=numbers, predicted=numbers, truth=np.array([np.nan, 500.0]))
    assert CLASSES.scale(view) == 900
    assert CLASSES.scale(SimpleNamespace(certainty=None)) == 1
    assert NUMBERS.scale(view) == (pytest.approx(5, abs=1), pytest.approx(995, abs=1))
    assert NUMBERS.scale(SimpleNamespace(predicted=np.ones(3), truth=None)) == (0.5, 1.5)


def test_a_model_that_says_one_thing_cannot_supervise():
    assert CLASSES.as_target(np.array([0, 2])).tolist() == ["ash", "cedar"]
    with pytest.raises(InputError, match="says 'birch' of every row"):
        CLASSES.as_target(np.array([1, 1]))
    assert NUMBERS.as_target(np.ones(2)).tolist() == [1, 1]
