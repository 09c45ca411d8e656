"""`DirectPlacement`: each new row goes where the embedding's own cost is lowest, all fitted rows staying in place."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.utils.validation import check_is_fitted

from prismap._affinities import calibrate, lower_perplexity
from prismap._blocks import require_memory, row_blocks
from prismap._params import Interval, StrOptions, num_samples
from prismap._search import smallest
from prismap._spacing import typical_spacing
from prismap._threads import on_one_thread
from prismap.mappings._inputs import as_positions
from prismap.mappings._minimize import minimize_rows
from prismap.mappings.base import Mapping
from prismap.mappings.costs import (
    PLACEMENT_COSTS,
    SPECTRAL,
    STRESSES,
    MapCost,
    as_cost,
    nerv_placement,
    stress_placement,
    tsne_placement,
)
from prismap.mappings.spectral_placement import spectral_placement

#: When a row's search ends: steps, or its gradient times the typical spacing of positions.
MOST_STEPS, GRADIENT_TOLERANCE = 200, 1e-7


class DirectPlacement(Mapping):
    """Out-of-sample projection that minimises the cost of the embedding for each new sample.

    It is exact, and slow compared with a `KernelMap`, because every step looks at all fitted samples. New samples do
    not influence each other.

    Parameters
    ----------
    cost : str or MapCost, default="tsne"
        What is minimised; a name stands for the `MapCost` with this name. "tsne": KL(P || Q) of t-SNE with the new
        sample included. "nerv": ``gamma KL(p || q) + (1 - gamma) KL(q || p)`` of the sample's own neighbourhood. "mds",
        "sammon", "elastic": the stress against all fitted samples.
        "classical" and "isomap": inner products with all fitted samples, from distances or from the lengths of paths
        over neighbours, in closed form. "lle" and "mvu": the weights that rebuild the sample from its neighbours, which
        place it among theirs.
    metric : str or metric object, default="euclidean"
        As in `KernelMap`. A fitted metric is used as it is.
    n_init : int, default=3
        Number of starts: the mean position of the sample's neighbours, and the positions of its nearest fitted samples.
        The lowest cost wins.

    Attributes
    ----------
    metric_ : metric object
        The fitted metric.
    embedding_ : array (n, d)
        Positions of the fitted samples, which stay fixed.

    See Also
    --------
    KernelMap : Up to a hundred times faster.
    VoteMap : Robust on embeddings that tear neighbourhoods apart.

    Notes
    -----
    O(n) time per new sample, iteration and start. The closed forms have neither iterations nor starts. All but "nerv"
    and the stresses keep n x n distances.

    References
    ----------
    Gisbrecht et al. (2012), Out-of-sample kernel extensions for nonparametric dimensionality reduction, sec. 2 and 5.
    Bengio et al. (2003), Out-of-sample extensions for LLE, Isomap, MDS, eigenmaps, and spectral clustering. Saul,
    Roweis (2003), Think globally, fit locally, sec. 6.1.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> DirectPlacement(MapCost(perplexity=10)).fit(X, X[:, :2]).transform(X[:4] + 0.1).shape
    (4, 2)
    """

    _parameter_constraints: dict = {
        "cost": [StrOptions(set(PLACEMENT_COSTS)), MapCost],
        "metric": [str, object],
        "n_init": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(self, cost="tsne", *, metric="euclidean", n_init=3):
        self.cost = cost
        self.metric = metric
        self.n_init = n_init

    @on_one_thread
    def fit(self, X, Y):
        """Keep rows X and their positions Y, shape (n, d)."""
        self._validate_params()
        self._cost = cost = as_cost(self.cost, PLACEMENT_COSTS)
        n = self.keep(X, Y)
        self._length = typical_spacing(self.embedding_)
        if cost.name in SPECTRAL:
            require_memory(32.0 * n * n, f"The distances between {n} rows", "Fit on a sample of the rows.")
            self._spectral = spectral_placement(cost.name, self.metric_, self.embedding_, cost.n_neighbors)
        elif cost.name not in STRESSES:
            self._perplexity = lower_perplexity(cost.perplexity, n)
        if cost.name == "tsne":
            self._prepare_tsne(n)
        return self

    def placement_cost(self, X, Z):
        """The cost of putting rows X at positions Z."""
        check_is_fitted(self, "embedding_")
        cost_of, _ = self._problem(np.asarray(self.metric_.pairwise(X), dtype=np.float64))
        Z = as_positions(Z, num_samples(X), "Z")
        return cost_of(Z, np.arange(len(Z)))[0]

    def place(self, D):
        """Positions of rows from their distances D to all fitted rows: the best of all starts."""
        D = D.astype(np.float64, copy=False)
        if self._cost.name in SPECTRAL:
            return self._spectral.place(D)
        cost_of, weights = self._problem(D)
        nearest = smallest(D, min(self.n_init, D.shape[1]))[1]
        starts = [np.einsum("ij,jk->ik", weights, self.embedding_)]
        starts += [self.embedding_[nearest[:, k]] for k in range(min(self.n_init - 1, D.shape[1]))]
        best, lowest = np.empty_like(starts[0]), np.full(len(D), np.inf)
        for start in starts:
            Z, cost = minimize_rows(cost_of, start, length=self._length, max_iter=MOST_STEPS, tol=GRADIENT_TOLERANCE)
            better = cost < lowest
            best[better], lowest[better] = Z[better], cost[better]
        return best

    def _problem(self, D):
        """The cost as a function of positions, and the weights that average neighbours to a start."""
        Y, name = self.embedding_, self._cost.name
        if name in SPECTRAL:
            return self._spectral.cost(D), None
        if name in STRESSES:
            near = 1 / np.maximum(np.square(D), 1e-12 * np.square(D).max(axis=1, keepdims=True) + 1e-300)
            near /= near.sum(axis=1, keepdims=True)
            return lambda Z, rows: stress_placement(Z, Y, D[rows], STRESSES[name]), near
        D2 = np.square(D)
        P, sigma = calibrate(D2, self._perplexity)
        if name == "nerv":
            return lambda Z, rows: nerv_placement(Z, Y, P[rows], sigma[rows], self._cost.gamma), P
        of_others = expit(-(self._log_mass + 0.5 * D2 / np.square(self._sigma)))
        joint = (P + of_others) / (2 * (len(Y) + 1))
        return lambda Z, rows: tsne_placement(Z, Y, joint[rows], self._rest), P

    def _prepare_tsne(self, n):
        """Bandwidths and masses of the fitted rows' affinities, and their part of Q's normaliser."""
        require_memory(32.0 * n * n, f"The affinities between {n} rows", "Fit on a sample of the rows.")
        D2 = np.square(np.asarray(self.metric_.pairwise(None), dtype=np.float64))
        np.fill_diagonal(D2, np.inf)
        self._sigma = calibrate(D2, self._perplexity)[1]
        self._log_mass = logsumexp(-0.5 * D2 / np.square(self._sigma)[:, None], axis=1)
        Y = self.embedding_
        self._rest = sum(
            float((1 / (1 + np.square(Y[rows, None] - Y[None]).sum(axis=2))).sum()) for rows in row_blocks(n, 48.0 * n)
        )
        self._rest -= n  # a row and itself are no pair
