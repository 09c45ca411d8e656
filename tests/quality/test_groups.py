"""Classes as groups, against formulas written out row by row and against scikit-learn."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import rankdata, spearmanr
from sklearn.manifold import trustworthiness as sklearn_trustworthiness

from prismap.exceptions import InputError
from prismap.metrics import DissimilarityMetric
from prismap.quality import arrangement, class_distances, label_continuity, label_trustworthiness, trustworthiness
from prismap.quality._groups import Arrangement, class_separations, nearest_right, squares_to_classes
from prismap.quality._measures import map_measures, rare_classes


@pytest.fixture
def grouped(rng):
    y = np.repeat(np.arange(5), [12, 20, 9, 15, 30])
    X = rng.normal(size=(len(y), 6)) + 2.0 * rng.normal(size=(5, 6))[y]
    return X, X[:, :2] + 0.5 * rng.normal(size=(len(y), 2)), y


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def slow_separation(X, y, a, b):
    """Distance consistency of two classes, rescaled: the share of rows nearer to the centre of their own class."""
    centres = {c: X[y == c].mean(axis=0) for c in (a, b)}
    right = []
    for row, own in zip(X, y, strict=True):
        if own in centres:
            other = b if own == a else a
            right.append(np.linalg.norm(row - centres[own]) < np.linalg.norm(row - centres[other]))
    return 2 * np.mean(right) - 1


def slow_label_measures(X, Y, y):
    pairs = [(a, b) for a in np.unique(y) for b in np.unique(y) if a < b]
    gaps = np.array([slow_separation(X, y, *pair) - slow_separation(Y, y, *pair) for pair in pairs])
    return 1 - np.maximum(gaps, 0).mean(), 1 - np.maximum(-gaps, 0).mean()


@pytest.mark.parametrize("k", [1, 5, 20])
def test_trustworthiness_is_that_of_scikit_learn(grouped, k):
    X, Y, _ = grouped
    assert float(trustworthiness(X, Y, n_neighbors=k)) == pytest.approx(
        sklearn_trustworthiness(X, Y, n_neighbors=k), abs=1e-12
    )
    by_distances = trustworthiness(cdist(X, X), Y, n_neighbors=k, metric="precomputed")
    assert float(by_distances) == pytest.approx(float(trustworthiness(X, Y, n_neighbors=k)), abs=1e-12)


def test_trustworthiness_of_a_sample_estimates_that_of_all(grouped):
    X, Y, _ = grouped
    found = trustworthiness(X, Y, n_samples=40, random_state=0)
    assert abs(found - trustworthiness(X, Y)) < 4 * found.spread


def test_label_measures_are_those_of_the_paper(grouped):
    X, Y, y = grouped
    trust, continuity = slow_label_measures(X, Y, y)
    assert label_trustworthiness(X, Y, y) == pytest.approx(trust, abs=1e-12)
    assert label_continuity(X, Y, y) == pytest.approx(continuity, abs=1e-12)
    assert 0 < trust < 1
    assert label_trustworthiness(Y, X, y) == pytest.approx(continuity, abs=1e-12)  # the two change places


def test_separations_know_chance_and_perfection(rng):
    y = np.repeat([0, 1], 500)
    apart = rng.normal(size=(1000, 3)) + 50.0 * y[:, None]
    assert class_separations(apart, y)[0, 1] == 1.0
    assert abs(class_separations(rng.normal(size=(1000, 3)), y)[0, 1]) < 0.15
    assert class_separations(np.zeros((1000, 2)), y)[0, 1] == 0.0  # one place is as near to either centre


def test_any_metric_measures_groups(grouped):
    X, Y, y = grouped
    metric = DissimilarityMetric().fit(cdist(X, X))
    for measure in (label_trustworthiness, label_continuity):
        assert measure(None, Y, y, metric=metric) == pytest.approx(measure(X, Y, y), abs=1e-6)
    np.testing.assert_allclose(class_distances(None, y, metric=metric), class_distances(X, y), rtol=1e-6, atol=1e-6)


def test_class_distances_are_those_of_the_centres(grouped):
    X, _, y = grouped
    centres = np.stack([X[y == c].mean(axis=0) for c in range(5)])
    np.testing.assert_allclose(class_distances(X, y), cdist(centres, centres), atol=1e-6)


def test_an_arrangement_is_the_rank_correlation_of_class_distances(grouped, rng):
    X, Y, y = grouped
    found, upper = arrangement(X, Y, y), np.triu_indices(5, 1)
    wanted = spearmanr(class_distances(X, y)[upper], class_distances(Y, y)[upper]).statistic
    assert found.correlation == pytest.approx(wanted, abs=1e-9)
    assert found.n_pairs == 10
    same = arrangement(X, X @ np.linalg.qr(rng.normal(size=(6, 6)))[0] * 7, y)
    assert same.correlation == pytest.approx(1.0)
    assert same.p_value < 0.05
    assert arrangement(X[y < 3], Y[y < 3], y[y < 3]) is None  # three pairs say nothing
    draws, A, B = np.random.default_rng(0), class_distances(X, y)[upper], class_distances(Y, y)
    orders = [draws.permutation(5) for _ in range(999)]
    shuffled = [np.corrcoef(rankdata(A), rankdata(B[np.ix_(order, order)][upper]))[0, 1] for order in orders]
    assert found.p_value == (1 + np.sum(np.array(shuffled) >= wanted - 1e-9)) / 1000


def test_shuffled_arrangements_are_rarely_significant(rng):
    y = np.repeat(np.arange(6), 5)
    found = []
    for seed in range(60):
        centres, places = rng.normal(size=(6, 4)), rng.normal(size=(6, 2))
        found.append(arrangement(centres[y], places[y], y, random_state=seed).p_value)
    assert np.mean(np.array(found) < 0.05) <= 0.12  # 5 % of 60 with three standard errors


def groups_on_a_line(rng, n_rows=20, noise=0.3):
    """Eight groups in four dimensions whose distances grow along a line: the nearest group is the one before."""
    places = np.array([0.0, 1.0, 2.5, 4.5, 7.0, 10.0, 13.5, 17.5])
    y = np.repeat(np.arange(8), n_rows)
    return np.pad(places[y][:, None], ((0, 0), (0, 3))) + noise * rng.normal(size=(len(y), 4)), y


def test_the_nearest_group_is_right_where_the_data_are_sure(rng):
    X, y = groups_on_a_line(rng)
    found = arrangement(X, X[:, :2], y)
    assert (found.n_groups, found.n_right, found.wrong) == (8, 8, ())
    torn = X.copy()
    torn[y == 7, 0] = -1 + torn[y == 7, 0] - torn[y == 7, 0].mean()  # the last group beside the first
    found = arrangement(X, torn[:, :2], np.array(list("abcdefgh"))[y])
    assert ("h", "a") in found.wrong
    assert found.n_right < 8


def test_nothing_is_sure_of_noise(rng):
    X, y = groups_on_a_line(rng, noise=40.0)
    found = arrangement(X, X[:, :2], y)
    assert found.n_right + len(found.wrong) <= 2


def test_copies_do_not_make_the_nearest_group_surer(rng):
    """Ten copies of a row are one row, by their groups."""
    few, y = groups_on_a_line(rng, n_rows=4, noise=1.0)
    copied, codes, units = (np.repeat(one, 10, axis=0) for one in (few, y, np.arange(len(y))))
    naive, honest = (arrangement(copied, copied[:, :2], codes, groups=g).n_right for g in (None, units))
    assert honest < naive


def test_the_error_of_a_nearest_group_is_that_of_its_rows(rng):
    """A group is called right falsely in few of many draws of rows, where the truth is at the limit."""
    near, y = np.array([1, 0, 3, 2]), np.repeat(np.arange(4), 25)
    centres = np.array([[0.0, 0.0], [1.2, 0.0], [0.0, 1.0], [30.0, 30.0]]) * 6  # 1 is a fifth farther from 0 than 2
    sure = []
    for _ in range(300):
        X = centres[y] + rng.normal(size=(100, 2))
        right, nearer = nearest_right(squares_to_classes(X, y, 4), y, near)
        sure.append(right[0])
        assert nearer[0] == (2 if right[0] < 0 else -1)
    assert np.mean(np.array(sure) > 0) < 0.09  # 5 % of 300 with three standard errors
    assert np.mean(np.array(sure) < 0) < 0.09


def test_groups_that_lie_nowhere_are_hardly_ever_beside_a_wrong_one(rng):
    """Twenty groups with one centre: each has eighteen others, of which one may seem nearer than that of the map."""
    y = np.repeat(np.arange(20), 30)
    maps = [arrangement(rng.normal(size=(600, 10)), rng.normal(size=(600, 2)), y) for _ in range(20)]
    assert sum(one.n_right for one in maps) == 0
    assert sum(len(one.wrong) for one in maps) <= 4  # 400 groups, with 5 % on one side there were about 60


def test_an_arrangement_is_read_from_a_file_as_it_was_written(rng):
    X, y = groups_on_a_line(rng)
    found = arrangement(X, X[:, [1, 0]] * [1, -1], y)
    assert Arrangement.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    first = {"correlation": 0.5, "n_pairs": 6, "p_value": 0.1}  # of the first version
    assert Arrangement.from_dict(first).n_groups is None


def test_rare_classes_are_left_out_of_the_measures(grouped):
    X, Y, y = grouped
    rare = y.copy()
    rare[:3] = 7  # three rows of a class of their own
    measures, _ = map_measures(X, Y, rare)
    kept = rare != 7
    assert float(measures["label-continuity"]) == pytest.approx(
        label_continuity(X[kept], Y[kept], rare[kept]), abs=1e-9
    )
    assert rare_classes(rare).tolist() == [7]
    only, arranged = map_measures(X, Y, np.where(np.arange(len(y)) < 3, 0, -1))
    assert list(only) == ["trustworthiness"]
    assert arranged is None


def test_bad_input_is_named(grouped):
    X, Y, y = grouped
    with pytest.raises(InputError, match="at least two classes are needed"):
        label_trustworthiness(X, Y, np.zeros(len(y), dtype=int))
    with pytest.raises(InputError, match="less than half of the 86 rows; got 43"):
        trustworthiness(X, Y, n_neighbors=43)
    with pytest.raises(InputError, match="they must be the same rows"):
        trustworthiness(X, Y[1:])
