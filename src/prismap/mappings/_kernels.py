"""Kernels of rows against the landmarks, from distances, in log space so that no row ever has only zeros; coefficients.

For every kernel map ``y(x) = sum_j alpha_j k_j(x) / sum_l k_l(x)``. With ``k_j(x) = exp(-d(x, x_j)^2 / 2 sigma_j^2)``,
subtracting a row's largest exponent changes numerator and denominator by the same factor, so the ratio stays, the
largest weight is exactly 1, and the "points that fall to the origin" of the papers cannot occur.

Many rows are evaluated in cache-sized blocks, in place, with threads over blocks. The Euclidean exponents of all
landmarks are one matrix product, ``[x, ||x||^2, 1] W`` with
``W = [x_j / sigma_j^2 ; -1 / 2 sigma_j^2 ; -||x_j||^2 / 2 sigma_j^2]``, and numerator and denominator of the map are
another, ``k [A, 1]``. In between, each weight is touched a handful of times while it is still in the cache.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy import linalg
from scipy.sparse.csgraph import connected_components

from prismap._util.grid import sum_products
from prismap._util.threads import n_blas_threads, parallel_map
from prismap.exceptions import PrismapWarning

#: Exponents below this are as good as zero beside the largest (exp(-40) is 4e-18); far smaller ones make exp slow.
LOWEST_EXPONENT = -40.0
#: A row much closer to its neighbour than is usual keeps at least this share of the median nearest distance.
NEAREST_FLOOR = 0.1
#: Rows closer than this share of the largest distance count as the same row.
DUPLICATE_SHARE = 1e-7
#: Bytes of a block of weights: about a core's own cache.
BLOCK_BYTES = 2**20
#: A matrix with a larger condition number is solved by a cut-off instead of by elimination.
LARGEST_CONDITION = 1e12


def merge_duplicates(D):
    """A group number for each row: rows at distance zero from each other share it (0, 1, ... by first appearance).

    Zero means zero up to rounding: distances from matrix products are wrong by about 1e-8 of the largest.
    """
    zero = DUPLICATE_SHARE * D.max(initial=0.0) >= D
    if np.count_nonzero(zero) <= len(D):
        return np.arange(len(D))
    _, labels = connected_components(zero, directed=False)
    _, first, groups = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[groups]


def weights_in_place(E, *, normalize):
    """exp of the exponents E (overwritten); with `normalize` divided by the largest of each row, so never all zero."""
    if normalize:
        E -= E.max(axis=1, keepdims=True)
    else:
        np.minimum(E, 0, out=E)
    if E.dtype == np.float64:  # float32 has no slow path to avoid
        np.maximum(E, LOWEST_EXPONENT, out=E)
    return np.exp(E, out=E)


def kernel_matrix(D, bandwidth, *, normalize):
    """The matrix K of the Gaussian map from distances D to the landmarks, rows summing to one with `normalize`.

    ``k_j(x) = exp(-d(x, x_j)^2 / 2 sigma_j^2)`` (Gisbrecht et al. 2015, sec. 3).
    """
    K = D / bandwidth
    reach = np.sqrt(np.finfo(K.dtype).max) / 2
    if K.max(initial=0.0) > reach:  # drawn in, so that squares are numbers: the nearest landmark stays the nearest
        K *= reach / np.maximum(K.max(axis=1, keepdims=True), reach)
    np.square(K, out=K)
    K *= -0.5
    weights_in_place(K, normalize=normalize)
    np.multiply(K, 1.01 * np.exp(LOWEST_EXPONENT) < K, out=K)  # elimination with such tiny numbers is very slow
    if normalize:
        K /= K.sum(axis=1, keepdims=True)
    return K


@dataclass(frozen=True)
class GaussianKernel:
    """Gaussians at the landmarks, each with its bandwidth."""

    bandwidth: np.ndarray

    def weights(self, D, *, normalize):
        """K for rows at distances D from the landmarks."""
        return kernel_matrix(D, self.bandwidth.astype(D.dtype, copy=False), normalize=normalize)


@dataclass(frozen=True)
class ElmKernel:
    """The kernel of an infinite extreme learning machine (Frénay & Verleysen 2011), parameterless in the limit.

    ``k(x, z) = 2/pi asin((1 + <x, z>) / sqrt((1 + <x, x>) (1 + <z, z>)))``: the angle between (1, x) and (1, z). Inner
    products come from distances (classical scaling): rows are centred on the landmarks, and scaled to mean squared
    norm `scale`^2. With `normalize`, (1 + k) / 2 takes the place of k, which can be negative.
    """

    column_means: np.ndarray
    grand_mean: float
    scale: float

    @classmethod
    def of(cls, D, factor):
        """The kernel of rows with mutual distances D, `factor` times their root mean squared norm in size."""
        D2 = np.square(D, dtype=np.float64)
        grand = float(D2.mean())
        return cls(D2.mean(axis=0), grand, factor / np.sqrt(grand / 2 or 1.0))

    def weights(self, D, *, normalize):
        """K for rows at distances D from the landmarks."""
        D2 = np.square(D, dtype=np.float64)
        own = D2.mean(axis=1, keepdims=True) - self.grand_mean / 2  # squared norm about the centre
        others = self.column_means - self.grand_mean / 2
        inner = (own + others - D2) / 2
        own, others = np.maximum(own, 0), np.maximum(others, 0)
        square = self.scale**2
        K = elm_weights(square * inner, square * own, square * others, normalize=normalize)
        return K.astype(D.dtype, copy=False)


@dataclass(frozen=True)
class RawElmKernel:
    """The same about the origin of the data and in their own units, as printed: a function of vectors."""

    landmarks: np.ndarray

    def weights(self, X, *, normalize):
        """K for vectors X."""
        own, others = np.square(X).sum(axis=1, keepdims=True), np.square(self.landmarks).sum(axis=1)
        return elm_weights(sum_products(X, self.landmarks.T), own, others, normalize=normalize)


def elm_weights(inner, own, others, *, normalize):
    """K from inner products of rows with landmarks, and the squared norms of both."""
    cosine = (1 + inner) / np.sqrt((1 + own) * (1 + others))
    K = np.arcsin(np.clip(cosine, -1, 1)) * (2 / np.pi)
    if normalize:
        K = (1 + K) / 2
        K /= K.sum(axis=1, keepdims=True)
    return K


# --- coefficients by (ridge) least squares --------------------------------------------------------------------------


def interpolate(K, Y, ridge):
    """A with ``(K + ridge I) A = Y`` for square K, the ridge least-squares solution for tall K; and the condition.

    Square: A = K^-1 Y (Gisbrecht et al. 2015, sec. 3) with a nugget. Where the system is numerically singular, the
    minimum-norm solution with small directions cut off is taken, with a warning that states the condition number.
    """
    return _square(K, Y, ridge) if K.shape[0] == K.shape[1] else _tall(K, Y, ridge)


def _square(K, Y, ridge):
    M = K.copy()
    M[np.diag_indices(len(M))] += ridge
    norm = np.abs(M).sum(axis=0).max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linalg.LinAlgWarning)  # an exact zero pivot: judged below by its condition
        factors = linalg.lu_factor(M, check_finite=False)
    reciprocal, _ = linalg.lapack.dgecon(factors[0], norm, norm="1")
    condition = 1 / reciprocal if reciprocal > 0 else np.inf
    if condition < LARGEST_CONDITION:
        return linalg.lu_solve(factors, Y, check_finite=False), condition
    _warn(condition)
    return linalg.lstsq(M, Y, cond=1 / LARGEST_CONDITION, lapack_driver="gelsy", check_finite=False)[0], condition


def _tall(K, Y, ridge):
    """Normal equations ``(K^T K + ridge^2 I) A = K^T Y`` on their spectrum, small directions cut off."""
    values, vectors = linalg.eigh(K.T @ K)
    values = np.maximum(values, 0) + ridge**2
    condition = float(np.sqrt(values[-1] / values[0])) if values[0] > 0 else np.inf
    keep = values > 1e-14 * values[-1]  # products of K with itself are right to about that
    if not keep.all():
        _warn(condition)
    return (vectors[:, keep] / values[keep]) @ (vectors[:, keep].T @ (K.T @ Y)), condition


def _warn(condition):
    """Say how badly conditioned the system is."""
    warnings.warn(
        f"The kernel matrix is singular to working precision (condition number {condition:.2g}), so its smallest "
        "directions are cut off. Choose a smaller bandwidth or a larger ridge.",
        PrismapWarning,
        stacklevel=5,
    )


# --- many rows --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EuclideanExponents:
    """``-||x - x_j||^2 / 2 sigma_j^2`` for all j, for rows x, as one product."""

    center: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, landmarks, bandwidth):
        """The weights for these landmarks. Dense rows are centred: the product then cancels less."""
        if sp.issparse(landmarks):
            center, rows = np.zeros(landmarks.shape[1]), landmarks.toarray().astype(np.float64)
        else:
            center = landmarks.mean(axis=0, dtype=np.float64)
            rows = landmarks - center
        precision = 1 / np.broadcast_to(np.square(bandwidth), (len(rows),))
        weights = np.vstack([rows.T * precision, -0.5 * precision, -0.5 * precision * np.square(rows).sum(axis=1)])
        return cls(center, weights)

    def __call__(self, rows):
        """The exponents of a block of rows, in double precision whatever theirs."""
        lifted = np.empty((rows.shape[0], len(self.weights)))
        inner = lifted[:, :-2]
        np.subtract(rows.toarray() if sp.issparse(rows) else rows, self.center, out=inner)
        np.einsum("ij,ij->i", inner, inner, out=lifted[:, -2])
        lifted[:, -1] = 1
        return lifted @ self.weights


def evaluate(exponents, rows, coefficients, *, normalize, n_jobs):
    """Positions of `rows`: exponents of a block, then weights, then the products with the coefficients (m, d).

    The order in which a library sums a product depends on the other rows. In double precision that moves no position
    by more than a tiny share of the map's spread, and float32 rows are no exception.
    """
    m, d = coefficients.shape
    lifted = np.hstack([coefficients, np.ones((m, 1))])
    n = rows.shape[0]
    step = int(np.clip(BLOCK_BYTES // (8 * m), 16, 512)) // 16 * 16
    positions = np.empty((n, d))

    def work(start):
        block = slice(start, min(start + step, n))
        sums = weights_in_place(exponents(rows[block]), normalize=normalize) @ lifted
        positions[block] = sums[:, :d] / sums[:, d:] if normalize else sums[:, :d]

    run_blocks(work, range(0, n, step), n_jobs)
    return positions


def run_blocks(work, starts, n_jobs):
    """Call work(start) for all starts, on `n_jobs` threads with one BLAS thread each (None: as many as BLAS has)."""
    n_jobs = n_blas_threads() if n_jobs is None else n_jobs
    if len(starts) < 2 or n_jobs == 1:
        for start in starts:
            work(start)
        return
    parallel_map(work, starts, n_jobs)
