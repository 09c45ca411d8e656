"""Nearest neighbours over any metric: one question, several ways to answer it.

A vantage-point tree over any distance, built and searched with blocks of distances (Schulz et al. 2017, sec. 4).

Each node of the tree picks one of its rows, the *vantage*, sorts its rows by their distance to it and cuts them in
halves. A query that is d away from the vantage is, by the triangle inequality, at least ``max(lo - d, d - hi)`` away
from every row of a half whose rows lie between lo and hi from the vantage; halves that are farther than the neighbours
found already are never looked at. All rows of a leaf ask together, so that what is computed are matrices and not single
distances: the leaf against the vantages of a level, then against one promising leaf after another.

The inequality holds for metrics. Fisher distances of pairs of straight segments nearly satisfy it, but not always, so
neighbours can be missed: the recall is measured on a sample and stands in the report.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from prismap._util.random import as_generator
from prismap._util.search import Neighbors, check_n_neighbors, partition_neighbors, smallest
from prismap._util.threads import parallel_map
from prismap.exceptions import InputError
from prismap.metrics._base import fit_metric

METHODS = ("auto", "exact", "partition", "vptree")
#: From so many rows on "auto" searches by partition; below, comparing all pairs takes seconds.
PARTITION_ROWS = 10_000

logger = logging.getLogger(__name__)


def kneighbors(
    X=None, n_neighbors=90, *, metric: Any = "euclidean", y=None, queries=None, method="auto", recall=0.97,
    random_state=None, n_jobs=None,
) -> Neighbors:  # fmt: skip
    """Nearest fitted rows of each query row: (distances, indices), nearest first.

    Parameters
    ----------
    X : rows (or distances, with ``metric="precomputed"``) among which neighbours are sought; None if `metric` is a
        metric object that is fitted already.
    n_neighbors : how many.
    metric : a name scikit-learn knows, "precomputed", or a metric object (`prismap.metrics._base` has the contract).
    y : target, for metrics that want one.
    queries : new rows; None asks for the neighbours of the rows X themselves, of which none is its own neighbour.
    method : "exact" compares all pairs, block by block. "partition" and "vptree" find nearly all neighbours of the
        fitted rows among each other with far fewer comparisons. "auto" is exact below 10,000 rows and for new rows,
        partition above (objects are searched by pivots); the result says which it was.
    recall : share of the exact neighbours that "partition" is to find.
    random_state : seed of "partition" and "vptree".
    n_jobs : threads.

    Returns
    -------
    Neighbors : the pair ``(distances, indices)``, arrays (n_queries, n_neighbors), with `method`, `recall` (estimated
        on a sample) and `n_distances` (how many were computed) as attributes.

    Examples
    --------
    >>> distances, indices = kneighbors([[0.0], [1.0], [3.0]], 1)
    >>> indices.ravel().tolist()
    [1, 0, 1]
    """
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(METHODS)}; got {method!r}.")
    if X is None:
        if isinstance(metric, str):
            raise InputError(f"X is missing: metric={metric!r} needs the rows to search among.")
        check_is_fitted(metric)
    else:
        metric = fit_metric(metric, X, y, n_jobs=n_jobs)
    n_rows = metric.n_rows_
    if method == "auto" and queries is None and n_rows >= PARTITION_ROWS and hasattr(metric, "search"):
        return metric.search(n_neighbors, random_state)
    method = choose_method(method, metric, n_rows, queries)
    if method == "exact":
        distances, indices = metric.kneighbors(queries, n_neighbors)
        return Neighbors(distances, indices, method="exact", n_distances=len(indices) * n_rows)
    n_neighbors = check_n_neighbors(n_neighbors, n_rows, own=True)
    if method == "vptree":
        distances, indices, report = vptree_neighbors(
            metric.between, n_rows, n_neighbors, random_state=random_state, n_jobs=n_jobs
        )
        return Neighbors(distances, indices, method="vptree", recall=report.recall, n_distances=report.n_evaluations)
    cheaper = metric.cheaper()
    neighbors = partition_neighbors(
        metric.between, n_rows, n_neighbors, recall=recall, random_state=random_state, n_jobs=n_jobs,
        at_least=None if cheaper is metric else cheaper.between,
    )  # fmt: skip
    logger.info("%r", neighbors)
    return neighbors


def choose_method(method, metric, n_rows, queries):
    """The method in force; approximate ones only know the fitted rows' neighbours among each other."""
    able = hasattr(metric, "between") and queries is None
    if method == "auto":
        return "partition" if able and n_rows >= PARTITION_ROWS else "exact"
    if method != "exact" and not able:
        reason = "queries are new rows" if queries is not None else f"{type(metric).__name__} has no between(a, b)"
        raise InputError(f"method={method!r} is for neighbours among the fitted rows, and {reason}; use 'exact'.")
    return method


