"""Linear maps Omega of quadratic forms d(x, w) = ||Omega (x - w)||^2: how they start, are written down and map rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from prismap._util.arrays import Numbers
from prismap._util.validation import check_rows


class LinearMapMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """What a model that learns a matrix `omega_` can do with it."""

    @property
    def lambda_(self) -> Numbers:
        """The metric Omega^T Omega."""
        return np.asarray(self.omega_.T @ self.omega_)

    @property
    def _n_features_out(self) -> int:
        return len(self.omega_)

    def transform(self, X: Any) -> Numbers:
        """Omega x for each row."""
        check_is_fitted(self)
        return np.asarray(check_rows(self, X, reset=False, dtype=np.float64) @ self.omega_.T)


def first_omega(X: Numbers, promising: Numbers, n_components: int | None) -> Numbers:
    """The identity, or with fewer components than columns an orthonormal start of that rank; one row per component.

    The directions spanned by the rows of `promising` (differences of prototypes, a regression) come first, then the
    principal directions of what is left. Principal directions alone may hold nothing but noise, and no step out of
    them need look like progress.
    """
    if n_components is None or n_components >= X.shape[1]:
        return np.eye(X.shape[1])
    first = _directions(promising)[:n_components]
    rest = X - X.mean(axis=0)
    rest = _directions(rest - rest @ first.T @ first)[: n_components - len(first)]
    omega = np.zeros((n_components, X.shape[1]))
    omega[: len(first) + len(rest)] = np.vstack([first, rest])
    return omega


def _directions(A: Numbers) -> Numbers:
    """Right singular vectors with singular values above rounding, leading first."""
    singular, Vt = np.linalg.svd(A, full_matrices=False)[1:]
    return np.asarray(Vt[singular > 1e-10 * singular.max(initial=0.0)])


def canonical_omega(omega: Numbers) -> Numbers:
    """The one Omega with this Lambda = Omega^T Omega whose rows are eigenvectors, longest first (Schulz 2017, 4.3.3).

    Omega is determined up to a rotation only; rows scaled with the square roots of the eigenvalues, their largest entry
    positive, make it unique and each row a mapping of its own.
    """
    singular, Vt = np.linalg.svd(omega, full_matrices=False)[1:]
    signs = np.sign(Vt[np.arange(len(Vt)), np.abs(Vt).argmax(axis=1)])
    signs[signs == 0] = 1.0
    return np.asarray((singular * signs)[:, None] * Vt)
