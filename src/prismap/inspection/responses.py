"""What a trained model says of rows: labels and certainty of any classifier, output of any regressor (thesis 3.4)."""

from __future__ import annotations

import copy
import importlib.util
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, NuSVC

from prismap._optional import import_extra
from prismap._validation import missing_mask, refuse_other_columns
from prismap.exceptions import InputError
from prismap.metrics.posteriors.models import model_name
from prismap.metrics.target import guess_target

#: Rows that the model is asked for at a time.
BATCH_ROWS = 20_000


@dataclass(frozen=True)
class Answer:
    """What a model says of some rows: `value` (codes of classes, or real output) and `certainty` (None: unknown)."""

    value: np.ndarray
    certainty: np.ndarray | None = None


class Responder:
    """A trained model as one function of rows, with its classes as codes and its failures as `InputError`.

    Parameters
    ----------
    model : classifier or regressor
        Trained, with ``predict``. Certainty is the first of these it has: the smallest one-versus-one margin of a
        support vector machine, the gap between the two largest of ``predict_proba``, that of ``decision_function``.
    X : the rows it is to be shown on; a data frame tells the names of the columns.
    y : labels or values of these rows; classes the model does not know get codes too.

    Attributes
    ----------
    kind : "class" or "real".
    classes : the labels, sorted; empty for a regressor.
    frame, as_given : functions that give an array of rows the form the model takes, or the form of X.
    """

    def __init__(self, model: Any, X: Any, y: Any = None):
        if not callable(getattr(model, "predict", None)):
            raise InputError(f"model must be a trained classifier or regressor with predict; got {model_name(model)}.")
        self.model = model
        check_columns(model, X)
        self.as_given = frame_maker(X)
        self.frame = frame_for(model, X)
        predicted = self._predict(dense(X))
        self.kind = kind_of(model, predicted, y)
        self.classes = classes_of(model, predicted, y) if self.kind == "class" else np.empty(0)

    def __call__(self, rows: np.ndarray) -> Answer:
        """The model's answer on rows, asked in batches."""
        batches = [rows[start : start + BATCH_ROWS] for start in range(0, len(rows), BATCH_ROWS)]
        answers = [self._ask(batch) for batch in batches]
        sure = [answer.certainty for answer in answers]
        return Answer(
            np.concatenate([answer.value for answer in answers]),
            None if any(one is None for one in sure) else np.concatenate(sure),
        )

    def encode(self, labels: Any) -> np.ndarray:
        """Codes of labels among `classes`; -1 where there is none (None, NaN, or -1 that is no class)."""
        labels = np.asarray(labels)
        codes = np.full(len(labels), -1, dtype=np.intp)
        known = ~missing_mask(labels)
        found = labels[known].astype(self.classes.dtype)
        place = np.minimum(np.searchsorted(self.classes, found), len(self.classes) - 1)
        codes[known] = np.where(self.classes[place] == found, place, -1)
        return codes

    def ask(self, question: Any, rows: np.ndarray) -> Any:
        """``question(self, rows as the model takes them)``, its failures told like all others."""
        with self._failures():
            return question(self, self.frame(rows))

    def _ask(self, rows):
        values = self._predict(rows)
        if self.kind == "real":
            values = np.asarray(values, dtype=np.float64)
            if not np.isfinite(values).all():
                raise InputError(f"model {model_name(self.model)} predicts {int((~np.isfinite(values)).sum())} values "
                                 "that are not finite; a picture cannot show them.")  # fmt: skip
            return Answer(values)
        with self._failures():
            sure = certainty(self.model, self.frame(rows), values)
        return Answer(self.encode(values), sure)

    def _predict(self, rows):
        with self._failures():
            values = np.asarray(self.model.predict(self.frame(rows)))
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.shape != (len(rows),):
            raise InputError(
                f"model {model_name(self.model)} must predict one value per row; it gave the shape {values.shape} for "
                f"{len(rows)} rows. Models with several outputs are shown one output at a time."
            )
        return values

    @contextmanager
    def _failures(self):
        """What the model raises becomes an `InputError` that says so; what it says of names was checked before."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="X (does not have valid|has) feature names", category=UserWarning)
            try:
                yield
            except InputError:
                raise
            except Exception as error:
                raise InputError(
                    f"model {model_name(self.model)} raised {type(error).__name__} when asked about rows: {error} "
                    "A view needs a fitted model that takes the columns of X."
                ) from error


def kind_of(model: Any, predicted: np.ndarray, y: Any = None) -> str:
    """ "class" or "real": what scikit-learn says of the model, else what its answers look like."""
    if is_classifier(model) or (not is_regressor(model) and hasattr(model, "classes_")):
        return "class"
    if is_regressor(model):
        return "real"
    return guess_target(predicted if y is None else np.asarray(y))


def check_columns(model: Any, X: Any) -> None:
    """Refuse rows with other columns than the model was trained on."""
    refuse_other_columns(X, getattr(model, "feature_names_in_", None))
    expected = getattr(model, "n_features_in_", None)
    found = np.shape(X)[1]
    if expected is not None and expected != found:
        raise InputError(
            f"model {model_name(model)} was trained on {expected} columns and X has {found}: pass the rows the model "
            "knows, for instance those it was trained on."
        )


def certainty(model: Any, rows: Any, labels: np.ndarray) -> np.ndarray | None:
    """How far each row is from the nearest boundary, in the model's own terms; None for a model that only labels.

    0 at a boundary, larger away from it; `labels` are what the model predicts. For a support vector machine it is the
    smallest margin among the one-versus-one machines of the row's class (thesis 3.5), otherwise the gap between the
    largest and the second largest probability or decision value, |value| for two classes.
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
    n_classes = int((1 + np.sqrt(1 + 8 * margins.shape[1])) / 2)
    first, second = np.triu_indices(n_classes, 1)
    own = np.where(codes[:, None] == first, margins, np.where(codes[:, None] == second, -margins, np.inf))
    return np.maximum(own.min(axis=1), 0.0)


