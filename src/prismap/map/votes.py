"""What the rows around a place on the map say of a new row there."""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from prismap.map.trust import NEIGHBORS
from prismap.metrics.several import shown_column, shown_kind
from prismap.metrics.target import known_targets

#: Names of the columns of `votes_of`.
CLASS, SHARE, MEAN, SPREAD = "neighbor_class", "neighbor_share", "neighbor_mean", "neighbor_std"


def votes_of(model, Y):
    """What the ten nearest labelled fitted rows say of rows at positions Y, as columns by name.

    Classes: the commonest of them (`CLASS`; of equally common ones the first) and the share that has it (`SHARE`).
    Numbers: their mean and standard deviation (`MEAN`, `SPREAD`; of several targets the first). Nothing without a
    target. These are the neighbours by which `PrisMap.report` judges the map: how often they are right is its error.
    """
    y = shown_column(model.fitted_target(), model.target_)
    if y is None:
        return {}
    known = known_targets(y)
    fitted, y = model.embedding_[known], y[known]
    nearest = NearestNeighbors(n_neighbors=min(NEIGHBORS, len(fitted))).fit(fitted)
    near = y[nearest.kneighbors(Y, return_distance=False)]
    if shown_kind(model.target_) != "class":
        return {MEAN: near.mean(axis=1), SPREAD: near.std(axis=1)}
    votes = (near[:, :, None] == np.arange(len(model.shown_classes()))).sum(axis=1)
    names = np.array([str(name) for name in model.shown_classes()], dtype=object)
    return {CLASS: names[votes.argmax(axis=1)], SHARE: votes.max(axis=1) / near.shape[1]}
