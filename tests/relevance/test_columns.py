"""Columns of a table judged by one measure, whatever they hold."""

import numpy as np
import pytest

from prismap.relevance import FeatureRelevance, column_relevance

RNG = np.random.default_rng(0)
Y = RNG.normal(size=(200, 2))
SIDE = np.where(Y[:, 0] > 0, "right", "left")
COLUMNS = {
    "x": Y[:, 0],
    "holes": np.where(np.arange(200) % 10 == 0, np.nan, Y[:, 0]),
    "side": SIDE,
    "constant": np.ones(200),
    "noise": RNG.normal(size=200),
    "day": np.datetime64("2024-01-01") + np.argsort(np.argsort(Y[:, 1])),
    "name": [f"row {i}" for i in range(200)],
    "empty": [np.nan] * 200,
}


def test_columns_of_all_kinds_are_judged_and_names_are_not():
    judged = column_relevance(COLUMNS, Y)
    relevant = dict(zip(judged.feature_names_in_, judged.relevant_, strict=True))
    assert relevant == {"x": True, "holes": True, "side": True, "constant": False, "noise": False, "day": True}


def test_a_constant_column_is_at_chance_and_so_are_shuffled_ones():
    judged = column_relevance(COLUMNS, Y)
    values = dict(zip(judged.feature_names_in_, judged.relevance_, strict=True))
    assert values["constant"] == pytest.approx(10 / 199)
    assert judged.baseline_ == pytest.approx(10 / 199, abs=4 * judged.spread_)
    assert (judged.baseline_, judged.spread_) == (judged.null_.mean(), judged.null_.std(ddof=1))


def test_numbers_get_what_feature_relevance_gives_them():
    X = np.column_stack([COLUMNS["x"], COLUMNS["noise"]])
    plain = FeatureRelevance(n_samples=1000, random_state=3).fit(X, Y)
    judged = column_relevance({"x": X[:, 0], "noise": X[:, 1]}, Y, random_state=3)
    np.testing.assert_array_equal(judged.relevance_, plain.relevance_)
    assert judged.threshold_ == plain.threshold_


def test_nothing_to_judge_is_none():
    assert column_relevance({"name": COLUMNS["name"]}, Y) is None
    assert column_relevance({"x": Y[:5, 0]}, Y[:5]) is None
