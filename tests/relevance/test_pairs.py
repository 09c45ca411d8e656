"""Pairs of columns that give a target away only together, and honest columns that only tell it well."""

from functools import partial

import numpy as np
import pytest
from experiments.tables_of_truth import exclusive_or, honest_blobs, leaking_pair
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from prismap.relevance._pairs import PAIRS, leaking_pairs, left_out, nearest_error
from prismap.target import make_target


def leaks_of(columns, y):
    return leaking_pairs(columns, make_target(y, len(y)))


@pytest.mark.parametrize("table", [leaking_pair, partial(leaking_pair, numbers=True), exclusive_or])
@pytest.mark.parametrize("n_more", [0, PAIRS.most_columns])
def test_a_pair_that_the_target_was_made_of_is_found(table, n_more):
    for seed in range(3):
        columns, y, truth = table(seed)
        rng = np.random.default_rng(100 + seed)
        columns |= {f"noise {j}": rng.normal(size=len(y)) for j in range(n_more if table is not exclusive_or else 5)}
        [leak] = leaks_of(columns, y)
        assert (leak.names, leak.kind) == (truth["leak"], "pair")
        assert leak.error <= 0.02
        assert str(leak).startswith(f"Columns {truth['leak'][0]!r} and {truth['leak'][1]!r} together give")


def test_ratios_and_categories_are_found():
    rng = np.random.default_rng(0)
    parts, total, other = np.exp(rng.normal(size=(3, 200)))
    assert [leak.names for leak in leaks_of({"parts": parts, "other": other, "total": total}, parts / total)] == [
        ("parts", "total")
    ]
    a, b = rng.integers(3, size=(2, 300))
    columns = {"a": np.eye(3)[a], "b": np.eye(3)[b], "c": rng.normal(size=300)}
    assert [leak.names for leak in leaks_of(columns, (a + b) % 3)] == [("a", "b")]


@pytest.mark.parametrize("gap", [2.6, 3.2, 8.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_that_are_apart_are_no_leak(gap, n_classes):
    for seed in range(3):
        columns, y, _ = honest_blobs(seed, gap=gap, n_classes=n_classes)
        assert leaks_of(columns, y) == []


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_measured_tables_have_none(load):
    X, y = load(return_X_y=True)
    assert leaks_of({str(j): column for j, column in enumerate(X.T)}, y) == []


def test_few_rows_and_noise_make_none():
    rng = np.random.default_rng(0)
    noise = {str(j): rng.normal(size=300) for j in range(20)}
    assert leaks_of(noise, rng.integers(2, size=300)) == []
    assert leaks_of(noise, rng.normal(size=300)) == []
    columns, y, _ = leaking_pair(n_rows=40)
    assert leaks_of(columns, y) == []


def test_out_of_fold_figures_agree_with_slow_ones():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    slow = y - cross_val_predict(LinearRegression(), X, y, cv=LeaveOneOut())
    np.testing.assert_allclose(left_out(list(X.T), y), slow)
    codes = rng.integers(3, size=40)
    D = np.square(X[:, None] - X).sum(axis=2) + np.diag(np.full(40, np.inf))
    assert nearest_error(X, codes) == (codes[D.argmin(axis=1)] != codes).mean()
