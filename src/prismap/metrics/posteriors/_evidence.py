"""Hyper-parameters of Gaussian processes by the marginal likelihood, with as much of a kernel as the data ask for.

All kernels are functions of squared distances q between rows whose columns are scaled:

    k(x, x') = signal exp(-q(x, x')) + linear (<x - c, x' - c> + s),

with one scale for all columns or one for each (relevance determination: MacKay 1994; Rasmussen and Williams 2006, ch.
5), c the mean of the support and s its mean squared distance to c. (With s the line need not pass through c, which few
support rows may have far from the middle of all.) This part needs no coordinates: against support rows l it is

    <x - c, x_l - c> + s = (mean q(x) + mean q(x_l) - q(x, x_l)) / 2,

means over the support, so matrices of similarities and dissimilarities are served alike. A richer kernel is taken
where its likelihood is better by more than half the logarithm of the rows for each further number (Schwarz 1978).

A few extreme values of the target y must not spoil the process. What is known of y is as much as is known of any
increasing function of y, and Fisher-Rao distances are the same for both. So the process may be one of ``g(y)`` (a
warped Gaussian process: Snelson, Rasmussen and Ghahramani 2004) and the marginal likelihoods of several g can be
compared, once each has the term ``sum log g'(y)``. Here g is the identity or a shifted logarithm ``log(u + c)`` of
``u = (y - least) / spread``, or of the mirrored target where the long tail is the lower one. After that, values beyond
`REACH` spreads of the median are drawn in to there (Huber 1981, winsorised).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh
from scipy.optimize import minimize, minimize_scalar

from prismap._util.threads import on_one_thread

# --- warps ------------------------------------------------------------------------------------------------------------

#: Spreads from the median that a value may lie away: about four standard deviations of a Gaussian.
REACH = 4.5


@dataclass(frozen=True)
class Warp:
    """An increasing function of a target.

    Attributes
    ----------
    shift : c in ``log(u + c)``; 0 for the identity.
    sign : -1 where the lower tail is the long one, and the mirrored target has the logarithm.
    least, spread : what u is counted from, and in; of the mirrored target where it is mirrored.
    low, high : where values of g are drawn in to.
    """

    shift: float = 0.0
    sign: float = 1.0
    least: float = 0.0
    spread: float = 1.0
    low: float = -np.inf
    high: float = np.inf

    @property
    def is_logarithm(self):
        """Whether it is more than a straight line."""
        return self.shift > 0

    def bare(self, y):
        """``g(y)`` before values are drawn in."""
        y = np.asarray(y, dtype=np.float64)
        if not self.is_logarithm:
            return y.copy()
        return self.sign * np.log(np.maximum((self.sign * y - self.least) / self.spread, 0) + self.shift)

    def __call__(self, y):
        """``g(y)``; missing values stay missing."""
        return np.clip(self.bare(y), self.low, self.high)

    def log_slope(self, y):
        """``log g'(y)`` of each value; a value that is drawn in is charged as in a tail that falls with its square."""
        g = self.bare(y)
        slope = np.zeros(len(g)) if not self.is_logarithm else -self.sign * g - np.log(self.spread)
        middle, reach = (self.low + self.high) / 2, (self.high - self.low) / 2
        return slope - 2 * np.log(np.maximum(np.abs(g - middle) / reach, 1)) if np.isfinite(reach) else slope

    def moments(self, mean, variance):
        """Mean and variance of y where those of ``g(y)``, a Gaussian, are given."""
        if not self.is_logarithm:
            return mean, variance
        # Of a logarithm that is nearly unknown, mean and variance of y would not be numbers.
        half = np.minimum(variance, 50.0) / 2
        grown = self.spread * np.exp(np.minimum(self.sign * mean + half, 600.0))
        return self.sign * (grown - self.spread * self.shift + self.least), grown**2 * np.expm1(2 * half)

    def array(self):
        """As numbers, for a file."""
        return np.array(astuple(self))


def spread_of(values):
    """Standard deviation after a twentieth of the values at either end is drawn in; of all where that leaves none."""
    low, high = np.quantile(values, 0.05, method="higher"), np.quantile(values, 1 - 0.05, method="lower")
    inner = np.clip(values, low, high).std()
    return float(inner if inner > 0 else values.std()) or 1.0


