"""How much the target counts, by evidence: the least supervision that is not told from the best.

A map is made of ``d^2 = w arc^2 + (1 - w) ||x - x'||^2 / sigma^2``. Both parts are computed once, cross-fitted; each w
is then judged by how well the ten nearest rows tell the target of a row. All candidates are judged on the same rows, so
that their differences have a standard error of their own, which is smaller than theirs.
"""

from __future__ import annotations

import warnings
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier

from prismap._random import as_generator
from prismap._search import smallest
from prismap._validation import changed
from prismap.map.make import smoothness, smoothness_rows
from prismap.mappings import KernelMap, VoteMap
from prismap.metrics.base import PrecomputedMetric
from prismap.metrics.posteriors.lssvm import best_temperature, log_loss, softmax
from prismap.metrics.posteriors.process import target_bins
from prismap.metrics.posteriors.trees import log_shares
from prismap.metrics.support import stratified_support
from prismap.metrics.target import known_targets

#: Shares that are tried; the last is the sharpest honest map: the data's own metric only orders ties.
GRID = (0.0, 0.4, 0.8, 0.95, 0.99)
SHARPEST = GRID[-1]
N_NEIGHBORS = 10
#: A gain over no supervision counts from so many standard errors of the paired difference, and a candidate is as good
#: as the best within so many.
SIGNIFICANT, ALIKE = 2.5, 1.0
#: Rows that are judged; fewer where each pair costs a walk along its segment.
MOST_ROWS, MOST_ALONG_SEGMENTS = 2000, 500
#: Trees are tried up to so many rows, if a small forest's out-of-bag log-loss is near that of the other posteriors and
#: below that of no knowledge at all.
MOST_TREE_ROWS, SCREEN_TREES, NEAR, KNOWING = 5000, 50, 1.25, 0.98
#: Folds that kernels and votes are compared in.
MAPPING_FOLDS = 5


@dataclass(frozen=True)
class Candidate:
    """A metric (None: the data's own) with a share, the losses of the judged rows, and the share of neighbours kept."""

    metric: Any
    share: float
    losses: np.ndarray
    kept: float

    def described(self, *, real, taken):
        """In plain values: the share told right, or the nRMSE, with its error, and the data's neighbours kept."""
        mean, error = float(self.losses.mean()), paired_gap(self.losses, 0.0)[1]
        if real:
            mean, error = float(np.sqrt(mean)), error / (2 * float(np.sqrt(mean)) or 1.0)
        else:
            mean = 1 - mean
        return {
            "posterior": "none" if self.metric is None else self.metric.posterior_.name, "supervision": self.share,
            "score": mean, "standard_error": error, "neighbors_kept": self.kept, "taken": bool(taken),
        }  # fmt: skip


@dataclass(frozen=True)
class Choice:
    """The share that was taken, the metric fitted with it (None: the data's own), and all that was tried."""

    supervision: float
    metric: Any
    curve: tuple[dict[str, Any], ...]


# --- pure functions on arrays -----------------------------------------------------------------------------------------


def nearest_rows(D2):
    """The ten nearest other rows of each row, nearest first, by squared distances (n, n), whose diagonal is lost."""
    np.fill_diagonal(D2, np.inf)
    return smallest(D2, min(N_NEIGHBORS, len(D2) - 1))[1]


def row_losses(near, y, *, real):
    """Loss of each row by its nearest rows: 0 or 1 for a class, the mean squared error for numbers.

    y : codes, or standardised numbers (n, targets).
    """
    if real:
        return np.square(y[near].mean(axis=1) - y).mean(axis=1)
    return (~is_majority(y[near], y)).astype(np.float64)


def kept_share(near, own):
    """Mean share of the rows' own nearest that are among their nearest."""
    return float(np.mean([np.isin(a, b).mean() for a, b in zip(own, near, strict=True)]))


def is_majority(votes, codes):
    """Whether the most frequent code among each row's votes, nearest first, is its own; ties go to the nearest."""
    same = votes[:, :, None] == votes[:, None, :]
    counts = same.sum(axis=2)
    winner = votes[np.arange(len(votes)), counts.argmax(axis=1)]
    return winner == codes


def paired_gap(a, b):
    """Mean of a - b over rows, and its standard error."""
    gap = a - b
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else np.inf


def least_as_good(losses, weights):
    """Index of the candidate to take, from the losses (candidates, rows) and shares of all candidates.

    That without supervision unless the best is better by `SIGNIFICANT` standard errors; else the smallest share that
    is within `ALIKE` standard errors of the best, and of several with this share the best.
    """
    means, weights = losses.mean(axis=1), np.asarray(weights)
    best, plain = int(means.argmin()), int(np.flatnonzero(weights == 0)[0])
    gain, error = paired_gap(losses[plain], losses[best])
    if gain <= SIGNIFICANT * error:
        return plain
    alike = []
    for k in np.flatnonzero(weights > 0):
        behind, error = paired_gap(losses[k], losses[best])
        if behind <= ALIKE * error:
            alike.append(k)
    return int(min(alike, key=lambda k: (weights[k], means[k])))


