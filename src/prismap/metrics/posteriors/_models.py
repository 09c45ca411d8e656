"""Models that a user trained, or wants trained, as what is known about the target: folds, columns, classes, answers.

An unfitted model is cloned and fitted in folds. With one sub-segment a row is judged by the clone that never saw its
fold; with more, a pair is judged all along by the clone that saw neither row's fold. A fitted model is used as it is,
which is in-sample if it saw the rows. `prismap.metrics.posteriors._model` measures segments with them.

Of similarities, dissimilarities and objects (Schulz et al. 2017, sec. 6), a machine with a kernel of its own
(``SVC(kernel="precomputed")``, ``KNeighborsClassifier(metric="precomputed")``) is fitted to the entries between the
rows that it may see, and is asked with entries against these. Any other model takes objects as they are (a pipeline
that compares them, a Gaussian process with a kernel of objects), or a row of a matrix by its entries against all fitted
rows, as a vector (Pekalska & Duin 2005, chapter 4). Entries know nothing of the target, so a fold that was left out is
predicted out of fold either way.
"""

from __future__ import annotations

import inspect
from itertools import combinations_with_replacement

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from prismap._util.validation import changed, is_fitted
from prismap.exceptions import InputError
from prismap.metrics._geometry import EntryRows
from prismap.metrics.posteriors._base import Posterior
from prismap.metrics.posteriors._gradients import as_doubles, has_gradient, log_gradients
from prismap.target import RealTarget

# --- answers ----------------------------------------------------------------------------------------------------------


def aligned_probabilities(model, X, classes):
    """The model's probabilities in the order of `classes`; a class it does not know gets none."""
    answer = np.asarray(ask(model, "predict_proba", X), dtype=np.float64)
    known = [str(name) for name in model.classes_]
    P = np.zeros((len(answer), len(classes)))
    for k, name in enumerate(classes):
        if str(name) in known:
            P[:, k] = answer[:, known.index(str(name))]
    total = P.sum(axis=1, keepdims=True)
    if not total.all():
        raise InputError(
            f"the classifier {model_name(model)} knows the classes {known[:8]} and gives some rows to none of y's "
            f"classes {[str(name) for name in classes[:8]]}: it was fitted on another target."
        )
    return P / total


def aligned_gradients(model, X, classes):
    """Probabilities (n, C) in the order of `classes`, and their ``grad log p(c|x)`` (n, C, D); classes the model does
    not know have neither.
    """
    P, gradients = aligned_probabilities(model, X, classes), ask_gradients(model, X)
    S = np.zeros((*P.shape, X.shape[1]))
    known = [str(name) for name in model.classes_]
    for k, name in enumerate(classes):
        if str(name) in known:
            S[:, k] = gradients[:, known.index(str(name))]
    if len(known) > len(classes):  # the classes of y share all the mass: log p' = log p - log sum p
        S -= np.einsum("nc,ncd->nd", P, S)[:, None]
    return P, S


def ask_gradients(model, X):
    """A model's derivatives, which must have a row for every class and a column for every feature."""
    S = log_gradients(model, as_doubles(X))
    wanted = (len(X), len(model.classes_), X.shape[1])
    if S.shape != wanted or not np.isfinite(S).all():
        wrong = f"the shape {S.shape} for {wanted}" if S.shape != wanted else "values that are not finite"
        raise InputError(f"predict_log_proba_gradient of {model_name(model)} gave {wrong}.")
    return S


def predicted_moments(model, X):
    """Means (n, targets) and standard deviations of the same shape, or None if the model states none."""
    deviation = None
    if states_deviation(model):
        mean, deviation = ask(model, "predict", X, return_std=True)
        mean, deviation = np.asarray(mean, dtype=np.float64), np.asarray(deviation, dtype=np.float64)
        deviation = np.broadcast_to(deviation.reshape(len(mean), -1), mean.reshape(len(mean), -1).shape)
    else:
        mean = np.asarray(ask(model, "predict", X), dtype=np.float64)
    return mean.reshape(len(mean), -1), deviation


def states_deviation(model):
    """Whether ``predict`` knows ``return_std``."""
    predict = getattr(getattr(model, "model", model), "predict", None)
    return predict is not None and "return_std" in inspect.signature(predict).parameters


def ask(model, method, X, **options):
    """A model's answer; if it fails, an error that names the model."""
    try:
        return getattr(model, method)(X, **options)
    except (ValueError, TypeError) as error:
        wanted = getattr(model, "n_features_in_", None)
        other = ""
        if wanted and wanted != X.shape[1]:
            other = f" It was trained on {wanted} columns and asked about {X.shape[1]}."
        raise InputError(f"the model {model_name(model)} refused these rows: {error}{other}") from error


