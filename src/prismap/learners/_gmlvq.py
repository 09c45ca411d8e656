"""Generalised matrix learning vector quantisation: prototypes and a metric, learned together.

Localised, every prototype has a metric of its own, and their borders divide the space into regions.
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from prismap._util.arrays import Numbers, Rows
from prismap._util.optimise import minimize
from prismap._util.params import Interval
from prismap._util.validation import check_rows
from prismap.learners._shared import (
    LEARNING,
    LinearMapMixin,
    canonical_omega,
    check_labelled_rows,
    first_omega,
    first_prototypes,
    relative_distances,
    squared_distances,
)


def gmlvq_cost(
    W: Numbers, omega: Numbers, X: Numbers, same: NDArray[np.bool_], noise: float = 0.0
) -> tuple[float, Numbers, Numbers]:
    """Mean relative distance difference, and its gradients by the prototypes W and by Omega.

    E = 1/n sum_i (d+_i - d-_i) / (d+_i + d-_i), with d+ (d-) the smallest ||Omega (x_i - w)||^2 over the prototypes of
    the own (of other) classes, marked by `same` (Schneider, Biehl & Hammer 2009). Noise of variance `noise` in every
    column of x_i would add e = noise * ||Omega||^2 to both; with it, t = d+ + d- + 2 e is the denominator,
    dE/dd+ = 2 (d- + e) / t^2, dE/dd- = -2 (d+ + e) / t^2, and the gradients are products with those derivatives.
    """
    A, B = X @ omega.T, W @ omega.T
    D2 = squared_distances(A, B)
    rows = np.arange(len(X))
    right = np.where(same, D2, np.inf).argmin(axis=1)
    wrong = np.where(same, np.inf, D2).argmin(axis=1)
    extra = noise * float((omega**2).sum())
    d_right, d_wrong = D2[rows, right] + extra, D2[rows, wrong] + extra
    total = np.maximum(d_right + d_wrong, np.finfo(np.float64).tiny)
    C = np.zeros_like(D2)
    C[rows, right] = 2.0 * (d_wrong / total) / total / len(X)
    C[rows, wrong] = -2.0 * (d_right / total) / total / len(X)
    # sum_ij C_ij (x_i - w_j)(x_i - w_j)^T, applied from the left to Omega without forming a D x D matrix
    to_rows = C.sum(axis=1)[:, None] * A - C @ B
    to_prototypes = C.sum(axis=0)[:, None] * B - C.T @ A
    grad_omega = 2.0 * (to_rows.T @ X + to_prototypes.T @ W + noise * C.sum() * omega)
    return float(((d_right - d_wrong) / total).mean()), 2.0 * to_prototypes @ omega, grad_omega


class MatrixLVQ(ClassifierMixin, BaseEstimator):
    """What both models share: prototypes and matrices are learnt together, from the same start and by one descent."""

    _parameter_constraints: dict[str, Any] = {
        "n_prototypes": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "noise": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_prototypes: int = 1,
        *,
        n_components: int | None = None,
        noise: float = 0.01,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.n_components = n_components
        self.noise = noise
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _descend(self, X: Numbers, codes: Rows, of: Any, each: bool) -> Numbers:
        """Learn prototypes, and return the matrix, or the matrix of `each` of them.

        of : the cost, `gmlvq_cost` or `lgmlvq_cost`.
        """
        W, labels = first_prototypes(X, codes, len(self.classes_), self.n_prototypes, self.random_state)
        omega = first_omega(X, W - W.mean(axis=0), self.n_components)
        omega = np.repeat(omega[None], len(W), axis=0) if each else omega
        same = codes[:, None] == labels
        noise = self.noise * X.var(axis=0).mean()

        def cost(flat: Numbers) -> tuple[float, Numbers]:
            value, *gradients = of(flat[: W.size].reshape(W.shape), flat[W.size :].reshape(omega.shape), X, same, noise)
            return value, np.concatenate([gradient.ravel() for gradient in gradients])

        start = np.concatenate([W.ravel(), omega.ravel()])
        minimum = minimize(cost, start, max_iter=self.max_iter, tol=self.tol, **LEARNING)
        self.objective_, self.n_iter_, self.stop_reason_ = minimum.value, minimum.n_iter, minimum.stop_reason
        self.prototypes_ = minimum.x[: W.size].reshape(W.shape)
        self.prototype_labels_ = self.classes_[labels]
        return np.asarray(minimum.x[W.size :].reshape(omega.shape))


class GMLVQ(LinearMapMixin, MatrixLVQ):
    """Generalised matrix LVQ: a nearest-prototype classifier under a learned metric ``||Omega (x - w)||^2``.

    Prototypes and Omega minimise the mean of (d+ - d-) / (d+ + d-), where d+ is the distance to the nearest prototype
    of the sample's own class and d- that of another class. ``transform`` gives Omega x.

    Parameters
    ----------
    n_prototypes : int, default=1
        Prototypes per class.
    n_components : int or None, default=None
        Rows of Omega, the rank of the metric. None is the number of columns.
    noise : float, default=0.01
        Variance of noise that the metric must tolerate in every column, as a share of their mean variance. With 0, as
        published, Omega finds directions of little variance that separate the training samples and nothing else. More
        is safer with few samples, less finds weak signals (spectra).
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-6
        Relative change of the cost at which the optimisation ends.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means, with several prototypes per class.

    Attributes
    ----------
    omega_ : array (n_components, n_features)
        Its rows are eigenvectors of `lambda_`, scaled with the square roots of the eigenvalues. Their squares sum to
        one.
    lambda_ : array (n_features, n_features)
        Omega^T Omega. Its diagonal is the relevance profile.
    prototypes_, prototype_labels_ : arrays (n_prototypes_total, n_features) and (n_prototypes_total,)
        The prototypes, and their classes.
    classes_, objective_, n_iter_, stop_reason_ : array, float, int and str
        The classes, and how the optimisation ended.

    See Also
    --------
    LMNN : A metric for nearest neighbours.
    RSLVQ : Prototypes with class probabilities.
    prismap.relevance.RelevanceBounds : Which entries of the relevance profile can be relied on.

    Notes
    -----
    One step costs O(n d r) for n samples, d columns and rank r. Columns should have comparable scales. The cost is not
    convex, so another start can end elsewhere.

    References
    ----------
    P. Schneider, M. Biehl, B. Hammer (2009), Adaptive relevance matrices in learning vector quantization. K. Bunte et
    al. (2012), Limited rank matrix learning. Schulz (2017), sec. 4.3.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GMLVQ(n_components=2).fit(X, y)
    >>> model.score(X, y) > 0.95, model.transform(X).shape
    (True, (150, 2))
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn prototypes and metric."""
        self._validate_params()
        X, self.classes_, codes = check_labelled_rows(self, X, y)
        omega = canonical_omega(self._descend(X, codes, gmlvq_cost, each=False))
        self.omega_ = omega / (np.linalg.norm(omega) or 1.0)  # the cost does not depend on the scale
        return self

    def decision_function(self, X: Any) -> Numbers:
        """(d_others - d_c) / (d_others + d_c) of each class c, in [-1, 1]; for two classes that of the second."""
        Z = self.transform(X)
        labels = np.searchsorted(self.classes_, self.prototype_labels_)
        return relative_distances(squared_distances(Z, self.prototypes_ @ self.omega_.T), labels, len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the nearest prototype."""
        scores = self.decision_function(X)
        codes = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])


