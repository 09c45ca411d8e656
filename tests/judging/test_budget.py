"""What is spent on a verdict: quick and full ones, seconds, and how often a map is made again."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from prismap import PrisMap, judge
from prismap.exceptions import InputError
from prismap.judging._budget import FULL, MOST_KEPT, QUICK, effort_of
from prismap.judging._refits import judged_folds, n_folds, place_fold, place_on_plain
from prismap.map._judged import MapMaker
from prismap.target import make_target


@pytest.fixture(scope="module")
def model():
    X, y = make_blobs(240, 4, centers=3, cluster_std=3.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrisMap(method="mds", supervision=0.8, perplexity=10, random_state=0).fit(X, y)


def counted(model, **options):
    """The report, and how many maps were made for it."""
    seen = []
    return model.report(callback=lambda done, total: seen.append((done, total)), **options), seen


def test_a_quick_report_judges_a_fifth_and_a_full_one_replaces_it(model):
    quick, seen = counted(model, budget="quick")
    assert seen == [(1, 3), (2, 3), (3, 3)]  # without a target, permuted, without the judged rows
    assert (quick.budget, quick.n_judged) == ("quick", 48)
    assert "quickly" in str(quick)
    assert counted(model) == (quick, [])
    assert counted(model, budget="quick") == (quick, [])
    first = model.trust_
    full, seen = counted(model, budget="full")
    assert seen == [(turn, 9) for turn in range(1, 10)]  # without a target, two permuted, five folds, one Gaussian
    assert (full.budget, full.n_judged) == ("full", 240)
    assert model.trust_ is not first
    assert counted(model, budget="quick") == (full, [])
    assert abs(float(full.scores[0].value) - float(quick.scores[0].value)) < 3 * quick.scores[0].value.spread
    assert type(full).from_dict(quick.to_dict()).budget == "quick"


def test_the_maps_of_permuted_targets_leave_the_judged_rows_out(model):
    model.report(budget="full")
    comparison = model.judgement_.comparison
    permuted = comparison.permuted[0]
    assert len(permuted.rows) == len(permuted.target) == 192
    out = np.setdiff1d(np.arange(240), permuted.rows)
    assert any(np.array_equal(np.setdiff1d(np.arange(240), case.kept), out) for case in comparison.on_map)


def test_a_permuted_target_that_is_left_out_makes_no_map_of_its_own():
    X, y = make_blobs(80, 3, centers=2, cluster_std=4.0, random_state=0)
    model = PrisMap(perplexity=8, random_state=0).fit(X, y)
    report = model.report(n_permutations=1)
    plain, permuted = model.judgement_.comparison.plain, model.judgement_.comparison.permuted[0]
    np.testing.assert_array_equal(permuted.made.positions, plain.positions[permuted.rows])
    assert permuted.made.fitted.supervision == 0
    assert len(report.clusters.null_gaps) == FULL.nulls
    fixed = PrisMap(perplexity=8, supervision=0.8, random_state=0).fit(X, y)
    fixed.report(n_permutations=1)
    plain, permuted = fixed.judgement_.comparison.plain, fixed.judgement_.comparison.permuted[0]
    assert not np.array_equal(permuted.made.positions, plain.positions[permuted.rows])
    assert permuted.made.fitted.supervision == 0.8


def test_no_label_of_a_judged_row_reaches_the_map_that_it_is_judged_on():
    X, y = make_blobs(80, 3, centers=2, cluster_std=3.0, random_state=0)
    model = PrisMap(perplexity=8, random_state=0).fit(X, y)
    maker, target = MapMaker(model.map_), model.map_.target
    [(kept, out), *_] = judged_folds(target, np.random.default_rng(0))
    plain = maker.make_plain(np.arange(80))
    other = y.copy()
    other[out] = 1 - y[out]
    for place in (
        lambda target: place_fold(maker, target, kept, out, plain),
        lambda target: place_on_plain(maker, plain, target, kept, out, FULL),
    ):
        first, second = place(target), place(target.with_values(other))
        np.testing.assert_array_equal(first.positions, second.positions)
        np.testing.assert_array_equal(first.fitted_positions, second.fitted_positions)


def test_as_many_fifths_are_judged_as_the_figures_take():
    assert [n_folds(n, FULL) for n in (60, 300, 400, 700, 1400, 1500)] == [5, 5, 4, 3, 2, 1]
    assert [n_folds(n, FULL, 0.02) for n in (60, 300, 301, 700, 1500)] == [5, 5, 2, 2, 1]
    assert [n_folds(n, FULL, 0.2) for n in (60, 300, 700, 1500)] == [5, 5, 3, 1]
    assert [n_folds(n, QUICK, 0.2) for n in (60, 200)] == [4, 1]


def test_of_a_large_fold_a_draw_is_judged_by_a_map_of_few_rows():
    y = np.arange(60_000) % 3
    for effort in (FULL, QUICK):
        ((kept, out),) = judged_folds(make_target(y, len(y)), np.random.default_rng(0), effort)
        assert len(out) == effort.held_out < 12_000
        assert len(kept) == MOST_KEPT
        assert not np.intersect1d(kept, out).size


def test_seconds_buy_a_full_report_or_a_quick_one():
    assert effort_of(30, 10) is FULL
    assert effort_of(19.9, 10) is QUICK
    assert effort_of("quick", 0) is QUICK


@pytest.mark.parametrize("bad", ["cheap", 0, -1, True, None, float("nan")])
def test_a_budget_that_is_none_is_refused(bad):
    with pytest.raises(InputError, match="budget must be 'full', 'quick' or a number of seconds above 0"):
        effort_of(bad, 1.0)


def test_any_method_is_judged_quickly():
    X, y = make_blobs(240, 4, centers=3, cluster_std=2.0, random_state=0)
    runs = []

    def flat(X, y=None):
        runs.append(len(X))
        return PCA(2).fit_transform(X) + (0 if y is None else 0.01 * y[:, None])

    found = judge(flat, X, y, budget="quick")
    assert (found.budget, found.n_judged) == ("quick", 48)
    assert runs == [240, 240, 192, 192]  # as it is, without the target, without the judged rows, permuted
    assert found.scores[0].unsupervised is not None
    assert "neighbours kept in another run" not in found.measures
    with pytest.raises(InputError, match="budget must be"):
        judge(flat, X, y, budget="cheap")
    assert len(runs) == 4  # refused before anything was run
