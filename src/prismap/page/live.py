"""What the live explorer may ask of a map: rows of a dropped file, another supervision, what marks a selection.

A map can also be shaped by hand, which is an experiment. The user names groups of rows that belong together.
Generalised matrix LVQ learns from them which directions of the data separate the groups (Schulz 2017, sections 4.2 and
4.4), and the rows are embedded again under a mixture of that metric and the data's own. What such a map shows was put
there by the user: it is not judged, and the page says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._validation import changed
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.learners import GMLVQ
from prismap.map import PrisMap
from prismap.map.votes import CLASS, MEAN, SHARE, SPREAD, votes_of
from prismap.metrics import FisherMetric
from prismap.page.compute import ModelCompute
from prismap.page.data import PageData
from prismap.relevance import FeatureRelevance, fisher_relevance

#: What the page calls the votes of the rows around a new one.
WORDS = {
    CLASS: "class of neighbours", SHARE: "share of neighbours", MEAN: "mean of neighbours",
    SPREAD: "spread of neighbours",
}  # fmt: skip
#: Iterations of a map that is made anew from where the points are.
N_ITER = 300
#: How much the metric learnt from groups of rows counts; the rest is the data's own.
WEIGHT = 0.8


def live_compute(model: Any, page: PageData) -> ModelCompute:
    """`prismap.page.Compute` of a fitted map and its page."""

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
    """Whether it is known which features change the target: of a small map of vectors with a target."""
    fisher = isinstance(model.metric_, FisherMetric) and model.target_ in ("class", "real")
    return fisher and has_coordinates(model)


def has_coordinates(model):
    """Whether the map is a small one of vectors without missing values."""
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
        init=start[fitted], perplexity=model.perplexity, early_exaggeration=1.0, n_iter=N_ITER, random_state=model.seed_
    )
    changed = {"method": method, "supervision": supervision, "target": model.target_, "random_state": model.seed_}
    changed["fit_rows"] = len(start[fitted])  # those of the map, though `fit_rows` may be a time
    again = PrisMap(**{**model.get_params(deep=False), **changed})
    Y[fitted] = again.fit(model.fitted_rows(), model.fitted_target(), callback=follow).embedding_
    return Y


def shaped_rows(X, groups, *, weight=WEIGHT, seed=0):
    """Rows in which the Euclidean distance is the mixture, and the relevance of the features.

    ``d^2(x, y) = w ||Omega (x - y)||^2 / a + (1 - w) ||x - y||^2 / b``, where a and b are the total variances of the
    two parts: each then has the mean squared distance 2. The relevance is the diagonal of ``Omega^T Omega``, which sums
    to 1.
    """
    rows = np.concatenate(groups)
    if len(groups) < 2 or min(map(len, groups)) < 2 or len(np.unique(rows)) < len(rows):
        raise InputError("name at least two groups of at least two rows each, and no row twice.")
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    learner = GMLVQ(random_state=seed).fit(X[rows], labels)
    parts = [(weight, X @ learner.omega_.T), (1 - weight, X)]
    scaled = [np.sqrt(share / max(part.var(axis=0).sum(), 1e-300)) * part for share, part in parts]
    return np.hstack(scaled), np.diag(learner.lambda_)


def shape_map(model, groups, fitted, start, progress, cancel):
    """Positions of the fitted rows on the map that follows the groups, NaN for others, and the features' relevance.

    `groups` are numbers of rows of the page, `fitted` tells which of these the map was fitted to.
    """
    place = np.cumsum(fitted) - 1
    groups = [place[rows[fitted[rows]]] for rows in map(np.asarray, groups)]
    X = model.fitted_rows()
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    Z, relevance = shaped_rows(X, groups, seed=model.seed_)
    Y = np.full(start.shape, np.nan, dtype=np.float32)

    def follow(iteration, error, positions):
        Y[fitted] = positions
        progress(iteration / (1.5 * N_ITER), Y)
        return cancel()

    method = TSNE(
        init=start[fitted], perplexity=model.perplexity, early_exaggeration=1.0, n_iter=N_ITER, callback=follow,
        random_state=model.seed_,
    )  # fmt: skip
    Y[fitted] = method.fit(Z).embedding_
    return Y, relevance