# --- a matrix for each prototype --------------------------------------------------------------------------------------


def local_distances(X: Numbers, W: Numbers, omegas: Numbers) -> tuple[Numbers, Numbers]:
    """``|Omega_j (x_i - w_j)|^2`` for all rows and prototypes, and the projected differences (k, n, r)."""
    projected = np.einsum("knd,krd->knr", X[None] - W[:, None], omegas)
    return np.square(projected).sum(axis=2).T, projected


def lgmlvq_cost(
    W: Numbers, omegas: Numbers, X: Numbers, same: NDArray[np.bool_], noise: float = 0.0
) -> tuple[float, Numbers, Numbers]:
    """The cost of GMLVQ with a matrix for each prototype, and its gradients by prototypes and matrices.

    E = 1/n sum_i (d+_i - d-_i) / (d+_i + d-_i), d+ (d-) the smallest ``|Omega_j (x_i - w_j)|^2 + noise |Omega_j|^2``
    over the prototypes of the own (of other) classes (Schneider, Biehl & Hammer 2009, sec. 3.2). All Omega_j count with
    length 1: otherwise a prototype could grow its region by shrinking its metric.
    """
    sizes = np.sqrt(np.square(omegas).sum(axis=(1, 2), keepdims=True))
    units = omegas / np.maximum(sizes, np.finfo(np.float64).tiny)
    D2, projected = local_distances(X, W, units)
    D2 += noise
    rows = np.arange(len(X))
    right = np.where(same, D2, np.inf).argmin(axis=1)
    wrong = np.where(same, np.inf, D2).argmin(axis=1)
    d_right, d_wrong = D2[rows, right], D2[rows, wrong]
    total = np.maximum(d_right + d_wrong, np.finfo(np.float64).tiny)
    C = np.zeros_like(D2)
    C[rows, right] = 2.0 * (d_wrong / total) / total / len(X)
    C[rows, wrong] = -2.0 * (d_right / total) / total / len(X)
    weighted = C.T[:, :, None] * projected
    by_W = -2.0 * np.einsum("knr,krd->kd", weighted, units)
    by_units = 2.0 * np.einsum("knr,knd->krd", weighted, X[None] - W[:, None])
    along = (by_units * units).sum(axis=(1, 2), keepdims=True)  # the length is fixed: no gradient along Omega_j
    by_omegas = (by_units - along * units) / np.maximum(sizes, np.finfo(np.float64).tiny)
    return float(((d_right - d_wrong) / total).mean()), by_W, by_omegas


