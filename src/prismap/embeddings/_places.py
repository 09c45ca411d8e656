"""Places that groups of rows are pulled to while a map is made: a coarse layout of the metric, or an older map.

t-SNE decides by its neighbours how rows lie inside a group, and hardly at all where a group lies among the others. So a
group is moved as a whole: each of its rows feels the same pull, by how far the *mean* of the group is from its place,
and neighbourhoods inside it are not disturbed. Places are compared with the map up to a similarity (shift, turn,
reflection and scale), which t-SNE is free to choose.

D. Kobak, P. Berens (2019), The art of using t-SNE for single-cell transcriptomics, on what the start of t-SNE decides.
N. Kury, D. Kobak, S. Damrich (2025), DREAMS: preserving both local and global structure in dimensionality reduction,
which pulls single rows to their principal components.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import row_blocks
from prismap._util.costs import stress_cost
from prismap._util.evidence import error_of_mean
from prismap._util.optimise import minimize
from prismap._util.search import smallest
from prismap._util.spectra import classical_scaling


@dataclass(frozen=True)
class Places:
    """Where groups of rows should be.

    Attributes
    ----------
    groups : (n,) the number of each row's group, -1 for rows that are free.
    positions : (groups, dimensions), up to a similarity.
    strength : from 0 to 1; the pull grows with its square.
    """

    groups: Rows
    positions: Numbers
    strength: float = 1.0

    def pull(self, Y: Numbers, groups: Rows | None = None) -> Numbers:
        """A gradient (n, dimensions): ``0.01 strength^2 (mean of the group - its place) / n``, zero of free rows.

        groups : those of the rows of Y, where they stand in another order.
        """
        groups = self.groups if groups is None else groups
        held = groups >= 0
        sizes = np.bincount(groups[held], minlength=len(self.positions)).astype(np.float64)
        means = group_means(Y, groups, sizes)
        away = np.where(sizes[:, None] > 0, means - similar(self.positions, means, sizes), 0.0)
        return np.where(held[:, None], away[groups], 0.0) * (0.01 * self.strength**2 / len(Y))

    def take(self, rows: Rows) -> Places:
        """The same of some of the rows."""
        groups, held = self.groups[rows].copy(), self.groups[rows] >= 0
        present, groups[held] = np.unique(groups[held], return_inverse=True)
        return replace(self, groups=groups, positions=self.positions[present])

    def start(self, P: Any, rng: np.random.Generator) -> Numbers:
        """Positions to start from: the places of the groups; rows that are free start among their neighbours by P."""
        Y, known = np.zeros((len(self.groups), self.positions.shape[1])), self.groups >= 0
        Y[known] = self.positions[self.groups[known]]
        spread = float(self.positions.std(axis=0).max())
        while not known.all():
            weights = np.asarray(P @ known.astype(np.float64)).ravel()
            reached = ~known & (weights > 0)
            if not reached.any():  # parts of the data that touch nothing held
                Y[~known] = spread * rng.normal(size=(int((~known).sum()), Y.shape[1]))
                break
            Y[reached] = (P @ np.where(known[:, None], Y, 0.0))[reached] / weights[reached, None]
            known = known | reached
        return Y


def group_means(Y: Numbers, groups: Rows, sizes: Numbers) -> Numbers:
    """Means of the positions of each group, zero of an empty one."""
    held = groups >= 0
    sums = [np.bincount(groups[held], weights=column, minlength=len(sizes)) for column in np.asarray(Y)[held].T]
    return np.asarray(np.stack(sums, axis=1) / np.maximum(sizes, 1.0)[:, None])


def similar(A: Numbers, B: Numbers, weights: Numbers | None = None) -> Numbers:
    """Positions A after the similarity (shift, turn, reflection, scale) that brings them nearest to B."""
    return similarity(A, B, weights)(A)


def similarity(
    A: Numbers, B: Numbers, weights: Numbers | None = None, *, scale: bool = True
) -> Callable[[Numbers], Numbers]:
    """The map ``a -> s a R + t`` that brings positions A nearest to B; without `scale`, s is 1.

    ``min sum_i w_i ||s a_i R + t - b_i||^2`` over s, t and orthogonal R (Schoenemann and Carroll 1970).
    """
    w = np.ones(len(A)) if weights is None else weights
    w = w / max(float(w.sum()), np.finfo(float).tiny)
    centre_A, centre_B = w @ A, w @ B
    A, B = A - centre_A, B - centre_B
    U, values, Vt = np.linalg.svd(A.T @ (w[:, None] * B))
    spread = float(w @ np.square(A).sum(axis=1))
    factor = (values.sum() / spread if spread > 0 else 0.0) if scale else 1.0
    turn = factor * (U @ Vt)
    return lambda Y: np.asarray((Y - centre_A) @ turn + centre_B)


# --- a coarse layout of a metric --------------------------------------------------------------------------------------


def coarse_layout(
    metric: Any, n_rows: int, rng: np.random.Generator, *, strength: float, n_components: int = 2
) -> Places:
    """Groups of all rows around medoids, and places of these groups whose distances are those under the metric.

    The distances between groups are those of their means, ``d^2(a, b) = E d^2(i, j) - (E d^2(i, i') + E d^2(j, j')) /
    2``: the noise inside a group, which is most of a distance in many dimensions, does not count. The places minimise
    the stress of them, from classical scaling on. No row's own label has a say: groups are made by the metric alone.
    """
    sample = sampled_rows(n_rows, rng)
    D2 = np.square(np.asarray(metric.between(sample, sample), dtype=np.float64))
    D2 = (D2 + D2.T) / 2
    medoids = spread_medoids(D2, int(np.clip(len(sample) // 10, 2, 100)), rng)  # ten rows show where a group is
    groups = nearest_of(metric, sample[medoids], n_rows)
    D = between_groups(D2, groups[sample], len(medoids))
    start = classical_scaling(np.square(D), n_components, rng)[0]
    start += 1e-3 * float(D.mean()) * rng.normal(size=start.shape)  # groups that coincide would never part
    return Places(groups, minimize(partial(stress_cost, D=D), start).x, strength)


def sampled_rows(n_rows: int, rng: np.random.Generator, most: int = 2000) -> Rows:
    """The rows that groups are found on: all of few."""
    return np.sort(rng.choice(n_rows, min(n_rows, most), replace=False))


def spread_medoids(D2: Numbers, n_medoids: int, rng: np.random.Generator) -> Rows:
    """Rows in the middle of the groups that they make, from squared distances.

    Started far apart by chance (k-means++, Arthur and Vassilvitskii 2007), then each group's most central row in turn.
    """
    medoids = [int(rng.integers(len(D2)))]
    nearest = D2[medoids[0]].copy()
    while len(medoids) < n_medoids and nearest.sum() > 0:
        medoids.append(int(rng.choice(len(D2), p=nearest / nearest.sum())))
        nearest = np.minimum(nearest, D2[medoids[-1]])
    chosen = np.array(medoids)
    for _ in range(10):
        groups = D2[chosen].argmin(axis=0)
        members = [np.flatnonzero(groups == g) for g in range(len(chosen))]
        better = np.array([
            rows[D2[np.ix_(rows, rows)].sum(axis=0).argmin()] if len(rows) else medoid
            for rows, medoid in zip(members, chosen, strict=True)
        ])  # fmt: skip
        if np.array_equal(better, chosen):
            break
        chosen = better
    return np.unique(chosen)


def nearest_of(metric: Any, medoids: Rows, n_rows: int) -> Rows:
    """The number of the nearest medoid of each row, a block of rows at a time."""
    groups = np.empty(n_rows, dtype=np.intp)
    for block in row_blocks(n_rows, 24.0 * len(medoids)):
        groups[block] = np.asarray(metric.between(np.arange(n_rows)[block], medoids)).argmin(axis=1)
    groups[medoids] = np.arange(len(medoids))  # though a copy of one may be another
    return groups


def between_groups(D2: Numbers, groups: Rows, n_groups: int) -> Numbers:
    """Distances between the means of groups of rows, by the squared distances of the rows."""
    members = np.zeros((len(groups), n_groups))
    members[np.arange(len(groups)), groups] = 1.0
    sizes = members.sum(axis=0)
    means = members.T @ D2 @ members / (sizes[:, None] * sizes)
    within = means.diagonal()
    D = np.sqrt(np.maximum(means - (within[:, None] + within) / 2, 0.0))
    return np.asarray((D + D.T) / 2)


# --- how strong a pull may be -----------------------------------------------------------------------------------------


def largest_affordable(
    losses_at: Callable[[float], Numbers],
    units: Rows | None = None,
    strengths: Sequence[float] = (1.0, 0.6, 0.3, 0.1),
    worth_of: Callable[[float], float] | None = None,
) -> tuple[float, dict[float, float]]:
    """The largest strength whose mean loss is within one standard error of that without a pull, and all mean losses.

    losses_at : the losses of the same rows at a strength. units : of these rows, which the standard error goes by.
    strengths : that are tried, the largest first. worth_of : what a strength is worth, asked after its losses: of all
    that are within the error, also no pull, the largest is taken that is worth as much as the best to within 0.02.
    """
    free = losses_at(0.0)
    means, error = {0.0: float(free.mean())}, error_of_mean(free, units)
    worth = {0.0: -np.inf if worth_of is None else worth_of(0.0)}
    for strength in strengths:
        means[strength] = float(losses_at(strength).mean())
        if means[strength] <= means[0.0] + error:  # never so if the error is not known
            worth[strength] = 0.0 if worth_of is None else worth_of(strength)
            if worth_of is None:
                break
    return max(strength for strength in worth if worth[strength] >= max(worth.values()) - 0.02), means


def neighbors_lost(D: Numbers, Y: Numbers, n_neighbors: int = 10) -> Numbers:
    """The share of each row's nearest rows by distances D that are not among its nearest on the map Y, (n,)."""
    k = min(n_neighbors, max(1, (len(D) - 1) // 2))
    lists = []
    for distances in (np.array(D, dtype=np.float64), cdist(Y, Y)):
        np.fill_diagonal(distances, np.inf)
        lists.append(smallest(distances, k)[1])
    kept = (lists[0][:, :, None] == lists[1][:, None, :]).any(axis=2)
    return np.asarray(1.0 - kept.mean(axis=1))
