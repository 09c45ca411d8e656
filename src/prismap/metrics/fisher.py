"""The Fisher metric: distance as change of what is known about a target.

The tensor ``J(x) = E_{p(c|x)} [ grad log p(c|x) grad log p(c|x)^T ]`` (000_ eq. 1, thesis eq. 2.13) measures how much a
small step changes the class posterior; the length of a straight segment under it is the distance. Directions that do
not matter for the target cost nothing, directions that do cost much.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from prismap._affinities import mean_bandwidth
from prismap._blocks import WORKING_BYTES, require_memory, row_blocks
from prismap._random import as_generator
from prismap._search import check_n_neighbors, smallest
from prismap._validation import encode_classes, is_fitted
from prismap.exceptions import InputError, PrismapWarning
from prismap.metrics.anchors import FisherAnchors, RowwiseAnchors
from prismap.metrics.base import Metric
from prismap.metrics.gaussian_process import GaussianProcess, most_support, target_bins
from prismap.metrics.geometry import DataMetric, FittedIndex, SimilarityMetric, data_metric
from prismap.metrics.graph import SegmentGraph
from prismap.metrics.models import SEGMENT_FOLDS, PredictedLabels, check_model, is_model
from prismap.metrics.segments import SegmentRule
from prismap.metrics.sources import (
    GaussianProcessSource,
    MachineSource,
    ModelSource,
    RegressorSource,
    SegmentModelSource,
    choose_source,
    parzen_source,
    predicted_source,
)
from prismap.metrics.support import stratified_folds, stratified_support
from prismap.metrics.target import resolve_target
from prismap.metrics.tiles import fill_pairs
from prismap.metrics.trees import TreesSource

N_FOLDS = 10
#: Support rows when `n_support` is None: enough for a good posterior, few enough for a large n.
MOST_SUPPORT = 4000
#: Rows that the bandwidth is averaged over.
BANDWIDTH_ROWS = 1000


class FisherMetric(Metric):
    """Distances that measure change in what is known about a target: classes, or a real number (or several).

    Parameters
    ----------
    target : "auto", "class" or "real"
        What y is; "auto" looks (`prismap.metrics.target`). Real targets may be several, one a column of y.
    data : {"vectors", "similarity", "dissimilarity"} or a metric of the data
        What X is: rows of features, or a square matrix between rows. ``SimilarityMetric(repair=...)`` says what is done
        about negative eigenvalues of a similarity matrix.
    posterior : "auto", "parzen", "lssvm", "trees" or a classifier; "gp" or a regressor (real target); `PredictedLabels`
        The estimate of the class posterior: Gaussian kernels on support rows, a least-squares support vector machine on
        the profiles, a forest ("trees", vectors only: it selects features and does not care for scales), or any
        classifier with ``predict_proba`` (vectors only; an unfitted one is cloned and fitted in folds, so that no row
        is judged by a model that saw it; a fitted one is used as it is, in-sample). "auto" takes
        the better of the first two by out-of-fold log-loss; with supervision 1 it is "parzen", because the others do
        not see what lies between rows, and without a Euclidean part would merge all clusters of a class.
        A real target has a Gaussian process: "auto" and "gp" find its hyper-parameters by marginal likelihood,
        `prismap.metrics.gaussian_process.GaussianProcess` gives them; or a regressor, as classifiers
        (`prismap.metrics.models`). ``PredictedLabels(model)`` puts a model's predictions in the place of y.
    path : "chord", "tangent" or "graph"
        Arcs between posteriors at nodes of the straight segment (the default), speeds at nodes as published, or
        shortest paths over a graph whose edges are such segments: all of them up to 1,000 rows, those to the nearest
        neighbours beyond. Only "graph" is sure to keep the triangle inequality.
    n_segments : int or "auto"
        Sub-segments of a straight segment. "auto" is 1 where a posterior knows rows only; "parzen" and "gp" take as
        many as a sample of pairs needs to be within 2 % of 64, lengths extrapolated (`n_segments_` says how many). A
        number means exactly that, without extrapolation. More than one asks a model at points between rows, in
        `kneighbors` for candidates only; "lssvm" knows rows only.
    symmetric : bool
        For ``path="tangent"``: nodes mirrored about the middle; False takes left nodes, as in the thesis.
    supervision : float in [0, 1]
        w in the tensor ``w J + (1-w) I / sigma^2``. 1 is the pure Fisher metric, 0 the Euclidean one over sigma.
    cross_fit : bool
        Whether a pair of rows is judged by support outside their folds. False is the published estimate, which pulls
        every row towards its own label, even when labels are noise.
    n_support : int or None
        Support rows, drawn with equal shares of the classes; None takes all labelled rows up to 4000 (1000 to 300
        for a real target, by the number of rows: its cost grows faster).
    perplexity : float
        Effective number of neighbours that fixes the bandwidth: the mean of the calibrated ones.
    n_jobs : int or None
        Threads; None takes all cores. The result does not depend on it.
    random_state : seed of support and folds.

    Attributes
    ----------
    bandwidth_ : sigma.
    support_ : indices of the support rows.
    folds_ : the fold of each fitted row, -1 where it is not support (or without cross-fitting).
    target_ : "class", "real" or "none".
    classes_ : the classes; empty for a real target.
    posterior_ : the posterior object; its name is in ``repr``.
    log_losses_ : out-of-fold log-losses that ``posterior="auto"`` chose by.
    n_rows_ : number of fitted rows.
    n_segments_ : sub-segments in use.

    Notes
    -----
    All pairs of n rows with T sub-segments cost (T - 1) matrix products of n x |S| with |S| x n, and as many
    element-wise passes over n x n as there are classes; memory is the result and n x |S|. `kneighbors` keeps no n x n.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = FisherMetric(random_state=0).fit(X, y)
    >>> metric.pairwise().shape
    (150, 150)
    """

    _parameter_constraints = {
        "target": [StrOptions({"auto", "class", "real"})],
        "data": [StrOptions({"vectors", "similarity", "dissimilarity"}), DataMetric],
        "posterior": [StrOptions({"auto", "parzen", "lssvm", "trees", "gp"}), BaseEstimator, HasMethods("predict")],
        "path": [StrOptions({"chord", "tangent", "graph"})],
        "n_segments": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "symmetric": ["boolean"],
        "supervision": [Interval(Real, 0, 1, closed="both")],
        "cross_fit": ["boolean"],
        "n_support": [Interval(Integral, 2, None, closed="left"), None],
        "perplexity": [Interval(Real, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, target="auto", *, data="vectors", posterior="auto", path="chord", n_segments="auto", symmetric=True,
        supervision=1.0, cross_fit=True, n_support=None, perplexity=30, n_jobs=None, random_state=None,
    ):  # fmt: skip
        self.target = target
        self.data = data
        self.posterior = posterior
        self.path = path
        self.n_segments = n_segments
        self.symmetric = symmetric
        self.supervision = supervision
        self.cross_fit = cross_fit
        self.n_support = n_support
        self.perplexity = perplexity
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y=None):
        """Estimate the posterior of y on the rows of X."""
        self._validate_params()
        data = data_metric(self.data)
        return self.fit_on(data.over(data.read(self, X)), y)

    def fit_on(self, data, y=None):
        """The same on the fitted metric of the data's own distances, whose rows are checked already."""
        self.geometry_, self.n_rows_ = data, data.n_rows_
        self.n_features_in_ = data.n_features_in_
        rng = as_generator(self.random_state)
        if self.supervision == 0:
            y = None
        elif y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Without a target set "
                "supervision=0, which gives Euclidean distances over the bandwidth."
            )
        values, codes = self._read_target(y)
        self.support_ = stratified_support(codes, self.n_support or self._most_support(), rng)
        self.bandwidth_ = self._fit_bandwidth(rng)
        self.folds_ = np.full(self.n_rows_, -1, dtype=np.intp)
        fitted_before = is_model(self.posterior) and is_fitted(self.posterior)
        if self.cross_fit and y is not None and not fitted_before:
            n_folds = SEGMENT_FOLDS if is_model(self.posterior) and self.n_segments not in (1, "auto") else N_FOLDS
            n_folds = min(n_folds, max(3, len(self.support_) // 2))
            self.folds_[self.support_] = stratified_folds(codes[self.support_], n_folds, rng)
        self._prepare(values, rng)
        return self

    def _read_target(self, y):
        """Class codes or real values (None without a target), and the codes that support and folds take shares of."""
        self.classes_, self.target_ = np.empty(0), "none"
        if y is None:
            return None, np.zeros(self.n_rows_, dtype=np.intp)
        self.target_, values = resolve_target(
            y, self.n_rows_, self.target, X=self.geometry_.rows_, data=self.geometry_.kind
        )
        if self.target_ == "real":
            values = values.reshape(self.n_rows_, -1)
            return values, target_bins(values)
        self.classes_, codes = encode_classes(y, self.n_rows_)
        return codes, codes

    def _most_support(self):
        """Support rows when no number is given: a model is fitted to all there are."""
        if is_model(self.posterior):
            return self.n_rows_
        return most_support(self.n_rows_) if self.target_ == "real" else MOST_SUPPORT

    def _fit_bandwidth(self, rng):
        sample = self.support_
        if len(sample) > BANDWIDTH_ROWS:
            sample = np.sort(rng.choice(sample, BANDWIDTH_ROWS, replace=False))
        D2 = self.geometry_.squared_to(FittedIndex(sample), self.support_).astype(np.float64)
        D2[sample[:, None] == self.support_[None, :]] = np.inf
        most = max(1.0, (len(self.support_) - 1) / 3)
        if self.perplexity > most:
            warnings.warn(
                f"perplexity={self.perplexity:g} is too large for {len(self.support_)} support rows and was lowered to "
                f"{most:.3g}.",
                PrismapWarning,
                stacklevel=3,
            )
        return mean_bandwidth(D2, min(self.perplexity, most))

    def _prepare(self, values, rng=None, state=None):
        """The posterior and the state of the fitted rows, from support, folds and bandwidth."""
        self._source: Any = None
        self.n_segments_ = 1 if self.n_segments == "auto" else self.n_segments
        self.segments_open, self.extrapolated_ = False, False
        # Files of the first version know no rule: there, two sub-segments were all that "auto" meant.
        self._stored_segments = None if state is None else state.get("segments", (2, 0))
        if values is not None:
            make = self._make_real_source if self.target_ == "real" else self._make_source
            self._source = make(values, rng, state)
            self.posterior_ = self._source.posterior
        self._order = np.arange(self.n_rows_) if self._source is None else self._source.order
        self._place = np.argsort(self._order)
        self._graph: Any = None
        if self.path == "graph":
            self._graph = SegmentGraph(self._straight, lambda k: self._straight_neighbors(None, k), self.n_rows_)

    def _make_source(self, codes, rng, state):
        """The source of the posterior by name, by out-of-fold log-loss, from a classifier, or from stored arrays."""
        if state is not None and "trees_value" in state:
            return TreesSource.restore(self, state)
        if state is not None and "probabilities" in state:
            return MachineSource.restore(self, state)
        kind = self.posterior if isinstance(self.posterior, str) else "model"
        if kind == "gp" or isinstance(self.posterior, GaussianProcess):
            raise InputError(
                f"posterior={self.posterior!r} is for a real target and y holds classes; set target='real' if they are "
                "quantities, or use 'auto'."
            )
        if self.path == "tangent" or (state is not None and kind == "auto"):
            kind = "parzen" if kind == "auto" else kind
        if self.n_segments == "auto" and (kind in ("auto", "parzen") or not is_model(self.posterior)):
            self._look_between_rows()
        if isinstance(self.posterior, PredictedLabels):
            return predicted_source(self, codes, rng)
        if is_model(self.posterior):
            return self._make_model_source(codes)
        if kind == "auto":
            if self.n_segments not in ("auto", 1) or self.supervision == 1:
                source = parzen_source(self, codes, rng, state)
                self.n_segments_ = min(self.n_segments_, source.most_segments or self.n_segments_)
                return source
            source, self.log_losses_ = choose_source(self, codes, rng)
        else:
            make = {"lssvm": MachineSource, "trees": TreesSource}.get(kind, parzen_source)
            source = make(self, codes, rng) if make is not parzen_source else make(self, codes, rng, state)
        self.n_segments_ = min(self.n_segments_, source.most_segments or self.n_segments_)
        if self.n_segments not in ("auto", self.n_segments_) or (self.path == "tangent" and source.most_segments):
            raise InputError(
                f"posterior={kind!r} knows probabilities at the rows only: path must be 'chord' or 'graph' and "
                f"n_segments 1 or 'auto'; got path={self.path!r}, n_segments={self.n_segments!r}."
            )
        return source

    def _look_between_rows(self):
        """Let a posterior that knows what lies between rows find its sub-segments, or take them from stored arrays."""
        self.n_segments_ = 2
        if self._stored_segments is not None:
            self.n_segments_, self.extrapolated_ = int(self._stored_segments[0]), bool(self._stored_segments[1])
        elif self.path != "tangent":
            self.segments_open = True

    def _make_model_source(self, values):
        """A classifier or regressor, at the rows or along segments."""
        check_model(self.posterior, self.geometry_, classes=self.target_ == "class")
        if self.path == "tangent":
            raise InputError("a model as posterior has no derivative: path must be 'chord' or 'graph', not 'tangent'.")
        at_rows = ModelSource if self.target_ == "class" else RegressorSource
        return (SegmentModelSource if self.n_segments_ > 1 else at_rows)(self, values, self.posterior)

    def _make_real_source(self, values, rng, state):
        """The Gaussian process, its hyper-parameters found, given, or from stored arrays; or a regressor."""
        if isinstance(self.posterior, str) and self.posterior not in ("auto", "gp"):
            raise InputError(
                f"posterior={self.posterior!r} is for classes and y is a real target; use 'auto' or 'gp', or set "
                "target='class'."
            )
        if is_model(self.posterior):
            return self._make_model_source(values)
        if self.n_segments == "auto":
            self._look_between_rows()
        if isinstance(self.posterior, PredictedLabels):
            return predicted_source(self, values, rng)
        return GaussianProcessSource(self, values, rng, state)

    @property
    def raw_rows_(self):
        """The fitted vectors as they were given."""
        return self.uncentred(FittedIndex(slice(None)))

    def uncentred(self, rows):
        """Vectors as the user gave them: new rows are, fitted ones are kept centred."""
        if not isinstance(rows, FittedIndex):
            return rows
        kept = self.geometry_.rows_[rows.index]
        return kept if self.geometry_.center is None else kept + self.geometry_.center

    def pairwise(self, A=None, B=None, *, self_similarity=None):
        """Distances between rows A and rows B, (n_A, n_B).

        None stands for the fitted rows, cross-fitted; given rows are new, whatever their values: they exclude nothing
        of the support. For matrix data a new row is given by its entries against all fitted rows, and its
        `self_similarity` where `prismap.metrics.geometry` cannot know it; two sets of new rows need supervision 1.
        """
        check_is_fitted(self, "bandwidth_")
        A, B = self._new_rows(A), self._new_rows(B)
        n_a, n_b = (self.n_rows_ if rows is None else rows.shape[0] for rows in (A, B))
        require_memory(
            float(self.geometry_.dtype.itemsize) * n_a * n_b, "The matrix of all distances", "Use kneighbors."
        )
        if hasattr(self._source, "require_evaluations"):
            self._source.require_evaluations(n_a * n_b // (2 if A is None and B is None else 1))
        if self._graph is None:
            return self._straight(A, B, self_similarity)
        if A is None and B is not None:
            return self._along_graph(B).T
        if B is not None:
            raise InputError("path='graph' knows distances to the fitted rows only; leave B out.")
        return self._along_graph(A)

    def distances_to(self, A, B):
        """Distances of rows A, new ones or a `FittedIndex`, to the fitted rows of the `FittedIndex` B, unchecked."""
        return self._straight(A, B) if self._graph is None else self._along_graph(A)[:, B.index]

    def to_anchors(self, anchors):
        """What measures the distances of new rows to some of the fitted ones."""
        rowwise = hasattr(self._source, "fitted_probabilities") and self._graph is None
        return (RowwiseAnchors if rowwise else FisherAnchors)(self, anchors)

    def fitted_roots(self):
        """Square roots of the fitted rows' class probabilities, where the posterior is known at the rows."""
        return self._source.rows.root

    def roots_of_new(self, rows, own=None):
        """The same of new rows; `own` is what the data's own geometry saw of them."""
        return self._source.new_roots(rows, own)

    def between(self, a, b):
        """Distances between fitted rows by their indices, cross-fitted."""
        return self.distances_to(FittedIndex(np.asarray(a)), FittedIndex(np.asarray(b)))

    def kneighbors(self, A=None, n_neighbors=90):
        """Nearest fitted rows of A: (distances, indices), nearest first; exact, in blocks.

        For ``A=None`` the fitted rows, cross-fitted, and no row is its own neighbour.
        """
        check_is_fitted(self, "bandwidth_")
        A = self._new_rows(A)
        n_neighbors = check_n_neighbors(n_neighbors, self.n_rows_, own=A is None)
        if self._graph is None:
            return self._straight_neighbors(A, n_neighbors)
        return self._neighbors(A, n_neighbors, self._along_graph)

    def _straight_neighbors(self, A, n_neighbors):
        if hasattr(self._source, "neighbors"):
            return self._source.neighbors(A, n_neighbors)
        return self._neighbors(A, n_neighbors, self._straight)

    def _neighbors(self, A, n_neighbors, distances_of):
        n_rows = self.n_rows_ if A is None else A.shape[0]
        distances = np.empty((n_rows, n_neighbors), dtype=self.geometry_.dtype)
        indices = np.empty((n_rows, n_neighbors), dtype=np.intp)
        for rows in row_blocks(n_rows, 4.0 * self.geometry_.dtype.itemsize * self.n_rows_, WORKING_BYTES, at_least=64):
            D = distances_of(FittedIndex(np.arange(rows.start, rows.stop)) if A is None else A[rows])
            if A is None:
                D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = np.inf
            distances[rows], indices[rows] = smallest(D, n_neighbors)
        return distances, indices

    def _along_graph(self, A=None):
        """Shortest paths from rows A to all fitted rows."""
        if A is None or isinstance(A, FittedIndex):
            D = self._graph.paths(None if A is None else A.index)
        else:
            D = self._graph.paths_of_new(*self._straight_neighbors(A, self._graph.n_entries))
        return D.astype(self.geometry_.dtype)

    def _straight(self, A=None, B=None, self_similarity=None):
        """Lengths of the straight segments between rows A and B, each None, a `FittedIndex` or new rows."""
        (key_a, order_a), (key_b, order_b) = self._sorted_side(A), self._sorted_side(B)
        steps: Any = None
        if self.supervision < 1:
            steps = self._squared_steps(key_a, key_b, self_similarity)
        if self.supervision == 0:
            return unsort(np.sqrt(steps), order_a, order_b)
        rows_a, rows_b = self._state(key_a, self_similarity), self._state(key_b)
        rule = getattr(self.posterior_, "rule", SegmentRule(n_segments=self.n_segments_))
        chunk_rows = self.posterior_.chunk_rows() if hasattr(self.posterior_, "chunk_rows") else None

        def lengths(block, chunk_a, chunk_b, a, b):
            part = None if steps is None else steps[chunk_a, chunk_b][a, b]
            return rule.length(block.sub_lengths(a, b), self.supervision, part)

        out = np.empty((len(rows_a), len(rows_b)), dtype=self.geometry_.dtype)
        same = A is None and B is None and (self.path != "tangent" or self.symmetric)
        fill_pairs(
            out, rows_a.fold, rows_b.fold, lambda a, b: self.posterior_.block(rows_a.take(a), rows_b.take(b)), lengths,
            same=same, chunk_rows=chunk_rows, n_jobs=self.n_jobs,
        )  # fmt: skip
        if A is None and B is None:
            np.fill_diagonal(out, 0)
        return unsort(out, order_a, order_b)

    def _sorted_side(self, rows):
        """Rows sorted by fold, as the geometry takes them, and the order that was applied (None if none)."""
        if rows is None:
            return FittedIndex(self._order), self._order
        if isinstance(rows, FittedIndex):
            order = np.argsort(self._place[rows.index], kind="stable")
            return FittedIndex(rows.index[order]), order
        return rows, None

    def _state(self, key, self_similarity=None):
        """The posterior's state of rows that are sorted by fold."""
        if isinstance(key, FittedIndex):
            rows = self._source.rows
            return rows if key.index is self._order else rows.take(self._place[key.index])
        return self._source.new(key, self_similarity)

    def _squared_steps(self, A, B, self_similarity=None):
        """``||x - x'||^2 / sigma^2`` of all pairs, not negative."""
        if isinstance(B, FittedIndex):
            self._demand_self_similarity(A, self_similarity)
            D2 = self.geometry_.squared_to(A, B.index, self_similarity)
        elif isinstance(A, FittedIndex):
            return self._squared_steps(B, A).T
        else:
            D2 = self.geometry_.squared_between(A, B)
        return np.maximum(D2, 0) / self.geometry_.dtype.type(self.bandwidth_**2)

    def _demand_self_similarity(self, A, given):
        geometry = self.geometry_
        if given is not None or isinstance(A, FittedIndex) or not isinstance(geometry, SimilarityMetric):
            return
        if not geometry.self_similarity_known:
            raise InputError(
                "the similarities of new rows to themselves are needed (supervision < 1 or a real target, "
                "repair='none' or 'shift', and a diagonal that is not constant): pass self_similarity=, one number a "
                "new row."
            )

    def _new_rows(self, rows):
        if rows is None:
            return None
        rows = self.geometry_.read(self, rows, reset=False)
        return rows.astype(self.geometry_.dtype, copy=False)

    def class_probabilities(self, A=None):
        """Class posteriors of rows A; of the fitted rows, each without the support of its own fold, where None."""
        check_is_fitted(self, "posterior_")
        if self.target_ == "real":
            raise InputError("a real target has no class probabilities; target_moments gives its mean and variance.")
        if A is None:
            return self.posterior_.probabilities(self._source.rows)[self._place]
        return self.posterior_.probabilities(self._state(self._new_rows(A)))

    def target_moments(self, A=None):
        """Means and variances, (n, targets) each, of real targets at rows A; None: the fitted rows, cross-fitted."""
        check_is_fitted(self, "posterior_")
        if self.target_ != "real":
            raise InputError("classes have no mean; class_probabilities gives their posterior.")
        if A is None:
            return tuple(part[self._place] for part in self.posterior_.moments(self._source.rows))
        return self.posterior_.moments(self._state(self._new_rows(A)))

    def tensor_factor(self, A=None):
        """Factors F (n, C, D) of the Fisher tensor of each row, ``J = sum_c F_c F_c^T``; vectors only.

        ``F_c = sqrt(p_c) (E[x_l | x, c] - E[x_l | x]) / sigma^2`` (000_ eq. 5 to 7); ``grad m / sqrt(v)`` and
        ``grad v / (sqrt(2) v)`` for a real target (thesis eq. 2.40).
        """
        check_is_fitted(self, "posterior_")
        if not hasattr(self.posterior_, "tensor_factor"):
            raise InputError(f"the {self.posterior_.name} posterior has no tensor; use posterior='parzen'.")
        if self._is_matrix():
            raise InputError("the tensor has no coordinates for similarity or dissimilarity data; use pairwise.")
        key, order = self._sorted_side(self._new_rows(A))
        support = self.geometry_.rows_[self.support_]
        support = support.toarray() if sp.issparse(support) else support
        factors = self.posterior_.tensor_factor(self._state(key), support)
        if order is None:
            return factors
        out = np.empty_like(factors)
        out[order] = factors
        return out

    def tensor(self, A=None):
        """The tensor ``w J + (1-w) I / sigma^2`` of each row, (n, D, D); vectors only.

        `tensor_factor` is the cheap form.
        """
        n_rows = self.n_rows_ if A is None else np.shape(A)[0]
        D = self.n_features_in_
        require_memory(8.0 * n_rows * D * D, "The tensors of all rows", "Use tensor_factor, or fewer rows.")
        tensor = np.zeros((n_rows, D, D), dtype=self.geometry_.dtype)
        if self.supervision > 0:
            F = self.tensor_factor(A)
            tensor = self.supervision * np.einsum("ncd,nce->nde", F, F, optimize=True)
        tensor[:, np.arange(D), np.arange(D)] += (1 - self.supervision) / self.bandwidth_**2
        return tensor

    def describe(self):
        """The posterior, how it was fitted and what is approximated, in words."""
        words = [self.posterior_.name, self._source.judged]
        if self.extrapolated_:
            words.append(f"{self.n_segments_} sub-segments, extrapolated")
        if self._graph is not None:
            words.append(self._graph.describe())
        return ", ".join(words)

    def state(self):
        """What, with the fitted rows and their target, makes this metric again: arrays by name."""
        if is_model(self.posterior) or isinstance(self.posterior, PredictedLabels):
            # A model is code; a file without pickle cannot hold it.
            raise InputError("a metric whose posterior is a model object cannot be saved; use a named posterior.")
        own = {} if self._source is None else self._source.state()
        segments = np.array([self.n_segments_, int(self.extrapolated_)])
        bandwidth = np.array(self.bandwidth_)
        return {"support": self.support_, "folds": self.folds_, "bandwidth": bandwidth, "segments": segments, **own}

    def restore(self, X, y, state):
        """Become the fitted metric of rows, target and `state`, without fitting anew."""
        data = data_metric(self.data)
        return self.restore_on(data.over(data.read(self, X)), y, state)

    def restore_on(self, data, y, state):
        """The same on the fitted metric of the data's own distances."""
        self.geometry_, self.n_rows_, self.n_features_in_ = data, data.n_rows_, data.n_features_in_
        self.support_, self.folds_, self.bandwidth_ = state["support"], state["folds"], float(state["bandwidth"])
        self._prepare(self._read_target(None if self.supervision == 0 else y)[0], state=state)
        return self

    def _is_matrix(self):
        return data_metric(self.data).is_matrix

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_matrix()
        tags.input_tags.pairwise = self._is_matrix()
        tags.target_tags.required = self.supervision > 0
        return tags

    def __repr__(self, N_CHAR_MAX=700):
        text = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "posterior_"):
            return text
        return f"{text} <posterior: {self.describe()}; bandwidth {self.bandwidth_:.4g}>"


def unsort(D, order_rows, order_columns):
    """Undo the sorting of rows and columns of a matrix (None: they were not sorted)."""
    if order_rows is not None:
        D = D[np.argsort(order_rows)]
    if order_columns is not None:
        D = D[:, np.argsort(order_columns)]
    return D
