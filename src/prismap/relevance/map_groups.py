"""The islands of a map, and which columns set them apart.

An island is a group of positions that are connected by steps of a few usual distances between neighbours. A column
sets it apart if it hardly varies inside: the statistic is ``1 - var(inside) / var(all)``, of a category summed over its
levels. What random groups of the same size reach in their best column is the threshold, so the number of columns is
accounted for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from prismap._spacing import position_spacing

#: An island is connected by steps between rows that have so many neighbours within a step, whose length is in typical
#: distances to the last of these.
NEIGHBORS, STEP = 8, 2.0
#: The smallest island, as a share of the rows and in rows.
SMALLEST_SHARE, SMALLEST_ROWS = 0.02, 10
#: Random groups that a column is compared with, and how narrow it must be to be named.
N_RANDOM, NARROW = 199, 0.5
MOST_ROWS = 2000
#: Share of the values at either end that are drawn in, of columns with more different values than so many.
TAIL, FEW_VALUES = 0.02, 10


@dataclass(frozen=True)
class Island:
    """A group of rows on a map: their numbers, and the columns that set it apart, the narrowest first."""

    rows: NDArray[np.intp]
    columns: dict[str, float]
    share: float
    """How much of the map it is; of a large map `rows` are a sample."""


def map_islands(Y: NDArray, *, seed: int = 0) -> list[NDArray[np.intp]]:
    """The islands of positions Y, the largest first; too small ones are left out. One alone is no island.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Y = np.vstack([rng.uniform(size=(50, 2)), rng.uniform(size=(30, 2)) + 5])
    >>> [len(rows) for rows in map_islands(Y)]
    [50, 30]
    """
    n_rows = len(Y)
    if n_rows < 2 * SMALLEST_ROWS:
        return []
    kept = sampled(n_rows, seed)
    points = Y[kept]
    spacing = position_spacing(points, NEIGHBORS)
    step = STEP * float(np.median(spacing))
    dense = np.flatnonzero(spacing <= step)  # a few rows in the water between two islands make no bridge
    tree = cKDTree(points[dense])
    near = tree.query_pairs(step, output_type="ndarray")
    links = coo_array((np.ones(len(near)), (near[:, 0], near[:, 1])), shape=(len(dense),) * 2)
    of_dense = connected_components(links, directed=False)[1]
    distance, nearest = tree.query(points)
    labels = np.where(distance <= step, of_dense[nearest], -1)
    fewest = max(SMALLEST_ROWS, SMALLEST_SHARE * len(points))
    groups = [kept[labels == label] for label, size in enumerate(np.bincount(labels[labels >= 0])) if size >= fewest]
    return sorted(groups, key=len, reverse=True) if len(groups) > 1 else []


def sampled(n_rows: int, seed: int) -> NDArray[np.intp]:
    """The rows that are looked at."""
    return np.sort(np.random.default_rng(seed).permutation(n_rows)[:MOST_ROWS])


def drawn_in(block: NDArray) -> NDArray:
    """A column of numbers (n, 1) without its extremes: a few of them would make it narrow nearly everywhere."""
    if block.shape[1] > 1 or len(np.unique(block)) <= FEW_VALUES:
        return block
    low = np.quantile(block, TAIL, method="higher")
    return np.clip(block, low, np.quantile(block, 1 - TAIL, method="lower"))


def narrowness(X: NDArray, groups: NDArray, first: NDArray) -> NDArray:
    """``1 - var(inside) / var(all)`` of each column inside groups of rows, (m, columns); 0 of columns that do not vary.

    X : (n, k) centred features. groups : (m, rows) numbers of rows. first : the first feature of each column.
    """
    member = np.zeros((len(groups), len(X)))
    np.put_along_axis(member, groups, 1.0 / groups.shape[1], axis=1)
    inside = np.add.reduceat(member @ np.square(X) - np.square(member @ X), first, axis=1)
    overall = np.add.reduceat(X.var(axis=0), first)
    constant = overall == 0
    return np.where(constant, 0.0, 1.0 - inside / np.where(constant, 1.0, overall))


def explained_islands(Y: NDArray, columns: Mapping[str, NDArray], *, seed: int = 0) -> list[Island]:
    """The islands of positions Y with the columns that set each apart; `columns` are (n,) or (n, k) features."""
    groups = map_islands(Y, seed=seed)
    if not groups or not columns:
        return []
    names = list(columns)
    among = sampled(len(Y), seed)
    blocks = [np.asarray(columns[name], dtype=np.float64).reshape(len(Y), -1)[among] for name in names]
    blocks = [drawn_in(block) for block in blocks]
    first = np.concatenate([[0], np.cumsum([block.shape[1] for block in blocks])])[:-1]
    X = np.hstack([block - block.mean(axis=0) for block in blocks])
    orders, islands = np.random.default_rng(seed).random((N_RANDOM, len(X))).argsort(axis=1), []
    for rows in groups:
        drawn = orders[:, : len(rows)]
        score, *null = narrowness(X, np.vstack([np.searchsorted(among, rows), drawn]), first)
        order = [j for j in np.argsort(-score, kind="stable") if score[j] > max(np.max(null), NARROW)]
        islands.append(Island(rows, {names[j]: float(score[j]) for j in order}, len(rows) / len(among)))
    return islands
