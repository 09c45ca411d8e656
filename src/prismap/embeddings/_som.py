"""The self-organising map: prototypes on a lattice, near each other in the data where they are neighbours on it.

Kohonen 1995; winners that make it a descent: Heskes, in Kohonen Maps, 1999; on distances: Hammer & Hasenfuss, Neural
Computation 22 (2010), the "relational batch SOM" of Schulz (2017), sec. 3.5.1 and 3.2.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from prismap._util.blocks import require_memory
from prismap._util.grid import sum_products
from prismap._util.params import Interval, StrOptions
from prismap.embeddings._base import EmbeddingResult
from prismap.embeddings._lattice import (
    LatticeEmbedding,
    check_positions,
    choose_grid,
    data_points,
    lattice,
    no_inverse,
    space_of,
)


def log_neighbourhood(nodes, radius):
    """Logarithms of ``h_kl ~ exp(-|g_k - g_l|^2 / 2 radius^2)``, rows adding up to one."""
    log_h = -0.5 * euclidean_distances(nodes, squared=True) / radius**2
    return log_h - logsumexp(log_h, axis=1, keepdims=True)


def lattice_means(log_h, counts):
    """Mixing matrix of the batch step: prototype l is ``sum_k h_kl s_k / sum_k h_kl n_k``.

    s_k is the sum of the rows whose winner is k and n_k their number. Each prototype's weights are divided by their
    largest first, so nodes far from all winners stay defined.
    """
    log_weights = np.where(counts > 0, log_h.T, -np.inf)
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return weights / (weights @ counts)[:, None]


def winner_sums(winners, n_nodes):
    """Sparse (K, n) matrix that adds up the rows of each winner."""
    n_rows = len(winners)
    return sp.csc_array((np.ones(n_rows), winners, np.arange(n_rows + 1)), shape=(n_nodes, n_rows)).tocsr()


def start_winners(axes, grid):
    """The node nearest to each row's place in the principal plane, two standard deviations reaching the border."""
    half = 0.5 * (np.array(grid) - 1)
    places = half + half * np.clip(axes * np.sqrt(len(axes)) / 2.0, -1.0, 1.0)
    nearest = np.rint(places).astype(np.intp)
    return nearest[:, 1] * grid[0] + nearest[:, 0]


def batch_som(space, nodes, winners, *, radii, callback=None):
    """Batch steps, one for each radius: prototypes from winners, then winners from prototypes.

    With h fixed, both steps lower ``sum_i sum_l h_{c(i) l} |x_i - w_l|^2``, c(i) the winner of row i. Ends early when
    nothing moves at the last radius. Returns the prototypes, the squared distances to them, the cost per row, the
    number of steps and why they ended.
    """
    for step, radius in enumerate(radii, start=1):
        log_h = log_neighbourhood(nodes, radius)
        sums = winner_sums(winners, len(nodes))
        mixing = lattice_means(log_h, np.bincount(winners, minlength=len(nodes)))
        prototypes, D2 = space.prototypes(mixing, sums)
        costs = D2 @ np.exp(log_h).T
        previous, winners = winners, costs.argmin(axis=1)
        cost = float(costs[np.arange(len(winners)), winners].mean())
        if callback is not None and callback(step, cost, nodes[winners]):
            return prototypes, D2, cost, step, "callback"
        if radius == radii[-1] and np.array_equal(previous, winners):
            return prototypes, D2, cost, step, "converged"
    return prototypes, D2, cost, step, "max_iter"


