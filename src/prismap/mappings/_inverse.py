"""`InverseMap`: from positions in the plane back to rows, as a smooth surface through the data."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_is_fitted

from prismap._util.blocks import require_memory
from prismap._util.params import Interval, StrOptions
from prismap._util.random import as_generator, as_seed
from prismap._util.scales import far_threshold, position_spacing, typical_distance
from prismap._util.threads import limit_threads, on_one_thread
from prismap._util.validation import check_rows, is_fitted
from prismap.exceptions import InputError
from prismap.mappings._bandwidth import SMALLEST_KERNEL
from prismap.mappings._base import as_positions, relative_residual
from prismap.mappings._kernels import NEAREST_FLOOR, EuclideanExponents, evaluate, kernel_matrix

#: Widths that cross-validation tries, relative to the typical spacing of the landmarks.
FACTORS = (0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
N_FOLDS = 5
#: One landmark for so many rows by default, and no more than this.
ROWS_PER_LANDMARK, MOST_LANDMARKS = 4, 1000
#: Conjugate gradients end here; the start is close already.
CG_ITERATIONS, CG_TOLERANCE = 100, 1e-6


class InverseMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """From positions in the plane back to samples: a smooth surface through the data.

    ``pi^-1(xi) = sum_j beta_j k_j(xi) / sum_l k_l(xi)`` with Gaussian kernels in the plane. The image of a plane can
    only be a surface, so whatever varies across it at a position is averaged. The coefficients minimise the squared
    error. Given a Fisher metric they minimise ``sum_i r_i^T (J(x_i) + e I) r_i`` with r_i = x_i - pi^-1(xi_i), so that
    directions that matter for the target are reproduced best.

    Parameters
    ----------
    metric : FisherMetric or None, default=None
        A Fisher metric that is fitted on the samples given to `fit`: vectors, and a posterior with a tensor ("parzen",
        "gp", or a classifier with a derivative such as `RSLVQ`). Its cross-fitted tensors are used if it has them,
        because in-sample ones overfit.
    bandwidth : {"cv", "all-representable"} or float, default="cv"
        Factor on the typical spacing of the landmarks, chosen by cross-validated squared error, or given.
        "all-representable" is the published rule, that of kernel t-SNE to the letter: each kernel is a multiple of the
        distance to the nearest landmark wide, the least multiple with which all kernel values are numbers.
    ridge : float, default=0.01
        Penalty on the squared coefficients, relative to the weight of one sample.
    n_landmarks : int, default=None
        Number of kernels. None is one per four samples, at most 1000.
    landmarks : {"kmeans", "subset"}, default="kmeans"
        Where the kernels sit: at a codebook of the positions, or at positions drawn at random.
    euclidean_share : float, default=1.0
        e, relative to the mean weight of J in a direction. Small values rely on the tensor alone.
    random_state : int, RandomState instance or None, default=None
        Draws landmarks and folds. None is a fixed draw.
    n_jobs : int, default=None
        Threads of `transform`. None uses as many as BLAS does.

    Attributes
    ----------
    landmarks_ : array (n_landmarks, 2)
        Positions of the kernels.
    coefficients_, center_ : arrays
        The beta, and the sample they are relative to.
    bandwidth_, factor_ : float (or array) and float
        The common width (with "all-representable" one for each landmark), and its factor.
    residual_ : float
        Root mean square of X - pi^-1(Y), relative to the spread of X.
    cost_ : pair of float
        Weighted cost at the start and at the end (with a metric).
    typical_distance_, far_threshold_ : float
        As in `KernelMap`, in the plane.

    See Also
    --------
    KernelMap : The other direction, from samples to positions.
    PrisMap.inverse_transform : This projection for a fitted map.

    Notes
    -----
    Fitting solves one linear system of n_landmarks unknowns per feature. With a metric, an iterative solver follows.

    References
    ----------
    Schulz (2017), sec. 3.3, eq. 3.2 and 3.3; sec. 2.2.3 for the width.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> InverseMap().fit(X[:, :2], X).transform([[0.0, 0.5]]).shape
    (1, 3)
    """

    _parameter_constraints: dict = {
        "metric": [None, object],
        "bandwidth": [StrOptions({"cv", "all-representable"}), Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "n_landmarks": [None, Interval(Integral, 1, None, closed="left")],
        "landmarks": [StrOptions({"kmeans", "subset"})],
        "euclidean_share": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self, metric=None, *, bandwidth="cv", ridge=1e-2, n_landmarks=None, landmarks="kmeans", euclidean_share=1.0,
        random_state=None, n_jobs=None,
    ):  # fmt: skip
        self.metric = metric
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.euclidean_share = euclidean_share
        self.random_state = random_state
        self.n_jobs = n_jobs

    @on_one_thread
    def fit(self, Y, y):
        """Learn the surface from positions Y (n, 2) to rows (n, D), which are the target and hence called y."""
        self._validate_params()
        Y = check_rows(self, Y, reset=True, dtype=np.float64, min_rows=2)
        X = as_positions(y, len(Y), "the rows")
        self._learn_distances(Y)
        rng = as_generator(0 if self.random_state is None else self.random_state)
        self.landmarks_ = self._choose_landmarks(Y, rng)
        require_memory(24.0 * len(Y) * len(self.landmarks_), "The kernels", "Set a smaller n_landmarks.")
        spacing = typical_distance(position_spacing(self.landmarks_))
        D = cdist(Y, self.landmarks_)
        self.center_ = X.mean(axis=0)
        centered = X - self.center_
        if self.bandwidth == "all-representable":
            self.bandwidth_, self.factor_ = representable_widths(D, position_spacing(self.landmarks_))
        else:
            own = self.bandwidth != "cv"
            self.factor_ = float(self.bandwidth) if own else self._best_factor(D, spacing, centered, rng)
            self.bandwidth_ = self.factor_ * spacing
        K = kernel_matrix(D, self.bandwidth_, normalize=True)
        self.coefficients_ = ridge_solution(K, centered, self.ridge)
        if self.metric is not None:
            self._weigh(K, centered)
        self.residual_ = relative_residual(K @ self.coefficients_, centered)
        self._n_features_out = X.shape[1]
        self.exponents_ = EuclideanExponents.of(
            self.landmarks_, np.broadcast_to(self.bandwidth_, (len(self.landmarks_),))
        )
        return self

    def transform(self, Y):
        """Rows for positions Y, shape (n, D)."""
        check_is_fitted(self, "coefficients_")
        Y = check_rows(self, Y, reset=False)
        rows = evaluate(self.exponents_, Y, self.coefficients_, normalize=True, n_jobs=self.n_jobs)
        return (rows + self.center_).astype(Y.dtype, copy=False)

    def distance_to_data(self, Y):
        """Distance of each position to the nearest fitted one, in units of the typical distance between those."""
        check_is_fitted(self, "coefficients_")
        return self._tree.query(check_rows(self, Y, reset=False))[0] / self.typical_distance_

    def is_far(self, Y, threshold=None):
        """Which positions are far from all fitted ones (`far_threshold_`): what the surface shows there is a guess."""
        return self.distance_to_data(Y) > (self.far_threshold_ if threshold is None else threshold)

    def _learn_distances(self, Y):
        self._tree = cKDTree(Y)
        nearest = position_spacing(Y)
        self.typical_distance_, self.far_threshold_ = typical_distance(nearest), far_threshold(nearest)

    def _choose_landmarks(self, Y, rng):
        distinct = np.unique(Y, axis=0)
        wanted = self.n_landmarks or min(len(distinct), max(50, len(distinct) // ROWS_PER_LANDMARK), MOST_LANDMARKS)
        if wanted > len(distinct):
            raise InputError(
                f"n_landmarks={wanted} is more than the {len(distinct)} distinct positions; lower it or leave it out."
            )
        if wanted == len(distinct):
            return distinct
        if self.landmarks == "subset":
            return distinct[np.sort(rng.choice(len(distinct), wanted, replace=False))]
        codebook = KMeans(wanted, n_init=1, max_iter=50, random_state=as_seed(rng))
        with limit_threads(1):  # threads add in any order, and the same seed must give the same map
            return codebook.fit(distinct).cluster_centers_

    def _best_factor(self, D, spacing, X, rng):
        """The factor with the smallest squared error on rows left out, landmarks being where they are."""
        folds = np.array_split(rng.permutation(len(X)), min(N_FOLDS, len(X)))
        errors = []
        for factor in FACTORS:
            K = kernel_matrix(D, factor * spacing, normalize=True)
            G, B = K.T @ K, K.T @ X
            error = 0.0
            for rows in folds:
                part = K[rows]
                A = regularized(G - part.T @ part, B - part.T @ X[rows], self.ridge)
                error += np.square(part @ A - X[rows]).sum()
            errors.append(error)
        return FACTORS[int(np.argmin(errors))]

    def _weigh(self, K, X):
        """Lower the Fisher-weighted cost by conjugate gradients, from the Euclidean solution."""
        if not (is_fitted(self.metric) and hasattr(self.metric, "tensor_factor")):
            raise InputError("metric must be a fitted FisherMetric; fit it on these rows first.")
        if self.metric.n_rows_ != len(X):
            raise InputError(
                f"metric is fitted on {self.metric.n_rows_} rows and {len(X)} were given: fit it on these rows."
            )
        F = np.asarray(self.metric.tensor_factor(None), dtype=np.float64)
        weigh = tensor_weights(F, self.euclidean_share)
        self.coefficients_, self.cost_ = weighted_solution(K, X, weigh, self.ridge, self.coefficients_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def representable_widths(D, nearest):
    """Widths ``f n_j`` of kernels whose nearest other one is n_j away, for positions at distances D (n, m), and f.

    f is the least factor for which ``exp(-d_ij^2 / 2 (f n_j)^2)`` is a normal number for all pairs (Schulz 2017, sec.
    2.2.3 and 3.3).
    """
    nearest = np.maximum(nearest, NEAREST_FLOOR * typical_distance(nearest))
    factor = float((D / nearest).max(initial=0.0) / np.sqrt(-2 * np.log(SMALLEST_KERNEL))) or 1.0
    return factor * nearest, factor


def ridge_solution(K, X, ridge):
    """``(K^T K + ridge I)^-1 K^T X``."""
    return regularized(K.T @ K, K.T @ X, ridge)


def regularized(G, B, ridge):
    """``(G + ridge I)^-1 B`` for positive G."""
    return linalg.cho_solve(factored(G, ridge), B, check_finite=False)


def factored(G, ridge):
    """Cholesky factor of G + ridge I; a ridge of 0 gets just enough to stay solvable."""
    G = G.copy()
    G[np.diag_indices(len(G))] += max(ridge, 1e-12 * np.trace(G))
    return linalg.cho_factor(G, lower=True, check_finite=False)


def tensor_weights(F, euclidean_share):
    """The function R -> (J_i + e I) R_i from low-rank factors F (n, C, D), ``J_i = sum_c F_ic F_ic^T``.

    Scaled so that an average row weighs one in an average direction.
    """
    mean = np.square(F).sum() / (F.shape[0] * F.shape[2])
    scale = 1 / (mean * (1 + euclidean_share)) if mean > 0 else 0.0
    share = euclidean_share * mean * scale if mean > 0 else 1.0

    def weigh(R):
        along = np.matmul(F, R[:, :, None])[:, :, 0]
        return scale * np.matmul(along[:, None, :], F)[:, 0, :] + share * R

    return weigh


def weighted_solution(K, X, weigh, ridge, start):
    """Minimise ``sum_i r_i^T W_i r_i + ridge |A|^2``, r = X - K A, from `start`: ``(A, (cost before, cost after))``.

    The normal equations ``K^T W K A + ridge A = K^T W X`` are solved by conjugate gradients, which lower the cost in
    every step, preconditioned by the Euclidean ones; W is applied, never stored.
    """
    euclidean = factored(K.T @ K, ridge)

    def normal(flat):
        A = flat.reshape(start.shape)
        return (K.T @ weigh(K @ A) + ridge * A).ravel()

    def cost(A):
        R = X - K @ A
        return float(np.vdot(R, weigh(R)) + ridge * np.square(A).sum())

    def precondition(flat):
        return linalg.cho_solve(euclidean, flat.reshape(start.shape), check_finite=False).ravel()

    size = (start.size, start.size)
    flat, _ = cg(
        LinearOperator(size, matvec=normal, dtype=np.float64), (K.T @ weigh(X)).ravel(), x0=start.ravel(),
        M=LinearOperator(size, matvec=precondition, dtype=np.float64), rtol=CG_TOLERANCE, maxiter=CG_ITERATIONS,
    )  # fmt: skip
    A = flat.reshape(start.shape)
    return A, (cost(start), cost(A))
