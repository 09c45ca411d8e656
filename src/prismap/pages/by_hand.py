"""A map shaped by hand: rows that the user puts together teach a metric, and the map follows it. An experiment.

The user names groups of rows that belong together. Generalised matrix LVQ learns from them which directions of the data
tell the groups apart (Schulz 2017, thesis, sections 4.2 and 4.4), and the rows are embedded again under a mixture of
that metric and the data's own. What such a map shows was put there by the user: it is not judged, and says so.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from prismap.embeddings import TSNE, GradientDescent
from prismap.exceptions import InputError
from prismap.learners import GMLVQ

#: How much the learnt metric counts; the rest is the data's own.
WEIGHT = 0.8
N_ITER = 300


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
        init=start[fitted], perplexity=model.perplexity, descent=GradientDescent(early_exaggeration=1.0),
        max_iter=N_ITER, callback=follow, random_state=model.seed_,
    )  # fmt: skip
    Y[fitted] = method.fit(Z).embedding_
    return Y, relevance
