"""`ParametricMap`: a small network or a layer of radial basis functions, trained by the cost of an embedding."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.linalg import orthogonal_procrustes

from prismap._util.blocks import require_memory
from prismap._util.grid import sum_products
from prismap._util.optimise import minimize
from prismap._util.params import Interval, StrOptions
from prismap._util.random import as_generator
from prismap._util.scales import nearest_distances
from prismap._util.spectra import classical_scaling
from prismap._util.threads import on_one_thread
from prismap.mappings._base import Mapping, relative_residual
from prismap.mappings._costs import MAP_COSTS, STRESSES, MapCost, as_cost, map_cost
from prismap.mappings._kernels import kernel_matrix


class ParametricMap(Mapping):
    """Out-of-sample projection by a parametric function that is trained by the cost of the embedding.

    ``kind="network"`` with ``cost="tsne"`` is parametric t-SNE: a network with hidden tanh layers. ``kind="rbf"`` is
    NeuroScale: a linear combination of radial basis functions, trained by shadow targets. Both see a sample through its
    distances to the fitted ones, so any metric will do.

    Parameters
    ----------
    kind : {"network", "rbf"}, default="network"
        Hidden layers over principal coordinates, or one layer of Gaussians at random fitted samples.
    cost : {"tsne", "tnerv", "nerv", "mds", "sammon", "elastic"} or MapCost, default="tsne"
        What is minimised over the fitted samples. A name stands for the `MapCost` with this name. NeuroScale has
        "sammon" or "mds".
    metric : str or metric object, default="euclidean"
        As in `KernelMap`. A fitted metric is used as it is.
    n_inputs : int, default=30
        Principal coordinates that a network sees.
    n_hidden, n_layers : int, default=100 and 2
        Units of a hidden layer, or number of Gaussians, and number of hidden layers.
    init : {"positions", "random"}, default="positions"
        Where training starts: from the network that comes nearest to the given positions, or from random weights. From
        "random" the cost alone decides, as published, and the given positions are not used.
    penalty : float, default=1.0
        Weight of the mean squared weight in the cost ("network").
    max_iter : int, default=300
        Steps of the training by the cost, and as many of that towards the positions.
    random_state : int, RandomState instance or None, default=None
        Draws the weights or the samples that carry a Gaussian. None is a fixed draw.

    Attributes
    ----------
    metric_ : metric object
        The fitted metric.
    layers_ : list of pairs of arrays
        Weights and biases of each layer ("rbf": of the only one).
    centers_ : array (n_hidden,)
        Indices of the samples that carry a Gaussian ("rbf").
    cost_ : pair of float
        The cost where training by the cost began and at its end.
    n_iter_ : int
        Number of iterations of the training by the cost.
    scale_ : float
        Factor by which the trained outputs were brought to the scale of the positions (t-SNE and NeRV costs).
    residual_ : float
        Root mean square of Y - y(X) over the fitted samples, relative to the spread of Y.

    See Also
    --------
    KernelMap : As many kernels as samples, in closed form; more accurate with few samples.

    Notes
    -----
    Each step costs O(n^2) for the cost and O(n) for the network, and memory is that of three n x n matrices. A sample
    is projected in O(n) for its coordinates ("network") or O(n_hidden). The given positions are usually those of the
    embedding whose cost is minimised, in the same scale.

    References
    ----------
    L. van der Maaten (2009), Learning a parametric embedding by preserving local structure. D. Lowe, M. Tipping (1997),
    NeuroScale: novel topographic feature extraction using RBF networks. M. Tipping, D. Lowe (1997), Shadow targets.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> model = ParametricMap(cost=MapCost(perplexity=10), n_hidden=10, max_iter=20)
    >>> model.fit(X, X[:, :2]).transform(X[:4] + 0.1).shape
    (4, 2)
    """

    _parameter_constraints: dict = {
        "kind": [StrOptions({"network", "rbf"})],
        "cost": [StrOptions(set(MAP_COSTS)), MapCost],
        "metric": [str, object],
        "n_inputs": [Interval(Integral, 1, None, closed="left")],
        "n_hidden": [Interval(Integral, 1, None, closed="left")],
        "n_layers": [Interval(Integral, 1, None, closed="left")],
        "init": [StrOptions({"positions", "random"})],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self, kind="network", *, cost="tsne", metric="euclidean", n_inputs=30, n_hidden=100, n_layers=2,
        init="positions", penalty=1.0, max_iter=300, random_state=None,
    ):  # fmt: skip
        self.kind = kind
        self.cost = cost
        self.metric = metric
        self.n_inputs = n_inputs
        self.n_hidden = n_hidden
        self.n_layers = n_layers
        self.init = init
        self.penalty = penalty
        self.max_iter = max_iter
        self.random_state = random_state

    @on_one_thread
    def fit(self, X, Y):
        """Train the function on rows X and their positions Y, shape (n, d)."""
        self._validate_params()
        cost = as_cost(self.cost, MAP_COSTS)
        n = self.keep(X, Y)
        require_memory(32.0 * n * n, f"The distances between {n} rows", "Fit on a sample of the rows.")
        rng = as_generator(0 if self.random_state is None else self.random_state)
        D = np.asarray(self.metric_.pairwise(None), dtype=np.float64)
        cost_of, _ = map_cost(cost, D)
        self._unit = float(np.sqrt(np.square(self.embedding_ - self.embedding_.mean(axis=0)).mean())) or 1.0
        self._center = self.embedding_.mean(axis=0)
        if self.kind == "rbf":
            self._fit_functions(D, cost_of, rng)
        else:
            self._fit_network(D, cost_of, rng)
        self.scale_ = 1.0
        self._turn(D, fix_scale=self.init == "random" or cost.name in STRESSES)
        self.residual_ = relative_residual(self.place(D), self.embedding_)
        return self

    def place(self, D):
        """Positions of rows from their distances D to all fitted rows, each row by itself."""
        D = D.astype(np.float64, copy=False)
        inside = place_by_network(self.layers_, self._features(D))
        return self._unit * inside + self._center

    def state(self) -> dict[str, Any]:
        """The weights, and what makes features of distances."""
        made = {"scale": np.array(self._unit), "middle": self._center}
        if self.kind == "rbf":
            made |= {"centers": self.centers_, "widths": self._bandwidth}
        else:
            made |= {"axes": self._axes, "means": self._means}
        for number, (W, b) in enumerate(self.layers_):
            made |= {f"weights_{number}": W, f"biases_{number}": b}
        return made

    def restore(self, D, Y, state):
        """Become the fitted map of a `state`."""
        if not state:
            return super().restore(D, Y, state)
        self._unit, self._center = float(state["scale"]), state["middle"]
        if self.kind == "rbf":
            self.centers_, self._bandwidth = state["centers"], state["widths"]
        else:
            self._axes, self._means = state["axes"], state["means"]
        n_layers = sum(name.startswith("weights_") for name in state)
        self.layers_ = [(state[f"weights_{number}"], state[f"biases_{number}"]) for number in range(n_layers)]
        self.embedding_, self._n_features_out = Y, Y.shape[1]
        return self

    def _features(self, D):
        """What the first layer sees of rows at distances D."""
        if self.kind == "rbf":
            return kernel_matrix(np.take(D, self.centers_, axis=1), self._bandwidth, normalize=False)
        return sum_products(-0.5 * (np.square(D) - self._means), self._axes)

    def _fit_functions(self, D, cost_of, rng):
        """NeuroScale: Gaussians at random rows, as wide as the mean distance to the fifth of them."""
        count = min(self.n_hidden, len(D))
        self.centers_ = np.sort(rng.choice(len(D), count, replace=False))
        among = D[np.ix_(self.centers_, self.centers_)]
        width = float(nearest_distances(among, min(5, count - 1)).mean()) if count > 1 else 0.0
        self._bandwidth = np.full(count, width or 1.0)
        features = np.column_stack([self._features(D), np.ones(len(D))])
        goal = (self.embedding_ - self._center) / self._unit
        if self.init == "random":
            goal = rng.normal(size=goal.shape)
        before = cost_of(self._unit * features @ (np.linalg.pinv(features, rcond=1e-8) @ goal))[0]
        A, after, self.n_iter_ = shadow_targets(features, goal, self._in_units(cost_of), self.max_iter)
        self.layers_, self.cost_ = [(A[:-1], A[-1])], (float(before), after)

    def _fit_network(self, D, cost_of, rng):
        """Parametric t-SNE: tanh layers over principal coordinates, which follow from distances to all rows."""
        X, self._means = principal_inputs(D, self.n_inputs), np.square(D).mean(axis=0)
        size = float(np.sqrt(np.square(X).sum(axis=1).mean() / X.shape[1])) or 1.0
        self._axes = np.linalg.pinv(X).T / size
        X = X / size
        sizes = [X.shape[1], *[self.n_hidden] * self.n_layers, self.embedding_.shape[1]]
        layers = first_weights(sizes, rng)
        penalty = self.penalty / sum(W.size for W, _ in layers)
        if self.init == "positions":
            goal = (self.embedding_ - self._center) / self._unit
            layers, *_ = train(layers, X, lambda Z: squared_error(Z, goal), self.max_iter, penalty)
        before = cost_of(self._unit * forward(layers, X)[-1])[0]
        self.layers_, after, self.n_iter_ = train(layers, X, self._in_units(cost_of), self.max_iter, penalty)
        self.cost_ = (float(before), float(after))

    def _turn(self, D, *, fix_scale):
        """Turn, shift and scale the outputs towards the given positions: new samples must lie among the fitted ones.

        No cost changes with a turn or a shift. A descent that ends early, as t-SNE's does, leaves a map smaller than
        its cost would have it, which a network that is trained to the end does not. Stress has the scale of the
        distances, so there, and where no positions were used, the scale stays (`fix_scale`).
        """
        outputs, goal = place_by_network(self.layers_, self._features(D)), (self.embedding_ - self._center) / self._unit
        middle = outputs.mean(axis=0)
        rotation, overlap = orthogonal_procrustes(outputs - middle, goal)
        if not fix_scale:
            self.scale_ = float(overlap / (np.square(outputs - middle).sum() or 1.0)) or 1.0
        rotation *= self.scale_
        W, b = self.layers_[-1]
        self.layers_ = [*self.layers_[:-1], (W @ rotation, (b - middle) @ rotation)]

    def _in_units(self, cost_of):
        """The cost as a function of positions in units of their spread, of which a network's outputs are."""

        def scaled(Z):
            cost, gradient = cost_of(self._unit * Z)
            return cost, self._unit * gradient

        return scaled