def bounded(warp, y):
    """The warp with its bounds from known values y."""
    g = warp.bare(y)
    middle, reach = float(np.median(g)), REACH * spread_of(g)
    return Warp(warp.shift, warp.sign, warp.least, warp.spread, middle - reach, middle + reach)


def candidate_warps(y, shifts=(0.01, 0.1, 1.0)):
    """The identity, and logarithms for a long upper or lower tail, from known values y.

    The shifts of the logarithm are in spreads. None is below the step from the least value to the next: many rows with
    the least value, such as counts of none, would lie far from all others.
    """
    spread, warps = spread_of(y), [Warp()]
    for sign in (1.0, -1.0):
        levels = np.unique(sign * y)[:2]
        step = float(levels[-1] - levels[0]) / spread
        tried = sorted({max(shift, step) for shift in shifts if step <= shifts[-1]})
        warps += [Warp(shift, sign, float(levels[0]), spread) for shift in tried]
    return [bounded(warp, y) for warp in warps]


# --- kernels ----------------------------------------------------------------------------------------------------------


#: Rows that the hyper-parameters are estimated on, since time grows with their cube.
EVIDENCE_ROWS = 400
#: Rows that they are estimated on at least, though several of them be of one unit.
FEWEST_EVIDENCE = 60
#: Noise at least, as a share of the signal: with less, a few rows would bend the process through themselves.
LEAST_NOISE = 1e-4


@dataclass(frozen=True)
class Kernel:
    """What a process of one target knows of its kernel.

    Attributes
    ----------
    scales : factors on the columns' squared differences, (D,), or (1,) where one number serves all.
    signal, linear, noise : variances.
    """

    scales: np.ndarray
    signal: float
    linear: float
    noise: float

    @property
    def numbers(self):
        """The three variances."""
        return self.signal, self.linear, self.noise

    def of_profiles(self, Q, means):
        """Kernel values of rows against the support from scaled squared distances Q (n, |S|).

        means : the mean of the support's scaled squared distances, from each support row, (|S|,).
        """
        k = self.signal * np.exp(-Q)
        return k + self.linear * inner_products(Q, means) if self.linear else k

    def of_rows(self, Q, means):
        """``k(x, x)`` of rows from the same."""
        own = np.full(len(Q), self.signal)
        return own + self.linear * Q.mean(axis=1) if self.linear else own


def inner_products(Q, means):
    """``<x - c, x_l - c> + s`` from squared distances Q to the support and the mean distance of each support row."""
    return (Q.mean(axis=1, keepdims=True) + means - Q) / 2


