"""Large margin nearest neighbours: a metric in which rows lie nearer to their own class than to any other."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from prismap._util.arrays import Numbers, Rows
from prismap._util.blocks import row_blocks
from prismap._util.optimise import minimize
from prismap._util.params import Interval
from prismap.exceptions import InputError
from prismap.learners._shared import (
    LEARNING,
    LinearMapMixin,
    canonical_omega,
    check_labelled_rows,
    first_omega,
    first_prototypes,
    squared_distances,
)

#: Bytes of one block of distances.
_BLOCK_BYTES = 16 * 2**20


def target_neighbors(X: Numbers, codes: Rows, n_neighbors: int) -> Rows:
    """The nearest rows of the same class, shape (n, n_neighbors); -1 where a class has fewer."""
    targets = np.full((len(X), n_neighbors), -1, dtype=np.intp)
    for c in np.unique(codes):
        members = np.flatnonzero(codes == c)
        k = min(n_neighbors, len(members) - 1)
        if k:
            nearest = NearestNeighbors(n_neighbors=k).fit(X[members]).kneighbors(return_distance=False)
            targets[members, :k] = members[nearest]
    return targets


def lmnn_cost(
    omega: Numbers, X: Numbers, codes: Rows, targets: Rows, push: float, noise: float = 0.0
) -> tuple[float, Numbers]:
    """The large margin cost and its gradient by Omega.

    E = (1 - push) sum_{i, j target of i} d_ij + push sum_{i, j, l of another class} max(0, 1 + d_ij - d_il), with
    d_ij = ||Omega (x_i - x_j)||^2 (Weinberger & Saul 2009, eq. 13). Only pairs (i, l) nearer than the farthest target
    plus one can contribute, and only those are looked at one by one. Noise of variance `noise` in every column would
    add 2 noise ||Omega||^2 to every d: nothing to the margins, and a penalty on Omega to the first sum.
    """
    A = X @ omega.T
    i, k = np.nonzero(targets >= 0)
    j = targets[i, k]
    own = np.full(targets.shape, -np.inf)  # missing targets are at distance -inf: nothing lies within their margin
    own[i, k] = ((A[i] - A[j]) ** 2).sum(axis=1)
    damping = (1.0 - push) * 2.0 * noise * len(i)
    cost = (1.0 - push) * own[i, k].sum() + damping * (omega**2).sum()
    reach = 1.0 + own.max(axis=1)
    violated = np.zeros(targets.shape)
    near_i, near_l, near_count = [], [], []
    for rows in row_blocks(len(A), 8.0 * len(A), _BLOCK_BYTES):
        D2 = squared_distances(A[rows], A)
        a, b = np.nonzero((reach[rows, None] > D2) & (codes[rows, None] != codes))
        gaps = 1.0 + own[rows][a] - D2[a, b][:, None]
        active = gaps > 0
        cost += push * gaps[active].sum()
        a += rows.start
        for c in range(targets.shape[1]):
            violated[:, c] += np.bincount(a[active[:, c]], minlength=len(A))
        near_i.append(a)
        near_l.append(b)
        near_count.append(active.sum(axis=1))
    values = np.concatenate([(1.0 - push) + push * violated[i, k], -push * np.concatenate(near_count)])
    pairs = (np.concatenate([i, *near_i]), np.concatenate([j, *near_l]))
    C = sp.coo_matrix((values, pairs), shape=(len(A), len(A))).tocsr()
    C = C + C.T
    pull = np.asarray(C.sum(axis=1)) * A - C @ A
    return float(cost), 2.0 * (pull.T @ X + damping * omega)


class LMNN(LinearMapMixin, ClassifierMixin, BaseEstimator):
    """Large margin nearest neighbours: a metric ``||Omega (x - x')||^2`` for a k-nearest-neighbour classifier.

    Omega pulls the nearest samples of the same class towards each sample and pushes samples of other classes out of
    their reach by a margin of one. ``predict`` is the k-nearest-neighbour vote under that metric, and ``transform``
    gives Omega x.

    Parameters
    ----------
    n_neighbors : int, default=3
        Neighbours that are pulled, and that vote.
    n_components : int or None, default=None
        Rows of Omega, the rank of the metric. None is the number of columns.
    push : float in (0, 1), default=0.5
        Weight of the pushing part.
    noise : float, default=0.01
        Variance of noise that the metric must tolerate in every column, as a share of their mean variance. 0 is as
        published. More is safer with few samples, less finds weak signals (spectra).
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-5
        Relative change of the cost at which the optimisation ends.

    Attributes
    ----------
    omega_ : array (n_components, n_features)
        Its rows are eigenvectors of `lambda_`, scaled with the square roots of the eigenvalues.
    lambda_ : array (n_features, n_features)
        Omega^T Omega. Its diagonal is the relevance profile.
    rows_, row_codes_ : arrays
        The training samples and the codes of their classes, among which neighbours are searched.
    classes_, objective_, n_iter_, stop_reason_ : array, float, int and str
        The classes, and how the optimisation ended.

    See Also
    --------
    GMLVQ : A metric for prototypes, cheaper on many samples.
    prismap.relevance.RelevanceBounds : Which entries of the relevance profile can be relied on.

    Notes
    -----
    One step costs O(n^2 r) for n samples and rank r, plus the samples that violate a margin. Memory is bounded by
    blocks. Columns should have comparable scales. Target neighbours are the Euclidean ones and stay fixed.

    References
    ----------
    K. Weinberger, L. Saul (2009), Distance metric learning for large margin nearest neighbor classification. Schulz
    (2017), sec. 4.3.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LMNN(n_components=2).fit(X, y)
    >>> model.score(X, y) > 0.95, model.transform(X).shape
    (True, (150, 2))
    """

    _parameter_constraints: dict[str, Any] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "push": [Interval(Real, 0, 1, closed="neither")],
        "noise": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        n_components: int | None = None,
        push: float = 0.5,
        noise: float = 0.01,
        max_iter: int = 100,
        tol: float = 1e-5,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.push = push
        self.noise = noise
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the metric."""
        self._validate_params()
        X, self.classes_, codes = check_labelled_rows(self, X, y)
        targets = target_neighbors(X, codes, self.n_neighbors)
        if (targets < 0).all():
            raise InputError("every class of y has one row only, so no row has a neighbour of its class to learn from.")
        means = first_prototypes(X, codes, len(self.classes_), 1, None)[0]
        omega = first_omega(X, means - means.mean(axis=0), self.n_components)
        # Start where targets are at distance one on average, as far as the margin.
        i, k = np.nonzero(targets >= 0)
        typical = (((X[i] - X[targets[i, k]]) @ omega.T) ** 2).sum(axis=1).mean()
        omega /= np.sqrt(typical) or 1.0

        noise = self.noise * X.var(axis=0).mean()

        def cost(omega: Numbers) -> tuple[float, Numbers]:
            value, gradient = lmnn_cost(omega, X, codes, targets, self.push, noise)
            return value / len(X), gradient / len(X)

        minimum = minimize(cost, omega, max_iter=self.max_iter, tol=self.tol, **LEARNING)
        self.objective_, self.n_iter_, self.stop_reason_ = minimum.value, minimum.n_iter, minimum.stop_reason
        self.omega_ = canonical_omega(minimum.x)
        self.rows_, self.row_codes_ = X, codes
        return self

    def predict_proba(self, X: Any) -> Numbers:
        """Shares of the nearest neighbours' votes, shape (n, n_classes)."""
        Z = self.transform(X)
        voters = KNeighborsClassifier(min(self.n_neighbors, len(self.rows_)))
        return np.asarray(voters.fit(self.rows_ @ self.omega_.T, self.row_codes_).predict_proba(Z))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that most of the nearest neighbours have."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])
