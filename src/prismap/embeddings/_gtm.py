"""The generative topographic mapping: a smooth sheet in the data space, with noise around it, fitted by EM.

Bishop, Svensen & Williams, Neural Computation 10 (1998); on distances: Gisbrecht, Mokbel & Hammer, Neurocomputing 74
(2011). Schulz (2017), sec. 3.2.
"""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, LinAlgWarning, pinvh, solve
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils.validation import check_is_fitted

from prismap._util.blocks import require_memory
from prismap._util.grid import sum_products
from prismap._util.params import Interval, StrOptions
from prismap.embeddings._base import EmbeddingResult
from prismap.embeddings._lattice import (
    LatticeEmbedding,
    check_grid,
    check_positions,
    choose_grid,
    data_points,
    lattice,
    no_inverse,
    space_of,
)


def square_lattice(columns, rows):
    """Node positions (columns * rows, 2) in the square [-1, 1]^2; a side of one node lies in its middle."""
    sides = np.array([columns, rows]) - 1.0
    return (2.0 * lattice(columns, rows) - sides) / np.maximum(sides, 1.0)


def spacing(grid):
    """Distance between nodes along the side that has more of them."""
    return 2.0 / max(max(grid) - 1, 1)


class Basis(NamedTuple):
    """Functions on the latent square: a constant, the two coordinates, and Gaussians on a lattice of centres."""

    centres: np.ndarray
    width: float

    def __call__(self, Y):
        """(m, 3 + n_centres) values at positions Y."""
        gaussians = np.exp(-0.5 * euclidean_distances(Y, self.centres, squared=True) / self.width**2)
        return np.hstack([np.ones((len(Y), 1)), Y, gaussians])


class Sheet(NamedTuple):
    """The fitted model; the basis functions' weights are combinations ``mixing @ sums`` of rows, as prototypes are."""

    prototypes: object
    mixing: np.ndarray
    responsibilities: np.ndarray
    precision: float
    objective: float
    n_iter: int
    stop_reason: str


def responsibilities(D2, precision):
    """``r_ik ~ exp(-precision d_ik^2 / 2)``, rows adding up to one, and the log of what each row was divided by."""
    R = -0.5 * precision * D2
    largest = R.max(axis=1, keepdims=True)
    R -= largest
    np.exp(R, out=R)
    total = R.sum(axis=1, keepdims=True)
    R /= total
    return R, largest[:, 0] + np.log(total[:, 0])


def sheet_weights(R, Phi, penalty):
    """M step: ``W = (Phi^T G Phi + diag(penalty))^-1 Phi^T R X``, as the matrices before and after R.

    Returns A^-1 and Phi^T R^T, so that W has the coefficients ``A^-1 @ sums``. The constant is not penalised, hence the
    coefficients of every point of the sheet add up to one and the sheet moves with the data.
    """
    A = Phi.T @ (R.sum(axis=0)[:, None] * Phi) + np.diag(penalty)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", LinAlgWarning)
            inverse = solve(A, np.eye(len(A)), assume_a="pos")
    except (LinAlgError, LinAlgWarning):
        inverse = pinvh(A)  # rows far from all others can leave nodes without any: the shortest weights among the best
    return inverse, Phi.T @ R.T


def fit_sheet(space, nodes, Phi, R, penalty, *, variance, max_iter, tol, callback=None):
    """EM from responsibilities R: weights, precision, responsibilities, until the objective settles.

    `variance`, that of the data per dimension, is where the noise starts and sets its floor. The objective is the
    log-likelihood per row less the penalty, ``sum_m penalty_m |w_m|^2 / 2n``, which no step lowers.
    """
    n_rows, n_nodes = R.shape
    noise, objective, reason = variance, -np.inf, "max_iter"
    for step in range(1, max_iter + 1):
        inverse, sums = sheet_weights(R, Phi, penalty * noise)
        prototypes, D2 = space.prototypes(Phi @ inverse, sums)
        noise = max(float(np.vdot(R, D2)) / (n_rows * space.dimension), 1e-9 * variance)
        R, log_total = responsibilities(D2, 1.0 / noise)
        likelihood = log_total.mean() - np.log(n_nodes) - 0.5 * space.dimension * np.log(2 * np.pi * noise)
        previous, objective = objective, float(likelihood - 0.5 * penalty @ prototypes.squared_norms(inverse) / n_rows)
        if callback is not None and callback(step, -objective, R @ nodes):
            reason = "callback"
            break
        if abs(objective - previous) <= tol:
            reason = "converged"
            break
    return Sheet(prototypes, inverse, R, 1.0 / noise, objective, step, reason)


def start_responsibilities(axes, nodes, width):
    """Responsibilities of nodes near each row's place in the principal plane, two standard deviations reaching 1."""
    return responsibilities(euclidean_distances(axes * np.sqrt(len(axes)) / 2.0, nodes, squared=True), width**-2.0)[0]


