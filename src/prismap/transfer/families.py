"""Maps of the target: affine, or a normalised kernel map held together by the t-SNE cost.

A *family* knows the fitted target rows. ``positions(W)`` places them for coefficients W, ``solve(G, M, W)`` is the
M-step: it lowers sum_j G_j |f_j|^2 - 2 M_j . f_j + penalty(W) from W on, and ``design(rows) @ W`` places new rows.
"""

from __future__ import annotations

from copy import copy

import numpy as np
from scipy.linalg import solve
from scipy.spatial.distance import cdist

from prismap._affinities import calibrate, pair_affinities
from prismap._blocks import row_blocks
from prismap._costs import tsne_cost
from prismap._optimise import minimize
from prismap.mappings.kernels import kernel_matrix

#: Principal directions with less than this share of the largest standard deviation are left out.
SMALLEST_DIRECTION = 1e-6
#: Effective neighbours of a landmark that its kernel reaches.
KERNEL_NEIGHBORS = 5.0
#: Ridge of the first placement of a kernel map, as a share of the mean diagonal.
PLACE_RIDGE = 1e-3
#: Gradient steps in one M-step of the kernel map; EM needs no more than an improvement.
M_STEPS = 8

_TINY = np.finfo(float).tiny


class Family:
    """What both maps share: positions are linear in the coefficients W, f(z) = design(z) W."""

    def __init__(self, rows, n_source):
        self.rows_design = self.design(rows)
        self.n_rows, self.n_source = len(rows), n_source

    def design(self, rows):
        """The vector that multiplies W, a row of it for each of `rows`."""
        raise NotImplementedError

    def positions(self, W):
        """Fitted rows placed."""
        return self.rows_design @ W

    def take(self, rows, n_source):
        """The same map, fitted to these of the rows and a source of so many rows."""
        part = copy(self)
        part.rows_design, part.n_rows, part.n_source = self.rows_design[rows], len(rows), n_source
        return part


class AffineFamily(Family):
    """f(z) = W z + b (thesis eq. 5.1), with a ridge: n * ridge * |W|^2 in units of the target's spread.

    Rows are centred, turned to their principal axes and divided by the largest standard deviation, so shift and scale
    of the target do not matter. The M-step is weighted least squares in closed form (eq. 5.5).
    """

    def __init__(self, rows, n_source, *, ridge):
        self.center = rows.mean(axis=0)
        _, values, axes = np.linalg.svd(rows - self.center, full_matrices=False)
        self.axes = axes[values > SMALLEST_DIRECTION * values[0]] * (np.sqrt(len(rows)) / values[0])
        self.ridge = ridge
        super().__init__(rows, n_source)

    def design(self, rows):
        """Principal coordinates and a column of ones."""
        return np.hstack([(rows - self.center) @ self.axes.T, np.ones((len(rows), 1))])

    def penalty(self, W):
        """The ridge; the offset, the last row of W, is free."""
        return self.n_source * self.ridge * float(np.square(W[:-1]).sum())

    def solve(self, mass, moment, W=None):
        """(Z^T G Z + n ridge I) W = Z^T M."""
        Z = self.rows_design
        A = (Z.T * mass) @ Z
        A[np.diag_indices(Z.shape[1] - 1)] += self.n_source * self.ridge
        A[np.diag_indices(len(A))] += 1e-12 * np.trace(A) + _TINY  # rows that no responsibility reaches
        return solve(A, Z.T @ moment, assume_a="pos")

    def place(self, mass, moment):
        """Coefficients for first positions M_j / G_j of the rows with G_j > 0."""
        return self.solve(mass, moment)


class KernelFamily(Family):
    """f(z) = sum_j w_j k(z, z_j) / sum_l k(z, z_l) over landmarks z_j (thesis eq. 5.6).

    The penalty is n * spread^2 * strength * KL(P || Q): the t-SNE cost of the landmarks' positions (eq. 5.7) times
    `zoom`, which brings them to the size that t-SNE itself gives them. The bandwidth of a landmark is that of
    `KERNEL_NEIGHBORS` effective neighbours among the landmarks.
    """

    def __init__(self, rows, n_source, *, landmarks, perplexity, strength, spread, zoom):
        self.landmarks = rows[landmarks]
        D2 = cdist(self.landmarks, self.landmarks, "sqeuclidean")
        np.fill_diagonal(D2, np.inf)
        self.P = pair_affinities(D2, perplexity)
        self.bandwidth = calibrate(D2, min(KERNEL_NEIGHBORS, max(1.5, len(D2) / 3)))[1]
        self.strength, self.zoom = strength * spread**2, zoom
        super().__init__(rows, n_source)
        self.landmark_design = self.rows_design[landmarks]

    def design(self, rows):
        """Normalised kernels of the landmarks."""
        K = np.empty((len(rows), len(self.landmarks)))
        for block in row_blocks(len(rows), 40.0 * len(self.landmarks)):
            K[block] = kernel_matrix(cdist(rows[block], self.landmarks), self.bandwidth, normalize=True)
        return K

    def penalty(self, W):
        """The t-SNE cost of the landmarks' positions, weighted."""
        return self._regulariser(W)[0]

    def _regulariser(self, W):
        weight = self.n_source * self.strength
        if not weight:
            return 0.0, np.zeros_like(W)
        cost, slope = tsne_cost(self.zoom * (self.landmark_design @ W), self.P)
        return weight * cost, weight * self.zoom * (self.landmark_design.T @ slope)

    def cost(self, W, mass, moment):
        """What the M-step lowers, and its gradient in W (eq. 5.7 up to a constant)."""
        F = self.positions(W)
        penalty, slope = self._regulariser(W)
        value = float(mass @ np.square(F).sum(axis=1) - 2 * np.vdot(moment, F))
        return value + penalty, 2 * self.rows_design.T @ (mass[:, None] * F - moment) + slope

    def solve(self, mass, moment, W):
        """A few steps of L-BFGS from W; it never ends above its start."""
        scale = float(mass.sum()) + self.n_source * self.strength + _TINY

        def scaled(W):
            value, gradient = self.cost(W, mass, moment)
            return value / scale, gradient / scale

        # scipy's own tolerances: a few steps end by their number.
        return minimize(scaled, W, max_iter=M_STEPS, n_evaluations=2 * M_STEPS, tol=2.2e-9, gradient_tol=1e-5).x

    def place(self, mass, moment):
        """Coefficients for first positions M_j / G_j of the rows with G_j > 0, by least squares with a small ridge."""
        K = self.rows_design
        A = (K.T * mass) @ K
        A[np.diag_indices(len(A))] += PLACE_RIDGE * np.trace(A) / len(A)
        return solve(A, K.T @ moment, assume_a="pos")
