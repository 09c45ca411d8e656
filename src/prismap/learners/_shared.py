"""What the learners share: class codes, first prototypes, distances, linear maps, and how they are learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from prismap._util.arrays import Numbers, Rows
from prismap._util.random import as_seed
from prismap._util.validation import check_rows
from prismap.exceptions import InputError

#: How `prismap._util.optimise.minimize` goes about the costs of prototypes and matrices.
LEARNING: dict[str, Any] = {"gradient_tol": 1e-8, "memory": 20}


def check_labelled_rows(estimator: Any, X: Any, y: Any) -> tuple[Numbers, NDArray[Any], Rows]:
    """Rows as float64, the classes, and the code of each row's class."""
    if y is None:  # the wording scikit-learn's checks look for
        raise InputError(f"This {type(estimator).__name__} requires y to be passed, but the target y is None.")
    X = check_rows(estimator, X, reset=True, dtype=np.float64)
    y = column_or_1d(y, warn=True)
    if len(y) != len(X):
        raise InputError(f"y has {len(y)} entries and X has {len(X)} rows: they must be equal in number.")
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y holds only one class ({classes[0]!r}): at least two classes are needed.")
    return X, classes, codes


def first_prototypes(
    X: Numbers, codes: Rows, n_classes: int, n_prototypes: int, random_state: Any
) -> tuple[Numbers, Rows]:
    """Class means, or with several prototypes per class the centres of k-means inside it: positions and class codes.

    A class with fewer distinct rows than prototypes gets one prototype for each.
    """
    positions, labels = [], []
    seed = as_seed(random_state)
    for c in range(n_classes):
        rows = X[codes == c]
        count = 1 if n_prototypes == 1 else min(n_prototypes, len(np.unique(rows, axis=0)))
        if count == 1:
            centres = rows.mean(axis=0, keepdims=True)
        else:
            centres = KMeans(count, n_init=5, random_state=seed).fit(rows).cluster_centers_
        positions.append(centres)
        labels += [c] * count
    return np.vstack(positions), np.array(labels)


def squared_distances(A: Numbers, B: Numbers) -> Numbers:
    """||a - b||^2 for all pairs, by one matrix product; rounding never leaves it negative."""
    D2 = A @ B.T
    D2 *= -2.0
    D2 += np.einsum("ij,ij->i", A, A)[:, None]
    D2 += np.einsum("ij,ij->i", B, B)
    return np.maximum(D2, 0.0, out=D2)


def nearest_of_class(D2: Numbers, labels: Rows, n_classes: int) -> Numbers:
    """The smallest distance to a prototype of each class, shape (n, n_classes)."""
    return np.column_stack([D2[:, labels == c].min(axis=1) for c in range(n_classes)])


def relative_distances(D2: Numbers, labels: Rows, n_classes: int) -> Numbers:
    """(d_others - d_c) / (d_others + d_c) of each class c from distances to prototypes; of two classes the second."""
    nearest = nearest_of_class(D2, labels, n_classes)
    two = np.sort(nearest, axis=1)[:, :2]
    others = np.where(nearest == two[:, :1], two[:, 1:], two[:, :1])
    scores = (others - nearest) / np.maximum(others + nearest, np.finfo(np.float64).tiny)
    return scores[:, 1] if n_classes == 2 else scores


# --- linear maps Omega of quadratic forms d(x, w) = ||Omega (x - w)||^2 -----------------------------------------------


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
