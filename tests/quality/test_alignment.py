"""Whether the columns that tell the target shape the map, against a slow twin and on maps with a known answer."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from prismap.quality import importance_alignment
from prismap.quality._alignment import importances
from reference.ranks_reference import distances_reference
from reference.votes_reference import vote_error_reference


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 120)
    X = rng.normal(size=(120, 8))
    X[:, :3] += 2.5 * np.eye(3)[y]
    X[:, 3:6] *= 3.0  # wide, and nothing but noise
    return X, y


def slow(X, Y, y, seed):
    rng = np.random.default_rng(seed)

    def nearest(A, i):
        return sorted((j for j in range(len(A)) if j != i), key=lambda j: ((A[i] - A[j]) ** 2).sum())[:10]

    def error(X):
        return vote_error_reference(distances_reference(X), y, y, 10, own=True)

    def kept(X):
        return np.mean([len(set(nearest(X, i)) & set(nearest(Y, i))) / 10 for i in range(len(X))])

    found = []
    for f in range(X.shape[1]):
        mixed = X.copy()
        mixed[:, f] = rng.permutation(X[:, f])
        found.append((error(mixed) - error(X), kept(X) - kept(mixed)))
    return np.transpose(found)


def test_importances_are_those_of_permuted_columns(table):
    X, y = table
    X, y = X[:40, :3], y[:40]
    Y = X[:, :2]
    expected = slow(X, Y, y, 5)
    found = importances(X, Y, y, np.random.default_rng(5))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_map_of_the_telling_columns_is_aligned_and_one_of_the_others_is_not(table):
    X, y = table
    good = importance_alignment(X, X[:, :3], y)
    bad = importance_alignment(X, X[:, 3:6], y)
    assert good > 0.3 > bad
    assert good.spread == pytest.approx(np.sqrt(2 * 21 / (9 * 8 * 7)))
    rng = np.random.default_rng(1)
    null = [kendalltau(rng.normal(size=8), rng.normal(size=8)).statistic for _ in range(2000)]
    assert np.std(null) == pytest.approx(good.spread, rel=0.05)


def test_numbers_have_importances_too(table):
    X, _ = table
    value = 3 * X[:, 0] + X[:, 1]
    assert importance_alignment(X, X[:, :2], value) > importance_alignment(X, X[:, 3:5], value)


def test_too_little_to_rank_is_said_by_none(table):
    X, y = table
    assert importance_alignment(X[:, :5], X[:, :2], y) is None
    assert importance_alignment(X[:20], X[:20, :2], y[:20]) is None
    assert importance_alignment(X, X[:, :2], np.full(120, -1)) is None
    assert importance_alignment(np.zeros((120, 8)), X[:, :2], y) is None
