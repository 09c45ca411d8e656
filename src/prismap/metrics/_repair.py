"""Matrices of similarities made usable: symmetric, and positive semi-definite."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from prismap.exceptions import InputError, PrismapWarning

#: What is done about negative eigenvalues.
REPAIRS = {
    "clip": "drops that part", "flip": "takes its magnitude", "shift": "adds a constant to the diagonal",
    "none": "leaves it, and distances may be negative",
}  # fmt: skip


def symmetrized(S):
    """``(S + S^T) / 2``; S itself if it is symmetric up to rounding.

    A matrix of which only one triangle is filled is left to the checks, which refuse it: half of it would be lost.
    """
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        return S
    gap, scale = np.abs(S - S.T).max(initial=0.0), float(np.abs(S).max(initial=0.0))
    if gap <= 1e-6 * scale or not np.triu(S, 1).any() or not np.tril(S, -1).any():
        return S
    return (S + S.T) / 2


def warn_of_asymmetry(S, mean, kind, *, stacklevel=2):
    """Say how far a matrix is from its symmetric `mean`."""
    gap = np.abs(S - S.T)
    share = float(gap.sum() / max(np.abs(mean).sum(), np.finfo(np.float64).tiny))
    warnings.warn(
        f"the {kind} matrix is not symmetric: entries and their mirror images differ by {100 * share:.2g} % on average "
        f"and {float(gap.max()):.3g} at most. Their mean is used.",
        PrismapWarning,
        stacklevel=stacklevel + 1,
    )


@dataclass(frozen=True)
class SimilarityRepair:
    """A similarity matrix made usable as an inner product, what was done, and how much was wrong.

    Attributes
    ----------
    matrix : the repaired matrix.
    method : "clip", "flip", "shift" or "none".
    negative_mass : sum of |negative eigenvalues| over the sum of |all eigenvalues| before the repair.
    vectors, values : the eigenvectors and eigenvalues that are kept, for clip and flip.
    shift : what was added to the diagonal, for shift.
    """

    matrix: np.ndarray
    method: str
    negative_mass: float
    vectors: np.ndarray | None = None
    values: np.ndarray | None = None
    shift: float = 0.0

    def apply(self, rows):
        """New rows of similarities to the fitted ones, brought into the repaired space: (rows, self-similarities).

        Clip and flip act on the span of the fitted rows, so a new row is first projected onto it; its self-similarity
        is the squared length of that projection, which for a fitted row is exactly its repaired diagonal entry. Shift
        only changes self-similarities and leaves those of new rows to the caller (None).
        """
        if self.vectors is None or self.values is None:
            return rows, None
        # Some processors add up products in another order where rows lie otherwise in memory.
        coordinates = (np.ascontiguousarray(rows) @ self.vectors) / np.sqrt(np.abs(self.values))
        if self.method == "flip":
            coordinates = coordinates * np.sign(self.values)
        basis = self.vectors * np.sqrt(np.abs(self.values))
        return coordinates @ basis.T, np.einsum("ij,ij->i", coordinates, coordinates)


def repair_similarity(S, method="clip"):
    """Make an indefinite similarity matrix positive semi-definite.

    Parameters
    ----------
    S : array (n, n), symmetric.
    method : "clip" sets negative eigenvalues to zero, "flip" takes their magnitude, "shift" adds the most negative one
        to the diagonal, "none" leaves the matrix alone (and only reports its negative mass).

    Returns
    -------
    SimilarityRepair

    Examples
    --------
    >>> import numpy as np
    >>> fixed = repair_similarity(np.array([[1.0, 2.0], [2.0, 1.0]]), "clip")
    >>> fixed.matrix.round(6).tolist(), round(fixed.negative_mass, 2)
    ([[1.5, 1.5], [1.5, 1.5]], 0.25)
    """
    if method not in REPAIRS:
        raise InputError(f"repair must be 'clip', 'flip', 'shift' or 'none'; got {method!r}.")
    S = np.asarray(S, dtype=np.float64)
    symmetric = (S + S.T) / 2
    values, vectors = np.linalg.eigh(symmetric) if method in ("clip", "flip") else (np.linalg.eigvalsh(symmetric), S)
    total = np.abs(values).sum()
    negative_mass = float(-values[values < 0].sum() / total) if total > 0 else 0.0
    if method == "none":
        return SimilarityRepair(S, method, negative_mass)
    if method == "shift":
        shift = max(0.0, -float(values[0]))
        return SimilarityRepair(S + shift * np.eye(len(S)), method, negative_mass, shift=shift)
    tolerance = np.finfo(np.float64).eps * len(S) * max(float(np.abs(values).max(initial=0.0)), 1e-300)
    kept = values > tolerance if method == "clip" else np.abs(values) > tolerance
    values, vectors = values[kept], vectors[:, kept]
    matrix = (vectors * np.abs(values)) @ vectors.T
    return SimilarityRepair((matrix + matrix.T) / 2, method, negative_mass, vectors, values)
