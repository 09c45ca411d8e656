"""A fit, stage by stage: which rows, the metric, the embedding, the mapping.

A map is a metric, an embedding, a mapping and a verdict. `PrisMap.fit` has checked its input when it comes here; the
verdict is `PrisMap.report`. Functions take the `PrisMap` that is being fitted.
"""

from __future__ import annotations

import warnings
from copy import copy
from time import perf_counter

import numpy as np

from prismap._blocks import require_memory
from prismap._progress import Progress
from prismap._random import as_generator
from prismap._threads import on_one_thread
from prismap._validation import changed
from prismap.exceptions import InputError
from prismap.map.choose import choose, choose_mapping
from prismap.map.make import (
    embed,
    embed_many,
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
from prismap.map.pace import pace_of, usual_growth
from prismap.map.parts import DENSE_ROWS, MapParts, nearest_anchors
from prismap.map.several import told_target
from prismap.metrics import FisherMetric, fit_metric
from prismap.metrics.posteriors.models import is_model
from prismap.target import shares

#: How much a model as posterior counts by default.
MODEL_SHARE = 0.8


def sample_rows(codes, most, rng):
    """Sorted indices of at most `most` rows: all, or a draw with equal shares of the classes and the unlabelled."""
    if len(codes) <= most:
        return np.arange(len(codes))
    groups, members = np.unique(codes, return_inverse=True)
    wanted = shares(np.bincount(members), max(most, len(groups)))
    chosen = [rng.choice(np.flatnonzero(members == g), size, replace=False) for g, size in enumerate(wanted)]
    return np.sort(np.concatenate(chosen))


def rows_in_time(model, data, codes, progress):
    """As many rows as are fitted in the time that `fit_rows` is, by trial fits of copies, which leave no trace."""

    def trial(n_rows):
        own = copy(model)
        own.fit_rows_ = sample_rows(codes, n_rows, as_generator(model.seed_))
        progress.stage(f"timing a fit of {len(own.fit_rows_)} rows")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the map itself says what there is to say
            make_parts(own, copy(data), lambda *_: False, Progress("trial", 0))
        return len(own.fit_rows_)

    known = {"most": most_fitted(model.method, model.mapping, data), "usual": usual_growth(model.method, data)}
    pace = pace_of(model.fit_rows, len(codes), trial, perplexity=model.perplexity, **known)
    progress.stage(str(pace))
    model.notes_ = (*model.notes_, str(pace))
    return pace.n_rows


@on_one_thread  # of linear algebra: another number of threads would be another map, by rounding
def make_parts(model, data, callback, progress, checkpoint=None):
    """The fitted map as `MapParts`: the metric, the embedding, the mapping, one after the other."""
    n_rows, settings = len(model.fit_rows_), {"perplexity": model.perplexity, "seed": model.seed_}
    require_memory(
        fit_bytes(n_rows, model.perplexity), f"A map of {n_rows} fitted rows",
        "Set a smaller fit_rows: the other rows are placed on the map.",
    )  # fmt: skip
    large, laps = n_rows > DENSE_ROWS, [perf_counter()]
    # A large map of all given samples does not copy them.
    rows = model.rows_ if large and n_rows == model.rows_.shape[0] else data.cut(model.rows_, model.fit_rows_)
    y = model.fitted_target()

    progress.stage(f"measuring the distances of {n_rows} rows")
    data = data.over(rows)
    metric = fit_metric_of(model, data, rows, y)
    D = None if large else np.asarray(metric.pairwise(), dtype=np.float64)
    laps.append(perf_counter())

    progress.stage("embedding")
    watched = progress.watching(callback, usual_iterations(make_embedding(model.method, **settings)))
    embedding = make_embedding(model.method, callback=watched, checkpoint=checkpoint, **settings)
    if large:
        embedding = embed_many(embedding, rows, data, metric, **settings)
    else:
        target = method_target(embedding, y, model.target_)
        embedding = embed(embedding, rows, data, metric, D, target=target, by_distances=model.mapping == "own")
    # Rounded now if they will be handed out so, that a fitted sample has one position.
    positions = like_rows(np.asarray(embedding.embedding_, dtype=np.float64), rows).astype(np.float64)
    laps.append(perf_counter())

    progress.stage("learning where new rows go")
    anchors = large_anchors(n_rows, model.seed_, data.most_anchors) if large else np.arange(n_rows)
    mapping = model.mapping
    if large and mapping in ("auto", "vote"):
        mapping = large_mapping(rows, metric, anchors)
    elif mapping == "auto":
        told = None if metric is data else told_target(metric, y, model.target_)
        mapping = choose_mapping(D, positions, told, model.seed_)
    mapping = make_mapping(mapping, embedding, method=model.method, large=large, **settings)
    placed_by_data = mapping.metric == "data"
    if D is None or (placed_by_data and metric is not data):
        D = distances_among(data if placed_by_data else metric, anchors)
    mapping = fit_mapping(mapping, D, positions[anchors], model.seed_)
    laps.append(perf_counter())

    times = dict(zip(("metric", "embedding", "mapping"), np.diff(laps).tolist(), strict=True))
    return MapParts(
        rows=rows, data=data, metric=metric, positions=positions, mapping=mapping, anchors=anchors,
        placed_by_data=placed_by_data, nearest=nearest_anchors(data, anchors), seed=model.seed_,
        embedding=embedding, story=story_of(embedding), times=times,
    )  # fmt: skip


def fit_metric_of(model, data, rows, y):
    """The metric of the map: Fisher's, another that was asked for, or the data's own."""
    metric = model.map_metric()
    if metric is None:
        return data
    if isinstance(metric, FisherMetric) and model.supervision_ == "auto" and is_model(metric.posterior):
        model.supervision_ = MODEL_SHARE  # a model is given to be seen, whatever the evidence says
        return changed(metric, supervision=MODEL_SHARE).fit_on(data, y)
    if isinstance(metric, FisherMetric) and isinstance(model.supervision_, str):
        chosen = choose(changed(metric, supervision=0.8), data, y, model.supervision_, model.seed_)
        model.supervision_, model.supervision_curve_ = chosen.supervision, chosen.curve
        return data if chosen.metric is None else chosen.metric
    if isinstance(metric, FisherMetric):
        return metric.fit_on(data, y)
    if data.is_matrix:
        raise InputError(f"metric={metric!r} needs data='vectors'; a matrix of distances has its metric already.")
    return fit_metric(metric, rows, y, random_state=model.seed_)


def like_rows(Y, rows):
    """Positions in single precision, if the map was made of such rows."""
    return Y.astype(np.float32) if getattr(rows, "dtype", None) == np.float32 else Y


def distances_among(metric, rows):
    """Distances between some of the fitted rows, exactly symmetric."""
    D = np.asarray(metric.between(rows, rows), dtype=np.float64)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0)
    return D
