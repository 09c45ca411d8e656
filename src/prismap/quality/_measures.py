"""What a report says of any map beside its scores: trustworthiness, and classes as groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap._util.random import as_generator
from prismap.quality._distances import distance_rows
from prismap.quality._estimates import Estimate
from prismap.quality._groups import Arrangement, arrangement, label_continuity, label_trustworthiness
from prismap.quality._ranks import trustworthiness

#: Fewer judged rows than this say nothing about a class.
FEWEST_PER_CLASS = 5
#: Rows that classes are compared on: their distances are all needed.
MOST_GROUP_ROWS = 2000
NEIGHBORS = 10


def rare_classes(codes: np.ndarray, fewest: int = FEWEST_PER_CLASS) -> np.ndarray:
    """Codes of the classes with some judged rows, but fewer than `fewest`.

    Parameters
    ----------
    codes : whole numbers of the classes of the judged rows, -1 for none
    fewest : int, default=5

    Returns
    -------
    array of codes

    Examples
    --------
    >>> rare_classes(np.array([0, 0, 0, 0, 0, 2, 2, -1]))
    array([2])
    """
    present, sizes = np.unique(codes[codes >= 0], return_counts=True)
    return present[sizes < fewest]


def map_measures(
    X: Any,
    Y: Any,
    codes: Any = None,
    *,
    metric: Any = "euclidean",
    units: Any = None,
    names: Any = None,
    neighborhoods: bool = True,
    n_samples: int | None = None,
    random_state: Any = 0,
) -> tuple[dict[str, Estimate], Arrangement | None]:
    """Measures of a map by name, and the arrangement of its classes. Classes with fewer than five rows are left out.

    Parameters
    ----------
    X : rows, distances, or None for the fitted rows of a metric object
    Y : positions of the same rows
    codes : whole numbers of the classes, -1 for none; None without classes
    metric : name, ``"precomputed"`` or a fitted metric object
    units : whole numbers; rows of the same one are not independent of each other; None: all are
    names : of the classes, by their codes; None: the codes
    neighborhoods : False leaves the trustworthiness out, which takes distances to all rows
    n_samples : rows whose neighbourhoods are judged at most, and half of those that classes are compared on; None: as
        many as are worth it
    random_state : for the sample of many rows

    Returns
    -------
    measures : dict of Estimates by name
    arrangement : Arrangement or None

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> measures, _ = map_measures(X, X[:, :2], np.repeat([0, 1], 20))
    >>> sorted(measures)
    ['label-continuity', 'label-trustworthiness', 'trustworthiness']
    """
    n = len(Y)
    measures: dict[str, Estimate] = {}
    k = min(NEIGHBORS, (n - 1) // 2)
    if neighborhoods and k >= 1:
        some = None if n_samples is None or n_samples >= n else n_samples
        measures["trustworthiness"] = trustworthiness(
            X, Y, n_neighbors=k, metric=metric, n_samples=some, random_state=random_state
        )
    if codes is None:
        return measures, None
    kept = np.flatnonzero((codes >= 0) & ~np.isin(codes, rare_classes(codes)))
    most = MOST_GROUP_ROWS if n_samples is None else min(MOST_GROUP_ROWS, 2 * n_samples)
    if len(kept) > most:
        kept = np.sort(as_generator(random_state).choice(kept, most, replace=False))
    if len(np.unique(codes[kept])) < 2:
        return measures, None
    D, Y, codes = distances_among(X, kept, metric), np.asarray(Y)[kept], codes[kept]
    measures["label-trustworthiness"] = Estimate(label_trustworthiness(D, Y, codes, metric="precomputed"))
    measures["label-continuity"] = Estimate(label_continuity(D, Y, codes, metric="precomputed"))
    y = codes if names is None else np.array([str(name) for name in names], dtype=object)[codes]
    groups = None if units is None else np.asarray(units)[kept]
    return measures, arrangement(D, Y, y, groups=groups, metric="precomputed", random_state=random_state)


def distances_among(X: Any, rows: np.ndarray, metric: Any) -> np.ndarray:
    """Distances between some of the rows, exactly zero on the diagonal."""
    if X is None and hasattr(metric, "between"):
        D = np.array(metric.between(rows, rows), dtype=np.float64)
    else:
        D = distance_rows(X, metric, name="X").block(rows)[:, rows]
    np.fill_diagonal(D, 0.0)
    return np.maximum(D, 0.0)
