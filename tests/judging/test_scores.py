"""What judged rows on maps say of the target, by slow twins and laws."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA

from prismap import PrisMap, judge
from prismap.judging._budget import FULL
from prismap.judging._refits import Judged, judged_folds, more_than_their_share
from prismap.judging._scores import class_shares, flattery_of, gap_of, joint, n_independent, recalls_of
from prismap.quality._errors import errors_of
from prismap.target import make_target

NONE = np.empty(0, dtype=np.intp)


def a_case(rng, noise, target, rows, others):
    """Rows on a map that shows their class through so much noise."""
    Y = target.values[:, None] + noise * rng.normal(size=(len(target), 2))
    return Judged(Y[rows], target.take(rows), Y[others], target.take(others), rows=rows)


@pytest.fixture
def maps():
    rng = np.random.default_rng(0)
    target = make_target(rng.integers(0, 3, size=200), 200)
    parts = np.array_split(rng.permutation(200), 4)
    folds = [(part, np.setdiff1d(np.arange(200), part)) for part in parts]
    better, worse = ([a_case(rng, noise, target, *fold) for fold in folds] for noise in (0.4, 0.8))
    return target, better, worse


def test_the_gap_of_two_errors_is_that_of_their_rows(maps):
    target, better, worse = maps
    for error in (kind for kind in errors_of(target) if kind.of_rows is not None):
        gap = gap_of(error, worse, better, NONE)
        assert gap == pytest.approx(joint(error, worse, NONE) - joint(error, better, NONE), abs=1e-12)
        rows = [
            float(error.rows(a.positions, a.target, a.fitted_positions, a.fitted_target)[i])
            - float(error.rows(b.positions, b.target, b.fitted_positions, b.fitted_target)[i])
            for a, b in zip(worse, better, strict=True)
            for i in range(len(a.target))
        ]
        assert gap.spread == pytest.approx(np.std(rows, ddof=1) / np.sqrt(200), rel=1e-9)
        assert gap_of(error, worse, worse, NONE) == 0.0
        assert gap_of(error, worse, worse, NONE).spread == 0.0


def test_rows_of_rare_classes_have_no_part_in_a_gap(maps):
    target, better, worse = maps
    error = errors_of(target)[0]
    rare = np.array([2])
    expected = joint(error, worse, rare) - joint(error, better, rare)
    assert gap_of(error, worse, better, rare) == pytest.approx(expected, abs=1e-12)


def test_flattery_compares_each_judged_row_with_itself_on_the_map(maps):
    target, _, worse = maps
    Y = target.values[:, None] + 0.1 * np.random.default_rng(1).normal(size=(200, 2))
    error = errors_of(target)[0]
    found = flattery_of(error, worse, Y, target, NONE)
    assert found == pytest.approx(joint(error, worse, NONE) - error.measure(Y, target), abs=1e-12)
    case = worse[0]
    own = error.rows(Y, target)[case.rows]
    gaps = error.rows(case.positions, case.target, case.fitted_positions, case.fitted_target) - own
    one = flattery_of(error, [case], Y, target, NONE)
    assert one.spread == pytest.approx(gaps.std(ddof=1) / np.sqrt(len(gaps)))
    some = worse[:2]
    mask = np.isin(np.arange(200), np.concatenate([case.rows for case in some]))
    expected = joint(error, some, NONE) - error.measure(Y, target, judged=mask)
    assert flattery_of(error, some, Y, target, NONE) == pytest.approx(expected, abs=1e-12)


def test_a_report_has_both():
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1, 2], 30)
    X = rng.normal(size=(90, 6))
    X[:, 0] += 2 * y
    score = PrisMap(random_state=0, supervision=0.8, perplexity=20).fit(X, y).report().scores[0]
    assert score.gain == pytest.approx(score.unsupervised - score.value, abs=1e-12)
    assert score.gain.spread < np.hypot(score.value.spread, score.unsupervised.spread)
    assert score.flattery == pytest.approx(score.value - score.in_sample, abs=1e-12)


# --- rare classes -----------------------------------------------------------------------------------------------------


@pytest.fixture
def unequal():
    """20 of 2,000 rows, of which a map names all right, and so do nine of ten others."""
    rng = np.random.default_rng(0)
    target = make_target(np.repeat([0, 1], [1980, 20]), 2000)
    return target, rng


def test_half_of_a_rare_class_is_judged_and_half_is_on_the_map(unequal):
    target, rng = unequal
    folds = judged_folds(target, rng, FULL, 0.01)
    [(kept, out)] = folds
    assert more_than_their_share(target, folds)
    assert (target.values[out] == 1).sum() == (target.values[kept] == 1).sum() == 10
    assert len(np.intersect1d(kept, out)) == 0
    assert len(kept) + len(out) == 2000


def test_rare_classes_are_judged_by_units():
    """Ten units of two rows each: no unit is torn apart."""
    codes = np.repeat([0, 1], [1980, 20])
    target = replace(make_target(codes, 2000), units=np.arange(2000) // 2)
    folds = judged_folds(target, np.random.default_rng(0), FULL, 0.01)
    for kept, out in folds:
        assert len(np.intersect1d(target.units[kept], target.units[out])) == 0
        assert 1 <= (codes[kept] == 1).sum() / 2 <= 9
    judged = np.concatenate([out for _, out in folds])
    assert len(np.unique(judged)) == len(judged)
    assert len(np.unique(target.units[judged][codes[judged] == 1])) == min(10, 5 * len(folds))


def test_folds_of_equal_classes_stay_as_they_are():
    target = make_target(np.arange(2000) % 4, 2000)
    folds = judged_folds(target, np.random.default_rng(0), FULL, 0.1)
    parts = target.splits(5, np.random.default_rng(0))
    assert np.array_equal(folds[0][1], parts[0])
    assert not more_than_their_share(target, folds)


def test_classes_count_by_their_share_of_all_rows_and_balanced_ones_alike(unequal):
    target, rng = unequal
    rows = np.concatenate([np.arange(390), np.arange(1980, 1990)])
    others = np.setdiff1d(np.arange(2000), rows)
    case = a_case(rng, 0.3, target, rows, others)
    balanced, plain, _ = errors_of(target)
    wrong = 1 - plain.rows(case.positions, case.target, case.fitted_positions, case.fitted_target)
    of_class = [1 - wrong[case.target.values == code].mean() for code in (0, 1)]
    for error, by_class, expected in (
        (plain, False, 1 - wrong.mean()),
        (plain, True, 0.99 * of_class[0] + 0.01 * of_class[1]),
        (balanced, False, np.mean(of_class)),
        (balanced, True, np.mean(of_class)),
    ):
        shares = class_shares(error, target, NONE, by_class=by_class)
        assert joint(error, [case], NONE, shares) == pytest.approx(expected)
    shares = class_shares(balanced, target, NONE, by_class=True)
    assert n_independent([case], NONE, shares) == int(4 / (1 / 390 + 1 / 10))
    variances = [np.var(wrong[case.target.values == code]) / (390, 10)[code] for code in (0, 1)]
    assert joint(balanced, [case], NONE, shares).spread == pytest.approx(np.sqrt(sum(variances)) / 2, rel=0.02)
    rare = next(one for one in recalls_of([case], ["most", "few"]) if one.name == "few")
    assert (float(rare.value), rare.n_rows, rare.n_units) == (pytest.approx(1 - of_class[1]), 10, 10)
    assert rare.value.spread > 0.05


def test_twenty_frauds_of_two_thousand_show():
    """They lie apart on the map, and a plain error says 0.0 % where chance gives 1.0 %."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = np.where(np.arange(1000) < 12, "fraud", "other")
    X[:12, 0] += 8
    report = judge(PCA(2), X, y)
    assert report.target_shows
    assert report.scores[0].name == "balanced vote error"
    assert report.rare == ()
    [fraud] = [one for one in report.recalls if one.name == "fraud"]
    assert fraud.value == 1.0
    assert fraud.n_units >= 6
