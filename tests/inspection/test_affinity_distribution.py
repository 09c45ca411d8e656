"""The distribution of q_ij, and what it shows."""

import numpy as np

from prismap.inspection._out_of_sample import affinity_distribution


def test_equals_the_definition():
    Y = np.random.default_rng(0).normal(size=(12, 2))
    w = [1 / (1 + ((a - b) ** 2).sum()) for i, a in enumerate(Y) for b in Y[:i]]
    expected = [sum(a <= v < b for v in w) / len(w) for a, b in ((0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1.1))]
    shares, edges = affinity_distribution(Y, bins=4)
    np.testing.assert_allclose(shares, expected)
    assert edges.tolist() == [0, 0.25, 0.5, 0.75, 1]


def test_does_not_depend_on_the_number_of_rows():
    rng = np.random.default_rng(0)
    few, many = (affinity_distribution(rng.normal(size=(n, 2)), bins=20)[0] for n in (300, 2500))
    assert np.abs(few - many).sum() < 0.1


def test_rows_piled_up_in_one_spot_show_in_the_last_bin():
    spread = 10 * np.random.default_rng(0).normal(size=(300, 2))
    piled = spread.copy()
    piled[:60] = 0
    assert affinity_distribution(piled)[0][-1] > 10 * affinity_distribution(spread)[0][-1]
