"""Robust soft learning vector quantisation: a probabilistic prototype classifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from prismap._util.arrays import Numbers
from prismap._util.optimise import minimize
from prismap._util.params import Interval
from prismap._util.validation import check_rows
from prismap.learners._shared import LEARNING, check_labelled_rows, first_prototypes, squared_distances


def rslvq_cost(W: Numbers, X: Numbers, same: NDArray[np.bool_], sigma: float) -> tuple[float, Numbers]:
    """Minus the mean log of p(own class | x) in a mixture of equal Gaussians at the prototypes, and its gradient by W.

    E = -1/n sum_i [ log sum_{j of the class of i} e_ij - log sum_j e_ij ],  e_ij = exp(-||x_i - w_j||^2 / 2 sigma^2)
    (Seo & Obermayer 2003). `same` marks the prototypes of each row's own class, shape (n, n_prototypes).
    """
    scores = squared_distances(X, W) / (-2.0 * sigma**2)
    own = np.where(same, scores, -np.inf)
    log_all, log_own = logsumexp(scores, axis=1), logsumexp(own, axis=1)
    # dE/dd_ij: how much more j counts within the own class than among all
    pull = np.exp(own - log_own[:, None]) - np.exp(scores - log_all[:, None])
    pull /= len(X) * sigma**2
    return float((log_all - log_own).mean()), pull.sum(axis=0)[:, None] * W - pull.T @ X


def typical_width(residuals: Numbers) -> float:
    """sigma^2 = tr(S^2) / tr(S) for the covariance S of the residuals: their variance along a typical direction.

    For independent columns that is the mean variance. Correlated columns repeat each other, and the mean over them all
    would count one piece of evidence many times and make every probability 0 or 1.
    """
    R = residuals if residuals.shape[0] >= residuals.shape[1] else residuals.T
    S = R.T @ R / len(residuals)
    trace = float(np.trace(S))
    return float(np.linalg.norm(S) / np.sqrt(trace)) if trace > 0 else 1.0


class RSLVQ(ClassifierMixin, BaseEstimator):
    """Robust soft LVQ: prototypes that maximise the probability of the right classes.

    Each class is a mixture of Gaussians of one width, centred at its prototypes, so that ``p(c | x) = sum_{j of c}
    exp(-||x - w_j||^2 / 2 sigma^2) / sum_j exp(-||x - w_j||^2 / 2 sigma^2)``. L-BFGS maximises the likelihood of the
    labels, starting from the class means or k-means centres. Where classes can be separated, the likelihood alone would
    drive prototypes away from the data, so a small penalty on their movement is added.

    Parameters
    ----------
    n_prototypes : int, default=1
        Prototypes per class.
    sigma : float or None, default=None
        Width of the Gaussians. None is the typical spread of the samples around the first prototypes.
    penalty : float, default=1e-3
        Weight of ``sum_j ||w_j - first w_j||^2 / 2 sigma^2`` beside the mean log-likelihood. 0 is as published.
    max_iter : int, default=200
        Largest number of iterations.
    tol : float, default=1e-6
        Relative change of the cost at which the optimisation ends.
    random_state : int, RandomState instance or None, default=None
        Seed of k-means, with several prototypes per class.

    Attributes
    ----------
    prototypes_, prototype_labels_ : arrays (n_prototypes_total, n_features) and (n_prototypes_total,)
        The prototypes, and their classes.
    sigma_ : float
        The width used.
    classes_, objective_, n_iter_, stop_reason_ : array, float, int and str
        The classes, and how the optimisation ended.

    See Also
    --------
    GMLVQ : Prototypes with a learned metric.

    Notes
    -----
    One step costs O(n p d) for n samples, p prototypes and d columns. Columns should have comparable scales.

    References
    ----------
    S. Seo, K. Obermayer (2003), Soft learning vector quantization. Schulz (2017), sec. 3.5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> RSLVQ().fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: dict[str, Any] = {
        "n_prototypes": [Interval(Integral, 1, None, closed="left")],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "penalty": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_prototypes: int = 1,
        *,
        sigma: float | None = None,
        penalty: float = 1e-3,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.sigma = sigma
        self.penalty = penalty
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Place the prototypes."""
        self._validate_params()
        X, self.classes_, codes = check_labelled_rows(self, X, y)
        W, labels = first_prototypes(X, codes, len(self.classes_), self.n_prototypes, self.random_state)
        same = codes[:, None] == labels
        self.sigma_: Any = self.sigma
        if self.sigma is None:
            self.sigma_ = typical_width(X - W[np.where(same, squared_distances(X, W), np.inf).argmin(axis=1)])

        def cost(moved_to: Numbers) -> tuple[Any, Numbers]:
            value, gradient = rslvq_cost(moved_to, X, same, self.sigma_)
            moved = (moved_to - W) / self.sigma_
            return value + self.penalty * np.vdot(moved, moved) / 2, gradient + self.penalty * moved / self.sigma_

        minimum = minimize(cost, W, max_iter=self.max_iter, tol=self.tol, **LEARNING)
        self.objective_, self.n_iter_, self.stop_reason_ = minimum.value, minimum.n_iter, minimum.stop_reason
        self.prototypes_ = minimum.x
        self.prototype_labels_ = self.classes_[labels]
        return self

    def predict_proba(self, X: Any) -> Numbers:
        """Probability of each class, shape (n, n_classes)."""
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, dtype=np.float64)
        each = softmax(squared_distances(X, self.prototypes_) / (-2.0 * self.sigma_**2), axis=1)
        return np.asarray(each @ (self.prototype_labels_[:, None] == self.classes_))

    def predict_log_proba_gradient(self, X: Any) -> Numbers:
        """``grad log p(c | x)`` of each class, shape (n, n_classes, n_features): for the metric of the model itself.

        With u_j the share of prototype j in the mixture and u_j|c its share in the class, it is ``(sum_j u_j|c w_j -
        sum_j u_j w_j) / sigma^2`` (Schulz 2017, sec. 3.5.4).
        """
        check_is_fitted(self)
        X = check_rows(self, X, reset=False, dtype=np.float64)
        scores = squared_distances(X, self.prototypes_) / (-2.0 * self.sigma_**2)
        mean = softmax(scores, axis=1) @ self.prototypes_
        out = np.empty((len(X), len(self.classes_), X.shape[1]))
        for c, name in enumerate(self.classes_):
            own = self.prototype_labels_ == name
            out[:, c] = softmax(scores[:, own], axis=1) @ self.prototypes_[own] - mean
        return np.asarray(out / self.sigma_**2)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row."""
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])
