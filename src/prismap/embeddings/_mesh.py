"""The repulsion between all rows of a plane, summed on a mesh, beside the attraction of neighbours.

Row i is pushed by ``sum_j w_ij^2 (y_i - y_j) / Z`` with ``w_ij = 1 / (1 + |y_i - y_j|^2)`` and ``Z = sum_ij w_ij``.
Both sums come from one potential: with ``phi(y) = sum_j 1 / (1 + |y - y_j|^2)``,

    sum_j w_ij^2 (y_i - y_j) = -grad phi(y_i) / 2        and        Z = sum_i phi(y_i) - n.

The potential is a convolution. Rows are spread over the nodes of a mesh by cubic B-splines, the nodes are convolved
with the kernel by the Fourier transform, and potential and slope are read off by the same splines. Dividing the
kernel's transform twice by that of the spline makes the splines interpolate (Essmann et al. 1995, smooth particle mesh
Ewald). So one transform there and one back do what interpolation by polynomials (Linderman et al. 2019) does with nine.
At a step of a third the force on maps of digits is within 1 % of that over all pairs, and Z within 0.1 %.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from openTSNE import _tsne as compiled
from scipy.fft import irfft2, next_fast_len, rfft2

#: Distance between two nodes, in units of the kernel's width; and nodes along an axis at most, beyond which they part.
STEP, MOST_NODES = 1 / 3, 1500


class MeshEngine:
    """KL divergence and gradient of positions in a plane, in the form openTSNE's optimiser calls for.

    It remembers the transformed kernel of the last mesh, which decides nothing: positions alone do. On two threads or
    more attraction and repulsion are computed side by side, each in its own order, so that their number does not
    matter.
    """

    def __init__(self):
        self._kernel: Any = (None, None)

    def __call__(self, embedding, P, should_eval_error=False, n_jobs=1, **_):
        Y = np.asarray(embedding)
        if n_jobs == 1:
            pull, push = attraction(Y, P, should_eval_error, 1), self.repulsion(Y)
        else:
            with ThreadPoolExecutor(1) as other:
                waiting = other.submit(self.repulsion, Y)
                pull, push = attraction(Y, P, should_eval_error, n_jobs - 1), waiting.result()
        (gradient, total, error), (force, Z) = pull, push
        gradient -= force / Z
        return error + total * np.log(Z) if should_eval_error else error, gradient

    def repulsion(self, Y):
        """``sum_j w_ij^2 (y_i - y_j)`` of every row (n, 2), and Z."""
        low, span = Y.min(axis=0), np.ptp(Y, axis=0)
        widest = float(span.max())
        # Closer on small maps, which have small forces, but not so close that a slope is a difference of equal numbers.
        # No whole numbers of nodes, which rounding would make one more or less.
        step = max(min(STEP, max(widest / 23.5, STEP / 10)), widest / (MOST_NODES - 0.5))
        shape = tuple(int(nodes) for nodes in (span / step).astype(np.intp) + 5)
        place = (Y - low) / step
        first = place.astype(np.intp)
        place -= first
        (x, x_slope), (y, y_slope) = (cubic_splines(t) for t in place.T)
        near = np.arange(4)
        nodes = ((first[:, :1] + near) * shape[1])[:, :, None] + (first[:, 1:] + near)[:, None, :]
        charge = np.bincount(nodes.ravel(), (x[:, :, None] * y[:, None, :]).ravel(), shape[0] * shape[1])
        potential = self.convolved(charge.reshape(shape), step).ravel()[nodes]
        along_y, slope_y = np.einsum("nij,nj->ni", potential, y), np.einsum("nij,nj->ni", potential, y_slope)
        force = np.stack([np.einsum("ni,ni->n", along_y, x_slope), np.einsum("ni,ni->n", slope_y, x)], axis=1)
        Z = max(float(np.einsum("ni,ni->", along_y, x)) - len(Y), np.finfo(np.float64).tiny)
        return force / (-2.0 * step), Z

    def convolved(self, charge, step):
        """The potential at the nodes: twice the mesh, so that its end does not reach around to its beginning.

        And some more nodes, for the kernel has a kink where it turns around, which splines feel a few nodes away.
        """
        shape = tuple(next_fast_len(2 * nodes + 24, real=True) for nodes in charge.shape)
        if self._kernel[0] != (shape, step):
            self._kernel = (shape, step), transformed_kernel(shape, step)
        return irfft2(rfft2(charge, shape) * self._kernel[1], shape)[: charge.shape[0], : charge.shape[1]]


def attraction(Y, P, should_eval_error, n_threads):
    """``sum_j p_ij w_ij (y_i - y_j)`` of every row, the sum of P, and the error but for the normalisation of Q."""
    gradient = np.zeros_like(Y, order="C")
    total, error = compiled.estimate_positive_gradient_nn(
        P.indices, P.indptr, P.data, Y, Y, gradient, 1, num_threads=n_threads, should_eval_error=should_eval_error
    )
    return gradient, total, error


def cubic_splines(t):
    """Weights (n, 4) of the four nodes around places t in [0, 1) of a cell, and their derivatives."""
    u = 1.0 - t
    weights = np.stack([u**3, 4 - 6 * t**2 + 3 * t**3, 4 - 6 * u**2 + 3 * u**3, t**3], axis=1) / 6
    return weights, np.stack([-(u**2), 3 * t**2 - 4 * t, 4 * u - 3 * u**2, t**2], axis=1) / 2


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
