"""A Gram matrix from similarities or from the distances of any metric, its spectrum, and what is made of both."""

from __future__ import annotations

from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import TransformerTags
from sklearn.utils.validation import check_is_fitted

from prismap._util.blocks import require_memory
from prismap._util.grid import sum_products
from prismap._util.params import Interval, StrOptions
from prismap._util.spectra import double_centre, fix_signs
from prismap._util.threads import on_one_thread
from prismap._util.validation import check_rows, check_similarity, take_columns
from prismap.embeddings._base import Embedding, all_distances
from prismap.exceptions import InputError
from prismap.metrics._base import fit_metric

#: Parameters that both embeddings of a Gram matrix have.
KERNEL_CONSTRAINTS = {
    "n_components": [Interval(Integral, 1, None, closed="left")],
    "metric": [str, object],
    "kernel": [StrOptions({"rbf", "linear", "precomputed"})],
    "bandwidth": [Interval(Real, 0, None, closed="neither"), None],
    "callback": [callable, None],
}


class Spectrum(NamedTuple):
    """Positive eigenvalues (descending) and eigenvectors of a centred Gram matrix, and the share of negative ones."""

    values: np.ndarray
    vectors: np.ndarray
    negative_mass: float


def spectrum_of(K):
    """Eigenvalues of the Gram matrix centred in feature space; negative ones (not Euclidean) are left out."""
    values, vectors = eigh(double_centre(-2.0 * K, overwrite=True), overwrite_a=True, check_finite=False)
    values, vectors = values[::-1], vectors[:, ::-1]
    size = max(float(np.abs(values).max()), np.finfo(np.float64).tiny)
    kept = values > 1e-10 * size
    negative = values < -1e-10 * size
    share = float(np.abs(values[negative]).sum() / max(float(np.abs(values).sum()), size))
    return Spectrum(values[kept], fix_signs(vectors[:, kept]), share)


class KernelEmbedding(Embedding):
    """Base of the two: a Gram matrix from similarities, or from the squared distances of any metric.

    Fitted rows and new ones have positions ``k(x) @ coefficients_ - offset_``, k(x) the kernel against the fitted rows.
    """

    @on_one_thread
    def transform(self, X):
        """Positions of new rows: from vectors, or from their distances or similarities to the fitted rows."""
        check_is_fitted(self)
        if self.kernel == "precomputed":
            return sum_products(check_rows(self, X, reset=False), self.coefficients_) - self.offset_
        D2 = np.square(self.metric_.pairwise(X), dtype=np.float64)
        return sum_products(self._from_distances(D2, self.bandwidth_), self.coefficients_) - self.offset_

    def _gram(self, X, y):
        """The matrix of similarities between the fitted rows; keeps what `transform` needs."""
        name = type(self).__name__
        self.metric_, self.bandwidth_ = None, None
        if self.kernel == "precomputed":
            S = check_rows(self, X, reset=True, min_rows=2)
            check_similarity(S)
            check_size(len(S), name)
            return 0.5 * (S + S.T).astype(np.float64)
        self.metric_ = fit_metric(self.metric, X, y)
        take_columns(self, self.metric_)
        n_rows = self.metric_.n_rows_
        if n_rows < 2:
            raise InputError(f"X has n_samples={n_rows}; {name} needs at least 2 rows to place.")
        check_size(n_rows, name)
        D2 = np.square(all_distances(self.metric_, n_rows, method=name, n_matrices=4))
        if self.kernel == "rbf":
            self.bandwidth_ = np.sqrt(typical_square(D2) / 2) if self.bandwidth is None else float(self.bandwidth)
        return self._from_distances(D2, self.bandwidth_)

    def _from_distances(self, D2, bandwidth):
        """``-D2 / 2``, which centring turns into inner products, or ``exp(-D2 / 2 bandwidth^2)``."""
        return -0.5 * D2 if self.kernel == "linear" else np.exp(-0.5 * D2 / bandwidth**2)

    def _keep(self, K, coefficients, centre, objective):
        """Set the fitted attributes; positions are centred on the rows `centre`."""
        projected = K @ coefficients
        self.coefficients_, self.offset_ = coefficients, projected[centre].mean(axis=0)
        self.embedding_ = projected - self.offset_
        self.objective_, self.n_iter_, self.stop_reason_ = objective, 1, "closed form"

    def _report(self):
        if self.callback is not None:
            self.callback(1, self.objective_, self.embedding_)
        return self.embedding_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        if self.kernel == "precomputed":
            tags.input_tags.pairwise, tags.input_tags.sparse = True, False
        return tags


def typical_square(D2):
    """The median squared distance between two rows, or their mean where most rows are equal."""
    pairs = D2[np.triu_indices(len(D2), 1)]
    return float(np.median(pairs)) or float(pairs.mean()) or 1.0


def check_size(n_rows, name):
    """Refuse what memory does not hold: the Gram matrix, its eigenvectors and the work space of their search."""
    require_memory(
        32.0 * n_rows**2, f"{name} of {n_rows} rows, which takes apart an n x n matrix,",
        "Fit fewer rows and transform the others.",
    )  # fmt: skip