def evidence_rows(target, rng):
    """Sorted numbers of the labelled rows of a target that hyper-parameters are estimated on.

    Of rows that are not independent one per unit, or as many as make `FEWEST_EVIDENCE`: copies would show no noise.
    """
    rows = np.arange(len(target))
    if not target.independent:
        order = rng.permutation(len(rows))
        unit = np.unique(target.units[order], return_inverse=True)[1]
        place = np.argsort(np.argsort(unit, kind="stable"), kind="stable")  # among all rows, unit after unit
        turn = place - np.concatenate([[0], np.cumsum(np.bincount(unit))])[unit]  # among the rows of its unit
        rows = np.sort(order[turn < max(1, -(-FEWEST_EVIDENCE // (int(unit.max()) + 1)))])
    return rows if len(rows) <= EVIDENCE_ROWS else np.sort(rng.choice(rows, EVIDENCE_ROWS, replace=False))


@on_one_thread
def find_kernel(Q, y, X=None):
    """(warp, kernel) of the largest evidence, from squared distances Q (n, n), targets y and, of vectors, the rows X.

    First warp, width and noise of a kernel with one scale; then, from there, a linear part and, of at most 60 columns
    and with five rows for each, a scale per column.
    """
    warps = candidate_warps(y)
    warp, start = smooth_kernel(Q, y, warps)
    g = warp(y)
    g = g - g.mean()
    kernels = [(search(start, Q, None, g, linear=linear)) for linear in (False, True)]
    if X is not None and 1 < X.shape[1] <= min(60, len(y) // 5):
        best = min(kernels, key=lambda one: one[0])[1]
        kernels.append(search(best, Q, X, g, linear=best.linear > 0))
    return warp, min(kernels, key=lambda one: one[0])[1]


def smooth_kernel(Q, y, warps):
    """The warp, and the kernel with one scale and no linear part, of the largest marginal likelihood.

    For one width, an eigendecomposition of ``exp(-beta Q)`` gives the likelihood of every warp and share of noise, and
    the best signal in closed form. The widths are powers of four about the mean squared distance.
    """
    G = np.stack([warp(y) for warp in warps])
    G -= G.mean(axis=1, keepdims=True)
    charge = 0.5 * np.log(len(y))
    slopes = np.array([warp.log_slope(y).sum() - charge * warp.is_logarithm for warp in warps])
    mean = float(Q.mean()) or 1.0
    best: Any = (np.inf,)
    for step in np.log(4.0) * np.arange(-4, 5):
        beta = np.exp(step) / mean
        values, vectors = eigh(np.exp(-beta * Q), check_finite=False)
        for k, z in enumerate((G @ vectors) ** 2):
            cost, signal, share = best_noise(np.maximum(values, 0), z)
            if cost - slopes[k] < best[0]:
                best = (cost - slopes[k], warps[k], Kernel(np.array([beta]), signal, 0.0, signal * share))
    return best[1], best[2]


def best_noise(values, z):
    """(negative log marginal likelihood, signal, noise / signal) from eigenvalues and squared coordinates of y.

    The best signal for a share h of noise is ``mean(z / (l + h))``.
    """
    shares = np.geomspace(LEAST_NOISE, 1e3, 29)
    spectra = values + shares[:, None]
    signals = np.maximum(np.mean(z / spectra, axis=1), np.finfo(np.float64).tiny)
    costs = 0.5 * (len(z) * (np.log(2 * np.pi * signals) + 1) + np.log(spectra).sum(axis=1))
    k = int(costs.argmin())
    return float(costs[k]), float(signals[k]), float(shares[k])


def search(start, Q, X, y, *, linear):
    """(cost, kernel) from `start`: the likelihood's slope is followed in the logarithms of all numbers.

    X : rows, for a scale per column; None for one scale of Q. The cost is the negative log evidence with half the
    logarithm of the rows for every number of the kernel.
    """
    n, least = len(y), float(y.var()) or 1.0
    scales = start.scales if X is None else np.full(X.shape[1], start.scales[0])
    own = max(float(np.mean(start.scales[0] * Q)) / 2, 1e-12)  # the mean of the inner products' diagonal
    begin = np.log(np.r_[scales, start.signal, start.noise, *([0.3 * least / own] if linear else [])])
    reach = np.r_[np.full(len(scales), 12.0), np.full(len(begin) - len(scales), 8.0)]
    best = minimize(
        lambda step: cost_and_slope(step, Q, X, y, linear=linear), begin, jac=True, method="L-BFGS-B",
        bounds=list(zip(begin - reach, begin + reach, strict=True)), options={"maxiter": 40},
    )  # fmt: skip
    kernel = unpack(best.x, len(scales), linear=linear)
    cost = float(best.fun) + 0.5 * np.log(n) * len(begin)
    return cost, kernel


def unpack(step, n_scales, *, linear):
    """The kernel whose numbers have these logarithms; its noise keeps the least share of the signal."""
    values = np.exp(step)
    signal, noise = float(values[n_scales]), float(values[n_scales + 1])
    weight = float(values[n_scales + 2]) if linear else 0.0
    return Kernel(values[:n_scales], signal, weight, noise + LEAST_NOISE * signal)


def cost_and_slope(step, Q, X, y, *, linear):
    """Negative log marginal likelihood of y (without its mean), and its slope in the logarithms of all numbers.

    ``d cost / d t = tr(W dK / dt) / 2`` with ``W = K^-1 - a a^T``, ``a = K^-1 y`` (Rasmussen and Williams 2006, 5.9).
    """
    n_scales = 1 if X is None else X.shape[1]
    kernel = unpack(step, n_scales, linear=linear)
    if X is None:
        q = kernel.scales[0] * Q
    else:
        Z = X * np.sqrt(kernel.scales)
        norms = np.einsum("ij,ij->i", Z, Z)
        q = np.maximum(norms[:, None] + norms - 2 * Z @ Z.T, 0)
    smooth = kernel.signal * np.exp(-q)
    K = smooth.copy()
    if linear:
        inner = inner_products(q, q.mean(axis=1))
        K += kernel.linear * inner
    K[np.diag_indices_from(K)] += kernel.noise
    try:
        C = cholesky(K, lower=True, check_finite=False)
    except LinAlgError:  # not positive definite: distances that are not Euclidean, or extreme numbers
        return 1e300, np.zeros(len(step))
    a = cho_solve((C, True), y)
    W = cho_solve((C, True), np.eye(len(y))) - np.outer(a, a)
    cost = 0.5 * (y @ a) + np.log(np.diag(C)).sum() + 0.5 * len(y) * np.log(2 * np.pi)
    slope = np.empty(len(step))
    V = -W * smooth
    if linear:  # d inner / d q_ij = -1/2, without the means of row and column
        centred = W - W.mean(axis=0) - W.mean(axis=1)[:, None]
        V -= 0.5 * kernel.linear * centred
        slope[n_scales + 2] = 0.5 * kernel.linear * np.vdot(W, inner)
    if X is None:
        slope[0] = 0.5 * np.vdot(V, q)
    else:
        slope[:n_scales] = np.einsum("ij,ij->j", Z, V.sum(axis=1)[:, None] * Z - V @ Z)
    slope[n_scales] = 0.5 * (np.vdot(W, smooth) + LEAST_NOISE * kernel.signal * np.trace(W))
    slope[n_scales + 1] = 0.5 * np.exp(step[n_scales + 1]) * np.trace(W)
    return cost, slope


# --- the plain kernel -------------------------------------------------------------------------------------------------


@on_one_thread
def plain_kernel(Q, y):
    """(signal, beta, noise) of the largest marginal likelihood, from squared distances Q (n, n) and targets y.

    For one beta, an eigendecomposition of ``exp(-beta Q)`` gives the likelihood of every noise share, and the best
    signal in closed form. Only beta needs steps: a coarse grid that cannot miss the valley, then a search inside it.
    """
    mean = float(Q.mean())
    grid = np.log(2.0) * np.arange(-8, 9, 2) - np.log(mean if mean > 0 else 1.0)
    y = y - y.mean()
    best = grid[np.argmin([noise_of_width(Q, y, np.exp(step))[0] for step in grid])]
    reach = grid[1] - grid[0]
    finer = minimize_scalar(
        lambda step: noise_of_width(Q, y, np.exp(step))[0], bounds=(best - reach, best + reach), method="bounded",
        options={"xatol": 1e-3},
    )  # fmt: skip
    beta = float(np.exp(finer.x))
    _, signal, share = noise_of_width(Q, y, beta)
    return signal, beta, signal * share


def noise_of_width(Q, y, beta):
    """(negative log marginal likelihood, signal, noise / signal) for one beta; y without its mean.

    With eigenvalues l and squared coordinates z of y in the eigenvectors, the best signal for a noise share h is
    ``mean(z / (l + h))``. Negative eigenvalues, of distances that are not Euclidean, count as zero.
    """
    values, vectors = eigh(np.exp(-beta * Q), check_finite=False)
    values, z = np.maximum(values, 0), (vectors.T @ y) ** 2

    def cost(log_share):
        spectrum = values + np.exp(log_share)
        signal = np.mean(z / spectrum)
        return 0.5 * (len(y) * (np.log(2 * np.pi * signal) + 1) + np.log(spectrum).sum()), signal

    low, high = np.log((1e-6, 1e3))  # less noise is beyond double precision
    grid = np.linspace(low, high, 40)
    start = grid[np.argmin([cost(step)[0] for step in grid])]
    reach = grid[1] - grid[0]
    bounds = max(low, start - reach), min(high, start + reach)
    share = float(minimize_scalar(lambda step: cost(step)[0], bounds=bounds, method="bounded").x)
    return *map(float, cost(share)), float(np.exp(share))
