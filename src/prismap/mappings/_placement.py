"""`DirectPlacement`: each new row goes where the embedding's own cost is lowest, all fitted rows staying in place."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy.special import expit, logsumexp
from sklearn.utils.validation import check_is_fitted

from prismap._util.affinities import calibrate, lower_perplexity
from prismap._util.blocks import require_memory, row_blocks
from prismap._util.graphs import connected_neighbours, geodesics, neighbour_graph, paths_through
from prismap._util.params import Interval, StrOptions, num_samples
from prismap._util.scales import typical_spacing
from prismap._util.search import smallest
from prismap._util.spectra import gram_around_centre, reconstruction_weights
from prismap._util.threads import on_one_thread
from prismap.mappings._base import Mapping, as_positions
from prismap.mappings._costs import (
    PLACEMENT_COSTS,
    SPECTRAL,
    STRESSES,
    MapCost,
    as_cost,
    nerv_placement,
    stress_placement,
    tsne_placement,
)

#: When a row's search ends: steps, or its gradient times the typical spacing of positions.
MOST_STEPS, GRADIENT_TOLERANCE = 200, 1e-7
#: Neighbours that rebuild a row, at least, where no number is given.
LLE_NEIGHBORS, MVU_NEIGHBORS = 10, 6
#: Ridge on local Gram matrices, as a share of their trace.
RIDGE = 1e-3
#: Of the line searches: the share of the slope that a step must gain (Armijo 1966), halvings of a step at most, and
#: the relative gain below which a row is at its minimum.
_ARMIJO, _HALVINGS, _NO_PROGRESS = 1e-4, 30, 1e-14


class DirectPlacement(Mapping):
    """Out-of-sample projection that minimises the cost of the embedding for each new sample.

    It is exact, and slow compared with a `KernelMap`, because every step looks at all fitted samples. New samples do
    not influence each other.

    Parameters
    ----------
    cost : str or MapCost, default="tsne"
        What is minimised; a name stands for the `MapCost` with this name. "tsne": KL(P || Q) of t-SNE with the new
        sample included. "nerv": ``gamma KL(p || q) + (1 - gamma) KL(q || p)`` of the sample's own neighbourhood. "mds",
        "sammon", "elastic": the stress against all fitted samples. "classical" and "isomap": inner products with all
        fitted samples, from distances or from the lengths of paths over neighbours, in closed form. "lle" and "mvu":
        the weights that rebuild the sample from its neighbours, which place it among theirs.
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


# --- closed forms of spectral methods ---------------------------------------------------------------------------------


class PathPlacement:
    """Inner products with the fitted rows as path lengths ask for them: ``z = argmin |B z - b|^2``.

    B are the centred positions, ``b_j = -(delta_j^2 - mean_i delta_ij^2) / 2``, delta the lengths of paths over the
    neighbour graph (Isomap) or the distances themselves (classical scaling). This is the strain of the new row, and for
    a fitted row the position that classical scaling gave it (Bengio et al. 2003). Each row is computed by itself.
    """

    def __init__(self, metric, Y, n_neighbors, *, paths):
        D = np.asarray(metric.pairwise(None), dtype=np.float64)
        self.center, self.k = Y.mean(axis=0), 0
        if paths:
            distances, indices = connected_neighbours(metric, len(Y), n_neighbors)
            self.k = indices.shape[1]
            self.lengths = D = geodesics(neighbour_graph(distances, indices))
        self.means = np.square(D).mean(axis=0)
        self.B = Y - self.center
        self.solve = np.linalg.pinv(self.B).T

    def wanted(self, D):
        """b of rows at distances D from the fitted ones."""
        return -0.5 * (np.square(self.paths(D) if self.k else D) - self.means)

    def paths(self, D):
        """Lengths of the shortest paths of rows at distances D, each over one of its nearest fitted rows."""
        return paths_through(D, min(self.k, D.shape[1]), self.lengths)

    def place(self, D):
        """Positions of rows at distances D."""
        return np.einsum("ij,jk->ik", self.wanted(D), self.solve) + self.center

    def cost(self, D):
        """``|B z - b|^2 / |b|^2`` of rows at distances D, as a function of positions z and rows."""
        b = self.wanted(D)
        size = np.maximum(np.square(b).sum(axis=1), np.finfo(np.float64).tiny)

        def cost_of(Z, rows):
            gap = np.einsum("ik,jk->ij", Z - self.center, self.B) - b[rows]
            return np.square(gap).sum(axis=1) / size[rows], 2 * np.einsum("ij,jk->ik", gap, self.B) / size[rows, None]

        return cost_of


