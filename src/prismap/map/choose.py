"""How much the target counts, by evidence: the least supervision that is not told from the best.

A map is made of ``d^2 = w arc^2 + (1 - w) ||x - x'||^2 / sigma^2``. Both parts are computed once, cross-fitted. Each w
is judged by how well the ten nearest rows tell the target of a row, first under the metric, which shows which posterior
is best, then on quick maps, for two dimensions cannot hold all that a metric with a small w knows. All candidates are
judged on the same rows, so that their differences have a standard error of their own, which is smaller than theirs.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from prismap._random import as_generator
from prismap._validation import changed
from prismap.map.make import smoothness, smoothness_rows
from prismap.map.trials import (
    kept_share,
    nearest_rows,
    paired_gap,
    placed_losses,
    quick_losses,
    row_losses,
    standardised,
)
from prismap.mappings import KernelMap, VoteMap
from prismap.metrics.base import PrecomputedMetric
from prismap.metrics.posteriors.rowwise import log_loss
from prismap.metrics.posteriors.trees import GROWN, MOST_TREE_ROWS, fit_trees
from prismap.metrics.target import known_targets
from prismap.target import draw_rows as stratified_support
from prismap.target.folds import bins as target_bins

#: Shares that are tried; the last is the sharpest honest map: the data's own metric only orders ties.
GRID = (0.0, 0.8, 0.95, 0.99)
SHARPEST = GRID[-1]
#: In standard errors of paired differences: from where on a posterior knows the target, from where on a metric is so
#: much worse than another that no quick map is made of it, and up to where a map is as good as the best (the rule of
#: one standard error: Breiman et al. 1984, sec. 3.4.3). A single row is one standard error, but for rounding.
SIGNIFICANT, WORSE, ALIKE = 2.5, 2.0, 1.0 + 1e-6
#: The least probability that counts in a log-loss.
LEAST_CHANCE = 1e-12
#: Rows that are judged; fewer where each pair costs a walk along its segment.
MOST_ROWS, MOST_ALONG_SEGMENTS = 2000, 500
#: Rows of quick maps, of two halves; with fewer than the second figure the metric alone has to do.
QUICK_ROWS, FEWEST_QUICK = 600, 40
#: Trees are tried if the log-loss of the other posteriors is more than this share of the target's entropy, and if a
#: small forest's, out of bag, is near theirs and below that of no knowledge at all. A whole forest has about 0.85 of
#: the loss of a small one. Of more rows than so many it takes long, and is grown if its loss is likely to be the lower.
LITTLE_LEFT, NEAR, KNOWING = 0.1, 1.25, 0.98
CHEAP_ROWS, NEAR_OF_MANY = 20_000, 1.15
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
    losses: np.ndarray
    kept: float
    in_map: np.ndarray | None = None

    def described(self, *, real, taken):
        """In plain values: the share told right, or the nRMSE, with its error, and the data's neighbours kept."""
        score, error = scored(self.losses, real=real)
        return {
            "posterior": "none" if self.metric is None else self.metric.posterior_.name, "supervision": self.share,
            "score": score, "standard_error": error, "neighbors_kept": self.kept,
            "map_score": None if self.in_map is None else scored(self.in_map, real=real)[0], "taken": bool(taken),
        }  # fmt: skip


def scored(losses, *, real):
    """The share told right, or the nRMSE, and its standard error."""
    mean, error = float(losses.mean()), paired_gap(losses, 0.0)[1]
    if not real:
        return 1 - mean, error
    return float(np.sqrt(mean)), error / (2 * float(np.sqrt(mean)) or 1.0)


@dataclass(frozen=True)
class Choice:
    """The share that was taken, the metric fitted with it (None: the data's own), and all that was tried."""

    supervision: float
    metric: Any
    curve: tuple[dict[str, Any], ...]


# --- pure functions on arrays -----------------------------------------------------------------------------------------


def least_as_good(losses, shares):
    """Index of the candidate to take, from the losses (candidates, rows) of the same rows, and the shares.

    The smallest share whose losses are within `ALIKE` standard errors of the best one's; the error is that of the
    paired differences.
    """
    best, alike = int(losses.mean(axis=1).argmin()), []
    for k, one in enumerate(losses):
        behind, error = paired_gap(one, losses[best])
        if k == best or behind <= ALIKE * error:
            alike.append(k)
    return min(alike, key=lambda k: shares[k])


# --- a metric and its rows --------------------------------------------------------------------------------------------


