"""What every embedding shares: a fitted metric goes in, positions and how the run ended come out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from prismap._util.blocks import require_memory
from prismap._util.random import as_generator
from prismap._util.threads import on_one_thread
from prismap._util.validation import metric_tags, take_columns
from prismap.exceptions import InputError
from prismap.metrics._base import fit_metric
from prismap.target._labels import check_target_length


@dataclass(frozen=True)
class EmbeddingResult:
    """Positions, the final objective, and why the run stopped; `extra` becomes further fitted attributes."""

    embedding: np.ndarray
    objective: float
    n_iter: int
    stop_reason: str
    extra: dict[str, Any] = field(default_factory=dict)


class Embedding(BaseEstimator):
    """Base of the embeddings. A subclass stores its parameters, among them `metric`, and writes `_embed`.

    ``_embed(metric, n_rows, rng)`` gets the fitted metric (`prismap.metrics.Metric` has the contract) and returns an
    `EmbeddingResult`. Positions exist for the fitted rows only; `prismap.mappings` carries them to new rows.

    Fitted attributes of every embedding: `embedding_`, `objective_`, `n_iter_`, `stop_reason_`, `metric_`.
    """

    def fit(self, X, y=None):
        """Embed the rows of X (or the distances, with ``metric="precomputed"``); y serves metrics with a target."""
        self.fit_transform(X, y)
        return self

    @on_one_thread
    def fit_transform(self, X, y=None):
        """Embed the rows of X and return their positions."""
        self._check_parameters()
        seed = getattr(self, "random_state", None)
        metric = fit_metric(self.metric, X, y, n_jobs=getattr(self, "n_jobs", None), random_state=seed)
        take_columns(self, metric)
        n_rows = metric.n_rows_
        if n_rows < 2:
            raise InputError(f"X has n_samples={n_rows}; {type(self).__name__} needs at least 2 rows to place.")
        if y is not None:
            check_target_length(y, n_rows)
        result = self._embed(metric, n_rows, as_generator(seed))
        self.metric_ = metric
        self.embedding_ = result.embedding
        self.objective_ = result.objective
        self.n_iter_ = result.n_iter
        self.stop_reason_ = result.stop_reason
        for name, value in result.extra.items():
            setattr(self, name, value)
        return self.embedding_

    def _check_parameters(self):
        """Refuse parameters that make no sense; subclasses add theirs."""
        self._validate_params()

    def _embed(self, metric, n_rows, rng) -> EmbeddingResult:
        raise NotImplementedError(f"{type(self).__name__} has no _embed")

    def __sklearn_tags__(self):
        return metric_tags(super().__sklearn_tags__(), self.metric)


def all_distances(metric, n_rows, *, method, n_matrices):
    """The symmetric matrix of all distances in float64, free to be overwritten; paths that lack symmetry are averaged.

    Refused, with the figure, where `n_matrices` of its size, what `method` needs at its peak, would not fit in memory.
    """
    require_memory(
        8.0 * n_matrices * n_rows**2,
        f"{method} of {n_rows} rows, which looks at all pairs,",
        "Fit fewer rows and map the rest (fit_rows of PrisMap), or use TSNE, which needs neighbours only.",
    )
    D = np.array(metric.pairwise(), dtype=np.float64)
    D = (D + D.T) / 2
    np.fill_diagonal(D, 0.0)
    return D
