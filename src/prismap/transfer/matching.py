"""Two clouds matched without correspondences: one step of expectation maximisation, in blocks of rows.

Source positions xi_i (n of them) are drawn from Gaussians of width sigma around the target positions f(z_j), with
weights theta_j (thesis eq. 5.2), or, with the small probability w, from anywhere in the volume V around the source:

    p(xi_i) = w / V + (1 - w) sum_j theta_j N(xi_i | f(z_j), sigma^2 I)

The thesis maximises sum_i log p(xi_i). That leaves target rows free to lie where no source row is (their theta_j goes
to zero), so by default the same is asked the other way round: p'(f(z_j)) = w / V + (1 - w) / n sum_i N(f(z_j) | xi_i).
Both have the same form of lower bound, hence one M-step: sum_j G_j |f(z_j)|^2 - 2 M_j . f(z_j) is to be minimised, with
G_j the sum of the responsibilities of a target row and M_j that of the source positions weighted by them.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator

from prismap._blocks import row_blocks
from prismap._params import Interval
from prismap.exceptions import InputError

#: Bytes of one temporary array; a few of them fit in a cache.
_BLOCK_BYTES = 2**21


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

    _parameter_constraints: dict = {
        "sigma": [tuple, list],
        "mutual": [Interval(Real, 0, None, closed="left")],
        "outliers": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(self, *, sigma=(0.5, 0.2), mutual=1.0, outliers=0.05):
        self.sigma = sigma
        self.mutual = mutual
        self.outliers = outliers

    def check(self):
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
    mutual : weight of the target's likelihood beside the source's; 0 is the thesis' own criterion.
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
    emission: np.ndarray | None = None


@dataclass(frozen=True)
class Expectation:
    """One E-step: G (m,), M (m, q), the new theta (m,), and log p of each source and each target row."""

    mass: np.ndarray
    moment: np.ndarray
    theta: np.ndarray
    source_log: np.ndarray
    target_log: np.ndarray


def expect(model, F, theta, sigma):
    """E-step at target positions F (m, q): time O(n m q), memory one block of rows."""
    source, (n, q), m = model.source, model.source.shape, len(F)
    log_scale = np.log1p(-model.outliers) - q * np.log(sigma * np.sqrt(2 * np.pi))
    floor = np.exp(np.log(model.outliers) - model.log_volume - log_scale)  # of densities in units of exp(log_scale)
    weight, column = np.zeros(m), np.zeros(m)
    moment, pull, source_log = np.zeros((m, q)), np.zeros((m, q)), np.empty(n)
    for rows in row_blocks(n, 8.0 * m, _BLOCK_BYTES):
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


def kernel_block(model, F, sigma, rows):
    """exp(-|xi_i - f_j|^2 / 2 sigma^2) for a block of source rows, times the probability of their classes if known."""
    K = cdist(model.source[rows], F, "sqeuclidean")
    K *= -0.5 / sigma**2
    np.exp(K, out=K)
    if model.codes is not None:
        K *= model.emission[np.ix_(model.codes[0][rows], model.codes[1])]
    return K


def responsibility_blocks(model, F, theta, sigma):
    """``(rows, gamma)`` block by block: gamma_ij is the probability that target row j gave source row i (eq. 5.4).

    A row of gamma sums to one less the probability that the source row has no partner.
    """
    n, q = model.source.shape
    log_scale = np.log1p(-model.outliers) - q * np.log(sigma * np.sqrt(2 * np.pi))
    floor = np.exp(np.log(model.outliers) - model.log_volume - log_scale)
    for rows in row_blocks(n, 8.0 * len(F), _BLOCK_BYTES):
        K = kernel_block(model, F, sigma, rows)
        K *= theta
        K /= floor + K.sum(axis=1, keepdims=True)
        yield rows, K


def objective(model, step, F, sigma, penalty):
    """What EM increases at fixed sigma, per source row: log-likelihoods, known pairs, less penalty / 2 sigma^2."""
    n = len(model.source)
    total = step.source_log.sum() + model.mutual * n * step.target_log.mean() - penalty / (2 * sigma**2)
    if model.pairs is not None:
        apart = model.source[model.pairs[:, 0]] - F[model.pairs[:, 1]]
        total -= model.pair_weight * np.square(apart).sum() / (2 * sigma**2)
    return float(total / n)


def maximise(model, family, W, theta, sigma, n_steps, tol=0.0):
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


def anneal(model, family, W, sigmas, n_steps, tol=1e-4):
    """EM along falling widths from coefficients W: ``(W, theta)``. Deterministic annealing (thesis 5.2.1)."""
    theta = np.full(family.n_rows, 1.0 / family.n_rows)
    for sigma in sigmas:
        W, theta, _ = maximise(model, family, W, theta, sigma, n_steps, tol)
    return W, theta
