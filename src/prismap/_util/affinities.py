"""Affinities of rows from their distances: one Gaussian per row, as wide as the perplexity asks.

p_{j|i} = exp(-d_ij^2 / 2 sigma_i^2) / sum_k exp(-d_ik^2 / 2 sigma_i^2), with sigma_i such that the entropy of p_{.|i}
is log(perplexity) (Schulz 2017, sec. 2.2.1 and eq. 4.1). Perplexity is the number of neighbours a row effectively has.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._util.arrays import Numbers
from prismap._util.blocks import CACHED_BYTES, row_blocks
from prismap._util.threads import parallel_map
from prismap.exceptions import InputError, PrismapWarning

#: A bandwidth lies within this factor of a row's typical distance. Smaller distances count as duplicates (the Fisher
#: metric gives many inside a class), so a row with more duplicates than the perplexity spreads over them evenly.
_WIDEST = 1e6


def calibrate(D2: Any, perplexity: Any, *, tol: float = 1e-6, max_iter: int = 100) -> tuple[Numbers, Numbers]:
    """Row affinities of the wanted perplexity from squared distances: ``(P, sigma)``.

    `perplexity` is one number, or one for each row. D2 has shape (n, k): the squared distances of each row to its k
    candidates, the row itself left out or set to infinity. Rows of P sum to one. All rows are solved together by Newton
    steps on log(1 / 2 sigma^2), kept inside a shrinking bracket, until each is done: a row's result does not depend on
    the others. Where no bandwidth reaches the perplexity (more than that many duplicates, fewer candidates, all
    distances equal) the nearest distribution is taken: uniform over the duplicates or over all candidates.

    >>> P, sigma = calibrate(np.array([[1.0, 4.0, 9.0], [0.0, 0.0, 0.0]]), 2.0)
    >>> bool(np.isclose(np.exp(-(P[0] * np.log(P[0])).sum()), 2.0)), P[1].round(3).tolist()
    (True, [0.333, 0.333, 0.333])
    """
    D2 = np.asarray(D2, dtype=np.float64)
    P, sigma = np.empty_like(D2), np.empty(len(D2))
    entropy = np.broadcast_to(np.log(perplexity), len(D2))

    def solve(rows: slice) -> None:
        P[rows], sigma[rows] = _calibrate_block(D2[rows], entropy[rows], tol, max_iter)

    parallel_map(solve, row_blocks(len(D2), 8.0 * D2.shape[1], CACHED_BYTES // 2))
    return P, sigma


def bandwidths(D2: Any, perplexity: float) -> Numbers:
    """sigma for each row of squared distances (infinite ones are left out) so that its Gaussian has the perplexity.

    As `calibrate` finds them, but finite where a row has fewer candidates than the perplexity asks for, and zero where
    all its candidates are duplicates.
    """
    D2 = np.asarray(D2, dtype=np.float64)
    n_candidates = np.isfinite(D2).sum(axis=1)
    sigma = calibrate(D2, np.minimum(perplexity, np.maximum(n_candidates - 1e-3, 1.0)))[1]
    return np.where(np.max(D2, axis=1, where=np.isfinite(D2), initial=0.0) > 0, sigma, 0.0)


def mean_bandwidth(D2: Any, perplexity: float) -> float:
    """The mean of the `bandwidths`, and 1 for data in which all rows are equal."""
    return float(bandwidths(D2, perplexity).mean()) or 1.0


def _calibrate_block(D2: Numbers, entropy: Numbers, tol: float, max_iter: int) -> tuple[Numbers, Numbers]:
    nearest = D2.min(axis=1, keepdims=True)
    if not np.isfinite(nearest).all():
        raise InputError("Each row needs a finite distance to at least one other row; some have none.")
    E, finite = D2 - nearest, np.isfinite(D2)  # a shift of all distances of a row changes no affinity
    scale = np.sum(E, axis=1, where=finite) / finite.sum(axis=1)
    flat = scale <= np.finfo(np.float64).tiny
    scale[flat] = np.where(nearest[flat, 0] > 0, nearest[flat, 0], 1.0)
    E /= scale[:, None]
    E[~finite] = 1e100  # no weight, and unlike infinity none times it is zero
    low, high = np.full(len(D2), -2 * np.log(_WIDEST)), np.full(len(D2), 2 * np.log(_WIDEST))
    t = np.zeros(len(D2))  # log(scale / 2 sigma^2)
    active = np.flatnonzero(~flat)
    for _ in range(max_iter):
        if not len(active):
            break
        H, slope = _entropy(E[active], np.exp(t[active]))
        gap = H - entropy[active]
        low[active] = np.where(gap > 0, t[active], low[active])
        high[active] = np.where(gap > 0, high[active], t[active])
        open_ = (np.abs(gap) > tol) & (high[active] - low[active] > 1e-12)
        active, gap, slope = active[open_], gap[open_], slope[open_]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            newton = t[active] - gap / slope
        middle = (low[active] + high[active]) / 2
        t[active] = np.where((newton > low[active]) & (newton < high[active]), newton, middle)
    P = np.exp(-E * np.exp(t)[:, None])
    return P / P.sum(axis=1, keepdims=True), np.sqrt(scale * np.exp(-t) / 2)


def _entropy(E: Numbers, beta: Numbers) -> tuple[Numbers, Numbers]:
    """Entropy of softmax(-beta E), row by row, and its derivative by log(beta): -beta^2 Var(E)."""
    weights = np.exp(-beta[:, None] * E)
    total = weights.sum(axis=1)
    weights *= E
    mean = weights.sum(axis=1) / total
    square = np.einsum("ij,ij->i", weights, E) / total
    return np.log(total) + beta * mean, -(beta**2) * np.maximum(square - mean**2, 0.0)


def row_affinities(D2: Any, sigma: Any) -> Any:
    """p_{j|i} for given bandwidths: rows of squared distances to rows that sum to one."""
    P = np.exp((D2.min(axis=1, keepdims=True) - D2) / (2.0 * np.square(sigma)[:, None]))
    return P / P.sum(axis=1, keepdims=True)


def symmetrised(P: Any) -> Any:
    """Joint affinities that sum to one, from those of the rows, all with all: p_ij = (p_{j|i} + p_{i|j}) / 2n."""
    return (P + P.T) / (2.0 * P.shape[0])


def pair_affinities(D2: Any, perplexity: Any) -> Any:
    """Joint affinities of all pairs of rows from their squared distances, infinite on the diagonal."""
    return symmetrised(calibrate(D2, perplexity)[0])


def joint_affinities(distances: Any, indices: Any, perplexity: float, share: float = 1.0) -> sp.csr_matrix:
    """Symmetric affinities that sum to one, sparse: p_ij = (p_{j|i} + p_{i|j}) / 2n (Schulz 2017, 2.2.1).

    `distances` and `indices`, both (n, k), are the neighbours of each row, nearest first, as `kneighbors` returns them.
    share : of each row's affinities, which its nearest neighbours hold; the rest, which are small and many, are zero.
    """
    n_rows = len(indices)
    P = calibrate(np.square(distances, dtype=np.float64), perplexity)[0]
    if share < 1:
        P[np.cumsum(P, axis=1) - P >= share] = 0.0
        P /= P.sum(axis=1, keepdims=True)
    kept = P > 0
    starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
    sparse = sp.csr_matrix((P[kept], np.asarray(indices)[kept].astype(np.int32), starts), shape=(n_rows, n_rows))
    return sp.csr_matrix(symmetrised(sparse))


def lower_perplexity(perplexity: float, n_rows: int, *, what: str = "rows") -> float:
    """The perplexity, or the (n - 1) / 3 that n rows allow, with a warning."""
    most = max(1.0, (n_rows - 1) / 3)
    if perplexity > most:
        message = f"perplexity={perplexity:g} is too high for {n_rows} {what}; {most:.3g} is used, (n - 1) / 3."
        warnings.warn(message, PrismapWarning, stacklevel=5)
    return min(float(perplexity), most)
