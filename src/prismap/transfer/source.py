"""Positions of the source: principal components, discriminants, t-SNE, Fisher t-SNE, any embedding, or given ones."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from prismap._affinities import lower_perplexity
from prismap._random import as_seed
from prismap._validation import encode_classes
from prismap.embeddings import TSNE
from prismap.exceptions import InputError
from prismap.mappings import KernelMap
from prismap.metrics import FisherMetric

#: Kernels, at most, of the map that places new source rows: its bandwidth is sought with systems of so many equations.
MOST_LANDMARKS = 1_000


def embed_source(source, X, y, *, n_components, perplexity, rng):
    """``(positions, map)`` of the source rows X; the map has ``transform`` for new rows.

    Where the embedding has none of its own (t-SNE, given positions), a `KernelMap` learns it from the positions.
    """
    if not isinstance(source, str):
        return _given_positions(source, X, rng) if not hasattr(source, "fit") else _given_estimator(source, X, y, rng)
    if source in ("lda", "fisher") and y is None:
        raise InputError(f"source={source!r} needs the labels of the source: fit(X_source, Z_target, y_source).")
    if source in ("pca", "lda"):
        return _linear(source, X, y, n_components, rng)
    metric = "euclidean"
    if source == "fisher":
        metric = FisherMetric(perplexity=lower_perplexity(perplexity, len(X)), random_state=as_seed(rng))
    embedding = TSNE(n_components, perplexity=perplexity, metric=metric, random_state=as_seed(rng))
    Y = embedding.fit_transform(X, y)
    return Y, _learnt_map(X, Y, rng, embedding.metric_ if source == "fisher" else "euclidean")


def _linear(source, X, y, n_components, rng):
    most = min(X.shape[1], len(X) - 1)
    if source == "lda":
        classes, codes = encode_classes(y, len(X))
        labelled, y = X[codes >= 0], codes[codes >= 0]
        most = min(X.shape[1], len(classes) - 1)
    if n_components > most:
        raise InputError(
            f"n_components={n_components} is more than source={source!r} can give here ({most}); lower it."
        )
    if source == "lda":
        model = LinearDiscriminantAnalysis(n_components=n_components).fit(labelled, y)
    else:
        model = PCA(n_components, random_state=as_seed(rng)).fit(X)
    return np.asarray(model.transform(X), dtype=np.float64), model


def _given_positions(source, X, rng):
    Y = np.asarray(source, dtype=np.float64)
    if Y.ndim != 2 or len(Y) != len(X) or not np.isfinite(Y).all():
        raise InputError(
            f"source, if an array, must hold one finite position per source row, shape ({len(X)}, n_components); got "
            f"shape {Y.shape}."
        )
    return Y, _learnt_map(X, Y, rng)


def _given_estimator(source, X, y, rng):
    model = clone(source)
    if hasattr(model, "transform"):
        model.fit(X, y)
        return np.asarray(model.transform(X), dtype=np.float64), model
    Y = np.asarray(model.fit_transform(X, y), dtype=np.float64)
    return Y, _learnt_map(X, Y, rng)


def _learnt_map(X, Y, rng, metric="euclidean"):
    n_landmarks = MOST_LANDMARKS if len(X) > MOST_LANDMARKS else None
    return KernelMap(metric=metric, n_landmarks=n_landmarks, random_state=as_seed(rng)).fit(X, Y)
