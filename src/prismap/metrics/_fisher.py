"""The Fisher metric: distance as change of what is known about a target.

The tensor ``J(x) = E_{p(c|x)} [ grad log p(c|x) grad log p(c|x)^T ]`` (Schulz et al. 2017, eq. 1) measures how much a
small step changes the class posterior; the length of a straight segment under it is the distance. Directions that do
not matter for the target cost nothing, directions that do cost much.
"""

from __future__ import annotations

from copy import copy
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from prismap._util.affinities import lower_perplexity, mean_bandwidth
from prismap._util.blocks import WORKING_BYTES, require_memory, row_blocks
from prismap._util.missing import require_complete
from prismap._util.params import HasMethods, Interval, StrOptions
from prismap._util.random import as_generator
from prismap._util.search import check_n_neighbors, smallest
from prismap.comparisons import Objects
from prismap.exceptions import InputError
from prismap.metrics._anchors import FisherAnchors
from prismap.metrics._base import Metric
from prismap.metrics._baseline import support_by_baseline
from prismap.metrics._geodesic import geodesic
from prismap.metrics._geometry import DATA, DataMetric, FittedIndex, data_metric
from prismap.metrics._segments import SegmentGraph, SegmentRule, fill_pairs
from prismap.metrics.posteriors._base import MOST_SUPPORT, Context, Posterior
from prismap.metrics.posteriors._choice import is_cross_fitted, posterior_of
from prismap.metrics.posteriors._models import is_model
from prismap.metrics.posteriors._several_targets import SeveralTargets
from prismap.target import NoTarget, equal_rows, make_target


