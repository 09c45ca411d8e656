"""The two steps of every spectral method: a Gram matrix from squared distances, and its leading eigenvectors."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from prismap.exceptions import InputError

#: Up to here all eigenvectors cost less than the search for a few.
DENSE_ROWS = 300


def double_centre(D2, *, overwrite=False):
    """Gram matrix ``-J D2 J / 2`` with ``J = I - 11^T / n``: inner products around the mean, from squared distances."""
    G = D2 if overwrite else D2.copy()
    columns, rows = G.mean(axis=0), G.mean(axis=1)
    G -= columns[None, :]
    G -= rows[:, None]
    G += columns.mean()
    G *= -0.5
    return G


def leading_eigenpairs(G, n_pairs, rng):
    """The `n_pairs` largest eigenvalues of a symmetric matrix, descending, and their eigenvectors with fixed signs."""
    n_rows = G.shape[0]
    values, vectors = _search(G, n_pairs, rng) or eigh(G, subset_by_index=[n_rows - n_pairs, n_rows - 1])
    order = np.argsort(values)[::-1]
    return values[order], fix_signs(vectors[:, order])


def _search(G, n_pairs, rng):
    """Eigenpairs by Lanczos, or None where that does not pay or does not converge."""
    if G.shape[0] <= max(DENSE_ROWS, 3 * n_pairs):
        return None
    try:
        return eigsh(G, k=n_pairs, which="LA", v0=rng.uniform(-1.0, 1.0, G.shape[0]))
    except ArpackNoConvergence:
        return None


def fix_signs(vectors):
    """Columns turned so that their entry of largest size is positive: eigenvectors know no sign, results should."""
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def check_n_components(n_components, n_rows, name):
    """n rows span n - 1 dimensions at most."""
    if n_components >= n_rows:
        raise InputError(
            f"n_components={n_components} of {name} needs at least {n_components + 1} rows; got n_samples={n_rows}."
        )
