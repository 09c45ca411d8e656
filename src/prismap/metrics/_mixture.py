"""A metric that is a mixture of dissimilarities, its weights learnt together with a map (Rice 2016).

D = sum_l alpha_l D^l with sum_l alpha_l = 1. Positions y and weights alpha lower the same cost, the elastic stress
E = sum_{i<j} (D_ij - |y_i - y_j|)^2 / D_ij^2 unless another one is chosen, the weights on the slower time scale (the
paper's algorithm 1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from scipy.spatial.distance import squareform
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from prismap._util.blocks import require_memory, row_blocks
from prismap._util.costs import JITTER
from prismap._util.optimise import minimize
from prismap._util.params import Interval, StrOptions
from prismap._util.random import as_generator
from prismap._util.search import check_n_neighbors, smallest
from prismap._util.spectra import classical_scaling
from prismap._util.validation import check_dissimilarity, check_rows, check_square
from prismap.exceptions import InputError
from prismap.metrics._base import Metric
from prismap.metrics._dissimilarities import DISSIMILARITIES, Dissimilarity, get_dissimilarity, learn_options
from prismap.metrics._mixture_costs import MixtureCost, largest_eigenvalue, mix, of_roots

#: The measures of the paper's table.
TABLE = tuple(DISSIMILARITIES)


@dataclass(frozen=True)
class Mixture:
    """What one start came to: weights, positions, the stress after each epoch, iterations, and why it ended."""

    weights: np.ndarray
    positions: np.ndarray
    history: np.ndarray
    n_iter: int
    stop_reason: str


class AlternatingDescent(BaseEstimator):
    """How weights and positions of a mixture are learnt: steps of the weights and steps of the positions, in turns.

    Parameters
    ----------
    n_epochs : int, default=10
        Number of turns.
    max_iter, n_weight_iter : int, default=75 and 5
        Largest number of steps of the positions and of the weights in each. The paper has 75 and 1.
    solver : {"lbfgs", "scg"}, default="lbfgs"
        L-BFGS, or the scaled conjugate gradients of the paper.

    See Also
    --------
    MixtureMetric : Takes it as ``descent=AlternatingDescent(...)``.

    Examples
    --------
    >>> AlternatingDescent(n_weight_iter=1, solver="scg")
    AlternatingDescent(n_weight_iter=1, solver='scg')
    """

    _parameter_constraints = {
        "n_epochs": [Interval(Integral, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_weight_iter": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"lbfgs", "scg"})],
    }

    def __init__(self, *, n_epochs=10, max_iter=75, n_weight_iter=5, solver="lbfgs"):
        self.n_epochs = n_epochs
        self.max_iter = max_iter
        self.n_weight_iter = n_weight_iter
        self.solver = solver

    def checked(self):
        """Itself, with parameters that make sense."""
        self._validate_params()
        return self


def learn_mixture(matrices, weights, positions, cost, descent, *, allow_negative=True, tol=1e-7, most_halvings=6):
    """Lower the cost by turns: some steps of the weights, then some of the positions (Rice 2016, algorithm 1).

    `matrices` is (L, n_pairs), each pair once, scaled so that the mixture at the start has mean 1 or so. Both solvers
    only ever take steps that lower the cost, so `history` never rises; a step, or an epoch, that lowers it by less
    than `tol` of it is the last. (Isomap's may rise, where other paths become the shortest: then the weights go half of
    the way, at most `most_halvings` times, and in the end back.) The positions are placed once before the first epoch
    and after every turn of the weights, so that at the end they belong to the weights.
    """
    weights = _shares(weights)
    options = {"solver": descent.solver, "tol": tol}
    history: list[float] = []
    done, reason = 0, "n_epochs"
    for epoch in range(descent.n_epochs + 1):
        if epoch:
            objective = cost.of_weights(matrices, weights, positions)
            start = weights if allow_negative else np.sqrt(weights)
            objective = objective if allow_negative else of_roots(objective)
            moved = minimize(objective, start, max_iter=descent.n_weight_iter, relative=True, **options).x
            before, weights = weights, _shares(moved if allow_negative else moved**2)
        placed = cost.place(mix(weights, matrices), positions, max_iter=descent.max_iter, **options)
        halvings = 0
        while epoch and placed.value > history[-1] and halvings < most_halvings:
            weights, halvings = 0.5 * (before + weights), halvings + 1
            placed = cost.place(mix(weights, matrices), positions, max_iter=descent.max_iter, **options)
        done += placed.n_iter
        if epoch and placed.value > history[-1]:
            weights, reason = before, "converged"
            break
        positions = placed.x
        history.append(placed.value)
        if epoch and history[-2] - history[-1] <= tol * history[-2]:
            reason = "converged"
            break
    return Mixture(weights, positions, np.array(history), done, reason)


def eigenvalue_weights(matrices):
    """lambda_l / sum_m lambda_m, lambda_l the largest eigenvalue of D^l: the start that the paper proposes (3.5)."""
    values = np.array([largest_eigenvalue(squareform(row)) for row in matrices])
    return values / values.sum()


def leaning_starts(matrices, weights, n_components, cost, rng, *, lean=0.7, n_steps=30):
    """Starts (weights, positions) that lean towards one measure each, those of the lowest stress first.

    In the mixture at a start one measure makes up `lean` of the mean, and all by `weights` the rest. The stress is that
    of the positions after `n_steps` from classical scaling: a measure that alone fits well into the map leads the
    descent to a minimum that a start in the middle of all measures mostly misses.
    """
    means = np.abs(matrices).mean(axis=1)
    starts = []
    for one in np.eye(len(means)):
        leaning = _shares(((1 - lean) * _shares(weights * means) + lean * one) / means)
        D, positions = first_positions(matrices, leaning, n_components, rng)
        lowest = cost.place(squareform(D, checks=False), positions, max_iter=n_steps, tol=1e-7).value
        starts.append((lowest, leaning, positions))
    return [(leaning, positions) for _, leaning, positions in sorted(starts, key=lambda start: start[0])]


def first_positions(matrices, weights, n_components, rng):
    """The mixture with mean 1, square, and its classical scaling, a little shaken so that no two rows coincide."""
    D = squareform(mix(weights, matrices))
    D /= np.abs(D).sum() / (D.size - len(D))
    return D, classical_scaling(np.square(D), n_components)[0] + JITTER * rng.normal(size=(len(D), n_components))


class MixtureMetric(Metric):
    """A weighted sum of dissimilarities whose weights are learnt, without labels, together with an embedding.

    ``D = sum_l alpha_l D^l / s_l`` with ``sum_l alpha_l = 1``, where s_l is the mean of D^l over all pairs
    (``scale="mean"``). Weights can therefore be compared, and the mean of D is 1. The weights minimise the cost of an
    embedding, elastic scaling by default, in alternation with its positions.

    Parameters
    ----------
    measures : "auto" or sequence, default="auto"
        "auto" takes all of the fifteen dissimilarities that the data permit. `divergence`, `bray_curtis`, `soergel` and
        `ware_hedges` are left out where there are negative values. A sequence may mix registered names, ``(name,
        options)`` pairs, functions ``f(A, B) -> (n_A, n_B)`` and ready-made (n, n) matrices. X may be a list of any
        objects if none of the measures needs vectors.
    n_components : int, default=2
        Dimension of the embedding that the weights are learnt with.
    cost : {"elastic", "tsne", "nerv", "isomap", "cca", "bregman", "neuroscale"} or MixtureCost, default="elastic"
        What is minimised: the elastic stress of the paper, or the cost of another map. ``MixtureCost("tsne",
        perplexity=10)`` has its numbers.
    negative : {"zero", "keep"}, default="zero"
        What becomes of dissimilarities below zero, which `correlation2` has between near samples. "zero" counts them as
        0. "keep" leaves them in the sum, as printed in the paper.
    scale : {"mean", None}, default="mean"
        None leaves the matrices as they are, as in the paper. Measures with large values then dominate the start.
    init : {"measures", "eigenvalues", "random"} or array (L,), default="measures"
        Weights at the start. "eigenvalues" takes normalised largest eigenvalues, as in the paper. "measures" does so in
        the first start and leans towards one measure in each further one, the most promising first. "random" draws
        uniform numbers. An array holds given weights.
    n_init : int, default=4
        Number of starts. The lowest stress wins.
    descent : AlternatingDescent, default=None
        Epochs, steps of the positions and of the weights in each, and the solver. None is ``AlternatingDescent()``.
    allow_negative : bool, default=True
        Whether weights may fall below zero, as in the paper.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    measures_ : list of str
        Names of the measures.
    weights_ : array (L,)
        alpha. A measure that is 0 for all pairs has weight 0.
    start_weights_ : array (L,)
        The weights at the start of the best run.
    scales_ : array (L,)
        s_l.
    positions_ : array (n, n_components)
        Positions that the weights were learnt with.
    stress_ : float
        The cost at the end.
    history_ : array
        The cost after the first placement of the positions and after each epoch.
    start_stress_ : array (n_init,)
        The cost at the end of each start.
    n_iter_, stop_reason_ : int and {"converged", "n_epochs"}
        Iterations of the positions in the best run, and why it ended.
    distances_ : array (n, n)
        The mixture between the fitted samples. Pairs that negative weights bring below 0 are set to 0.
    n_rows_ : int
        Number of fitted samples.

    See Also
    --------
    prismap.embeddings.ElasticMDS : The embedding that belongs to this metric.
    dissimilarity : One measure by itself.

    Notes
    -----
    A lower stress means that D fits better into `n_components` dimensions, and no more than that: a measure that has no
    more dimensions than the embedding fits best and takes all the weight. The stress has many minima, and
    `start_stress_` shows how far the starts differ. Weights that may be negative go on growing against each other with
    more steps, and settle with ``allow_negative=False``.

    The matrices take seconds for 700 samples and 1,000 features, and are stored as L n^2 / 2 numbers. The rest costs
    little more than elastic scaling. A few thousand samples are practical. Further samples are measured by `pairwise`
    and `kneighbors` when needed.

    References
    ----------
    I. Rice (2016), Improved data visualisation through multiple dissimilarity modelling, algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(30, 3))
    >>> metric = MixtureMetric(["euclidean", "city_block"], n_init=1, random_state=0).fit(X)
    >>> metric.weights_.shape, bool(abs(metric.weights_.sum() - 1) < 1e-6)
    ((2,), True)
    """

    _parameter_constraints = {
        "measures": [StrOptions({"auto"}), list, tuple],
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "cost": [StrOptions({"elastic", "tsne", "nerv", "isomap", "cca", "bregman", "neuroscale"}), MixtureCost],
        "negative": [StrOptions({"zero", "keep"})],
        "scale": [StrOptions({"mean"}), None],
        "init": [StrOptions({"measures", "eigenvalues", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "descent": [AlternatingDescent, None],
        "allow_negative": ["boolean"],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self, measures="auto", *, n_components=2, cost="elastic", negative="zero", scale="mean", init="measures",
        n_init=4, descent=None, allow_negative=True, random_state=None,
    ):  # fmt: skip
        self.measures = measures
        self.n_components = n_components
        self.cost = cost
        self.negative = negative
        self.scale = scale
        self.init = init
        self.n_init = n_init
        self.descent = descent
        self.allow_negative = allow_negative
        self.random_state = random_state

    def fit(self, X, y=None):
        """Build the matrices, learn the weights and a map. y is not used."""
        self._validate_params()
        rows = self._check_objects(X, reset=True)
        n = len(rows)
        terms = resolve(self.measures, rows, keep_negative=self.negative == "keep")
        require_memory(
            8.0 * n * n * (len(terms) / 2 + 3), f"{len(terms)} matrices of {n} rows",
            "Fit on fewer rows (pairwise and kneighbors measure the others), or use fewer measures.",
        )  # fmt: skip
        matrices = np.empty((len(terms), n * (n - 1) // 2))
        for row, term in zip(matrices, terms, strict=True):
            row[:] = squareform(term.between(rows), checks=False)
        means = np.abs(matrices).mean(axis=1)
        self.scales_ = np.where(means > 0, means, 1.0) if self.scale == "mean" else np.ones(len(terms))
        matrices /= self.scales_[:, None]
        alive = means > 0
        weights = np.zeros((2, len(terms)))
        weights[:, alive], best, self.start_stress_ = self._descend(matrices[alive], alive)
        self.start_weights_, self.weights_ = weights
        self.measures_ = [term.name for term in terms]
        self.distances_ = squareform(np.maximum(mix(self.weights_, matrices), 0.0))
        self.positions_, self.history_, self.stress_ = best.positions, best.history, float(best.history[-1])
        self.n_iter_, self.stop_reason_ = best.n_iter, best.stop_reason
        self.terms_, self.rows_, self.n_rows_ = terms, rows, n
        return self

    def pairwise(self, A=None, B=None):
        """The mixture between A and B, the fitted rows where None, with the weights and scales of the fitted rows."""
        check_is_fitted(self, "weights_")
        if A is None and B is None:
            return self.distances_.copy()
        A = self.rows_ if A is None else self._check_objects(A, reset=False)
        B = self.rows_ if B is None else self._check_objects(B, reset=False)
        require_memory(24.0 * len(A) * len(B), "The matrix of all distances", "Use kneighbors, or fewer rows.")
        D = np.zeros((len(A), len(B)))
        for term, weight, scale in zip(self.terms_, self.weights_, self.scales_, strict=True):
            if weight:
                D += weight / scale * term.between(A, B)
        return np.maximum(D, 0.0, out=D)

    def kneighbors(self, A=None, n_neighbors=90):
        """Nearest fitted rows of A: (distances, indices). For A=None a row is not its own neighbour."""
        check_is_fitted(self, "weights_")
        n_neighbors = check_n_neighbors(n_neighbors, self.n_rows_, own=A is None)
        if A is None:
            D = self.distances_.copy()
            np.fill_diagonal(D, np.inf)
            return smallest(D, n_neighbors)
        A = self._check_objects(A, reset=False)
        near = [smallest(self.pairwise(A[block]), n_neighbors) for block in row_blocks(len(A), 32.0 * self.n_rows_)]
        return np.vstack([d for d, _ in near]), np.vstack([i for _, i in near])

    def _check_objects(self, X, *, reset):
        """Rows as a float array where X is a matrix or a measure needs vectors, else a list of objects."""
        if needs_vectors(self.measures) or getattr(X, "ndim", 1) == 2:
            return check_rows(self, X, reset=reset, dtype=np.float64, min_rows=2 if reset else 1)
        objects = list(X)
        if reset and len(objects) < 2:
            raise InputError(f"X holds {len(objects)} objects; a mixture needs at least 2.")
        return objects

    def _descend(self, matrices, alive):
        """The best of `n_init` starts: its weights at the start and end, the run, and the stress of every start."""
        if not len(matrices):
            raise InputError("All dissimilarities between all rows are zero: there is nothing to map.")
        options = self.cost if isinstance(self.cost, MixtureCost) else MixtureCost(self.cost)
        descent = (self.descent or AlternatingDescent()).checked()
        rng, cost = as_generator(self.random_state), options.made()
        runs = []
        for weights, positions in self._starts(matrices, alive, cost, rng):
            size = float(np.abs(mix(weights, matrices)).mean())
            run = learn_mixture(matrices / size, weights, positions, cost, descent, allow_negative=self.allow_negative)
            runs.append((weights, run, size))
        weights, best, size = min(runs, key=lambda run: run[1].history[-1])
        size = 1.0 if options.name == "tsne" else size  # whose maps have a scale of their own
        best = Mixture(best.weights, best.positions * size, best.history, best.n_iter, best.stop_reason)
        return (weights, best.weights), best, np.array([run.history[-1] for _, run, _ in runs])

    def _starts(self, matrices, alive, cost, rng):
        """`n_init` pairs of weights and positions."""
        is_word = isinstance(self.init, str)
        n_rows = len(squareform(matrices[0]))
        starts = []
        if not is_word or self.init != "random":
            weights = eigenvalue_weights(matrices) if is_word else self._given_weights(matrices, alive)
            starts.append((weights, first_positions(matrices, weights, self.n_components, rng)[1]))
        if is_word and self.init == "measures" and self.n_init > 1:
            starts += leaning_starts(matrices, weights, self.n_components, cost, rng)
        while len(starts) < self.n_init:
            drawn = is_word and self.init != "eigenvalues"
            start = _shares(rng.random(len(matrices))) if drawn else weights
            starts.append((start, rng.normal(size=(n_rows, self.n_components))))
        return starts[: self.n_init]

    def _given_weights(self, matrices, alive):
        """`init` as an array, checked."""
        weights = np.asarray(self.init, dtype=np.float64)
        if weights.shape != alive.shape:
            raise InputError(f"init must hold one weight per measure, {len(alive)} in all; got shape {weights.shape}.")
        weights = weights[alive]
        if not np.isfinite(weights).all() or not weights.sum() > 0 or (not self.allow_negative and weights.min() < 0):
            raise InputError(
                "init must hold finite weights with a positive sum, none negative if allow_negative=False."
            )
        weights = _shares(weights)
        if not mix(weights, matrices).mean() > 0:
            raise InputError("init gives a mixture with a mean that is not positive; use larger positive weights.")
        return weights


def _shares(weights):
    return weights / weights.sum()


@dataclass(frozen=True)
class Term:
    """One measure of a mixture with what it learnt from the fitted rows, or a ready-made matrix."""

    name: str
    measure: Dissimilarity | None
    learnt: dict[str, Any]
    keep_negative: bool = False

    def between(self, A, B=None):
        """Dissimilarities between A and B (A itself if None), negative ones counted as 0 unless they are kept."""
        if self.measure is None:
            if B is not None:
                raise InputError(
                    f"measure {self.name!r} is a ready-made matrix and knows the fitted rows only. "
                    "Pass a function or the name of a measure to reach new rows."
                )
            return self.learnt["matrix"]
        D = self.measure(A, B, **self.learnt)
        if B is None:
            check_square(D, f"dissimilarity {self.name!r}")
            np.fill_diagonal(D, 0.0)
        return D if self.keep_negative else np.maximum(D, 0.0, out=D)


def resolve(measures, rows, *, keep_negative=False):
    """The terms of a mixture from what the user passed as `measures`."""
    if isinstance(measures, str):
        measures = [name for name in TABLE if not (DISSIMILARITIES[name].nonnegative and rows.min() < 0)]
    if not len(measures):
        raise InputError("measures is empty; pass at least one name, function or matrix.")
    terms = [_term(spec, number, rows) for number, spec in enumerate(measures)]
    return [replace(term, keep_negative=keep_negative) for term in terms]


def _term(spec, number, rows):
    name, options = spec if _has_options(spec) else (spec, {})
    if isinstance(name, str):
        measure = get_dissimilarity(name)
        return Term(name, measure, learn_options(measure, rows, options))
    if isinstance(name, Dissimilarity):
        return Term(name.name, name, learn_options(name, rows, options))
    if callable(name):
        label = getattr(name, "__name__", type(name).__name__)
        return Term(label, Dissimilarity(label, name, vectors=isinstance(rows, np.ndarray)), dict(options))
    matrix = np.array(name, dtype=np.float64)
    check_dissimilarity(matrix)
    if len(matrix) != len(rows):
        raise InputError(f"the matrix in measures[{number}] has {len(matrix)} rows and X has {len(rows)}.")
    if not np.isfinite(matrix).all():
        raise InputError(f"the matrix in measures[{number}] holds values that are not finite.")
    return Term(f"matrix {number}", None, {"matrix": matrix})


def _has_options(spec):
    return isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[1], dict)


def needs_vectors(measures):
    """Whether one of the measures works on rows of numbers only."""
    if isinstance(measures, str):
        return True
    names = [spec[0] if _has_options(spec) else spec for spec in measures]
    return any(isinstance(name, str) and get_dissimilarity(name).vectors for name in names)