class FisherMetric(Metric):
    """Distances that measure change in what is known about a target: classes, or a real number (or several).

    Parameters
    ----------
    target : {"auto", "class", "ordered", "real"} or list of these, default="auto"
        What y is; "auto" decides by its values and by the rows (`prismap.target`). y may have several columns, of one
        kind or with a kind each: their tensors are added (`prismap.metrics.SeveralTargets`).
    data : {"vectors", "similarity", "dissimilarity"} or a metric of the data
        What X is: rows of features, or a square matrix between rows. ``SimilarityMetric(repair=...)`` says what is done
        about negative eigenvalues of a similarity matrix.
    posterior : str, posterior or model, default="auto"
        The estimate of the target's distribution: an object of `prismap.metrics.posteriors`, its name, or a model. For
        classes "parzen" (Gaussian kernels on support rows), "lssvm" (a least-squares support vector machine on the
        profiles), "trees" (a forest; vectors only) or any classifier with ``predict_proba`` (vectors only; an unfitted
        one is cloned and fitted in folds, so that no row is judged by a model that saw it; a fitted one is used as it
        is, in-sample). "auto" takes, by out-of-fold log-loss, Parzen or the best mean of the machine and linear
        discriminants, and "parzen" with supervision 1. For a real target "gp", a Gaussian process, or any regressor.
        ``PredictedLabels(model)`` puts a model's predictions in the place of y.
    path : {"chord", "tangent", "tangent-left", "tangent-squared", "graph", "tangent-graph"}, default="chord"
        Arcs between posteriors at nodes of the straight segment; speeds at nodes as published, mirrored about the
        middle or at left nodes (Schulz 2017, eq. 2.18; "parzen", "gp", and classifiers with a derivative: `RSLVQ`,
        logistic regression, ...); or shortest paths over a graph whose edges are such segments: all of them up to
        1,000 rows, those to the nearest neighbours beyond. Only "graph" is sure to keep the triangle inequality.
        "tangent-graph" has edges of speeds, as published. "tangent-squared" adds up squares at left nodes and takes no
        root, as printed in Gisbrecht et al. (2015, sec. 4.1) and Schulz (2017, eq. 2.17): not a length.
    n_segments : int or "auto", default="auto"
        Sub-segments of a straight segment. "auto" is 1 where a posterior knows rows only; "parzen" and "gp" take as
        many as a sample of pairs needs to be within 2 % of 64, lengths extrapolated (`n_segments_` says how many; a
        process takes 4 at most). A number means exactly that, without extrapolation. More than one asks a model at
        points between rows, in `kneighbors` for candidates only; "lssvm" knows rows only.
    supervision : float in [0, 1], default=1.0
        w in the tensor ``w J + (1-w) I / sigma^2``. 1 is the pure Fisher metric, 0 the Euclidean one over sigma.
    cross_fit : bool, default=True
        Whether a pair of rows is judged by support outside their folds. False is the published estimate, which pulls
        every row towards its own label, even when labels are noise.
    perplexity : float, default=30
        Effective number of neighbours that fixes the bandwidth sigma: the mean of the calibrated ones.
    random_state : int, RandomState instance or None, default=None
        Seed of support and folds.

    Attributes
    ----------
    bandwidth_ : float
        sigma.
    support_ : array
        Indices of the support rows.
    support_curve_ : tuple of (int, float)
        Sizes that ``Parzen(n_support="baseline")`` tried, and the error of each with permuted labels.
    folds_ : array (n_rows_,)
        The fold of each fitted row, -1 where it is not support (or without cross-fitting).
    target_ : {"class", "real", "none"} or tuple
        What y was taken for: several columns, and ordered classes, have a kind per column.
    classes_ : array or tuple of arrays
        The classes that rows have; empty for a real target. Of several columns, those of each; None for a quantity.
    data_ : metric
        The fitted metric of the data's own distances.
    posterior_ : posterior
        The fitted posterior; its name is in ``repr``.
    log_losses_ : dict
        Out-of-fold log-losses that ``posterior="auto"`` chose by.
    n_rows_, n_segments_ : int
        Number of fitted rows, and of sub-segments in use.

    See Also
    --------
    prismap.PrisMap : A map that is made by this metric.
    prismap.metrics.Parzen : The posterior of the papers, with its support and bandwidth.
    prismap.inspection.FisherDisplay : The metric of a plane as ellipses and paths.

    Notes
    -----
    All pairs of n rows with T sub-segments cost (T - 1) matrix products of n x |S| with |S| x n, and as many
    element-wise passes over n x n as there are classes; memory is the result and n x |S|. `kneighbors` keeps no n x n.

    References
    ----------
    J. Peltonen, A. Klami, S. Kaski (2004), Improved learning of Riemannian metrics for exploratory analysis. A. Schulz,
    J. Brinkrolf, B. Hammer (2017), Efficient kernelisation of discriminative dimensionality reduction, sec. 2 and 3. A.
    Schulz (2017), thesis, sec. 2.3 to 2.6.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = FisherMetric(random_state=0).fit(X, y)
    >>> metric.pairwise().shape
    (150, 150)
    """

    _parameter_constraints = {
        "target": [StrOptions({"auto", "class", "ordered", "real"}), list, tuple],
        "data": [StrOptions(set(DATA)), DataMetric, Objects],
        "posterior": [StrOptions({"auto", "parzen", "lssvm", "trees", "gp"}), BaseEstimator, HasMethods("predict")],
        "path": [StrOptions({"chord", "tangent", "tangent-left", "tangent-squared", "graph", "tangent-graph"})],
        "n_segments": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "supervision": [Interval(Real, 0, 1, closed="both")],
        "cross_fit": ["boolean"],
        "perplexity": [Interval(Real, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, target="auto", *, data="vectors", posterior="auto", path="chord", n_segments="auto", supervision=1.0,
        cross_fit=True, perplexity=30, random_state=None,
    ):  # fmt: skip
        self.target = target
        self.data = data
        self.posterior = posterior
        self.path = path
        self.n_segments = n_segments
        self.supervision = supervision
        self.cross_fit = cross_fit
        self.perplexity = perplexity
        self.random_state = random_state

    def fit(self, X, y=None):
        """Estimate the posterior of y on the rows of X."""
        self._validate_params()
        data = data_metric(self.data)
        return self.fit_on(data.over(data.read(self, X)), y)

    def fit_on(self, data, y=None):
        """The same on the fitted metric of the data's own distances, whose rows are checked already.

        y may be a `Target` that was made before.
        """
        rng, target, posterior = self._begin(data, y)
        if self.cross_fit and posterior is not None and not data.is_matrix:
            target = target.joining(equal_rows(data.rows_))
        n_support = None if posterior is None else posterior.n_support
        if n_support == "baseline":
            n_support, self.support_curve_ = support_by_baseline(self, data, target, rng)
        most = MOST_SUPPORT if posterior is None else posterior.most_support(target)
        self.support_ = target.draw(n_support or most, rng, whole_units=True)
        self.bandwidth_ = self._fit_bandwidth(rng)
        self.folds_ = np.full(self.n_rows_, -1, dtype=np.intp)
        if self.cross_fit and posterior is not None and is_cross_fitted(posterior):
            n_folds = min(posterior.n_folds, max(3, len(self.support_) // 2))
            self.folds_[self.support_] = target.folds(self.support_, n_folds, rng)
            self.folds_ = target.spread(self.folds_)
        if posterior is not None:
            self.posterior_ = posterior.fit(self._context(target, rng))
        return self._end()

    def _begin(self, data, y):
        """What a fit and a restored metric start from: randomness, target and posterior (None without a target)."""
        self.data_, self.n_rows_, self.n_features_in_ = data, data.n_rows_, data.n_features_in_
        self.__dict__.pop("posterior_", None)  # of an earlier fit
        target = self._target_of(data, y)
        self.target_: Any = target.kind
        self.classes_: Any = np.empty(0) if target.classes is None else target.classes
        options = {"n_segments": self.n_segments, "path": self.path, "data": data, "supervision": self.supervision}
        posterior = posterior_of(self.posterior, target, **options) if target.exists else None
        return as_generator(self.random_state), target, posterior

    def _target_of(self, data, y):
        """The `Target` of y, without classes that no row has."""
        if self.supervision == 0:
            return NoTarget.of(data.n_rows_)
        target = make_target(y, data.n_rows_, self.target, X=data.rows_, data=data.kind)
        if not target.exists:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Without a target set "
                "supervision=0, which gives Euclidean distances over the bandwidth."
            )
        return with_seen_classes(target)

    def _context(self, target, rng=None, stored_rule=None):
        return Context(
            data=self.data_, target=target, support=self.support_, folds=self.folds_, bandwidth=self.bandwidth_,
            perplexity=self.perplexity, path=self.path, n_segments=self.n_segments, stored_rule=stored_rule,
            supervision=self.supervision, cross_fit=self.cross_fit, rng=rng,
        )  # fmt: skip

    def _end(self):
        """What follows from a fitted posterior."""
        posterior = self._posterior()
        self._rule = SegmentRule(n_segments=1) if posterior is None else posterior.rule
        self.n_segments_, self.extrapolated_ = self._rule.n_segments, self._rule.extrapolated
        if hasattr(posterior, "log_losses"):
            self.log_losses_ = posterior.log_losses
        self._order = np.arange(self.n_rows_) if posterior is None else posterior.order
        self._place = np.argsort(self._order)
        self._graph: Any = None
        if self.path.endswith("graph"):
            self._graph = SegmentGraph(self._straight, lambda k: self._straight_neighbors(None, k), self.n_rows_)
        return self

    def _fit_bandwidth(self, rng, most_rows=1000):
        """The width that was asked for, or the mean of those of the perplexity over at most so many support rows."""
        own = isinstance(self.posterior, Posterior) and self.posterior.own_bandwidth(self.data_, self.support_)
        if own:
            return own
        sample = self.support_
        if len(sample) > most_rows:
            sample = np.sort(rng.choice(sample, most_rows, replace=False))
        D2 = self.data_.squared_to(FittedIndex(sample), self.support_).astype(np.float64)
        D2[sample[:, None] == self.support_[None, :]] = np.inf
        # In the words of the embedding where it is about the same rows, so that a map warns once.
        what = "rows" if len(self.support_) == self.n_rows_ else "support rows"
        width = mean_bandwidth(D2, lower_perplexity(self.perplexity, len(self.support_), what=what))
        return width * self.posterior.width_factor if isinstance(self.posterior, Posterior) else width

    def pairwise(self, A=None, B=None, *, self_similarity=None):
        """Distances between rows A and rows B, (n_A, n_B).

        None stands for the fitted rows, cross-fitted; given rows are new, whatever their values: they exclude nothing
        of the support. For matrix data a new row is given by its entries against all fitted rows, and its
        `self_similarity` where `prismap.metrics._geometry` cannot know it; two sets of new rows need supervision 1.
        """
        check_is_fitted(self, "bandwidth_")
        A, B = self._new_rows(A), self._new_rows(B)
        n_a, n_b = (self.n_rows_ if rows is None else rows.shape[0] for rows in (A, B))
        require_memory(float(self.data_.dtype.itemsize) * n_a * n_b, "The matrix of all distances", "Use kneighbors.")
        if hasattr(self._posterior(), "require_evaluations"):
            self.posterior_.require_evaluations(n_a * n_b // (2 if A is None and B is None else 1))
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
        posterior = self._posterior()
        kind = FisherAnchors if posterior is None or self._graph is not None else posterior.anchors
        return kind(self, anchors)

    def between(self, a, b):
        """Distances between fitted rows by their indices, cross-fitted."""
        return self.distances_to(FittedIndex(np.asarray(a)), FittedIndex(np.asarray(b)))

    def cheaper(self):
        """The metric of a posterior that costs less, if there is one whose lengths are never longer."""
        posterior = self._posterior()
        less = None if posterior is None or self._graph is not None else posterior.cheaper()
        return self if less is posterior or less is None else self.with_posterior(less)

    def with_posterior(self, posterior):
        """The same metric with another fitted posterior of its rows."""
        other = copy(self)
        other.posterior_ = posterior
        return other._end()

    @property
    def knows_rows(self):
        """Whether the posterior is known at the rows of vectors, so that the distance of a pair costs one product."""
        posterior = self._posterior()
        plain = self._graph is None and not self._is_matrix() and not hasattr(posterior, "neighbors")
        return posterior is not None and plain and posterior.at_rows

    def placing(self):
        """The cheaper metric, unless rows of one posterior would be one point under it."""
        return self.cheaper() if self.supervision < 1 else self

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
        if not hasattr(self._posterior(), "neighbors"):
            return self._neighbors(A, n_neighbors, self._straight)
        every = FittedIndex(np.arange(self.n_rows_))

        def steps_of(block):
            if self.supervision == 1:
                return None
            return self._squared_steps(FittedIndex(every.index[block]) if A is None else A[block], every)

        return self.posterior_.neighbors(A, n_neighbors, self.supervision, steps_of)

    def _posterior(self):
        """The fitted posterior; None without a target."""
        return getattr(self, "posterior_", None)

    def _neighbors(self, A, n_neighbors, distances_of):
        n_rows = self.n_rows_ if A is None else A.shape[0]
        distances = np.empty((n_rows, n_neighbors), dtype=self.data_.dtype)
        indices = np.empty((n_rows, n_neighbors), dtype=np.intp)
        for rows in row_blocks(n_rows, 4.0 * self.data_.dtype.itemsize * self.n_rows_, WORKING_BYTES // 4, at_least=64):
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
        return D.astype(self.data_.dtype)

    def _straight(self, A=None, B=None, self_similarity=None):
        """Lengths of the straight segments between rows A and B, each None, a `FittedIndex` or new rows."""
        (key_a, order_a), (key_b, order_b) = self._sorted_side(A), self._sorted_side(B)
        steps: Any = None
        if self.supervision < 1:
            steps = self._squared_steps(key_a, key_b, self_similarity)
        if self.supervision == 0:
            return unsort(np.sqrt(steps), order_a, order_b)
        rows_a, rows_b = self._state(key_a, self_similarity), self._state(key_b)
        rule = self._rule
        chunk_rows = self.posterior_.chunk_rows() if hasattr(self.posterior_, "chunk_rows") else None

        def lengths(block, chunk_a, chunk_b, a, b):
            part = None if steps is None else steps[chunk_a, chunk_b][a, b]
            return rule.length(block.sub_lengths(a, b), self.supervision, part)

        out = np.empty((len(rows_a), len(rows_b)), dtype=self.data_.dtype)
        same = A is None and B is None and rule.symmetric
        fill_pairs(
            out, rows_a.fold, rows_b.fold, lambda a, b: self.posterior_.block(rows_a.take(a), rows_b.take(b)), lengths,
            same=same, chunk_rows=chunk_rows,
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
            index = rows.index[order]
            # All rows, in whatever order: their state is there, and need not be copied.
            return FittedIndex(self._order if np.array_equal(index, self._order) else index), order
        return rows, None

    def _state(self, key, self_similarity=None):
        """The posterior's state of rows that are sorted by fold."""
        if isinstance(key, FittedIndex):
            rows = self.posterior_.rows
            return rows if key.index is self._order else rows.take(self._place[key.index])
        return self.posterior_.new(key, self_similarity)

    def _squared_steps(self, A, B, self_similarity=None):
        """``||x - x'||^2 / sigma^2`` of all pairs, not negative."""
        if isinstance(B, FittedIndex):
            if not isinstance(A, FittedIndex):
                self.data_.require_self_similarity(self_similarity)
            D2 = self.data_.squared_to(A, B.index, self_similarity)
        elif isinstance(A, FittedIndex):
            return self._squared_steps(B, A).T
        else:
            D2 = self.data_.squared_between(A, B)
        return np.maximum(D2, 0) / self.data_.dtype.type(self.bandwidth_**2)

    def _new_rows(self, rows):
        if rows is None:
            return None
        rows = self.data_.read(self, rows, reset=False)
        return rows.astype(self.data_.dtype, copy=False)

    def class_probabilities(self, A=None):
        """Class posteriors of rows A; of the fitted rows, each without the support of its own fold, where None."""
        check_is_fitted(self, "posterior_")
        if isinstance(self.target_, tuple):
            raise InputError("several targets have a posterior each: posterior_.probabilities_of(column, rows).")
        if self.target_ == "real":
            raise InputError("a real target has no class probabilities; target_moments gives its mean and variance.")
        if A is None:
            return self.posterior_.probabilities(self.posterior_.rows)[self._place]
        return self.posterior_.probabilities(self._state(self._new_rows(A)))

    def target_moments(self, A=None):
        """Means and variances, (n, targets) each, of real targets at rows A; None: the fitted rows, cross-fitted."""
        check_is_fitted(self, "posterior_")
        if isinstance(self.target_, tuple):
            raise InputError("several targets have a posterior each: posterior_.moments_of(column, rows).")
        if self.target_ != "real":
            raise InputError("classes have no mean; class_probabilities gives their posterior.")
        if A is None:
            return tuple(part[self._place] for part in self.posterior_.moments(self.posterior_.rows))
        return self.posterior_.moments(self._state(self._new_rows(A)))

    def tensor_factor(self, A=None):
        """Factors F (n, C, D) of the Fisher tensor of each row, ``J = sum_c F_c F_c^T``; vectors only.

        ``F_c = sqrt(p_c) (E[x_l | x, c] - E[x_l | x]) / sigma^2`` (Schulz et al. 2017, eq. 5 to 7). For a real
        target ``grad m / sqrt(v)`` and ``grad v / (sqrt(2) v)`` (Schulz 2017, eq. 2.40). For a model with a derivative
        ``sqrt(p_c) grad log p_c`` (sec. 3.5.4).
        """
        check_is_fitted(self, "posterior_")
        if self.target_ == "class" and hasattr(self.posterior_, "tensor_at"):
            rows = self.data_.raw() if A is None else self._new_rows(A)
            folds = self.folds_ if A is None else np.full(rows.shape[0], -1)
            return self.posterior_.tensor_at(rows, folds).astype(self.data_.dtype, copy=False)
        if not hasattr(self.posterior_, "tensor_factor"):
            raise InputError(
                f"the {self.posterior_.name} posterior has no tensor; use posterior='parzen' for classes, 'gp' for a "
                "real target, or a classifier with a derivative."
            )
        if self._is_matrix():
            raise InputError("the tensor has no coordinates for similarity or dissimilarity data; use pairwise.")
        require_complete(self.data_, "the tensor")
        key, order = self._sorted_side(self._new_rows(A))
        support = self.data_.rows_[self.support_]
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
        tensor = np.zeros((n_rows, D, D), dtype=self.data_.dtype)
        if self.supervision > 0:
            F = self.tensor_factor(A)
            tensor = self.supervision * np.einsum("ncd,nce->nde", F, F, optimize=True)
        tensor[:, np.arange(D), np.arange(D)] += (1 - self.supervision) / self.bandwidth_**2
        return tensor

    def geodesic(self, a, b, *, n_corners=12, max_iter=200):
        """A path between two rows that is bent until its energy is smallest, starting from the straight segment.

        Classes only, and vectors only. The rows are measured as new ones, by all of the support.

        Parameters
        ----------
        a, b : arrays (D,)
            The ends.
        n_corners : int, default=12
            Corners between them.
        max_iter : int, default=200
            Iterations of L-BFGS at most.

        Returns
        -------
        named tuple
            `corners` (n_corners + 2, D) of the path, its `length`, the `straight_length` of the segment, which it never
            exceeds, and the `least_length` that any path between these rows has.
        """
        check_is_fitted(self, "bandwidth_")
        return geodesic(self, a, b, n_corners=n_corners, max_iter=max_iter)

    def judged_target(self, target):
        """The `Target` that neighbours are judged by: itself, or columns of numbers for those of several that count."""
        if not isinstance(self._posterior(), SeveralTargets):
            return target
        return target.indicators(self.posterior_.weights_ > 0)

    def describe(self):
        """The posterior, how it was fitted and what is approximated, in words."""
        posterior = self._posterior()
        words = ["the data's own distances"] if posterior is None else [posterior.name, posterior.judged]
        if self.extrapolated_:
            words.append(f"{self.n_segments_} sub-segments, extrapolated")
        if self._graph is not None:
            words.append(self._graph.describe())
        return ", ".join(words)

    def state(self):
        """What, with the fitted rows and their target, makes this metric again: arrays by name."""
        if is_model(self.posterior) or hasattr(self.posterior, "model"):
            # A model is code; a file without pickle cannot hold it.
            raise InputError("a metric whose posterior is a model object cannot be saved; use a named posterior.")
        own = {} if self._posterior() is None else self.posterior_.state()
        segments = np.array([self.n_segments_, int(self.extrapolated_)])
        bandwidth = np.array(self.bandwidth_)
        return {"support": self.support_, "folds": self.folds_, "bandwidth": bandwidth, "segments": segments, **own}

    def restore(self, X, y, state):
        """Become the fitted metric of rows, target and `state`, without fitting anew."""
        data = data_metric(self.data)
        return self.restore_on(data.over(data.read(self, X)), y, state)

    def restore_on(self, data, y, state):
        """The same on the fitted metric of the data's own distances."""
        rng, target, posterior = self._begin(data, y)
        self.support_, self.folds_, self.bandwidth_ = state["support"], state["folds"], float(state["bandwidth"])
        n_segments, extrapolated = state["segments"]
        stored = SegmentRule(n_segments=int(n_segments), extrapolated=bool(extrapolated))
        if posterior is not None:
            self.posterior_ = posterior.restore(self._context(target, rng, stored), state)
        return self._end()

    def _is_matrix(self):
        return data_metric(self.data).is_matrix

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._is_matrix()
        own = get_tags(data_metric(self.data)).input_tags
        tags.input_tags.pairwise, tags.input_tags.allow_nan = own.pairwise, own.allow_nan
        tags.target_tags.required = self.supervision > 0
        return tags

    def __repr__(self, N_CHAR_MAX=700):
        text = super().__repr__(N_CHAR_MAX)
        if not hasattr(self, "posterior_"):
            return text
        return f"{text} <posterior: {self.describe()}; bandwidth {self.bandwidth_:.4g}>"


def with_seen_classes(target):
    """The target without classes that no row has: a posterior knows nothing of them."""
    for column in target.columns:
        distinct = len(np.unique(column.values[column.labelled]))
        if distinct < column.fewest_values:
            raise InputError(f"the fitted rows hold {distinct} different values of the target: nothing to tell apart.")
    return target.present()


def unsort(D, order_rows, order_columns):
    """Undo the sorting of rows and columns of a matrix (None: they were not sorted)."""
    for axis, order in enumerate((order_rows, order_columns)):
        if order is not None:
            D = np.take(D, np.argsort(order), axis=axis)  # which, unlike D[:, order], leaves rows in one piece
    return D
