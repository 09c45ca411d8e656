"""How far the neighbours of rows on a map miss their target: every error of a report, by the kind of target.

=================  =====================================================================================  ===========
class              share of rows whose class is not named by the vote, and by the nearest row              k = 10, 1
ordered classes    mean |median of the classes of the k nearest - own class|, in classes ("steps")        k = 10
number             nRMSE = sqrt(mean (y_i - f_i)^2) / std(y), with f_i the mean of the k nearest weighted   k = 5
                   by 1/distance (Schulz 2017, sec. 2.6.4)
number, by ranks   nRMSE of the share of values below each one, and Spearman's correlation of the values   k = 5
                   with what their neighbours say: no increasing transform of the target changes them
=================  =====================================================================================  ===========

`prismap.quality._votes` describes who votes and how ties fall. The functions take codes (-1: unlabelled) or numbers
(NaN: unlabelled) as they are; `prismap.quality._knn` has the public ones, which check and encode what they are given.
Without `Y_fit` each row is judged by all others (leave-one-out), else by the fitted ones. `errors_of` is the table of
what a report says of a `Target`, each with the level of unrelated targets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from prismap._util.arrays import Numbers
from prismap.exceptions import InputError
from prismap.quality._estimates import Estimate
from prismap.quality._votes import (
    EQUAL,
    VOTERS,
    Vote,
    electorate,
    nearest_votes,
    sizes_of,
    vote_of_lists,
    vote_of_seats,
    voters_of_classes,
)
from prismap.target import ClassTarget, RealTarget, Target, known_order

#: Neighbours of the published errors of numbers.
N_AVERAGED = 5
#: From so many rows per class on, all ten vote on maps without a fifth of the rows, too.
MANY_PER_CLASS = 25
#: The share of the chance error of equal classes below which classes are very unequal.
UNEQUAL = 0.5
#: Votes drawn to find the chance level of k > 1 neighbours; its error is below 0.4 points.
N_VOTES = 20_000

Codes = NDArray[np.intp]


# --- the table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErrorKind:
    """An error of a target.

    Attributes
    ----------
    name : what a report calls it.
    n_neighbors : how many neighbours are asked; None: as many as vote (rule (a) of `prismap.quality._votes`).
    of_column : its function on positions and codes or numbers.
    by_chance : its level for unrelated targets, of codes or numbers, n_neighbors and a mask of judged rows.
    of_rows : the part that each row has in it, as a function like `of_column`; None where rows have none.
    balanced : whether every class counts alike, however many rows it has.
    """

    name: str
    n_neighbors: int | None
    of_column: Callable[..., Estimate]
    by_chance: Callable[[NDArray[Any], int | None, Any], float]
    of_rows: Callable[..., Numbers] | None = None
    balanced: bool = False

    def at_most(self, n_neighbors: int) -> ErrorKind:
        """The same with no more neighbours than these."""
        if self.n_neighbors is None and n_neighbors >= VOTERS:
            return self
        return replace(self, n_neighbors=min(self.n_neighbors or VOTERS, n_neighbors))

    def measure(
        self,
        positions: Any,
        target: Target,
        fitted_positions: Any = None,
        fitted_target: Target | None = None,
        judged: Any = None,
        metric: Any = "euclidean",
    ) -> Estimate:
        """The error of rows at `positions`, by the fitted rows or by each other; of several numbers its mean.

        `judged` is a mask of the rows that are judged; the others only vote. Rows of one unit have no vote on each
        other, and the standard error is that of units.
        """
        who = {"judged": judged, "metric": metric}
        errors = self._of_columns(self.of_column, positions, target, fitted_positions, fitted_target, **who)
        if len(errors) == 1:
            estimate: Estimate = errors[0]
            return estimate
        # The same rows were judged for every column: their errors are not independent.
        return Estimate(float(np.mean([float(e) for e in errors])), float(np.mean([e.spread for e in errors])))

    def rows(
        self,
        positions: Any,
        target: Target,
        fitted_positions: Any = None,
        fitted_target: Target | None = None,
        judged: Any = None,
    ) -> Numbers:
        """The part of each judged row in the error, in their order: the error is the mean of them.

        So the difference of two errors on the same rows has a standard error of its own.
        """
        assert self.of_rows is not None
        parts = self._of_columns(self.of_rows, positions, target, fitted_positions, fitted_target, judged=judged)
        return np.asarray(np.mean(parts, axis=0))

    def _of_columns(
        self, function: Any, positions: Any, target: Target, fitted_positions: Any, fitted_target: Target | None,
        **who: Any,
    ) -> list[Any]:  # fmt: skip
        who["n_neighbors"] = self.n_neighbors
        if not target.independent:
            units_fit = None if fitted_target is None else fitted_target.units
            who |= {"units": target.units, "units_fit": units_fit, "in_order": target.in_order}
        fitted = [None] * len(target.columns) if fitted_target is None else [c.values for c in fitted_target.columns]
        return [
            function(positions, column.values, fitted_positions, other, **who)
            for column, other in zip(target.columns, fitted, strict=True)
        ]

    def chance(self, target: Target, rare: Any = ()) -> float:
        """The level that unrelated targets have; rows of `rare` classes vote, and are not judged."""
        values = target.columns[0].values
        judged = ~np.isin(values, rare)
        if self.balanced:  # one row of each class
            _, first = np.unique(np.where(judged, values, -1), return_index=True)
            judged = judged & (values >= 0) & np.isin(np.arange(len(values)), first)
        return self.by_chance(values, self.n_neighbors, judged)


def errors_of(target: Target) -> list[ErrorKind]:
    """The errors of a report on a target of one kind, the best founded first.

    Parameters
    ----------
    target : that of the fitted rows: classes, ordered or not, or numbers. Of several kinds, one of ``target.columns``.
    """
    if isinstance(target, RealTarget):
        errors = [
            ErrorKind("rank error", N_AVERAGED, rank_error_of_numbers, _chance_of_numbers, rank_parts_of_numbers),
            ErrorKind("nRMSE", N_AVERAGED, nrmse_of_numbers, _chance_of_numbers, nrmse_parts_of_numbers),
            ErrorKind("rank correlation", N_AVERAGED, rank_correlation_of_numbers, _no_correlation),
        ]
        many = len(target.columns)
        return [replace(kind, name=f"mean {kind.name} of {many} targets") for kind in errors] if many > 1 else errors
    if not isinstance(target, ClassTarget):
        raise TypeError(f"errors are those of classes or numbers, one column at a time; got {type(target).__name__}.")
    sizes = sizes_of(target.values)
    few = (sizes[sizes > 0] < MANY_PER_CLASS).any()
    vote = replace(VOTE, name=VOTE.name if few else f"{VOTERS}-NN error")
    votes = [vote, replace(VOTE, name="1-NN error", n_neighbors=1)]
    if target.ordered:
        steps = ErrorKind("mean class steps", None, steps_of_codes, _chance_of_steps, steps_parts_of_codes)
        return [steps, *votes, in_order_of(np.arange(len(target.classes)))]
    places = known_order(target.classes)
    if places is not None:
        votes.append(in_order_of(places))
    balanced = replace(vote, name=f"balanced {vote.name}", balanced=True)
    return [balanced, *votes] if very_unequal(sizes) else [*votes, balanced]


def very_unequal(sizes: Codes) -> bool:
    """Whether classes of these sizes are so unequal that a verdict rests on the balanced error.

    The error of guessing the largest class, ``1 - max p``, is all that a plain error can be lowered by. Where it is
    less than `UNEQUAL` of what it would be with equal classes, ``1 - 1 / C``, a map that tells a rare class apart
    perfectly has hardly a lower plain error than one that knows nothing. The balanced error is the same for both kinds
    of classes: 1 - 1 / C by chance, and 0 at best.

    >>> very_unequal(np.array([1980, 20])), very_unequal(np.array([70, 30])), very_unequal(np.array([50, 20, 20, 10]))
    (True, False, False)
    """
    sizes = sizes[sizes > 0]
    return bool(1.0 - sizes.max() / sizes.sum() < UNEQUAL * (1.0 - 1.0 / len(sizes)))


def _chance_of_steps(codes: Codes, n_neighbors: int | None, judged: Any) -> float:
    return chance_steps_of_codes(codes)


def _chance_of_numbers(values: Numbers, n_neighbors: int | None, judged: Any) -> float:
    return chance_nrmse(n_neighbors or VOTERS)


# --- classes ----------------------------------------------------------------------------------------------------------


def error_of_codes(Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, **options: Any) -> Estimate:
    """The chance that the vote names another class, averaged over the judged rows; options of `vote_on_codes`."""
    vote, own, units = vote_on_codes(Y, codes, Y_fit, codes_fit, **options)
    return Estimate.over_rows(1.0 - vote.right(own), units)


def wrong_of_codes(Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, **options: Any) -> Numbers:
    """The chance that the vote names another class, of each judged row."""
    vote, own, _ = vote_on_codes(Y, codes, Y_fit, codes_fit, **options)
    return 1.0 - vote.right(own)


def steps_of_codes(Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, **options: Any) -> Estimate:
    """Mean number of classes between a row's own and the median of its voters'; of an even number the lower median.

    Codes ascend with the classes. Those that no row has are no step.
    """
    vote, own, units = vote_on_codes(Y, codes, Y_fit, codes_fit, **options)
    return Estimate.over_rows(_steps_of_vote(vote, own, codes, codes_fit), units)


def steps_parts_of_codes(
    Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, **options: Any
) -> Numbers:
    """The number of classes between each judged row's own and the median of its voters'."""
    vote, own, _ = vote_on_codes(Y, codes, Y_fit, codes_fit, **options)
    return _steps_of_vote(vote, own, codes, codes_fit)


def _steps_of_vote(vote: Vote, own: Codes, codes: Codes, codes_fit: Codes | None) -> Numbers:
    below = np.cumsum(vote.seats, axis=1)
    median = (below >= 0.5 * below[:, -1:] - EQUAL).argmax(axis=1)
    occurring = np.unique(codes if codes_fit is None else np.concatenate([codes, codes_fit]))
    places, own_places = (np.searchsorted(occurring, which) for which in (median, own))
    return np.asarray(np.abs(places - own_places), dtype=np.float64)


def vote_on_codes(
    Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, *, n_neighbors: int | None = None,
    metric: Any = "euclidean", at_most: bool = False, **who: Any,
) -> tuple[Vote, Codes, Codes]:  # fmt: skip
    """The vote on the labelled rows of Y, their codes and units; `who` are the options of `votes.electorate`.

    n_neighbors : a k for all rows; None: as many as vote. at_most : as in `votes.nearest_votes`.
    """
    people = electorate(codes >= 0, None if codes_fit is None else codes_fit >= 0, **who)
    voting = codes if codes_fit is None else codes_fit
    n_classes = int(max(codes.max(), voting.max())) + 1
    k, at_most = n_neighbors or VOTERS, at_most or n_neighbors is None
    seats, distances = nearest_votes(Y, people, k, Y_fit=Y_fit, metric=metric, at_most=at_most)
    of_voters = voting[people.voters]
    sizes = sizes_of(of_voters) if n_neighbors is None else None
    vote = vote_of_seats(seats, distances, of_voters, n_classes, sizes)
    return vote, codes[people.rows], people.judged_units


def in_order_of(places: Codes) -> ErrorKind:
    """The rank correlation of classes that have these places in an order with what their neighbours say."""
    return ErrorKind("rank correlation", None, partial(order_of_codes, places=places), _no_correlation)


def order_of_codes(
    Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, *, places: Codes, **options: Any
) -> Estimate:
    """Spearman's correlation of the classes' places with the mean place of the voters."""
    vote, own, units = vote_on_codes(Y, codes, Y_fit, codes_fit, **options)
    seats = vote.seats
    mean = seats @ places[: seats.shape[1]] / np.maximum(seats.sum(axis=1), EQUAL)
    return _correlation_of_ranks(places[own], mean, units)


def _no_correlation(values: Any, n_neighbors: int | None, judged: Any) -> float:
    return 0.0


def chance_of_codes(codes: Codes, n_neighbors: int | None = 1, judged: Any = None) -> float:
    """The vote's error for labels that have nothing to do with the rows, p_c being the class shares.

    For one neighbour it is 1 - sum_c p_c^2. For more, votes of k independent labels are simulated. Of classes that draw
    each wins equally often: their nearest voters come in any order. n_neighbors=None: as many as vote.
    """
    counted = codes if judged is None else np.where(judged, codes, -1)
    sizes, counts = (np.bincount(c[c >= 0], minlength=codes.max() + 1) for c in (codes, counted))
    occurs = sizes > 0  # the votes that are drawn must not depend on classes that no row has
    shares, own = sizes[occurs] / sizes.sum(), counts[occurs] / counts.sum()
    if n_neighbors == 1:
        return float(1.0 - shares @ own)
    if n_neighbors is None and voters_of_classes(sizes[occurs]).min() < VOTERS:
        lists = np.random.default_rng(0).choice(len(shares), size=(N_VOTES, VOTERS), p=shares)
        return float(1.0 - own[vote_of_lists(lists, len(shares), sizes[occurs]).named].mean())
    n_neighbors = n_neighbors or VOTERS
    votes = np.random.default_rng(0).multinomial(n_neighbors, shares, size=N_VOTES)
    winners = votes == votes.max(axis=1, keepdims=True)
    return float(1.0 - ((winners / winners.sum(axis=1, keepdims=True)) @ own).mean())


def chance_steps_of_codes(codes: Codes) -> float:
    """The smallest number of steps that guesses without neighbours have: that of the median of all known classes."""
    places = np.unique(codes[codes >= 0], return_inverse=True)[1]
    return float(np.abs(places - np.median(places)).mean())


#: The error of the vote, by which classes are judged.
VOTE = ErrorKind("vote error", None, error_of_codes, chance_of_codes, wrong_of_codes)


# --- numbers ----------------------------------------------------------------------------------------------------------


def nrmse_of_numbers(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, **options: Any
) -> Estimate:
    """The root mean squared error of the neighbours' mean over the standard deviation; options of `neighbor_means`."""
    known, predicted, units = neighbor_means(Y, values, Y_fit, values_fit, **options)
    scale = np.nanstd(values)
    if scale == 0:
        raise InputError("y is constant, so there is no error to normalise; nRMSE needs a target that varies.")
    squares = Estimate.over_rows((known - predicted) ** 2, units)
    error = np.sqrt(squares)
    return Estimate(error / scale, squares.spread / (2 * error * scale) if error > 0 else 0.0)


