"""Small tables of which the truth is known, each with what is true of it: what a report may say, and what it may not.

Every function takes a seed and returns ``(X, y, truth)``: rows, or columns by name where their names matter, the
target (None without one), and a dictionary of what is true.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

Table = tuple[Any, Any, dict[str, Any]]


def many_blobs(seed: int = 0, n_blobs: int = 60, n_each: int = 50, n_columns: int = 10) -> Table:
    """Blobs far apart: there are as many clusters as blobs, and no fewer because each is a small part of the map."""
    rng = np.random.default_rng(seed)
    blob = np.repeat(np.arange(n_blobs), n_each)
    X = 8 * rng.normal(size=(n_blobs, n_columns))[blob] + rng.normal(size=(len(blob), n_columns))
    return X, None, {"clusters": n_blobs, "blob": blob}


def sign_of_two(seed: int = 0, n_rows: int = 300, n_columns: int = 20) -> Table:
    """One Gaussian, the classes of which are the signs of two columns: they can be told apart, and are no clusters."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return X, 2 * (X[:, 0] > 0) + (X[:, 1] > 0), {"clusters": 1, "shows": True}


def clustered_gaussian(seed: int = 0, n_rows: int = 300, n_columns: int = 5, n_clusters: int = 3) -> Table:
    """One Gaussian with the labels of k-means: cells that touch each other, and no clusters."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    return X, KMeans(n_clusters, n_init=3, random_state=seed).fit_predict(X), {"clusters": 1, "shows": True}


def gap_in_one_column(seed: int = 0, n_rows: int = 300, n_columns: int = 20) -> Table:
    """Two classes with a gap of several deviations in one of many columns: two clusters, and the data have them."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, n_columns))
    X[:, 0] += 7 * y
    return X, y, {"clusters": 2, "shows": True}


def sparse_genes(seed: int = 0, n_rows: int = 600, n_genes: int = 12) -> Table:
    """Counts that are 0 in most rows. Two of them are expressed in one class more often, beyond any doubt."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=n_rows)
    expressed = rng.random((n_rows, n_genes)) < 0.05
    expressed[:, :2] = rng.random((n_rows, 2)) < np.where(y, 0.15, 0.01)[:, None]
    X = np.where(expressed, rng.gamma(2.0, size=(n_rows, n_genes)) + 1, 0.0)
    return {f"gene {j}": column for j, column in enumerate(X.T)}, y, {"telling": ("gene 0", "gene 1"), "shows": True}


def odd_category(seed: int = 0, n_rows: int = 400, n_classes: int = 30) -> Table:
    """A count whose commonest value is its least, and depends on a target of many classes; the other does not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    count = np.where(rng.random(n_rows) < np.where(y % 3 == 0, 0.9, 0.05), rng.integers(1, 4, n_rows), 0)
    columns = {"count": count.astype(float), "other": rng.choice(4, n_rows, p=(0.6, 0.2, 0.1, 0.1)).astype(float)}
    return columns, y, {"telling": ("count",), "shows": True}


def telling_gap(seed: int = 0, n_rows: int = 300, n_columns: int = 5) -> Table:
    """A column that is missing in nine of ten sick rows and in no other: its gaps tell the class, not its values."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    y = np.array(["well", "sick"])[rng.integers(2, size=n_rows)]
    sick = np.flatnonzero(y == "sick")
    X[sick[: round(0.9 * len(sick))], 3] = np.nan
    return {f"x{j}": column for j, column in enumerate(X.T)}, y, {"gaps tell": "x3", "leak": ("x3",)}


def leaking_pair(seed: int = 0, n_rows: int = 300, *, numbers: bool = False) -> Table:
    """The target was made of two columns: which of them is larger, or their difference. Neither gives it away alone."""
    rng = np.random.default_rng(seed)
    X = {name: rng.normal(size=n_rows) for name in ("age", "before", "height", "after", "weight")}
    change = X["after"] - X["before"]
    return X, change if numbers else (change > 0).astype(int), {"leak": ("before", "after"), "shows": True}


def exclusive_or(seed: int = 0, n_rows: int = 300) -> Table:
    """The class is whether two answers differ: each alone tells nothing, both together everything."""
    rng = np.random.default_rng(seed)
    X = {name: rng.integers(2, size=n_rows).astype(float) for name in ("first", "second", "third")}
    return X, (X["first"] != X["second"]).astype(int), {"leak": ("first", "second"), "shows": True}


def honest_blobs(seed: int = 0, n_rows: int = 400, gap: float = 8.0, n_classes: int = 3) -> Table:
    """Classes that any two of their columns tell apart, because they are apart: nothing leaks."""
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n_rows)
    X = rng.normal(size=(n_rows, 6))
    X[:, :n_classes] += gap * np.eye(n_classes)[y]
    return {f"x{j}": column for j, column in enumerate(X.T)}, y, {"leak": None, "clusters": n_classes, "shows": True}


def noisy_half(seed: int = 0, n_rows: int = 400, n_columns: int = 5) -> Table:
    """A number that is known well in one half of the rows, and hardly in the other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_columns))
    noisy = X[:, 0] > 0
    y = X[:, 1] + np.where(noisy, 2.0, 0.1) * rng.normal(size=n_rows)
    return X, y, {"noisy": noisy, "shows": True}


