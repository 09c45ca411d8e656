"""Multidimensional scaling: classical (eigenvectors), metric (stress) and Sammon's (stress relative to the distance).

Torgerson (1952), Kruskal (1964), Sammon (1969).
"""

from __future__ import annotations

import warnings
from functools import partial
from numbers import Integral, Real

import numpy as np
from scipy.linalg import eigvalsh

from prismap._util.costs import sammon_weights, stress_cost
from prismap._util.optimise import minimize
from prismap._util.params import Interval, StrOptions
from prismap._util.spectra import classical_scaling, double_centre
from prismap.embeddings._base import Embedding, EmbeddingResult, all_distances
from prismap.embeddings._starts import distance_start
from prismap.exceptions import InputError, PrismapWarning

#: The whole spectrum, for the share of negative eigenvalues, is taken of this many rows at most.
SPECTRUM_ROWS = 2000

#: In Sammon's weights a distance counts as this share of the mean distance at least.
SAMMON_FLOOR = 1e-3


class MDS(Embedding):
    """Multidimensional scaling on any metric: distances in the embedding resemble the given distances.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    kind : {"metric", "classical", "sammon"}, default="metric"
        "classical" takes the leading eigenvectors of G = -J D2 J / 2, scaled by the roots of their eigenvalues. On
        Euclidean distances this is principal component analysis. "metric" minimises ``sum_{i<j} (d_ij - |y_i -
        y_j|)^2``. "sammon" divides each term by d_ij, so that small distances count for more.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    init : {"classical", "random"} or array (n, n_components), default="classical"
        Positions at the start of the metric and Sammon kinds.
    max_iter : int, default=300
        Largest number of iterations.
    tol : float, default=1e-6
        The run has converged when a step changes the cost by less than this share of it.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called after every iteration. Return True to stop.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    objective_ : float
        The cost. For the classical kind ``||G - G_q||_F / n``, what the positions leave of G.
    negative_mass_ : float
        Share of the negative eigenvalues of G in the sum of all absolute ones. It is 0 for Euclidean distances.
        Negative eigenvalues are clipped, because no embedding can show them. Estimated from 2,000 samples if there are
        more.
    eigenvalues_ : array (n_components,)
        The leading eigenvalues of G.
    n_iter_ : int
        Number of iterations.
    stop_reason_ : {"closed form", "converged", "max_iter", "callback"}
        Why the run ended.
    metric_ : metric object
        The fitted metric.

    See Also
    --------
    ElasticMDS : Weights each pair by its distance.
    Isomap : Classical scaling of distances along the data.

    Notes
    -----
    Time is O(n^2) per iteration and memory about 24 n^2 bytes (Sammon 32): 5,000 samples take 15 seconds (classical 2)
    and 0.6 GB, and 20,000 are the practical limit (10 GB). A run that does not fit into memory is refused.

    References
    ----------
    I. Borg, P. Groenen (2005), Modern multidimensional scaling. J. Sammon (1969), A nonlinear mapping for data
    structure analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> MDS(kind="classical", random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "kind": [StrOptions({"classical", "metric", "sammon"})],
        "metric": [str, object],
        "init": [StrOptions({"classical", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_components=2,
        *,
        kind="metric",
        metric="euclidean",
        init="classical",
        max_iter=300,
        tol=1e-6,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.kind = kind
        self.metric = metric
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def _embed(self, metric, n_rows, rng):
        if self.n_components > n_rows:
            raise InputError(f"n_components={self.n_components} is more than the {n_rows} rows that span the map.")
        D = all_distances(metric, n_rows, method="MDS", n_matrices=4 if self.kind == "sammon" else 3)
        extra = {"negative_mass_": negative_mass(D, rng)}
        Y, extra["eigenvalues_"], missing = classical_scaling(D**2, self.n_components, rng)
        if self.kind == "classical":
            if self.callback is not None:
                self.callback(1, missing, Y.copy())
            return EmbeddingResult(Y, missing, 1, "closed form", extra)
        cost = partial(stress_cost, D=D)
        if self.kind == "sammon":
            cost = partial(cost, W=sammon_weights(D, tolerable_distance(D)))
        start = distance_start(self.init, Y, D, rng)
        run = minimize(cost, start, max_iter=self.max_iter, tol=self.tol, callback=self.callback)
        return EmbeddingResult(run.x, run.value, run.n_iter, run.stop_reason, extra)


def negative_mass(D, rng):
    """Share of negative eigenvalues of the Gram matrix -J D^2 J / 2: sum |lambda_-| / sum |lambda|."""
    if len(D) > SPECTRUM_ROWS:
        rows = np.sort(rng.choice(len(D), SPECTRUM_ROWS, replace=False))
        D = D[np.ix_(rows, rows)]
    values = eigvalsh(double_centre(D**2, overwrite=True), overwrite_a=True, check_finite=False)
    size = np.abs(values)
    values[size <= 1e-12 * size.max() * len(D)] = 0.0  # rounding is no sign of distances that are not Euclidean
    return float(np.abs(values[values < 0]).sum() / max(size.sum(), np.finfo(float).tiny))


def tolerable_distance(D):
    """The smallest distance that Sammon's weights may divide by; a warning where distances lie below it."""
    smallest = SAMMON_FLOOR * float(D.mean())
    below = (int(np.count_nonzero(smallest > D)) - len(D)) // 2  # the diagonal is no pair
    if below > 0:
        warnings.warn(
            f"{below} pairs of rows are closer than {smallest:.3g} ({SAMMON_FLOOR:g} of the mean distance); Sammon's "
            "stress divides by the distance, so these count as if they were that far apart.",
            PrismapWarning,
            stacklevel=3,
        )
    return smallest