def choose(fisher, data, y, wish, seed):
    """The `Choice` for an unfitted `FisherMetric` on the fitted metric of the data's own distances.

    wish : "auto", or "max" for the sharpest honest map: the best posterior there, whatever the gain.
    """
    rng, given = as_generator(seed), y
    metrics = candidates(fisher, data, y, seed)
    y = metrics[0].judged_target(y)
    real = y.dtype.kind == "f"
    sample = judged_rows(y, real, rng, MOST_ROWS if all(is_rowwise(m) for m in metrics) else MOST_ALONG_SEGMENTS)
    tried = judged(metrics, data, sample, standardised(y[sample]) if real else y[sample], real=real)
    if wish == "max":
        sharpest = [k for k, one in enumerate(tried) if one.share == SHARPEST]
        taken = min(sharpest, key=lambda k: tried[k].losses.mean())
    else:
        knowing = {id(metric) for metric in metrics if knows_target(metric, y, real=real)}
        quick = judged_rows(y, real, rng, min(QUICK_ROWS, len(sample)))
        quick = quick[: len(quick) // 2 * 2]  # of two halves
        tried, taken = least_needed(tried, knowing, data, quick, y, perplexity=fisher.perplexity, seed=seed)
    curve = tuple(one.described(real=real, taken=k == taken) for k, one in enumerate(tried))
    chosen = tried[taken]
    if chosen.metric is None:
        return Choice(0.0, None, curve)
    return Choice(chosen.share, with_share(chosen.metric, fisher.path, chosen.share, data, given), curve)


def judged(metrics, data, sample, target, *, real):
    """The data's own distances and each metric with each share, judged on the rows `sample`."""
    steps2 = np.square(np.asarray(data.between(sample, sample), dtype=np.float64))
    own = nearest_rows(steps2.copy())
    tried = [Candidate(None, 0.0, row_losses(own, target, real=real), 1.0)]
    for metric in metrics:
        arcs2 = squared_arcs(metric, sample)
        for share in GRID[1:]:
            near = nearest_rows(share * arcs2 + (1 - share) / metric.bandwidth_**2 * steps2)
            tried.append(Candidate(metric, share, row_losses(near, target, real=real), kept_share(near, own)))
    return tried


def least_needed(tried, knowing, data, quick, y, *, perplexity, seed):
    """The candidates with their losses on quick maps of the rows `quick`, and the index of the one to take.

    Only the posterior with the best share is looked at, if it knows anything of the target, and of its shares those
    that are not clearly worse.
    """
    real = y.dtype.kind == "f"
    known = [k for k, one in enumerate(tried) if id(one.metric) in knowing]
    if not known or len(quick) < FEWEST_QUICK:
        return tried, 0 if not known else least_as_good_of(tried, [0, *known])
    best = min(known, key=lambda k: tried[k].losses.mean())
    gaps = {k: paired_gap(tried[k].losses, tried[best].losses) for k in known if tried[k].metric is tried[best].metric}
    listed = [0, *(k for k, (behind, error) in gaps.items() if k == best or behind <= WORSE * error)]
    target = standardised(y[quick]) if real else y[quick]
    steps2 = np.square(np.asarray(data.between(quick, quick), dtype=np.float64))
    metric = tried[best].metric
    arcs2, steps2 = squared_arcs(metric, quick), steps2 / metric.bandwidth_**2
    shares = [tried[k].share for k in listed]
    D2 = np.stack([np.maximum(share * arcs2 + (1 - share) * steps2, 0) for share in shares])
    in_map = quick_losses(D2, target, perplexity=perplexity, seed=seed, real=real)
    tried = list(tried)
    for k, losses in zip(listed, in_map, strict=True):
        tried[k] = replace(tried[k], in_map=losses)
    return tried, listed[least_as_good(in_map, shares)]


def least_as_good_of(tried, listed):
    """The same by the metric alone, where there are too few rows for a quick map."""
    return listed[least_as_good(np.stack([tried[k].losses for k in listed]), [tried[k].share for k in listed])]


def knows_target(metric, y, *, real):
    """Whether a cross-fitted posterior is better than the frequencies of the classes, or the mean, beyond chance.

    By the paired differences of the log-losses, or of the squared errors, of all rows with a target.
    """
    if isinstance(metric.target_, tuple):  # it has asked for each of its targets
        return bool(metric.posterior_.known_.any())
    known = known_targets(y)
    if real:
        target = y[known].reshape(np.count_nonzero(known), -1)
        variance = np.maximum(target.var(axis=0), np.finfo(np.float64).tiny)  # several targets have equal weight
        found = (np.square(metric.target_moments()[0][known] - target) / variance).mean(axis=1)
        chance = (np.square(target.mean(axis=0) - target) / variance).mean(axis=1)
    else:
        codes = y[known]
        found = -np.log(np.maximum(metric.class_probabilities()[known, codes], LEAST_CHANCE))
        chance = -np.log(np.bincount(codes)[codes] / len(codes))
    gain, error = paired_gap(chance, found)
    return gain > SIGNIFICANT * error


def compared_with_own(metric, data, y, seed):
    """The data's own distances and a fitted `FisherMetric` as it is: two described candidates, the second taken."""
    y = metric.judged_target(y)
    real = y.dtype.kind == "f"
    sample = judged_rows(y, real, as_generator(seed), MOST_ROWS if is_rowwise(metric) else MOST_ALONG_SEGMENTS)
    target = standardised(y[sample]) if real else y[sample]
    own = nearest_rows(np.square(np.asarray(data.between(sample, sample), dtype=np.float64)))
    D = np.asarray(metric.between(sample, sample), dtype=np.float64)
    near = nearest_rows(D + D.T)
    plain = Candidate(None, 0.0, row_losses(own, target, real=real), 1.0)
    fisher = Candidate(metric, float(metric.supervision), row_losses(near, target, real=real), kept_share(near, own))
    return plain.described(real=real, taken=False), fisher.described(real=real, taken=True)


def candidates(fisher, data, y, seed):
    """Fitted metrics of the posteriors to choose from: as it was asked for and, if that was "auto", trees."""
    # Shortest paths over a graph are judged by its edges.
    trial = changed(fisher, supervision=0.8, path="chord" if fisher.path == "graph" else fisher.path)
    first = trial.fit_on(data, y)
    named = isinstance(fisher.posterior, str) and fisher.posterior == "auto"
    if not named or first.target_ != "class" or data.is_matrix:
        return [first]
    if fisher.path.startswith("tangent") or fisher.n_segments not in ("auto", 1):
        return [first]
    known = stratified_support(y, MOST_TREE_ROWS, as_generator(seed))
    loss = log_loss(first.class_probabilities()[known], y[known])
    if not trees_are_worth_it(data.raw(known), y[known], loss, seed):
        return [first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first has said what there is to say
        return [first, changed(trial, posterior="trees").fit_on(data, y)]


def trees_are_worth_it(X, codes, loss, seed):
    """Whether a small forest has a log-loss near the one that is there, judged out of bag and calibrated."""
    counts = np.bincount(codes)
    shares = counts[counts > 0] / len(codes)
    entropy = -float((shares * np.log(shares)).sum())
    if loss < LITTLE_LEFT * entropy:
        return False
    _, P = fit_trees(X, codes, len(counts), seed, n_trees=GROWN)
    near = NEAR if len(codes) <= CHEAP_ROWS else NEAR_OF_MANY
    return log_loss(P, codes) < min(near * loss, KNOWING * entropy)


def is_rowwise(metric):
    """Whether the posterior is known at the rows, so that a pair costs one product."""
    return metric.posterior_.at_rows


def with_share(metric, path, share, data, y):
    """The fitted metric with another share; where the share decides how segments are cut, its posterior anew."""
    if metric.posterior_.any_share and path == metric.path:
        return metric.set_params(supervision=share)
    chosen = isinstance(metric.posterior, str) and metric.target_ == "class"  # and need not be chosen once more
    posterior = metric.posterior_.name if chosen else metric.posterior
    return changed(metric, path=path, supervision=share, posterior=posterior).fit_on(data, y)


def squared_arcs(metric, rows):
    """Squared lengths between some fitted rows under the Fisher part alone, cross-fitted and symmetric."""
    pure = copy(metric).set_params(supervision=1.0)
    D2 = np.square(np.asarray(pure.between(rows, rows), dtype=np.float64))
    return (D2 + D2.T) / 2


def judged_rows(y, real, rng, most):
    """At most so many rows with a target, with equal shares of the classes."""
    codes = target_bins(y.reshape(len(y), -1)) if real else y
    return stratified_support(codes, most, rng)


# --- mappings ---------------------------------------------------------------------------------------------------------


def choose_mapping(D, Y, y, seed):
    """A `VoteMap` or a `KernelMap`, unfitted: which places rows better that are left out, by what their neighbours say.

    D : distances between the fitted rows at positions Y with target y; without a target, and on maps of many rows,
    votes are taken. The embedding stays as it is; only the mapping is fitted without the rows that it places.
    """
    if y is None or len(D) > MOST_KERNEL_ROWS:
        return VoteMap()
    sample = smoothness_rows(len(D), seed)
    D, Y, y = D[np.ix_(sample, sample)], Y[sample], y[sample]
    kernels = KernelMap(random_state=seed, **smoothness(D, Y, "cv", seed))
    known, real = np.flatnonzero(known_targets(y)), y.dtype.kind == "f"
    if len(known) < 2 * MAPPING_FOLDS:
        return kernels
    target = standardised(y[known]) if real else y[known]
    D, Y = D[np.ix_(known, known)], Y[known]
    folds = as_generator(seed).permutation(np.arange(len(known)) % MAPPING_FOLDS)
    mappings = VoteMap(), kernels
    losses = [left_out_losses(mapping, D, Y, target, folds, real=real).mean() for mapping in mappings]
    return mappings[int(np.argmin(losses))]


def left_out_losses(mapping, D, Y, y, folds, *, real):
    """Loss of each row by its nearest rows on the map, where a mapping that never saw its fold places it."""
    losses = np.empty(len(y))
    for fold in np.unique(folds):
        kept, out = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        among = D[np.ix_(kept, kept)]
        made = clone(mapping).set_params(metric=PrecomputedMetric.of(among)).fit(among, Y[kept])
        placed = made.place(D[np.ix_(out, kept)])
        losses[out] = placed_losses(placed, y[out], Y[kept], y[kept], real=real)
    return losses
