"""NeRV, the neighbour retrieval visualiser, and t-NeRV: recall against precision, at the user's choice.

Venna, Peltonen, Nybo, Aidos & Kaski, JMLR 11 (2010); thesis 4.2.1.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from prismap._affinities import calibrate, lower_perplexity, pair_affinities, row_affinities
from prismap._costs import nerv_cost, tsne_cost
from prismap._optimise import minimize
from prismap._spectra import classical_scaling
from prismap._validation import renamed
from prismap.embeddings._starts import distance_start
from prismap.embeddings.base import Embedding, EmbeddingResult, all_distances
from prismap.exceptions import InputError

#: Bandwidths tried on the way from half of the rows down to the perplexity, and the iterations spent on each.
ANNEALING_STAGES, ANNEALING_ITER = 6, 20

#: Bandwidths are at least this share of the root mean square distance. Finer is not seen on a map of the data's scale,
#: and rows with many duplicates would have next to none.
SMALLEST_BANDWIDTH = 0.01

#: Weight of the pull to the centre in t-NeRV, for maps as wide as the square root of the number of rows.
PULL = 4e-3


class NeRV(Embedding):
    """Neighbour retrieval visualiser (thesis 4.2.1) on any metric.

    Minimises gamma sum_i KL(p_.|i || q_.|i) + (1 - gamma) sum_i KL(q_.|i || p_.|i) (thesis eq. 4.3), with p_{j|i} the
    probability that row j is a neighbour of row i in the data, and q_{j|i} the same in the map. gamma = 1 asks for
    recall (no neighbour is missed), gamma = 0 for precision (no false neighbour is shown).

    - ``kernel="gaussian"``: q from Gaussians with the bandwidths of the data (eq. 4.2); the map has the data's scale.
    - ``kernel="student"``: t-NeRV: p and q over all pairs as in t-SNE, q from Student's t, so that clusters do not
      crowd. With gamma = 1 this is t-SNE. Over such tails clusters without common neighbours would drift apart for
      ever; a pull to the centre, some thousandths of the cost, ends that.

    Minimised by L-BFGS, from wide neighbourhoods (half of the rows) in six stages to the perplexity.

    Time O(n^2) for each of some 300 iterations (80 million pairs a second on one core), memory 8 n^2 bytes times 4:
    2,000 rows take 20 seconds, 5,000 two minutes (0.8 GB), 10,000 are the end (ten minutes, 3.2 GB). More than memory
    holds is refused.

    Parameters
    ----------
    n_components : int, default=2
    gamma : float in [0, 1], default=0.5
        Weight of recall against precision.
    kernel : {"gaussian", "student"}, default="gaussian"
    perplexity : float, default=10
        Effective number of neighbours. Lowered, with a warning, to (n - 1) / 3 if there are too few rows.
    metric : str or metric object, default="euclidean"
        A name scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    init : {"classical", "random"} or array (n, n_components), default="classical"
        Classical scaling, chance, or given positions.
    n_iter : int, default=300
        Iterations with the final bandwidths. Each of the six stages on the way takes 20 more (or this, if fewer).
    tol : float, default=1e-6
        Converged when a step changes the cost by less than this share of it.
    callback : callable, default=None
        ``callback(iteration, error, embedding)`` after every iteration; returning True ends the run.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    embedding_ : array (n, n_components)
    objective_ : float
        The cost above (without the pull).
    n_iter_ : int
        All iterations, those on the way included.
    stop_reason_ : {"converged", "max_iter", "callback"}
    perplexity_ : float
        The perplexity used.
    metric_ : the fitted metric
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "kernel": [StrOptions({"gaussian", "student"})],
        "perplexity": [Interval(Real, 0, None, closed="neither")],
        "metric": [str, object],
        "init": [StrOptions({"classical", "random"}), "array-like"],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    @renamed(max_iter="n_iter")
    def __init__(
        self,
        n_components=2,
        *,
        gamma=0.5,
        kernel="gaussian",
        perplexity=10,
        metric="euclidean",
        init="classical",
        n_iter=300,
        tol=1e-6,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
        self.perplexity = perplexity
        self.metric = metric
        self.init = init
        self.n_iter = n_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def _embed(self, metric, n_rows, rng):
        if self.n_components > n_rows:
            raise InputError(f"n_components={self.n_components} is more than the {n_rows} rows that span the map.")
        perplexity = lower_perplexity(self.perplexity, n_rows)
        D = all_distances(metric, n_rows, method="NeRV", n_matrices=4)
        classical, _, _ = classical_scaling(D**2, self.n_components, rng)
        Y = distance_start(self.init, classical, D, rng)
        if self.kernel == "student":
            Y = Y / max(float(Y.std()), np.finfo(float).tiny)
        D2 = np.square(D, out=D)
        np.fill_diagonal(D2, np.inf)
        make_cost = partial(gaussian_cost if self.kernel == "gaussian" else student_cost, D2, gamma=self.gamma)
        done = 0
        for neighbours in stages(n_rows, perplexity):
            n_iter = self.n_iter if neighbours == perplexity else min(self.n_iter, ANNEALING_ITER)
            cost = make_cost(neighbours)
            run = minimize(cost, Y, n_iter=n_iter, tol=self.tol, callback=self.callback, done=done)
            Y, done = run.x, done + run.n_iter
            if run.stop_reason == "callback":
                break
        objective = make_cost(perplexity, pull=0.0)(Y)[0]
        return EmbeddingResult(Y, objective, done, run.stop_reason, {"perplexity_": perplexity})


def stages(n_rows, perplexity):
    """Numbers of neighbours from half of the rows down to the perplexity, evenly spaced in the logarithm."""
    if n_rows / 2 <= perplexity:
        return [perplexity]
    return [*np.geomspace(n_rows / 2, perplexity, ANNEALING_STAGES + 1)[:-1], perplexity]


def gaussian_cost(D2, perplexity, *, gamma, pull=0.0):
    """The cost of NeRV as a function of the positions, for squared distances with an infinite diagonal; no pull."""
    P, sigma = calibrate(D2, perplexity)
    smallest = SMALLEST_BANDWIDTH * np.sqrt(np.mean(D2, where=np.isfinite(D2)))
    rows = np.flatnonzero(sigma < smallest)
    sigma[rows] = smallest
    P[rows] = row_affinities(D2[rows], sigma[rows])
    return partial(nerv_cost, P=P, sigma=sigma, gamma=gamma)


def student_cost(D2, perplexity, *, gamma, pull=PULL):
    """The cost of t-NeRV, with pull / n times the mean squared distance to the origin."""
    n_rows = len(D2)
    P = pair_affinities(D2, perplexity)

    def cost(Y):
        value, gradient = tsne_cost(Y, P, gamma=gamma)
        return value + pull * float(np.vdot(Y, Y)) / n_rows**2, gradient + 2.0 * pull / n_rows**2 * Y

    return cost
