"""NeRV, the neighbour retrieval visualiser, and t-NeRV: recall against precision, at the user's choice.

Venna, Peltonen, Nybo, Aidos & Kaski, JMLR 11 (2010); Schulz (2017), sec. 4.2.1.
"""

from __future__ import annotations

from functools import partial
from numbers import Integral, Real

import numpy as np

from prismap._util.affinities import lower_perplexity, pair_affinities
from prismap._util.costs import SMALLEST_AFFINITY, gaussian_cost, tsne_cost
from prismap._util.optimise import minimize
from prismap._util.params import Interval, StrOptions
from prismap._util.spectra import classical_scaling
from prismap.embeddings._base import Embedding, EmbeddingResult, all_distances
from prismap.embeddings._starts import distance_start
from prismap.exceptions import InputError

#: Bandwidths tried on the way from half of the rows down to the perplexity, and the iterations spent on each.
ANNEALING_STAGES, ANNEALING_ITER = 6, 20

#: Weight of the pull to the centre in t-NeRV, for maps as wide as the square root of the number of rows.
PULL = 4e-3


class NeRV(Embedding):
    """Neighbour retrieval visualiser (NeRV) on any metric.

    NeRV lets you choose between two errors of an embedding: neighbours that are missed, and false neighbours that are
    shown. It minimises ``gamma sum_i KL(p_.|i || q_.|i) + (1 - gamma) sum_i KL(q_.|i || p_.|i)``, where p_{j|i} is the
    probability that sample j is a neighbour of sample i in the data, and q_{j|i} the same in the embedding.

    Parameters
    ----------
    n_components : int, default=2
        Dimension of the embedding.
    gamma : float in [0, 1], default=0.5
        1 asks for recall (no neighbour is missed), 0 for precision (no false neighbour is shown).
    kernel : {"gaussian", "student"}, default="gaussian"
        "gaussian" takes q from Gaussians with the bandwidths of the data, so the embedding has the scale of the data.
        "student" is t-NeRV: p and q run over all pairs as in t-SNE, which keeps clusters from crowding. With gamma=1 it
        is t-SNE, apart from a weak pull to the centre that keeps separate clusters from drifting apart.
    perplexity : float, default=10
        Effective number of neighbours. With too few samples it is lowered to (n - 1) / 3, with a warning.
    smallest_affinity : float in (0, 1), default=1e-12
        Probabilities p below this count as this in log p, or KL(q || p) would be infinite. So no false neighbour costs
        more than log(1 / smallest_affinity): a larger value cares less how far apart false neighbours are in the data.
        With gamma=1 it changes nothing but the reported cost.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    init : {"classical", "random"} or array (n, n_components), default="classical"
        Positions at the start: classical scaling, random, or given.
    max_iter : int, default=300
        Iterations with the final bandwidths. Each of the six stages before takes up to 20 more. A run ends earlier when
        a step changes the cost by less than a millionth of it.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called after every iteration. Return True to stop.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed.

    Attributes
    ----------
    embedding_ : array (n, n_components)
        Positions of the fitted samples.
    objective_ : float
        The cost above, without the pull to the centre.
    n_iter_ : int
        Number of iterations of all stages.
    stop_reason_ : {"converged", "max_iter", "callback"}
        Why the run ended.
    perplexity_ : float
        The perplexity used.
    metric_ : metric object
        The fitted metric.

    See Also
    --------
    TSNE : Faster, and the usual choice.
    MDS : Preserves distances instead of neighbourhoods.

    Notes
    -----
    L-BFGS starts with wide neighbourhoods (half of the samples) and narrows them in six stages. Time is O(n^2) per
    iteration and memory about 32 n^2 bytes: 2,000 samples take 20 seconds, 5,000 two minutes (0.8 GB), and 10,000 are
    the practical limit (ten minutes, 3.2 GB). A run that does not fit into memory is refused.

    References
    ----------
    J. Venna et al. (2010), Information retrieval perspective to nonlinear dimensionality reduction for data
    visualization. Schulz (2017), sec. 4.2.1 and eq. 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> NeRV(max_iter=20, random_state=0).fit_transform(X[::3]).shape
    (50, 2)
    """

    _parameter_constraints = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "gamma": [Interval(Real, 0, 1, closed="both")],
        "kernel": [StrOptions({"gaussian", "student"})],
        "perplexity": [Interval(Real, 0, None, closed="neither")],
        "smallest_affinity": [Interval(Real, 0, 1, closed="neither")],
        "metric": [str, object],
        "init": [StrOptions({"classical", "random"}), "array-like"],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        n_components=2,
        *,
        gamma=0.5,
        kernel="gaussian",
        perplexity=10,
        smallest_affinity=SMALLEST_AFFINITY,
        metric="euclidean",
        init="classical",
        max_iter=300,
        callback=None,
        random_state=None,
    ):
        self.n_components = n_components
        self.gamma = gamma
        self.kernel = kernel
        self.perplexity = perplexity
        self.smallest_affinity = smallest_affinity
        self.metric = metric
        self.init = init
        self.max_iter = max_iter
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
        cost_of = gaussian_cost if self.kernel == "gaussian" else student_cost
        make_cost = partial(cost_of, D2, gamma=self.gamma, smallest=self.smallest_affinity)
        done = 0
        for neighbours in stages(n_rows, perplexity):
            max_iter = self.max_iter if neighbours == perplexity else min(self.max_iter, ANNEALING_ITER)
            cost = make_cost(neighbours)
            run = minimize(cost, Y, max_iter=max_iter, callback=self.callback, done=done)
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


def student_cost(D2, perplexity, *, gamma, smallest=SMALLEST_AFFINITY, pull=PULL):
    """The cost of t-NeRV, with pull / n times the mean squared distance to the origin."""
    n_rows = len(D2)
    P = pair_affinities(D2, perplexity)

    def cost(Y):
        value, gradient = tsne_cost(Y, P, gamma=gamma, smallest=smallest)
        return value + pull * float(np.vdot(Y, Y)) / n_rows**2, gradient + 2.0 * pull / n_rows**2 * Y

    return cost
