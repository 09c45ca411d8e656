"""Who votes: the k nearest labelled rows of each judged row, with ties shared out.

Rows at exactly the k-th distance (to 11 digits) share the seats that nearer rows leave, so the result depends neither
on the order of the rows nor on chance, and maps with many equal positions (self-organising maps, duplicates) are judged
fairly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import KDTree

from prismap._blocks import row_blocks
from prismap._random import as_generator
from prismap._search import check_n_neighbors
from prismap.exceptions import InputError
from prismap.quality.distances import FEW_COLUMNS, distance_rows, rounded

#: A metric object is asked for so many neighbours at most when ties or unlabelled rows leave the k-th one open.
LONGEST_LIST = 1024


@dataclass(frozen=True)
class Electorate:
    """Row numbers of those judged and of those who vote; `own` says that both number the same rows."""

    rows: np.ndarray
    voters: np.ndarray
    n_voting_rows: int
    own: bool


def electorate(labelled, labelled_fit, n_samples, random_state) -> Electorate:
    """All labelled rows or `n_samples` of them, judged by labelled fitted rows, or else by each other."""
    own = labelled_fit is None
    rows = np.flatnonzero(labelled)
    voters = rows if own else np.flatnonzero(labelled_fit)
    if not len(rows) or not len(voters):
        raise InputError("no labelled row is left to judge, or to judge by; y must hold labels for some rows.")
    if n_samples is not None:
        if not 1 <= n_samples <= len(rows):
            raise InputError(f"n_samples must lie between 1 and the {len(rows)} labelled rows; got {n_samples}.")
        rows = np.sort(as_generator(random_state).choice(rows, size=int(n_samples), replace=False))
    return Electorate(rows, voters, len(labelled if own else labelled_fit), own)


def nearest_votes(Y: Any, people: Electorate, n_neighbors: int, *, Y_fit: Any = None, metric: Any = "euclidean"):
    """Seats (len(rows), len(voters)), a sparse matrix whose rows sum to k, and the distances of its stored entries."""
    k = check_n_neighbors(n_neighbors, len(people.voters), own=people.own)
    if not isinstance(metric, str) and hasattr(metric, "kneighbors") and (Y is None or not people.own):
        return _stack([_votes_by_metric(Y, people, k, metric)], len(people.voters))
    fit = None if people.own else (True if Y_fit is None else Y_fit)
    source = distance_rows(Y, metric, X_fit=fit, name="Y")
    _check_count(source.n_columns, people)
    parts, rows = [], np.arange(len(people.rows))
    if isinstance(metric, str) and metric == "euclidean" and np.shape(Y)[1] <= FEW_COLUMNS:
        found, rows = _votes_by_tree(np.asarray(Y, float), np.asarray(Y if people.own else Y_fit, float), people, k)
        parts.append(found)
    for part in row_blocks(len(rows), 40.0 * source.n_columns):
        judged = people.rows[rows[part]]
        D = source.block(judged)[:, people.voters]
        if people.own:
            D[np.arange(len(D)), np.searchsorted(people.voters, judged)] = np.inf
        parts.append(_share_out(D, k, rows[part]))
    return _stack(parts, len(people.voters))


def _votes_by_tree(Y, Y_fit, people: Electorate, k: int):
    """Votes found by a tree, and the rows it leaves open, whose list of neighbours ends in the middle of a tie."""
    D, index = KDTree(Y_fit[people.voters]).query(Y[people.rows], k=min(k + 2, len(people.voters)))
    D = rounded(D)
    if people.own:
        D[index == np.searchsorted(people.voters, people.rows)[:, None]] = np.inf
    kth = np.partition(D, k - 1, axis=1)[:, k - 1]
    settled = np.where(np.isinf(D), -np.inf, D).max(axis=1) > kth
    return _share_out(D[settled], k, np.flatnonzero(settled), index[settled]), np.flatnonzero(~settled)


def _votes_by_metric(A, people: Electorate, k: int, metric):
    """Votes found by a metric's own search; ties beyond `LONGEST_LIST` neighbours are cut where that list ends."""
    most = people.n_voting_rows - people.own
    place = np.full(people.n_voting_rows, -1, dtype=np.intp)
    place[people.voters] = np.arange(len(people.voters))
    asked = min(k + 1, most)
    while True:
        D, index = metric.kneighbors(A, n_neighbors=asked)
        _check_count(len(D) if people.own else max(index.max() + 1, people.n_voting_rows), people)
        D, index = rounded(D[people.rows]), place[index[people.rows]]
        last = D[:, -1].copy()
        D[index < 0] = np.inf
        kth = np.partition(D, k - 1, axis=1)[:, k - 1]
        if asked == most or (last > kth).all() or (asked >= LONGEST_LIST and np.isfinite(kth).all()):
            return _share_out(D, k, np.arange(len(D)), index)
        asked = min(4 * asked, most)


def _share_out(D, k: int, rows, index=None):
    """(row, voter, seats, distance) of all entries up to the k-th smallest of each row of D."""
    kth = np.partition(D, k - 1, axis=1)[:, k - 1]
    row, at = np.nonzero(kth[:, None] >= D)
    distance = D[row, at]
    nearer = distance < kth[row]
    left = k - np.bincount(row[nearer], minlength=len(D))
    tied = np.bincount(row[~nearer], minlength=len(D))
    seats = np.where(nearer, 1.0, left[row] / tied[row])
    return rows[row], at if index is None else index[row, at], seats, distance


def _check_count(n_rows: int, people: Electorate) -> None:
    if n_rows != people.n_voting_rows:
        name = "y" if people.own else "y_fit"
        raise InputError(f"{name} has {people.n_voting_rows} entries for {n_rows} rows: they must be equal in number.")


def _stack(parts, n_voters: int):
    row, voter, seats, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(row, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(row))])
    shape = (len(starts) - 1, n_voters)
    return sp.csr_array((seats[order], voter[order], starts), shape=shape), distance[order]
