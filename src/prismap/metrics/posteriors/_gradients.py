"""Derivatives of a classifier's log-probabilities by the row: what the tangent form of its own metric needs.

With ``s_c(x) = grad log p(c|x)`` the Fisher tensor of a model is ``J(x) = sum_c p_c s_c s_c^T`` (Schulz 2017, sec.
2.4.1 b and 3.5.4). A model gives its s_c by ``predict_log_proba_gradient(X)``, shape (n, n_classes, n_features), as
`RSLVQ` and `FunctionModel` do. Known here are logistic regression and linear discriminant analysis of scikit-learn,
where ``s_c = w_c - sum_k p_k w_k``, and pipelines that lead to one of these by scalers, principal components or the
features of a Gaussian kernel, by the chain rule: kernel logistic regression is ``make_pipeline(Nystroem(),
LogisticRegression())``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.metaestimators import available_if

from prismap.exceptions import InputError

#: Steps of a pipeline that are linear up to a shift.
LINEAR_STEPS = (StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, PCA, TruncatedSVD)
WITH_GRADIENT = (
    "RSLVQ, logistic regression and linear discriminant analysis, also behind scalers, PCA, Nystroem(kernel='rbf') or "
    "RBFSampler, and any model with predict_log_proba_gradient (prismap.metrics.posteriors.FunctionModel makes one)"
)


def has_gradient(model: Any) -> bool:
    """Whether the derivatives of a model are known, fitted or not."""
    model = unwrapped(model)
    if isinstance(model, Pipeline):
        return all(is_smooth_step(step) for _, step in model.steps[:-1]) and has_gradient(model.steps[-1][1])
    if isinstance(model, LogisticRegression):
        return softmax_logistic(model)
    return isinstance(model, LinearDiscriminantAnalysis) or callable(getattr(model, "predict_log_proba_gradient", None))


def log_gradients(model: Any, X: np.ndarray) -> np.ndarray:
    """``grad log p(c|x)`` of a fitted model's own classes, (n, n_classes, n_features)."""
    model = unwrapped(model)
    if callable(getattr(model, "predict_log_proba_gradient", None)):
        return np.asarray(model.predict_log_proba_gradient(X), dtype=np.float64)
    if not isinstance(model, Pipeline):
        return linear_log_gradients(model, X)
    inputs = [X]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        for _, step in model.steps[:-1]:
            inputs.append(inputs[-1] if is_nothing(step) else as_doubles(step.transform(inputs[-1])))
    S = log_gradients(model.steps[-1][1], inputs[-1])
    for (_, step), rows in zip(reversed(model.steps[:-1]), reversed(inputs[:-1]), strict=True):
        S = back_through(step, rows, S)
    return S


def linear_log_gradients(model: Any, X: np.ndarray) -> np.ndarray:
    """``w_c - sum_k p_k w_k`` with ``p = softmax(W x + b)``; two classes share one w."""
    W, b = np.atleast_2d(model.coef_), np.ravel(model.intercept_)
    if len(W) == 1:
        W, b = np.vstack([np.zeros_like(W), W]), np.r_[0.0, b]
    P = softmax(X @ W.T + b, axis=1)
    return W[None] - (P @ W)[:, None]


