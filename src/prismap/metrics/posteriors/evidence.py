"""Hyper-parameters of a Gaussian process by the marginal likelihood, with as much of a kernel as the data ask for.

All kernels are functions of squared distances q between rows whose columns are scaled:

    k(x, x') = signal exp(-q(x, x')) + linear (<x - c, x' - c> + s),

with one scale for all columns or one for each (relevance determination: MacKay 1994; Rasmussen and Williams 2006, ch.
5), c the mean of the support and s its mean squared distance to c. (With s the line need not pass through c, which few
support rows may have far from the middle of all.) This part needs no coordinates: against support rows l it is

    <x - c, x_l - c> + s = (mean q(x) + mean q(x_l) - q(x, x_l)) / 2,

means over the support, so matrices of similarities and dissimilarities are served alike. A richer kernel is taken
where its likelihood is better by more than half the logarithm of the rows for each further number (Schwarz 1978).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigh
from scipy.optimize import minimize

from prismap._threads import on_one_thread
from prismap.metrics.posteriors.warp import candidate_warps

#: Rows that the hyper-parameters are found on: no silent O(n^3).
EVIDENCE_ROWS = 400
#: Noise, as a share of the signal: below the first a few rows would bend the process through themselves.
LEAST_NOISE, MOST_NOISE = 1e-4, 1e3
#: Columns that may have a scale each: no more than this, and so many rows for each.
MOST_SCALES, ROWS_PER_SCALE = 60, 5
#: Steps of the search for the scales.
SEARCH_STEPS = 40
#: Widths of the first look, as powers of four about the mean squared distance.
FIRST_LOOK = np.log(4.0) * np.arange(-4, 5)


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


@on_one_thread
def find_kernel(Q, y, X=None):
    """(warp, kernel) of the largest evidence, from squared distances Q (n, n), targets y and, of vectors, the rows X.

    First warp, width and noise of a kernel with one scale; then, from there, a linear part and a scale per column.
    """
    warps = candidate_warps(y)
    warp, start = smooth_kernel(Q, y, warps)
    g = warp(y)
    g = g - g.mean()
    found = [(search(start, Q, None, g, linear=linear)) for linear in (False, True)]
    if X is not None and 1 < X.shape[1] <= min(MOST_SCALES, len(y) // ROWS_PER_SCALE):
        best = min(found, key=lambda one: one[0])[1]
        found.append(search(best, Q, X, g, linear=best.linear > 0))
    return warp, min(found, key=lambda one: one[0])[1]


def smooth_kernel(Q, y, warps):
    """The warp, and the kernel with one scale and no linear part, of the largest marginal likelihood.

    For one width, an eigendecomposition of ``exp(-beta Q)`` gives the likelihood of every warp and share of noise, and
    the best signal in closed form.
    """
    G = np.stack([warp(y) for warp in warps])
    G -= G.mean(axis=1, keepdims=True)
    charge = 0.5 * np.log(len(y))
    slopes = np.array([warp.log_slope(y).sum() - charge * warp.is_logarithm for warp in warps])
    mean = float(Q.mean()) or 1.0
    best: Any = (np.inf,)
    for step in FIRST_LOOK:
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
    shares = np.geomspace(LEAST_NOISE, MOST_NOISE, 29)
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
    found = minimize(
        lambda step: cost_and_slope(step, Q, X, y, linear=linear), begin, jac=True, method="L-BFGS-B",
        bounds=list(zip(begin - reach, begin + reach, strict=True)), options={"maxiter": SEARCH_STEPS},
    )  # fmt: skip
    kernel = unpack(found.x, len(scales), linear=linear)
    cost = float(found.fun) + 0.5 * np.log(n) * len(begin)
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
    except LinAlgError:  # not Euclidean, or numbers beyond reason: nothing to be had there
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
