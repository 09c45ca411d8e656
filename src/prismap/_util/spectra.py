"""The steps of every spectral method: a Gram matrix from squared distances, its leading eigenvectors, positions."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from prismap._util.arrays import Numbers
from prismap.exceptions import InputError

#: Up to here all eigenvectors cost less than the search for a few.
DENSE_ROWS = 300


def double_centre(D2: Any, *, overwrite: bool = False) -> Any:
    """Gram matrix ``-J D2 J / 2`` with ``J = I - 11^T / n``: inner products around the mean, from squared distances."""
    G = D2 if overwrite else D2.copy()
    columns, rows = G.mean(axis=0), G.mean(axis=1)
    G -= columns[None, :]
    G -= rows[:, None]
    G += columns.mean()
    G *= -0.5
    return G


def classical_scaling(D2: Any, n_components: int, rng: Any = None) -> tuple[Numbers, Numbers, float]:
    """Positions ``V sqrt(lambda)`` from squared distances (overwritten), the eigenvalues, and what they leave out.

    G = -J D2 J / 2 = V diag(lambda) V^T. The last figure is ``||G - G_q||_F / n``, G_q the part that the positions
    keep. Axes whose eigenvalue is not positive (distances that are not Euclidean), and those beyond the number of rows,
    are zero.
    """
    G = double_centre(D2, overwrite=True)
    total = float(np.vdot(G, G))
    n_missing = max(n_components - len(G), 0)
    values, vectors = leading_eigenpairs(G, n_components - n_missing, rng)
    kept = np.maximum(values, 0.0)
    missing: float = np.sqrt(max(total - float(np.sum(kept**2)), 0.0)) / len(G)
    return np.pad(vectors * np.sqrt(kept), ((0, 0), (0, n_missing))), np.pad(values, (0, n_missing)), missing


def triangulate(D2: Numbers, D2_landmarks: Numbers, Y_landmarks: Numbers) -> Numbers:
    """Positions of rows from squared distances to landmarks: ``-pinv(Y_L) (D2 - mean of D2_L) / 2`` (de Silva 2003).

    D2 has shape (n_landmarks, n). Landmarks come out where classical scaling put them.
    """
    positions: Numbers = (-0.5 * np.linalg.pinv(Y_landmarks) @ (D2 - D2_landmarks.mean(axis=1)[:, None])).T
    return positions


def reconstruction_weights(G: Numbers, reg: float) -> tuple[Numbers, float]:
    """Weights of neighbours that add up to one and rebuild the centre best, and the negative share of the spectra.

    G, shape (b, k, k), holds inner products ``G_jl = <x_j - x, x_l - x>``; the weights minimise w^T G w, so
    ``w ~ (G + reg tr(G) I)^-1 1``. Negative eigenvalues, which Gram matrices of distances that are not Euclidean have,
    count as zero.
    """
    values, vectors = np.linalg.eigh(G)
    size = np.abs(values).sum()
    negative = float(np.abs(values[values < 0]).sum() / size) if size > 0 else 0.0
    values = np.maximum(values, 0.0)
    trace = values.sum(axis=1, keepdims=True)
    values = values / np.where(trace > 0, trace, 1.0) + reg
    W = np.einsum("bij,bj->bi", vectors, vectors.sum(axis=1) / values)
    return W / W.sum(axis=1, keepdims=True), negative


def gram_around_centre(D2_centre: Numbers, D2_among: Numbers) -> Numbers:
    """``G_jl = (d(x,x_j)^2 + d(x,x_l)^2 - d(x_j,x_l)^2) / 2``: local distances centred at x."""
    return 0.5 * (D2_centre[:, :, None] + D2_centre[:, None, :] - D2_among)


def leading_eigenpairs(G: Any, n_pairs: int, rng: Any = None) -> tuple[Numbers, Numbers]:
    """The `n_pairs` largest eigenvalues of a symmetric matrix, descending, and their eigenvectors with fixed signs.

    The search for a few of many starts from a random vector, or without `rng` from the same on every run.
    """
    n_rows = G.shape[0]
    values, vectors = _search(G, n_pairs, rng) or eigh(G, subset_by_index=[n_rows - n_pairs, n_rows - 1])
    order = np.argsort(values)[::-1]
    return values[order], fix_signs(vectors[:, order])


def _search(G: Any, n_pairs: int, rng: Any) -> Any:
    """Eigenpairs by Lanczos, or None where that does not pay or does not converge."""
    if G.shape[0] <= max(DENSE_ROWS, 3 * n_pairs):
        return None
    start = np.linspace(1.0, 2.0, G.shape[0]) if rng is None else rng.uniform(-1.0, 1.0, G.shape[0])
    try:
        return eigsh(G, k=n_pairs, which="LA", v0=start)
    except ArpackNoConvergence:
        return None


def fix_signs(vectors: Numbers) -> Numbers:
    """Columns turned so that their entry of largest size is positive: the sign of an eigenvector is arbitrary."""
    largest = np.abs(vectors).argmax(axis=0)
    return vectors * np.where(vectors[largest, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def check_n_components(n_components: int, n_rows: int, name: str) -> None:
    """n rows span n - 1 dimensions at most."""
    if n_components >= n_rows:
        raise InputError(
            f"n_components={n_components} of {name} needs at least {n_components + 1} rows; got n_samples={n_rows}."
        )
