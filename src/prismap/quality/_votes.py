"""Who votes on a row, how many, and how ties fall: the only vote of the package.

Errors, trust, the choice of a map, predictions for new rows and the page all ask the same voters by the same rule:

(a) The voters of a row are its k nearest labelled rows, never itself and never a row that is not independent of it:
    one of its own unit or, where units are stretches of time, of the next ones. Rows at exactly the k-th distance (to
    11 digits) share the seats that nearer ones leave. k is `VOTERS`, but no more than half the rows of the class that
    the nearest voter is of (`voters_of_classes`): of seven rows of a class, ten voters would be others' for the most
    part, wherever these seven lie. Of several nearest voters the largest class counts. So k is ten wherever classes
    have at least twenty rows.
(b) The class with the most seats is named.
(c) A draw goes to the class whose nearest voter is nearest, among those that draw.
(d) If these are equally near, too, the lowest code is named, and an error counts the chance of a fair draw among the m
    that are left, 1/m.

So nothing depends on the order of the rows or on chance, and maps with many equal positions (self-organising maps,
duplicates) are judged fairly. Of numbers the plain mean of the voters is taken. Only the published measures of real
targets (`knn_nrmse` and those of ranks) have neighbours of their own: five, weighted by 1/distance.

`poll` asks by the target, `vote_on` and `mean_on` ask positions, distances or a metric, and `vote_of_lists` counts
lists of neighbours.
`nearest_votes` is the search below them, which the errors use as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.neighbors import KDTree

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import row_blocks
from prismap._util.random import as_generator
from prismap._util.search import check_n_neighbors
from prismap.exceptions import InputError
from prismap.quality._distances import FEW_COLUMNS, distance_rows, rounded
from prismap.target import Target

#: k: how many neighbours vote.
VOTERS = 10
#: So much of a class votes at most. (Of generated classes of 3 to 200 rows, Gaussians or several clusters per class, a
#: half has errors near the lowest of all; a third is better for clusters and worse for Gaussians.)
SHARE_OF_CLASS = 0.5
#: A search for neighbours ends here, although ties or rows without a vote leave the k-th one open.
LONGEST_LIST = 1024
#: Names of the columns that say what neighbours are like.
CLASS, SHARE, MEAN, SPREAD = "neighbor_class", "neighbor_share", "neighbor_mean", "neighbor_std"
#: Seats are fractions: differences up to this are rounding.
EQUAL = 1e-9

#: Row, voter, seats and distance of each vote.
Entries = tuple[Rows, Rows, Numbers, Numbers]


# --- the outcome ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Vote:
    """What the voters of n rows say, of C classes.

    Attributes
    ----------
    seats : (n, C) seats of each class; each row sums to its number of voters.
    winners : (n, C) whether a class has the most seats and, in a draw, the nearest voter. Several win only if these are
        equally near, and all of them where there is no voter.
    """

    seats: Numbers
    winners: NDArray[np.bool_]

    @property
    def named(self) -> Rows:
        """The class that is named, (n,) codes."""
        return np.asarray(self.winners.argmax(axis=1))

    @property
    def share(self) -> Numbers:
        """The share of the voters that are of the named class, (n,)."""
        return self.share_of(self.named)

    @property
    def prediction(self) -> Rows:
        """What the voters say: the class that is named."""
        return self.named

    def agreement(self, prediction: Rows, tolerance: float) -> Numbers:
        """The share of the voters that agree with a prediction, (n,)."""
        return self.share_of(prediction)

    def share_of(self, codes: Rows) -> Numbers:
        """The share of the voters that are of a class, (n,); 0 where there is no voter."""
        votes = self.seats[np.arange(len(codes)), codes]
        return np.asarray(votes / np.maximum(self.seats.sum(axis=1), EQUAL))

    def right(self, codes: Rows) -> Numbers:
        """The chance that the vote names these classes, (n,): 0 or 1 unless several win, and 0 for a code of -1."""
        wins = self.winners[np.arange(len(codes)), codes] & (codes >= 0)
        return np.asarray(wins / self.winners.sum(axis=1))

    def misses(self, target: Target) -> Numbers:
        """How far the vote is from a target, (n,): the chance that it names another class."""
        assert target.codes is not None
        return 1.0 - self.right(target.codes)

    def figures(self, target: Target) -> dict[str, NDArray[Any]]:
        """What the vote says as columns of a table: the class that it names, and the share of the voters."""
        names = np.array([str(name) for name in target.classes], dtype=object)
        return {CLASS: names[self.named], SHARE: self.share}

    def beaten(self, codes: Rows) -> NDArray[np.bool_]:
        """Whether another class has more seats than these, (n,)."""
        votes = self.seats[np.arange(len(codes)), codes]
        return np.asarray(votes < self.seats.max(axis=1) - EQUAL)


@dataclass(frozen=True, eq=False)
class NumberVote:
    """What the voters of n rows say of a number.

    Attributes
    ----------
    seats : sparse (n, voters); each row sums to its number of voters.
    values : the numbers of the voters.
    """

    seats: Any
    values: Numbers

    @property
    def mean(self) -> Numbers:
        """The mean of the voters, (n,)."""
        return self._over(self.values[self.seats.indices])

    @property
    def std(self) -> Numbers:
        """The standard deviation of the voters, (n,)."""
        return np.sqrt(self._over(np.square(self.values[self.seats.indices] - self._per_entry(self.mean))))

    @property
    def prediction(self) -> Numbers:
        """What the voters say: their mean."""
        return self.mean

    def agreement(self, prediction: Numbers, tolerance: float) -> Numbers:
        """The share of the voters that agree with a prediction, (n,): that differ by no more than the tolerance."""
        return self.share_within(prediction, tolerance)

    def misses(self, target: Target) -> Numbers:
        """How far the vote is from a target, (n,), in standard deviations of it."""
        spread = float(target.values[target.labelled].std()) or 1.0
        return np.asarray(np.abs(self.mean - target.values) / spread)

    def figures(self, target: Target) -> dict[str, NDArray[Any]]:
        """What the vote says as columns of a table: its mean and standard deviation."""
        return {MEAN: self.mean, SPREAD: self.std}

    def share_within(self, centre: Numbers, half: float) -> Numbers:
        """The share of the voters that are not farther than `half` from a number, (n,)."""
        near = np.abs(self.values[self.seats.indices] - self._per_entry(centre)) <= half
        return self._over(near.astype(np.float64))

    def _over(self, entries: Numbers) -> Numbers:
        """The mean of one number per vote over the votes of each row."""
        row = self._per_entry(np.arange(self.seats.shape[0]))
        sums, votes = (
            np.bincount(row, weights=weights, minlength=self.seats.shape[0])
            for weights in (self.seats.data * entries, self.seats.data)
        )
        with np.errstate(invalid="ignore"):
            return np.asarray(sums / votes)

    def _per_entry(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(of_rows, np.diff(self.seats.indptr))


# --- votes ------------------------------------------------------------------------------------------------------------


def poll(Y: Any, fitted_Y: Any, target: Target, *, same: bool = False, **options: Any) -> Any:
    """The vote of fitted rows with this target on each row of Y, a `Vote` or a `NumberVote`; options of `vote_on`.

    target : of one column. same : whether Y are the fitted rows themselves, none of which votes on its own unit.
    """
    if same:
        options |= {"units": target.units, "fitted_units": target.units, "in_order": target.in_order}
    if target.codes is None:
        return mean_on(Y, fitted_Y, target.values, **options)
    return vote_on(Y, fitted_Y, target.codes, len(target.classes), **options)


def vote_on(
    Y: Any, fitted_Y: Any, fitted_codes: Any, n_classes: int, *, n_neighbors: int | None = None, own: Any = None,
    units: Any = None, fitted_units: Any = None, in_order: bool = False, metric: Any = "euclidean",
) -> Vote:  # fmt: skip
    """The vote of fitted rows on the class of each row.

    Parameters
    ----------
    Y : positions of the n judged rows, their distances to the fitted ones (``metric="precomputed"``), or None for the
        fitted rows of a metric object
    fitted_Y : positions of the fitted rows; None with distances and metric objects
    fitted_codes : codes of the fitted rows' classes, -1 for those without a vote
    n_classes : C, above all codes
    n_neighbors : a k for all rows; None: by rule (a). Where fewer have a vote, all of them vote
    own : the number of each judged row among the fitted ones, -1 for none: it does not vote for itself
    units, fitted_units : whole numbers of the judged and of the fitted rows' units: rows of the same one have no vote
    in_order : whether rows of the units before and after it have none either
    metric : name, ``"precomputed"`` or a fitted metric object
    """
    codes = np.asarray(fitted_codes)
    people = _everybody(Y, codes >= 0, own, units, fitted_units, in_order)
    seats, distances = nearest_votes(Y, people, n_neighbors or VOTERS, Y_fit=fitted_Y, metric=metric, at_most=True)
    voting = codes[people.voters]
    return vote_of_seats(seats, distances, voting, n_classes, sizes_of(voting) if n_neighbors is None else None)


def mean_on(
    Y: Any, fitted_Y: Any, fitted_values: Any, *, n_neighbors: int = VOTERS, own: Any = None, units: Any = None,
    fitted_units: Any = None, in_order: bool = False, metric: Any = "euclidean",
) -> NumberVote:  # fmt: skip
    """The vote of fitted rows on a number of each row: as `vote_on`, with NaN for those without a vote."""
    values = np.asarray(fitted_values, dtype=np.float64)
    people = _everybody(Y, ~np.isnan(values), own, units, fitted_units, in_order)
    seats, _ = nearest_votes(Y, people, n_neighbors, Y_fit=fitted_Y, metric=metric, at_most=True)
    return NumberVote(seats, values[people.voters])


def vote_of_lists(codes: Any, n_classes: int, sizes: Rows | None = None) -> Vote:
    """The vote of lists of neighbours, (n, k) codes, nearest first; -1: no vote.

    sizes : the number of rows of each class, for rule (a); None: all of each list vote.
    """
    codes = np.asarray(codes)
    votes = codes >= 0
    if sizes is not None:
        first = np.take_along_axis(codes, votes.argmax(axis=1)[:, None], axis=1)
        votes &= np.cumsum(votes, axis=1) <= voters_of_classes(sizes)[first]
    row, place = np.nonzero(votes)
    return _counted(row, codes[row, place], np.ones(len(row)), place.astype(np.float64), (len(codes), n_classes))


def vote_of_seats(seats: Any, distances: Numbers, codes: Rows, n_classes: int, sizes: Rows | None = None) -> Vote:
    """The vote of voters with these codes, by what `nearest_votes` found; `sizes` as in `vote_of_lists`."""
    row = np.repeat(np.arange(seats.shape[0]), np.diff(seats.indptr))
    of_voters, shares = codes[seats.indices], seats.data
    if sizes is not None:
        shares = _fewer_seats(row, of_voters, shares, distances, sizes)
    return _counted(row, of_voters, shares, distances, (seats.shape[0], n_classes))


def voters_of_classes(sizes: Rows) -> Rows:
    """How many vote on a row whose nearest voter is of a class with so many rows.

    >>> voters_of_classes(np.array([1, 7, 20, 500])).tolist()
    [1, 3, 10, 10]
    """
    return np.asarray(np.clip(SHARE_OF_CLASS * sizes, 1, VOTERS), dtype=np.intp)


def sizes_of(codes: Rows) -> Rows:
    """The number of rows of each class, by code; a row of -1 has no class."""
    return np.bincount(codes[codes >= 0])


def _fewer_seats(row: Rows, code: Rows, seats: Numbers, distance: Numbers, sizes: Rows) -> Numbers:
    """The seats of votes that are left if fewer vote on the rows whose nearest voters are of small classes.

    The votes of a row stand one after the other.
    """
    wanted = voters_of_classes(sizes)[code]
    if wanted.min(initial=VOTERS) == VOTERS:
        return seats
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    counts = np.diff(starts, append=len(row))
    nearest = np.repeat(np.minimum.reduceat(distance, starts), counts)
    k = np.maximum.reduceat(np.where(distance == nearest, wanted, 0), starts)
    ascending = distance[np.lexsort((distance, row))]
    last = np.repeat(ascending[starts + np.minimum(k, counts) - 1], counts)
    nearer, tied = distance < last, distance == last
    left = k - np.add.reduceat(nearer.astype(np.intp), starts)
    shared = np.repeat(left / np.add.reduceat(tied.astype(np.intp), starts), counts)
    fewer = np.where(nearer, 1.0, np.where(tied, shared, 0.0))
    return np.where(np.repeat(k < np.add.reduceat(seats, starts) - EQUAL, counts), fewer, seats)


def _counted(row: Rows, code: Rows, seats: Numbers, distance: Numbers, shape: tuple[int, int]) -> Vote:
    """Rules (b) to (d), of votes with a row, a class, seats and a distance each."""
    of_class = np.zeros(shape)
    np.add.at(of_class, (row, code), seats)
    winners = of_class >= of_class.max(axis=1, keepdims=True) - EQUAL
    draws = np.flatnonzero(winners.sum(axis=1) > 1)
    if len(draws):
        place = np.full(shape[0], -1, dtype=np.intp)
        place[draws] = np.arange(len(draws))
        counted = place[row] >= 0
        nearest = np.full((len(draws), shape[1]), np.inf)
        np.minimum.at(nearest, (place[row[counted]], code[counted]), distance[counted])
        nearest[~winners[draws]] = np.inf
        winners[draws] &= nearest <= nearest.min(axis=1, keepdims=True)
    return Vote(of_class, winners)


# --- who votes --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Electorate:
    """Row numbers of those judged and of those who vote.

    Rows of the same unit have no vote: `units` are those of the judged rows and `voter_units` those of the voters, of
    `n_fitted` rows. `same`: both number the same rows. `in_order`: units next to each other have no vote either.
    """

    rows: Rows
    voters: Rows
    units: Rows
    voter_units: Rows
    n_fitted: int
    same: bool = False
    in_order: bool = False

    def barred(self, part: Any, voters: Any = slice(None)) -> NDArray[np.bool_]:
        """Which voters have no vote on some of the judged rows, because they are not independent of them."""
        if self.in_order:
            return np.asarray(np.abs(self.units[part, None] - self.voter_units[voters]) <= 1)
        return np.asarray(self.units[part, None] == self.voter_units[voters])

    @property
    def judged_units(self) -> Rows:
        """The units of the judged rows, for standard errors."""
        return self.rows if (self.units < 0).any() else self.units

    @property
    def most_barred(self) -> int:
        """The most voters that have no vote on a row."""
        sizes = np.unique(self.voter_units, return_counts=True)[1]
        return int(sizes.max()) * (3 if self.in_order else 1)


def electorate(
    labelled: NDArray[np.bool_], labelled_fit: NDArray[np.bool_] | None, *, judged: Any = None,
    n_samples: int | None = None, random_state: Any = None, units: Any = None, units_fit: Any = None,
    in_order: bool = False,
) -> Electorate:  # fmt: skip
    """All labelled rows or `n_samples` of them, judged by labelled fitted rows, or else by each other.

    `judged` is a mask of the rows that are judged; the others only vote. `units` and `units_fit` are those of the
    judged and of the fitted rows; None: every row is one.
    """
    same = labelled_fit is None
    rows = np.flatnonzero(labelled)
    voters = rows if labelled_fit is None else np.flatnonzero(labelled_fit)
    if not len(rows) or not len(voters):
        raise InputError("no labelled row is left to judge, or to judge by; y must hold labels for some rows.")
    if n_samples is not None:
        if not 1 <= n_samples <= len(rows):
            raise InputError(f"n_samples must lie between 1 and the {len(rows)} labelled rows; got {n_samples}.")
        rows = np.sort(as_generator(random_state).choice(rows, size=int(n_samples), replace=False))
    if judged is not None:
        rows = rows[np.asarray(judged, dtype=bool)[rows]]
        if not len(rows):
            raise InputError("judged leaves no labelled row to judge.")
    n_fitted = len(labelled if labelled_fit is None else labelled_fit)
    if units is not None and (same or units_fit is not None):
        return Electorate(rows, voters, units[rows], (units if same else units_fit)[voters], n_fitted, same, in_order)
    return Electorate(rows, voters, rows if same else np.full(len(rows), -1), voters, n_fitted, same)


def _everybody(Y: Any, votes: NDArray[np.bool_], own: Any, units: Any, fitted_units: Any, in_order: bool) -> Electorate:
    """Every row of Y is judged by the fitted rows that vote; without Y, the fitted rows are."""
    voters, n_fitted = np.flatnonzero(votes), len(votes)
    if not len(voters):
        raise InputError("no row has a vote: some fitted rows must have a target.")
    rows = np.arange(n_fitted if Y is None else np.shape(Y)[0])
    if own is not None and units is not None:
        raise InputError("own and units say both who has no vote: give one of them.")
    if (units is None) != (fitted_units is None):
        raise InputError("units and fitted_units must be given together.")
    if units is not None:
        units, theirs = np.asarray(units), np.asarray(fitted_units)[voters]
        return Electorate(rows, voters, units, theirs, n_fitted, Y is None, in_order)
    itself = rows if Y is None else np.full(len(rows), -1) if own is None else np.asarray(own)
    return Electorate(rows, voters, itself, voters, n_fitted, Y is None)


# --- the search -------------------------------------------------------------------------------------------------------


def nearest_votes(
    Y: Any, people: Electorate, n_neighbors: int, *, Y_fit: Any = None, metric: Any = "euclidean", at_most: bool = False
) -> tuple[Any, Numbers]:
    """Seats (judged rows, voters), a sparse matrix whose rows sum to k, and the distances of its stored entries.

    With `at_most`, rows that have fewer voters have fewer seats; else too large a k is refused.
    """
    n_voters = len(people.voters)
    k = min(n_neighbors, n_voters) if at_most else check_n_neighbors(n_neighbors, n_voters, own=people.same)
    if not isinstance(metric, str) and hasattr(metric, "kneighbors") and (Y is None or not people.same):
        return _stack([_votes_by_metric(Y, people, k, metric)], len(people.rows), n_voters)
    fit = None if people.same else (True if Y_fit is None else Y_fit)
    source = distance_rows(Y, metric, X_fit=fit, name="Y")
    _check_count(source.n_columns, people)
    parts, rows = [], np.arange(len(people.rows))
    if isinstance(metric, str) and metric == "euclidean" and np.shape(Y)[1] <= FEW_COLUMNS:
        settled, rows = _votes_by_tree(np.asarray(Y, float), np.asarray(Y if people.same else Y_fit, float), people, k)
        parts.append(settled)
    for part in row_blocks(len(rows), 40.0 * source.n_columns):
        D = source.block(people.rows[rows[part]])[:, people.voters]
        D[people.barred(rows[part])] = np.inf
        parts.append(_share_out(D, k, rows[part]))
    return _stack(parts, len(people.rows), n_voters)


def _votes_by_tree(Y: Numbers, Y_fit: Numbers, people: Electorate, k: int) -> tuple[Entries, Rows]:
    """Votes found by a tree, and the rows it leaves open, whose list of neighbours ends in the middle of a tie."""
    asked = min(k + 1 + min(people.most_barred, LONGEST_LIST), len(people.voters))
    D, index = KDTree(Y_fit[people.voters]).query(Y[people.rows], k=asked)
    D = rounded(D)
    D[people.barred(slice(None), index)] = np.inf
    kth = np.partition(D, k - 1, axis=1)[:, k - 1]
    settled = np.where(np.isinf(D), -np.inf, D).max(axis=1) > kth
    return _share_out(D[settled], k, np.flatnonzero(settled), index[settled]), np.flatnonzero(~settled)


def _votes_by_metric(A: Any, people: Electorate, k: int, metric: Any) -> Entries:
    """Votes found by a metric's own search; ties beyond `LONGEST_LIST` neighbours are cut where that list ends."""
    most = people.n_fitted - people.same
    place = np.full(people.n_fitted, -1, dtype=np.intp)
    place[people.voters] = np.arange(len(people.voters))
    asked = min(k + 1, most)
    while True:
        D, index = metric.kneighbors(A, n_neighbors=asked)
        _check_count(len(D) if people.same else max(index.max() + 1, people.n_fitted), people)
        D, index = rounded(D[people.rows]), place[index[people.rows]]
        last = D[:, -1].copy()
        D[(index < 0) | people.barred(slice(None), index)] = np.inf
        kth = np.partition(D, min(k, asked) - 1, axis=1)[:, min(k, asked) - 1]
        if asked == most or (last > kth).all() or (asked >= LONGEST_LIST and np.isfinite(kth).all()):
            return _share_out(D, k, np.arange(len(D)), index)
        asked = min(4 * asked, most)


def _share_out(D: Numbers, k: int, rows: Rows, index: Rows | None = None) -> Entries:
    """(row, voter, seats, distance) of the finite entries up to the k-th smallest of each row of D."""
    k = min(k, D.shape[1])
    kth = np.partition(D, k - 1, axis=1)[:, k - 1]
    row, at = np.nonzero((kth[:, None] >= D) & np.isfinite(D))
    distance = D[row, at]
    nearer = distance < kth[row]
    left = k - np.bincount(row[nearer], minlength=len(D))
    tied = np.bincount(row[~nearer], minlength=len(D))
    seats = np.where(nearer, 1.0, left[row] / np.maximum(tied[row], 1))
    return rows[row], at if index is None else index[row, at], seats, distance


def _check_count(n_rows: int, people: Electorate) -> None:
    if n_rows != people.n_fitted:
        name = "y" if people.same else "y_fit"
        raise InputError(f"{name} has {people.n_fitted} entries for {n_rows} rows: they must be equal in number.")


def _stack(parts: list[Entries], n_rows: int, n_voters: int) -> tuple[Any, Numbers]:
    row, voter, seats, distance = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(row, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n_rows))])
    return sp.csr_array((seats[order], voter[order], starts), shape=(n_rows, n_voters)), distance[order]