# --- vantage-point tree -----------------------------------------------------------------------------------------------

#: Distances that are this share of themselves apart count as equal: rounding must not cut off a branch.
ROUNDING = 1e-5

Block = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class VPTreeReport:
    """What a search cost and how good it was.

    Attributes
    ----------
    n_rows, n_neighbors : size of the question.
    n_evaluations : distances computed to build the tree and to search it (not those of the check).
    recall : share of the true neighbours that were found, over the checked rows; ties count as found.
    n_checked : rows that were checked.
    depth, n_leaves : shape of the tree.
    """

    n_rows: int
    n_neighbors: int
    n_evaluations: int
    recall: float
    n_checked: int
    depth: int
    n_leaves: int

    @property
    def share(self) -> float:
        """Distances computed, as a share of n^2."""
        return self.n_evaluations / self.n_rows**2

    def __str__(self) -> str:
        return (
            f"vantage-point tree of {self.n_leaves} leaves: {self.n_evaluations:,} distances "
            f"({100 * self.share:.1f} % of n^2), recall {self.recall:.3f} on {self.n_checked} rows"
        )


@dataclass(frozen=True)
class VPTree:
    """A balanced tree; level l has 2^l nodes.

    Attributes
    ----------
    order : rows, sorted by leaf.
    edges : for each level, leaves included, where its nodes begin and end in `order`.
    vantages : for each level but that of the leaves, the vantage row of each node.
    to_vantage : (depth, n), distance of each row to the vantage of its node of each level.
    limits : for each level, (2^l, 2): least and largest distance of a node's rows to its parent's vantage (root: 0, 0).
    n_evaluations : distances computed.
    """

    order: np.ndarray
    edges: list[np.ndarray]
    vantages: list[np.ndarray]
    to_vantage: np.ndarray
    limits: list[np.ndarray]
    n_evaluations: int

    @property
    def depth(self) -> int:
        """Levels above the leaves."""
        return len(self.vantages)

    def rows(self, level: int, node: int) -> np.ndarray:
        """The rows of a node."""
        return self.order[self.edges[level][node] : self.edges[level][node + 1]]


