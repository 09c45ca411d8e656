"""How far the neighbours of rows on a map miss their target: every error of a report, by the kind of target.

=================  =====================================================================================  ===========
class              share of rows whose class is not named by the vote of the k nearest                     k = 10, 1
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
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import rankdata

from prismap._util.arrays import Numbers
from prismap.exceptions import InputError
from prismap.quality._estimates import Estimate
from prismap.quality._votes import EQUAL, VOTERS, Vote, electorate, nearest_votes, vote_of_seats
from prismap.target import ClassTarget, RealTarget, Target

#: Neighbours of the published errors of numbers.
N_AVERAGED = 5
#: Ten neighbours are better founded than one where most rows have so many fitted rows of their class.
MANY_PER_CLASS = 20
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
    n_neighbors : how many neighbours are asked.
    of_column : its function on positions and codes or numbers.
    by_chance : its level for unrelated targets, of codes or numbers, n_neighbors and a mask of judged rows.
    """

    name: str
    n_neighbors: int
    of_column: Callable[..., Estimate]
    by_chance: Callable[[NDArray[Any], int, Any], float]

    def at_most(self, n_neighbors: int) -> ErrorKind:
        """The same with no more neighbours than these."""
        return replace(self, n_neighbors=min(self.n_neighbors, n_neighbors))

    def measure(
        self,
        positions: Any,
        target: Target,
        fitted_positions: Any = None,
        fitted_target: Target | None = None,
        judged: Any = None,
    ) -> Estimate:
        """The error of rows at `positions`, by the fitted rows or by each other; of several numbers its mean.

        `judged` is a mask of the rows that are judged; the others only vote.
        """
        who = {"n_neighbors": self.n_neighbors, "judged": judged}
        fitted = [None] * len(target.columns) if fitted_target is None else [c.values for c in fitted_target.columns]
        errors = [
            self.of_column(positions, column.values, fitted_positions, other, **who)
            for column, other in zip(target.columns, fitted, strict=True)
        ]
        if len(errors) == 1:
            return errors[0]
        # The same rows were judged for every column: their errors are not independent.
        return Estimate(float(np.mean([float(e) for e in errors])), float(np.mean([e.spread for e in errors])))

    def chance(self, target: Target, rare: Any = ()) -> float:
        """The level that unrelated targets have; rows of `rare` classes vote, and are not judged."""
        values = target.columns[0].values
        return self.by_chance(values, self.n_neighbors, ~np.isin(values, rare))


def errors_of(target: Target, rare: Any = ()) -> list[ErrorKind]:
    """The errors of a report on a target of one kind, the best founded first.

    Parameters
    ----------
    target : that of the fitted rows: classes, ordered or not, or numbers. Of several kinds, one of ``target.columns``.
    rare : codes of classes that are not judged.
    """
    if isinstance(target, RealTarget):
        errors = [
            ErrorKind("rank error", N_AVERAGED, rank_error_of_numbers, _chance_of_numbers),
            ErrorKind("nRMSE", N_AVERAGED, nrmse_of_numbers, _chance_of_numbers),
            ErrorKind("rank correlation", N_AVERAGED, rank_correlation_of_numbers, lambda values, k, judged: 0.0),
        ]
        many = len(target.columns)
        return [replace(kind, name=f"mean {kind.name} of {many} targets") for kind in errors] if many > 1 else errors
    if not isinstance(target, ClassTarget):
        raise TypeError(f"errors are those of classes or numbers, one column at a time; got {type(target).__name__}.")
    votes = [ErrorKind(f"{k}-NN error", k, error_of_codes, chance_of_codes) for k in (VOTERS, 1)]
    if target.ordered:
        return [ErrorKind("mean class steps", VOTERS, steps_of_codes, _chance_of_steps), *votes]
    codes = target.values
    common = codes[(codes >= 0) & ~np.isin(codes, rare)]
    sizes = np.bincount(codes[codes >= 0])
    return votes if len(common) and np.median(sizes[common]) >= MANY_PER_CLASS else votes[::-1]


def _chance_of_steps(codes: Codes, n_neighbors: int, judged: Any) -> float:
    return chance_steps_of_codes(codes)


def _chance_of_numbers(values: Numbers, n_neighbors: int, judged: Any) -> float:
    return chance_nrmse(n_neighbors)


# --- classes ----------------------------------------------------------------------------------------------------------


def error_of_codes(Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, **options: Any) -> Estimate:
    """The chance that the vote names another class, averaged over the judged rows; options of `vote_on_codes`."""
    vote, own = vote_on_codes(Y, codes, Y_fit, codes_fit, **options)
    return Estimate.over_rows(1.0 - vote.right(own))


def steps_of_codes(Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, **options: Any) -> Estimate:
    """Mean number of classes between a row's own and the median of its voters'; of an even number the lower median.

    Codes ascend with the classes. Those that no row has are no step.
    """
    vote, own = vote_on_codes(Y, codes, Y_fit, codes_fit, **options)
    below = np.cumsum(vote.seats, axis=1)
    median = (below >= 0.5 * below[:, -1:] - EQUAL).argmax(axis=1)
    occurring = np.unique(codes if codes_fit is None else np.concatenate([codes, codes_fit]))
    places, own_places = (np.searchsorted(occurring, which) for which in (median, own))
    return Estimate.over_rows(np.abs(places - own_places).astype(np.float64))


