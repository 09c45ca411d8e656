"""Classes or a quantity: right on targets as they occur, with a reason and a way out."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_digits, load_wine

from prismap.target import decide_target, make_target
from prismap.target._decision import order_of_values

N = 400


def smooth(seed, noise=0.3):
    """Rows, and a number that varies smoothly over them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 4))
    return X, X[:, 0] + 0.5 * X[:, 1] ** 2 + noise * rng.normal(size=N)


def clusters(n_clusters, seed, spread=1.0):
    """Rows around centres, and the numbers of the centres, which mean nothing."""
    rng = np.random.default_rng(seed)
    centers = 4 * rng.normal(size=(n_clusters, 5))
    codes = np.arange(N) % n_clusters
    return centers[codes] + spread * rng.normal(size=(N, 5)), codes


def rounded(seed, scale, shift, **options):
    X, y = smooth(seed, **options)
    return X, np.round(shift + scale * y).astype(int)


def unrelated(y, seed=0):
    return np.random.default_rng(seed).normal(size=(len(y), 4)), y


def counts(seed, mean):
    X, y = smooth(seed, noise=0.0)
    return X, np.random.default_rng(seed).poisson(mean * np.exp(0.5 * y))


def months():
    rng = np.random.default_rng(5)
    y = rng.integers(1, 13, N)
    angle = 2 * np.pi * y / 12
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.2 * rng.normal(size=(N, 2)), y


def postal_codes():
    rng = np.random.default_rng(6)
    places = np.sort(rng.choice(np.arange(10_000, 99_999), 40, replace=False))
    codes = np.arange(N) % 40
    return np.column_stack([places[codes] / 1000, rng.normal(size=N)]), places[codes]


def images():
    return load_digits(return_X_y=True)


def disease():
    return load_diabetes(return_X_y=True)


def wine_column():
    X = load_wine().data
    return np.delete(X, 12, axis=1), X[:, 12].astype(int)


def words(values):
    return unrelated(np.array(values * (N // len(values))))


RNG = np.random.default_rng(7)
TARGETS = {
    "prices rounded": (rounded(0, 8, 25), "real"),
    "prices in steps of 5000": ((lambda X, y: (X, 5000 * y))(*rounded(1, 10, 60)), "real"),
    "prices, nearly all different": (rounded(2, 40_000, 300_000), "real"),
    "age": (rounded(3, 12, 40), "real"),
    "age of unrelated rows": (unrelated(RNG.integers(18, 90, N)), "real"),
    "year": (rounded(4, 6, 2000), "real"),
    "year of unrelated rows": (unrelated(RNG.integers(1985, 2020, N)), "real"),
    "counts": (counts(8, 8.0), "real"),
    "counts from zero": (counts(9, 15.0), "real"),
    "hours per week": (rounded(10, 8, 38), "real"),
    "hours of waiting": (counts(11, 20.0), "real"),
    "disease progression": (disease(), "real"),
    "proline": (wine_column(), "real"),
    "skewed counts": (counts(104, 8.0), "real"),
    "temperature": (rounded(12, 9, 5), "real"),
    "whole floats": ((lambda X, y: (X, y.astype(float)))(*rounded(13, 8, 25)), "real"),
    "fractions": (smooth(14), "real"),
    "digits": (images(), "class"),
    "month": (months(), "class"),
    "postal code": (postal_codes(), "class"),
    "stars": ((lambda X, y: (X, np.clip(y, 1, 5)))(*rounded(15, 1, 3)), "class"),
    "cluster numbers": (clusters(8, 16), "class"),
    "many cluster numbers": (clusters(30, 17), "class"),
    "many overlapping clusters": (clusters(26, 18, spread=4.0), "class"),
    "cluster numbers of few rows": (clusters(90, 19), "class"),
    "yes / no": (words(["yes", "no"]), "class"),
    "0 / 1": (unrelated(np.arange(N) % 2), "class"),
    "-1 / 1": (unrelated(2 * (np.arange(N) % 2) - 1), "class"),
    "booleans": (unrelated(np.arange(N) % 2 == 0), "class"),
    "names": (words(["setosa", "virginica", "versicolor", "other"]), "class"),
    "weekday": (unrelated(np.arange(N) % 7), "class"),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets_as_they_occur(name):
    (X, y), kind = TARGETS[name]
    decision = decide_target(y, X)
    assert decision.kind == kind, decision.reason
    assert decide_target(y, X).kind == make_target(y, len(y), X=X).kind == kind
    other = {"real": "class", "class": "real"}[kind]
    possible = y.dtype.kind in "iuf" and len(np.unique(y)) > 2
    assert (f"target='{other}'" in str(decision)) == possible == (decision.way_out is not None)
    assert decision.reason in str(decision)


@pytest.mark.parametrize("name", ["prices rounded", "many cluster numbers", "age"])
@pytest.mark.parametrize("data", ["dissimilarity", "similarity"])
def test_matrices_of_pairs_tell_the_same(name, data):
    (X, y), kind = TARGETS[name]
    X = X / X.std(axis=0)
    pairs = X @ X.T if data == "similarity" else np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    assert decide_target(y, pairs, data).kind == kind
    assert order_of_values(pairs, y, data=data) == pytest.approx(order_of_values(X, y))


def test_exchanged_names_are_no_order_and_missing_values_do_not_matter():
    (X, y), _ = TARGETS["age"]
    names = np.random.default_rng(0).permutation(int(y.max()) + 1)
    assert order_of_values(X, names[y])[1] < 2.5 < order_of_values(X, y)[1]
    gaps = y.astype(object)
    gaps[::3] = None
    assert decide_target(gaps, X).kind == "real"
    assert "neighbouring rows have neighbouring values" in decide_target(gaps, X).reason


def test_a_told_kind_is_not_doubted():
    (X, y), _ = TARGETS["age"]
    assert make_target(y, len(y), "class", X=X).kind == "class"
    assert make_target(y, len(y), X=X).kind == "real"
