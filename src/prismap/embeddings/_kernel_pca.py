"""Embeddings of a Gram matrix: what they share, and kernel principal component analysis.

A Gram matrix comes from similarities, or from the distances of any metric. Kernel principal component analysis is that
of Schoelkopf, Smola & Mueller (1998; Schulz et al. 2017, Table 1).
"""

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
from prismap._util.spectra import check_n_components, double_centre, fix_signs
from prismap._util.threads import on_one_thread
from prismap._util.validation import check_rows, check_similarity, take_columns
from prismap.embeddings._base import Embedding, all_distances
from prismap.exceptions import InputError
from prismap.metrics._base import fit_metric
from prismap.target._labels import check_target_length

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


# --- kernel principal component analysis ------------------------------------------------------------------------------


def principal_axes(spectrum, n_axes):
    """Coefficients of the leading kernel principal components: eigenvectors over the roots of their eigenvalues."""
    q = min(n_axes, len(spectrum.values))
    return np.pad(spectrum.vectors[:, :q] / np.sqrt(spectrum.values[:q]), ((0, 0), (0, n_axes - q)))


class KernelPCA(KernelEmbedding):
    """Kernel principal component analysis on any metric or similarity. It uses no labels.

    Positions are ``V sqrt(l)`` of the centred Gram matrix K = V diag(l) V^T. Unlike scikit-learn's class, it takes
    metric objects, and similarities that are not positive semi-definite, whose negative eigenvalues it clips and
    reports.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    kernel : {"rbf", "linear", "precomputed"}, default="rbf"
        ``exp(-d^2 / 2 bandwidth^2)``, inner products from centred squared distances, or X is a matrix of similarities.
        Negative eigenvalues are clipped.
    bandwidth : float, default=None
        Width of the kernel. None is the root of half the median squared distance.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called once, because the result has a closed form.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    objective_ : float
        Share of the (positive) eigenvalues that the positions leave out.
    eigenvalues_ : array
        All positive eigenvalues, descending.
    negative_mass_ : float
        Share of negative eigenvalues that were clipped.
    bandwidth_, coefficients_, offset_, metric_, n_iter_, stop_reason_ : float, arrays, metric object, int and str
        The fitted model in detail.

    See Also
    --------
    KernelDiscriminant : The supervised method on the same kernels.
    sklearn.decomposition.KernelPCA : The same on vectors and positive semi-definite kernels.

    Notes
    -----
    Time is O(n^3) for one eigendecomposition, and memory 32 n^2 bytes, so 4,000 samples are practical.

    References
    ----------
    B. Schoelkopf, A. Smola, K. Mueller (1998), Nonlinear component analysis as a kernel eigenvalue problem. Schulz et
    al. (2017), Table 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> KernelPCA().fit_transform(load_iris().data).shape
    (150, 2)
    """

    _parameter_constraints = KERNEL_CONSTRAINTS

    def __init__(self, n_components=2, *, metric="euclidean", kernel="rbf", bandwidth=None, callback=None):
        self.n_components = n_components
        self.metric = metric
        self.kernel = kernel
        self.bandwidth = bandwidth
        self.callback = callback

    @on_one_thread
    def fit_transform(self, X, y=None):
        """Fit the axes and return the positions; y serves metrics with a target."""
        self._check_parameters()
        K = self._gram(X, y)
        if y is not None:
            check_target_length(y, len(K))
        check_n_components(self.n_components, len(K), "KernelPCA")
        spectrum = spectrum_of(K)
        total = max(float(spectrum.values.sum()), np.finfo(np.float64).tiny)
        left_out = float(spectrum.values[self.n_components :].sum()) / total
        self._keep(K, principal_axes(spectrum, self.n_components), slice(None), left_out)
        self.eigenvalues_, self.negative_mass_ = spectrum.values, spectrum.negative_mass
        return self._report()