def back_through(step: Any, X: np.ndarray, S: np.ndarray) -> np.ndarray:
    """Derivatives by the rows X that enter a step, from those (n, C, m) by what comes out of it."""
    step = unwrapped(step)
    if is_nothing(step):
        return S
    if isinstance(step, Nystroem):  # features N k(x), k_j = exp(-g |x - z_j|^2), with grad k_j = -2 g k_j (x - z_j)
        gamma = 1.0 / X.shape[1] if step.gamma is None else step.gamma
        Z = as_doubles(step.components_)
        D2 = np.square(X).sum(axis=1)[:, None] + np.square(Z).sum(axis=1) - 2 * X @ Z.T
        U = (S @ step.normalization_) * np.exp(-gamma * np.maximum(D2, 0))[:, None]
        return -2 * gamma * (U.sum(axis=2, keepdims=True) * X[:, None] - U @ Z)
    if isinstance(step, RBFSampler):  # features sqrt(2 / m) cos(x W + b)
        W, b = step.random_weights_, step.random_offset_
        return (S * -(np.sqrt(2 / W.shape[1]) * np.sin(X @ W + b))[:, None]) @ W.T
    origin = np.zeros((1, X.shape[1]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names", category=UserWarning)
        return S @ (step.transform(np.eye(X.shape[1])) - step.transform(origin)).T


def unwrapped(model: Any) -> Any:
    """The model inside a search or a `FrozenEstimator`."""
    while True:
        if hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        elif isinstance(model, FrozenEstimator):
            model = model.estimator
        else:
            return model


def is_nothing(step: Any) -> bool:
    """Whether a step of a pipeline does nothing."""
    return step is None or isinstance(step, str)


def is_smooth_step(step: Any) -> bool:
    """Whether `back_through` knows a step."""
    step = unwrapped(step)
    if isinstance(step, Nystroem):
        return step.kernel == "rbf"
    if isinstance(step, MinMaxScaler) and step.clip:
        return False
    return is_nothing(step) or isinstance(step, (*LINEAR_STEPS, RBFSampler))


def softmax_logistic(model: LogisticRegression) -> bool:
    """Whether a logistic regression gives the softmax of linear functions: not one of several against the rest."""
    return getattr(model, "multi_class", "auto") != "ovr" and (
        model.solver != "liblinear" or len(getattr(model, "classes_", ())) <= 2
    )


def check_gradient(model: Any, what: str) -> None:
    """Refuse a model without a derivative."""
    if not has_gradient(model):
        raise InputError(
            f"{what} needs the derivative of the model's probabilities, which {' '.join(repr(model).split())} does not "
            f"tell. Models that do: {WITH_GRADIENT}."
        )


def as_doubles(X: Any) -> np.ndarray:
    """Rows as a dense array of float64."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


class FunctionModel(BaseEstimator):
    """A trained classifier given by functions, for ``FisherMetric(posterior=...)``.

    Parameters
    ----------
    probabilities : callable
        From rows (n, n_features) to the probabilities of the classes (n, n_classes).
    log_gradient : callable or None, default=None
        From rows to ``grad log p(c|x)``, shape (n, n_classes, n_features). None: the metric has no tangent form.
    classes : array-like
        The classes in the order of the probabilities.

    See Also
    --------
    prismap.metrics.FisherMetric : The metric that asks it.

    Examples
    --------
    >>> import numpy as np
    >>> from prismap.metrics import FisherMetric
    >>> def probabilities(X):
    ...     p = 1 / (1 + np.exp(-2 * X[:, 0]))
    ...     return np.column_stack([1 - p, p])
    >>> def log_gradient(X):
    ...     p, one = probabilities(X)[:, 1], np.eye(1, X.shape[1])
    ...     return 2 * np.stack([-p[:, None] * one, (1 - p)[:, None] * one], axis=1)
    >>> model = FunctionModel(probabilities, log_gradient, classes=[0, 1])
    >>> X = np.random.default_rng(0).normal(size=(40, 2))
    >>> metric = FisherMetric(posterior=model, path="tangent", perplexity=5).fit(X, (X[:, 0] > 0).astype(int))
    >>> bool(np.allclose(metric.pairwise([[0.3, 0.0]], [[0.3, 5.0]]), 0))
    True
    """

    def __init__(self, probabilities, log_gradient=None, *, classes):
        self.probabilities = probabilities
        self.log_gradient = log_gradient
        self.classes = classes

    @property
    def classes_(self):
        """The classes."""
        return np.asarray(self.classes)

    def predict_proba(self, X):
        """Probability of each class, (n, n_classes)."""
        return np.asarray(self.probabilities(np.asarray(X)), dtype=np.float64)

    def predict(self, X):
        """The most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    @available_if(lambda self: self.log_gradient is not None)
    def predict_log_proba_gradient(self, X):
        """``grad log p(c|x)``, (n, n_classes, n_features)."""
        return np.asarray(self.log_gradient(np.asarray(X)), dtype=np.float64)

    def __sklearn_is_fitted__(self):
        return True

    def __sklearn_clone__(self):
        return self
