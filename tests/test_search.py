"""The smallest entries of rows, against sorting."""

import numpy as np
import pytest

from prismap._util.search import smallest


def sorted_rows(D, k):
    """The slow twin: each row sorted by value, then by column; what is no number comes last."""
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


def entries(kind):
    D = np.random.default_rng(0).normal(size=(7, 500))
    if kind == "ties":
        D = np.round(D, 1)
    if kind == "constant":
        D[:] = 1.0
    if kind == "infinite":
        D[D > -2.2] = np.inf
    if kind == "not numbers":
        D[D > 0] = np.nan
    if kind == "ascending":  # all of the smallest in one stretch
        D = np.sort(D, axis=1)
    return np.asfortranarray(D) if kind == "other order" else D


@pytest.mark.parametrize("k", [1, 3, 24, 499, 500, 600])
@pytest.mark.parametrize("kind", ["plain", "ties", "infinite", "not numbers", "ascending", "other order"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_to_sorting(kind, k, dtype):
    D = entries(kind).astype(dtype)
    values, columns = smallest(D, k)
    expected, order = sorted_rows(D, k)
    assert values.dtype == dtype
    np.testing.assert_array_equal(values, expected)
    if kind in ("plain", "ascending", "other order"):
        np.testing.assert_array_equal(columns, order)
    np.testing.assert_array_equal(np.take_along_axis(D, columns, axis=1), values)
    assert all(len(set(row)) == len(row) for row in columns.tolist())


def test_no_rows_and_equal_entries():
    values, columns = smallest(np.empty((0, 500)), 3)
    assert values.shape == columns.shape == (0, 3)
    assert smallest(entries("constant"), 2)[0].tolist() == [[1.0, 1.0]] * 7
