"""Kernel discriminant analysis as a generalised eigenvalue problem, and cross-fitting by refitting."""

import numpy as np
from scipy.linalg import eigh


def between_class_projector(codes):
    """W with W_ij = 1 / n_c for rows of one class c, less 1 / n: K W K is the between-class scatter."""
    n_rows = len(codes)
    return np.array(
        [
            [(codes[i] == codes[j]) / np.sum(codes == codes[i]) - 1 / n_rows for j in range(n_rows)]
            for i in range(n_rows)
        ]
    )


def discriminant_ratios_reference(K, codes, ridge):
    """Largest values of a^T K W K a / a^T (K K + ridge K) a for a regular centred K, best first."""
    # K has the null vector 1, so the problem is posed on its complement.
    complement = np.linalg.svd(np.ones((1, len(K))))[2][1:].T
    between = complement.T @ K @ between_class_projector(codes) @ K @ complement
    total = complement.T @ (K @ K + ridge * K) @ complement
    return eigh(between, total, eigvals_only=True)[::-1][: codes.max()]


def held_out_reference(K, H, ridge, folds):
    """Ridge regression of H on the centred Gram matrix, refitted without each fold: predictions for the fold."""
    out = np.empty_like(H)
    for fold in np.unique(folds):
        test, train = np.flatnonzero(folds == fold), np.flatnonzero(folds != fold)
        a = np.linalg.solve(K[np.ix_(train, train)] + ridge * np.eye(len(train)), H[train])
        out[test] = K[np.ix_(test, train)] @ a
    return out
