"""Distances on a grid: exact, and so the same alone, among others and with any number of threads."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from prismap._util.grid import MOST_DIGITS, Grid, as_numbers, sum_products


@pytest.fixture
def rows():
    return np.random.default_rng(0).normal(size=(300, 37))


def exact_squared(grid, A, B):
    """The same by Python's fractions."""
    a, b = ([Fraction(float(x)) for x in as_numbers(side, grid.base)[0]] for side in (A, B))
    return float(sum((x - z) ** 2 for x, z in zip(a, b, strict=True)) * Fraction(grid.step) ** 2)


def test_squared_distances_on_the_grid_are_exact(rows):
    grid = Grid.under(rows[150:], 4.0)
    laid = grid.lay(rows)
    assert len(laid.digits) == 1
    D2 = grid.squared(laid, laid)
    for i, j in [(0, 1), (17, 250), (299, 3)]:
        assert D2[i, j] == exact_squared(grid, laid.take([i]), laid.take([j]))
    np.testing.assert_allclose(np.sqrt(D2), cdist(rows, rows), atol=4.0 * 2**-14)


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e9])
@pytest.mark.parametrize("form", [np.array, sp.csr_array])
def test_the_same_bits_alone_and_among_others_whatever_the_scale(rows, offset, form):
    rows = rows.copy()
    rows[:150] += offset
    grid = Grid.under(rows[150:], 4.0)
    laid = grid.lay(form(rows))
    with threadpool_limits(2):
        together = grid.squared(laid, laid)
    with threadpool_limits(1):
        for i in (0, 149, 150, 299):
            np.testing.assert_array_equal(grid.squared(grid.lay(form(rows[i : i + 1])), laid)[0], together[i])
    assert not np.diag(together).any()
    np.testing.assert_array_equal(together, together.T)
    if form is np.array:
        np.testing.assert_allclose(np.sqrt(together), cdist(rows, rows), rtol=1e-9, atol=4.0 * 2**-13)


def test_longer_rows_take_more_digits_and_the_longest_are_drawn_in(rows):
    grid = Grid.under(rows[150:], 4.0)
    assert [len(grid.lay(rows * scale).digits) for scale in (1.0, 1e6, 1e200)] == [1, 2, MOST_DIGITS]
    near, far = grid.lay(rows[:5]), grid.lay(np.vstack([rows[:5] * 1e200, rows[:1]]))
    D2 = grid.squared(far, near)
    assert np.isfinite(D2).all()
    assert D2[:5].min() > 1e20
    assert D2[5, 0] == 0
    thin = grid.squared(grid.lay(sp.csr_array(rows[:5] * 1e200)), grid.lay(sp.csr_array(rows[:5])))
    np.testing.assert_allclose(thin, D2[:5], rtol=1e-9)


def test_the_step_is_a_power_of_two_below_what_matters(rows):
    grid = Grid.under(rows, 4.0)
    assert len(grid.lay(4 * rows).digits) == 1
    assert np.log2(grid.step) == round(np.log2(grid.step))
    assert grid.step * np.sqrt(37) <= 4.0 * 2**-15
    assert 4 * 37 * grid.base**2 <= 2**53


def test_sums_of_rows_do_not_depend_on_their_company(rows):
    K, A = np.abs(rows), np.random.default_rng(1).normal(size=(37, 3))
    together = sum_products(K, A)
    np.testing.assert_allclose(together, K @ A, rtol=1e-12)
    for i in (0, 7, 299):
        np.testing.assert_array_equal(sum_products(K[i : i + 1], A)[0], together[i])