# --- a metric and its rows --------------------------------------------------------------------------------------------


def choose(fisher, data, y, wish, seed):
    """The `Choice` for an unfitted `FisherMetric` on the fitted metric of the data's own distances.

    wish : "auto", or "max" for the sharpest honest map: the best posterior there, whatever the gain.
    """
    rng, real = as_generator(seed), y.dtype.kind == "f"
    metrics = candidates(fisher, data, y, seed)
    sample = judged_rows(y, real, rng, MOST_ROWS if all(is_rowwise(m) for m in metrics) else MOST_ALONG_SEGMENTS)
    tried = judged(metrics, data, sample, standardised(y[sample]) if real else y[sample], real=real)
    losses, shares = np.stack([one.losses for one in tried]), [one.share for one in tried]
    if wish == "max":
        taken = min(np.flatnonzero(np.equal(shares, SHARPEST)), key=lambda k: losses[k].mean())
    else:
        taken = least_as_good(losses, shares)
    curve = tuple(one.described(real=real, taken=k == taken) for k, one in enumerate(tried))
    chosen = tried[taken]
    if chosen.metric is None:
        return Choice(0.0, None, curve)
    return Choice(chosen.share, with_share(chosen.metric, fisher.path, chosen.share, data, y), curve)


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


def candidates(fisher, data, y, seed):
    """Fitted metrics of the posteriors to choose from: as it was asked for and, if that was "auto", trees."""
    # Shortest paths over a graph are judged by its edges.
    trial = changed(fisher, supervision=0.8, path="chord" if fisher.path == "graph" else fisher.path)
    first = trial.fit_on(data, y)
    known = np.flatnonzero(known_targets(y))
    named = isinstance(fisher.posterior, str) and fisher.posterior == "auto"
    if not named or first.target_ == "real" or data.is_matrix or data.n_rows_ > MOST_TREE_ROWS:
        return [first]
    if fisher.path.startswith("tangent") or fisher.n_segments not in ("auto", 1):
        return [first]
    loss = log_loss(first.class_probabilities()[known], y[known])
    if not trees_are_worth_it(data.raw(known), y[known], loss, seed):
        return [first]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first has said what there is to say
        return [first, changed(trial, posterior="trees").fit_on(data, y)]


def trees_are_worth_it(X, codes, loss, seed):
    """Whether a small forest has a log-loss near the one that is there, judged out of bag and calibrated."""
    shares = np.bincount(codes) / len(codes)
    if shares.min() * len(codes) < 2:
        return False
    entropy = -float((shares * np.log(shares)).sum())
    small = RandomForestClassifier(SCREEN_TREES, min_samples_leaf=2, oob_score=True, random_state=seed % 2**32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the few rows that are in every bag
        votes = small.fit(X, codes).oob_decision_function_
    judged = np.isfinite(votes).all(axis=1)
    scores = log_shares(votes[judged], SCREEN_TREES / np.e)
    return log_loss(softmax(best_temperature(scores, codes[judged]) * scores), codes[judged]) < min(
        NEAR * loss, KNOWING * entropy
    )


def is_rowwise(metric):
    """Whether the posterior is known at the rows, so that a pair costs one product."""
    return metric.posterior_.at_rows


def with_share(metric, path, share, data, y):
    """The fitted metric with another share; fitted anew where the share decides how segments are cut."""
    if is_rowwise(metric) and path == metric.path:
        return metric.set_params(supervision=share)
    return changed(metric, path=path, supervision=share).fit_on(data, y)


def squared_arcs(metric, rows):
    """Squared lengths between some fitted rows under the Fisher part alone, cross-fitted and symmetric."""
    pure = copy(metric).set_params(supervision=1.0)
    D2 = np.square(np.asarray(pure.between(rows, rows), dtype=np.float64))
    return (D2 + D2.T) / 2


def judged_rows(y, real, rng, most):
    """At most so many rows with a target, with equal shares of the classes."""
    codes = target_bins(y.reshape(len(y), -1)) if real else y
    return stratified_support(codes, most, rng)


def standardised(y):
    """Real targets with mean 0 and variance 1, one a column."""
    y = y.reshape(len(y), -1).astype(np.float64)
    spread = y.std(axis=0)
    return (y - y.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


# --- mappings ---------------------------------------------------------------------------------------------------------


def choose_mapping(D, Y, y, seed):
    """A `VoteMap` or a `KernelMap`, unfitted: which places rows better that are left out, by what their neighbours say.

    D : distances between the fitted rows at positions Y with target y; without a target votes are taken. The embedding
    stays as it is; only the mapping is fitted without the rows that it places.
    """
    if y is None:
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


def placed_losses(placed, y, Y, fitted, *, real):
    """Loss of each placed row by its ten nearest fitted rows on the map."""
    near = smallest(cdist(placed, Y), min(N_NEIGHBORS, len(Y)))[1]
    if real:
        return np.square(fitted[near].mean(axis=1) - y).mean(axis=1)
    return (~is_majority(fitted[near], y)).astype(np.float64)
