"""What is spent on a verdict: quick and full ones, seconds, and how often a map is made again."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA

from prismap import PrisMap, judge
from prismap.exceptions import InputError
from prismap.map.effort import FULL, QUICK, effort_of


@pytest.fixture(scope="module")
def model():
    X, y = make_blobs(240, 4, centers=3, cluster_std=3.0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PrisMap(method="mds", perplexity=10, random_state=0).fit(X, y)


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
    twins = model.twins_
    assert len(twins.permuted_rows) == 192
    out = np.setdiff1d(np.arange(240), twins.permuted_rows)
    assert any(np.array_equal(np.setdiff1d(np.arange(240), case.kept), out) for case in twins.judged)
    assert len(twins.permuted_target) == 192


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
