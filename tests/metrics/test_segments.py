"""Segments that do not alias, a graph that is a metric, and distances that do not change with the number of rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine, make_classification
from sklearn.preprocessing import StandardScaler

from prismap.metrics import FisherMetric
from prismap.metrics import _segments as segments
from prismap.metrics._geometry import FittedIndex
from prismap.metrics.posteriors._gaussian_process import GaussianProcess
from prismap.metrics.posteriors._local_parzen import PATH_SEGMENTS
from reference import fisher_reference as slow


def clusters_on_a_line(places, classes, n_each=60, spread=0.15):
    """Tight clusters on a line; rows in the order of the clusters."""
    rng = np.random.default_rng(0)
    X = np.repeat(np.asarray(places, dtype=float), n_each) + spread * rng.normal(size=n_each * len(places))
    return X[:, None], np.repeat(classes, n_each)


def overlapping():
    return make_classification(40, 5, n_informative=4, n_redundant=1, n_classes=3, class_sep=0.7, random_state=1)


def parzen(X, y, **options):
    options = {"posterior": "parzen", "perplexity": 10, "random_state": 0, **options}
    return FisherMetric(**options).fit(X, y)


# --- how many sub-segments --------------------------------------------------------------------------------------------


def test_a_class_between_two_rows_is_not_stepped_over():
    X, y = clusters_on_a_line([0, 2, 4, 8], [0, 1, 0, 0])
    first, last = np.arange(60), np.arange(180, 240)
    published = parzen(X, y, n_segments=2).between(first, last)
    assert np.median(published) < 0.01
    found = parzen(X, y).between(first, last)
    assert np.mean(np.abs(found - 2 * np.pi) <= 0.02 * 2 * np.pi) >= 0.99


@pytest.mark.parametrize("supervision", [1.0, 0.6])
@pytest.mark.parametrize("cross_fit", [True, False])
def test_lengths_are_within_two_percent_of_very_many_sub_segments(supervision, cross_fit):
    X, y = overlapping()
    metric = parzen(X, y, supervision=supervision, cross_fit=cross_fit)

    def length(i, j, kept, codes):
        return slow.chord_length(X[i], X[j], X[kept], codes, 3, metric.bandwidth_, 64, w=supervision)

    found, folds = metric.pairwise(), metric.folds_[metric.support_]
    exact = parzen(X, y, supervision=supervision, cross_fit=cross_fit, n_segments=64).pairwise()
    for i, j in np.random.default_rng(0).integers(40, size=(12, 2)):
        kept = metric.support_[(folds < 0) | ((folds != metric.folds_[i]) & (folds != metric.folds_[j]))]
        assert exact[i, j] == pytest.approx(length(i, j, kept, y[kept]) if i != j else 0.0, rel=1e-9)
    above = np.triu_indices(40, 1)
    errors = np.abs(found - exact)[above] / exact[above]
    assert np.mean(errors <= 0.02) >= 0.985
    assert np.median(errors) < 0.005
    np.testing.assert_array_equal(found, found.T)


@pytest.mark.parametrize("supervision", [1.0, 0.6])
def test_extrapolation_is_what_two_numbers_of_sub_segments_give(supervision):
    X, y = overlapping()
    metric = parzen(X, y, supervision=supervision)
    fine, coarse = (
        parzen(X, y, supervision=supervision, n_segments=T).pairwise()
        for T in (metric.n_segments_, metric.n_segments_ // 2)
    )
    expected = fine + np.minimum((fine - coarse) / 3, segments.MOST_EXTRAPOLATED * fine)
    np.testing.assert_allclose(metric.pairwise(), expected, atol=1e-10)


def test_a_number_of_sub_segments_means_exactly_that():
    X, y = overlapping()
    metric = parzen(X, y, n_segments=4)
    assert (metric.n_segments_, metric.extrapolated_) == (4, False)

    def length(i, j, kept, codes):
        return slow.chord_length(X[i], X[j], X[kept], codes, 3, metric.bandwidth_, 4)

    np.testing.assert_allclose(metric.pairwise(), slow.all_pairs(metric, X, y, length), atol=1e-10)


def test_a_real_target_that_goes_up_and_down_is_not_stepped_over():
    """A node costs a process as much as all the rest: "auto" spends at most four, a number as many as it says."""
    X = np.linspace(0, 8, 60)[:, None]
    y = np.sin(2 * np.pi * X[:, 0] / 4)
    posterior = GaussianProcess(0.3, signal=1.0, noise=0.05)
    exact, published, found, fine = (
        FisherMetric(target="real", posterior=posterior, n_segments=T, perplexity=10, random_state=0).fit(X, y)
        for T in (64, 2, "auto", 24)
    )
    assert found.n_segments_ == 4
    exact, published, found, fine = (metric.pairwise() for metric in (exact, published, found, fine))
    assert np.abs(found - exact).sum() < 0.6 * np.abs(published - exact).sum()
    assert np.abs(fine - exact).sum() < 0.05 * np.abs(published - exact).sum()


def test_the_number_does_not_depend_on_the_order_of_rows():
    X, y = overlapping()
    order = np.random.default_rng(0).permutation(len(X))
    one, two = parzen(X, y, cross_fit=False), parzen(X[order], y[order], cross_fit=False)
    assert one.n_segments_ == two.n_segments_
    np.testing.assert_allclose(two.pairwise(), one.pairwise()[np.ix_(order, order)], atol=1e-10)


def test_stored_arrays_bring_the_rule_back():
    X, y = overlapping()
    metric = parzen(X, y)
    assert metric.n_segments_ > 2
    state, new = metric.state(), X[:5] + 0.1
    again = FisherMetric(**metric.get_params()).restore(X, y, state)
    np.testing.assert_array_equal(again.pairwise(new), metric.pairwise(new))
    assert f"{metric.n_segments_} sub-segments, extrapolated" in again.describe()


# --- shortest paths ---------------------------------------------------------------------------------------------------


def violations(D, rows, slack=1e-9):
    """How many triples (i, j, k) break ``E[i, k] <= E[i, j] + D[j, k]`` and ``D[j, k] <= E[i, j] + E[i, k]``."""
    count = 0
    for row in rows:
        through = row[:, None] + D
        count += np.count_nonzero(row[None, :] > through + slack)
        count += np.count_nonzero(row[:, None] + row[None, :] + slack < D)
    return count


def graph_sets():
    digits = load_digits()
    return {
        "iris": load_iris(return_X_y=True),
        "wine": (StandardScaler().fit_transform(load_wine().data), load_wine().target),
        "digits": (digits.data[:500], digits.target[:500]),
    }


@pytest.mark.parametrize("name", ["iris", "wine", "digits"])
@pytest.mark.parametrize("complete", [True, False])
def test_graph_distances_are_a_metric(name, complete, monkeypatch):
    monkeypatch.setattr(segments, "EXACT_ROWS", 10_000 if complete else 10)
    X, y = graph_sets()[name]
    rng = np.random.default_rng(0)
    metric = parzen(X, y, path="graph", perplexity=30)
    D = metric.pairwise()
    np.testing.assert_allclose(D, D.T, atol=1e-12)
    assert violations(D, D) == 0
    new = X[rng.choice(len(X), 20)] + 0.3 * rng.normal(size=(20, X.shape[1])) * X.std(axis=0)
    to_new = metric.pairwise(new)
    assert (to_new >= 0).all()
    assert violations(D, to_new) == 0
    straight = parzen(X, y, perplexity=30)
    if complete:
        assert (straight.pairwise() + 1e-9 >= D).all()


@pytest.mark.parametrize("complete", [True, False])
def test_every_way_to_ask_for_graph_distances_agrees(complete, monkeypatch):
    monkeypatch.setattr(segments, "EXACT_ROWS", 10_000 if complete else 10)
    X, y = load_iris(return_X_y=True)
    metric = parzen(X, y, path="graph")
    D, new = metric.pairwise(), X[::30] + 0.05
    a, b = np.arange(0, 150, 7), np.arange(3, 150, 11)
    np.testing.assert_allclose(metric.between(a, b), D[np.ix_(a, b)], atol=1e-12)
    np.testing.assert_allclose(metric.distances_to(FittedIndex(a), FittedIndex(b)), D[np.ix_(a, b)], atol=1e-12)
    np.testing.assert_allclose(metric.distances_to(new, FittedIndex(b)), metric.pairwise(new)[:, b], atol=1e-12)
    np.testing.assert_allclose(metric.pairwise(None, new), metric.pairwise(new).T, atol=1e-12)
    np.testing.assert_allclose(metric.kneighbors(new, 5)[0], np.sort(metric.pairwise(new), axis=1)[:, :5], atol=1e-12)
    own = D + np.where(np.eye(150) > 0, np.inf, 0)
    np.testing.assert_allclose(metric.kneighbors(None, 5)[0], np.sort(own, axis=1)[:, :5], atol=1e-12)
    assert ("over all segments" in metric.describe()) == complete


def test_copies_of_a_row_lie_at_no_distance_over_neighbours(monkeypatch):
    monkeypatch.setattr(segments, "EXACT_ROWS", 10)
    X, y = load_iris(return_X_y=True)
    twice = FisherMetric(path="graph", supervision=0.5, posterior="lssvm", cross_fit=False, perplexity=10)
    D = twice.fit(np.vstack([X[::2], X[::2]]), np.r_[y[::2], y[::2]]).pairwise()
    assert (np.diag(D[:75, 75:]) == 0).all()
    np.testing.assert_allclose(D[:75, :75], D[75:, :75], atol=1e-12)


# --- more rows than a support holds -----------------------------------------------------------------------------------


def two_modes(n_rows):
    """Two modes of class 0 with class 1 between them, in two dimensions; the mode of each row is its third of them."""
    rng = np.random.default_rng(0)
    mode = np.arange(n_rows) % 3
    return rng.normal(size=(n_rows, 2)) * 0.5 + np.c_[6.0 * mode, np.zeros(n_rows)], (mode == 1).astype(int)


@pytest.mark.parametrize("n_rows", [3900, 4100])
def test_two_modes_stay_apart_at_any_number_of_rows(n_rows):
    X, y = two_modes(n_rows)
    metric = parzen(X, y, perplexity=30)
    D = metric.between(np.arange(0, 90, 3), np.arange(2, 92, 3))
    assert np.median(D) == pytest.approx(2 * np.pi, rel=0.02)
    assert np.median(metric.between(np.arange(0, 90, 3), np.arange(0, 90, 3))) < 0.1
    new = metric.pairwise(X[:9] + 0.01)[:, 2:92:3]
    np.testing.assert_allclose(np.median(new[::3]), 2 * np.pi, rtol=0.02)
    assert ("local supports" in metric.describe()) == (n_rows > 4000)


def test_the_excess_is_what_a_small_support_says(monkeypatch):
    monkeypatch.setattr("prismap.metrics.posteriors._base.MOST_SUPPORT", 30)
    X, y = overlapping()
    metric = parzen(X, y, cross_fit=False, perplexity=6)
    D, P, kept = metric.pairwise(), metric.class_probabilities(), metric.posterior_.support
    np.testing.assert_array_equal(D, D.T)
    for i, j in [(0, 5), (3, 17), (28, 2)]:
        arc = 4 * np.arcsin(np.linalg.norm(np.sqrt(P[i]) - np.sqrt(P[j])) / 2)
        way, chord = (
            slow.chord_length(X[i], X[j], X[kept], y[kept], 3, metric.bandwidth_, T) for T in (PATH_SEGMENTS, 1)
        )
        assert D[i, j] == pytest.approx(arc + way - chord, abs=1e-7)
    again = FisherMetric(**metric.get_params()).restore(X, y, metric.state())
    np.testing.assert_array_equal(again.pairwise(X[:5] + 0.1), metric.pairwise(X[:5] + 0.1))
    ends = metric.cheaper()
    assert "at the rows only" in ends.describe()
    gap = np.linalg.norm(np.sqrt(P[:, None]) - np.sqrt(P[None]), axis=2)
    np.testing.assert_allclose(ends.pairwise(), 4 * np.arcsin(gap / 2), atol=1e-6)
