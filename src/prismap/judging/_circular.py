"""Labels that a clustering made: how much of their separation would it find in data without structure?

Clusters found in data and shown on a map of the same data are separate by construction. The same clustering of data
whose columns are permuted independently, which leaves every column as it was and no relation between columns, tells how
much of the separation is the clustering's own work.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from prismap.exceptions import InputError
from prismap.quality import Circularity

N_REPEATS = 3
#: Rows whose silhouettes are averaged: that takes all distances.
MOST_ROWS = 2000


def clusterer_of(labels_from: Any, n_classes: int, seed: int) -> Any:
    """The function from rows to labels: "clustering" is k-means with as many clusters as there are classes."""
    if isinstance(labels_from, str) and labels_from == "clustering":
        return KMeans(n_classes, n_init=3, random_state=seed).fit_predict
    if hasattr(labels_from, "fit_predict"):
        return lambda rows: clone(labels_from).fit_predict(rows)
    if callable(labels_from):
        return labels_from
    raise InputError(
        f"labels_from must be 'clustering', a clusterer with fit_predict, or a function of rows; got {labels_from!r}."
    )


def permuted_columns(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Every column in an order of its own."""
    return rng.permuted(X, axis=0)


def circularity(
    X: np.ndarray,
    y: np.ndarray,
    cluster: Callable[[Any], Any],
    rng: np.random.Generator,
    *,
    positions: np.ndarray | None = None,
    make: Callable[[Any, Any], np.ndarray] | None = None,
) -> Circularity:
    """The separation of labels on a map and what clustering explains of it; in the data if no map can be made again."""
    separate = separation(X if make is None or positions is None else positions, y)
    nulls = []
    for _ in range(N_REPEATS):
        rows = permuted_columns(X, rng)
        labels = np.asarray(cluster(rows))
        if labels.shape != (len(rows),):
            raise InputError(f"labels_from must give one label per row; got an array of {labels.shape}.")
        nulls.append(0.0 if len(np.unique(labels)) < 2 else separation(make(rows, labels) if make else rows, labels))
    return Circularity(separate, float(np.mean(nulls)), "data" if make is None else "map")


def separation(Y: np.ndarray, y: np.ndarray) -> float:
    """The mean silhouette width of the labelled rows.

    Not the error of neighbours: any cut through one cloud has next to none, and it would be called a perfect cluster.
    """
    known = y >= 0 if y.dtype.kind in "iu" else np.ones(len(y), dtype=bool)
    size = int(known.sum())
    if len(np.unique(y[known])) >= size:
        return 0.0
    return float(silhouette_score(Y[known], y[known], sample_size=min(size, MOST_ROWS), random_state=0))
