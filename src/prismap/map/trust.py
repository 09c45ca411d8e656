"""How far each row of a `PrisMap` can be trusted: what its neighbours on the map say, and whether its features agree.

The rule is `prismap.quality.trust`; here is the evidence. It needs nothing but the fitted map, so that the rows of a
map that was read from a file, and new ones, are judged by the same rule as those the rule was learnt from.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import orthogonal_procrustes
from scipy.stats import norm
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors

from prismap.exceptions import InputError
from prismap.metrics import FisherMetric
from prismap.metrics.several import is_several, shown_column, shown_kind
from prismap.metrics.target import known_targets
from prismap.quality import Trust, local_quality
from prismap.quality.trust import LOW, TrustRule, learn_trust, null_trust

NEIGHBORS = 10
#: Neighbours are right about a real target if they miss it by no more than this, in its standard deviations.
TOLERANCE = 0.5
#: Rows up to which it is told how many neighbours are kept and stay: that takes all distances.
MOST_ROWS = 10_000


class Evidence(NamedTuple):
    """What the neighbours of rows on a map say, the share of them that agree, and the chance the features give it."""

    said: np.ndarray
    vote: np.ndarray
    told: np.ndarray


def trust_of(model) -> Trust:
    """The trust in the rows of a judged `PrisMap`."""
    rule = rule_of(model)
    n_rows, fitted = model.rows_.shape[0], model.fit_rows_
    others = np.setdiff1d(np.arange(n_rows), fitted)
    value = np.empty(n_rows)
    parts = {name: np.empty(n_rows) for name in (("kept",) if rule.kind == "none" else ("vote", "told"))}
    for index, rows in ((fitted, None), (others, model.entries(model.rows_[others]) if len(others) else None)):
        if not len(index):
            continue
        Y, far = (part[index] for part in model.placed_rows())
        found = evidence_for(model, rule, Y, rows)
        value[index] = np.where(far, np.nan, rule.chances(*found))
        for name, part in zip(parts, found, strict=True):
            parts[name][index] = part
    return Trust(value, {**parts, **parts_of_fitted(model, n_rows, "kept" not in parts)}, rule)


def trust_at(model, rows, Y, far) -> np.ndarray:
    """The trust in new rows at positions Y; NaN for those that are far, of whom nothing is known."""
    rule = rule_of(model)
    trust = np.where(far, np.nan, rule.chances(*evidence_for(model, rule, Y, rows)))
    found, fitted = model.parts_.known.find(rows)
    if len(fitted):  # a row does not vote for itself, though it comes again
        trust[found] = model.trust_.value[model.fit_rows_[fitted]]
    return trust


def rule_of(model) -> TrustRule:
    """The rule that came with the report."""
    report = model.report_if_judged()
    if report is None:
        raise NotFittedError("trust_ needs the held-out rows of report(): call it first.")
    if report.trust is None:
        raise NotFittedError(
            "trust_ is not known for this map: too few rows have a target, or there is none and no columns either that "
            "could be permuted (vectors have them)."
        )
    return report.trust


def evidence_for(model, rule, Y, rows):
    """What the rule asks for: (vote, told), or without a target (kept,)."""
    if rule.kind == "none":
        return (kept_by(model.parts_, Y, rows, len(rule.weights) - 1),)
    return evidence(model, Y, rows)[1:]


def evidence(model, Y, rows=None) -> Evidence:
    """Evidence on rows at positions Y of a supervised map; ``rows=None``: the fitted ones, none of which votes itself.

    Of several targets it is the first. Classes are codes of the map.
    """
    y = shown_column(model.fitted_target(), model.target_)
    known = np.flatnonzero(known_targets(y))
    near = known[nearest_rows(Y, model.embedding_[known], None if rows is not None else places(known, len(Y)))]
    if shown_kind(model.target_) == "class":
        votes = counts_of(y[near], int(y.max()) + 1)
        said = votes.argmax(axis=1)
        vote = votes.max(axis=1) / near.shape[1]
        return Evidence(said, vote, told_class(model, said, rows, y))
    half = TOLERANCE * y[known].std()
    said = y[near].mean(axis=1)
    vote = (np.abs(y[near] - said[:, None]) <= half).mean(axis=1)
    return Evidence(said, vote, told_value(model, said, half, rows, y))


def are_right(model, said, target):
    """Whether what neighbours say is true: 1.0 or 0.0. The target is in codes of the map."""
    target = shown_column(target, model.target_)
    if shown_kind(model.target_) == "class":
        return (said == target).astype(np.float64)
    y = shown_column(model.fitted_target(), model.target_)
    return (np.abs(said - target) <= TOLERANCE * y[known_targets(y)].std()).astype(np.float64)


def told_class(model, said, rows, y):
    """The posterior of a class at rows; without one, the share of the nearest rows in the data that have it."""
    metric = model.metric_
    if not has_posterior(metric):
        return (y[nearest_in(metric, rows, y)] == said[:, None]).mean(axis=1)
    if is_several(metric.target_):
        P, classes = metric.posterior_.probabilities_of(0, rows), metric.classes_[0]
    else:
        P, classes = metric.class_probabilities(rows), metric.classes_
    return P[np.arange(len(said)), np.searchsorted(classes, said)]


def told_value(model, said, half, rows, y):
    """The chance of a value within `half` of what is said, by the posterior or by the nearest rows in the data."""
    metric = model.metric_
    if not has_posterior(metric):
        return (np.abs(y[nearest_in(metric, rows, y)] - said[:, None]) <= half).mean(axis=1)
    several = is_several(metric.target_)
    moments = metric.posterior_.moments_of(0, rows) if several else metric.target_moments(rows)
    mean, variance = (part[:, 0] for part in moments)
    width = np.sqrt(np.maximum(variance, np.finfo(float).tiny))
    return norm.cdf((said + half - mean) / width) - norm.cdf((said - half - mean) / width)


def has_posterior(metric) -> bool:
    """Whether a metric knows how the target is distributed."""
    return isinstance(metric, FisherMetric) and metric.target_ != "none"


def nearest_in(metric, rows, y):
    """The nearest fitted rows that have a target, in the data: of the ten nearest, those without one are replaced."""
    known = known_targets(y)
    k = min(NEIGHBORS + int((~known).sum()), metric.n_rows_ - (rows is None))
    near = np.asarray(metric.kneighbors(rows, k)[1])
    order = np.argsort(~known[near], axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)[:, : min(NEIGHBORS, int(known.sum()) - (rows is None))]


def nearest_rows(Y, fitted, own=None, metric="euclidean"):
    """The ten nearest fitted rows to rows Y; `own` is the place of each row among them, -1 for none: not itself."""
    k = min(NEIGHBORS, len(fitted) - (own is not None))
    if k < 1:
        raise InputError("trust_ needs at least two labelled fitted rows.")
    search = NearestNeighbors(n_neighbors=min(k + 1, len(fitted)), metric=metric).fit(fitted)
    near = search.kneighbors(Y, return_distance=False)
    if own is not None:
        itself = near == own[:, None]
        itself[~itself.any(axis=1), -1] = True  # the farthest one goes where the row itself is not among them
        near = near[~itself].reshape(len(Y), -1)
    return near[:, :k]


def kept_by(parts, Y, rows, k):
    """The share of each row's k nearest fitted rows in the metric that are among its k nearest on the map."""
    if rows is None:
        return local_quality(None, Y, n_neighbors=k, metric=parts.metric)
    in_metric = np.asarray(parts.metric.kneighbors(rows, k)[1])
    on_map = NearestNeighbors(n_neighbors=k).fit(parts.positions).kneighbors(Y, return_distance=False)
    return (in_metric[:, :, None] == on_map[:, None, :]).any(axis=2).mean(axis=1)


