"""Clusters of a map: groups of rows with gaps between them. This is the only cluster finder of the package.

Rows are joined from the nearest on (single linkage), at the distance that HDBSCAN uses,

    d(a, b) = max(core_a, core_b, |a - b|),    core_a = the distance of a to its fifth nearest place,

so that no thin bridge joins what is apart (Campello, Moulavi & Sander 2013). Where two groups meet, both of which have
at least a fiftieth of all rows, but not fewer than ten and not more than fifteen, the gap between them is

    gap = d at which they meet / the larger of their median core distances:

about 1 inside a cloud, however dense it is. The widest gap of one Gaussian in the plane, and of a t-SNE map of one
Gaussian in eight dimensions, is 1.0 to 1.6 at 150 to 3,000 rows. Groups that meet at a wider one are clusters. (With
fifteen rows in 1,500 the widest of 30 Gaussians was 1.5. A size that grows with the map would overlook the clusters of
a map of many.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist

from prismap._util.random import as_generator


@dataclass(frozen=True)
class ClusterRules:
    """What counts as a cluster.

    Attributes
    ----------
    least_gap : a gap of one Gaussian is narrower in 19 of 20 maps.
    most_rows : rows that clusters are looked for among: all distances between them are taken.
    smallest_share : rows that a cluster has at least: this share of all,
    fewest_rows : but no fewer than this
    enough_rows : and no more than this.
    core_neighbors : neighbours that the core distance of a row reaches.
    tie : of equal distances by the core of a row the shorter way comes first, whatever the order of the rows.
    """

    least_gap: float = 1.6
    most_rows: int = 3000
    smallest_share: float = 0.02
    fewest_rows: int = 10
    enough_rows: int = 15
    core_neighbors: int = 5
    tie: float = 1e-9


CLUSTERS = ClusterRules()


def find_clusters(Y: Any, *, least_gap: float = CLUSTERS.least_gap, random_state: Any = 0) -> np.ndarray:
    """The cluster of each row of a map, (n,): 0 for the largest; -1 for rows between clusters. All 0 without a gap.

    Parameters
    ----------
    Y : (n, n_components) positions
    least_gap : float, default=1.6
        Gaps up to this do not count.
    random_state : int, RandomState instance or None, default=0
        For the sample of more than 3,000 rows; the others go with the nearest one of it.

    Returns
    -------
    array (n,) of whole numbers

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.normal(size=(60, 2)) + 20 * (np.arange(60) < 20)[:, None]
    >>> np.bincount(find_clusters(Y))
    array([40, 20])
    """
    Y = np.asarray(Y, dtype=np.float64)
    rows = some_rows(len(Y), random_state)
    labels = grouped(join(Y[rows]), least_gap)[0]
    return labels if len(rows) == len(Y) else labels[cKDTree(Y[rows]).query(Y)[1]]


@dataclass(frozen=True)
class Joined:
    """How places of a map were joined: node p + t is what the t-th step of single linkage made of p places."""

    which: np.ndarray
    """The place of each row: rows at one place are one."""
    core: np.ndarray
    children: np.ndarray
    height: np.ndarray
    weight: np.ndarray
    """Rows of each node."""
    members: tuple[np.ndarray, np.ndarray, np.ndarray]
    """Places in the order of the tree, and where each node's begin and end."""

    def places_of(self, node: int) -> np.ndarray:
        """The places of a node."""
        order, begin, end = self.members
        return order[begin[node] : end[node]]

    def spacing(self, node: int) -> float:
        """The median core distance of a node's places."""
        return float(np.median(self.core[self.places_of(node)]))


def join(Y: np.ndarray) -> Joined:
    """Join the rows of a map, from the nearest on."""
    places, which, weight = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    p, which = len(places), which.ravel()
    if p < 2:
        single = np.zeros(1, dtype=np.intp)
        return Joined(which, np.zeros(1), np.empty((0, 2), np.intp), np.empty(0), weight, (single, single, single + 1))
    core = cKDTree(places).query(places, k=min(CLUSTERS.core_neighbors + 1, p))[0][:, -1]
    D = pdist(places)
    cores = np.concatenate([np.maximum(core[i], core[i + 1 :]) for i in range(p)])  # of pairs in the order of D
    np.maximum(D, cores, out=cores)
    Z = linkage(np.add(cores, CLUSTERS.tie * D, out=cores), "single")
    children = Z[:, :2].astype(np.intp)
    weight = np.concatenate([weight, np.zeros(p - 1, dtype=weight.dtype)])
    count = np.concatenate([np.ones(p, dtype=np.intp), Z[:, 3].astype(np.intp)])
    begin = np.zeros(2 * p - 1, dtype=np.intp)
    for t, (left, right) in enumerate(children):
        weight[p + t] = weight[left] + weight[right]
    for t in range(p - 2, -1, -1):
        left, right = children[t]
        begin[left], begin[right] = begin[p + t], begin[p + t] + count[left]
    return Joined(which, core, children, Z[:, 2], weight, (leaves_list(Z), begin, begin + count))


def meetings(joined: Joined) -> list[tuple[int, float]]:
    """(step, gap) of all steps at which two large groups meet."""
    large = joined.weight >= fewest_rows(len(joined.which))
    steps = np.flatnonzero(large[joined.children].all(axis=1))
    return [(int(t), float(joined.height[t] / max(map(joined.spacing, joined.children[t])))) for t in steps]


def grouped(joined: Joined, least_gap: float = CLUSTERS.least_gap) -> tuple[np.ndarray, list[float]]:
    """The cluster of each row, the largest first, and the gap of each; one cluster without a gap if there is none."""
    p, gaps = len(joined.core), dict(meetings(joined))
    inside: dict[int, list[int]] = {}
    gap_of: dict[int, float] = {}
    large = joined.weight >= fewest_rows(len(joined.which))
    for t, (left, right) in enumerate(joined.children):
        parts = [inside.pop(node, [node]) for node in (left, right) if large[node]]
        if t in gaps:
            gap_of |= {part[0]: gaps[t] for part in parts if len(part) == 1}
            if gaps[t] > least_gap or any(len(part) > 1 for part in parts):
                inside[p + t] = parts[0] + parts[1]
        elif parts and len(parts[0]) > 1:  # a fragment beside several clusters
            inside[p + t] = parts[0]
    nodes = sorted(inside.get(len(joined.weight) - 1, []), key=lambda node: (-joined.weight[node], node))
    if not nodes:
        return np.zeros(len(joined.which), dtype=np.intp), [0.0]
    of_place = np.full(p, -1, dtype=np.intp)
    for j, node in enumerate(nodes):
        of_place[joined.places_of(node)] = j
    return of_place[joined.which], [gap_of[node] for node in nodes]


def widest_gap(Y: Any, random_state: Any = 0) -> float:
    """The widest gap in a map; 0 if no two large groups meet anywhere."""
    Y = np.asarray(Y, dtype=np.float64)
    return max((gap for _, gap in meetings(join(Y[some_rows(len(Y), random_state)]))), default=0.0)


def fewest_rows(n_rows: int) -> int:
    """Rows that a cluster has at least."""
    return int(np.clip(np.ceil(CLUSTERS.smallest_share * n_rows), CLUSTERS.fewest_rows, CLUSTERS.enough_rows))


def some_rows(n_rows: int, random_state: Any) -> np.ndarray:
    """All rows, or `ClusterRules.most_rows` of them."""
    if n_rows <= CLUSTERS.most_rows:
        return np.arange(n_rows)
    return np.sort(as_generator(random_state).choice(n_rows, CLUSTERS.most_rows, replace=False))
