"""Coefficients of a kernel map by (ridge) least squares, with the condition said when it is bad."""

from __future__ import annotations

import warnings

import numpy as np
from scipy import linalg

from prismap.exceptions import PrismapWarning

#: A matrix with a larger condition number is solved by a cut-off instead of by elimination.
LARGEST_CONDITION = 1e12


def interpolate(K, Y, ridge):
    """A with ``(K + ridge I) A = Y`` for square K, the ridge least-squares solution for tall K; and the condition.

    Square: A = K^-1 Y (Gisbrecht et al. 2015, sec. 3) with a nugget. Where the system is numerically singular, the
    minimum-norm solution with small directions cut off is taken, with a warning that states the condition number.
    """
    return _square(K, Y, ridge) if K.shape[0] == K.shape[1] else _tall(K, Y, ridge)


def _square(K, Y, ridge):
    M = K.copy()
    M[np.diag_indices(len(M))] += ridge
    norm = np.abs(M).sum(axis=0).max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linalg.LinAlgWarning)  # an exact zero pivot: judged below by its condition
        factors = linalg.lu_factor(M, check_finite=False)
    reciprocal, _ = linalg.lapack.dgecon(factors[0], norm, norm="1")
    condition = 1 / reciprocal if reciprocal > 0 else np.inf
    if condition < LARGEST_CONDITION:
        return linalg.lu_solve(factors, Y, check_finite=False), condition
    _warn(condition)
    return linalg.lstsq(M, Y, cond=1 / LARGEST_CONDITION, lapack_driver="gelsy", check_finite=False)[0], condition


def _tall(K, Y, ridge):
    """Normal equations ``(K^T K + ridge^2 I) A = K^T Y`` on their spectrum, small directions cut off."""
    values, vectors = linalg.eigh(K.T @ K)
    values = np.maximum(values, 0) + ridge**2
    condition = float(np.sqrt(values[-1] / values[0])) if values[0] > 0 else np.inf
    keep = values > 1e-14 * values[-1]  # products of K with itself are right to about that
    if not keep.all():
        _warn(condition)
    return (vectors[:, keep] / values[keep]) @ (vectors[:, keep].T @ (K.T @ Y)), condition


def _warn(condition):
    warnings.warn(
        f"The kernel matrix is singular to working precision (condition number {condition:.2g}), so its smallest "
        "directions are cut off. Choose a smaller bandwidth or a larger ridge.",
        PrismapWarning,
        stacklevel=5,
    )
