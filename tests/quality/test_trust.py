"""The rule that makes a chance of what neighbours say: its formula, its limits, and that it finds a known truth."""

import json
from dataclasses import replace

import numpy as np
import pytest

from prismap import MapReport
from prismap.quality import Estimate, TargetScore, Trust, TrustRule
from prismap.quality._trust import calibration_error, learn_trust, null_trust, worst_tenth
from prismap.target import split_rows


def generated(n=4000, seed=0):
    """Rows whose chance of being right is known."""
    rng = np.random.default_rng(seed)
    vote, told = rng.integers(3, 11, n) / 10, rng.uniform(0.01, 0.99, n)
    truth = 1 / (1 + np.exp(-(-2 + 2 * vote + np.log(told / (1 - told)))))
    return vote, told, (rng.uniform(size=n) < truth).astype(float), truth


def test_the_rule_finds_the_chances_that_the_rows_were_drawn_with():
    vote, told, right, truth = generated()
    rule = learn_trust("class", vote, told, right)
    assert np.abs(rule.chances(vote, told) - truth).mean() < 0.02
    assert rule.calibration_error < 0.03
    assert rule.worst_tenth == pytest.approx(worst_tenth(truth, right), abs=0.02)
    assert rule.n_judged == 4000


def test_a_few_wrong_rows_say_nothing_about_where_they_are():
    vote, told, right, _ = generated(400)
    right[:] = 1.0
    right[:3] = 0.0
    rule = learn_trust("class", vote, told, right)
    assert np.isnan(rule.worst_tenth)
    assert rule.calibration_error < 0.05
    assert "too few of which are wrong" in str(Trust(np.ones(3), {}, rule))
    score = TargetScore("10-NN error", Estimate(0.01, 0.005), 0.5)
    report = MapReport(target="class", n_fitted=400, n_judged=400, trust=replace(rule, low=0.0), scores=(score,))
    assert "No row has neighbours that are more likely wrong about it than right." in report.verdict
    assert "Trust does not tell" not in report.verdict
    right[:20] = 0.0
    assert learn_trust("class", vote, told, right).worst_tenth >= 0


def test_the_rule_is_tried_on_units_that_it_was_not_learnt_from():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(12), 40)
    vote = rng.uniform(size=12)[unit]  # nothing but the unit tells which of its rows are right, and a vote names it
    right, told = rng.permutation(np.arange(12) % 2)[unit].astype(float), np.full(480, 0.5)
    by_rows, by_units = (learn_trust("class", vote, told, right, units) for units in (None, unit))
    assert by_rows.weights == by_units.weights
    assert by_units.calibration_error > by_rows.calibration_error + 0.05
    alone = learn_trust("class", vote, told, right, np.arange(480) // 100)
    assert np.isnan(alone.calibration_error)
    assert "too few independent ones" in str(Trust(np.ones(3), {}, alone))


def test_in_time_the_rule_is_tried_on_consecutive_units():
    parts = split_rows(60, 5, 0, units=np.arange(60) // 3, in_order=True)
    assert [(out.min(), out.max()) for _, out in parts] == [(12 * k, 12 * k + 11) for k in range(5)]
    long = np.concatenate([np.zeros(300, dtype=int), np.arange(1, 13)])  # one fold has them all
    assert np.isnan(learn_trust("class", *generated(312)[:3], long, in_order=True).calibration_error)


def test_chances_are_the_formula():
    rule = TrustRule("real", (-1.0, 2.0, 0.5), 10)
    found = rule.chances(np.array([0.7]), np.array([0.9]))
    assert found[0] == pytest.approx(1 / (1 + np.exp(1.0 - 2 * 0.7 - 0.5 * np.log(9.0))))


def test_agreement_never_lowers_trust():
    vote, told, right, _ = generated()
    rule = learn_trust("class", vote, told, 1.0 - right)  # the better they agree, the more often wrong
    assert rule.weights[1:] == (0.0, 0.0)
    assert rule.chances(vote, told) == pytest.approx(np.full(len(vote), (1 - right).mean()), abs=1e-3)


@pytest.mark.parametrize("right", [np.ones(40), np.zeros(40)])
def test_rows_that_are_all_right_or_all_wrong_leave_a_doubt(right):
    vote, told = np.linspace(0.3, 1, 40), np.linspace(0.1, 0.9, 40)
    trust = learn_trust("class", vote, told, right).chances(vote, told)
    assert 0 < trust.min() <= trust.max() < 1
    assert abs(trust.mean() - right.mean()) < 0.05


def test_without_a_target_trust_is_the_share_of_null_rows_that_keep_fewer():
    null = np.array([0.0, 0.1, 0.1, 0.3, 0.4])
    rule = null_trust(null, 10)
    for kept in np.arange(11) / 10:
        assert rule.chances(np.array([kept]))[0] == np.mean(null < kept - 1e-9)


def test_a_rule_survives_json_and_a_forged_one_is_refused():
    for rule in (learn_trust("class", *generated(200)[:3]), null_trust(np.array([0.1, 0.2]), 10)):
        found = TrustRule.from_dict(json.loads(json.dumps(rule.to_dict(), allow_nan=False)))
        assert found.weights == rule.weights
        assert (found.kind, found.n_judged) == (rule.kind, rule.n_judged)
        np.testing.assert_equal(found.worst_tenth, rule.worst_tenth)
    with pytest.raises(ValueError, match="cannot have 2 weights"):
        TrustRule.from_dict({**rule.to_dict(), "kind": "class", "weights": [0.0, 1.0]})


def test_calibration_error_is_that_of_ten_groups():
    _, _, right, truth = generated()
    assert calibration_error(truth, right) < 0.02
    assert calibration_error(np.full(4000, 0.99), right) > 0.3


def test_the_worst_tenth_is_counted_whatever_the_ties():
    right = np.ones(100)
    right[:10] = 0.0
    assert worst_tenth(np.arange(100.0), right) == 1.0
    assert worst_tenth(np.zeros(100), right) == pytest.approx(0.1)
    assert np.isnan(worst_tenth(np.zeros(100), np.ones(100)))
