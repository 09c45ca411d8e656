"""Which features a map shows: relevance of the columns of X for given positions Y (Schulz 2017, sec. 4.2)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm
from sklearn.base import BaseEstimator, clone
from sklearn.utils import TransformerTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from prismap._util.arrays import Numbers, Rows
from prismap._util.params import Interval, StrOptions, check_feature_names_in
from prismap._util.random import as_generator
from prismap._util.validation import check_rows
from prismap.exceptions import InputError, PrismapWarning
from prismap.learners._shared import canonical_omega
from prismap.relevance._neighborhoods import (
    MapNeighbors,
    backward_quality,
    first_matrix,
    forward_quality,
    learn_matrix,
    learn_weights,
    map_neighborhoods,
    map_neighbors,
)
from prismap.target import exchange_units, read_groups

#: Pairs of rows looked at in one step; with more rows, the neighbourhoods of a sample are judged.
MOST_PAIRS = 6_000_000
#: Permuted copies per feature, and at most; of the methods that search with them, from and to.
COPIES_PER_FEATURE, MOST_COPIES, COPIES_SEARCHED = 20, 200, (20, 100)


def _has_map(model: Any) -> bool:
    return model.method in ("weights", "matrix")


class FeatureRelevance(BaseEstimator):
    """How relevant each feature is for a given map, whichever method made it.

    A map shows a feature if samples that are neighbours in the map are also neighbours in the feature.

    Parameters
    ----------
    method : {"forward", "backward", "weights", "matrix"}, default="forward"
        "forward" takes each feature alone and measures Q_NX(k), the share of neighbours that it keeps. "backward"
        leaves each feature out and measures what Q_NX(k) loses. "weights" finds weights lambda, and "matrix" a matrix
        Omega, so that the neighbourhoods of ``X lambda`` or ``Omega X`` are as close as possible to those of the map,
        by the NeRV cost plus ``penalty * sum lambda^2`` (``tr Omega^T Omega``). The relevance is then lambda_l^2, or
        the diagonal of Omega^T Omega.
    n_neighbors : int, default=10
        Size k of the neighbourhoods. Small values show what arranges the points in detail, values above the size of a
        cluster what keeps clusters apart. `relevance_curve` shows all.
    penalty : float, default=1.0
        Weight of the penalty, against the cost summed over all samples.
    gamma : float in [0, 1], default=0.5
        Weight of recall (neighbours in the map are neighbours in the data) against precision, for the NeRV cost.
    n_components : int or None, default=None
        Rows of Omega. None is the number of columns.
    n_init : int, default=1
        Starts of "weights" and "matrix": all ones, then random. The best is kept, and `relevances_` holds all.
    n_permuted : int or "auto", default="auto"
        Number of permuted copies of features, which can have no relevance. They go through the same procedure, and
        `threshold_` is what one feature in twenty tables of irrelevant ones would reach: the largest relevance of the
        copies, or more where there are fewer than twenty copies per feature. "auto" takes 20 per feature, at most 200
        ("weights" and "matrix": one per feature, 20 to 100). 0 for none.
    n_samples : int or None, default=None
        Samples whose neighbourhoods are judged, against all samples. None is all, or as many as keep the pairs below
        6 million.
    max_iter : int, default=200
        Largest number of iterations of "weights" and "matrix".
    random_state : int, RandomState instance or None, default=None
        Seed of the permuted features, the sample and the random starts.

    Attributes
    ----------
    relevance_ : array (n_features,)
        Larger is more relevant.
    relevant_ : array (n_features,) of bool
        ``relevance_ > threshold_`` (with n_permuted > 0).
    threshold_, null_ : float and array (n_permuted,)
        What no permuted feature reaches, corrected for the number of features, and the relevances of all copies.
    baseline_, spread_ : float
        Mean and standard deviation of `null_`: what a feature without any relevance reaches.
    quality_ : array (n_features,)
        Q_NX(k) of the feature alone ("forward") or of all others ("backward").
    weights_ : array (n_features,)
        lambda, for "weights".
    omega_ : array (n_components, n_features)
        For "weights" (diagonal) and "matrix" (eigenvectors, longest first).
    objective_, n_iter_, stop_reason_, objectives_, relevances_ : float, int, str and arrays
        How the optimisation of "weights" and "matrix" ended, and the result of each start.
    n_neighbors_ : int
        The size of neighbourhoods used.

    See Also
    --------
    RelevanceBounds : Features of a linear model.
    relevance_curve : Relevance over sizes of neighbourhoods.

    Notes
    -----
    For n samples, m judged ones and d features, "forward" takes O(d n (k + log n)), "backward" O(d m n), "weights" O(m
    n d) per step, and "matrix" O(m n r) per step for rank r. Memory is O(m n). Columns should have comparable scales. A
    relevance says what a map shows, not what causes anything.

    References
    ----------
    A. Schulz, A. Gisbrecht, B. Hammer (2014), Relevance learning for dimensionality reduction. A. Schulz, B. Hammer
    (2015), Metric learning in dimensionality reduction.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> FeatureRelevance(random_state=0).fit(X, X[:, :2]).relevant_.tolist()
    [True, True, False, False]
    """

    _parameter_constraints: dict[str, Any] = {
        "method": [StrOptions({"forward", "backward", "weights", "matrix"})],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_permuted": [StrOptions({"auto"}), Interval(Integral, 0, None, closed="left")],
        "n_samples": [Interval(Integral, 2, None, closed="left"), None],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, method: str = "forward", *, n_neighbors: int = 10, penalty: float = 1.0, gamma: float = 0.5,
        n_components: int | None = None, n_init: int = 1, n_permuted: Any = "auto", n_samples: int | None = None,
        max_iter: int = 200, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.method = method
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.gamma = gamma
        self.n_components = n_components
        self.n_init = n_init
        self.n_permuted = n_permuted
        self.n_samples = n_samples
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, Y: Any, *, subset: Any = None, groups: Any = None) -> Self:
        """Relevance of the columns of X for the map that puts its rows at Y.

        `subset` (row numbers or a mask) judges the neighbourhoods of those rows only: what arranges this cluster or
        selection. Their neighbours may still be any row. `groups` says which rows are not independent of each other:
        rows of one group share the values of any column, relevant or not, so columns are permuted between groups.
        """
        self._validate_params()
        if Y is None:
            raise InputError("FeatureRelevance requires y to be passed, but the target y is None: pass the positions.")
        X = check_rows(self, X, reset=True, dtype=np.float64, min_rows=4)
        Y = _check_positions(Y, len(X))
        rng = as_generator(self.random_state)
        rows = self._judged_rows(len(X), subset, rng)
        self.n_neighbors_ = _possible_neighbors(self.n_neighbors, len(X))
        columns = rng.integers(X.shape[1], size=self._n_copies(X.shape[1]))
        permuted = permuted_columns(X[:, columns], None if groups is None else read_groups(groups, len(X)).codes, rng)
        if _has_map(self):
            self._fit_map(X, Y, rows, permuted, rng)
        else:
            self._fit_quality(X, Y, rows, permuted)
        if len(columns):
            self.baseline_ = float(self.null_.mean())
            self.spread_ = float(self.null_.std(ddof=1)) if len(columns) > 1 else float("nan")
            self.threshold_ = corrected_threshold(self.null_, X.shape[1])
            self.relevant_ = self.relevance_ > self.threshold_
        return self

    def _n_copies(self, n_features: int) -> int:
        if self.n_permuted != "auto":
            return int(self.n_permuted)
        if _has_map(self):  # copies take part in the search, which they make harder
            return int(np.clip(n_features, *COPIES_SEARCHED))
        return min(COPIES_PER_FEATURE * n_features, MOST_COPIES)

    def _judged_rows(self, n_rows: int, subset: Any, rng: np.random.Generator) -> Rows:
        rows = _check_subset(subset, n_rows)
        n_samples = self.n_samples
        if n_samples is None and self.method != "forward":
            n_samples = max(100, MOST_PAIRS // n_rows)
        if n_samples is not None and n_samples < len(rows):
            rows = np.sort(rng.choice(rows, size=n_samples, replace=False))
        return rows

    def _fit_quality(self, X: Numbers, Y: Numbers, rows: Rows, permuted: Any) -> None:
        hood = map_neighborhoods(Y, self.n_neighbors_, rows)
        if self.method == "forward":
            self.quality_ = self.relevance_ = forward_quality(X, hood)
            self.null_ = forward_quality(permuted, hood)
        else:
            total, self.quality_, with_permuted = backward_quality(X, hood, permuted)
            self.relevance_ = total - self.quality_
            self.null_ = with_permuted - total

    def _fit_map(self, X: Numbers, Y: Numbers, rows: Rows, permuted: Any, rng: np.random.Generator) -> None:
        X = X - X.mean(axis=0)
        near = map_neighbors(X, Y, self.n_neighbors_, rows, self.gamma)
        runs = [self._learn(X, near, self._start(X, Y, rng if number else None)) for number in range(self.n_init)]
        self.objectives_ = np.array([run[1] for run in runs])
        self.relevances_ = np.array([(np.atleast_2d(run[0]) ** 2).sum(axis=0) for run in runs])
        best = int(self.objectives_.argmin())
        learnt, self.objective_, self.n_iter_, self.stop_reason_ = runs[best]
        self.relevance_ = self.relevances_[best]
        if self.method == "weights":
            self.weights_, self.omega_ = learnt, np.diag(learnt)
        else:
            self.omega_ = canonical_omega(learnt)
        if permuted.shape[1]:
            both = np.hstack([X, permuted - permuted.mean(axis=0)])
            learnt = self._learn(both, near, self._start(both, Y, None))[0]
            self.null_ = (np.atleast_2d(learnt) ** 2).sum(axis=0)[X.shape[1] :]

    def _start(self, X: Numbers, Y: Numbers, rng: np.random.Generator | None) -> Numbers:
        """Squared weights or Omega to start from: as X is, or random when there is a generator."""
        if self.method == "weights":
            return np.ones(X.shape[1]) if rng is None else rng.exponential(size=(X.shape[1],))
        omega = first_matrix(X, Y, self.n_components)
        return omega if rng is None else rng.normal(scale=1 / np.sqrt(len(omega)), size=omega.shape)

    def _learn(self, X: Numbers, near: MapNeighbors, start: Numbers) -> Any:
        learn = learn_weights if self.method == "weights" else learn_matrix
        return learn(X, near, penalty=self.penalty, start=start, max_iter=self.max_iter)

    @available_if(_has_map)
    def transform(self, X: Any) -> Numbers:
        """X with the map's information imprinted: the weighted columns, or Omega x ("matrix")."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, dtype=np.float64)
        return np.asarray(X * self.weights_ if self.method == "weights" else X @ self.omega_.T)

    @available_if(_has_map)
    def fit_transform(self, X: Any, y: Any, *, subset: Any = None) -> Any:
        """`fit` to the positions y, then `transform` of the same rows."""
        return self.fit(X, y, subset=subset).transform(X)

    @available_if(_has_map)
    def project(self, X: Any, n_components: int = 2) -> Numbers:
        """The linear display of the rows: the leading eigenvectors of Lambda, each as long as its share (4.2.5)."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, dtype=np.float64)
        return np.asarray(X @ canonical_omega(self.omega_)[:n_components].T)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that `transform` gives."""
        check_is_fitted(self)
        if self.method == "weights":
            return np.asarray(check_feature_names_in(self, input_features))
        return np.array([f"omega{row}" for row in range(len(self.omega_))], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        if _has_map(self):
            tags.transformer_tags = TransformerTags(preserves_dtype=["float64"])
        return tags


def corrected_threshold(null: Numbers, n_features: int) -> float:
    """What the largest of so many irrelevant features exceeds in one of twenty tables.

    With twenty copies per feature that is the largest of all copies. With fewer, a Gaussian tail goes on from there:
    mean plus as many deviations as one in ``20 n_features`` values lies beyond (Bonferroni).
    """
    largest = float(null.max())
    if len(null) >= COPIES_PER_FEATURE * n_features or len(null) < 2:
        return largest
    beyond = float(norm.isf(1 / (COPIES_PER_FEATURE * n_features)))
    return max(largest, float(null.mean() + beyond * null.std(ddof=1)))


def relevance_curve(model: Any, X: Any, Y: Any, n_neighbors: Sequence[int], *, subset: Any = None) -> Numbers:
    """The relevances of features for several neighbourhood sizes.

    Parameters
    ----------
    model : FeatureRelevance
        Its settings; it is cloned and stays as it is.
    X, Y : rows, and their positions on the map
    n_neighbors : sizes
    subset : rows whose neighbourhoods are judged, default=None

    Returns
    -------
    array (len(n_neighbors), n_features)

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> relevance_curve(FeatureRelevance(random_state=0), X, X[:, :2], [5, 10]).shape
    (2, 3)
    """
    each = (clone(model).set_params(n_neighbors=int(k), n_permuted=0) for k in n_neighbors)
    return np.array([one.fit(X, Y, subset=subset).relevance_ for one in each])


def relevance_by_group(model: Any, X: Any, Y: Any, groups: NDArray[Any]) -> tuple[NDArray[Any], list[Any]]:
    """What arranges each group: a model per group, fitted to the neighbourhoods of its rows.

    Parameters
    ----------
    model : FeatureRelevance
        Its settings; it is cloned and stays as it is.
    X, Y : rows, and their positions on the map
    groups : a label per row, such as clusters or classes

    Returns
    -------
    names : array of the groups
    models : list of fitted FeatureRelevance, in the same order

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(40, 3))
    >>> names, models = relevance_by_group(FeatureRelevance(random_state=0), X, X[:, :2], ["a", "b"] * 20)
    >>> len(models)
    2
    """
    groups = np.asarray(groups)
    names = np.unique(groups)
    return names, [clone(model).fit(X, Y, subset=groups == name) for name in names]


def permuted_columns(X: Numbers, units: Rows | None, rng: np.random.Generator) -> Numbers:
    """Every column in an order of its own: of its rows or, if rows come in units, of its units."""
    if units is None:
        return rng.permuted(X, axis=0)
    every = np.arange(len(X))
    return np.stack([exchange_units(column, every, units, rng) for column in X.T], axis=1)


def _check_positions(Y: Any, n_rows: int) -> Numbers:
    if hasattr(Y, "to_numpy"):
        Y = Y.to_numpy()
    try:
        Y = np.asarray(Y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"Y must hold the positions of the rows as numbers: {error}") from error
    if Y.ndim == 1:
        Y = Y[:, None]
    if Y.ndim != 2 or len(Y) != n_rows or not Y.shape[1]:
        raise InputError(f"Y has shape {Y.shape} and X has {n_rows} rows: a position is needed for each row.")
    if not np.isfinite(Y).all():
        raise InputError(f"Y contains {int((~np.isfinite(Y)).sum())} entries that are NaN or infinity.")
    return np.asarray(Y)


def _check_subset(subset: Any, n_rows: int) -> Rows:
    if subset is None:
        return np.arange(n_rows)
    subset = np.asarray(subset)
    if subset.dtype == bool and subset.shape != (n_rows,):
        raise InputError(f"subset is a mask of shape {subset.shape}; X has {n_rows} rows.")
    rows = np.flatnonzero(subset) if subset.dtype == bool else np.unique(subset)
    if not len(rows) or rows.dtype.kind not in "iu" or rows[0] < 0 or rows[-1] >= n_rows:
        raise InputError(f"subset must name at least one row, between 0 and {n_rows - 1}; got {subset!r}.")
    return rows


def _possible_neighbors(n_neighbors: int, n_rows: int) -> int:
    """The neighbourhood size, or half of the other rows, with a warning: among almost all rows nothing is near."""
    most = max(1, (n_rows - 1) // 2)
    if n_neighbors <= most:
        return n_neighbors
    warnings.warn(
        f"n_neighbors={n_neighbors} is too large for {n_rows} rows; {most} is used.", PrismapWarning, stacklevel=3
    )
    return most