def shrinking_radii(start, end, max_iter):
    """Radii that shrink geometrically over the first two thirds of the steps and then stay."""
    shrinking = max(1, 2 * max_iter // 3)
    radii = start * (end / start) ** (np.arange(max_iter) / shrinking)
    radii[shrinking:] = end
    return radii


def local_coordinates(between, nodes):
    """For each node, its lattice neighbours and a map from inner products with them to an offset on the lattice.

    Near node k prototypes are taken as affine in the lattice position, w_l - w_k = J (g_l - g_k), and a row's offset u
    as the least-squares solution of J u = x - w_k. Both J^T (x - w_k) and J^T J follow by regression on g_l - g_k from
    inner products <x - w_k, w_l - w_k>, which squared distances give: no coordinates are needed, and the offset is
    exact where the prototypes lie evenly on a plane. A ridge, tiny beside the usual spacing of prototypes, keeps rows
    at the node where its neighbours coincide with it.
    """
    near = [np.flatnonzero(np.abs(nodes - node).max(axis=1) == 1) for node in nodes]
    regress = [np.linalg.pinv(nodes[near[k]] - node) for k, node in enumerate(nodes)]
    metrics = np.array([
        regress[k] @ inner_products(between[near[k], k], between[np.ix_(near[k], near[k])]) @ regress[k].T
        for k in range(len(nodes))
    ])  # fmt: skip
    ridge = 1e-7 * float(np.trace(metrics, axis1=1, axis2=2).mean()) or 1.0
    return [(near[k], np.linalg.solve(metrics[k] + ridge * np.eye(2), regress[k])) for k in range(len(nodes))]


def inner_products(D2_centre, D2_among):
    """``<w_l - w, w_m - w>`` from squared distances to w and among the w_l."""
    return 0.5 * (D2_centre[:, None] + D2_centre[None, :] - D2_among)


def nearest_nodes(D2, between):
    """The node nearest to each row; the first of several whose distances differ by rounding only."""
    nearly = D2.min(axis=1, keepdims=True) + 1e-9 * between.max(initial=0.0)
    return np.argmax(nearly >= D2, axis=1)


def interpolate(D2, between, nodes):
    """Positions of rows from squared distances to the prototypes: the nearest node plus the local offset, at most 1."""
    nearest = nearest_nodes(D2, between)
    Y = nodes[nearest].copy()
    for k, (near, solve) in enumerate(local_coordinates(between, nodes)):
        rows = np.flatnonzero(nearest == k)
        if len(rows) and len(near):
            inner = 0.5 * (D2[rows, k][:, None] + between[near, k][None, :] - D2[np.ix_(rows, near)])
            Y[rows] += np.clip(sum_products(inner, solve.T), -1.0, 1.0)
    return Y


def bilinear(codebook, grid, Y):
    """The codebook (K, d) between its nodes at positions Y, continued by half a cell beyond the border."""
    columns, rows = grid
    Y = np.clip(Y, -0.5, np.array([columns, rows]) - 0.5)
    corner = np.clip(np.floor(Y), 0, np.maximum(np.array([columns, rows]) - 2, 0)).astype(np.intp)
    right, up = (Y - corner).T[:, :, None]
    step_right, step_up = int(columns > 1), columns * int(rows > 1)
    node = corner[:, 1] * columns + corner[:, 0]
    lower = (1 - right) * codebook[node] + right * codebook[node + step_right]
    upper = (1 - right) * codebook[node + step_up] + right * codebook[node + step_up + step_right]
    return (1 - up) * lower + up * upper


class SOM(LatticeEmbedding):
    """Self-organising map, fitted in batch steps, on vectors or on any metric.

    Minimises ``sum_i sum_l h_{c(i) l} |x_i - w_l|^2`` over winners c(i) and prototypes w_l, where h is a Gaussian on
    the lattice whose radius shrinks. Positions are lattice coordinates: the nearest node plus an offset from local
    interpolation. Euclidean vectors are used directly. Every other metric, such as `FisherMetric` (Fisher SOM), is used
    through distances alone, with prototypes that are weighted means of samples (relational SOM). Both give the same
    result for the same distances.

    Parameters
    ----------
    grid : (columns, rows) or "auto", default="auto"
        Size of the lattice. "auto" is about 5 sqrt(n) nodes, at most 400, with sides in the ratio of the two leading
        standard deviations.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    radius : float, default=0.5
        Final radius of the neighbourhood, in units of the lattice. The first is half the longer side.
    max_iter : int, default=60
        Largest number of batch steps. The radius shrinks over the first two thirds of them.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called after each step with the nodes of the winners as embedding.
        Return True to stop and keep the positions.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed of the search for the principal plane, from which the lattice starts.

    Attributes
    ----------
    embedding_ : array (n, 2)
        Positions of the fitted samples.
    objective_ : float
        The cost above, divided by n.
    grid_ : (columns, rows)
        Size of the lattice used.
    codebook_ : array (columns * rows, d) or None
        Prototypes in the space of the data, node ``r * columns + c`` at position (c, r). None for distances alone.
    winners_ : array (n,)
        The nearest node of each sample.
    nodes_, prototypes_, metric_, n_iter_ : arrays, metric object and int
        Positions of the nodes, prototypes as weights over samples, the fitted metric, and the steps done.
    stop_reason_ : {"converged", "max_iter", "callback"}
        Why the run ended.

    See Also
    --------
    GTM : A lattice with probabilities.

    Notes
    -----
    With K nodes, a step takes O(n K (K + d)) time and O(n K) memory for vectors, so 200,000 samples are practical. For
    distances it takes O(n^2 + n K^2) time and 24 n^2 bytes, so 10,000 samples are.

    References
    ----------
    T. Kohonen (2001), Self-organizing maps. Schulz (2017), sec. 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> SOM((6, 4), random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _parameter_constraints = {
        "grid": [StrOptions({"auto"}), tuple, list],
        "metric": [str, object],
        "radius": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, grid="auto", *, metric="euclidean", radius=0.5, max_iter=60, callback=None, random_state=None):
        self.grid = grid
        self.metric = metric
        self.radius = radius
        self.max_iter = max_iter
        self.callback = callback
        self.random_state = random_state

    def _embed(self, metric, n_rows, rng):
        space = space_of(metric, n_rows, "SOM")
        values, axes, _ = space.principal_axes(rng)
        ratio = np.sqrt(values[0] / values[1]) if values[1] > values[0] / 16.0 else 4.0
        grid = choose_grid(self.grid, n_rows, ratio)
        nodes = lattice(*grid)
        require_memory(32.0 * n_rows * len(nodes), f"SOM of {n_rows} rows on {len(nodes)} nodes", "Use a smaller grid.")
        radii = shrinking_radii(max(max(grid) / 2.0, self.radius), self.radius, self.max_iter)
        prototypes, D2, cost, steps, reason = batch_som(
            space, nodes, start_winners(axes, grid), radii=radii, callback=self.callback
        )
        between = prototypes.between()
        winners = nearest_nodes(D2, between)
        extra = {"grid_": grid, "nodes_": nodes, "prototypes_": prototypes, "winners_": winners}
        return EmbeddingResult(interpolate(D2, between, nodes), cost, steps, reason, extra)

    def _positions(self, D2):
        return interpolate(D2, self.prototypes_.between(), self.nodes_)

    def keep_points(self, rows):
        """Learn from the fitted rows' coordinates where the nodes lie in the data space; None: they have none."""
        self.codebook_ = data_points(self.prototypes_, self.prototypes_.mixing, rows)

    def inverse_transform(self, Y):
        """Points of the data space at positions Y: the codebook, interpolated between nodes."""
        check_is_fitted(self)
        if self.codebook_ is None:
            raise no_inverse()
        return bilinear(self.codebook_, self.grid_, check_positions(Y))
