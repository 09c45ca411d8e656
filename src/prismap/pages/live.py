"""What the live explorer may ask of a map: rows of a dropped file, another supervision, what marks a selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap._validation import changed
from prismap.embeddings import TSNE, GradientDescent
from prismap.exceptions import InputError
from prismap.explorer.compute import ModelCompute
from prismap.map import PrisMap
from prismap.map.votes import CLASS, MEAN, SHARE, SPREAD, votes_of
from prismap.metrics import FisherMetric
from prismap.page_data import PageData
from prismap.pages.by_hand import shape_map
from prismap.relevance import FeatureRelevance, fisher_relevance

#: What the page calls the votes of the rows around a new one.
WORDS = {
    CLASS: "class of neighbours", SHARE: "share of neighbours", MEAN: "mean of neighbours",
    SPREAD: "spread of neighbours",
}  # fmt: skip
#: Iterations of a map that is made anew from where the points are.
N_ITER = 300


def live_compute(model: Any, page: PageData) -> ModelCompute:
    """`prismap.explorer.compute.Compute` of a fitted map and its page."""

    def about(X):
        Y, far, distance = model.place(X, return_distance=True)
        votes = {WORDS[name]: values for name, values in votes_of(model, Y).items()}
        return Y, far, {**votes, "distance to the data": distance}

    def target_relevance(rows):
        return changes_target(model, rows)

    fitted = np.ones(page.n_rows, dtype=bool) if page.split is None else np.asarray(page.split) != "placed"
    if fitted.sum() != len(model.embedding_):
        return ModelCompute(model, page, relevance=local_relevance, about=about)

    def reembed(supervision, *, start, progress, cancel):
        return embed_again(model, supervision, fitted, start, progress, cancel)

    def shape(groups, *, start, progress, cancel):
        Y, shares = shape_map(model, groups, fitted, start, progress, cancel)
        names, own = column_names(model)
        return Y, names, np.bincount(own, weights=shares, minlength=len(names))

    compute = ModelCompute(model, page, relevance=local_relevance, reembed=reembed, about=about)
    if has_coordinates(model):
        compute.shape = shape
    if has_tensor(model):
        compute.target_relevance = target_relevance
    compute.supervision = model.supervision_
    return compute


def local_relevance(X, Y, rows):
    """How much each column says about the neighbourhoods of some rows."""
    return FeatureRelevance("forward", n_permuted=0).fit(X, Y, subset=rows).relevance_


def has_tensor(model):
    """Whether it can be told which features change the target: with a target, of vectors, on no large map."""
    fisher = isinstance(model.metric_, FisherMetric) and model.target_ in ("class", "real")
    return fisher and has_coordinates(model)


def has_coordinates(model):
    """Whether the map is of vectors, all of whose values are there, and no large one."""
    data = model.parts_.data
    return not data.is_matrix and data.is_complete and not model.parts_.is_large


def changes_target(model, rows):
    """Columns, their shares in the change of the target around the fitted ones of some rows, and those over the map."""
    places = np.flatnonzero(np.isin(model.fit_rows_, rows))
    if not len(places):
        raise InputError("none of these rows was fitted, so that the metric is not known there.")
    metric = model.metric_
    if not hasattr(metric.posterior_, "tensor_factor"):
        metric = changed(metric, posterior="parzen", supervision=1.0).fit(model.fitted_rows(), model.fitted_target())
    names, own = column_names(model)
    here, everywhere = (fisher_relevance(metric, chosen) for chosen in (places, None))
    return names, *(np.bincount(own, weights=shares, minlength=len(names)) for shares in (here, everywhere))


def column_names(model):
    """The columns of the table, and the column of each feature: levels of a category belong together."""
    encoding = model.encoding_
    if encoding is None:
        n = model.rows_.shape[1]
        return [str(name) for name in getattr(model, "feature_names_in_", [f"x{j}" for j in range(n)])], np.arange(n)
    counts = [len(column.feature_names) for column in encoding.columns]
    return encoding.names, np.repeat(np.arange(len(counts)), counts)


def embed_again(model, supervision, fitted, start, progress, cancel):
    """Positions of the fitted rows with another supervision, from where they are; NaN for placed rows."""
    Y = np.full(start.shape, np.nan, dtype=np.float32)

    def follow(iteration, error, positions):
        Y[fitted] = positions
        progress(iteration / (1.5 * N_ITER), Y)
        return cancel()

    method = TSNE(
        init=start[fitted],
        perplexity=model.perplexity,
        descent=GradientDescent(early_exaggeration=1.0),
        max_iter=N_ITER,
        random_state=model.seed_,
    )
    changed = {"method": method, "supervision": supervision, "target": model.target_, "random_state": model.seed_}
    changed["fit_rows"] = len(start[fitted])  # those of the map, though `fit_rows` may be a time
    again = PrisMap(**{**model.get_params(deep=False), **changed})
    Y[fitted] = again.fit(model.fitted_rows(), model.fitted_target(), callback=follow).embedding_
    return Y