def nearly_empty_rows(seed: int = 0, n_rows: int = 200, n_columns: int = 6) -> Table:
    """Two of many rows have nothing but one column: they are not near to anything, and nothing is near to them."""
    X = np.random.default_rng(seed).normal(size=(n_rows, n_columns))
    X[-2:, 1:] = np.nan
    return X, None, {"empty": np.array([n_rows - 2, n_rows - 1])}


def wrong_labels(seed: int = 0, n_rows: int = 400, share: float = 0.1, n_classes: int = 4) -> Table:
    """Blobs of which a share of the rows has the label of another one, drawn at random."""
    rng = np.random.default_rng(seed)
    true = rng.integers(n_classes, size=n_rows)
    X = 3 * rng.normal(size=(n_classes, 6))[true] + rng.normal(size=(n_rows, 6))
    y, wrong = true.copy(), rng.permutation(n_rows)[: round(share * n_rows)]
    y[wrong] = (y[wrong] + rng.integers(1, n_classes, len(wrong))) % n_classes
    return X, y, {"wrong": np.sort(wrong), "class": true, "shows": True}


def overlapping_blobs(seed: int = 0, n_rows: int = 500, gap: float = 1.68, share: float = 0.0) -> Table:
    """Two clean Gaussians that overlap: the best rule errs in a fifth of the rows, and no label is wrong.

    share : of rows that get the label of the other one, where labels are to be wrong.
    """
    rng = np.random.default_rng(seed)
    true = rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 6))
    X[:, 0] += gap * true
    wrong = np.sort(rng.permutation(n_rows)[: round(share * n_rows)])
    y = true.copy()
    y[wrong] = 1 - y[wrong]
    return X, y, {"wrong": wrong, "class": true, "shows": True}


def batches(
    seed: int = 0, n_rows: int = 400, *, effect: float = 3.0, confounded: bool = False, shift: float = 3.0
) -> Table:
    """Two batches that shift some columns, and a class that shifts another one or nothing.

    confounded : whether a class is measured in one batch for the most part: then the batch predicts it by itself.
    """
    rng = np.random.default_rng(seed)
    batch = rng.integers(2, size=n_rows)
    y = np.where(rng.random(n_rows) < 0.95, batch, 1 - batch) if confounded else rng.integers(2, size=n_rows)
    X = rng.normal(size=(n_rows, 6))
    X[:, :2] += shift * batch[:, None]
    X[:, 3] += effect * y
    return X, y, {"batch": batch, "shows": effect > 0, "confounded": confounded}


def prices_with_outliers(seed: int = 0, n_rows: int = 300, n_outliers: int = 8) -> Table:
    """A number that two of many columns predict, and a few values a hundred times as large as the others."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 12))
    y = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n_rows)
    y[:n_outliers] = 100 + 50 * rng.random(n_outliers)
    return X, y, {"shows": True, "supervised": True, "outliers": np.arange(n_outliers)}


def states_of_units(
    seed: int = 0, share: str = "chance", state: float = 0.0, *, numbers: bool = False, uneven: bool = False
) -> Table:
    """Rows of 40 units whose target varies inside them: two states, or a number.

    share : what the part of a unit's rows in the second state (or the unit's mean) depends on: it is "half" in all of
        them, has nothing to do with the features ("chance"), or follows from where the unit lies ("centre").
    state : how far the states of a unit are apart in a column. Who sees these sees what units have more of, too.
    uneven : whether some units have far more rows than others.
    """
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(40), np.repeat([3, 23], [30, 10]) if uneven else 8)
    centres = 1.5 * rng.normal(size=(40, 6))
    of_unit = {"half": np.zeros(40), "chance": 2 * rng.normal(size=40), "centre": 2 * centres[:, 0]}[share][unit]
    if numbers:
        y = of_unit + rng.normal(size=len(unit))
    else:
        y = (rng.random(len(unit)) < 1 / (1 + np.exp(-of_unit))).astype(int)
    if share == "half":
        y = np.arange(len(unit)) % 2
    X = centres[unit] + 0.7 * rng.normal(size=(len(unit), 6))
    X[:, 1] += state * ((y - of_unit) if numbers else y)
    told = share == "centre" or (share == "chance" and state > 0 and not numbers)
    return X, y, {"unit": unit, "units_told_apart": told, "samples_told_apart": state > 0}
