"""Elastic multidimensional scaling (McGee 1966; Rice 2016, eq. 1): relative errors of all distances, near ones too."""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np

from prismap._util.costs import JITTER, elastic_weights, stress_cost
from prismap._util.optimise import minimize
from prismap._util.params import Interval, StrOptions
from prismap._util.spectra import classical_scaling
from prismap._util.validation import check_square
from prismap.embeddings._base import Embedding, EmbeddingResult, all_distances
from prismap.embeddings._starts import given_start
from prismap.exceptions import InputError


class ElasticMDS(Embedding):
    """Elastic scaling: distances in the embedding deviate from the given ones by as small a share as possible.

    Minimises ``E = sum_{i<j} w_ij (D_ij - d_ij)^2`` with w_ij = 1 / D_ij^2 unless weights are given. E does not depend
    on the scale of the distances, and 2 E / (n (n - 1)) is the mean squared relative error. Pairs closer than a
    thousandth of the mean distance, such as duplicates, are weighted as if they were that far apart.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `MixtureMetric`.
    weights : {"elastic", "uniform"} or array (n, n), default="elastic"
        w_ij: 1 / D_ij^2, 1 (metric MDS), or given weights, symmetric and not negative. 0 leaves a pair out.
    init : {"auto", "classical", "random"} or array (n, n_components), default="auto"
        Positions at the start. "auto" takes the positions that the metric has learnt, if it has any (`MixtureMetric`),
        and classical scaling otherwise.
    n_init : int, default=1
        Number of starts. Those after the first are random, and the lowest stress wins.
    solver : {"lbfgs", "scg"}, default="lbfgs"
        L-BFGS, or the scaled conjugate gradients of the paper.
    max_iter : int, default=750
        Largest number of iterations.
    tol : float, default=1e-7
        The run has converged when an iteration lowers the stress by less than this share of it.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called after every iteration. Return True to stop.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed of random starts, and of the small noise added to the others.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    stress_, objective_ : float
        E at the end.
    start_stress_ : array (n_init,)
        E at the end of each start.
    n_iter_ : int
        Number of iterations.
    stop_reason_ : {"converged", "max_iter", "callback"}
        Why the run ended.
    metric_ : metric object
        The fitted metric.

    See Also
    --------
    MDS : Classical, metric and Sammon scaling.
    prismap.metrics.MixtureMetric : A learnt mixture of dissimilarities, made for this embedding.

    Notes
    -----
    Time is O(n^2) per iteration. Memory is three n x n matrices of float64, which allows some 10,000 samples.

    References
    ----------
    I. Rice (2016), Improved data visualisation through multiple dissimilarity modelling, eq. 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ElasticMDS(random_state=0).fit_transform(X[::3]).shape
    (50, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "metric": [str, object],
        "weights": [StrOptions({"elastic", "uniform"}), "array-like"],
        "init": [StrOptions({"auto", "classical", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "solver": [StrOptions({"lbfgs", "scg"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self, n_components=2, *, metric="euclidean", weights="elastic", init="auto", n_init=1, solver="lbfgs",
        max_iter=750, tol=1e-7, callback=None, random_state=None,
    ):  # fmt: skip
        self.n_components = n_components
        self.metric = metric
        self.weights = weights
        self.init = init
        self.n_init = n_init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def _embed(self, metric, n_rows, rng) -> EmbeddingResult:
        D = all_distances(metric, n_rows, method="ElasticMDS", n_matrices=3)
        # The optimiser sees distances with mean 1, so that its step sizes do not depend on the units of the data.
        size = float(D.mean()) or 1.0
        D /= size
        W = self._pair_weights(D)
        objective = partial(stress_cost, D=D, W=W)
        stress_unit = 1.0 if isinstance(self.weights, str) and self.weights == "elastic" else size**2
        runs = []
        for start in range(self.n_init):
            chance = rng.normal(size=(n_rows, self.n_components))
            Y = chance if start else self._start(metric, D, size, chance)
            report = self._reporter(size, stress_unit)
            runs.append(
                minimize(
                    objective,
                    Y,
                    solver=self.solver,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    callback=report,
                    relative=True,
                )
            )
        best = min(runs, key=lambda run: run.value)
        stress = best.value * stress_unit
        extra = {"stress_": stress, "start_stress_": np.array([run.value for run in runs]) * stress_unit}
        Y = best.x * size
        return EmbeddingResult(Y - Y.mean(axis=0), stress, best.n_iter, best.stop_reason, extra)

    def _pair_weights(self, D):
        """w_ij for distances with mean 1."""
        if isinstance(self.weights, str):
            return elastic_weights(D) if self.weights == "elastic" else 1.0 - np.eye(len(D))
        W = np.array(self.weights, dtype=np.float64)
        if W.shape != D.shape:
            raise InputError(f"weights must hold one number per pair, shape {D.shape}; got shape {W.shape}.")
        if not np.isfinite(W).all() or W.min() < 0:
            raise InputError("weights must be finite and not negative; use 0 to leave a pair out.")
        check_square(W, "weights")
        np.fill_diagonal(W, 0.0)
        return W

    def _start(self, metric, D, size, chance):
        """The first positions, for distances of mean 1; those of classical scaling are moved a little."""
        if not isinstance(self.init, str):
            return given_start(self.init, len(D), self.n_components) / size
        learnt = getattr(metric, "positions_", None)
        if self.init == "auto" and learnt is not None and learnt.shape == (len(D), self.n_components):
            return learnt / size
        if self.init == "random":
            return chance
        return classical_scaling(np.square(D), self.n_components)[0] + JITTER * chance

    def _reporter(self, size, stress_unit):
        if self.callback is None:
            return None
        return lambda iteration, value, x: self.callback(iteration, value * stress_unit, x * size)
