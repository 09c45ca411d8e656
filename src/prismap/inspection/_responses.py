"""A trained model as one function of rows (Schulz 2017, sec. 3.4), and as what a map knows about the target."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.metaestimators import available_if

from prismap._util.arrays import Numbers
from prismap._util.optional import import_extra
from prismap._util.validation import refuse_other_columns
from prismap.exceptions import InputError
from prismap.inspection._certainty import class_scores
from prismap.inspection._tasks import Answer, task_of
from prismap.metrics.posteriors._gradients import has_gradient, log_gradients
from prismap.metrics.posteriors._models import model_name

#: Rows that the model is asked for at a time.
BATCH_ROWS = 20_000
#: Probability of the label that a model gives without saying how sure it is.
LABEL_PROBABILITY = 0.9


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
    task : `Classification` or `Regression`.
    frame, as_given : functions that give an array of rows the form the model takes, or the form of X.
    """

    def __init__(self, model: Any, X: Any, y: Any = None) -> None:
        self.model = check_model(model)
        check_columns(model, X)
        self.as_given = frame_maker(X)
        self.frame = frame_for(model, X)
        self.task = task_of(model, self._predict(dense(X)), y)

    @property
    def has_gradient(self) -> bool:
        """Whether the derivatives of its probabilities are known."""
        return self.task.has_classes and has_gradient(self.model)

    def rows(self, X: Any) -> Any:
        """Rows as the responder takes them."""
        return np.asarray(X, dtype=np.float64)

    def __call__(self, rows: Any) -> Answer:
        """The model's answer on rows, asked in batches."""
        batches = [rows[start : start + BATCH_ROWS] for start in range(0, len(rows), BATCH_ROWS)]
        answers = [self._ask(batch) for batch in batches]
        sure = [answer.certainty for answer in answers]
        return Answer(
            np.concatenate([answer.value for answer in answers]),
            None if any(one is None for one in sure) else np.concatenate(sure),
        )

    def ask(self, question: Any, rows: Any) -> Any:
        """``question(self, rows as the model takes them)``, its failures as `InputError`."""
        with self._failures():
            return question(self, self.frame(rows))

    def _ask(self, rows: Any) -> Any:
        values = self._predict(rows)
        with self._failures():
            return self.task.answer(self.model, self.frame(rows), values)

    def _predict(self, rows: Any) -> Any:
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
    def _failures(self) -> Iterator[None]:
        """What the model raises becomes an `InputError`; its warnings about names of columns were checked before."""
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


class ObjectResponder(Responder):
    """A trained model that takes a list of objects."""

    has_gradient = False

    def __init__(self, model: Any, objects: list[Any], y: Any = None) -> None:
        self.model = check_model(model)
        self.frame = self.as_given = list
        self.task = task_of(model, self._predict(objects), y)

    def rows(self, X: Any) -> Any:
        """Objects as they are."""
        return X


class ModelPosterior(BaseEstimator):
    """Probabilities (or output) of a trained model, for ``FisherMetric(posterior=...)``; stays itself when cloned.

    Models without ``predict_proba`` get probabilities from what they have: ``softmax`` of their decision values, for a
    support vector machine of each class's smallest one-versus-one margin, else most of the mass on the label.
    """

    def __init__(self, responder: Responder) -> None:
        self.responder = responder

    @property
    def classes_(self) -> Any:
        """The labels."""
        return self.responder.task.classes

    def predict(self, X: Any) -> Any:
        """Labels or output."""
        return self.responder.task.decode(self.responder(self.responder.rows(X)).value)

    @available_if(lambda self: self.responder.task.has_classes)
    def predict_proba(self, X: Any) -> Numbers:
        """Probability of each of `classes_`."""
        return np.asarray(self.responder.ask(probabilities, self.responder.rows(X)))

    @available_if(lambda self: self.responder.has_gradient)
    def predict_log_proba_gradient(self, X: Any) -> Numbers:
        """The derivatives of the log-probabilities, (n, n_classes, n_features); a class of y alone has none."""
        X, responder = self.responder.rows(X), self.responder
        S = np.zeros((len(X), len(self.classes_), X.shape[1]))
        gradients = responder.ask(lambda own, _: log_gradients(own.model, X), X)
        S[:, responder.task.encode(responder.model.classes_)] = gradients
        return S

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


def probabilities(responder: Responder, rows: Any) -> np.ndarray:
    """Probabilities of the responder's classes on rows in the form its model takes."""
    model, task = responder.model, responder.task
    labels = np.asarray(model.predict(rows))
    P = np.zeros((len(labels), len(task.classes)))
    scores = class_scores(model, rows)
    if scores is None:
        P[:] = (1 - LABEL_PROBABILITY) / (len(task.classes) - 1)
        P[np.arange(len(labels)), task.encode(labels)] = LABEL_PROBABILITY
    else:
        P[:, task.encode(model.classes_)] = scores
    return P


def check_model(model: Any) -> Any:
    """A model must predict."""
    if not callable(getattr(model, "predict", None)):
        raise InputError(f"model must be a trained classifier or regressor with predict; got {model_name(model)}.")
    return model


def check_columns(model: Any, X: Any) -> None:
    """Refuse rows with other columns than the model was trained on."""
    refuse_other_columns(X, getattr(model, "feature_names_in_", None))
    expected = getattr(model, "n_features_in_", None)
    n_columns = np.shape(X)[1]
    if expected is not None and expected != n_columns:
        raise InputError(
            f"model {model_name(model)} was trained on {expected} columns and X has {n_columns}: pass the rows the "
            "model knows, for instance those it was trained on."
        )


def dense(X: Any) -> Numbers:
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
