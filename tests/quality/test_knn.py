import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from prismap.exceptions import InputError
from prismap.metrics import NamedMetric, PrecomputedMetric
from prismap.quality import class_overlap, knn_error, knn_nrmse, overlapping_pairs
from reference.ranks_reference import distances_reference, nrmse_reference
from reference.votes_reference import vote_error_reference


def two_clouds(n=60, gap=1.5, n_columns=2, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, size=n)
    return rng.normal(size=(n, n_columns)) + gap * y[:, None], y


def grid_map(n=50, side=4, seed=0):
    """Positions on few nodes, as a self-organising map has: nearly every distance is tied."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, side, size=(n, 2)).astype(float), rng.integers(0, 3, size=n)


@pytest.mark.parametrize("make", [two_clouds, grid_map])
@pytest.mark.parametrize("k", [1, 4, 49])
def test_leave_one_out_error_equals_its_definition(make, k):
    Y, y = make(50)
    expected = vote_error_reference(np.round(distances_reference(Y), 9), y, y, k, own=True)
    assert knn_error(Y, y, n_neighbors=k) == pytest.approx(expected, abs=1e-12)
    wide = np.hstack([Y, np.zeros((50, 9))])  # too many columns for the tree
    assert knn_error(wide, y, n_neighbors=k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("make", [two_clouds, grid_map])
def test_error_from_fitted_to_new_rows_equals_its_definition(make):
    Y, y = make(70)
    D = np.round(cdist(Y[40:], Y[:40]), 9)
    for k in (1, 3):
        expected = vote_error_reference(D, y[40:], y[:40], k, own=False)
        found = knn_error(Y[40:], y[40:], n_neighbors=k, Y_fit=Y[:40], y_fit=y[:40])
        assert found == pytest.approx(expected, abs=1e-12)
        by_distance = knn_error(D, y[40:], n_neighbors=k, y_fit=y[:40], metric="precomputed")
        assert by_distance == pytest.approx(expected, abs=1e-12)


def test_error_agrees_with_scikit_learn_where_nothing_is_tied():
    Y, y = two_clouds(300)
    model = KNeighborsClassifier(1).fit(Y[:200], y[:200])
    found = knn_error(Y[200:], y[200:], Y_fit=Y[:200], y_fit=y[:200])
    assert found == pytest.approx(1 - model.score(Y[200:], y[200:]))
    assert found.spread == pytest.approx(np.sqrt(found * (1 - found) / 99))


@pytest.mark.parametrize("make", [two_clouds, grid_map])
def test_positions_distances_and_metric_objects_agree(make):
    Y, y = make(60)
    D = cdist(Y, Y)
    for k in (1, 5):
        expected = knn_error(Y, y, n_neighbors=k)
        given = (
            {"Y": D, "metric": "precomputed"},
            {"Y": None, "metric": NamedMetric().fit(Y)},
            {"Y": None, "metric": PrecomputedMetric().fit(D)},
            {"Y": Y, "metric": "l2"},
        )
        for how in given:
            assert knn_error(how.pop("Y"), y, n_neighbors=k, **how) == pytest.approx(expected, abs=1e-12)
    new, y_new = make(20, seed=5)
    metric = NamedMetric().fit(Y)
    expected = knn_error(new, y_new, n_neighbors=3, Y_fit=Y, y_fit=y)
    assert knn_error(new, y_new, n_neighbors=3, y_fit=y, metric=metric) == pytest.approx(expected, abs=1e-12)


def test_metrics_in_single_precision_are_served():
    Y, y = two_clouds(60)
    metric = PrecomputedMetric().fit(np.asarray(cdist(Y, Y), dtype=np.float32))
    assert metric.pairwise().dtype == np.float32
    assert knn_error(None, y, n_neighbors=3, metric=metric) == knn_error(Y, y, n_neighbors=3)


def test_rows_that_are_not_judged_still_vote():
    Y, y = two_clouds(60)
    judged = np.arange(60) % 3 == 0
    wrong = [
        np.mean(y[np.argsort(np.where(np.arange(60) == i, np.inf, np.linalg.norm(Y - Y[i], axis=1)))[0]] != y[i])
        for i in np.flatnonzero(judged)
    ]
    assert float(knn_error(Y, y, judged=judged)) == pytest.approx(np.mean(wrong))
    with pytest.raises(InputError, match="judged leaves no labelled row"):
        knn_error(Y, y, judged=np.zeros(60, dtype=bool))


def test_row_order_and_label_names_change_nothing_even_with_ties():
    Y, y = grid_map(80)
    rows = np.random.default_rng(1).permutation(80)
    names = np.array(["red", "green", "blue"])[y]
    for k in (1, 6):
        expected = knn_error(Y, y, n_neighbors=k)
        assert knn_error(Y[rows], names[rows], n_neighbors=k) == pytest.approx(expected, abs=1e-12)


def test_everything_in_one_place_gives_what_the_class_shares_give():
    y = np.repeat([0, 1], [30, 10])
    found = knn_error(np.zeros((40, 2)), y)
    assert found == pytest.approx(10 / 40)  # with all others tied, the larger class wins every vote


@pytest.mark.parametrize("mark", [-1, None, np.nan])
def test_unlabelled_rows_neither_vote_nor_are_judged(mark):
    Y, y = two_clouds(60)
    y_some = y.astype(object)
    y_some[::4] = mark
    kept = np.arange(60) % 4 != 0
    expected = knn_error(Y[kept], y[kept], n_neighbors=3)
    assert knn_error(Y, y_some, n_neighbors=3) == pytest.approx(expected, abs=1e-12)
    assert knn_error(cdist(Y, Y), y_some, n_neighbors=3, metric="precomputed") == pytest.approx(expected, abs=1e-12)
    assert knn_error(None, y_some, n_neighbors=3, metric=NamedMetric().fit(Y)) == pytest.approx(expected, abs=1e-12)


def test_sampled_error_is_near_the_full_one():
    Y, y = two_clouds(600, gap=1.0)
    full = knn_error(Y, y)
    off = [(part - full) / part.spread for part in (knn_error(Y, y, n_samples=150, random_state=s) for s in range(20))]
    assert np.mean(np.square(off)) < 1.6
    assert knn_error(Y, y, n_samples=150, random_state=3) == knn_error(Y, y, n_samples=150, random_state=3)


def test_nrmse_equals_its_definition():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(60, 2))
    y = Y[:, 0] ** 2 + 0.3 * rng.normal(size=60)
    expected = nrmse_reference(distances_reference(Y), y, 5)
    assert knn_nrmse(Y, y) == pytest.approx(expected, rel=1e-9)
    assert knn_nrmse(cdist(Y, Y), y, metric="precomputed") == pytest.approx(expected, rel=1e-9)
    assert knn_nrmse(Y * 1e-120, 100 * y + 3) == pytest.approx(expected, rel=1e-9)
    y_some = y.copy()
    y_some[:20] = np.nan
    assert knn_nrmse(Y, y_some) == pytest.approx(knn_nrmse(Y[20:], y[20:]), rel=1e-12)


def test_nrmse_on_new_rows_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(90, 2))
    y = Y[:, 0] + rng.normal(size=90)
    model = KNeighborsRegressor(5, weights="distance").fit(Y[:60], y[:60])
    expected = np.sqrt(np.mean((model.predict(Y[60:]) - y[60:]) ** 2)) / y[60:].std()
    assert knn_nrmse(Y[60:], y[60:], Y_fit=Y[:60], y_fit=y[:60]) == pytest.approx(expected, rel=1e-9)


def test_nrmse_averages_duplicates_alone():
    Y = np.array([[0.0, 0.0]] * 3 + [[1.0, 0.0]] * 3)
    y = np.array([1.0, 2.0, 6.0, 11.0, 12.0, 16.0])
    predicted = np.array([4.0, 3.5, 1.5, 14.0, 13.5, 11.5])  # the mean of the two others in the same place
    expected = np.sqrt(np.mean((y - predicted) ** 2)) / y.std()
    assert knn_nrmse(Y, y, n_neighbors=4) == pytest.approx(expected, rel=1e-12)
    assert knn_nrmse(Y, np.repeat([1.0, 2.0], 3), n_neighbors=4) == 0.0


def test_nrmse_spread_is_its_standard_error():
    spreads, values = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        Y = rng.normal(size=(150, 2))
        found = knn_nrmse(Y, Y[:, 0] + rng.normal(size=150))
        spreads.append(found.spread)
        values.append(float(found))
    # std(y) is drawn anew here too, which the spread leaves out and which works against it.
    assert 0.5 < np.std(values) / np.mean(spreads) < 1.5


def test_class_overlap_counts_neighbours_by_class():
    Y, y = two_clouds(90, gap=1.0)
    shares, classes = class_overlap(Y, y, n_neighbors=7)
    near = np.argsort(cdist(Y, Y) + np.diag(np.full(90, np.inf)), axis=1)[:, :7]
    expected = [[np.mean(y[near[y == a]] == b) for b in range(3)] for a in range(3)]
    np.testing.assert_allclose(shares, expected, atol=1e-12)
    np.testing.assert_array_equal(classes, [0, 1, 2])
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_overlapping_pairs_come_once_strongest_first():
    shares = np.array([[0.6, 0.3, 0.1], [0.5, 0.45, 0.05], [0.02, 0.0, 0.98]])
    pairs = overlapping_pairs(shares, ["a", "b", "c"])
    assert [(pair.of, pair.into, pair.share) for pair in pairs] == [("b", "a", 0.5), ("a", "c", 0.1)]
    assert overlapping_pairs(np.eye(3), ["a", "b", "c"]) == ()


Y3, y3 = two_clouds(12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: knn_error(Y3, y3[:5]), "y has 5 entries and X has 12 rows"),
        (lambda: knn_error(Y3, np.zeros(12)), "only one class"),
        (lambda: knn_error(Y3, y3, n_neighbors=12), "n_neighbors must lie between 1 and 11"),
        (lambda: knn_error(Y3, y3, Y_fit=Y3), "Y_fit was given without y_fit"),
        (lambda: knn_error(Y3, y3, y_fit=y3), "y_fit was given without Y_fit"),
        (lambda: knn_error(Y3, y3, Y_fit=Y3[:4], y_fit=y3), "Y_fit has 4 rows and y_fit has 12"),
        (lambda: knn_error(Y3, y3, Y_fit=Y3[:, :1], y_fit=y3), "Y has 2 columns and Y_fit has 1"),
        (lambda: knn_error(np.abs(Y3), y3, y_fit=y3[:5], metric="precomputed"), "y_fit has 5 entries for 2 rows"),
        (lambda: knn_error(None, y3), "Y is None"),
        (lambda: knn_error(None, y3[:6], metric=NamedMetric().fit(Y3)), "y has 6 entries for 12 rows"),
        (lambda: knn_error(np.full((12, 2), np.nan), y3), "Y contains NaN"),
        (lambda: knn_error(Y3, y3, n_samples=13), "between 1 and the 12 labelled rows"),
        (lambda: knn_nrmse(Y3, np.ones(12)), "y is constant"),
        (lambda: knn_nrmse(Y3, ["a"] * 12), "use knn_error for classes"),
        (lambda: knn_nrmse(Y3, np.full(12, np.inf)), "infinite"),
        (lambda: knn_nrmse(Y3, np.full(12, np.nan)), "no labelled row"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
