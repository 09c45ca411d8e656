"""Which columns set the clusters of a map apart.

A column sets a cluster apart if it hardly varies inside: the statistic is ``1 - var(inside) / var(all)``, of a category
summed over its levels. What random groups of the same size reach in their best column is the threshold, so the number
of columns is accounted for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Random groups that a column is compared with, and how narrow it must be to be named.
N_RANDOM, NARROW = 199, 0.5
MOST_ROWS = 2000
#: Share of the values at either end that are drawn in, of columns with more different values than so many.
TAIL, FEW_VALUES = 0.02, 10


@dataclass(frozen=True)
class ExplainedCluster:
    """A cluster of a map: the numbers of its rows, and the columns that set it apart, the narrowest first."""

    rows: NDArray[np.intp]
    columns: dict[str, float]
    share: float
    """How much of the map it is."""


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


def explained_clusters(
    labels: NDArray[np.intp], columns: Mapping[str, NDArray], *, seed: int = 0
) -> list[ExplainedCluster]:
    """The clusters of a map with the columns that set each apart; none if there is only one.

    Parameters
    ----------
    labels : the cluster of each row, -1 for none (`prismap.quality.find_clusters`)
    columns : (n,) or (n, k) features of the same rows, by name
    seed : of the random groups, and of the sample of more than 2,000 rows
    """
    n_rows, n_clusters = len(labels), int(labels.max(initial=-1)) + 1
    if n_clusters < 2 or not columns:
        return []
    names, among = list(columns), sampled(n_rows, seed)
    blocks = [np.asarray(columns[name], dtype=np.float64).reshape(n_rows, -1)[among] for name in names]
    blocks = [drawn_in(block) for block in blocks]
    first = np.concatenate([[0], np.cumsum([block.shape[1] for block in blocks])])[:-1]
    X = np.hstack([block - block.mean(axis=0) for block in blocks])
    orders, clusters = np.random.default_rng(seed).random((N_RANDOM, len(X))).argsort(axis=1), []
    for label in range(n_clusters):
        rows, inside = np.flatnonzero(labels == label), np.flatnonzero(labels[among] == label)
        if not len(inside):
            continue
        score, *null = narrowness(X, np.vstack([inside, orders[:, : len(inside)]]), first)
        order = [j for j in np.argsort(-score, kind="stable") if score[j] > max(np.max(null), NARROW)]
        clusters.append(ExplainedCluster(rows, {names[j]: float(score[j]) for j in order}, len(rows) / n_rows))
    return clusters
