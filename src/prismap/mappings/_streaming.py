"""Evaluate a kernel map for many rows: cache-sized blocks, in place, threads over blocks.

The Euclidean exponents of all landmarks are one matrix product, ``[x, ||x||^2, 1] W`` with
``W = [x_j / sigma_j^2 ; -1 / 2 sigma_j^2 ; -||x_j||^2 / 2 sigma_j^2]``, and numerator and denominator of the map are
another, ``k [A, 1]``. In between, each weight is touched a handful of times while it is still in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from prismap._util.blocks import CACHED_BYTES
from prismap._util.threads import n_blas_threads, parallel_map
from prismap.mappings._kernels import weights_in_place


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

    def __call__(self, rows):
        """The exponents of a block of rows, in double precision whatever theirs."""
        lifted = np.empty((rows.shape[0], len(self.weights)))
        inner = lifted[:, :-2]
        np.subtract(rows.toarray() if sp.issparse(rows) else rows, self.center, out=inner)
        np.einsum("ij,ij->i", inner, inner, out=lifted[:, -2])
        lifted[:, -1] = 1
        return lifted @ self.weights


def evaluate(exponents, rows, coefficients, *, normalize, n_jobs):
    """Positions of `rows`: exponents of a block, then weights, then the products with the coefficients (m, d).

    The order in which a library sums a product depends on the other rows. In double precision that moves no position
    by more than a tiny share of the map's spread, and float32 rows are no exception.
    """
    m, d = coefficients.shape
    lifted = np.hstack([coefficients, np.ones((m, 1))])
    n = rows.shape[0]
    step = int(np.clip(CACHED_BYTES // 2 // (8 * m), 16, 512)) // 16 * 16
    positions = np.empty((n, d))

    def work(start):
        block = slice(start, min(start + step, n))
        sums = weights_in_place(exponents(rows[block]), normalize=normalize) @ lifted
        positions[block] = sums[:, :d] / sums[:, d:] if normalize else sums[:, :d]

    run_blocks(work, range(0, n, step), n_jobs)
    return positions


def run_blocks(work, starts, n_jobs):
    """Call work(start) for all starts, on `n_jobs` threads with one BLAS thread each (None: as many as BLAS has)."""
    n_jobs = n_blas_threads() if n_jobs is None else n_jobs
    if len(starts) < 2 or n_jobs == 1:
        for start in starts:
            work(start)
        return
    parallel_map(work, starts, n_jobs)
