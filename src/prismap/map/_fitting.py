"""A fit, stage by stage: which rows, the metric, the embedding, the mapping.

A map is a metric, an embedding, a mapping and a verdict. What comes here is checked: a `Recipe` and the samples that
were `Given`. What leaves is a `FittedMap`. Nothing else is read or written, so that a map for comparison is made by the
same call as the map itself.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from prismap._util.blocks import require_memory
from prismap._util.progress import Progress
from prismap._util.random import as_generator
from prismap._util.threads import on_one_thread
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.map._choose import choose, choose_mapping
from prismap.map._fitted import DENSE_ROWS, FittedMap, like_rows
from prismap.map._held import held_embedding, movement_of, versions_of
from prismap.map._methods import (
    embed,
    embed_many,
    embeds_many,
    fit_bytes,
    fit_mapping,
    large_anchors,
    large_mapping,
    make_embedding,
    make_mapping,
    method_target,
    most_fitted,
    story_of,
    usual_iterations,
)
from prismap.map._recipe import Given, Recipe
from prismap.map._time_budget import pace_of, usual_growth
from prismap.mappings import VoteMap
from prismap.metrics import FisherMetric, fit_metric
from prismap.metrics._base import MeasuredMetric, PrecomputedMetric
from prismap.metrics._geometry import DataMetric
from prismap.metrics._shift import fit_shift
from prismap.metrics.posteriors._models import is_model
from prismap.target import Target

#: Rows up to which all distances are kept: those of more take longer to write than to measure.
FEW_ROWS = 2000
#: How much a model as posterior counts by default: it is given to be seen, whatever the evidence says.
MODEL_SHARE = 0.8


def fit_sample(
    recipe: Recipe, data: DataMetric, given: Given, *, callback: Callable[..., Any] | None, progress: Progress,
    checkpoint: Any = None,
) -> FittedMap:  # fmt: skip
    """The map of as many of the given samples as `fit_rows` says, by number or by time."""
    notes: tuple[str, ...] = ()
    most = recipe.fit_rows
    if isinstance(most, str):
        most, note = rows_in_time(recipe, data, given, progress)
        notes = (note,)
    fitted = fit_map(
        recipe, data, sampled(recipe, given, most), callback=callback, progress=progress, checkpoint=checkpoint
    )
    return replace(fitted, notes=(*notes, *fitted.notes))


def sampled(recipe: Recipe, given: Given, most: int) -> Given:
    """What is given with the samples that are embedded, at most so many."""
    rows = given.target.sample(most, as_generator(recipe.seed))
    return replace(given, fitted=rows, entry_columns=rows)


def rows_in_time(recipe: Recipe, data: DataMetric, given: Given, progress: Progress) -> tuple[int, str]:
    """As many rows as are fitted in the time that `fit_rows` is, by trial fits, and the note that says so."""

    def trial(n_rows: int) -> int:
        some = sampled(recipe, given, n_rows)
        progress.stage(f"timing a fit of {len(some.fitted)} rows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the map itself gives these warnings
            fit_map(recipe, copy(data), some, callback=without_watching)
        return len(some.fitted)

    pace = pace_of(
        str(recipe.fit_rows), len(given), trial, perplexity=recipe.perplexity,
        most=most_fitted(recipe.method, recipe.mapping, data), usual=usual_growth(recipe.method, data),
    )  # fmt: skip
    progress.stage(str(pace))
    return pace.n_rows, str(pace)


def without_watching(*_: Any) -> bool:
    """A callback that sees nothing, and keeps an embedding from calling another one."""
    return False


@on_one_thread  # of linear algebra: another number of threads would be another map, by rounding
def fit_map(
    recipe: Recipe, data: DataMetric, given: Given, *, callback: Callable[..., Any] | None = None,
    progress: Progress | None = None, checkpoint: Any = None,
) -> FittedMap:  # fmt: skip
    """The fitted map of the samples ``given.fitted``: the metric, the embedding, the mapping, one after the other."""
    progress = Progress("trial", 0) if progress is None else progress
    n_rows = len(given.fitted)
    settings: dict[str, Any] = {"perplexity": recipe.perplexity, "seed": recipe.seed}
    require_memory(
        fit_bytes(n_rows, recipe.perplexity), f"A map of {n_rows} fitted rows",
        "Set a smaller fit_rows: the other rows are placed on the map.",
    )  # fmt: skip
    large, laps = n_rows > DENSE_ROWS, [perf_counter()]
    # A large map of all given samples does not copy them.
    rows = given.rows if large and n_rows == len(given) else data.cut(given.rows, given.fitted)
    target = given.target.take(given.fitted)
    shift = fit_shift(rows, target)
    rows = rows if shift is None else shift.apply(rows, target.levels)

    progress.stage(f"measuring the distances of {n_rows} rows")
    data = data.over(rows)
    metric, supervision, curve = fit_metric_of(recipe, data, rows, target, given.feature_names)
    # Vectors in their own metric are embedded as they are; whether a mapping needs all distances shows later.
    as_vectors = metric is data and not data.is_matrix and data.is_complete and not is_own(recipe.mapping)
    among = None if large or as_vectors else among_rows(recipe, metric, rows)
    laps.append(perf_counter())

    progress.stage("embedding")
    watched = progress.watching(callback, usual_iterations(make_embedding(recipe.method, **settings)))
    embedding = make_embedding(recipe.method, callback=watched, checkpoint=checkpoint, **settings)
    earlier = None if given.earlier is None else given.earlier.take(given.fitted)
    embedding = held_embedding(embedding, metric, judged_target(metric, target), earlier, recipe.seed)
    if large:
        embedding = embed_many(embedding, rows, data, metric, **settings)
    else:
        classes = method_target(embedding, target)
        embedding = embed(embedding, rows, data, among, target=classes)
    positions = np.asarray(embedding.embedding_, dtype=np.float64)
    if earlier is not None:
        positions = earlier.laid_on(positions, scale=isinstance(embedding, TSNE))
    # Rounded now if they will be handed out so, that a fitted sample has one position.
    positions = like_rows(positions, rows).astype(np.float64)
    story, movement = story_of(embedding), None
    if earlier is not None:
        movement = movement_of(earlier, positions, target, story["arrangement"] or 0.0, recipe.seed)
        story = {**story, "like": str(movement)}
    laps.append(perf_counter())

    progress.stage("learning where new rows go")
    anchors = large_anchors(n_rows, recipe.seed, data.most_anchors) if large else np.arange(n_rows)
    mapping = recipe.mapping
    if large and isinstance(mapping, str) and mapping in ("auto", "vote"):
        mapping = large_mapping(rows, metric, anchors)
    elif isinstance(mapping, str) and mapping == "auto":
        judged = None if metric is data else judged_target(metric, target)
        mapping = choose_mapping(among, positions, judged, recipe.seed)
    mapping = make_mapping(mapping, embedding, method=recipe.method, large=large, **settings)
    placed_by_data = isinstance(mapping.metric, str) and mapping.metric == "data"
    if isinstance(mapping, VoteMap) and large:
        mapping = mapping.fit_positions(positions[anchors])
    elif isinstance(mapping, VoteMap) and not isinstance(among, PrecomputedMetric):
        # New rows bring the distances that it needs.
        mapping = mapping.set_params(metric=data if among is None else among).fit(rows, positions)
    else:
        if isinstance(among, PrecomputedMetric) and (metric is data or not placed_by_data):
            D = among.rows_
        else:
            D = distances_among(data if placed_by_data else metric, anchors)
        mapping = fit_mapping(mapping, D, positions[anchors], target.take(anchors), recipe.seed)
    laps.append(perf_counter())

    times = dict(zip(("metric", "embedding", "mapping"), np.diff(laps).tolist(), strict=True))
    given = replace(given, earlier=None)  # a map a month would keep all maps before it
    return FittedMap(
        recipe=recipe, given=given, rows=rows, data=data, metric=metric, positions=positions, mapping=mapping,
        anchors=anchors, placed_by_data=placed_by_data,
        supervision=supervision, supervision_curve=curve, embedding=embedding, story=story, times=times,
        shift=shift, movement=movement, versions=() if earlier is None else versions_of(earlier),
        notes=() if movement is None else (str(movement),),
    )  # fmt: skip


class FittedMetric(NamedTuple):
    """The metric of a map, how much the target counts in it, and what that was chosen from (None: it was given)."""

    metric: Any
    supervision: float
    curve: tuple[dict[str, Any], ...] | None


def fit_metric_of(recipe: Recipe, data: DataMetric, rows: Any, target: Target, feature_names: Any) -> FittedMetric:
    """The metric of the map: Fisher's, another that was asked for, or the data's own."""
    target, wish = target.present(), recipe.supervision
    chosen = isinstance(wish, str)
    metric = recipe.metric_for(target, feature_names, MODEL_SHARE if chosen else None)
    if metric is None:
        return FittedMetric(data, 0.0, None)
    if not isinstance(metric, FisherMetric):
        if data.is_matrix:
            raise InputError(f"metric={metric!r} needs data='vectors'; a matrix of distances has its metric already.")
        y = target.values if target.exists else None
        return FittedMetric(fit_metric(metric, rows, y, random_state=recipe.seed), 0.0, None)
    if not chosen or (wish == "auto" and is_model(metric.posterior)):
        return FittedMetric(metric.fit_on(data, target), metric.supervision, None)
    choice = choose(metric, data, target, wish, recipe.seed)
    return FittedMetric(data if choice.metric is None else choice.metric, choice.supervision, choice.curve)


def among_rows(recipe: Recipe, metric: Any, rows: Any) -> Any:
    """The metric among the fitted rows: all distances, or of many rows, where neighbours are enough, those asked for.

    They are enough for t-SNE and for votes. Where a pair costs more than a product, it is measured once.
    """
    enough = embeds_many(recipe.method) and isinstance(recipe.mapping, str) and recipe.mapping in ("auto", "vote")
    if enough and metric.n_rows_ > FEW_ROWS and isinstance(metric, FisherMetric) and metric.knows_rows:
        return MeasuredMetric.of(metric, rows)
    return PrecomputedMetric.of(np.asarray(metric.pairwise(), dtype=np.float64))


def judged_target(metric: Any, target: Target) -> Target:
    """The target by which neighbours are judged while a map is made: columns of numbers in place of several targets."""
    if isinstance(metric, FisherMetric):
        judged: Target = metric.judged_target(target)
        return judged
    return target.indicators()


def is_own(mapping: Any) -> bool:
    """Whether the embedding is asked to place new rows itself."""
    return isinstance(mapping, str) and mapping == "own"


def distances_among(metric: Any, rows: np.ndarray) -> np.ndarray:
    """Distances between some of the fitted rows, exactly symmetric."""
    D = np.asarray(metric.between(rows, rows), dtype=np.float64)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D