def vote_on_codes(
    Y: Any, codes: Codes, Y_fit: Any = None, codes_fit: Codes | None = None, *, n_neighbors: int = VOTERS,
    metric: Any = "euclidean", at_most: bool = False, **who: Any,
) -> tuple[Vote, Codes]:  # fmt: skip
    """The vote on the labelled rows of Y, and their codes; `who` are the options of `votes.electorate`."""
    people = electorate(codes >= 0, None if codes_fit is None else codes_fit >= 0, **who)
    voting = codes if codes_fit is None else codes_fit
    n_classes = int(max(codes.max(), voting.max())) + 1
    seats, distances = nearest_votes(Y, people, n_neighbors, Y_fit=Y_fit, metric=metric, at_most=at_most)
    return vote_of_seats(seats, distances, voting[people.voters], n_classes), codes[people.rows]


def chance_of_codes(codes: Codes, n_neighbors: int = 1, judged: Any = None) -> float:
    """The vote's error for labels that have nothing to do with the rows, p_c being the class shares.

    For one neighbour it is 1 - sum_c p_c^2. For more, votes of k independent labels are simulated. Of classes that draw
    each wins equally often: their nearest voters come in any order.
    """
    counted = codes if judged is None else np.where(judged, codes, -1)
    sizes, counts = (np.bincount(c[c >= 0], minlength=codes.max() + 1) for c in (codes, counted))
    occurs = sizes > 0  # the votes that are drawn must not depend on classes that no row has
    shares, own = sizes[occurs] / sizes.sum(), counts[occurs] / counts.sum()
    if n_neighbors == 1:
        return float(1.0 - shares @ own)
    votes = np.random.default_rng(0).multinomial(n_neighbors, shares, size=N_VOTES)
    winners = votes == votes.max(axis=1, keepdims=True)
    return float(1.0 - ((winners / winners.sum(axis=1, keepdims=True)) @ own).mean())


def chance_steps_of_codes(codes: Codes) -> float:
    """The smallest number of steps that guesses without neighbours have: that of the median of all known classes."""
    places = np.unique(codes[codes >= 0], return_inverse=True)[1]
    return float(np.abs(places - np.median(places)).mean())


# --- numbers ----------------------------------------------------------------------------------------------------------


def nrmse_of_numbers(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, **options: Any
) -> Estimate:
    """The root mean squared error of the neighbours' mean over the standard deviation; options of `neighbor_means`."""
    known, predicted = neighbor_means(Y, values, Y_fit, values_fit, **options)
    scale = np.nanstd(values)
    if scale == 0:
        raise InputError("y is constant, so there is no error to normalise; nRMSE needs a target that varies.")
    squares = Estimate.over_rows((known - predicted) ** 2)
    error = np.sqrt(squares)
    return Estimate(error / scale, squares.spread / (2 * error * scale) if error > 0 else 0.0)


def rank_error_of_numbers(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, **options: Any
) -> Estimate:
    """The nRMSE of ranks."""
    return nrmse_of_numbers(Y, *_with_ranks(values, Y_fit, values_fit), **options)


def rank_correlation_of_numbers(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, *, judged: Any = None, **options: Any
) -> Estimate:
    """Spearman's correlation of numbers with the mean rank of their neighbours, with Bonett and Wright's (2000) spread.

    Neighbours are averaged by rank, so that an extreme one among them does no harm.
    """
    _, predicted = neighbor_means(Y, *_with_ranks(values, Y_fit, values_fit), judged=judged, **options)
    known = ~np.isnan(values) if judged is None else ~np.isnan(values) & judged
    values = values[known]  # their shares among few voters would have ties
    if np.ptp(predicted) == 0 or np.ptp(values) == 0:
        return Estimate(0.0)
    r = float(np.corrcoef(rankdata(values), rankdata(predicted))[0, 1])
    spread = (1 - r * r) * np.sqrt((1 + r * r / 2) / (len(values) - 3)) if len(values) > 3 else float("nan")
    return Estimate(r, spread)


def neighbor_means(
    Y: Any, values: Numbers, Y_fit: Any = None, values_fit: Numbers | None = None, *, n_neighbors: int = N_AVERAGED,
    metric: Any = "euclidean", **who: Any,
) -> tuple[Numbers, Numbers]:  # fmt: skip
    """The known numbers of the judged rows, and the mean of their neighbours', weighted by 1/distance.

    `who` are the options of `votes.electorate`.
    """
    people = electorate(~np.isnan(values), None if values_fit is None else ~np.isnan(values_fit), **who)
    seats, distances = nearest_votes(Y, people, n_neighbors, Y_fit=Y_fit, metric=metric)
    weights = _inverse_distance(seats, distances)
    voting = values if values_fit is None else values_fit
    return values[people.rows], (weights @ voting[people.voters]) / weights.sum(axis=1)


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


def _with_ranks(values: Numbers, Y_fit: Any, values_fit: Numbers | None) -> tuple[Numbers, Any, Numbers | None]:
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
