"""Rows that a model carries inside: prototypes and support vectors, in the columns it was trained on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from prismap._brief import Brief

#: Attributes of fitted models that hold rows, by what they are called in a picture.
ROWS = {"prototypes_": "prototype", "centroids_": "prototype", "support_vectors_": "support vector"}


@dataclass(frozen=True, repr=False)
class Exemplars(Brief):
    """Rows inside a model: what they are, where they lie (rows or positions), and their labels (None: unknown)."""

    name: str
    rows: np.ndarray
    labels: np.ndarray | None = None


def exemplars_of(model: Any) -> Exemplars | None:
    """Prototypes or support vectors of a model, also inside a pipeline whose steps can be undone, or a search."""
    if hasattr(model, "best_estimator_"):
        return exemplars_of(model.best_estimator_)
    if isinstance(model, Pipeline):
        inner = exemplars_of(model[-1])
        if inner is None or len(model) == 1:
            return inner
        if not hasattr(model[:-1], "inverse_transform"):
            return None
        return Exemplars(inner.name, np.asarray(model[:-1].inverse_transform(inner.rows)), inner.labels)
    for attribute, name in ROWS.items():
        rows = getattr(model, attribute, None)
        if rows is not None and len(np.shape(rows)) == 2 and np.shape(rows)[0] and np.shape(rows)[1]:
            rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
            return Exemplars(name, rows, exemplar_labels(model, attribute))
    return None


def exemplar_labels(model: Any, attribute: str) -> np.ndarray | None:
    """The class of each prototype or support vector."""
    if attribute == "prototypes_":
        return getattr(model, "prototype_labels_", None)
    if not hasattr(model, "classes_"):
        return None
    if attribute == "support_vectors_":
        return np.repeat(model.classes_, model.n_support_)
    return np.asarray(model.classes_)
