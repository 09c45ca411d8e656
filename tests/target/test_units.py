"""Rows that are not independent: folds, draws, permutations, votes and standard errors go by units."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from prismap._util.evidence import error_of_mean, paired_gap
from prismap.exceptions import InputError
from prismap.map._methods import smoothness_rows
from prismap.metrics import FisherMetric
from prismap.metrics.posteriors import Parzen
from prismap.metrics.posteriors._evidence import evidence_rows
from prismap.metrics.posteriors._trees import fit_trees
from prismap.quality import Estimate
from prismap.quality._errors import errors_of
from prismap.quality._votes import poll
from prismap.target import Units, equal_rows, join_units, make_target, read_groups
from prismap.target._folds import (
    commonest_groups,
    consecutive_folds,
    deal_units,
    draw_units,
    exchange_units,
    partners,
    shuffle_inside,
    split_rows,
)


def patients(seed=0, n_patients=30, n_rows=240, n_classes=2):
    """Rows, their classes, which are those of their patients, and the patients."""
    rng = np.random.default_rng(seed)
    unit = np.sort(rng.integers(n_patients, size=n_rows))
    centres, classes = 2 * rng.normal(size=(n_patients, 6)), rng.integers(n_classes, size=n_patients)
    return centres[unit] + 0.1 * rng.normal(size=(n_rows, 6)), classes[unit], unit


def with_patients(y, unit, kind="class"):
    return make_target(y, len(y), kind).with_units(read_groups(unit, len(y)))


def whole(values, unit):
    """Whether all rows of a unit have the same value."""
    return all(len(np.unique(values[unit == one])) == 1 for one in np.unique(unit))


# --- folds and draws --------------------------------------------------------------------------------------------------


def test_folds_never_tear_a_unit_and_share_out_the_classes():
    _, y, unit = patients()
    folds = deal_units(y, unit, 5, np.random.default_rng(0))
    assert whole(folds, unit)
    shares = np.array([[np.sum((folds == fold) & (y == code)) for code in (0, 1)] for fold in range(5)])
    largest = np.bincount(unit).max()
    assert (shares.max(axis=0) - shares.min(axis=0) <= largest).all()


def test_one_labelled_row_stands_for_each_unit():
    y, unit = np.array([np.nan, 1.0, 0.0, 2.0, np.nan, np.nan]), np.array([0, 0, 1, 1, 2, 2])
    assert with_patients(y, unit, "real").representatives().tolist() == [1, 2, 4]
    assert make_target(np.arange(4) % 2, 4).representatives().tolist() == [0, 1, 2, 3]


def test_folds_of_single_rows_are_dealt_as_before():
    y = np.random.default_rng(0).integers(3, size=90)
    plain, units = make_target(y, 90), with_patients(y, np.arange(90))
    rows = np.arange(90)
    one, two = (target.folds(rows, 10, np.random.default_rng(1)) for target in (plain, units))
    assert np.array_equal(one, two)
    assert units.independent


@pytest.mark.parametrize("kind", ["class", "real"])
def test_splits_leave_whole_units_out(kind):
    _, y, unit = patients()
    values = y if kind == "class" else y + 0.01 * unit + 0.001 * np.arange(len(y))
    parts = with_patients(values, unit, kind).splits(5, np.random.default_rng(0))
    assert np.array_equal(np.sort(np.concatenate(parts)), np.arange(len(y)))
    part_of = np.empty(len(y), dtype=int)
    for number, part in enumerate(parts):
        part_of[part] = number
    assert len(parts) == 5
    assert whole(part_of, unit)


@pytest.mark.parametrize("kind", ["class", "real"])
def test_folds_of_a_target_are_of_whole_units(kind):
    _, y, unit = patients()
    target = with_patients(y if kind == "class" else np.arange(len(y)) % 7 + 0.1 * unit, unit, kind)
    rows = np.setdiff1d(np.arange(len(y)), [3, 50, 51])
    folds = target.folds(rows, 5, np.random.default_rng(0))
    assert whole(folds, unit[rows])
    assert len(np.unique(folds)) == 5


@pytest.mark.parametrize("groups", [None, "classes"])
def test_parts_of_rows_are_whole_units(groups):
    _, y, unit = patients()
    parts = split_rows(len(y), 5, 0, None if groups is None else y, unit)
    assert np.array_equal(np.sort(np.concatenate([out for _, out in parts])), np.arange(len(y)))
    assert all(not set(unit[kept]) & set(unit[out]) for kept, out in parts)


def test_folds_in_time_are_consecutive():
    unit = np.concatenate([np.arange(97) // 5, [19] * 30, np.arange(20, 27)])  # of unequal length
    folds = consecutive_folds(unit, 4)
    assert whole(folds, unit)
    assert (np.diff(folds) >= 0).all()
    assert len(np.unique(folds)) == 4
    mixed = np.random.default_rng(0).permutation(len(unit))  # time does not run with the rows
    timed = make_target(mixed % 2, len(unit)).with_units(Units(unit, in_order=True)).take(mixed)
    assert np.array_equal(timed.folds(np.arange(len(unit)), 4, np.random.default_rng(0)), folds[mixed])
    parts = split_rows(len(unit), 4, 0, units=unit, in_order=True)
    assert all(np.array_equal(out, np.flatnonzero(folds == fold)) for fold, (_, out) in enumerate(parts))


def test_a_draw_of_whole_units_leaves_none_in_part_and_no_class_out():
    _, y, unit = patients()
    y = np.where(unit == 0, 2, y)
    rows = draw_units(y, unit, 60, np.random.default_rng(0))
    assert set(np.unique(y[rows])) == {0, 1, 2}
    assert not np.intersect1d(unit[rows], unit[np.setdiff1d(np.arange(len(y)), rows)]).size
    target = make_target(y, len(y)).with_units(Units(unit))
    assert np.array_equal(target.draw(60, np.random.default_rng(0), whole_units=True), rows)
    assert len(target.draw(60, np.random.default_rng(0))) == 60  # by rows, where nothing is told from it
    large = np.repeat([0, 1], 100)
    one = draw_units(np.zeros(200, dtype=int), large, 30, np.random.default_rng(0))
    assert len(one) == 100  # the first unit, though there is no room for it


def test_a_draw_has_equal_shares_of_all_units():
    unit = np.repeat(np.arange(10), [5, 5, 10, 10, 20, 20, 30, 30, 35, 35])
    target = with_patients(np.arange(200) % 2, unit)
    drawn = target.share_of_units(40, np.random.default_rng(0))
    assert np.bincount(unit[drawn]).tolist() == [1, 1, 2, 2, 4, 4, 6, 6, 7, 7]
    assert len(target.share_of_units(6, np.random.default_rng(0))) == 6
    assert np.array_equal(target.share_of_units(500, np.random.default_rng(0)), np.arange(200))


def test_commonest_group_of_each_unit():
    assert commonest_groups(np.array([3, 3, 7, 7, 7, 3]), np.array([0, 0, 0, 1, 1, 2])).tolist() == [0, 1, 0]


def test_apart_leaves_out_the_unit_and_in_time_the_next_one():
    unit = np.arange(40) // 10
    target = with_patients(np.arange(40) % 2, unit)
    assert np.unique(unit[target.apart(np.arange(40), np.array([3]))]).tolist() == [1, 2, 3]
    timed = replace(target, in_order=True)
    assert np.unique(unit[timed.apart(np.arange(40), np.array([3]))]).tolist() == [2, 3]


def test_spread_gives_all_rows_of_a_unit_its_fold():
    target = with_patients([0, 1, 0, 1, 0], ["a", "a", "b", "b", "c"])
    assert target.spread(np.array([4, -1, -1, 2, -1])).tolist() == [4, 4, 2, 2, -1]


# --- permutations -----------------------------------------------------------------------------------------------------


def test_permuted_classes_stay_whole_inside_units():
    _, y, unit = patients()
    permuted = with_patients(y, unit).permuted(np.random.default_rng(0))
    assert whole(permuted.values, unit)
    assert not np.array_equal(permuted.values, y)


def test_units_of_equal_size_exchange_their_values():
    rng = np.random.default_rng(0)
    unit, values = np.repeat(np.arange(20), 4), rng.normal(size=80)
    mixed = exchange_units(values, np.arange(80), unit, rng)
    assert np.array_equal(np.sort(mixed), np.sort(values))
    before, after = ({frozenset(v[unit == u].tolist()) for u in range(20)} for v in (values, mixed))
    assert before == after
    # Inside a unit they come in any order: a pattern that all units share would survive an exchange of units.
    pattern = np.tile(np.arange(4), 20)
    assert not np.array_equal(exchange_units(pattern, np.arange(80), unit, rng), pattern)


def test_units_of_one_row_are_permuted_plainly():
    values = np.arange(50.0)
    mixed = exchange_units(values, np.arange(50), np.arange(50), np.random.default_rng(0))
    assert np.array_equal(np.sort(mixed), values)


def test_partners_are_a_permutation_of_units_of_about_one_size():
    sizes = np.concatenate([np.full(10, 2), np.full(10, 3), np.full(10, 40), [500]])
    partner = partners(sizes, np.random.default_rng(0))
    assert np.array_equal(np.sort(partner), np.arange(31))
    assert (sizes[partner[:20]] <= 3).all()


def test_unlabelled_rows_stay_unlabelled():
    _, y, unit = patients()
    y = np.where(np.arange(len(y)) % 5 == 0, -1, y)
    permuted = with_patients(y, unit).permuted(np.random.default_rng(0))
    assert np.array_equal(permuted.values < 0, y < 0)


def test_a_permutation_inside_units_keeps_what_each_of_them_has():
    rng = np.random.default_rng(0)
    unit, values = rng.integers(12, size=100), rng.normal(size=100)
    mixed = shuffle_inside(values, np.arange(100), unit, rng)
    assert not np.array_equal(mixed, values)
    assert all(np.array_equal(np.sort(mixed[unit == u]), np.sort(values[unit == u])) for u in np.unique(unit))


def test_a_target_permuted_inside_keeps_what_each_unit_has():
    _, _, unit = patients()
    y = np.arange(len(unit)) % 2
    rows = with_patients(y, unit).permuted_rows_inside(np.random.default_rng(0))
    assert np.array_equal(unit[rows], unit)
    assert not np.array_equal(rows, np.arange(len(unit)))
    assert np.array_equal(np.sort(rows), np.arange(len(unit)))


def test_part_of_a_target_keeps_its_units():
    _, y, unit = patients()
    part = make_target(y, len(y)).with_units(Units(unit)).take(np.arange(0, len(y), 3))
    assert np.array_equal(part.units, unit[::3])
    assert np.array_equal(part.dependent_pairs, unit[::3, None] == unit[::3])
    more = replace(part, in_order=True).joined(np.array([0, 1]))
    assert np.array_equal(more.apart(np.arange(len(more)), np.array([len(part)])), np.arange(len(part)))


def test_whether_a_target_varies_inside_units():
    _, y, unit = patients()
    assert not with_patients(y, unit).varies_inside
    assert with_patients(np.arange(len(y)) % 2, unit).varies_inside
    assert not make_target(y, len(y)).varies_inside


# --- votes and standard errors ----------------------------------------------------------------------------------------


def test_rows_of_the_same_unit_have_no_vote():
    X, y, unit = patients()
    target = with_patients(y, unit)
    votes = poll(X[:, :2], X[:, :2], target, same=True)
    for row in range(0, len(X), 17):
        D = np.linalg.norm(X[:, :2] - X[row, :2], axis=1)
        others = np.flatnonzero(unit != unit[row])
        near = others[np.argsort(D[others])[:10]]
        assert votes.seats[row].tolist() == np.bincount(y[near], minlength=2).tolist()


def test_rows_of_the_next_stretch_of_time_have_no_vote():
    position, unit = np.arange(60.0)[:, None] * np.ones((1, 2)), np.arange(60) // 6
    target = replace(with_patients(unit % 2, unit), in_order=True)
    votes = poll(position, position, target, same=True, n_neighbors=1)
    # The nearest row that is not of its own or of a neighbouring stretch is two stretches away: of the same parity.
    assert (votes.named == unit % 2).all()


def test_votes_of_another_map_bar_the_own_unit_and_not_only_the_row():
    X, y, unit = patients()
    judged, voters = np.arange(0, 240, 2), np.arange(1, 240, 2)
    target = with_patients(y, unit)
    who = {"units": unit[judged], "fitted_units": unit[voters]}
    seats = poll(X[judged, :2], X[voters, :2], target.take(voters), **who).seats
    for place in range(0, len(judged), 13):
        others = voters[unit[voters] != unit[judged[place]]]
        D = np.linalg.norm(X[others, :2] - X[judged[place], :2], axis=1)
        assert seats[place].tolist() == np.bincount(y[others[np.argsort(D)[:10]]], minlength=2).tolist()
    error = errors_of(target)[0]
    by_units = error.measure(X[judged, :2], target.take(judged), X[voters, :2], target.take(voters))
    votes = poll(X[judged, :2], X[voters, :2], target.take(voters), n_neighbors=error.n_neighbors, **who)
    assert float(by_units) == pytest.approx(1 - votes.right(y[judged]).mean())
    assert by_units.spread == pytest.approx(error_of_mean(1 - votes.right(y[judged]), unit[judged]))


def test_error_of_a_mean_over_units():
    rng = np.random.default_rng(0)
    values, unit = rng.normal(size=60), rng.integers(9, size=60)
    sums = np.array([np.sum(values[unit == u] - values.mean()) for u in range(9)])
    assert error_of_mean(values, unit) == pytest.approx(np.sqrt(9 / 8 * np.sum(sums**2)) / 60)
    assert error_of_mean(values, np.arange(60)) == error_of_mean(values)
    assert np.isinf(paired_gap(values, 0.0, np.zeros(60, dtype=int))[1])
    assert paired_gap(values, 0.0, unit)[1] == Estimate.over_rows(values, unit).spread == error_of_mean(values, unit)


def test_copies_do_not_make_an_error_more_precise():
    X, y, _ = patients(n_rows=120, n_patients=120)
    four = np.repeat(np.arange(120), 4)
    error = errors_of(make_target(y, len(y)))[0]
    once = error.measure(X[:, :2], make_target(y, 120))
    copied = error.measure(X[four, :2], with_patients(y[four], four))
    assert copied.spread > 0.9 * once.spread


# --- posteriors -------------------------------------------------------------------------------------------------------


def test_trees_that_judge_a_row_never_saw_its_unit():
    X, _, unit = patients(n_rows=120, n_patients=12)
    codes = np.random.default_rng(0).integers(2, size=12)[unit]
    by_rows = fit_trees(X, codes, 2, 0, n_trees=30)[1][np.arange(120), codes]
    by_units = fit_trees(X, codes, 2, 0, n_trees=30, units=unit)[1][np.arange(120), codes]
    assert by_rows.mean() > 0.8
    assert by_units.mean() < 0.65


def test_rows_without_a_target_leave_out_the_fold_of_their_unit():
    X, y, unit = patients()
    some = np.where(np.arange(len(y)) % 4 == 0, -1, y)
    metric = FisherMetric(supervision=0.8, random_state=0).fit(X, with_patients(some, unit))
    assert whole(metric.folds_, unit)
    assert len(np.unique(metric.folds_)) == 10


def test_support_of_some_rows_is_of_whole_units():
    X, y, unit = patients()
    metric = FisherMetric(posterior=Parzen(n_support=100), supervision=0.8, random_state=0)
    support = metric.fit(X, with_patients(y, unit)).support_
    assert 60 < len(support) <= 110
    assert not set(unit[support]) & set(unit[np.setdiff1d(np.arange(len(y)), support)])


def test_smoothness_of_kernels_is_estimated_on_one_row_of_each_unit():
    unit = np.repeat(np.arange(100), 3)
    rows = smoothness_rows(with_patients(np.arange(300) % 2, unit), 0)
    assert np.array_equal(np.sort(unit[rows]), np.arange(100))


def test_hyper_parameters_are_estimated_on_one_row_of_each_unit():
    unit = np.repeat(np.arange(100), 3)
    target = with_patients(np.arange(300.0), unit, "real")
    rows = evidence_rows(target, np.random.default_rng(0))
    assert np.array_equal(np.sort(unit[rows]), np.arange(100))
    few = with_patients(np.arange(300.0), np.arange(300) // 30, "real")
    assert np.bincount((np.arange(300) // 30)[evidence_rows(few, np.random.default_rng(0))]).tolist() == [6] * 10


@pytest.mark.parametrize("posterior", ["lssvm", "trees", "parzen"])
def test_metric_does_not_tell_coin_flips_of_patients(posterior):
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(40), 6)
    X, y = (2 * rng.normal(size=(40, 8)))[unit] + 0.4 * rng.normal(size=(240, 8)), rng.integers(2, size=40)[unit]
    errors = {}
    for name, target in {"rows": make_target(y, 240), "units": with_patients(y, unit)}.items():
        metric = FisherMetric(posterior=posterior, supervision=0.8, random_state=0).fit(X, target)
        D = metric.pairwise()
        D[unit[:, None] == unit] = np.inf
        near = np.argsort(D, axis=1)[:, :10]
        errors[name] = np.mean((y[near].mean(axis=1) > 0.5) != y)
    assert errors["rows"] < 0.25
    assert errors["units"] > 0.4


# --- the border -------------------------------------------------------------------------------------------------------


def test_groups_are_read_as_text_and_missing_ones_stand_alone():
    units = read_groups([1, 1.0, None, "2", None], 5)
    assert units.codes.tolist() == [0, 0, 2, 1, 3]
    assert units.labels.tolist() == ["1", "1", None, "2", None]


@pytest.mark.parametrize(
    ("groups", "message"),
    [([1, 2], "one entry per row"), (["a"] * 4, "one group only"), (np.zeros((4, 2)), "one entry per row")],
)
def test_groups_that_say_nothing_are_refused(groups, message):
    with pytest.raises(InputError, match=message):
        read_groups(groups, 4)


def test_joined_units_are_connected_components():
    rng = np.random.default_rng(0)
    one, two = rng.integers(40, size=80), rng.integers(40, size=80)
    links = np.concatenate([np.stack([np.arange(80), 80 + one]), np.stack([np.arange(80), 120 + two])], axis=1)
    graph = coo_array((np.ones(160), tuple(links)), shape=(160, 160))
    expected = connected_components(graph, directed=False)[1][:80]
    joined = join_units(one, two)
    assert np.array_equal(joined[:, None] == joined, expected[:, None] == expected)


def answers(seed=0, n_rows=150):
    """Rows of few answers, many of which are equal by chance, and noisy classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(n_rows, 3)).astype(float)
    return X, (X[:, 0] + rng.integers(3, size=n_rows) > 2).astype(int)


