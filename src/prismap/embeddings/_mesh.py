"""The repulsion between all rows of a plane, summed on a mesh, beside the attraction of neighbours.

Row i is pushed by ``sum_j w_ij^2 (y_i - y_j) / Z`` with ``w_ij = 1 / (1 + |y_i - y_j|^2)`` and ``Z = sum_ij w_ij``.
Both sums come from one potential: with ``phi(y) = sum_j 1 / (1 + |y - y_j|^2)``,

    sum_j w_ij^2 (y_i - y_j) = -grad phi(y_i) / 2        and        Z = sum_i phi(y_i) - n.

The potential is a convolution. Rows are spread over the nodes of a mesh by cubic B-splines, the nodes are convolved
with the kernel by the Fourier transform, and potential and slope are read off by the same splines. Dividing the
kernel's transform twice by that of the spline makes the splines interpolate (Essmann et al. 1995, smooth particle mesh
Ewald). So one transform there and one back do what interpolation by polynomials (Linderman et al. 2019) does with nine.
At a step of a third the force on maps of digits is within 1 % of that over all pairs, and Z within 0.1 %, so that
single precision, which is twice as fast, is enough from the width of the kernel on.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from openTSNE import _tsne as compiled
from scipy.fft import fft, ifft, irfft, next_fast_len, rfft, rfft2

#: Distance between two nodes, in units of the kernel's width; and nodes along an axis at most, beyond which they part.
STEP, MOST_NODES = 1 / 3, 1500


class MeshEngine:
    """KL divergence and gradient of positions in a plane, in the form openTSNE's optimiser calls for.

    It remembers the transformed kernel of the last mesh, which decides nothing: positions alone do. On two threads or
    more attraction and repulsion are computed side by side, each in its own order, so that their number does not
    matter.
    """

    #: Width of a map, in those of the kernel, up to which all digits count: a slope is a small part of the potential.
    precise_to = 1.0

    def __init__(self):
        self._kernel: Any = (None, None)

    def __call__(self, embedding, P, should_eval_error=False, n_jobs=1, masses=None, **_):
        """The gradient of a position that stands for a mass of rows is the mean of theirs."""
        Y = np.asarray(embedding)
        if n_jobs == 1:
            pull, push = attraction(Y, P, should_eval_error, 1), self.repulsion(Y, masses)
        else:
            with ThreadPoolExecutor(1) as other:
                waiting = other.submit(self.repulsion, Y, masses)
                pull, push = attraction(Y, P, should_eval_error, n_jobs - 1), waiting.result()
        (gradient, total, error), (force, Z) = pull, push
        if masses is not None:
            gradient /= masses[:, None]
        gradient -= force / Z
        return error + total * np.log(Z) if should_eval_error else error, gradient

    def repulsion(self, Y, masses=None):
        """``sum_j w_ij^2 (y_i - y_j)`` of every row (n, 2), and Z; row j counts `masses` times, or once."""
        low, span = Y.min(axis=0), np.ptp(Y, axis=0)
        widest = float(span.max())
        # Closer on small maps, which have small forces, but not so close that a slope is a difference of equal numbers.
        # No whole numbers of nodes, which rounding would make one more or less.
        step = max(min(STEP, max(widest / 23.5, STEP / 10)), widest / (MOST_NODES - 0.5))
        dtype = np.dtype(np.float32 if widest > self.precise_to else np.float64)
        shape = tuple(int(nodes) for nodes in (span / step).astype(np.intp) + 5)
        place = np.ascontiguousarray((Y - low).T) / step
        first = place.astype(np.intp)
        (x, x_slope), (y, y_slope) = (cubic_splines(t) for t in (place - first).astype(dtype))
        near = np.arange(4)
        nodes = (first[0] * shape[1] + first[1]) + (near[:, None] * shape[1] + near)[:, :, None]
        own = x if masses is None else x * masses.astype(dtype)
        charge = np.bincount(nodes.ravel(), (own[:, None] * y).ravel(), shape[0] * shape[1])
        potential = self.convolved(charge.reshape(shape).astype(dtype), step).ravel().take(nodes)
        along_y, slope_y = (potential * y).sum(axis=1), (potential * y_slope).sum(axis=1)
        force = np.stack([(along_y * x_slope).sum(axis=0), (slope_y * x).sum(axis=0)], axis=1, dtype=np.float64)
        phi, n_rows = (along_y * x).sum(axis=0), len(Y)
        if masses is not None:
            phi, n_rows = phi * masses, masses.sum()
        Z = max(float(phi.sum(dtype=np.float64)) - n_rows, np.finfo(np.float64).tiny)
        return force / (-2.0 * step), Z

    def convolved(self, charge, step):
        """The potential at the nodes: twice the mesh, so that its end does not reach around to its beginning.

        And some more nodes, for the kernel has a kink where it turns around, which splines feel a few nodes away. Lines
        without a charge, and lines whose potential is not read, are not transformed along the second axis.
        """
        height, width = charge.shape
        shape = tuple(next_fast_len(2 * nodes + 24, real=True) for nodes in charge.shape)
        if self._kernel[0] != (shape, step, charge.dtype):
            self._kernel = (shape, step, charge.dtype), transformed_kernel(shape, step).astype(charge.dtype)
        waves = fft(rfft(charge, shape[1], axis=1), shape[0], axis=0, overwrite_x=True)
        waves *= self._kernel[1]
        return irfft(ifft(waves, axis=0, overwrite_x=True)[:height], shape[1], axis=1)[:, :width]


def attraction(Y, P, should_eval_error, n_threads):
    """``sum_j p_ij w_ij (y_i - y_j)`` of every row, the sum of P, and the error but for the normalisation of Q."""
    gradient = np.zeros_like(Y, order="C")
    total, error = compiled.estimate_positive_gradient_nn(
        P.indices, P.indptr, P.data, Y, Y, gradient, 1, num_threads=n_threads, should_eval_error=should_eval_error
    )
    return gradient, total, error


def cubic_splines(t):
    """Weights (4, n) of the four nodes around places t in [0, 1) of a cell, and their derivatives."""
    u = 1 - t
    t2, u2 = t * t, u * u
    weights, slopes = np.empty((4, len(t)), t.dtype), np.empty((4, len(t)), t.dtype)
    weights[0], weights[1], weights[3] = u2 * u / 6, (4 - 6 * t2 + 3 * t2 * t) / 6, t2 * t / 6
    weights[2] = 1 - weights[0] - weights[1] - weights[3]
    slopes[0], slopes[1], slopes[3] = -u2 / 2, (3 * t2 - 4 * t) / 2, t2 / 2
    slopes[2] = -slopes[0] - slopes[1] - slopes[3]
    return weights, slopes


def transformed_kernel(shape, step):
    """The Fourier transform of ``1 / (1 + r^2)`` on a periodic mesh, divided twice by that of the splines."""
    x, y = (step * np.minimum(np.arange(nodes), nodes - np.arange(nodes)) for nodes in shape)
    kernel = rfft2(1.0 / (1.0 + np.square(x)[:, None] + np.square(y))).real  # it is even
    for axis, nodes in enumerate(shape):
        spline = (2 + np.cos(2 * np.pi * np.arange(kernel.shape[axis]) / nodes)) / 3
        kernel /= np.square(spline if axis else spline[:, None])
    return kernel


def mesh_bytes(Y):
    """About the memory that a mesh over positions in a plane takes; other dimensions have none."""
    if Y.shape[1] != 2:
        return 0.0
    nodes = 2.0 * np.minimum(np.ptp(Y, axis=0) / STEP + 5, MOST_NODES)
    return 40.0 * float(nodes.prod()) + 700.0 * len(Y)
