"""Evaluate a kernel map for many rows: cache-sized blocks, in place, threads over blocks.

The Euclidean exponents of all landmarks are one matrix product, ``[x, ||x||^2, 1] W`` with
``W = [x_j / sigma_j^2 ; -1 / 2 sigma_j^2 ; -||x_j||^2 / 2 sigma_j^2]``, and numerator and denominator of the map are
another, ``k [A, 1]``. In between, each weight is touched a handful of times while it is still in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from prismap._threads import parallel_map, thread_pools
from prismap.mappings.kernels import weights_in_place

#: Bytes of a block of weights: about a core's own cache.
BLOCK_BYTES = 2**20
#: In float32 the exponents are wrong by about 1e-7 times their largest term; beyond this, work in float64.
FLOAT32_LIMIT = 1e3


@dataclass(frozen=True)
class EuclideanExponents:
    """``-||x - x_j||^2 / 2 sigma_j^2`` for all j, for rows x, as one product."""

    center: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, landmarks, bandwidth):
        """The weights for these landmarks. Dense rows are centred: the product then cancels less."""
        if sp.issparse(landmarks):
            center, rows = np.zeros(landmarks.shape[1]), landmarks.toarray().astype(np.float64)
        else:
            center = landmarks.mean(axis=0, dtype=np.float64)
            rows = landmarks - center
        precision = 1 / np.broadcast_to(np.square(bandwidth), (len(rows),))
        weights = np.vstack([rows.T * precision, -0.5 * precision, -0.5 * precision * np.square(rows).sum(axis=1)])
        return cls(center, weights)

    def working_dtype(self, dtype):
        """float32 for float32 rows if the terms that cancel are small enough, float64 otherwise."""
        safe = np.abs(self.weights[-1]).max() < FLOAT32_LIMIT
        return np.dtype(np.float32 if dtype == np.float32 and safe else np.float64)

    def evaluator(self, dtype) -> Callable:
        """A function (rows, out) that fills `out` with exponents; `out` may have more rows than are given."""
        center, weights = self.center.astype(dtype), self.weights.astype(dtype)

        def fill(rows, out):
            lifted = np.zeros((len(out), len(weights)), dtype=dtype)  # rows beyond the given ones stay zero
            inner = lifted[: rows.shape[0], :-2]
            np.subtract(rows.toarray() if sp.issparse(rows) else rows, center, out=inner, casting="same_kind")
            np.einsum("ij,ij->i", inner, inner, out=lifted[: rows.shape[0], -2])
            lifted[:, -1] = 1
            np.matmul(lifted, weights, out=out)

        return fill


def evaluate(fill, rows, coefficients, *, normalize, dtype, n_jobs):
    """Positions of `rows`: exponents by ``fill(rows, out)``, then weights, then the products with the coefficients.

    `coefficients` is (m, d). Every block has the same number of rows (the last is padded), so a row's position does
    not depend on how many rows come with it.
    """
    m, d = coefficients.shape
    lifted = np.hstack([coefficients, np.ones((m, 1))]).astype(dtype)
    n = rows.shape[0]
    step = int(np.clip(BLOCK_BYTES // (m * dtype.itemsize), 16, 512)) // 16 * 16
    positions = np.empty((n, d), dtype=dtype)

    def work(start):
        block = slice(start, min(start + step, n))
        size = block.stop - block.start
        E = np.empty((step, m), dtype=dtype)
        fill(rows[block], E)
        weights_in_place(E, normalize=normalize)
        sums = (E @ lifted)[:size]
        positions[block] = sums[:, :d] / sums[:, d:] if normalize else sums[:, :d]

    run_blocks(work, range(0, n, step), n_jobs)
    return positions


def run_blocks(work, starts, n_jobs):
    """Call work(start) for all starts, on `n_jobs` threads with one BLAS thread each (None: as many as BLAS has)."""
    if n_jobs is None:
        n_jobs = max((entry["num_threads"] for entry in thread_pools().select(user_api="blas").info()), default=1)
    if len(starts) < 2 or n_jobs == 1:
        for start in starts:
            work(start)
        return
    parallel_map(work, starts, n_jobs)