# --- the rule, learnt while a map is judged ---------------------------------------------------------------------------


def learnt_rule(model, judged):
    """The rule of judged rows (`prismap.map.judge.Judged`), and the share of the map's own rows that it trusts less."""
    known = [case for case in judged if case.evidence is not None]
    if not known:
        return None
    vote, told, right = (
        np.concatenate(column) for column in zip(*((*c.evidence[1:], c.right) for c in known), strict=True)
    )
    return with_low(learn_trust(shown_kind(model.target_), vote, told, right), model)


def rule_of_null(model, null_parts):
    """The rule without a target, from a map of permuted columns."""
    k = n_kept(model.embedding_)
    return with_low(null_trust(kept_by(null_parts, null_parts.positions, None, k), k), model)


def with_low(rule, model):
    """The rule, and how many fitted rows it does not trust."""
    trust = rule.chances(*evidence_for(model, rule, model.embedding_, None))
    return replace(rule, low=float((trust < LOW[rule.kind]).mean()))


def n_kept(Y):
    """Neighbours that are compared."""
    return min(NEIGHBORS, len(Y) - 2)


def parts_of_fitted(model, n_rows, kept=True):
    """Shares of each fitted row's neighbours that the map keeps, that stay, and that are there without the target."""
    Y, k, twins = model.embedding_, n_kept(model.embedding_), model.twins_
    if k < 1 or len(Y) > MOST_ROWS:
        return {}
    found = {"kept": local_quality(None, Y, n_neighbors=k, metric=model.metric_)} if kept else {}
    if twins is not None and model.target_ != "none":
        found["plain"] = local_quality(Y, twins.unsupervised.positions, n_neighbors=k)
    if twins is not None and twins.runs:
        found |= {"stays": stays(Y, twins.runs), "scatter": scatter(Y, twins.runs)}
    return {name: spread_out(part, model.fit_rows_, n_rows) for name, part in found.items()}


