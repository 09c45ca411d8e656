"""A model as what the map knows about the target: its own probabilities or output, whatever kind of model it is."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from prismap.inspection.responses import Responder, pair_margins
from prismap.metrics.posteriors.gradients import has_gradient, log_gradients

#: Probability of the label that a model gives without saying how sure it is.
LABEL_PROBABILITY = 0.9


class ModelPosterior(BaseEstimator):
    """Probabilities (or output) of a trained model, for ``FisherMetric(posterior=...)``; stays itself when cloned.

    Models without ``predict_proba`` get probabilities from what they have: ``softmax`` of their decision values, for a
    support vector machine of each class's smallest one-versus-one margin, else most of the mass on the label.
    """

    def __init__(self, responder: Responder):
        self.responder = responder

    @property
    def classes_(self):
        """The labels."""
        return self.responder.classes

    def predict(self, X):
        """Labels or output."""
        value = self.responder(np.asarray(X, dtype=np.float64)).value
        return value if self.responder.kind == "real" else self.responder.classes[value]

    @available_if(lambda self: self.responder.kind == "class")
    def predict_proba(self, X):
        """Probability of each of `classes_`."""
        return self.responder.ask(probabilities, np.asarray(X, dtype=np.float64))

    @available_if(lambda self: self.responder.kind == "class" and has_gradient(self.responder.model))
    def predict_log_proba_gradient(self, X):
        """The derivatives of the log-probabilities, (n, n_classes, n_features); a class of y alone has none."""
        X, responder = np.asarray(X, dtype=np.float64), self.responder
        S = np.zeros((len(X), len(responder.classes), X.shape[1]))
        found = responder.ask(lambda own, _: log_gradients(own.model, X), X)
        S[:, responder.encode(responder.model.classes_)] = found
        return S

    def __sklearn_clone__(self):
        return self

    def __sklearn_is_fitted__(self):
        return True


def probabilities(responder: Responder, rows: Any) -> np.ndarray:
    """Probabilities of the responder's classes on rows in the form its model takes."""
    model, classes = responder.model, responder.classes
    labels = np.asarray(model.predict(rows))
    P = np.zeros((len(labels), len(classes)))
    scores = class_scores(model, rows)
    if scores is None:
        P[:] = (1 - LABEL_PROBABILITY) / (len(classes) - 1)
        P[np.arange(len(labels)), responder.encode(labels)] = LABEL_PROBABILITY
    else:
        P[:, responder.encode(model.classes_)] = scores
    return P


def class_scores(model: Any, rows: Any) -> np.ndarray | None:
    """Probabilities of the model's own classes, (n, n_classes), or None for a model that only labels."""
    margins = pair_margins(model, rows)
    if margins is None and callable(getattr(model, "predict_proba", None)):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    if margins is None and callable(getattr(model, "decision_function", None)):
        values = np.asarray(model.decision_function(rows), dtype=np.float64)
        return softmax(np.column_stack([-values, values]) if values.ndim == 1 else values, axis=1)
    if margins is None:
        return None
    return softmax(np.column_stack([-margins, margins]) if margins.ndim == 1 else least_margins(margins), axis=1)


def least_margins(margins: np.ndarray) -> np.ndarray:
    """Twice the smallest value that a class's one-versus-one machines give it: equal for two classes at a border."""
    n_classes = int((1 + np.sqrt(1 + 8 * margins.shape[1])) / 2)
    first, second = np.triu_indices(n_classes, 1)
    least = np.full((len(margins), n_classes), np.inf)
    for column, (a, b) in enumerate(zip(first, second, strict=True)):
        least[:, a] = np.minimum(least[:, a], margins[:, column])
        least[:, b] = np.minimum(least[:, b], -margins[:, column])
    return 2 * least