def nrmse_parts_of_numbers(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, **options: Any
) -> Numbers:
    """The part of each judged row in the nRMSE e: ``e + (r_i^2 - mean r^2) / (2 e std(y)^2)`` for a residual r_i.

    Their mean is the nRMSE, and their variance is that of its linearisation (the delta method).
    """
    known, predicted, _ = neighbor_means(Y, values, Y_fit, values_fit, **options)
    squares = np.square((known - predicted) / (np.nanstd(values) or 1.0))
    error = float(np.sqrt(squares.mean()))
    return error + (squares - squares.mean()) / (2 * error) if error > 0 else squares


def rank_parts_of_numbers(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, **options: Any
) -> Numbers:
    """The part of each judged row in the rank error."""
    return nrmse_parts_of_numbers(Y, *with_ranks(values, Y_fit, values_fit), **options)


def rank_error_of_numbers(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, **options: Any
) -> Estimate:
    """The nRMSE of ranks."""
    return nrmse_of_numbers(Y, *with_ranks(values, Y_fit, values_fit), **options)


def rank_correlation_of_numbers(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, *, judged: Any = None, **options: Any
) -> Estimate:
    """Spearman's correlation of numbers with the mean rank of their neighbours, with Bonett and Wright's (2000) spread.

    Neighbours are averaged by rank, so that an extreme one among them does no harm.
    """
    _, predicted, units = neighbor_means(Y, *with_ranks(values, Y_fit, values_fit), judged=judged, **options)
    known = ~np.isnan(values) if judged is None else ~np.isnan(values) & judged
    return _correlation_of_ranks(values[known], predicted, units)  # shares among few voters would have ties


