"""Steps between ordered classes: against the plain formula."""

import numpy as np
import pytest

from prismap.quality import knn_steps
from prismap.quality._knn import chance_steps


@pytest.mark.parametrize("k", [1, 4, 7])
def test_steps_are_those_to_the_median_of_the_neighbours(k):
    rng = np.random.default_rng(0)
    Y, y = rng.normal(size=(40, 2)), rng.integers(0, 5, size=40)
    expected = []
    for i in range(40):
        near = np.argsort(np.linalg.norm(Y - Y[i], axis=1))[1 : k + 1]
        expected.append(abs(np.sort(y[near])[(k - 1) // 2] - y[i]))
    found = knn_steps(Y, y, n_neighbors=k)
    assert float(found) == pytest.approx(np.mean(expected))
    assert found.spread == pytest.approx(np.std(expected, ddof=1) / np.sqrt(40))


def test_only_the_order_of_classes_counts():
    rng = np.random.default_rng(1)
    Y, y, new, truth = rng.normal(size=(30, 2)), rng.integers(0, 4, size=30), rng.normal(size=(9, 2)), np.arange(9) % 4
    spaced = np.array([-7.5, 0.0, 0.25, 100.0])
    plain = knn_steps(new, truth, Y_fit=Y, y_fit=y, n_neighbors=5)
    assert float(plain) == float(knn_steps(new, spaced[truth], Y_fit=Y, y_fit=spaced[y], n_neighbors=5))


def test_chance_is_the_best_guess_without_neighbours():
    y = np.array([1, 1, 2, 5, 9, 9, 9])
    codes = np.array([0, 0, 1, 2, 3, 3, 3])
    assert chance_steps(y) == pytest.approx(min(np.abs(codes - guess).mean() for guess in range(4)))
