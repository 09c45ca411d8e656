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

    Square: A = K^-1 Y (003_..., section 3) with a nugget. When K + ridge I is singular to working precision, the
    minimum-norm least-squares solution with small singular directions cut off is taken, with a warning.
    """
    if K.shape[0] != K.shape[1]:
        return _least_squares(K, Y, ridge)
    M = K + ridge * np.eye(len(K)) if ridge else K
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", linalg.LinAlgWarning)  # an exact zero pivot: judged below by its condition
        factors = linalg.lu_factor(M, check_finite=False)
    condition = _condition(M, factors[0])
    if condition < LARGEST_CONDITION:
        return linalg.lu_solve(factors, Y, check_finite=False), condition
    warnings.warn(
        f"The kernel matrix is singular to working precision (condition number {condition:.2g}): directions below "
        f"{1 / LARGEST_CONDITION:.0e} of the largest are cut off. Choose a smaller bandwidth or a larger ridge.",
        PrismapWarning,
        stacklevel=3,
    )
    return linalg.lstsq(M, Y, cond=1 / LARGEST_CONDITION, lapack_driver="gelsy", check_finite=False)[0], condition


def _condition(M, lu):
    """LAPACK's estimate of the condition number in the 1-norm from an LU factorisation."""
    reciprocal, _ = linalg.lapack.dgecon(lu, np.abs(M).sum(axis=0).max(), norm="1")
    return 1 / reciprocal if reciprocal > 0 else np.inf


def _least_squares(K, Y, ridge):
    """Normal equations ``(K^T K + ridge I) A = K^T Y`` on the spectrum, small directions cut off."""
    values, vectors = linalg.eigh(K.T @ K)
    keep = values > values[-1] / LARGEST_CONDITION
    scaled = vectors[:, keep] / (values[keep] + ridge)
    return scaled @ (vectors[:, keep].T @ (K.T @ Y)), float(
        np.sqrt(values[-1] / max(values[0], 0) if values[0] > 0 else np.inf)
    )