def _correlation_of_ranks(values: Any, predicted: Numbers, units: Codes) -> Estimate:
    if np.ptp(predicted) == 0 or np.ptp(values) == 0:
        return Estimate(0.0)
    r = float(np.corrcoef(rankdata(values), rankdata(predicted))[0, 1])
    n = len(np.unique(units))  # as if every unit were one row: no less independent than they can be
    spread = (1 - r * r) * np.sqrt((1 + r * r / 2) / (n - 3)) if n > 3 else float("nan")
    return Estimate(r, spread)


def neighbor_means(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, *, n_neighbors: int = N_AVERAGED,
    metric: Any = "euclidean", **who: Any,
) -> tuple[Numbers, Numbers, Codes]:  # fmt: skip
    """The known numbers of the judged rows, the mean of their neighbours', weighted by 1/distance, and their units.

    `who` are the options of `votes.electorate`.
    """
    people = electorate(~np.isnan(values), None if values_fit is None else ~np.isnan(values_fit), **who)
    seats, distances = nearest_votes(Y, people, n_neighbors, Y_fit=Y_fit, metric=metric)
    weights = _inverse_distance(seats, distances)
    voting = values if values_fit is None else values_fit
    return values[people.rows], (weights @ voting[people.voters]) / weights.sum(axis=1), people.judged_units