@pytest.mark.parametrize("posterior", ["lssvm", "trees"])
def test_equal_rows_are_one_place_whatever_their_class(posterior):
    """Each without its own label alone, rows of one class would be apart from their equals of the other."""
    X, y = answers()
    metric = FisherMetric(posterior=posterior, supervision=0.99, n_segments=1, perplexity=5, random_state=0).fit(X, y)
    equal = (X[:, None] == X).all(axis=2)
    assert equal.sum() > 4 * len(X)
    assert metric.pairwise()[equal].max() == pytest.approx(0, abs=1e-6)


def test_equal_rows_stay_in_one_fold_and_independent():
    X, y = answers()
    target = make_target(y, len(y))
    joined = target.joining(equal_rows(X))
    folds = joined.folds(np.arange(len(y)), 10, np.random.default_rng(0))
    for row in np.unique(X, axis=0):
        assert len(np.unique(folds[(row == X).all(axis=1)])) == 1
    assert target.independent  # votes and errors go by the target itself


def test_what_joins_nothing_leaves_the_target_as_it_is():
    X, y, unit = patients()
    target = with_patients(y, unit)
    assert target.joining(equal_rows(X)) is target
    assert target.joining(unit) is target
    assert target.joining(np.zeros(len(y), dtype=int)) is target  # nothing could be left out
    assert make_target(y, len(y)).joining(unit).n_units == 30
