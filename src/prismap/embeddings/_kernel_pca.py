"""Kernel principal component analysis (Schoelkopf, Smola & Mueller 1998; Schulz et al. 2017, Table 1)."""

from __future__ import annotations

import numpy as np

from prismap._util.spectra import check_n_components
from prismap._util.threads import on_one_thread
from prismap.embeddings._gram import KERNEL_CONSTRAINTS, KernelEmbedding, spectrum_of
from prismap.target._labels import check_target_length


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
