"""Maps of rows that are not independent: coin flips of units do not show, and what is done about units is stated."""

import json
import re

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from prismap import PrisMap, judge
from prismap.exceptions import InputError
from prismap.inspection import ModelView
from prismap.judging._refits import FORECAST, another_run, drawn_by_class, judged_folds, last_part
from prismap.map._choose import least_as_good
from prismap.map._columns import column_notes
from prismap.map._judged import MapMaker
from prismap.quality._trust import learn_trust
from prismap.relevance import FeatureRelevance
from prismap.target import Units, decide_units, make_target, read_groups

pd = pytest.importorskip("pandas")


def coins(seed, n_units, n_rows, noise, n_columns=8, spread=2.0):
    """Rows of units in any order, a coin per unit as label, and the unit of each row."""
    rng = np.random.default_rng(seed)
    unit = rng.permutation(np.repeat(np.arange(n_units), n_rows))
    X = spread * rng.normal(size=(n_units, n_columns))[unit] + noise * rng.normal(size=(len(unit), n_columns))
    return X, rng.permutation(np.arange(n_units) % 2)[unit], unit


def walks(seed):
    """Walks that return slowly, with labels in stretches that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    X = np.zeros((400, 6))
    for step in range(1, 400):
        X[step] = 0.97 * X[step - 1] + rng.normal(size=6)
    return X, rng.permutation(np.arange(20) % 2)[np.arange(400) // 20]


def answer(report):
    return report.statement("target_shows").answer


def test_columns_do_not_tell_the_coins_of_units():
    X, y, unit = coins(0, 30, 12, 0.3, n_columns=4)
    m = PrisMap(perplexity=10, random_state=0).fit(X, y, groups=unit)
    notes = column_notes(m.map_)
    assert notes
    assert not [note for note in notes if re.search(r"tells? about the target", note)]


# --- tables that were said to show ------------------------------------------------------------------------------------


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_coin_flips_of_copies_do_not_show(noise):
    X, y, unit = coins(0, 100, 4, noise, spread=1.0)
    m = PrisMap(random_state=0).fit(X, y)
    units = m.map_.given.dependence.units.codes
    assert np.array_equal(units[:, None] == units, unit[:, None] == unit)
    report = m.report(n_permutations=1)
    assert answer(report) in ("no", "cannot tell")
    assert m.supervision_ == 0
    first = report.statements[0]
    assert (first.id, first.level, first.n_units) == ("rows_depend", "warning", 100)
    assert report.statement("leaking_column") is None  # though every value stands there four times with its label
    assert first.figures["error_by_rows"] < first.figures["error_by_units"] - 0.1
    by_rows = PrisMap(copies="none", random_state=0).fit(X, y, groups="none")
    assert answer(by_rows.report(n_permutations=1)) in ("yes", "in part")


def test_patients_are_found_by_the_column_that_names_them():
    X, y, unit = coins(1, 60, 6, 0.6)
    table = pd.DataFrame(X, columns=[f"m{j}" for j in range(8)])
    table["diagnosis"], table["patient_id"] = np.array(["ill", "well"])[y], [f"P{u:03d}" for u in unit]
    m = PrisMap.from_table(table, "diagnosis", random_state=0)
    report = m.report(n_permutations=1)
    assert answer(report) in ("no", "cannot tell")
    first = report.statements[0]
    assert (first.id, first.unit, first.n_units) == ("rows_depend", "patient", 60)
    assert "'patient_id'" in first.words
    assert report.unit == "patient"


def test_an_order_is_found_where_labels_come_in_stretches():
    X, y = walks(0)
    m = PrisMap(random_state=0).fit(X, y)
    assert m.map_.target.in_order or not m.map_.target.independent
    assert answer(m.report(n_permutations=1)) in ("no", "cannot tell")


def test_small_classes_that_lie_apart_are_no_copies():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 9)
    X = 8 * rng.normal(size=(20, 8))[y] + rng.normal(size=(180, 8))
    assert decide_units(X, make_target(y, 180)).units is None
    assert decide_units(X, make_target(y % 2, 180)).units is not None  # nine of a kind, and no class says why


def test_rows_that_are_independent_have_no_units():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
    m = PrisMap(random_state=0).fit(X, y)
    assert m.map_.given.dependence.units is m.map_.given.dependence.suspected is None
    assert m.report(n_permutations=1).statement("rows_depend") is None


# --- groups -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def grouped():
    X, y, unit = coins(2, 40, 8, 1.0)
    return X, y, unit, PrisMap(random_state=0).fit(X, y, groups=unit)


def test_every_row_its_own_group_is_the_map_without_groups():
    X, y, _ = coins(2, 120, 1, 1.0)
    X[:, 0] += 3 * y
    plain, alone = (
        PrisMap(random_state=0).fit(X, y, groups="none"),
        PrisMap(random_state=0).fit(X, y, groups=np.arange(120)),
    )
    assert np.array_equal(plain.embedding_, alone.embedding_)
    assert [one.value for one in plain.report().scores] == [one.value for one in alone.report().scores]


def test_coin_flips_of_groups_do_not_show(grouped):
    _, _, _, m = grouped
    report = m.report(n_permutations=1)
    assert answer(report) in ("no", "cannot tell")
    assert (report.n_units, report.unit) == (40, "group")
    assert report.scores[0].value > 0.3


def test_what_groups_know_is_still_found():
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(60), 5)
    centres = 2 * rng.normal(size=(60, 6))
    X, y = centres[unit] + 0.7 * rng.normal(size=(300, 6)), (centres[:, 0] > 0).astype(int)[unit]
    report = PrisMap(random_state=0).fit(X, y, groups=unit).report(n_permutations=1)
    assert answer(report) in ("yes", "in part")
    assert report.scores[0].value < 0.3


def test_states_of_one_patient_are_told_apart_and_patients_are_not():
    rng = np.random.default_rng(5)
    unit = np.repeat(np.arange(30), 8)
    y = np.tile([0, 1], 120)
    X = rng.normal(size=(30, 5))[unit] + 0.5 * rng.normal(size=(240, 5))
    X[:, 0] += 3 * y
    report = PrisMap(random_state=0).fit(X, y, groups=unit).report(n_permutations=1)
    assert report.statement("samples_told_apart").answer == "yes"
    assert report.statement("units_told_apart").answer == "cannot tell"


def test_few_groups_of_a_class_cannot_tell():
    X, y, unit = coins(4, 12, 20, 0.3)
    X[:, 0] += 9 * y  # however clear it looks
    report = PrisMap(random_state=0).fit(X, y, groups=pd.Series(unit, name="patient_id")).report(n_permutations=1)
    assert answer(report) == "cannot tell"
    assert "from 6 patients of a class" in report.statement("target_shows").words


def test_fewer_groups_than_folds_are_not_judged():
    X, y, unit = coins(4, 4, 30, 0.3)
    report = PrisMap(random_state=0).fit(X, y, groups=unit).report(n_permutations=1)
    assert answer(report) == "cannot tell"
    assert "4 groups" in report.unjudged


def test_a_map_keeps_its_groups_in_its_file(grouped, tmp_path):
    X, y, unit, m = grouped
    m.save(tmp_path / "map.prismap")
    again = PrisMap.load(tmp_path / "map.prismap")
    assert np.array_equal(again.map_.target.units, m.map_.target.units)
    assert again.map_.target.unit_name == "group"
    assert again.score(X, y, groups=unit) == m.score(X, y, groups=unit)
    assert np.array_equal(again.transform(X[:5] + 0.01), m.transform(X[:5] + 0.01))


def test_a_score_by_groups_leaves_out_their_own_votes(grouped):
    X, y, unit, m = grouped
    near = X + 0.01
    assert m.score(near, y) > m.score(near, y, groups=unit) + 0.1
    assert m.score(near, y, groups=unit + 1000) == m.score(near, y)  # strangers
    with pytest.raises(InputError, match="fitted with groups"):
        PrisMap(random_state=0).fit(X, y, groups="none").score(X, y, groups=unit)


def test_held_out_rows_are_of_other_groups():
    X, y, unit = coins(5, 100, 6, 0.5)
    m = PrisMap(fit_rows=200, random_state=0).fit(X, y, groups=unit)
    report = m.report(n_permutations=1)
    assert report.judged == "cross-validation"  # every group has rows on the map
    assert answer(report) in ("no", "cannot tell")


def test_rows_beside_the_map_are_trusted_by_other_groups():
    X, y, unit = coins(5, 60, 8, 0.3)
    m = PrisMap(fit_rows=240, random_state=0).fit(X, y, groups=unit)
    m.report(n_permutations=1)
    given, positions = m.map_.given, m.positions()
    row = next(row for row in given.others if np.isfinite(m.trust_.value[row]))
    voters = given.fitted[unit[given.fitted] != unit[row]]
    near = voters[np.argsort(np.linalg.norm(positions[voters] - positions[row], axis=1))[:10]]
    agree = np.bincount(y[near]).max() / 10
    assert m.trust_.parts["vote"][row] == pytest.approx(agree)
    in_data = voters[np.argsort(np.linalg.norm(X[voters] - X[row], axis=1))[:10]]
    assert m.trust_.parts["told"][row] == pytest.approx(np.mean(y[in_data] == np.bincount(y[near]).argmax()))
    others = np.isfinite(m.trust_.value) & np.isin(np.arange(len(X)), given.others)
    own = np.isfinite(m.trust_.value) & ~others
    # Coins of groups cannot be known, so rows beside the map are trusted no more than those on it.
    assert m.trust_.parts["vote"][others].mean() < m.trust_.parts["vote"][own].mean() + 0.03
    assert m.trust_.value[others].mean() < m.trust_.value[own].mean() + 0.05


def test_trust_is_calibrated_on_groups_that_it_was_not_learnt_from(grouped):
    m = grouped[3]
    rule, cases = m.report(n_permutations=1).trust, m.judgement_.comparison.on_map
    vote, told, right, units = (
        np.concatenate(parts)
        for parts in zip(
            *(
                (case.evidence.vote, case.evidence.told, case.evidence.right(case.target.values), case.target.units)
                for case in cases
            ),
            strict=True,
        )
    )
    by_rows, by_units = (learn_trust("class", vote, told, right, who).calibration_error for who in (None, units))
    assert rule.calibration_error == by_units != by_rows


def test_a_choice_counts_groups_and_not_their_rows():
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(4), 100)
    losses = np.stack([np.array([0.9, 0.1, 0.6, 0.5])[unit], np.full(400, 0.4)]) + 0.01 * rng.normal(size=(2, 400))
    assert [least_as_good(losses, [0.0, 0.8], units) for units in (np.arange(400), unit)] == [1, 0]


@pytest.mark.parametrize("in_order", [False, True])
def test_draws_of_judged_rows_have_all_units(in_order):
    unit = np.repeat(np.arange(20), 50)
    codes = np.where(unit < 18, 0, 1)
    codes[unit == 3] = np.arange(50) < 1  # a class that few rows of a unit have
    target = make_target(codes, 1000).with_units(Units(unit, "patient", in_order=in_order))
    drawn = drawn_by_class(target, np.arange(1000), 100, np.random.default_rng(0))
    assert np.bincount(unit[drawn])[:3].tolist() == [5, 5, 5]
    assert set(unit[drawn][codes[drawn] == 1]) == {3, 18, 19}
    assert len(drawn_by_class(target, np.arange(1000), 10, np.random.default_rng(0))) < 25
    every = make_target(codes, 1000)
    expected = np.sort(np.random.default_rng(0).choice(np.arange(1000), 100, replace=False))
    assert set(expected) <= set(drawn_by_class(every, np.arange(1000), 100, np.random.default_rng(0)))


def test_another_run_leaves_out_whole_units():
    X, y, unit = coins(2, 30, 5, 1.0)
    m = PrisMap(random_state=0).fit(X, y, groups=unit)
    kept, _ = another_run(MapMaker(m.map_), m.map_.target, 0, False)
    assert len(np.unique(unit[kept])) == 24
    assert len(kept) == 120


def test_maps_of_others_are_judged_by_groups():
    X, y, unit = coins(6, 24, 15, 0.1, n_columns=3)
    Y = PCA(2).fit_transform(X)
    by_rows, by_groups = (judge(X, Y, y, groups=groups).scores[0].value for groups in ("none", unit))
    assert by_rows < 0.2
    assert by_groups > 0.35
    report = judge(PCA(2), X, y, groups=unit, n_permutations=1)
    assert report.n_units == 24
    assert report.scores[0].value > 0.35


def test_folds_of_judging_leave_out_whole_units_and_in_time_a_gap():
    unit = np.arange(400) // 10
    timed = make_target(np.arange(400) % 2, 400).with_units(Units(unit, "stretch of time", in_order=True))
    for kept, out in judged_folds(timed, np.random.default_rng(0)):
        assert np.abs(unit[kept][:, None] - unit[out]).min() == 2
    [(kept, out)] = last_part(timed, np.random.default_rng(0), 5000)
    assert unit[out].min() == 32
    assert unit[kept].max() == 30


def test_a_forecast_is_judged_on_the_last_fifth():
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(300, 4)), rng.permutation(300)
    y = (X[:, 0] > 0).astype(int)
    m = PrisMap(random_state=0).fit(X, y, order=time)
    report = m.report(n_permutations=1, forecast=True)
    assert report.judged == FORECAST
    assert 40 <= report.n_judged <= 80
    assert m.report(n_permutations=1).judged == "cross-validation"
    with pytest.raises(InputError, match="has no order"):
        PrisMap(random_state=0).fit(X, y, groups="none").report(forecast=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": [1, 2]}, "one entry per row"), ({"groups": "patient"}, "or be 'none'"),
        ({"groups": [0, 1] * 60, "order": range(120)}, "give one of them"), ({"order": [1, 2]}, "one entry per row"),
        ({"order": [None] * 120}, "no value in 120 rows"), ({"order": [0, 1] * 60}, "at least 6 are needed"),
    ],
)  # fmt: skip
def test_groups_and_orders_that_cannot_be_are_refused(options, message):
    X, y, _ = coins(0, 120, 1, 1.0)
    with pytest.raises(InputError, match=message):
        PrisMap(random_state=0).fit(X, y, **options)


# --- views and features -----------------------------------------------------------------------------------------------


def test_the_picture_of_a_model_is_judged_by_groups():
    X, y, unit = coins(7, 30, 5, 0.2)
    model = LogisticRegression().fit(X, y)
    view = ModelView.from_estimator(model, X, y, groups=unit, grid_resolution=20)
    assert view.map.map_.target.n_units == 30
    plain = ModelView.from_estimator(model, X, y, map=PrisMap(random_state=0), grid_resolution=20)
    assert not np.array_equal(view.fidelity_.wrong, plain.fidelity_.wrong)


def test_features_of_groups_are_shuffled_between_groups():
    X, _, unit = coins(8, 60, 5, 0.02, n_columns=2)
    noise = np.random.default_rng(0).normal(size=60)[unit]  # the same for all rows of a group, and nothing else
    X, Y = np.column_stack([X[:, :2], noise]), X[:, :2]
    by_rows, by_groups = (FeatureRelevance(random_state=0).fit(X, Y, groups=groups) for groups in (None, unit))
    assert by_rows.relevant_[2]
    assert not by_groups.relevant_[2]
    assert by_groups.relevant_[:2].all()


# --- command line -----------------------------------------------------------------------------------------------------


def test_the_command_line_goes_by_groups(tmp_path, capsys):
    from prismap.cli.main import main

    X, y, unit = coins(9, 30, 5, 0.3)
    table = pd.DataFrame(X, columns=[f"m{j}" for j in range(8)])
    table["state"], table["ward"], table["x"], table["y"] = np.array(["a", "b"])[y], unit, X[:, 0], X[:, 1]
    table.to_csv(tmp_path / "rows.csv", index=False)
    options = ["--target", "state", "--groups", "ward", "--budget", "quick", "--json"]
    assert main(["map", str(tmp_path / "rows.csv"), "--drop", "x,y", *options, "-o", str(tmp_path / "out")]) == 0
    report = json.loads(capsys.readouterr().out)["report"]
    assert (report["n_units"], report["unit"]) == (30, "ward")
    command = ["judge", str(tmp_path / "rows.csv"), "--x", "x", "--y", "y", "--target", "state", "--groups", "ward"]
    assert main([*command, "--json", "-o", str(tmp_path / "judged")]) == 0
    assert json.loads(capsys.readouterr().out)["x, y"]["n_units"] == 30
    assert main(["relevance", str(tmp_path / "out"), str(tmp_path / "rows.csv"), "--groups", "ward"]) == 0
    assert main(["map", str(tmp_path / "rows.csv"), "--groups", "wards", "-o", str(tmp_path / "no")]) == 2
    assert "no column 'wards' for groups; did you mean 'ward'?" in capsys.readouterr().err


def test_groups_have_the_name_of_their_column():
    assert read_groups(pd.Series([1, 1, 2], name="donor"), 3).name == "donor"