class WeightPlacement:
    """A row is rebuilt from its nearest fitted rows by weights that add up to one, in the data and on the map.

    LLE: Saul & Roweis (2003), Think globally, fit locally, sec. 6.1. MVU: Weinberger, Packer & Saul (2005), Nonlinear
    dimensionality reduction by semidefinite programming and kernel matrix factorization.
    """

    def __init__(self, metric, Y, n_neighbors, *, least, closed):
        self.Y, self.D2 = Y, np.square(np.asarray(metric.pairwise(None), dtype=np.float64))
        if n_neighbors != "auto" or closed:
            n_neighbors = connected_neighbours(metric, len(Y), n_neighbors, least=least, closed=closed)[1].shape[1]
        else:
            n_neighbors = least
        self.k = min(n_neighbors, len(Y))

    def place(self, D):
        """Positions of rows at distances D."""
        near, columns = smallest(D, self.k)
        among = self.D2[columns[:, :, None], columns[:, None, :]]
        W, _ = reconstruction_weights(gram_around_centre(np.square(near), among), RIDGE)
        return np.einsum("ij,ijk->ik", W, self.Y[columns])

    def cost(self, D):
        """``|z - sum_j w_j y_j|^2`` of rows at distances D, as a function of positions z and rows."""
        best = self.place(D)
        return lambda Z, rows: (np.square(Z - best[rows]).sum(axis=1), 2 * (Z - best[rows]))


def spectral_placement(cost, metric, Y, n_neighbors):
    """The placement of a spectral method by name."""
    if cost in ("isomap", "classical"):
        return PathPlacement(metric, Y, n_neighbors, paths=cost == "isomap")
    least = LLE_NEIGHBORS if cost == "lle" else MVU_NEIGHBORS
    return WeightPlacement(metric, Y, n_neighbors, least=least, closed=cost == "lle")


# --- many small minimisations side by side ----------------------------------------------------------------------------


def minimize_rows(cost_of, start, *, length, max_iter, tol):
    """Minimise independent functions of a few variables, one per row: ``(positions, costs)``.

    ``cost_of(Z, rows)`` gives cost (b,) and gradient (b, d) of the functions number `rows` at Z. Each row follows BFGS
    with a halving line search until its gradient, times the typical `length`, falls below `tol`, or its cost no
    longer falls, so the result of a row does not depend on the others. Costs never rise.
    """
    Z = start.copy()
    cost, gradient = cost_of(Z, np.arange(len(Z)))
    norm = np.linalg.norm(gradient, axis=1)
    H = np.eye(Z.shape[1]) * (length / np.maximum(norm, np.finfo(float).tiny))[:, None, None]
    live = np.flatnonzero(norm * length > tol)
    for iteration in range(max_iter):
        if not len(live):
            break
        g = gradient[live]
        step = -np.einsum("nij,nj->ni", H[live], g)
        slope = np.einsum("ni,ni->n", step, g)
        uphill = slope >= 0
        if uphill.any():
            step[uphill] = -g[uphill] * (length / np.linalg.norm(g[uphill], axis=1))[:, None]
            slope[uphill] = np.einsum("ni,ni->n", step[uphill], g[uphill])
        before = cost[live]
        taken = _line_search(cost_of, Z, cost, gradient, live, step, slope)
        taken &= before - cost[live] > _NO_PROGRESS * np.abs(before)
        live, s, change = live[taken], step[taken], (gradient[live] - g)[taken]
        _update(H, live, s, change, rescale=iteration == 0)
        live = live[np.linalg.norm(gradient[live], axis=1) * length > tol]
    return Z, cost


def _line_search(cost_of, Z, cost, gradient, rows, step, slope):
    """Halve each row's step (in place) until it lowers the cost enough; update Z, cost and gradient of those rows.

    Returns which rows moved. A row that finds no lower place is at its minimum to working precision.
    """
    moved = np.zeros(len(rows), dtype=bool)
    pending = np.arange(len(rows))
    size = 1.0
    for _ in range(_HALVINGS):
        trial = Z[rows[pending]] + step[pending]
        new_cost, new_gradient = cost_of(trial, rows[pending])
        fine = new_cost <= cost[rows[pending]] + _ARMIJO * size * slope[pending]
        done = rows[pending[fine]]
        Z[done], cost[done], gradient[done] = trial[fine], new_cost[fine], new_gradient[fine]
        moved[pending[fine]] = True
        pending = pending[~fine]
        if not len(pending):
            break
        step[pending] *= 0.5
        size *= 0.5
    return moved


def _update(H, rows, s, change, *, rescale):
    """The BFGS update of the inverse Hessians of `rows`, skipped where the curvature is not positive."""
    curvature = np.einsum("ni,ni->n", s, change)
    square = np.einsum("ni,ni->n", change, change)
    good = curvature > 1e-10 * np.sqrt(square * np.einsum("ni,ni->n", s, s))
    rows, s, change, curvature, square = rows[good], s[good], change[good], curvature[good], square[good]
    if rescale:
        H[rows] = np.eye(H.shape[1]) * (curvature / square)[:, None, None]
    rho = 1 / curvature
    left = np.eye(H.shape[1]) - rho[:, None, None] * s[:, :, None] * change[:, None, :]
    H[rows] = left @ H[rows] @ left.transpose(0, 2, 1) + rho[:, None, None] * s[:, :, None] * s[:, None, :]