def vptree_neighbors(
    distance_block: Block, n_rows: int, n_neighbors: int = 90, *, leaf_rows: int = 64, slack: float = 0.0,
    n_checked: int = 200, n_jobs: int | None = None, random_state=None,
) -> tuple[np.ndarray, np.ndarray, VPTreeReport]:  # fmt: skip
    """Nearest neighbours of every row among the others: (distances, indices, report), nearest first.

    Parameters
    ----------
    distance_block : ``distance_block(rows, columns)``, distances (len(rows), len(columns)) of rows by index; a fitted
        metric's ``between``.
    n_rows : how many rows there are.
    n_neighbors : how many neighbours; a row is not its own.
    leaf_rows : rows of a leaf at most: as many queries ask together.
    slack : branches are cut when they are farther than ``1 / (1 + slack)`` times the neighbours found: 0 misses nothing
        under a metric, more is quicker and misses some.
    n_checked : rows for which all distances are computed to measure the recall.
    n_jobs : threads; the result does not depend on it.
    random_state : seed of the vantage rows and of the checked ones.

    Examples
    --------
    >>> x = np.arange(500.0)
    >>> distances, indices, report = vptree_neighbors(lambda a, b: abs(x[a][:, None] - x[b]), 500, 2, random_state=0)
    >>> sorted(indices[7].tolist()), report.recall, report.share < 0.5
    ([6, 8], 1.0, True)
    """
    n_neighbors = check_n_neighbors(n_neighbors, n_rows, own=True)
    rng = as_generator(random_state)
    tree = build_tree(distance_block, n_rows, leaf_rows, rng)
    leaves = range(len(tree.edges[-1]) - 1)

    def search(leaf: int) -> LeafSearch:
        return LeafSearch(tree, leaf, distance_block, n_neighbors, 1 + slack).run()

    distances, indices = np.empty((n_rows, n_neighbors)), np.empty((n_rows, n_neighbors), dtype=np.intp)
    n_evaluations = tree.n_evaluations
    for leaf in parallel_map(search, leaves, n_jobs):
        distances[leaf.queries], indices[leaf.queries] = leaf.distances, leaf.indices
        n_evaluations += leaf.n_evaluations
    checked = np.sort(rng.permutation(n_rows)[:n_checked])
    recall = measured_recall(distance_block, distances, checked)
    report = VPTreeReport(n_rows, n_neighbors, n_evaluations, recall, len(checked), tree.depth, len(leaves))
    return distances, indices, report


