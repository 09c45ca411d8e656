"""`KernelMap`: an explicit map from rows to positions, learned from rows whose positions are known."""

from __future__ import annotations

from numbers import Integral, Real
from types import MethodType

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import _safe_indexing
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from prismap._blocks import WORKING_BYTES, require_memory
from prismap._random import as_generator
from prismap._validation import check_rows
from prismap.exceptions import InputError
from prismap.mappings._inputs import as_positions, n_fitted_rows, resolve_metric
from prismap.mappings.bandwidth import choose_factor, fifth_neighbor_width, representable_factor
from prismap.mappings.kernels import floored, kernel_matrix, merge_duplicates, nearest_distances
from prismap.mappings.solve import interpolate
from prismap.mappings.streaming import EuclideanExponents, evaluate

#: A new row is far when it is farther from the data than this share of the fitted rows are from each other.
FAR_QUANTILE = 0.99


class _FitMethod:
    """Lets a class have a method ``fit`` and a parameter of the same name: calling reads the method, setting the other.

    A data descriptor goes before the instance's dictionary, where the parameter is kept.
    """

    def __init__(self, method):
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, instance, owner=None):
        return self.method if instance is None else MethodType(self.method, instance)

    def __set__(self, instance, value):
        vars(instance)["fit"] = value


class KernelMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Normalised kernel map of 003_..., section 3: ``y(x) = sum_j alpha_j k_j(x) / sum_l k_l(x)``.

    ``k_j(x) = exp(-d(x, x_j)^2 / 2 sigma_j^2)``, sigma_j = factor x distance of x_j to its nearest neighbour, and
    ``(K + ridge I) A = Y`` for the positions Y of the fitted rows. `transform` takes each row by itself: no state,
    no order, no randomness. It works for the positions of any embedding, or a user's own.

    Parameters
    ----------
    kernel : {"rbf"}
    fit : {"interpolate"}
        How the coefficients are found: least squares on the given positions.
    normalize : bool
        Divide by the sum of the kernels. Without it, rows far from all others go to the mean position.
    metric : str or metric
        A name scikit-learn knows, "precomputed" (distances: square at fit, (n_new, n) afterwards), or a metric object.
        A metric that is already fitted is used as it is, and X must be the rows it was fitted on; otherwise it is
        cloned and fitted on X. Note that `sklearn.base.clone` of the map forgets a metric's fit.
    bandwidth : "cv", "representable", "fifth" or float
        The factor: chosen by cross-validation over held-out positions; the smallest for which no kernel value
        underflows (003_...); or a number. "fifth" instead gives all kernels the mean distance to the fifth neighbour
        (001_...).
    ridge : float
        Added to the diagonal of K; 0 interpolates.
    n_landmarks : int, optional
        Number of kernels, at rows drawn at random; all rows by default.
    random_state : int, optional
        Draws the landmarks and the folds of the cross-validation; None is a fixed draw.
    n_jobs : int, optional
        Threads of `transform`; None: as many as BLAS uses.

    Attributes
    ----------
    metric_ : the fitted metric.
    landmarks_ : indices of the fitted rows that carry a kernel (duplicates share one).
    coefficients_ : (n_landmarks, d), the alpha.
    bandwidth_ : (n_landmarks,), the sigma.
    factor_ : the factor used (nan with "fifth").
    residual_ : root mean square of Y - y(X) over the fitted rows, relative to the spread of Y.
    condition_ : condition number of the system solved.
    typical_distance_ : median distance of a fitted row to its nearest neighbour.
    far_threshold_ : 99 % of the fitted rows are nearer than this to another one, in units of the typical distance.
    """

    _parameter_constraints: dict = {
        "kernel": [StrOptions({"rbf"})],
        "fit": [StrOptions({"interpolate"})],
        "normalize": ["boolean"],
        "metric": [str, object],
        "bandwidth": [StrOptions({"cv", "representable", "fifth"}), Interval(Real, 0, None, closed="neither")],
        "ridge": [Interval(Real, 0, None, closed="left")],
        "n_landmarks": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self, kernel="rbf", *, fit="interpolate", normalize=True, metric="euclidean", bandwidth="cv", ridge=1e-3,
        n_landmarks=None, random_state=None, n_jobs=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.fit = fit
        self.normalize = normalize
        self.metric = metric
        self.bandwidth = bandwidth
        self.ridge = ridge
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    def get_params(self, deep=True):
        """Parameters by name; `fit` is the way of fitting, not the method."""
        return super().get_params(deep) | {"fit": vars(self)["fit"]}

    @_FitMethod
    def fit(self, X, Y):
        """Learn the map from rows X to their positions Y, shape (n, d)."""
        self._validate_params()
        self.metric_ = resolve_metric(self.metric, X, n_jobs=self.n_jobs)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.metric_, name):
                setattr(self, name, getattr(self.metric_, name))
        n = n_fitted_rows(self.metric_)
        Y = as_positions(Y, n)
        if n < 2:
            raise InputError(f"X has n_samples={n}; a map needs at least 2 rows.")
        require_memory(24.0 * n * n, f"The kernels between {n} rows", "Fit on a sample of the rows.")
        D = np.asarray(self.metric_.pairwise(None), dtype=np.float64)
        self._learn_distances(nearest_distances(D))
        groups = merge_duplicates(D)
        first, merged = group_means(groups, Y)
        rng = as_generator(0 if self.random_state is None else self.random_state)
        bandwidth = self._choose_bandwidth(D[np.ix_(first, first)], merged, rng)
        chosen = self._choose_landmarks(len(first), rng)
        self.landmarks_, self.bandwidth_ = first[chosen], bandwidth[chosen]
        self.center_ = merged.mean(axis=0)
        K = kernel_matrix(D[np.ix_(first, self.landmarks_)], self.bandwidth_, normalize=self.normalize)
        self.coefficients_, self.condition_ = interpolate(K, merged - self.center_, self.ridge)
        self.residual_ = relative_residual((K @ self.coefficients_ + self.center_)[groups], Y)
        self._n_features_out = Y.shape[1]
        self._prepare()
        return self

    def transform(self, X):
        """Positions of rows X (with "precomputed": of rows whose distances to the fitted rows X holds)."""
        check_is_fitted(self, "coefficients_")
        if self.exponents_ is not None:
            X = check_rows(self, X, reset=False, sparse=True)
            dtype = self.exponents_.working_dtype(X.dtype)
            positions = evaluate(
                self.exponents_.evaluator(dtype), X, self.coefficients_, normalize=self.normalize, dtype=dtype,
                n_jobs=self.n_jobs,
            )  # fmt: skip
            return positions + self.center_.astype(dtype)
        X = X if hasattr(X, "shape") else np.asarray(X)
        positions = np.empty((_num_samples(X), len(self.center_)))
        step = max(1, int(WORKING_BYTES // (24 * n_fitted_rows(self.metric_))))
        for start in range(0, max(len(positions), 1), step):
            rows = slice(start, min(start + step, len(positions)))
            D = self.metric_.pairwise(_safe_indexing(X, rows))[:, self.landmarks_].astype(np.float64)
            K = kernel_matrix(D, self.bandwidth_, normalize=self.normalize)
            positions[rows] = K @ self.coefficients_ + self.center_
        return positions

    def distance_to_data(self, X):
        """Distance of each row to the nearest fitted row, in units of the typical distance between fitted rows."""
        check_is_fitted(self, "coefficients_")
        return self.metric_.kneighbors(X, n_neighbors=1)[0][:, 0] / self.typical_distance_

    def is_far(self, X, threshold=None):
        """Which rows are far from all fitted rows: `distance_to_data` above the threshold (`far_threshold_`)."""
        return self.distance_to_data(X) > (self.far_threshold_ if threshold is None else threshold)

    def _learn_distances(self, nearest):
        """What is usual between the fitted rows, and beyond which distance a new row is unusual."""
        positive = nearest[nearest > 0]
        self.typical_distance_ = float(np.median(positive)) if len(positive) else 1.0
        rank = min(len(nearest), int(np.ceil((len(nearest) + 1) * FAR_QUANTILE)))
        self.far_threshold_ = float(np.sort(nearest)[rank - 1] / self.typical_distance_)

    def _choose_bandwidth(self, D, Y, rng):
        if self.bandwidth == "fifth":
            self.factor_ = np.nan
            return np.full(len(D), fifth_neighbor_width(D))
        nearest = floored(nearest_distances(D))
        if self.bandwidth == "representable":
            self.factor_ = representable_factor(D, nearest)
        elif self.bandwidth == "cv" and len(D) > 3:
            self.factor_, _ = choose_factor(D, Y, ridge=self.ridge, normalize=self.normalize, rng=rng)
        else:
            self.factor_ = 1.0 if self.bandwidth == "cv" else float(self.bandwidth)
        return self.factor_ * nearest

    def _choose_landmarks(self, n_distinct, rng):
        if self.n_landmarks is None:
            return np.arange(n_distinct)
        if self.n_landmarks > n_distinct:
            raise InputError(
                f"n_landmarks={self.n_landmarks} is more than the {n_distinct} distinct rows; lower it or leave it out."
            )
        return np.sort(rng.choice(n_distinct, self.n_landmarks, replace=False))

    def _prepare(self):
        """The fast path for Euclidean distances: weights ready for one matrix product."""
        self.exponents_ = None
        if isinstance(self.metric, str) and self.metric == "euclidean":
            rows = self.metric_.rows_[self.landmarks_]
            self.exponents_ = EuclideanExponents.of(rows, self.bandwidth_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = getattr(self.metric, "__sklearn_tags__", None)
        tags.input_tags.pairwise = self.metric == "precomputed" if inner is None else inner().input_tags.pairwise
        tags.input_tags.sparse = inner is None and self.metric == "euclidean"
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def group_means(groups, Y):
    """First row and mean position of each group of equal rows."""
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    if len(first) == len(groups):
        return first, Y
    sums = np.zeros((len(first), Y.shape[1]))
    np.add.at(sums, groups, Y)
    return first, sums / counts[:, None]


def relative_residual(found, Y):
    """Root mean square of found - Y relative to the spread of Y."""
    spread = np.square(Y - Y.mean(axis=0)).mean()
    return float(np.sqrt(np.square(found - Y).mean() / spread)) if spread > 0 else 0.0