def principal_inputs(D, n_inputs):
    """Principal coordinates of the fitted rows from their distances, without empty axes."""
    X, values, _ = classical_scaling(np.square(D), min(n_inputs, len(D) - 1))
    kept = values > 1e-9 * values.max(initial=0.0)
    return X[:, kept] if kept.any() else X[:, :1]


def squared_error(Z, goal):
    """Mean squared error, and its gradient."""
    gap = Z - goal
    return float(np.square(gap).mean()), 2 * gap / gap.size


# --- a small network as a function of its weights ---------------------------------------------------------------------


def first_weights(sizes, rng):
    """Weights and biases of layers of the given sizes, uniform as Glorot & Bengio (2010) have them; the last small."""
    layers = []
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        limit = np.sqrt(6 / (inputs + outputs)) * (0.1 if number == len(sizes) - 2 else 1.0)
        layers.append((rng.uniform(-limit, limit, size=(inputs, outputs)), np.zeros(outputs)))
    return layers


def forward(layers, X):
    """The outputs of all layers: tanh in the hidden ones, linear at the end."""
    values = [X]
    for W, b in layers[:-1]:
        values.append(np.tanh(values[-1] @ W + b))
    W, b = layers[-1]
    return [*values, values[-1] @ W + b]


def place_by_network(layers, X):
    """The positions of rows, each computed independently of the others."""
    for W, b in layers[:-1]:
        X = np.tanh(sum_products(X, W) + b)
    return sum_products(X, layers[-1][0]) + layers[-1][1]


