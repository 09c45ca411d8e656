"""What the live explorer may ask of a map: rows of a dropped file, another supervision, what marks a selection.

A map can also be shaped by hand, which is an experiment. The user names groups of rows that belong together.
Generalised matrix LVQ learns from them which directions of the data separate the groups (Schulz 2017, sections 4.2 and
4.4), and the rows are embedded again under a mixture of that metric and the data's own. What such a map shows was put
there by the user: it is not judged, and the page says so.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._util.arrays import Numbers
from prismap._util.validation import changed
from prismap.embeddings import TSNE, GradientDescent
from prismap.exceptions import InputError
from prismap.learners import GMLVQ
from prismap.map._fitted import FittedMap, like_rows
from prismap.map._fitting import fit_map
from prismap.map._predictions import votes_at
from prismap.map._recipe import Given
from prismap.map._tables import may_lack
from prismap.metrics import FisherMetric
from prismap.metrics._geometry import data_metric
from prismap.page._compute import ModelCompute
from prismap.page._data import PageData
from prismap.quality._votes import CLASS, MEAN, SHARE, SPREAD
from prismap.relevance import FeatureRelevance, fisher_relevance
from prismap.tables import encoding_of
from prismap.target import SeveralTarget

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
    """`prismap.page.Compute` of a `PrisMap` and its page."""
    fitted: FittedMap = model.map_

    def about(X: Any, given: Any = None) -> tuple[Any, Any, dict[str, Any]]:
        Y, far, distance = model.place(X, given=given, return_distance=True)
        votes = {WORDS[name]: values for name, values in votes_at(fitted, Y).items()}
        return Y, far, {**votes, "distance to the data": distance}

    able: dict[str, Any] = {"relevance": local_relevance, "about": about}
    if fitted.data.kind != "objects":
        able["may_lack"] = may_lack(fitted, encoding_of(model))
    on_map = np.ones(page.n_rows, dtype=bool) if page.split is None else np.asarray(page.split) != "placed"
    if on_map.sum() != len(fitted.positions):
        return ModelCompute(model, page, **able)

    def reembed(supervision: float, *, start: Any, progress: Any, cancel: Any) -> Any:
        return embed_again(fitted, supervision, on_map, start, progress, cancel)

    def shape(groups: Any, *, start: Any, progress: Any, cancel: Any) -> Any:
        Y, shares = shape_map(fitted, groups, on_map, start, progress, cancel)
        names, own = column_names(fitted.given)
        return Y, names, np.bincount(own, weights=shares, minlength=len(names))

    compute = ModelCompute(model, page, reembed=reembed, **able)
    if has_coordinates(fitted):
        compute.shape = shape
    if has_tensor(fitted):
        compute.target_relevance = partial(changes_target, fitted)
    compute.supervision = fitted.supervision
    return compute


def local_relevance(X: Any, Y: Numbers, rows: Any) -> Numbers:
    """How much each column says about the neighbourhoods of some rows."""
    shares: Numbers = FeatureRelevance("forward", n_permuted=0).fit(X, Y, subset=rows).relevance_
    return shares


def has_tensor(fitted: FittedMap) -> bool:
    """Whether it can be computed which features change the target: with one target, of vectors, on no large map."""
    one = fitted.target.exists and not isinstance(fitted.target, SeveralTarget)
    return one and isinstance(fitted.metric, FisherMetric) and has_coordinates(fitted)


def has_coordinates(fitted: FittedMap) -> bool:
    """Whether the map is of vectors, all of whose values are there, and no large one."""
    return not fitted.data.is_matrix and fitted.data.is_complete and not fitted.is_large


def changes_target(fitted: FittedMap, rows: Any) -> tuple[Any, ...]:
    """Columns, their shares in the change of the target around the fitted ones of some rows, and those over the map."""
    places = np.flatnonzero(np.isin(fitted.given.fitted, rows))
    if not len(places):
        raise InputError("none of these rows was fitted, so that the metric is not known there.")
    metric = fitted.metric
    if not hasattr(metric.posterior_, "tensor_factor"):
        metric = changed(metric, posterior="parzen", supervision=1.0).fit(fitted.rows, fitted.target)
    names, own = column_names(fitted.given)
    here, everywhere = (fisher_relevance(metric, chosen) for chosen in (places, None))
    return names, *(np.bincount(own, weights=shares, minlength=len(names)) for shares in (here, everywhere))


def column_names(given: Given) -> tuple[list[str], np.ndarray]:
    """The columns of the table, and the column of each feature: levels of a category belong together."""
    if given.encoding is None:
        return given.column_names, np.arange(len(given.column_names))
    counts = [len(column.feature_names) for column in given.encoding.columns]
    return given.encoding.names, np.repeat(np.arange(len(counts)), counts)


class Follower:
    """What watches an embedding of the fitted rows of a page: all rows so far, NaN for placed ones.

    Parameters
    ----------
    on_map : which rows of the page are fitted.
    start : positions of all rows.
    progress, cancel : as in `prismap.page.Compute`.
    """

    def __init__(self, on_map: np.ndarray, start: np.ndarray, progress: Any, cancel: Any) -> None:
        self.Y = np.full(start.shape, np.nan, dtype=np.float32)
        self.on_map, self.progress, self.cancel = on_map, progress, cancel

    def __call__(self, iteration: int, error: float, positions: np.ndarray) -> bool:
        self.Y[self.on_map] = positions
        self.progress(iteration / (1.5 * N_ITER), self.Y)
        return bool(self.cancel())

    def end(self, positions: np.ndarray) -> np.ndarray:
        """Positions of all rows at the end."""
        self.Y[self.on_map] = positions
        return self.Y


def method_from(fitted: FittedMap, start: np.ndarray, callback: Any = None) -> TSNE:
    """A t-SNE that goes on from where the fitted rows are."""
    return TSNE(
        init=start, perplexity=fitted.recipe.perplexity, descent=GradientDescent(early_exaggeration=1.0),
        max_iter=N_ITER, callback=callback, random_state=fitted.seed,
    )  # fmt: skip


def embed_again(fitted: FittedMap, supervision: float, on_map: Any, start: Any, progress: Any, cancel: Any) -> Any:
    """Positions of the fitted rows with another supervision, from where they are; NaN for placed rows."""
    follower, target = Follower(on_map, start, progress, cancel), fitted.target
    recipe = fitted.recipe.but(method=method_from(fitted, start[on_map]), supervision=supervision)
    every = np.arange(len(fitted.positions))
    given = replace(
        fitted.given, rows=fitted.given_rows, target=target if supervision else target.absent(), fitted=every,
        entry_columns=every,
    )  # fmt: skip
    again = fit_map(recipe, data_metric(recipe.data), given, callback=follower)
    return follower.end(like_rows(again.positions, again.rows))


def shaped_rows(X: Any, groups: Any, *, weight: Any = WEIGHT, seed: int = 0) -> tuple[Numbers, Numbers]:
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


def shape_map(fitted: FittedMap, groups: Any, on_map: Any, start: Any, progress: Any, cancel: Any) -> tuple[Any, Any]:
    """Positions of the fitted rows on the map that follows the groups, NaN for others, and the features' relevance.

    `groups` are numbers of rows of the page, `on_map` tells which of these the map was fitted to.
    """
    place = np.cumsum(on_map) - 1
    groups = [place[rows[on_map[rows]]] for rows in map(np.asarray, groups)]
    X = fitted.rows.toarray() if sp.issparse(fitted.rows) else np.asarray(fitted.rows, dtype=np.float64)
    Z, relevance = shaped_rows(X, groups, seed=fitted.seed)
    follower = Follower(on_map, start, progress, cancel)
    return follower.end(method_from(fitted, start[on_map], follower).fit(Z).embedding_), relevance