def classes_of(model, predicted, y):
    """Every label of model and y, sorted; they must be of one kind."""
    known = np.asarray(getattr(model, "classes_", np.unique(predicted)))
    if len(known) < 2:
        raise InputError(
            f"model {model_name(model)} knows one class only ({str(known[0])!r}): there is no boundary to show. Train "
            "it on rows of at least two classes."
        )
    if y is None:
        return known
    labels = np.asarray(y)
    labels = labels[~missing_mask(labels)]
    if labels.dtype.kind == "O" and known.dtype.kind in "UO":
        labels, known = labels.astype(str), known.astype(str)
    if labels.dtype.kind in "if" and -1 not in known:
        labels = labels[labels != -1]
    if not np.isin(labels, known).any():
        shown = ", ".join(str(value) for value in known[:4]), ", ".join(str(v) for v in np.unique(labels)[:4])
        raise InputError(
            f"model {model_name(model)} says {shown[0]}, ... and y holds {shown[1]}, ...: they share no label. Pass y "
            "as the model was given it."
        )
    return np.unique(np.concatenate([known, labels]))


def dense(X):
    """Rows as one plain array."""
    return np.asarray(X.toarray() if sp.issparse(X) else X, dtype=np.float64)


def frame_for(model: Any, X: Any) -> Any:
    """The form that a model takes rows in: frames if it learned names, named by X or (with pandas) by the model."""
    if not hasattr(model, "feature_names_in_"):
        return np.asarray
    if hasattr(X, "columns") or not importlib.util.find_spec("pandas"):
        return frame_maker(X)
    return partial(
        import_extra("pandas", extra="io", feature="named columns").DataFrame, columns=model.feature_names_in_
    )


def frame_maker(X: Any) -> Any:
    """A function that gives an array of rows the form of X: a data frame with its columns, or the array itself."""
    if not hasattr(X, "columns"):
        return np.asarray
    label = "schema" if type(X).__module__.startswith("polars") else "columns"
    make: Any = type(X)
    return partial(make, **{label: list(X.columns)})
