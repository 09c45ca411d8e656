"""One number for a map and held-out samples, by which scikit-learn compares parameters: `PrisMap.score`."""

from __future__ import annotations

import numpy as np

from prismap._validation import missing_mask
from prismap.exceptions import InputError
from prismap.metrics.several import column_of, is_several, split_columns
from prismap.metrics.target import guess_target
from prismap.quality import knn_error, knn_nrmse

#: Fitted samples that are asked for the target of a projected one.
NEIGHBORS = 10


def held_out_score(model, X, y):
    """How well the ten nearest fitted samples in the map tell the target of samples X.

    Classes: the share of samples whose class wins the vote. Real-valued targets: ``R^2 = 1 - nRMSE^2`` of the mean of
    these neighbours, weighted by 1/distance. Several targets: the mean over them.
    """
    fitted = model.given_target_
    if fitted is None:
        raise InputError("score needs a map that was fitted with a target: call fit(X, y).")
    if y is None:
        raise InputError("score needs the target of the samples X: pass y.")
    if is_several(model.target_):
        return score_of_several(model, model.transform(X), y)
    rows = model.fit_rows_[model.fit_rows_ < len(fitted)]  # samples of partial_refit come after them
    fitted, positions = np.asarray(fitted)[rows], model.embedding_[: len(rows)]
    kind = model.target_ if model.target_ != "none" else guess_target(fitted)
    known = int((~missing_mask(fitted)).sum())
    options = {"n_neighbors": min(NEIGHBORS, known), "Y_fit": positions, "y_fit": fitted}
    if kind == "class":
        return 1.0 - float(knn_error(model.transform(X), y, **options))
    if np.ndim(fitted) > 1:
        raise InputError(f"score takes one target; the map has {np.shape(fitted)[1]}. Score them one by one.")
    return 1.0 - float(knn_nrmse(model.transform(X), y, **options)) ** 2


def score_of_several(model, Y, y):
    """The mean of the scores of several targets, for samples at positions Y."""
    columns, _ = split_columns(y)
    if len(columns) != len(model.target_):
        raise InputError(f"y has {len(columns)} columns, and the map has {len(model.target_)} targets.")
    scores = []
    for t, (column, classes) in enumerate(zip(columns, model.classes_, strict=True)):
        fitted = column_of(model.fitted_target(), model.target_, t)
        known = int(np.sum(fitted >= 0 if classes is not None else ~np.isnan(fitted)))
        options = {"n_neighbors": min(NEIGHBORS, known), "Y_fit": model.embedding_, "y_fit": fitted}
        if classes is None:
            scores.append(1.0 - float(knn_nrmse(Y, column, **options)) ** 2)
        else:
            names = np.array([*classes.tolist(), None], dtype=object)
            scores.append(1.0 - float(knn_error(Y, column, **{**options, "y_fit": names[fitted]})))
    return float(np.mean(scores))