# --- models and folds -------------------------------------------------------------------------------------------------


def model_name(model):
    """The model's kind as a reader calls it: without the wrappings, of a pipeline the last step."""
    while True:
        if isinstance(getattr(model, "model", None), BaseEstimator):
            model = model.model
        elif hasattr(model, "steps"):
            model = model.steps[-1][1]
        else:
            return type(model).__name__


def check_model(model, *, classes):
    """Refuse a model that lacks what is needed of it."""
    if classes and not hasattr(model, "predict_proba"):
        raise InputError(
            f"posterior={model!r} must be a classifier with predict_proba. Wrap one without probabilities in "
            "sklearn.calibration.CalibratedClassifierCV, or use PredictedLabels."
        )
    if not classes and (not hasattr(model, "predict") or hasattr(model, "predict_proba")):
        raise InputError(f"posterior={model!r} must be a regressor with predict: y is a real target.")


class BoundModel(BaseEstimator):
    """A model that was trained on named columns, asked with arrays.

    Parameters
    ----------
    model : classifier or regressor, fitted or not; a fitted one stays itself when cloned.
    columns : names that the rows are given to the model with; None for plain arrays.
    """

    def __init__(self, model, *, columns=None):
        self.model = model
        self.columns = columns

    def fit(self, X, y):
        """Fit a clone of the model."""
        self.model = clone(self.model).fit(self._rows(X), y)
        return self

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X):
        """The model's probabilities."""
        return self.model.predict_proba(self._rows(X))

    @available_if(lambda self: has_gradient(self.model))
    def predict_log_proba_gradient(self, X):
        """The derivatives of the model's log-probabilities."""
        return log_gradients(self.model, X)

    @available_if(lambda self: hasattr(self.model, "predict"))
    def predict(self, X, **options):
        """The model's predictions."""
        return self.model.predict(self._rows(X), **options)

    @property
    def classes_(self):
        """The model's classes."""
        return self.model.classes_

    def _rows(self, X):
        names = getattr(self.model, "feature_names_in_", self.columns)
        if self.columns is None or list(names) != list(self.columns):
            return X if self.columns is None or not is_fitted(self.model) else self._refuse(names)
        try:
            import pandas as pd
        except ImportError:
            return X
        return pd.DataFrame(X, columns=list(self.columns))

    def _refuse(self, names):
        other = [str(name) for name in names if name not in set(self.columns)][:8] or "the same in another order"
        raise InputError(
            f"the model {model_name(self)} was trained on other columns than these: it wants {other}, and X has "
            f"{[str(name) for name in self.columns[:8]]}."
        )

    def __repr__(self, N_CHAR_MAX=700):
        return repr(self.model)

    def __sklearn_is_fitted__(self):
        return is_fitted(self.model)

    def __sklearn_clone__(self):
        return self if is_fitted(self.model) else BoundModel(clone(self.model), columns=self.columns)


def bind_model(posterior, columns):
    """What a user gave as posterior, with its model bound to the columns; names stay names."""
    if isinstance(posterior, Posterior) and hasattr(posterior, "model"):
        return changed(posterior, model=bind_model(posterior.model, columns))
    return BoundModel(posterior, columns=columns) if is_model(posterior) else posterior


def is_model(posterior):
    """Whether a posterior is a trained or trainable model, and not a name or one of our own."""
    return not isinstance(posterior, (str, Posterior))


class FoldedModel:
    """A fitted model, or clones of an unfitted one by the folds they never saw.

    Parameters
    ----------
    model : fitted or not.
    X, y : rows and their targets as the model takes them.
    folds : fold of each row, -1 for none; rows without a target are not in `known`.
    known : indices of the rows with a target.
    pairs : whether clones for pairs of folds are wanted.
    """

    def __init__(self, model, X, y, folds, known, *, pairs):
        self.fitted_before = is_fitted(model)
        self._clones = {}
        self.whole = model if self.fitted_before else clone(model).fit(X[known], y)
        n_folds = 0 if self.fitted_before else int(folds.max()) + 1
        kinds = combinations_with_replacement(range(n_folds), 2) if pairs else ((k, k) for k in range(n_folds))
        for one, two in kinds:
            kept = (folds[known] != one) & (folds[known] != two)
            self._clones[one, two] = clone(model).fit(X[known[kept]], y[kept])

    def without(self, one, two):
        """The clone that saw neither of two folds."""
        one, two = sorted((int(one), int(two)))
        if one == -1:
            one = two
        return self._clones.get((one, two), self.whole)

    def each_row(self, read, X, folds):
        """``read(model, rows)`` of every row by the clone that never saw its fold."""
        parts = {fold: np.flatnonzero(folds == fold) for fold in np.unique(folds)}
        answers = {fold: read(self.without(fold, fold), X[rows]) for fold, rows in parts.items()}
        out = np.empty((len(folds), *next(iter(answers.values())).shape[1:]))
        for fold, rows in parts.items():
            out[rows] = answers[fold]
        return out