def backward(layers, values, by_outputs):
    """Gradients by the weights and biases of each layer, from that by the outputs."""
    gradients = []
    for number in range(len(layers) - 1, -1, -1):
        gradients.append((values[number].T @ by_outputs, by_outputs.sum(axis=0)))
        if number:
            by_outputs = (by_outputs @ layers[number][0].T) * (1 - values[number] ** 2)
    return gradients[::-1]


def flatten(layers):
    """All weights as one vector."""
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def unflatten(flat, layers):
    """The vector as weights of the same shapes as those of `layers`."""
    shaped, done = [], 0
    for W, b in layers:
        parts = []
        for part in (W, b):
            parts.append(flat[done : done + part.size].reshape(part.shape))
            done += part.size
        shaped.append(tuple(parts))
    return shaped


def train(layers, X, cost_of, max_iter, penalty=0.0):
    """Weights that lower ``cost_of(outputs) -> (cost, gradient)`` plus penalty times their squares.

    Returns the layers, their cost and the number of iterations.
    """

    def objective(flat):
        own = unflatten(flat, layers)
        values = forward(own, X)
        cost, by_outputs = cost_of(values[-1])
        return cost + penalty * float(flat @ flat), flatten(backward(own, values, by_outputs)) + 2 * penalty * flat

    minimum = minimize(
        objective, flatten(layers), max_iter=max_iter, n_evaluations=2 * max_iter, tol=1e-9, gradient_tol=1e-8
    )
    trained = unflatten(minimum.x, layers)
    return trained, cost_of(forward(trained, X)[-1])[0], minimum.n_iter


def shadow_targets(features, positions, cost_of, max_iter, *, growth=1.2, shrink=0.5):
    """Linear weights A of ``Y = F A`` by shadow targets (Tipping & Lowe 1997): (A, cost, number of iterations).

    The positions that the cost asks for, ``T = Y - eta dE/dY``, are targets that the layer is fitted to by the
    pseudo-inverse, ``A = F^+ T``. A step that lowers the cost is taken and eta grows; otherwise eta shrinks.
    `positions` are the first targets. No line search, and the pseudo-inverse is computed once.
    """
    inverse = np.linalg.pinv(features, rcond=1e-8)
    A = inverse @ positions
    Y = features @ A
    cost, gradient = cost_of(Y)
    eta = 0.1 * np.linalg.norm(Y) / max(float(np.linalg.norm(gradient)), np.finfo(np.float64).tiny)
    for step in range(1, max_iter + 1):
        trial = inverse @ (Y - eta * gradient)
        moved = features @ trial
        new_cost, new_gradient = cost_of(moved)
        if np.isfinite(new_cost) and new_cost < cost:
            A, Y, gradient, eta = trial, moved, new_gradient, eta * growth
            converged = cost - new_cost <= 1e-9 * abs(cost)
            cost = new_cost
            if converged:
                return A, float(cost), step
        else:
            eta *= shrink
    return A, float(cost), max_iter
