"""How far apart rows usually are: fast paths against all distances, and the figures that follow."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from prismap._util.scales import far_threshold, nearest_distances, position_spacing, typical_distance, typical_spacing


@pytest.mark.parametrize("k", [1, 3, 500])
def test_spacing_of_positions_is_that_of_their_distances(k):
    Y = np.random.default_rng(0).normal(size=(40, 2))
    expected = np.sort(cdist(Y, Y), axis=1)[:, min(k, 39)]
    np.testing.assert_allclose(nearest_distances(cdist(Y, Y), k), expected)
    np.testing.assert_allclose(position_spacing(Y, k), expected)
    np.testing.assert_allclose(position_spacing(Y, k, rows=np.array([7, 3])), expected[[7, 3]])
    assert typical_spacing(Y, k) == pytest.approx(np.median(expected))


def test_typical_distances_are_positive():
    assert typical_distance(np.array([0.0, 0.0, 2.0, 4.0])) == 3
    assert typical_distance(np.zeros(3)) == 1
    assert typical_spacing(np.array([[0.0], [0.0], [0.0], [5.0]])) == 5
    assert typical_spacing(np.zeros((1, 2))) == typical_spacing(np.zeros((4, 2))) == 1


def test_one_row_in_a_hundred_is_far():
    assert far_threshold(np.arange(1.0, 1000.0)) == 990 / 500
    assert far_threshold(np.array([1.0, 1.0, 3.0])) == 3
