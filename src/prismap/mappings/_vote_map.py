"""`VoteMap`: new rows go where most of their nearest fitted rows are, as far from each as they are in the data."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np

from prismap._util.blocks import row_blocks
from prismap._util.params import Interval
from prismap._util.scales import typical_spacing
from prismap._util.search import smallest
from prismap.mappings._base import Mapping

#: Positions are beside each other within the typical distance to so many neighbours on the map.
SPACING_NEIGHBORS = 10
#: Steps down from the best voter; each halves what is left, or better.
N_STEPS = 8
#: Steps from the vote to the place that keeps the distances to those who agree.
N_SPREAD_STEPS = 8


class VoteMap(Mapping):
    """Out-of-sample projection to where most of the nearest fitted samples are.

    An embedding tears neighbourhoods apart: some of the nearest samples of a new one lie in one cluster of the map and
    some in another, and every weighted mean of them lies in the empty space between. So the position minimises a robust
    cost that does not grow with the distance to outliers (Geman and McClure),

        y(x) = argmin_y sum_j w_j r_j^2 / (1 + r_j^2),   r_j = |y - y_j| / s,
        w_j  = exp(-2 (d_j^2 - d_1^2) / (d_k^2 - d_1^2)),

    over the k nearest samples at distances d_1 <= ... <= d_k. It starts at the best of their positions and continues
    with reweighted means.

    Such means lie closer together than the samples that they are means of: many new samples would form strings between
    few fitted ones. So a sample leaves its vote v for the place nearby that keeps its distances to those who agree, by
    raw stress (de Leeuw 1977),

        y = argmin_y sum_j u_j (|y - y_j| - c d_j)^2,   u_j = w_j / (1 + |v - y_j|^2 / s^2)^2,
        c = spread sum_j u_j |v - y_j| / sum_j u_j d_j.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of samples that vote, at most all of them.
    reach : float, default=1.0
        s, in units of the typical distance of a position to its tenth neighbour in the map.
    spread : float, default=1.4
        How far from their votes samples spread, as a ratio of distances in the map. 0 leaves them where their votes
        are.
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
    spread_ : float
        `spread`, or 0 for a map that was saved before votes were spread.

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
    J. de Leeuw (1977), Applications of convex analysis to multidimensional scaling.

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
        "spread": [Interval(Real, 0, None, closed="left")],
        "metric": [str, object],
    }

    def __init__(self, n_neighbors=10, *, reach=1.0, spread=1.4, metric="euclidean"):
        self.n_neighbors = n_neighbors
        self.reach = reach
        self.spread = spread
        self.metric = metric

    def fit(self, X, Y):
        """Keep rows X and their positions Y, shape (n, d)."""
        self._validate_params()
        self.keep(X, Y)
        return self.fit_positions(self.embedding_)

    def fit_positions(self, Y):
        """Become the mapping of rows at checked positions Y, for new rows that bring their distances: only `place`."""
        scale = self.reach * typical_spacing(Y, SPACING_NEIGHBORS)
        return self.restore(None, Y, {"scale": scale, "spread": self.spread})

    def state(self) -> dict[str, Any]:
        """The reach of a vote and its spread; the rest are the positions."""
        return {"scale": np.array(self.scale_), "spread": np.array(self.spread_)}

    def restore(self, D, Y, state):
        """Become the fitted map of a `state`."""
        self.embedding_, self.scale_, self.spread_ = Y, float(state["scale"]), float(state.get("spread", 0.0))
        self._n_features_out = Y.shape[1]
        return self

    def place(self, D):
        """Positions of rows from their distances D to all fitted rows."""
        return self.settled([self.seen(D)])

    def seen(self, D):
        """The distances to those who vote, and who they are."""
        return smallest(D, min(self.n_neighbors, D.shape[1]))

    def settled(self, blocks):
        """The votes of many rows at once, so that calls take less time than numbers, if these fit into a cache."""
        distances, near = (np.concatenate(part) for part in zip(*blocks, strict=True))
        positions = np.empty((len(near), self.embedding_.shape[1]))
        for rows in row_blocks(len(near), 8.0 * near.shape[1] * positions.shape[1], 2**18):
            D2 = np.square(distances[rows], dtype=np.float64)
            positions[rows] = vote(D2, self.embedding_[near[rows]], self.scale_, self.spread_)
        return positions


def vote(D2, Y, scale, spread=0.0):
    """Where the voters of each row agree: squared distances (b, k), nearest first, and positions (b, k, d).

    With a `spread`, at the distances from them that the row has. Inside, voters come first and rows last: sums of a few
    numbers at the end of an array take several times as long.
    """
    weights, voters = np.ascontiguousarray(vote_weights(D2).T), np.ascontiguousarray(Y.transpose(1, 2, 0)) / scale
    best = np.argmin([vote_cost(place, voters, weights) for place in voters], axis=0)
    places = np.take_along_axis(voters, best[None, None], axis=0)[0]
    for _ in range(N_STEPS):
        pull = weights / np.square(1 + squared_gaps(places, voters))
        pull /= added(pull)
        places = added(pull[:, None] * voters)
    if spread > 0:
        agree = weights / np.square(1 + squared_gaps(places, voters))
        agree /= added(agree)
        places = spread_out(places, voters, agree, np.sqrt(np.ascontiguousarray(D2.T)), spread)
    return places.T * scale


def spread_out(places, voters, agree, distances, spread):
    """From the votes (d, b) to where the distances (k, b) to voters at (k, d, b) are kept best, by majorisation.

    Each step goes to the mean of the points at the wanted distance from each voter, ``sum_j u_j (y_j + c d_j e_j)``
    with e_j the direction from voter j: the stress never rises. `agree` are the weights u, which sum to 1 in each row.
    """
    mean_gap, mean_distance = (added(agree * part) for part in (lengths(places - voters), distances))
    ratio = np.divide(spread * mean_gap, mean_distance, out=np.zeros_like(mean_gap), where=mean_distance > 0)
    wanted = ratio * distances
    for _ in range(N_SPREAD_STEPS):
        gap = places - voters
        gap *= (wanted / np.maximum(lengths(gap), 1e-100))[:, None]  # no gap has no direction
        gap += voters
        gap *= agree[:, None]
        places = added(gap)
    return places


def lengths(gaps):
    """Lengths (k, b) of vectors (k, d, b)."""
    return np.sqrt(added((gaps * gaps).transpose(1, 0, 2)))


def vote_weights(D2):
    """1 for the nearest row, falling to exp(-2) for the k-th; all alike where all are equally near."""
    gap = D2 - D2[:, :1]
    return np.exp(-2 * np.divide(gap, gap[:, -1:], out=np.zeros_like(gap), where=gap[:, -1:] > 0))


def vote_cost(places, voters, weights):
    """The cost of places (d, b), for voters at (k, d, b) with weights (k, b), in units of the reach: shape (b,)."""
    r2 = squared_gaps(places, voters)
    r2 /= 1 + r2
    r2 *= weights
    return added(r2)


def squared_gaps(places, voters):
    """Squared distances (k, b) of places (d, b) to voters (k, d, b)."""
    gap = voters - places
    gap *= gap
    return added(gap.transpose(1, 0, 2))


def added(parts):
    """The sum of arrays, one after another: a row has the same sum beside any others."""
    total = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total