def fold_model(context, model, *, pairs=False):
    """The `FoldedModel` of a context's rows."""
    known = context.support
    if isinstance(context.target, RealTarget):
        y = context.numbers[known]
        y = y[:, 0] if y.shape[1] == 1 else y
    else:
        y = context.target.classes[context.codes[known]]
    return FoldedModel(model, context.data.raw(), y, context.folds, known, pairs=pairs)


def predicted_target(context, model):
    """The target that a model predicts for every row, out of fold if it was not fitted, and the `FoldedModel`."""
    real = isinstance(context.target, RealTarget)
    if real:
        check_model(model, classes=False)
    if not hasattr(model, "predict"):
        raise InputError(f"PredictedLabels({model!r}) needs a model with predict.")
    folded = fold_model(context, model)
    X, folds = context.data.raw(), context.folds
    if real:
        return folded.each_row(lambda one, rows: predicted_moments(one, rows)[0], X, folds), folded
    names = [str(name) for name in context.target.classes]

    def codes(one, rows):
        labels = [str(label) for label in ask(one, "predict", rows)]
        unknown = sorted(set(labels) - set(names))
        if unknown:
            raise InputError(
                f"the model {model_name(model)} predicts {unknown[:8]}, which are none of y's classes {names[:8]}: it "
                "was fitted on another target."
            )
        return np.array([names.index(label) for label in labels])

    return folded.each_row(codes, X, folds).astype(np.intp), folded


def model_words(context, folded):
    """How a model judged the fitted rows."""
    return "in-sample, by a model that was fitted before" if folded.fitted_before else context.judged


# --- rows that are no vectors -----------------------------------------------------------------------------------------


class EntryModel(BaseEstimator):
    """A model asked about rows that are no vectors.

    Parameters
    ----------
    model : classifier or regressor, fitted or not; a fitted one stays itself when cloned, and a machine of entries must
        have been fitted to the very rows of the map.
    data : the fitted metric of the data's own distances.
    """

    def __init__(self, model, data):
        self.model = model
        self.data = data
        self.columns_ = np.arange(data.n_rows_)
        wanted = getattr(innermost(model), "n_features_in_", data.n_rows_)
        if is_fitted(model) and takes_entries(model) and wanted != data.n_rows_:
            raise InputError(
                f"the model {model_name(model)} was trained on entries against {wanted} rows and the map has "
                f"{data.n_rows_} fitted rows: give it unfitted, or make the map of the rows it was trained on."
            )

    def fit(self, X, y):
        """Fit a clone of the model to some of the fitted rows."""
        self.columns_ = X.index
        self.model = clone(self.model).fit(self._given(X), y)
        return self

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X):
        """The model's probabilities."""
        return self.model.predict_proba(self._given(X))

    @available_if(lambda self: hasattr(self.model, "predict"))
    def predict(self, X, **options):
        """The model's predictions."""
        return self.model.predict(self._given(X), **options)

    @property
    def classes_(self):
        """The model's classes."""
        return self.model.classes_

    def _given(self, X):
        rows = X if isinstance(X, EntryRows) else EntryRows(self.data, new=X)
        return rows.against(self.columns_) if takes_entries(self.model) else rows.things()

    def __repr__(self, N_CHAR_MAX=700):
        return repr(self.model)

    def __sklearn_is_fitted__(self):
        return is_fitted(self.model)

    def __sklearn_clone__(self):
        return self if is_fitted(self.model) else EntryModel(clone(self.model), self.data)


def on_entries(model, data):
    """The model as it is asked about this data; of vectors it is itself."""
    if not data.is_matrix or isinstance(model, EntryModel):
        return model
    if isinstance(model, BoundModel):  # names of columns are names of rows here, and each fold has others
        model = BoundModel(model.model)
    return EntryModel(model, data)


def innermost(model):
    """The user's own model."""
    return innermost(model.model) if isinstance(model, (BoundModel, EntryModel)) else model


def takes_entries(model):
    """Whether a model or a map takes entries of a matrix in the place of rows, as scikit-learn's tags say.

    Not all estimators around others pass the tag on (``CalibratedClassifierCV`` does not), so the inner one counts.
    """
    model = innermost(model)
    own = hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.pairwise)
    return own or (hasattr(model, "estimator") and takes_entries(model.estimator))
