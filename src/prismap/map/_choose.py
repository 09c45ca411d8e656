"""How much the target counts, by evidence: the smallest supervision whose map is as good as the best one's.

A map is made of ``d^2 = w arc^2 + (1 - w) ||x - x'||^2 / sigma^2``. Both parts are computed once, cross-fitted. Each w
is judged by how well the ten nearest rows predict the target of a row, first under the metric, which shows which
posterior is best, then on quick maps, for two dimensions cannot hold all that a metric with a small w knows. All
candidates are judged on the same rows, so that their differences have a standard error of their own, which is smaller
than theirs. Rows of one unit have no vote on each other and lie in the same half, and standard errors are those of
units.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import clone

from prismap._util.arrays import WIDE, Numbers, Rows
from prismap._util.evidence import SIGNIFICANT, among_smallest, first_of_equals, paired_gap
from prismap._util.random import as_generator
from prismap._util.search import smallest
from prismap._util.validation import changed
from prismap.map._methods import smoothness, smoothness_rows
from prismap.map._quick import quick_maps
from prismap.mappings import KernelMap, VoteMap
from prismap.mappings._vote_map import vote
from prismap.metrics._base import PrecomputedMetric
from prismap.metrics.posteriors._choice import Blend, blend_weights, blended
from prismap.metrics.posteriors._rowwise import LEAST_CHANCE, log_loss
from prismap.metrics.posteriors._trees import GROWN, MOST_TREE_ROWS, fit_trees, units_of
from prismap.quality._votes import VOTERS, sizes_of, vote_of_lists
from prismap.target import ClassTarget, RealTarget, Target, plain_folds

#: Shares that are tried; the last gives the sharpest cross-fitted map: the data's own metric only orders ties.
GRID = (0.0, 0.8, 0.95, 0.99)
SHARPEST = GRID[-1]
#: In standard errors of paired differences: from where on a metric is so much worse than another that no quick map is
#: made of it, and up to where a map is as good as the best (the rule of one standard error: Breiman et al. 1984, sec.
#: 3.4.3). A single row is one standard error, but for rounding.
WORSE, ALIKE = 2.0, 1.0 + 1e-6
#: Robust standard deviations from the median within which numbers are usual; of normal ones 6 in 100,000 are not.
USUAL = 4.0
#: Rows that are judged; fewer where each pair costs a walk along its segment.
MOST_ROWS, MOST_ALONG_SEGMENTS = 2000, 500
#: Rows of quick maps, of two halves; with fewer than the second figure the metric alone has to do. Rows that come to
#: no more than the third figure together are halved up to so many times.
QUICK_ROWS, FEWEST_QUICK, HALVED_ROWS, MOST_HALVINGS = 600, 40, 360, 3
#: Trees are grown if the log-loss of what is there is more than this share of the target's entropy, and if the best
#: mean with a small forest, judged out of bag, has less than this share of that loss. Of more rows than so many they
#: take long, and have to help more.
LITTLE_LEFT, BETTER = 0.1, 0.99
CHEAP_ROWS, BETTER_OF_MANY = 20_000, 0.95
#: Folds that kernels and votes are compared in, and the most fitted rows for that. Kernels take time with the cube of
#: the rows, so a sample has to show which is better, and a sample much sparser than the map flatters kernels.
MAPPING_FOLDS, MOST_KERNEL_ROWS = 3, 5000


@dataclass(frozen=True)
class Candidate:
    """A metric (None: the data's own) with a share, and how it was judged.

    Attributes
    ----------
    losses : of the judged rows, by their nearest under the metric.
    kept : share of the neighbours in the data that are neighbours under the metric.
    in_map : losses of rows that were placed on quick maps, where some were made.
    """

    metric: Any
    share: float
    losses: Numbers
    kept: float
    in_map: Numbers | None = None


@dataclass(frozen=True)
class Choice:
    """The share that was taken, the metric fitted with it (None: the data's own), and all that was tried."""

    supervision: float
    metric: Any
    curve: tuple[dict[str, Any], ...]


# --- how well the nearest rows predict a row --------------------------------------------------------------------------


def comparable(target: Target) -> NDArray[Any]:
    """What the losses of neighbours are counted in: codes of classes (n,), or standardised numbers (n, columns)."""
    if isinstance(target, ClassTarget):
        return target.values
    Y = target.values.reshape(len(target), -1).astype(np.float64)
    Y = np.clip(Y, *usual_range(Y))
    spread = Y.std(axis=0)
    return np.asarray((Y - Y.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def usual_range(Y: Numbers) -> tuple[Numbers, Numbers]:
    """Where the values of each column usually are: `USUAL` robust deviations about the median, (columns,) each.

    A few values far outside would decide every squared loss. The deviation is that of a normal number with the same
    quartiles; of a column whose quartiles are equal all values are usual.
    """
    low, middle, high = np.nanquantile(Y, [0.25, 0.5, 0.75], axis=0)
    reach = np.where(high > low, USUAL * (high - low) / 1.349, np.inf)
    return middle - reach, middle + reach


def class_sizes(target: Target) -> Rows | None:
    """The number of rows of each class, by which fewer vote where classes are small; None of numbers."""
    return sizes_of(target.values) if isinstance(target, ClassTarget) else None


def neighbor_losses(near: NDArray[Any], truth: NDArray[Any], sizes: Rows | None = None) -> Numbers:
    """The loss of each row by the values of its nearest rows, nearest first; -1 or NaN: no vote.

    Classes: 0 or 1, by their vote, of as many as classes of these `sizes` allow. They are those of the whole target,
    where the rows are a draw of it: a draw does not make classes small. Columns of numbers: the mean squared error of
    their mean.
    """
    if truth.ndim == 2:
        votes = ~np.isnan(near[:, :, :1])
        means = np.where(votes, near, 0.0).sum(axis=1) / np.maximum(votes.sum(axis=1), 1)
        return np.asarray(np.square(means - truth).mean(axis=1))
    return 1.0 - vote_of_lists(near, int(max(near.max(), truth.max())) + 1, sizes).right(truth)


def score_of(losses: Numbers, units: Rows, *, real: bool) -> tuple[float, float]:
    """The share of correct predictions, or the nRMSE, and its standard error."""
    mean, error = float(losses.mean()), paired_gap(losses, 0.0, units)[1]
    if not real:
        return 1 - mean, error
    return float(np.sqrt(mean)), error / (2 * float(np.sqrt(mean)) or 1.0)


def nearest_rows(D2: Numbers) -> Rows:
    """The ten nearest other rows of each row, nearest first, by squared distances (n, n), whose diagonal is lost."""
    np.fill_diagonal(D2, np.inf)
    return np.asarray(smallest(D2, min(VOTERS, len(D2) - 1))[1])


def nearest_losses(D2: Numbers, target: Target, near: Rows, sizes: Rows | None) -> Numbers:
    """The loss of each row by its ten nearest independent rows, by squared distances (n, n), which are changed.

    near : the ten nearest of all other rows. sizes : of the classes.
    """
    truth = comparable(target)
    if target.independent:
        return neighbor_losses(truth[near], truth, sizes)
    D2[target.dependent_pairs] = np.inf
    distances, near = smallest(D2, min(VOTERS, len(D2) - 1))
    return neighbor_losses(without_votes(truth[near], np.isinf(distances)), truth, sizes)


def without_votes(values: NDArray[Any], barred: NDArray[np.bool_]) -> NDArray[Any]:
    """Values of lists of rows, of which the `barred` ones have no vote."""
    values[barred] = -1 if values.ndim == 2 else np.nan
    return values


def kept_share(near: Rows, own: Rows) -> float:
    """Mean share of the rows' own nearest that are among their nearest."""
    return float((own[:, :, None] == near[:, None, :]).any(axis=2).mean())


def placed_losses(
    placed: Numbers, truth: NDArray[Any], Y: Numbers, fitted: NDArray[Any], sizes: Rows | None, *,
    n_neighbors: int = VOTERS,
) -> Numbers:  # fmt: skip
    """The loss of each placed row by its nearest fitted rows on the map."""
    return neighbor_losses(fitted[smallest(cdist(placed, Y), min(n_neighbors, len(Y)))[1]], truth, sizes)


def quick_losses(D2: Numbers, target: Target, *, perplexity: float, seed: int, sizes: Rows | None = None) -> Numbers:
    """Losses (candidates, rows) of each row by its nearest rows on quick maps of the other half of the rows.

    D2 : squared distances (candidates, rows, rows) of an even number of rows. Votes place a row on the map of the half
    without it. Distances do not know what two dimensions can hold: where much of them is noise, a map keeps less than
    they show, and a short t-SNE shows it already. The halves have equal shares of the classes, and no unit is in both;
    no more of the nearest are asked than a class has rows in a half, on average, nor than classes of these `sizes`
    allow. Rows for which the halves have no room are NaN.

    Few rows are halved several times, and the mean counts: the map of sixty rows may tear where another one, or the
    same one with other rounding, does not.
    """
    truth, rng, n_neighbors = comparable(target), as_generator(seed), VOTERS
    if truth.ndim == 1:
        n_neighbors = int(np.clip(len(truth) // 2 // len(np.unique(truth)), 1, VOTERS))
    times = int(np.clip(HALVED_ROWS // len(truth), 1, MOST_HALVINGS))
    halves = [half for _ in range(times) for half in two_halves(target, truth, rng)]
    size = min(map(len, halves))
    halves = [half[:size] for half in halves]
    among = np.concatenate([D2[:, half[:, None], half] for half in halves])
    maps = quick_maps(among, min(perplexity, (size - 1) / 3), rng).reshape(2 * times, len(D2), size, 2)
    sums, counts = np.zeros((len(D2), len(truth))), np.zeros(len(truth))
    for number, (kept, positions) in enumerate(zip(halves, maps, strict=True)):
        out = halves[number ^ 1]  # the other one of the pair
        counts[out] += 1
        for candidate, Y in enumerate(positions):
            near, columns = smallest(D2[candidate][out[:, None], kept], min(VOTERS, size))
            placed = vote(near, Y[columns], 1.0)
            sums[candidate, out] += placed_losses(placed, truth[out], Y, truth[kept], sizes, n_neighbors=n_neighbors)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def two_halves(target: Target, truth: NDArray[Any], rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Two sets of equally many rows that are independent of each other, with equal shares of the classes."""
    if target.independent:
        order = np.lexsort((rng.permutation(len(truth)), truth[:, 0] if truth.ndim == 2 else truth))
        return order[::2], order[1::2]
    folds = target.folds(np.arange(len(target)), 2, rng)
    one, other = (rng.permutation(np.flatnonzero(folds == fold)) for fold in (0, 1))
    other = target.apart(other, one)
    size = min(len(one), len(other))
    return one[:size], other[:size]


def least_as_good(losses: Numbers, shares: list[float], units: Rows | None = None) -> int:
    """Index of the candidate to take, from the losses (candidates, rows) of the same rows, and the shares.

    The smallest share whose losses are within `ALIKE` standard errors of the best one's; the error is that of the
    paired differences. Differences of the size of rounding have errors of that size, so they are not asked for theirs.
    """
    means = losses.mean(axis=1)
    best, equal, alike = first_of_equals(means), among_smallest(means), []
    for k, one in enumerate(losses):
        behind, error = paired_gap(one, losses[best], units)
        if k == best or equal[k] or behind <= ALIKE * error:
            alike.append(k)
    return min(alike, key=lambda k: shares[k])


# --- a metric and its rows --------------------------------------------------------------------------------------------


def choose(fisher: Any, data: Any, target: Target, wish: str, seed: int) -> Choice:
    """The `Choice` for an unfitted `FisherMetric` on the fitted metric of the data's own distances.

    wish : "auto", or "max" for the sharpest cross-fitted map: the best posterior there, whatever the gain.
    """
    rng = as_generator(seed)
    metrics = candidates(fisher, data, target, seed)
    judged = metrics[0].judged_target(target)
    sample = judged.draw(MOST_ROWS if all(is_rowwise(m) for m in metrics) else MOST_ALONG_SEGMENTS, rng)
    sizes = class_sizes(judged)
    tried = judge_shares(metrics, data, sample, judged.take(sample), sizes)
    knowing = {id(metric) for metric in metrics if knows_target(metric, judged)}
    if wish == "max":
        sharpest = [k for k, one in enumerate(tried) if one.share == SHARPEST]
        taken = sharpest[first_of_equals([tried[k].losses.mean() for k in sharpest])]
    else:
        quick = judged.draw(min(QUICK_ROWS, len(sample)), rng)
        quick = quick[: len(quick) // 2 * 2]  # of two halves
        rows = QuickRows(quick, judged.take(quick), judged.take(sample).units, sizes)
        tried, taken = least_needed(tried, knowing, data, rows, perplexity=fisher.perplexity, seed=seed)
    units = judged.take(sample).units
    knows = [one.metric is None or id(one.metric) in knowing for one in tried]
    curve = tuple(
        {**described(one, judged, units, taken=k == taken), "knows_target": knows[k]} for k, one in enumerate(tried)
    )
    chosen = tried[taken]
    if chosen.metric is None:
        return Choice(0.0, None, curve)
    return Choice(chosen.share, with_share(chosen.metric, fisher.path, chosen.share, data, target), curve)


def described(candidate: Candidate, judged: Target, units: Rows, *, taken: bool) -> dict[str, Any]:
    """A candidate in plain values: its score with its error, and the share of the data's neighbours it keeps.

    units : of the rows that it was judged on.
    """
    real = isinstance(judged, RealTarget)
    score, error = score_of(candidate.losses, units, real=real)
    return {
        "posterior": "none" if candidate.metric is None else candidate.metric.posterior_.name,
        "supervision": candidate.share, "score": score, "standard_error": error, "neighbors_kept": candidate.kept,
        "map_score": None if candidate.in_map is None else score_of(
            candidate.in_map, np.arange(len(candidate.in_map)), real=real
        )[0],
        "taken": bool(taken),
    }  # fmt: skip


def judge_shares(metrics: list[Any], data: Any, sample: Rows, target: Target, sizes: Rows | None) -> list[Candidate]:
    """The data's own distances and each metric with each share, judged on the rows `sample`, which have this target.

    sizes : of all classes.
    """
    steps2 = np.square(np.asarray(data.between(sample, sample), dtype=np.float64))
    D2, part = steps2.copy(), np.empty_like(steps2)  # each new array of this size would have its pages made first
    own = nearest_rows(D2)
    np.copyto(D2, steps2)
    tried = [Candidate(None, 0.0, nearest_losses(D2, target, own, sizes), 1.0)]
    for metric in metrics:
        arcs2 = squared_arcs(metric, sample)
        for share in GRID[1:]:
            np.multiply(arcs2, share, out=D2)
            D2 += np.multiply(steps2, (1 - share) / metric.bandwidth_**2, out=part)
            near = nearest_rows(D2)
            losses = nearest_losses(D2, target, near, sizes)
            tried.append(Candidate(metric, share, losses, kept_share(near, own)))
    return tried


@dataclass(frozen=True)
class QuickRows:
    """The rows of quick maps, their target, the units of the rows that the metrics were judged on, and class sizes."""

    rows: Rows
    target: Target
    judged_units: Rows
    sizes: Rows | None


def least_needed(
    tried: list[Candidate], knowing: set[int], data: Any, quick: QuickRows, *, perplexity: float, seed: int
) -> tuple[list[Candidate], int]:
    """The candidates with their losses on quick maps, and the index of the one to take.

    Only the posterior with the best share is looked at, if it knows anything of the target, and of its shares those
    that are not clearly worse.
    """
    known, rows, units = [k for k, one in enumerate(tried) if id(one.metric) in knowing], quick.rows, quick.judged_units
    if not known or len(rows) < FEWEST_QUICK:
        return tried, 0 if not known else least_as_good_of(tried, [0, *known], units)
    best = known[first_of_equals([tried[k].losses.mean() for k in known])]
    alike = [k for k in known if tried[k].metric is tried[best].metric]
    equal = dict(zip(alike, among_smallest([tried[k].losses.mean() for k in alike]), strict=True))
    gaps = {k: paired_gap(tried[k].losses, tried[best].losses, units) for k in alike}
    listed = [0, *(k for k, (gap, error) in gaps.items() if k == best or equal[k] or gap <= WORSE * error)]
    steps2 = np.square(np.asarray(data.between(rows, rows), dtype=np.float64))
    metric = tried[best].metric
    arcs2, steps2 = squared_arcs(metric, rows), steps2 / metric.bandwidth_**2
    shares = [tried[k].share for k in listed]
    D2 = np.stack([np.maximum(share * arcs2 + (1 - share) * steps2, 0) for share in shares])
    in_map = quick_losses(D2, quick.target, perplexity=perplexity, seed=seed, sizes=quick.sizes)
    placed = ~np.isnan(in_map[0])
    in_map, tried = in_map[:, placed], list(tried)
    for k, losses in zip(listed, in_map, strict=True):
        tried[k] = replace(tried[k], in_map=losses)
    return tried, listed[least_as_good(in_map, shares, quick.target.units[placed])]


def least_as_good_of(tried: list[Candidate], listed: list[int], units: Rows) -> int:
    """The same by the metric alone, where there are too few rows for a quick map."""
    losses = np.stack([tried[k].losses for k in listed])
    return listed[least_as_good(losses, [tried[k].share for k in listed], units)]


def knows_target(metric: Any, judged: Target) -> bool:
    """Whether a cross-fitted posterior is better than the frequencies of the classes, or the mean, beyond chance.

    By the paired differences of the log-losses, or of the squared errors, of all rows with a target.
    """
    if hasattr(metric.posterior_, "known_"):  # several targets: it has asked for each of them
        return bool(metric.posterior_.known_.any())
    known = judged.labelled_rows
    if isinstance(judged, ClassTarget):
        codes = judged.values[known]
        losses = -np.log(np.maximum(metric.class_probabilities()[known, codes], LEAST_CHANCE))
        chance = -np.log(np.bincount(codes)[codes] / len(codes))
    else:
        numbers = judged.values[known].reshape(len(known), -1)
        usual = usual_range(numbers)
        numbers = np.clip(numbers, *usual)
        variance = np.maximum(numbers.var(axis=0), np.finfo(np.float64).tiny)  # several targets have equal weight
        losses = (np.square(np.clip(metric.target_moments()[0][known], *usual) - numbers) / variance).mean(axis=1)
        chance = (np.square(numbers.mean(axis=0) - numbers) / variance).mean(axis=1)
    gain, error = paired_gap(chance, losses, judged.units[known])
    return gain > SIGNIFICANT * error


def compared_with_own(metric: Any, data: Any, target: Target, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The data's own distances and a fitted `FisherMetric` as it is: two described candidates, the second taken."""
    judged = metric.judged_target(target.present())
    sample = judged.draw(MOST_ROWS if is_rowwise(metric) else MOST_ALONG_SEGMENTS, as_generator(seed))
    part, steps2 = judged.take(sample), np.square(np.asarray(data.between(sample, sample), dtype=np.float64))
    D = np.asarray(metric.between(sample, sample), dtype=np.float64)
    D = D + D.T
    near, own = nearest_rows(D), nearest_rows(steps2)
    sizes = class_sizes(judged)
    plain = Candidate(None, 0.0, nearest_losses(steps2, part, own, sizes), 1.0)
    fisher = Candidate(metric, float(metric.supervision), nearest_losses(D, part, near, sizes), kept_share(near, own))
    return described(plain, judged, part.units, taken=False), described(fisher, judged, part.units, taken=True)


def candidates(fisher: Any, data: Any, target: Target, seed: int) -> list[Any]:
    """Fitted metrics of the posteriors to choose from: as asked for and, if that was "auto", trees and a mean."""
    # Shortest paths over a graph are judged by its edges.
    trial = changed(fisher, supervision=0.8, path="chord" if fisher.path == "graph" else fisher.path)
    first = trial.fit_on(data, target)
    named = isinstance(fisher.posterior, str) and fisher.posterior == "auto"
    if not named or not isinstance(target, ClassTarget) or data.is_matrix:
        return [first]
    if fisher.path.startswith("tangent") or fisher.n_segments not in ("auto", 1):
        return [first]
    known = target.draw(MOST_TREE_ROWS, as_generator(seed))
    if not trees_are_worth_it(data.raw(known), target.take(known), first.class_probabilities()[known], seed):
        return [first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first has given all warnings
        trees = changed(trial, posterior="trees").fit_on(data, target)
    if not first.posterior_.at_rows:
        return [first, trees]
    mean = blended([first.posterior_, trees.posterior_], target.values)
    both = [trees.with_posterior(mean).set_params(posterior="auto")] if isinstance(mean, Blend) else []
    return [first, *both, trees]


def trees_are_worth_it(X: Any, target: Target, P: Numbers, seed: int) -> bool:
    """Whether a small forest, judged out of bag and calibrated, would better the probabilities P that are there."""
    if X.shape[1] > WIDE:  # trees draw some of all columns, and would hardly meet one that holds values
        return False
    codes, loss = target.values, log_loss(P, target.values)
    counts = np.bincount(codes)
    shares = counts[counts > 0] / len(codes)
    entropy = -float((shares * np.log(shares)).sum())
    if loss < LITTLE_LEFT * entropy:
        return False
    small = fit_trees(X, codes, P.shape[1], seed, n_trees=GROWN, units=units_of(target))[1]
    mean = np.tensordot(blend_weights([P, small], codes), [P, small], axes=1)
    return bool(log_loss(mean, codes) < (BETTER if len(codes) <= CHEAP_ROWS else BETTER_OF_MANY) * loss)


def is_rowwise(metric: Any) -> bool:
    """Whether the posterior is known at the rows, so that a pair costs one product."""
    return bool(metric.posterior_.at_rows)


def with_share(metric: Any, path: str, share: float, data: Any, target: Target) -> Any:
    """The fitted metric with another share; where the share decides how segments are cut, its posterior anew."""
    posterior = metric.posterior_
    if posterior.at_rows or (posterior.any_share and path == metric.path):
        return metric.set_params(supervision=share, path=path).with_posterior(posterior)
    # A posterior that was chosen need not be chosen once more.
    chosen = isinstance(metric.posterior, str) and isinstance(target, ClassTarget)
    posterior = metric.posterior_.name if chosen else metric.posterior
    return changed(metric, path=path, supervision=share, posterior=posterior).fit_on(data, target)


def squared_arcs(metric: Any, rows: Rows) -> Numbers:
    """Squared lengths between some fitted rows under the Fisher part alone, cross-fitted and symmetric."""
    pure = copy(metric).set_params(supervision=1.0)
    D2 = np.square(np.asarray(pure.between(rows, rows), dtype=np.float64))
    return (D2 + D2.T) / 2


# --- mappings ---------------------------------------------------------------------------------------------------------


def choose_mapping(metric: Any, Y: Numbers, target: Target | None, seed: int) -> Any:
    """A `VoteMap` or a `KernelMap`, unfitted: which places rows better that are left out, by what their neighbours say.

    metric : of the fitted rows, at positions Y; without a target, and on maps of many rows, votes are taken.
    The embedding stays as it is; only the mapping is fitted without the rows that it places.
    """
    if target is None or len(Y) > MOST_KERNEL_ROWS:
        return VoteMap()
    sizes = class_sizes(target)
    sample = smoothness_rows(target, seed)
    D, Y, target = metric.between(sample, sample), Y[sample], target.take(sample)
    kernels = KernelMap(random_state=seed, **smoothness(D, Y, "cv", seed))
    known = target.labelled_rows
    if len(known) < 2 * MAPPING_FOLDS:
        return kernels
    target = target.take(known)
    D, Y, rng = D[np.ix_(known, known)], Y[known], as_generator(seed)
    every = np.arange(len(known))
    folds = (
        plain_folds(len(known), MAPPING_FOLDS, rng) if target.independent else target.folds(every, MAPPING_FOLDS, rng)
    )
    mappings = VoteMap(), kernels
    losses = [left_out_losses(mapping, D, Y, comparable(target), folds, sizes).mean() for mapping in mappings]
    return mappings[first_of_equals(losses)]


def left_out_losses(
    mapping: Any, D: Numbers, Y: Numbers, truth: NDArray[Any], folds: Rows, sizes: Rows | None
) -> Numbers:
    """The loss of each row by its nearest rows on the map, where a mapping that never saw its fold places it."""
    losses = np.empty(len(truth))
    for fold in np.unique(folds):
        kept, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        among = D[np.ix_(kept, kept)]
        made = clone(mapping).set_params(metric=PrecomputedMetric.of(among)).fit(among, Y[kept])
        losses[out] = placed_losses(made.place(D[np.ix_(out, kept)]), truth[out], Y[kept], truth[kept], sizes)
    return losses