def rank_shares(values: Numbers, values_fit: Numbers | None = None) -> tuple[Numbers, Numbers | None]:
    """The share of the voting values below each value, half of its equals included; NaN stays where it is not known."""
    if values_fit is None:
        return _shares_below(values, values[~np.isnan(values)]), None
    voting = values_fit[~np.isnan(values_fit)]
    if not len(voting):
        raise InputError("y_fit holds no value to compare with; some rows that vote must have a target.")
    return _shares_below(values, voting), _shares_below(values_fit, voting)


def chance_nrmse(n_neighbors: int = N_AVERAGED) -> float:
    """The nRMSE of targets that have nothing to do with the rows, for k equal weights: sqrt(1 + 1/k).

    Weights by distance are less even, so the error itself lies a little above.

    Parameters
    ----------
    n_neighbors : int, default=5

    Returns
    -------
    float

    Examples
    --------
    >>> round(chance_nrmse(5), 3)
    1.095
    """
    return float(np.sqrt(1.0 + 1.0 / n_neighbors))


def with_ranks(values: Numbers, Y_fit: Any, values_fit: Numbers | None) -> tuple[Numbers, Any, Numbers | None]:
    """Ranks in place of numbers, as arguments."""
    ranks, ranks_fit = rank_shares(values, values_fit)
    return ranks, Y_fit, ranks_fit


def _shares_below(values: Numbers, among: Numbers) -> Numbers:
    among = np.sort(among)
    below, upto = (np.searchsorted(among, values, side=side) for side in ("left", "right"))
    return np.where(np.isnan(values), np.nan, (below + upto) / (2.0 * max(len(among), 1)))


def _inverse_distance(seats: Any, distances: Numbers) -> Any:
    """Seats times nearest distance over distance; rows at distance 0 leave no weight to others."""
    starts, row = seats.indptr[:-1], np.repeat(np.arange(seats.shape[0]), np.diff(seats.indptr))
    nearest = np.minimum.reduceat(distances, starts)[row]
    with np.errstate(invalid="ignore"):
        closeness = np.where(distances == 0, 1.0, nearest / distances)
    return sp.csr_array((seats.data * closeness, seats.indices, seats.indptr), shape=seats.shape)
