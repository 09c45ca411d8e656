"""How relevant a feature may be for a given linear map on given data: bounds that hold (Schulz 2017, sec. 4.3)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from prismap._util.arrays import Numbers
from prismap._util.blocks import require_memory
from prismap._util.params import Interval, StrOptions
from prismap._util.validation import check_rows
from prismap.exceptions import InputError, PrismapWarning
from prismap.relevance._entropy import conditional_entropy
from prismap.relevance._linear_maps import linear_map, with_weights
from prismap.relevance._ranges import class_sides, hinge_ranges, weight_ranges
from prismap.target._labels import check_target_length

#: Share of the variance of the data, and of the map's outputs, that the default effective dimension keeps.
KEPT_SHARE = 0.99
#: Bounds below this share of the largest upper bound are small.
SMALL_SHARE = 0.1
#: How much worse than the best the held-out error of a smaller effective dimension may be.
HELD_OUT_MARGIN = 0.01
#: From the columns of several subsets, all of one size, shape (n_subsets, size), to one error each.
SubsetErrors = Callable[[np.ndarray], np.ndarray]


def leading_directions(X: Numbers) -> tuple[Numbers, Numbers]:
    """Right singular vectors of X as columns, and the eigenvalues of X^T X, down to the numerical rank."""
    singular, Vt = np.linalg.svd(X, full_matrices=False)[1:]
    rank = int((singular > max(X.shape) * np.finfo(np.float64).eps * singular.max(initial=0.0)).sum())
    return Vt[:rank].T, singular[:rank] ** 2


def spectrum_dim(eigenvalues: Numbers, V: Numbers, weights: Numbers, share: float = KEPT_SHARE) -> int:
    """The fewest leading directions that keep `share` of the variance of the rows and of each output of the map."""
    outputs = eigenvalues[:, None] * (V.T @ weights.T) ** 2  # variance of output l along each direction
    kept = np.column_stack([eigenvalues, outputs]).cumsum(axis=0)
    enough = (kept >= share * kept[-1] * (1 - 1e-12)).all(axis=1)
    return int(np.argmax(enough)) + 1


def canonical_map(V: Numbers, weights: Numbers) -> Numbers:
    """The equivalent map of the smallest L2 norm, ``V V^T w``: the null space divided out (Strickert et al. 2013)."""
    return weights @ V @ V.T


def bounds_of_ranges(shortest: Numbers, lowest: Numbers, highest: Numbers) -> tuple[Numbers, Numbers]:
    """Bounds of |w_j| and a map for each, from the ranges: interval (D, 2), maps (D, 2, D)."""
    lo, hi = np.diag(lowest), np.diag(highest)
    use_low = np.abs(lo) >= np.abs(hi)
    upper_maps = np.where(use_low[:, None], lowest, highest)
    lower_maps = np.where(use_low[:, None], highest, lowest)
    crossing = (lo < 0) & (hi > 0)
    # Zero lies between: the shortest map if it leaves feature j out, else the mixture of the two ends that does.
    t = np.divide(hi, hi - lo, out=np.zeros_like(hi), where=crossing)[:, None]
    mixed = np.where((shortest == 0)[:, None], shortest, t * lowest + (1 - t) * highest)
    lower_maps = np.where(crossing[:, None], mixed, lower_maps)
    lower = np.where(crossing, 0.0, np.minimum(np.abs(lo), np.abs(hi)))
    interval = np.column_stack([lower, np.maximum(np.abs(lo), np.abs(hi))])
    return interval, np.stack([lower_maps, upper_maps], axis=1)


def equivalent_maps(
    V: Numbers, weights: Numbers, slack: float = 0.01, names: Any = None
) -> tuple[Numbers, Numbers, Numbers]:
    """Bounds per row of `weights` and the maps that attain them, by agreement on the columns of V."""
    return bounding_maps([partial(weight_ranges, V, w, slack, names) for w in weights], weights.shape[1])


def bounding_maps(ranges_of: Sequence[Callable[[], Any]], n_features: int) -> tuple[Numbers, Numbers, Numbers]:
    """Bounds per output of a map and the maps that attain them, from functions that give the ranges of each output.

    Returns the lengths mu (L,), the intervals (L, D, 2) and the maps (D, 2, L, D): for feature j and bound s, all rows
    of the map are taken at that bound.
    """
    need = 16.0 * (len(ranges_of) + 3) * n_features**2
    require_memory(need, f"The bounding maps of {n_features} features", "Leave out features that are not needed.")
    lengths, intervals, maps = [], [], []
    for ranges in ranges_of:
        mu, *ends = ranges()
        interval, attained = bounds_of_ranges(*ends)
        lengths.append(mu)
        intervals.append(interval)
        maps.append(attained)
    return np.array(lengths), np.array(intervals), np.stack(maps, axis=2)


def held_out_errors(
    V: Numbers, weights: Numbers, error: Any, slack: float = 0.01, dims: Any = None
) -> tuple[Any, Numbers]:
    """The mean of ``error(weights')`` over the 2 D bounding maps, for each effective dimension.

    See Schulz (2017, sec. 4.3.5).
    """
    dims = np.arange(1, V.shape[1] + 1) if dims is None else np.asarray(dims)
    means = []
    for dim in dims:
        maps = equivalent_maps(V[:, :dim], weights, slack)[2].reshape(-1, *weights.shape)
        unit = np.abs(maps).max(initial=0.0) or 1.0
        distinct, counts = np.unique((maps / unit).round(10), axis=0, return_counts=True)  # many bounds share a map
        means.append(np.average([error(unit * one) for one in distinct], weights=counts))
    return dims, np.array(means)


# --- any criterion, by leaving out and by greedy search (Schulz 2017, algorithms 1 and 2) -----------------------------


def regression_errors(X: Numbers, Y: Numbers) -> SubsetErrors:
    """Mean square error of the linear regression of Y on each subset of the columns, from one matrix of moments."""
    X = X - X.mean(axis=0)
    Y = (Y - Y.mean(axis=0)).reshape(len(X), -1)
    G, H = X.T @ X / len(X), X.T @ Y / len(X)
    total = float((Y**2).sum()) / len(X)
    # Keeps collinear subsets solvable; far below any error that matters.
    ridge = 1e-10 * max(float(np.diag(G).max(initial=0.0)), np.finfo(np.float64).tiny)

    def errors(subsets: np.ndarray) -> np.ndarray:
        size = subsets.shape[1]
        if not size:
            return np.full(len(subsets), total)
        G_S = G[subsets[:, :, None], subsets[:, None, :]] + ridge * np.eye(size)
        H_S = H[subsets]
        return np.asarray(np.maximum(total - (H_S * np.linalg.solve(G_S, H_S)).sum(axis=(1, 2)), 0.0))

    return errors


def criterion_errors(criterion: Callable[..., Any], X: Numbers, y: Any) -> SubsetErrors:
    """``criterion(X[:, subset], y)`` for each subset, every distinct one once; for no feature a constant column."""
    known: dict[frozenset[int], float] = {}

    def one(subset: np.ndarray) -> float:
        key = frozenset(subset.tolist())
        if key not in known:
            known[key] = float(criterion(X[:, sorted(key)] if key else np.zeros((len(X), 1)), y))
        return known[key]

    return lambda subsets: np.array([one(subset) for subset in subsets])


def greedy_bounds(errors: SubsetErrors, n_features: int, max_iter: int = 6) -> np.ndarray:
    """Lower and upper bound of each feature's relevance, in units of the error; shape (n_features, 2).

    Lower (algorithm 1): what leaving feature j out of all features adds to the error. Upper (algorithm 2): the largest
    drop of the error that adding j brings to any subset met in a forward and a backward search of `max_iter` steps,
    which looks for the features together with which j is most useful.
    """
    every = np.arange(n_features)
    others = np.array([np.delete(every, j) for j in every])
    lower = np.maximum(errors(others) - errors(every[None]), 0.0)
    upper = np.maximum(lower, errors(np.empty((1, 0), dtype=np.intp)) - errors(every[:, None]))
    for j in range(n_features):
        chosen = np.empty(0, dtype=np.intp)
        candidates = others[j]
        for _ in range(min(max_iter - 1, len(candidates))):
            k, gain = _best(errors, [np.append(chosen, c) for c in candidates], j)
            upper[j] = max(upper[j], gain)
            chosen, candidates = np.append(chosen, candidates[k]), np.delete(candidates, k)
        while len(chosen):
            k, gain = _best(errors, [np.delete(chosen, c) for c in range(len(chosen))], j)
            upper[j] = max(upper[j], gain)
            chosen = np.delete(chosen, k)
    return np.column_stack([lower, upper])


def _best(errors: SubsetErrors, subsets: list[np.ndarray], j: int) -> tuple[int, float]:
    """Which subset gains most from feature j, and how much."""
    S = np.array(subsets, dtype=np.intp).reshape(len(subsets), -1)
    gains = errors(S) - errors(np.column_stack([S, np.full(len(S), j, dtype=np.intp)]))
    best = int(gains.argmax())
    return best, float(gains[best])


# --- the estimator ----------------------------------------------------------------------------------------------------


class RelevanceBounds(BaseEstimator):
    """Lower and upper bounds of the relevance of each feature for a linear model on given data.

    Weight can be moved between correlated features without changing what the model does on the data, so the size of one
    weight says little. The range it can take among all equivalent models says what is known. A feature with a large
    lower bound cannot be replaced (class 2). One with a small lower and a large upper bound can be (class 1). One with
    a small upper bound is not needed (class 0). Small means below a tenth of the largest upper bound. An upper bound is
    also small if the slack alone (the share `slack` of the total) could bring it about.

    Parameters
    ----------
    effective_dim : int, float, "held_out" or None, default=None
        Directions of the data on which equivalent models must agree: a number, the share of the variance of the data
        and of the model's outputs to keep, None for the share 0.99, or "held_out" for the smallest number whose
        bounding models predict held-out samples about as well as the best.
    method : {"lp", "hinge", "greedy"}, default="lp"
        Linear programs, in units of the weights, over models that agree on the data ("lp") or that have no larger hinge
        loss ("hinge", for linear support vector machines; needs y), or a generic search for any criterion, in units of
        its error ("greedy").
    slack : float, default=0.01
        Equivalent models may be longer than the shortest by this share. Schulz (2017) takes 0.1 for noisy regressions.
        With "hinge" their loss may be larger by this share too.
    standardize : bool, default=False
        Bring the columns to zero mean and unit variance, and the weights with them. Needed for a fair comparison of
        columns on different scales, unless the model was fitted on scaled columns (the scaler of a pipeline is taken
        into account).
    criterion : callable, "entropy" or None, default=None
        For "greedy": ``criterion(X_subset, y)``, smaller is better. None is the mean squared error of linear
        regression, "entropy" the conditional entropy of y, by which bounds are in nats of information.
    max_iter : int, default=6
        Largest number of steps of the greedy search.

    Attributes
    ----------
    interval_ : array (n_features, 2)
        Lower and upper bound. For a model with several outputs, sums over them.
    relevance_classes_ : array (n_features,) of 0, 1, 2
        The classes above.
    row_intervals_ : array (n_outputs, n_features, 2)
        Bounds per output ("lp" and "hinge").
    average_map_ : array (n_outputs, n_features)
        The mean of all bounding models, a regularised model that does the same ("lp" and "hinge").
    canonical_map_ : array (n_outputs, n_features)
        The equivalent model of the smallest Euclidean length ("lp" only). Features that can replace each other share
        the weight, so those with many equals look unimportant.
    effective_dim_, spectrum_ : int and array
        The number of directions, and the eigenvalues it was chosen from.
    held_out_errors_ : pair of arrays (dimensions, mean errors)
        With effective_dim="held_out".
    total_ : float
        Length of the shortest equivalent model ("lp", "hinge") or error without any feature ("greedy").

    See Also
    --------
    FeatureRelevance : Features of a map.
    prismap.learners.GMLVQ : A linear metric whose relevance profile these bounds qualify.

    Notes
    -----
    Two linear programs per feature over ``effective_dim + 1`` equations, solved in parallel: milliseconds to seconds.

    References
    ----------
    B. Frenay, D. Hofmann, A. Schulz, M. Biehl, B. Hammer (2014), Valid interpretation of feature relevance for linear
    data mappings. A. Schulz, B. Mokbel, M. Biehl, B. Hammer (2015), Inferring feature relevances from metric learning.
    M. Strickert et al. (2013), Regularization and improved interpretation of linear data mappings and adaptive distance
    measures. C. Göpfert, L. Pfannschmidt, B. Hammer (2017), Feature relevance bounds for linear classification.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(50, 2))
    >>> X = np.column_stack([x[:, 0], x[:, 0], x[:, 1]])             # the first two are the same
    >>> RelevanceBounds(slack=0.0).fit(X, [0.7, 0.3, 2.0]).interval_.round(6)
    array([[0., 1.],
           [0., 1.],
           [2., 2.]])
    """

    _parameter_constraints: dict[str, Any] = {
        "effective_dim": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"held_out"}),
            None,
        ],
        "method": [StrOptions({"lp", "hinge", "greedy"})],
        "slack": [Interval(Real, 0, None, closed="left")],
        "standardize": ["boolean"],
        "criterion": [callable, StrOptions({"entropy"}), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self, effective_dim: Any = None, *, method: str = "lp", slack: float = 0.01, standardize: bool = False,
        criterion: Any = None, max_iter: int = 6,
    ) -> None:  # fmt: skip
        self.effective_dim = effective_dim
        self.method = method
        self.slack = slack
        self.standardize = standardize
        self.criterion = criterion
        self.max_iter = max_iter

    def fit(self, X: Any, coef: Any, y: Any = None, *, held_out: Any = None, error: Any = None) -> Self:
        """Bounds for the linear map `coef` on the rows X.

        Parameters
        ----------
        X : array (n_samples, n_features)
        coef : array (n_features,) or (n_rows_of_the_map, n_features), or a fitted model or pipeline that holds one
        y : array (n_samples,), optional
            Target of the greedy criterion, without it the outputs of the map; or the classes, for "hinge".
        held_out : pair (X, y), optional
            Rows for effective_dim="held_out", scored by the model with its weights exchanged.
        error : callable, optional
            Instead of `held_out`: from weights of the shape (n_rows_of_the_map, n_features) to an error.
        """
        self._validate_params()
        X = check_rows(self, X, reset=True, dtype=np.float64)
        names = getattr(self, "feature_names_in_", np.array([f"column {j}" for j in range(X.shape[1])]))
        given = linear_map(X, coef)
        scale = given.rows.std(axis=0) if self.standardize else np.ones(X.shape[1])
        scale[scale == 0] = 1.0
        rows = (given.rows - given.rows.mean(axis=0)) / scale if self.standardize else given.rows
        weights = given.weights * scale
        if not weights.any():
            warnings.warn("coef is zero for every feature: no feature is relevant.", PrismapWarning, stacklevel=2)
        if self.method == "greedy":
            self._fit_greedy(rows, weights, y)
        elif self.method == "hinge":
            self._fit_hinge(rows, weights, names, y)
        else:
            if error is None and held_out is not None:
                error = self._model_error(given, held_out, scale)
            self._fit_programs(rows, weights, names, error)
        lower, upper = self.interval_.T
        small = SMALL_SHARE * upper.max()
        by_slack = self.slack * self.total_ * (1 + 1e-6)
        self.relevance_classes_ = np.where(lower > small, 2, np.where(upper > max(small, by_slack), 1, 0))
        return self

    def _fit_greedy(self, rows: Numbers, weights: Numbers, y: Any) -> None:
        target = rows @ weights.T if y is None else check_target_length(y, len(rows))
        if self.criterion is None:
            errors = regression_errors(rows, np.asarray(target, dtype=np.float64))
        else:
            criterion = conditional_entropy if self.criterion == "entropy" else self.criterion
            errors = criterion_errors(criterion, rows, target)
        self.interval_ = greedy_bounds(errors, rows.shape[1], self.max_iter)
        self.total_ = float(errors(np.empty((1, 0), dtype=np.intp))[0])

    def _fit_hinge(self, rows: Numbers, weights: Numbers, names: Any, y: Any) -> None:
        if y is None:
            raise InputError("method='hinge' needs y, the classes that the machine tells apart.")
        sides = class_sides(check_target_length(y, len(rows)), len(weights))
        ranges = [partial(hinge_ranges, rows, t, w, self.slack, names) for t, w in zip(sides, weights, strict=True)]
        self._take(*bounding_maps(ranges, rows.shape[1]))

    def _take(self, lengths: Numbers, intervals: Numbers, maps: Numbers) -> None:
        self.row_intervals_, self.interval_ = intervals, intervals.sum(axis=0)
        self.average_map_ = maps.mean(axis=(0, 1))
        self.total_ = float(lengths.sum())

    def _fit_programs(self, rows: Numbers, weights: Numbers, names: Any, error: Any) -> None:
        V, self.spectrum_ = leading_directions(rows)
        if not V.shape[1]:
            raise InputError(
                "X is zero in every entry (after centring, if standardize=True): no map can be told apart."
            )
        self.effective_dim_ = self._choose_dim(V, weights, error)
        V = V[:, : self.effective_dim_]
        self._take(*equivalent_maps(V, weights, self.slack, names))
        self.canonical_map_ = canonical_map(V, weights)

    def _choose_dim(self, V: Numbers, weights: Numbers, error: Any) -> int:
        rank = V.shape[1]
        if self.effective_dim == "held_out":
            if error is None:
                raise InputError("effective_dim='held_out' needs held_out=(X, y) and a model, or error=, at fit.")
            dims, means = self.held_out_errors_ = held_out_errors(V, weights, error, self.slack)
            return int(dims[np.argmax(means <= means.min() + HELD_OUT_MARGIN)])
        if isinstance(self.effective_dim, Integral):
            if self.effective_dim > rank:
                warnings.warn(
                    f"effective_dim={self.effective_dim} is more than the rank of X, {rank}, which is used instead.",
                    PrismapWarning, stacklevel=4,
                )  # fmt: skip
            return int(min(self.effective_dim, rank))
        return spectrum_dim(self.spectrum_, V, weights, self.effective_dim or KEPT_SHARE)

    def _model_error(self, given: Any, held_out: Any, scale: Numbers) -> Callable[[Numbers], Any]:
        """1 - score of the model on the held-out rows, with its weights exchanged."""
        X_held, y_held = held_out
        held = given.prepare(check_rows(self, X_held, reset=False, dtype=np.float64))

        def error(weights: Numbers) -> Any:
            return 1.0 - with_weights(given, weights / scale).score(held, y_held)

        return error
