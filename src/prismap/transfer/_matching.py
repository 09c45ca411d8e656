"""Two clouds matched without correspondences: expectation maximisation in blocks of rows, and what it moves.

Source positions xi_i (n of them) are drawn from Gaussians of width sigma around the target positions f(z_j), with
weights theta_j (Schulz 2017, eq. 5.2), or, with a small probability w, from anywhere in a volume V around the source:

    p(xi_i) = w / V + (1 - w) sum_j theta_j N(xi_i | f(z_j), sigma^2 I)

Schulz (2017) maximises sum_i log p(xi_i). Then target rows are free to lie where no source row is (their theta_j goes
to zero), so by default the same is asked the other way round: p'(f(z_j)) = w / V + (1 - w) / n sum_i N(f(z_j) | xi_i).
Both have the same form of lower bound, hence one M-step: sum_j G_j |f(z_j)|^2 - 2 M_j . f(z_j) is to be minimised, with
G_j the sum of the responsibilities of a target row and M_j that of the source positions weighted by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

import numpy as np
from scipy.linalg import solve
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator

from prismap._util.affinities import calibrate, pair_affinities
from prismap._util.arrays import TINY, Numbers, Rows
from prismap._util.blocks import CACHED_BYTES, row_blocks
from prismap._util.costs import tsne_cost
from prismap._util.optimise import minimize
from prismap._util.params import Interval
from prismap.exceptions import InputError
from prismap.mappings._kernels import kernel_matrix

#: Principal directions with less than this share of the largest standard deviation are left out.
SMALLEST_DIRECTION = 1e-6
#: Effective neighbours of a landmark that its kernel reaches.
KERNEL_NEIGHBORS = 5.0
#: Ridge of the first placement of a kernel map, as a share of the mean diagonal.
PLACE_RIDGE = 1e-3
#: Gradient steps in one M-step of the kernel map; EM needs no more than an improvement.
M_STEPS = 8


class Matching(BaseEstimator):
    """What counts as a good match of two clouds of positions.

    Parameters
    ----------
    sigma : (float, float), default=(0.5, 0.2)
        Width of the Gaussians at the start and at the end, in units of the source's spread.
    mutual : float, default=1.0
        Weight of the target's likelihood beside the source's. 0 is the published criterion, which ignores where
        superfluous target samples lie.
    outliers : float, default=0.05
        Share of samples that need no partner. Raise it when classes are missing on one side.

    See Also
    --------
    SharedEmbedding : Takes it as ``matching=Matching(...)``.

    Examples
    --------
    >>> Matching(outliers=0.3)
    Matching(outliers=0.3)
    """

    _parameter_constraints: dict[str, Any] = {
        "sigma": [tuple, list],
        "mutual": [Interval(Real, 0, None, closed="left")],
        "outliers": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, *, sigma: Any = (0.5, 0.2), mutual: float = 1.0, outliers: float = 0.05) -> None:
        self.sigma = sigma
        self.mutual = mutual
        self.outliers = outliers

    def check(self) -> None:
        """Refuse settings that make no sense."""
        self._validate_params()
        try:
            wide, narrow = (float(value) for value in self.sigma)
        except (TypeError, ValueError):
            raise InputError(f"sigma must be two numbers, the first and the last width; got {self.sigma!r}.") from None
        if not 0 < narrow <= wide:
            raise InputError(f"sigma must fall and stay above 0: (first, last) with first >= last; got {self.sigma!r}.")


@dataclass(frozen=True)
class Model:
    """What stays fixed while two clouds are matched.

    Parameters
    ----------
    source : (n, q) positions of the source.
    outliers : the share w of rows that need no partner.
    log_volume : log V.
    mutual : weight of the target's likelihood beside the source's; 0 is the criterion of Schulz (2017).
    pairs : (p, 2) indices of source and target rows known to belong together, `pair_weight` rows' worth each.
    codes : codes of the classes of source and target rows (the last one stands for "not known"), or None.
    emission : probability of a source row's class (rows) at a target row's class (columns), constant where not known.
    """

    source: np.ndarray
    outliers: float
    log_volume: float
    mutual: float = 1.0
    pairs: np.ndarray | None = None
    pair_weight: float = 0.0
    codes: tuple[np.ndarray, np.ndarray] | None = None
    emission: Any = None


@dataclass(frozen=True)
class Expectation:
    """One E-step: G (m,), M (m, q), the new theta (m,), and log p of each source and each target row."""

    mass: np.ndarray
    moment: np.ndarray
    theta: np.ndarray
    source_log: np.ndarray
    target_log: np.ndarray


def expect(model: Model, F: Numbers, theta: Numbers, sigma: float) -> Expectation:
    """E-step at target positions F (m, q): time O(n m q), memory one block of rows."""
    source, (n, q), m = model.source, model.source.shape, len(F)
    log_scale = np.log1p(-model.outliers) - q * np.log(sigma * np.sqrt(2 * np.pi))
    floor = np.exp(np.log(model.outliers) - model.log_volume - log_scale)  # of densities in units of exp(log_scale)
    weight, column = np.zeros(m), np.zeros(m)
    moment, pull, source_log = np.zeros((m, q)), np.zeros((m, q)), np.empty(n)
    for rows in row_blocks(n, 8.0 * m, CACHED_BYTES):
        K = kernel_block(model, F, sigma, rows)
        density = floor + K @ theta
        source_log[rows] = np.log(density) + log_scale
        weight += theta * (K.T @ (1.0 / density))
        moment += theta[:, None] * (K.T @ (source[rows] / density[:, None]))
        column += K.sum(axis=0)
        pull += K.T @ source[rows]
    density = n * floor + column  # of the target rows, n times
    target_log = np.log(density / n) + log_scale
    back = model.mutual * n / m / density
    mass = weight + back * column
    moment += back[:, None] * pull
    if model.pairs is not None:
        np.add.at(mass, model.pairs[:, 1], model.pair_weight)
        np.add.at(moment, model.pairs[:, 1], model.pair_weight * source[model.pairs[:, 0]])
    total = weight.sum()
    return Expectation(mass, moment, weight / total if total > 0 else theta, source_log, target_log)


def kernel_block(model: Model, F: Numbers, sigma: float, rows: slice) -> Numbers:
    """exp(-|xi_i - f_j|^2 / 2 sigma^2) for a block of source rows, times the probability of their classes if known."""
    K: Numbers = cdist(model.source[rows], F, "sqeuclidean")
    K *= -0.5 / sigma**2
    np.exp(K, out=K)
    if model.codes is not None:
        K *= model.emission[np.ix_(model.codes[0][rows], model.codes[1])]
    return K


def responsibility_blocks(model: Model, F: Numbers, theta: Numbers, sigma: float) -> Iterator[tuple[slice, Numbers]]:
    """``(rows, gamma)`` block by block: gamma_ij is the probability that target row j gave source row i (eq. 5.4).

    A row of gamma sums to one less the probability that the source row has no partner.
    """
    n, q = model.source.shape
    log_scale = np.log1p(-model.outliers) - q * np.log(sigma * np.sqrt(2 * np.pi))
    floor = np.exp(np.log(model.outliers) - model.log_volume - log_scale)
    for rows in row_blocks(n, 8.0 * len(F), CACHED_BYTES):
        K = kernel_block(model, F, sigma, rows)
        K *= theta
        K /= floor + K.sum(axis=1, keepdims=True)
        yield rows, K


def objective(model: Model, step: Expectation, F: Numbers, sigma: float, penalty: float) -> float:
    """What EM increases at fixed sigma, per source row: log-likelihoods, known pairs, less penalty / 2 sigma^2."""
    n = len(model.source)
    total = step.source_log.sum() + model.mutual * n * step.target_log.mean() - penalty / (2 * sigma**2)
    if model.pairs is not None:
        apart = model.source[model.pairs[:, 0]] - F[model.pairs[:, 1]]
        total -= model.pair_weight * np.square(apart).sum() / (2 * sigma**2)
    return float(total / n)


def maximise(
    model: Model, family: Family, W: Numbers, theta: Numbers, sigma: float, n_steps: int, tol: float = 0.0
) -> tuple[Numbers, Numbers, list[float]]:
    """EM at fixed sigma from coefficients W: ``(W, theta, history)``, the objective before each step and at the end.

    It ends early when a step gains less than `tol`.
    """
    history = []
    for _ in range(n_steps):
        F = family.positions(W)
        step = expect(model, F, theta, sigma)
        history.append(objective(model, step, F, sigma, family.penalty(W)))
        if len(history) > 1 and history[-1] - history[-2] < tol:
            return W, theta, history
        W, theta = family.solve(step.mass, step.moment, W), step.theta
    F = family.positions(W)
    history.append(objective(model, expect(model, F, theta, sigma), F, sigma, family.penalty(W)))
    return W, theta, history


def anneal(
    model: Model, family: Family, W: Numbers, sigmas: Any, n_steps: int, tol: float = 1e-4
) -> tuple[Numbers, Numbers]:
    """EM along falling widths from coefficients W: ``(W, theta)``, as deterministic annealing (Schulz 2017, 5.2.1)."""
    theta = np.full(family.n_rows, 1.0 / family.n_rows)
    for sigma in sigmas:
        W, theta, _ = maximise(model, family, W, theta, sigma, n_steps, tol)
    return W, theta


# --- projections of the target ----------------------------------------------------------------------------------------


class Family:
    """Projections of the target whose positions are linear in the coefficients W, f(z) = design(z) W.

    A family knows the fitted target rows. ``positions(W)`` places them, ``solve(G, M, W)`` is the M-step: it lowers
    sum_j G_j |f_j|^2 - 2 M_j . f_j + penalty(W) from W on, and ``design(rows) @ W`` places new rows.
    """

    def __init__(self, rows: Numbers, n_source: int) -> None:
        self.rows_design = self.design(rows)
        self.n_rows, self.n_source = len(rows), n_source

    def design(self, rows: Numbers) -> Numbers:
        """The vector that multiplies W, a row of it for each of `rows`."""
        raise NotImplementedError

    def penalty(self, W: Numbers) -> float:
        """What keeps the coefficients small."""
        raise NotImplementedError

    def solve(self, mass: Numbers, moment: Numbers, W: Numbers) -> Numbers:
        """The M-step from W on."""
        raise NotImplementedError

    def place(self, mass: Numbers, moment: Numbers) -> Numbers:
        """Coefficients for first positions M_j / G_j of the rows with G_j > 0."""
        raise NotImplementedError

    def positions(self, W: Numbers) -> Numbers:
        """Fitted rows placed."""
        return self.rows_design @ W

    def take(self, rows: Rows, n_source: int) -> Self:
        """The same map, fitted to these of the rows and a source of so many rows."""
        part = copy(self)
        part.rows_design, part.n_rows, part.n_source = self.rows_design[rows], len(rows), n_source
        return part


class AffineFamily(Family):
    """f(z) = W z + b (Schulz 2017, eq. 5.1), with a ridge: n * ridge * |W|^2 in units of the target's spread.

    Rows are centred, turned to their principal axes and divided by the largest standard deviation, so shift and scale
    of the target do not matter. The M-step is weighted least squares in closed form (eq. 5.5).
    """

    def __init__(self, rows: Numbers, n_source: int, *, ridge: float) -> None:
        self.center = rows.mean(axis=0)
        _, values, axes = np.linalg.svd(rows - self.center, full_matrices=False)
        self.axes = axes[values > SMALLEST_DIRECTION * values[0]] * (np.sqrt(len(rows)) / values[0])
        self.ridge = ridge
        super().__init__(rows, n_source)

    def design(self, rows: Numbers) -> Numbers:
        """Principal coordinates and a column of ones."""
        return np.hstack([(rows - self.center) @ self.axes.T, np.ones((len(rows), 1))])

    def penalty(self, W: Numbers) -> float:
        """The ridge; the offset, the last row of W, is free."""
        return self.n_source * self.ridge * float(np.square(W[:-1]).sum())

    def solve(self, mass: Numbers, moment: Numbers, W: Any = None) -> Numbers:
        """(Z^T G Z + n ridge I) W = Z^T M."""
        Z = self.rows_design
        A = (Z.T * mass) @ Z
        A[np.diag_indices(Z.shape[1] - 1)] += self.n_source * self.ridge
        A[np.diag_indices(len(A))] += 1e-12 * np.trace(A) + TINY  # rows that no responsibility reaches
        return np.asarray(solve(A, Z.T @ moment, assume_a="pos"))

    def place(self, mass: Numbers, moment: Numbers) -> Numbers:
        """Coefficients for first positions M_j / G_j of the rows with G_j > 0."""
        return self.solve(mass, moment)


class KernelFamily(Family):
    """f(z) = sum_j w_j k(z, z_j) / sum_l k(z, z_l) over landmarks z_j (Schulz 2017, eq. 5.6).

    The penalty is n * spread^2 * strength * KL(P || Q): the t-SNE cost of the landmarks' positions (eq. 5.7) times
    `zoom`, which brings them to the size that t-SNE itself gives them. The bandwidth of a landmark is that of
    `KERNEL_NEIGHBORS` effective neighbours among the landmarks.
    """

    def __init__(
        self,
        rows: Numbers,
        n_source: int,
        *,
        landmarks: Rows,
        perplexity: float,
        strength: float,
        spread: float,
        zoom: float,
    ) -> None:
        self.landmarks = rows[landmarks]
        D2 = cdist(self.landmarks, self.landmarks, "sqeuclidean")
        np.fill_diagonal(D2, np.inf)
        self.P = pair_affinities(D2, perplexity)
        self.bandwidth = calibrate(D2, min(KERNEL_NEIGHBORS, max(1.5, len(D2) / 3)))[1]
        self.strength, self.zoom = strength * spread**2, zoom
        super().__init__(rows, n_source)
        self.landmark_design = self.rows_design[landmarks]

    def design(self, rows: Numbers) -> Numbers:
        """Normalised kernels of the landmarks."""
        K = np.empty((len(rows), len(self.landmarks)))
        for block in row_blocks(len(rows), 40.0 * len(self.landmarks)):
            K[block] = kernel_matrix(cdist(rows[block], self.landmarks), self.bandwidth, normalize=True)
        return K

    def penalty(self, W: Numbers) -> float:
        """The t-SNE cost of the landmarks' positions, weighted."""
        return self._regulariser(W)[0]

    def _regulariser(self, W: Numbers) -> tuple[float, Numbers]:
        weight = self.n_source * self.strength
        if not weight:
            return 0.0, np.zeros_like(W)
        cost, slope = tsne_cost(self.zoom * (self.landmark_design @ W), self.P)
        return weight * cost, weight * self.zoom * (self.landmark_design.T @ slope)

    def cost(self, W: Numbers, mass: Numbers, moment: Numbers) -> tuple[float, Numbers]:
        """What the M-step lowers, and its gradient in W (eq. 5.7 up to a constant)."""
        F = self.positions(W)
        penalty, slope = self._regulariser(W)
        value = float(mass @ np.square(F).sum(axis=1) - 2 * np.vdot(moment, F))
        return value + penalty, 2 * self.rows_design.T @ (mass[:, None] * F - moment) + slope

    def solve(self, mass: Numbers, moment: Numbers, W: Numbers) -> Numbers:
        """A few steps of L-BFGS from W; it never ends above its start."""
        scale = float(mass.sum()) + self.n_source * self.strength + TINY

        def scaled(W: Numbers) -> tuple[float, Numbers]:
            value, gradient = self.cost(W, mass, moment)
            return value / scale, gradient / scale

        # scipy's own tolerances: a few steps end by their number.
        return np.asarray(
            minimize(scaled, W, max_iter=M_STEPS, n_evaluations=2 * M_STEPS, tol=2.2e-9, gradient_tol=1e-5).x
        )

    def place(self, mass: Numbers, moment: Numbers) -> Numbers:
        """Coefficients for first positions M_j / G_j of the rows with G_j > 0, by least squares with a small ridge."""
        K = self.rows_design
        A = (K.T * mass) @ K
        A[np.diag_indices(len(A))] += PLACE_RIDGE * np.trace(A) / len(A)
        return np.asarray(solve(A, K.T @ moment, assume_a="pos"))