class LGMLVQ(MatrixLVQ):
    """Localised generalised matrix LVQ: prototypes with a relevance matrix each.

    A sample belongs to the class of the nearest prototype under ``|Omega_j (x - w_j)|^2``. The samples nearest to a
    prototype are its region, and its matrix says which features matter there. Regions and matrices are learnt together,
    so features may matter in one part of the data and not in another, which a single matrix (`GMLVQ`) cannot show.

    Parameters
    ----------
    n_prototypes : int, default=1
        Prototypes, and regions, per class.
    n_components : int or None, default=None
        Rows of each Omega. None is the number of columns.
    noise : float, default=0.01
        Variance of noise that the metrics must tolerate in every column, as in `GMLVQ`. 0 is as published.
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-6
        Relative change of the cost at which the optimisation ends.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means, with several prototypes per class.

    Attributes
    ----------
    prototypes_ : array (n_prototypes, n_features)
        The prototypes of all classes.
    prototype_labels_ : array (n_prototypes,)
        Their classes.
    omegas_ : array (n_prototypes, n_components, n_features)
        A matrix of length 1 per prototype, in the canonical form of `GMLVQ`.
    relevances_ : array (n_prototypes, n_features)
        The diagonals of Omega_j^T Omega_j, each of sum 1: which features matter in the region.
    classes_, objective_, n_iter_, stop_reason_ : array, float, int and str
        The classes, and how the optimisation ended.

    See Also
    --------
    GMLVQ : One metric for all samples.
    prismap.relevance.relevance_by_group : Relevance for given groups of a map.

    Notes
    -----
    One step costs O(n k d r) for n samples, k prototypes, d columns and rank r, and memory for n k d numbers. k d r
    numbers are learnt, so give few samples a small rank. To find what matters where on a map, fit it to clusters of the
    map as classes, or to a target, and look at `regions` there.

    References
    ----------
    P. Schneider, M. Biehl, B. Hammer (2009), Adaptive relevance matrices in learning vector quantization, sec. 3.2.
    Schulz (2017), sec. 4.2.5, which asks for local forms and for a way to divide the space.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LGMLVQ(n_components=2).fit(X, y)
    >>> model.score(X, y) > 0.95, model.relevances_.shape
    (True, (3, 4))
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn prototypes and their matrices."""
        self._validate_params()
        X, self.classes_, codes = check_labelled_rows(self, X, y)
        learnt = self._descend(X, codes, lgmlvq_cost, each=True)
        omegas = np.array([canonical_omega(one) for one in learnt])
        self.omegas_ = omegas / np.maximum(np.linalg.norm(omegas, axis=(1, 2), keepdims=True), 1e-300)
        self.relevances_ = np.square(self.omegas_).sum(axis=1)
        return self

    def regions(self, X: Any) -> Rows:
        """The number of the nearest prototype of each sample: the region it lies in."""
        return np.asarray(self._distances(X).argmin(axis=1))

    def decision_function(self, X: Any) -> Numbers:
        """(d_others - d_c) / (d_others + d_c) of each class c, in [-1, 1]; for two classes that of the second."""
        D2 = self._distances(X)
        return relative_distances(D2, np.searchsorted(self.classes_, self.prototype_labels_), len(self.classes_))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of the nearest prototype."""
        nearest = self.regions(X)
        return np.asarray(self.prototype_labels_[nearest])

    def _distances(self, X: Any) -> Numbers:
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, dtype=np.float64)
        return local_distances(X, self.prototypes_, self.omegas_)[0]