def build_tree(distance_block: Block, n_rows: int, leaf_rows: int, rng: np.random.Generator) -> VPTree:
    """The tree, level by level."""
    order, edges = np.arange(n_rows), [np.array([0, n_rows])]
    depth = max(0, int(np.ceil(np.log2(n_rows / leaf_rows))))
    vantages, limits, to_vantage = [], [np.zeros((1, 2))], np.empty((depth, n_rows))
    for level in range(depth):
        nodes = list(zip(edges[level][:-1], edges[level][1:], strict=True))
        chosen = np.array([order[rng.integers(start, stop)] for start, stop in nodes])
        middles = np.array([(start + stop) // 2 for start, stop in nodes])
        ends = np.empty((2 * len(nodes), 2))
        for node, (start, stop) in enumerate(nodes):
            rows = order[start:stop]
            d = distance_block(rows, chosen[node : node + 1])[:, 0]
            to_vantage[level, rows] = d
            sorting = np.argsort(d, kind="stable")
            order[start:stop], d = rows[sorting], d[sorting]
            half = middles[node] - start
            ends[2 * node], ends[2 * node + 1] = (d[0], d[half - 1]), (d[half], d[-1])
        vantages.append(chosen)
        limits.append(ends)
        edges.append(np.sort(np.concatenate([edges[level], middles])))
    return VPTree(order, edges, vantages, to_vantage, limits, depth * n_rows)


class LeafSearch:
    """The neighbours of the rows of one leaf, which ask together.

    `distances` and `indices` hold the neighbours found so far, infinite where there are none yet; `factor` is the
    slack's, by which bounds are multiplied.
    """

    def __init__(self, tree, leaf, distance_block, n_neighbors, factor):
        self.tree, self.leaf, self.distance_block, self.factor = tree, leaf, distance_block, factor
        self.queries = tree.rows(tree.depth, leaf)
        self.distances = np.full((len(self.queries), n_neighbors), np.inf)
        self.indices = np.full((len(self.queries), n_neighbors), -1, dtype=np.intp)
        self.n_evaluations = 0

    def run(self):
        """Search the near rows first, then every leaf that could hold nearer ones."""
        done = self._look_around()
        leaves, bounds = self._possible_leaves()
        new = (leaves < done.start) | (leaves >= done.stop)
        leaves, bounds = leaves[new], bounds[:, new]
        nearest_first = np.argsort(bounds.mean(axis=0), kind="stable")
        at_once = 1
        while len(nearest_first):
            batch, nearest_first = nearest_first[:at_once], nearest_first[at_once:]
            open_pairs = self._open(bounds[:, batch])
            batch = batch[open_pairs.any(axis=0)]
            if len(batch):
                rows = np.concatenate([self.tree.rows(self.tree.depth, leaf) for leaf in leaves[batch]])
                self._compare(np.flatnonzero(open_pairs.any(axis=1)), rows)
            at_once = min(2 * at_once, 8)
        return self

    def _look_around(self):
        """Compare with the smallest node around the leaf that has more rows than neighbours are wanted: its leaves."""
        level, node = self.tree.depth, self.leaf
        while level and np.diff(self.tree.edges[level])[node] <= self.distances.shape[1]:
            level, node = level - 1, node // 2
        self._compare(np.arange(len(self.queries)), self.tree.rows(level, node))
        below = self.tree.depth - level
        return range(node << below, (node + 1) << below)

    def _possible_leaves(self):
        """Leaves that may hold nearer rows, and lower bounds (queries, leaves) of the distance to them."""
        nodes, bounds = np.zeros(1, dtype=np.intp), np.zeros((len(self.queries), 1))
        for level in range(self.tree.depth):
            d = self._to_vantages(level, nodes)
            children = (2 * nodes[:, None] + np.arange(2)).ravel()
            low, high = self.tree.limits[level + 1][children].T
            d = np.repeat(d, 2, axis=1)
            bounds = np.maximum(np.repeat(bounds, 2, axis=1), np.maximum(low - d, d - high))
            kept = self._open(bounds).any(axis=0)
            nodes, bounds = children[kept], bounds[:, kept]
        return nodes, bounds

    def _to_vantages(self, level, nodes):
        """Distances (queries, nodes) to the vantages of nodes; that of the leaf's own ancestor is known."""
        d = np.empty((len(self.queries), len(nodes)))
        own = nodes == self.leaf >> (self.tree.depth - level)
        d[:, own] = self.tree.to_vantage[level, self.queries][:, None]
        if not own.all():
            d[:, ~own] = self._measure(self.queries, self.tree.vantages[level][nodes[~own]])
        return d

    def _open(self, bounds):
        """Which queries could find nearer rows within these bounds."""
        return self.factor * bounds <= self.distances[:, -1:] * (1 + ROUNDING)

    def _compare(self, some, rows):
        """Let some of the queries, by position, look at rows."""
        D = self._measure(self.queries[some], rows)
        D[self.queries[some][:, None] == rows[None, :]] = np.inf
        both = np.concatenate([self.distances[some], D], axis=1)
        index = np.concatenate([self.indices[some], np.broadcast_to(rows, D.shape)], axis=1)
        self.distances[some], columns = smallest(both, self.distances.shape[1])
        self.indices[some] = np.take_along_axis(index, columns, axis=1)

    def _measure(self, rows, columns):
        self.n_evaluations += len(rows) * len(columns)
        return np.asarray(self.distance_block(rows, columns), dtype=np.float64)


def measured_recall(distance_block: Block, distances: np.ndarray, checked: np.ndarray) -> float:
    """Share of the true neighbours of some rows that were found: those no farther than the last true one."""
    if not len(checked):
        return float("nan")
    n_rows, n_neighbors = distances.shape
    D = np.asarray(distance_block(checked, np.arange(n_rows)), dtype=np.float64)
    D[np.arange(len(checked)), checked] = np.inf
    last = np.partition(D, n_neighbors - 1, axis=1)[:, n_neighbors - 1]
    return float(np.mean(distances[checked] <= last[:, None] * (1 + ROUNDING)))
