"""How sure a classifier is of its labels: its distance to the nearest boundary, and its scores as probabilities."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC


def certainty(model: Any, rows: Any, labels: np.ndarray) -> np.ndarray | None:
    """How far each row is from the nearest boundary, in the model's own terms; None for a model that only labels.

    0 at a boundary, larger away from it; `labels` are what the model predicts. For a support vector machine it is the
    smallest margin among the one-versus-one machines of the row's class (Schulz 2017, sec. 3.5), otherwise the gap
    between the largest and the second largest probability or decision value, |value| for two classes.
    """
    margins = pair_margins(model, rows)
    if margins is not None:
        return smallest_margin(margins, np.searchsorted(model.classes_, labels)) if margins.ndim == 2 else abs(margins)
    for name in ("predict_proba", "decision_function"):
        if callable(getattr(model, name, None)):
            values = np.asarray(getattr(model, name)(rows), dtype=np.float64)
            if values.ndim == 1 or values.shape[1] == 1:
                return np.abs(values.ravel())
            top = np.partition(values, -2, axis=1)[:, -2:]
            return top[:, 1] - top[:, 0]
    return None


def class_scores(model: Any, rows: Any) -> np.ndarray | None:
    """Probabilities of the model's own classes, (n, n_classes), or None for a model that only labels.

    Models without ``predict_proba`` get them from what they have: ``softmax`` of their decision values, for a support
    vector machine of each class's smallest one-versus-one margin.
    """
    margins = pair_margins(model, rows)
    if margins is None and callable(getattr(model, "predict_proba", None)):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    if margins is None and callable(getattr(model, "decision_function", None)):
        values = np.asarray(model.decision_function(rows), dtype=np.float64)
        return np.asarray(softmax(np.column_stack([-values, values]) if values.ndim == 1 else values, axis=1))
    if margins is None:
        return None
    return np.asarray(
        softmax(np.column_stack([-margins, margins]) if margins.ndim == 1 else least_margins(margins), axis=1)
    )


def pair_margins(model: Any, rows: Any) -> np.ndarray | None:
    """Values of the one-versus-one machines of an SVC, (n,) or (n, pairs), also inside pipelines and searches."""
    if hasattr(model, "best_estimator_"):
        return pair_margins(model.best_estimator_, rows)
    if isinstance(model, Pipeline):
        if not isinstance(getattr(model[-1], "best_estimator_", model[-1]), (SVC, NuSVC, Pipeline)):
            return None
        return pair_margins(model[-1], model[:-1].transform(rows) if len(model) > 1 else rows)
    if not isinstance(model, (SVC, NuSVC)):
        return None
    machine = copy.copy(model)  # the fitted arrays are shared, the user's object keeps its settings
    machine.decision_function_shape, machine.break_ties = "ovo", False
    return np.asarray(machine.decision_function(rows), dtype=np.float64)


def smallest_margin(margins: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """min_j of the value that the machine "own class against j" gives to the own class, 0 where one is lost.

    `margins` has a column for each pair of classes in the order (0, 1), (0, 2), ..., positive for the first.
    """
    first, second = pairs_of_classes(margins.shape[1])
    own = np.where(codes[:, None] == first, margins, np.where(codes[:, None] == second, -margins, np.inf))
    return np.asarray(np.maximum(own.min(axis=1), 0.0))


def least_margins(margins: np.ndarray) -> np.ndarray:
    """Twice the smallest value that a class's one-versus-one machines give it: equal for two classes at a border."""
    first, second = pairs_of_classes(margins.shape[1])
    least = np.full((len(margins), int(second.max()) + 1), np.inf)
    for column, (a, b) in enumerate(zip(first, second, strict=True)):
        least[:, a] = np.minimum(least[:, a], margins[:, column])
        least[:, b] = np.minimum(least[:, b], -margins[:, column])
    return 2 * least


def pairs_of_classes(n_pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """The first and the second class of each pair, in the order (0, 1), (0, 2), ..."""
    first, second = np.triu_indices(int((1 + np.sqrt(1 + 8 * n_pairs)) / 2), 1)
    return first, second
