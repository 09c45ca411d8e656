"""A column of no interest in the report: it alone, the target inside its levels, and whether it shows on the map."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

from metrics.test_shift import batches
from prismap import PrisMap, judge
from prismap.exceptions import InputError
from prismap.judging._confounding import alone, confounding_of, level_error, levels_shown, permuted_levels
from prismap.judging._refits import Judged
from prismap.quality import Estimate, MapReport, NullResult
from prismap.quality._confounding import Confounding, answer_of
from prismap.target import Units, make_target, read_groups


def generator():
    return np.random.default_rng(0)


def in_levels(y, levels):
    return make_target(y, len(y)).inside(np.asarray(levels), int(np.max(levels)) + 1)


def test_levels_alone_predict_what_goes_with_them():
    y, other = np.repeat([0, 1, 2], 40), np.tile([0, 1], 60)
    error, null = alone(in_levels(y, y), generator())
    assert float(error) == 0.0
    assert null.chance == pytest.approx(2 / 3, abs=0.1)
    assert null.mean > 0.5
    error, null = alone(in_levels(y, other), generator())
    assert abs(float(error) - null.mean) < 3 * null.spread + 0.02


def test_levels_alone_are_the_commonest_class_of_the_other_folds():
    rng = generator()
    y, levels, folds = rng.integers(3, size=90), rng.integers(2, size=90), np.arange(90) % 5
    wrong = []
    for i in range(90):
        others = (folds != folds[i]) & (levels == levels[i])
        wrong.append(np.bincount(y[others], minlength=3).argmax() != y[i])
    assert float(level_error(np.eye(3)[y], levels, folds)) == pytest.approx(np.mean(wrong))


def test_levels_alone_explain_the_variance_between_them():
    rng = generator()
    levels = rng.integers(4, size=2000)
    error, null = alone(in_levels(levels + rng.normal(size=2000), levels), rng)
    assert 1 - float(error) ** 2 == pytest.approx(1.25 / 2.25, abs=0.05)
    assert null.mean == pytest.approx(1.0, abs=0.01)


def test_levels_of_units_are_permuted_by_units_and_judged_by_their_errors():
    rng = generator()
    unit = np.repeat(np.arange(24), 10)
    y, levels = (np.arange(24) % 2)[unit], (np.arange(24) // 2 % 3)[unit]
    target = in_levels(y, levels).with_units(read_groups(unit, 240))
    shuffled = permuted_levels(target, rng)
    assert all(len(set(shuffled[unit == u])) == 1 for u in range(24))
    assert not np.array_equal(shuffled, levels)
    assert all(np.array_equal(np.sort(shuffled[y == c]), np.sort(levels[y == c])) for c in (0, 1))
    centres = rng.normal(size=(24, 2))  # that have nothing to do with levels
    Y = centres[unit] + 0.01 * rng.normal(size=(240, 2))
    out = unit % 4 == 0  # whole units, so that the votes are the same
    by_units, by_rows = (
        confounding_of(Y, one, [Judged(Y[out], one.take(out), Y[~out], one.take(~out))], 0)
        for one in (target, target.with_units(Units(np.arange(240))))
    )
    assert by_units.level_permuted.spread > 1.3 * by_rows.level_permuted.spread
    assert by_units.alone.spread > 2 * by_rows.alone.spread
    assert float(by_units.inside) == float(by_rows.inside)
    assert by_units.inside.spread > 2 * by_rows.inside.spread


def on_map(Y, y, levels):
    """Figures of coordinates, of which every third row is judged by the others."""
    target, out = in_levels(y, levels), np.arange(len(y)) % 3 == 0
    case = Judged(Y[out], target.take(out), Y[~out], target.take(~out))
    return confounding_of(Y, target, [case], 0, column="site", raw=Y)


def test_what_only_levels_show_does_not_remain_inside_them():
    rng = generator()
    levels = rng.integers(2, size=400)
    y = np.where(rng.random(400) < 0.9, levels, 1 - levels)
    found = on_map(np.column_stack([10.0 * levels, np.zeros(400)]) + rng.normal(size=(400, 2)), y, levels)
    assert (found.is_confounded, found.target_remains, found.level_shows) == (True, False, True)
    confounded, inside, shows = found.statements
    assert (confounded.level, confounded.answer, confounded.about) == ("warning", "yes", ("site",))
    assert (inside.answer, shows.answer) == ("no", "yes")
    assert str(found).startswith("Column 'site' goes with the target: its 2 levels alone predict it with an error of ")


def test_what_the_target_shows_by_itself_remains_and_the_level_does_not_show():
    rng = generator()
    levels = rng.integers(2, size=400)
    y = np.where(rng.random(400) < 0.9, levels, 1 - levels)
    found = on_map(np.column_stack([5.0 * y, np.zeros(400)]) + rng.normal(size=(400, 2)), y, levels)
    assert (found.is_confounded, found.target_remains, found.level_shows) == (True, True, False)
    assert float(found.level) < 0.2  # the target alone shows as much
    assert [(one.level, one.answer) for one in found.statements] == [
        ("detail", "yes"), ("headline", "yes"), ("headline", "no")
    ]  # fmt: skip


def test_a_number_is_judged_as_classes_are():
    rng = generator()
    levels = rng.integers(3, size=300)
    y = levels + rng.normal(size=300)
    found = on_map(np.column_stack([y, rng.normal(size=300)]), y, levels)
    assert (found.is_confounded, found.target_remains, found.has_classes) == (True, True, False)
    assert found.variance_between == pytest.approx(0.4, abs=0.15)
    assert "standard deviations" in str(found)


def test_levels_permuted_among_rows_of_one_class_keep_what_the_target_shows():
    y = np.repeat([0, 1], 100)
    Y = np.column_stack([100.0 * y, np.random.default_rng(1).normal(size=200)])
    error, null = levels_shown(Y, in_levels(y, y), generator())
    assert float(error) == null.mean == 0.0


@pytest.fixture(scope="module")
def reports():
    """Reports on a map of a true effect, and on one of a target that is permuted inside levels."""
    X, y, level = batches(n_rows=300, effect=3.0, correlation=0.8, seed=3)
    found = {}
    for name, target in {"true": y, "permuted": in_levels(y, level).permuted(generator()).values}.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = PrisMap(perplexity=15, random_state=0).fit(X, target, given=level).report(budget="quick")
    return found


def test_a_report_has_both_halves(reports):
    found = reports["true"].confounding
    assert (found.is_confounded, found.target_remains, found.level_shows) == (True, True, False)
    assert float(found.level_in_data) < 0.1
    assert reports["true"].target_shows
    assert float(reports["true"].scores[0].value) < 0.15  # on held-out rows, which are placed in their levels
    stated = {one.id: one.answer for one in reports["true"].statements}
    assert (stated["column_confounded"], stated["target_inside_levels"], stated["column_shows"]) == ("yes", "yes", "no")


def test_few_rows_cannot_tell():
    null = NullResult((0.40, 0.45, 0.5, 0.55, 0.6), 0.5)
    assert [answer_of(Estimate(error), null) for error in (0.1, 0.4, 0.52)] == ["yes", "cannot tell", "cannot tell"]
    assert answer_of(Estimate(0.5), NullResult((0.49, 0.5, 0.51), 0.5)) == "no"


def test_a_target_permuted_inside_levels_does_not_show(reports):
    found = reports["permuted"].confounding
    assert found.is_confounded
    assert not found.target_remains
    assert not reports["permuted"].target_shows


def test_the_figures_go_to_a_file_and_back(reports):
    found = reports["true"].confounding
    assert Confounding.from_dict(found.to_dict()) == found
    stored = reports["true"].to_dict()
    assert MapReport.from_dict(stored).confounding == found
    with pytest.raises(InputError, match="n_levels"):
        MapReport.from_dict({**stored, "confounding": {**stored["confounding"], "n_levels": "two"}})


def test_any_map_is_judged_by_levels_that_it_does_not_know():
    X, y, level = batches(n_rows=200, effect=0.0, correlation=0.8)
    site = pd.Series(np.where(level == 0, "north", "south"), name="site")
    report = judge(X, X[:, :2], y, given=site)
    found = report.confounding
    assert (found.column, found.is_confounded, found.target_remains, found.level_shows) == ("site", True, False, True)
    report = judge(PCA(2), X, y, given=site, budget="quick")
    assert not report.confounding.target_remains
    assert not report.target_shows


def test_a_fitted_map_is_judged_by_its_own_levels():
    X, y, level = batches(n_rows=60)
    with pytest.raises(InputError, match="the levels it was fitted with"):
        judge(PrisMap(supervision=0, perplexity=5).fit(X, y), given=level)