def stays(Y, runs):
    """The share of each row's ten neighbours on the map that it has in other runs, (which, where), of their rows."""
    total, times = np.zeros(len(Y)), np.zeros(len(Y))
    for here, positions in runs:
        total[here] += local_quality(Y[here], positions, n_neighbors=n_kept(positions))
        times[here] += 1
    with np.errstate(invalid="ignore"):
        return total / times


def scatter(Y, runs):
    """How far from its place each row lies in other runs, (which, where): root mean square over its runs.

    Each run is brought onto the map first, by the shift, rotation, reflection and scale that leave the least squared
    distance (orthogonal Procrustes analysis, Gower 1975). 1 is the root mean square distance of rows from the centre.
    """
    total, times = np.zeros(len(Y)), np.zeros(len(Y))
    unit = np.square(Y - Y.mean(axis=0)).sum(axis=1).mean()
    for here, positions in runs:
        goal, found = (part - part.mean(axis=0) for part in (Y[here], np.asarray(positions)))
        rotation, overlap = orthogonal_procrustes(found, goal)
        aligned = found @ rotation * (overlap / (np.square(found).sum() or 1.0))
        total[here] += np.square(aligned - goal).sum(axis=1)
        times[here] += 1
    with np.errstate(invalid="ignore"):
        return np.sqrt(total / times / (unit or 1.0))


def spread_out(part, fitted, n_rows):
    """A part of the fitted rows as one of all rows."""
    whole = np.full(n_rows, np.nan)
    whole[fitted] = part
    return whole


def places(index, n_rows):
    """The place of each row in `index`, -1 for those that are not in it."""
    found = np.full(n_rows, -1, dtype=np.intp)
    found[index] = np.arange(len(index))
    return found


def counts_of(codes, n_classes):
    """How often each class is among the codes of a row."""
    counts = np.zeros((len(codes), n_classes))
    np.add.at(counts, (np.arange(len(codes))[:, None], codes), 1.0)
    return counts
