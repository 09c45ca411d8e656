"""What the live explorer may ask of a map: rows of a dropped file, another supervision, what marks a selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap.embeddings import TSNE
from prismap.explorer.compute import ModelCompute
from prismap.map import PrisMap
from prismap.map.votes import CLASS, MEAN, SHARE, SPREAD, votes_of
from prismap.page_data import PageData
from prismap.relevance import FeatureRelevance

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

    fitted = np.ones(page.n_rows, dtype=bool) if page.split is None else np.asarray(page.split) != "placed"
    if fitted.sum() != len(model.embedding_):
        return ModelCompute(model, page, relevance=local_relevance, about=about)

    def reembed(supervision, *, start, progress, cancel):
        return embed_again(model, supervision, fitted, start, progress, cancel)

    compute = ModelCompute(model, page, relevance=local_relevance, reembed=reembed, about=about)
    compute.supervision = model.supervision_
    return compute


def local_relevance(X, Y, rows):
    """How much each column says about the neighbourhoods of some rows."""
    return FeatureRelevance("forward", n_permuted=0).fit(X, Y, subset=rows).relevance_


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
    again = PrisMap(**{**model.get_params(deep=False), **changed})
    Y[fitted] = again.fit(model.fitted_rows(), model.fitted_target(), callback=follow).embedding_
    return Y
