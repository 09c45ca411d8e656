"""`VoteMap`: new rows go where most of their nearest fitted rows are."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from prismap._util.params import Interval
from prismap._util.scales import typical_spacing
from prismap._util.search import smallest
from prismap.mappings._base import Mapping

#: Positions are beside each other within the typical distance to so many neighbours on the map.
SPACING_NEIGHBORS = 10
#: Steps down from the best voter; each halves what is left, or better.
N_STEPS = 8


class VoteMap(Mapping):
    """Out-of-sample projection to where most of the nearest fitted samples are.

    An embedding tears neighbourhoods apart: some of the nearest samples of a new one lie in one cluster of the map and
    some in another, and every weighted mean of them lies in the empty space between. So the position minimises a robust
    cost that does not grow with the distance to outliers (Geman and McClure),

        y(x) = argmin_y sum_j w_j r_j^2 / (1 + r_j^2),   r_j = |y - y_j| / s,
        w_j  = exp(-2 (d_j^2 - d_1^2) / (d_k^2 - d_1^2)),

    over the k nearest samples at distances d_1 <= ... <= d_k. It starts at the best of their positions and continues
    with reweighted means.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of samples that vote, at most all of them.
    reach : float, default=1.0
        s, in units of the typical distance of a position to its tenth neighbour in the map.
    metric : str or metric object, default="euclidean"
        As in `KernelMap`. A fitted metric is used as it is.

    Attributes
    ----------
    metric_ : metric object
        The fitted metric.
    embedding_ : array (n, d)
        Positions of the fitted samples.
    scale_ : float
        s.

    See Also
    --------
    KernelMap : The default, which is smooth.
    DirectPlacement : Minimises the cost of the embedding itself.

    Notes
    -----
    Each sample is projected independently of the others, in time linear in the number of fitted samples.

    References
    ----------
    S. Geman, D. McClure (1987), Statistical methods for tomographic image reconstruction.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> VoteMap(n_neighbors=5).fit(X, X[:, :2]).transform(X[:4] + 0.1).shape
    (4, 2)
    """

    _parameter_constraints: dict = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "reach": [Interval(Real, 0, None, closed="neither")],
        "metric": [str, object],
    }

    def __init__(self, n_neighbors=10, *, reach=1.0, metric="euclidean"):
        self.n_neighbors = n_neighbors
        self.reach = reach
        self.metric = metric

    def fit(self, X, Y):
        """Keep rows X and their positions Y, shape (n, d)."""
        self._validate_params()
        self.keep(X, Y)
        self.scale_ = self.reach * typical_spacing(self.embedding_, SPACING_NEIGHBORS)
        return self

    def state(self) -> dict[str, Any]:
        """The reach of a vote; the rest are the positions."""
        return {"scale": np.array(self.scale_)}

    def restore(self, D, Y, state):
        """Become the fitted map of a `state`."""
        self.embedding_, self.scale_ = Y, float(state["scale"])
        self._n_features_out = Y.shape[1]
        return self

    def place(self, D):
        """Positions of rows from their distances D to all fitted rows."""
        distances, near = smallest(D, min(self.n_neighbors, D.shape[1]))
        return vote(np.square(distances, dtype=np.float64), self.embedding_[near], self.scale_)


def vote(D2, Y, scale):
    """Where the voters of each row agree: squared distances (b, k), nearest first, and positions (b, k, d).

    Inside, voters come first and rows last: sums of a few numbers at the end of an array take several times as long.
    """
    weights, voters = np.ascontiguousarray(vote_weights(D2).T), np.ascontiguousarray(Y.transpose(1, 2, 0))
    best = np.argmin([vote_cost(place, voters, weights, scale) for place in voters], axis=0)
    places = np.take_along_axis(voters, best[None, None], axis=0)[0]
    for _ in range(N_STEPS):
        pull = weights / np.square(1 + squared_gaps(places, voters, scale))
        places = sum((pull / sum(pull))[:, None] * voters)
    return places.T


def vote_weights(D2):
    """1 for the nearest row, falling to exp(-2) for the k-th; all alike where all are equally near."""
    gap = D2 - D2[:, :1]
    return np.exp(-2 * np.divide(gap, gap[:, -1:], out=np.zeros_like(gap), where=gap[:, -1:] > 0))


def vote_cost(places, voters, weights, scale):
    """The cost of places (d, b), for voters at (k, d, b) with weights (k, b): shape (b,)."""
    r2 = squared_gaps(places, voters, scale)
    return sum(weights * (r2 / (1 + r2)))  # one after another: a row has the same sum beside any others


def squared_gaps(places, voters, scale):
    """Squared distances (k, b) of places (d, b) to voters (k, d, b), in units of the reach."""
    gap = (voters - places) / scale
    gap *= gap
    return sum(gap.transpose(1, 0, 2))