class GTM(LatticeEmbedding):
    """Generative topographic mapping, fitted by EM, on vectors or on any metric.

    Each sample is drawn from one of K Gaussians of equal width around points ``w_k = sum_m phi_m(g_k) w_m`` on a smooth
    sheet over the latent square. The position of a sample is the mean of the nodes g_k under its posterior, and the
    sheet itself is the inverse projection. Euclidean vectors are used directly. Every other metric, such as
    `FisherMetric` (Fisher GTM), is used through distances alone (relational GTM), where an effective number of
    dimensions replaces the number of columns.

    Parameters
    ----------
    grid : (columns, rows) or "auto", default="auto"
        Nodes of the latent square. "auto" is about 5 sqrt(n), at most 400.
    metric : str or metric object, default="euclidean"
        A name that scikit-learn knows, ``"precomputed"``, or an object such as `FisherMetric`.
    basis : (columns, rows) or "auto", default="auto"
        Gaussian basis functions. "auto" is half as many as nodes along each side. A constant and two linear functions
        are added.
    alpha : float, default=1.0
        Strength of the prior on the weights of the Gaussians, in units of 1 / variance of the data. Large values
        flatten the sheet to a plane.
    max_iter : int, default=200
        Largest number of steps.
    tol : float, default=1e-4
        Change of the objective at which EM ends.
    callback : callable, default=None
        ``callback(iteration, error, embedding)``, called after each step with the negative objective as error. Return
        True to stop and keep the positions.
    random_state : int, Generator, RandomState instance or None, default=None
        Seed of the search for the principal plane, from which EM starts.

    Attributes
    ----------
    embedding_ : array (n, 2)
        Posterior means, in [-1, 1]^2.
    responsibilities_ : array (n, K)
        Posterior of the nodes for each sample.
    objective_ : float
        Log-likelihood per sample, less the penalty. With distances alone it is a comparative figure only.
    precision_, dimension_ : float
        1 / variance of the noise in each dimension, and the number of dimensions.
    grid_ : (columns, rows)
        Nodes used.
    codebook_, weights_ : arrays (K, d) and (M, d), or None
        The sheet at the nodes, and the weights of its basis functions. None for distances alone.
    nodes_, basis_, mixing_, prototypes_, metric_, n_iter_ : arrays, metric object and int
        The fitted model in detail.
    stop_reason_ : {"converged", "max_iter", "callback"}
        Why the run ended.

    See Also
    --------
    SOM : A lattice of prototypes without a density model.

    Notes
    -----
    With K nodes and M basis functions, a step takes O(n K (d + M)) time and O(n K) memory for vectors, so 100,000
    samples are practical. For distances it takes O(n^2 M + n K M) time and 24 n^2 bytes, so 10,000 samples are.

    References
    ----------
    C. Bishop, M. Svensen, C. Williams (1998), GTM: the generative topographic mapping. Schulz (2017), sec. 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> GTM((6, 6), max_iter=20, random_state=0).fit_transform(X).shape
    (150, 2)
    """

    _parameter_constraints = {
        "grid": [StrOptions({"auto"}), tuple, list],
        "metric": [str, object],
        "basis": [StrOptions({"auto"}), tuple, list],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(
        self,
        grid="auto",
        *,
        metric="euclidean",
        basis="auto",
        alpha=1.0,
        max_iter=200,
        tol=1e-4,
        callback=None,
        random_state=None,
    ):
        self.grid = grid
        self.metric = metric
        self.basis = basis
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.random_state = random_state

    def _embed(self, metric, n_rows, rng):
        space = space_of(metric, n_rows, "GTM")
        grid = choose_grid(self.grid, n_rows)
        nodes = square_lattice(*grid)
        require_memory(40.0 * n_rows * len(nodes), f"GTM of {n_rows} rows on {len(nodes)} nodes", "Use a smaller grid.")
        sides = (
            tuple((side + 1) // 2 for side in grid) if isinstance(self.basis, str) else check_grid(self.basis, "basis")
        )
        basis = Basis(square_lattice(*sides), spacing(sides))
        _, axes, trace = space.principal_axes(rng)
        variance = trace / (n_rows * space.dimension) or 1.0
        # The linear functions are hardly penalised; the little keeps them defined where rows span no plane.
        penalty = np.r_[0.0, 1e-6, 1e-6, np.full(len(basis.centres), self.alpha)] / variance
        sheet = fit_sheet(
            space, nodes, basis(nodes), start_responsibilities(axes, nodes, spacing(grid)), penalty,
            variance=variance, max_iter=self.max_iter, tol=self.tol, callback=self.callback,
        )  # fmt: skip
        extra = {
            "grid_": grid, "nodes_": nodes, "basis_": basis, "responsibilities_": sheet.responsibilities,
            "precision_": sheet.precision, "dimension_": space.dimension, "prototypes_": sheet.prototypes,
            "mixing_": sheet.mixing,
        }  # fmt: skip
        Y = sheet.responsibilities @ nodes
        return EmbeddingResult(Y, sheet.objective, sheet.n_iter, sheet.stop_reason, extra)

    def responsibilities(self, X):
        """Posterior probabilities (n, K) of the nodes for new rows."""
        return responsibilities(self._distances_to_prototypes(X), self.precision_)[0]

    def _positions(self, D2):
        return sum_products(responsibilities(D2, self.precision_)[0], self.nodes_)

    def keep_points(self, rows):
        """Learn from the fitted rows' coordinates where the nodes lie in the data space; None: they have none."""
        self.weights_ = data_points(self.prototypes_, self.mixing_, rows)
        self.codebook_ = None if self.weights_ is None else self.basis_(self.nodes_) @ self.weights_

    def inverse_transform(self, Y):
        """Points of the data space at positions Y: the sheet itself, which continues beyond the square."""
        check_is_fitted(self)
        if self.weights_ is None:
            raise no_inverse()
        return self.basis_(check_positions(Y)) @ self.weights_
