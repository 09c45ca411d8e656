"""`KernelMap`: an explicit map from rows to positions, learned from rows whose positions are known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.svm import SVR
from sklearn.utils.validation import check_is_fitted

from prismap._util.blocks import require_memory, row_blocks
from prismap._util.grid import sum_products
from prismap._util.params import Interval, StrOptions, num_samples, safe_indexing
from prismap._util.random import as_generator
from prismap._util.scales import far_threshold, nearest_distances, typical_distance
from prismap._util.threads import on_one_thread
from prismap._util.validation import check_rows
from prismap.exceptions import InputError
from prismap.mappings._bandwidth import (
    FACTORS,
    RIDGES,
    SMALLEST_KERNEL,
    cross_validate,
    fifth_neighbor_kernel,
    make_kernels,
    representable_kernel,
)
from prismap.mappings._base import Mapping, distances_to, relative_residual
from prismap.mappings._costs import MAP_COSTS, MapCost, as_cost, map_cost, minimize_map_cost
from prismap.mappings._kernels import (
    EuclideanExponents,
    GaussianKernel,
    RawElmKernel,
    evaluate,
    interpolate,
    merge_duplicates,
)

#: The published rules for widths, from distances and the smallest kernel that counts to the kernels and their factor.
PUBLISHED: dict[str, Callable] = {
    "representable": partial(representable_kernel, every_entry=False),
    "all-representable": partial(representable_kernel, every_entry=True),
    "fifth": lambda D, smallest: fifth_neighbor_kernel(D),
}
#: Width of the tube of support vector regression: in units of the spread of the positions, and LIBSVM's default in
#: those of the positions.
SVR_TUBE = {"svr": 0.01, "libsvm": 0.1}
#: Iterations of L-BFGS on the cost.
COST_ITERATIONS = 300


class KernelMap(Mapping):
    """Out-of-sample projection by kernels, for any embedding.

    Given samples X and their positions Y, the projection is ``y(x) = sum_j alpha_j k_j(x) / sum_l k_l(x)``. The
    positions may come from any embedding or be your own. `transform` projects each sample independently of the others.

    Parameters
    ----------
    kernel : {"rbf", "elm"}, default="rbf"
        ``exp(-d(x, x_j)^2 / 2 sigma_j^2)``, or the nearly parameterless kernel of extreme learning machines.
    solver : {"interpolate", "svr", "libsvm", "cost"} or MapCost, default="interpolate"
        How the coefficients are found. "interpolate" solves ``(K + ridge I) A = Y``. "svr" is support vector regression
        of each coordinate, in units of the spread of the positions. "libsvm" has the defaults of LIBSVM instead, C = 1
        and a tube of 0.1 around the positions as they are (Gisbrecht et al. 2012). A `MapCost` is minimised over the
        fitted samples, starting from the interpolation: that of the embedding that the positions come from. "cost" is
        ``MapCost()``, the cost of t-SNE.
    normalize : bool or "origin", default=True
        Divide by the sum of the kernels. Without it, samples far from all others go to the mean position. "origin" is
        the sum as it is printed in Gisbrecht et al. (2012): without it, and not relative to the mean position, so that
        these samples go to the origin.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, "precomputed" (distances: square at fit, (n_new, n) afterwards), or a metric
        object. A metric that is already fitted is used as it is, and X must be the samples it was fitted on. Otherwise
        it is cloned and fitted on X. Note that `sklearn.base.clone` of the projection discards the fit of a metric.
    bandwidth : {"cv", "representable", "all-representable", "fifth", "raw"} or float, default="cv"
        Width of the kernels. A number is a factor on the median distance to the nearest neighbour, and "cv" chooses
        this factor by cross-validation. "fifth" is the mean distance to the fifth neighbour (Gisbrecht et al. 2012).
        "representable" gives each kernel its own width, a factor times the distance of its sample to the nearest
        neighbour (Gisbrecht et al. 2015): the smallest for which each sample has a kernel of another sample that is at
        least `smallest_kernel`. "all-representable" asks this of all kernels at all samples, which makes them far
        wider. For "elm" the factor scales the data, and "raw" leaves them as they are, neither centred nor scaled, as
        printed (vectors with the Euclidean metric only).
    smallest_kernel : float, default=None
        Lower end of the interval of the two rules. None is the smallest normal number, 2.2e-308.
    ridge : "cv" or float, default="cv"
        Added to the diagonal of K. 0 interpolates. For "svr", the inverse of C.
    n_landmarks : int, default=None
        Number of kernels, at samples drawn at random. None uses all distinct samples, which takes memory for n x n.
    random_state : int, RandomState instance or None, default=None
        Draws the landmarks and the folds of the cross-validation. None is a fixed draw.
    n_jobs : int, default=None
        Threads of `transform`. None uses as many as BLAS does.

    Attributes
    ----------
    metric_ : metric object
        The fitted metric.
    landmarks_ : array
        Indices of the fitted samples that carry a kernel. Duplicates share one.
    coefficients_, center_ : arrays (n_landmarks, d) and (d,)
        The alpha, and the position they are relative to.
    kernel_ : kernel object
        The kernel with its width.
    bandwidth_ : array (n_landmarks,)
        The sigma ("rbf").
    factor_, ridge_ : float
        The factor (nan with "fifth") and the ridge used.
    residual_ : float
        Root mean square of Y - y(X) over the fitted samples, relative to the spread of Y.
    condition_ : float
        Condition number of the system that was solved.
    cost_ : pair of float
        The cost at the start and at the end (if a cost is minimised).
    typical_distance_ : float
        Median distance of a fitted sample to its nearest neighbour.
    far_threshold_ : float
        99 % of the fitted samples are nearer than this to another one, in units of the typical distance.

    See Also
    --------
    VoteMap : Better on embeddings that tear neighbourhoods apart.
    DirectPlacement : Exact minimisation for each sample, and slow.
    InverseMap : From positions back to samples.

    Notes
    -----
    Fitting takes O(n^3) time and O(n^2) memory for n kernels, and projecting m samples O(m n). `transform` works in
    double precision, so the position of a sample depends on its batch by no more than 1e-5 of the spread of the
    embedding.

    References
    ----------
    Gisbrecht et al. (2012), Out-of-sample kernel extensions for nonparametric dimensionality reduction. Gisbrecht,
    Schulz, Hammer (2015), Parametric nonlinear dimensionality reduction using kernel t-SNE, sec. 3.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> KernelMap().fit(X, X[:, :2]).transform(X[:4] + 0.1).shape
    (4, 2)
    """

    _parameter_constraints: dict = {
        "kernel": [StrOptions({"rbf", "elm"})],
        "solver": [StrOptions({"interpolate", "svr", "libsvm", "cost"}), MapCost],
        "normalize": ["boolean", StrOptions({"origin"})],
        "metric": [str, object],
        "bandwidth": [
            StrOptions({"cv", "representable", "all-representable", "fifth", "raw"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "smallest_kernel": [None, Interval(Real, 0, 1, closed="neither")],
        "ridge": [StrOptions({"cv"}), Interval(Real, 0, None, closed="left")],
        "n_landmarks": [None, Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self, kernel="rbf", *, solver="interpolate", normalize=True, metric="euclidean", bandwidth="cv",
        smallest_kernel=None, ridge="cv", n_landmarks=None, random_state=None, n_jobs=None,
    ):  # fmt: skip
        self.kernel = kernel
        self.solver = solver
        self.normalize = normalize
        self.metric = metric
        self.bandwidth = bandwidth
        self.smallest_kernel = smallest_kernel
        self.ridge = ridge
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.n_jobs = n_jobs

    @on_one_thread
    def fit(self, X, Y):
        """Learn the map from rows X to their positions Y, shape (n, d)."""
        self._check_parameters()
        n, Y = self.keep(X, Y), self.embedding_
        rng = as_generator(0 if self.random_state is None else self.random_state)
        D, groups = self._all_landmarks(n) if self.n_landmarks is None else self._some_landmarks(n, rng)
        positions = group_means(groups, Y)
        own = slice(None) if self.n_landmarks is None else self.landmarks_
        self.kernel_ = self._choose_kernel(D[own], positions[own], rng)
        self.center_ = np.zeros(Y.shape[1]) if self.normalize == "origin" else positions.mean(axis=0)
        K = self._weights(self._vectors() if self._is_raw() else D)
        self.coefficients_ = self._coefficients(K, positions, D)
        self.residual_ = relative_residual((K @ self.coefficients_ + self.center_)[groups], Y)
        self._prepare()
        return self

    def transform(self, X):
        """Positions of rows X (with "precomputed": of rows whose distances to the fitted rows X holds)."""
        check_is_fitted(self, "coefficients_")
        if self.exponents_ is not None:
            X = check_rows(self, X, reset=False, sparse=True)
            Y = evaluate(self.exponents_, X, self.coefficients_, normalize=self.normalizes, n_jobs=self.n_jobs)
            return (Y + self.center_).astype(X.dtype, copy=False)
        if self._is_raw():
            X = check_rows(self, X, reset=False)
            return sum_products(self._weights(X), self.coefficients_) + self.center_
        if self.n_landmarks is None:
            return super().transform(X)
        X = X if hasattr(X, "shape") else np.asarray(X)
        positions = np.empty((num_samples(X), len(self.center_)))
        for rows in row_blocks(len(positions), 24.0 * len(self.landmarks_)):
            D = distances_to(self.metric_, safe_indexing(X, rows), self.landmarks_)
            positions[rows] = self.place_by_landmarks(D)
        return positions

    def place(self, D):
        """Positions of rows from their distances D to all fitted rows, in the precision of these distances."""
        return self.place_by_landmarks(D if len(self.landmarks_) == D.shape[1] else np.take(D, self.landmarks_, axis=1))

    def place_by_landmarks(self, D):
        """The same from distances to the landmarks."""
        return sum_products(self._weights(D), self.coefficients_) + self.center_

    @property
    def normalizes(self):
        """Whether kernels are divided by their sum."""
        return bool(self.normalize) and self.normalize != "origin"

    def _is_raw(self):
        """Whether the kernels see vectors and not distances."""
        return isinstance(self.kernel_, RawElmKernel)

    def _vectors(self):
        """The fitted rows that the coefficients are learnt from: the landmarks, where every row is one of them."""
        return self.metric_.rows_[self.landmarks_] if self.n_landmarks is None else self.metric_.rows_

    def _weights(self, D):
        """K of rows at distances D from the landmarks (of vectors, where the kernels see these)."""
        return self.kernel_.weights(D, normalize=self.normalizes)

    def state(self) -> dict[str, Any]:
        """The kernels of a Gaussian map, down to its arrays; the other kernel follows from the distances."""
        if not isinstance(self.kernel_, GaussianKernel):
            return {}
        return {
            "landmarks": self.landmarks_, "bandwidth": self.bandwidth_, "coefficients": self.coefficients_,
            "center": self.center_, "smoothness": np.array([self.factor_, self.ridge_]),
        }  # fmt: skip

    def restore(self, D, Y, state):
        """Become the fitted map of a `state`."""
        if not state:
            return super().restore(D, Y, state)
        self.landmarks_, self.coefficients_, self.center_ = (
            state[name] for name in ("landmarks", "coefficients", "center")
        )
        self.factor_, self.ridge_ = (float(value) for value in state["smoothness"])
        self.kernel_, self.embedding_ = GaussianKernel(state["bandwidth"]), Y
        self.bandwidth_, self.exponents_ = state["bandwidth"], None
        self._n_features_out = Y.shape[1]
        return self

    def distance_to_data(self, X):
        """Distance of each row to the nearest fitted row, in units of the typical distance between fitted rows."""
        check_is_fitted(self, "coefficients_")
        return self.metric_.kneighbors(X, n_neighbors=1)[0][:, 0] / self.typical_distance_

    def is_far(self, X, threshold=None):
        """Which rows are far from all fitted rows: `distance_to_data` above the threshold (`far_threshold_`)."""
        return self.distance_to_data(X) > (self.far_threshold_ if threshold is None else threshold)

    def _check_parameters(self):
        self._validate_params()
        if self.kernel == "elm" and self.bandwidth in PUBLISHED:
            raise InputError(f"bandwidth={self.bandwidth!r} is a rule for kernel='rbf'; use 'cv' or a factor.")
        if self.bandwidth == "raw" and (self.kernel != "elm" or not is_euclidean(self.metric)):
            raise InputError("bandwidth='raw' needs kernel='elm' and metric='euclidean': it is a function of vectors.")
        if isinstance(self.solver, MapCost):
            as_cost(self.solver, MAP_COSTS)

    def _all_landmarks(self, n):
        """Every distinct row carries a kernel: distances between them, and the number of each row's kernel."""
        require_memory(32.0 * n * n, f"The kernels between {n} rows", "Set n_landmarks.")
        D = np.asarray(self.metric_.pairwise(None), dtype=np.float64)
        self._learn_distances(nearest_distances(D))
        groups = merge_duplicates(D)
        self.landmarks_ = np.unique(groups, return_index=True)[1]
        return D if len(self.landmarks_) == n else D[np.ix_(self.landmarks_, self.landmarks_)], groups

    def _learn_distances(self, nearest):
        self.typical_distance_, self.far_threshold_ = typical_distance(nearest), far_threshold(nearest)

    def _some_landmarks(self, n, rng):
        """Rows drawn at random carry the kernels: distances of all rows to them, and the number of each row."""
        if self.n_landmarks > n:
            raise InputError(f"n_landmarks={self.n_landmarks} is more than the {n} rows; lower it or leave it out.")
        self._learn_distances(self.metric_.kneighbors(None, 1)[0][:, 0])
        chosen = np.sort(rng.choice(n, self.n_landmarks, replace=False))
        require_memory(32.0 * n * len(chosen), f"The kernels of {n} rows", "Set a smaller n_landmarks.")
        D = distances_to(self.metric_, None, chosen)
        distinct = np.unique(merge_duplicates(D[chosen]), return_index=True)[1]
        self.landmarks_ = chosen[distinct]
        return D[:, distinct], np.arange(n)

    def _choose_kernel(self, D, Y, rng):
        """The kernel of landmarks with distances D and positions Y; learns `factor_` and `ridge_`."""
        if self.bandwidth == "raw":
            if sp.issparse(self.metric_.rows_):
                raise InputError("bandwidth='raw' needs dense vectors; got a sparse matrix. Use X.toarray().")
            self.factor_, self.ridge_ = np.nan, RIDGES[0] if self.ridge == "cv" else float(self.ridge)
            return RawElmKernel(self.metric_.rows_[self.landmarks_])
        published = PUBLISHED.get(self.bandwidth)
        factors = FACTORS[self.kernel] if self.bandwidth == "cv" else (1.0 if published else float(self.bandwidth),)
        ridges = RIDGES if self.ridge == "cv" else (float(self.ridge),)
        if published:
            kernel, self.factor_ = published(D, self.smallest_kernel or SMALLEST_KERNEL)
            self.ridge_ = ridges[0]
            return kernel
        if len(factors) * len(ridges) > 1 and len(D) > 3:
            self.factor_, self.ridge_ = cross_validate(
                D, Y, self.kernel, factors, ridges, normalize=self.normalizes, rng=rng
            )
        else:
            self.factor_, self.ridge_ = factors[len(factors) // 2], ridges[0]
        return make_kernels(self.kernel, D, [self.factor_])[0]

    def _coefficients(self, K, Y, D):
        """The alpha by the `solver`, from kernels K and distances D of the rows to the landmarks."""
        if self.solver in ("svr", "libsvm"):
            return self._by_regression(K, Y)
        A, self.condition_ = interpolate(K, Y - self.center_, self.ridge_)
        if self.solver != "interpolate" and len(K) > 1:  # where all rows are equal there is nothing to weigh
            D = D if D.shape[0] == D.shape[1] else np.asarray(self.metric_.pairwise(None), dtype=np.float64)
            cost_of, unit = map_cost(MapCost() if self.solver == "cost" else self.solver, D)
            before = cost_of(K @ A)[0]
            A, after = minimize_map_cost(K, A, cost_of, unit, COST_ITERATIONS)
            self.cost_ = (before, after)
        return A

    def _by_regression(self, K, Y):
        """Support vector regression of each coordinate.

        A symmetric K is the Gram matrix itself, as in Gisbrecht et al. (2012). Otherwise its rows are features, with
        Gram matrix K K^T.
        """
        self.condition_ = np.nan
        spread, C = 1.0, 1.0
        if self.solver == "svr":
            spread, C = np.sqrt(np.square(Y - self.center_).mean()) or 1.0, 1 / max(self.ridge_, 1e-6)
        symmetric = K.shape[0] == K.shape[1] and np.allclose(K, K.T)
        G = K if symmetric else K @ K.T
        A = np.zeros((K.shape[1], Y.shape[1]))
        offset = np.zeros(Y.shape[1])
        for column in range(Y.shape[1]):
            target = (Y[:, column] - self.center_[column]) / spread
            model = SVR(kernel="precomputed", C=C, epsilon=SVR_TUBE[self.solver]).fit(G, target)
            dual = np.zeros(len(K))
            dual[model.support_] = model.dual_coef_[0]
            A[:, column] = spread * (dual if symmetric else K.T @ dual)
            offset[column] = spread * model.intercept_[0]
        self.center_ = self.center_ + offset
        return A

    def _prepare(self):
        """The fast path for Gaussian kernels of Euclidean distances: weights ready for one matrix product."""
        self.exponents_ = None
        if isinstance(self.kernel_, GaussianKernel):
            self.bandwidth_ = self.kernel_.bandwidth
            if is_euclidean(self.metric):
                self.exponents_ = EuclideanExponents.of(self.metric_.rows_[self.landmarks_], self.bandwidth_)


def is_euclidean(metric):
    """Whether a metric is the Euclidean one by name, so that rows are vectors."""
    return isinstance(metric, str) and metric == "euclidean"


def group_means(groups, Y):
    """Mean position of each group of equal rows, groups being numbered from 0."""
    counts = np.bincount(groups)
    if len(counts) == len(Y):
        return Y
    sums = np.zeros((len(counts), Y.shape[1]))
    np.add.at(sums, groups, Y)
    return sums / counts[:, None]
