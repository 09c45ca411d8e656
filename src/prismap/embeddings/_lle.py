"""Locally linear embedding from distances alone: weights that rebuild a row from its neighbours hold in the plane, too.

Roweis & Saul, Science 290 (2000); from distances: Saul & Roweis, JMLR 4 (2003). Gisbrecht et al. (2015), sec. 2.2.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from prismap._util.blocks import row_blocks
from prismap._util.graphs import connected_neighbours
from prismap._util.params import Interval, StrOptions
from prismap._util.spectra import DENSE_ROWS, check_n_components, fix_signs, gram_around_centre, reconstruction_weights
from prismap.embeddings._base import Embedding, EmbeddingResult, all_distances
from prismap.metrics._base import NamedMetric


def local_grams(metric, distances, indices):
    """Slices of rows with the Gram matrices of their neighbours, shape (b, k, k), origin at the row.

    Euclidean vectors give them without any n x n matrix; every other metric is asked for all distances.
    """
    n_rows, k = indices.shape
    if isinstance(metric, NamedMetric) and metric.name == "euclidean":
        X = metric.rows_
        for rows in row_blocks(n_rows, 16.0 * k * (X.shape[1] + k)):
            near = X[indices[rows].ravel()]
            near = near.toarray() if sp.issparse(near) else near
            centre = X[rows].toarray() if sp.issparse(X) else X[rows]
            Z = near.reshape(-1, k, X.shape[1]).astype(np.float64) - centre[:, None, :]
            yield rows, Z @ Z.transpose(0, 2, 1)
        return
    D = all_distances(metric, n_rows, method="LLE on distances", n_matrices=2)
    for rows in row_blocks(n_rows, 32.0 * k * k):
        near = indices[rows]
        D2_among = D[near[:, :, None], near[:, None, :]] ** 2
        yield rows, gram_around_centre(distances[rows].astype(np.float64) ** 2, D2_among)


def smallest_eigenpairs(M, n_pairs, rng):
    """The `n_pairs` smallest eigenvalues but one, and vectors, of a sparse semi-definite M with the null vector 1."""
    n_rows = M.shape[0]
    if n_rows <= max(DENSE_ROWS, 3 * n_pairs):
        values, vectors = eigh(M.toarray(), subset_by_index=[0, n_pairs])
    else:
        # A shift just below zero keeps the factors regular: M itself is singular, by the constant vector.
        shift = -1e-12 * float(M.diagonal().mean())
        lower = splu(
            (M - shift * sp.eye_array(n_rows)).tocsc(), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )  # fmt: skip
        inverse = LinearOperator(M.shape, matvec=lower.solve, dtype=np.float64)
        values, vectors = eigsh(M, k=n_pairs + 1, sigma=shift, OPinv=inverse, v0=rng.uniform(-1.0, 1.0, n_rows))
    order = np.argsort(values)[1:]
    return np.maximum(values[order], 0.0), fix_signs(vectors[:, order])


class LLE(Embedding):
    """Locally linear embedding on any metric.

    Each sample is reconstructed from its neighbours by weights W that add up to one. Positions Y of unit covariance
    minimise ``sum_i |y_i - sum_j w_ij y_j|^2 / n``, so they are the lowest eigenvectors of (I - W)^T (I - W), without
    the constant one. The weights come from local Gram matrices of distances, so any metric will do.
    ``metric=FisherMetric()`` makes it Fisher LLE.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    n_neighbors : int or "auto", default="auto"
        Neighbours per sample. "auto" is the smallest number from 10 on that leaves no closed group of samples.
    reg : float, default=1e-3
        Ridge on the local Gram matrices, as a share of their trace.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called once, because the result has a closed form.
    random_state : int, Generator, RandomState instance or None, default=None
        Start of the eigenvalue search.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    objective_ : float
        ``sum_i |y_i - sum_j w_ij y_j|^2 / n``.
    n_neighbors_ : int
        The number of neighbours used.
    negative_mass_ : float
        Share of negative eigenvalues in the local Gram matrices, which were set to zero. It is 0 for Euclidean
        distances.
    n_iter_, stop_reason_, metric_ : int, str and metric object
        As in the other embeddings.

    See Also
    --------
    Isomap : Preserves distances along the data.
    MVU : Preserves local distances exactly.

    Notes
    -----
    Time is O(n k^3) and a sparse factorisation. Memory is O(n k^2) for Euclidean vectors (50,000 samples are practical)
    and 16 n^2 bytes for every other metric (10,000 samples: 1.6 GB). `prismap.mappings` projects new samples.

    References
    ----------
    S. Roweis, L. Saul (2000), Nonlinear dimensionality reduction by locally linear embedding. L. Saul, S. Roweis
    (2003), Think globally, fit locally. Gisbrecht et al. (2015), sec. 2.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LLE(random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, object],
        "n_neighbors": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="neither")],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self, n_components=2, *, metric="euclidean", n_neighbors="auto", reg=1e-3, callback=None, random_state=None
    ):
        self.n_components = n_components
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.reg = reg
        self.callback = callback
        self.random_state = random_state

    def _embed(self, metric, n_rows, rng):
        check_n_components(self.n_components, n_rows, "LLE")
        distances, indices = connected_neighbours(metric, n_rows, self.n_neighbors, least=10, closed=True)
        k = indices.shape[1]
        weights = np.empty(indices.shape)
        negative = 0.0
        for rows, G in local_grams(metric, distances, indices):
            weights[rows], share = reconstruction_weights(G, self.reg)
            negative += share * len(G) / n_rows
        W = sp.csr_array((weights.ravel(), indices.ravel(), np.arange(0, n_rows * k + 1, k)), shape=(n_rows, n_rows))
        rest = sp.eye_array(n_rows, format="csr") - W
        values, vectors = smallest_eigenpairs((rest.T @ rest).tocsr(), self.n_components, rng)
        Y, cost = vectors * np.sqrt(n_rows), float(values.sum())
        if self.callback is not None:
            self.callback(1, cost, Y)
        return EmbeddingResult(Y, cost, 1, "closed form", {"n_neighbors_": k, "negative_mass_": negative})
