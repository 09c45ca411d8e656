"""Models of similarities, dissimilarities and objects as what is known about the target (000 section 6).

A machine with a kernel of its own (``SVC(kernel="precomputed")``, ``KNeighborsClassifier(metric="precomputed")``) is
fitted to the entries between the rows that it may see, and is asked with entries against these. Any other model takes
objects as they are (a pipeline that compares them, a Gaussian process with a kernel of objects), or a row of a matrix
by its entries against all fitted rows, as a vector (Pekalska & Duin 2005, chapter 4). Entries tell nothing of the
target, so a fold that was left out is judged honestly either way.
"""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from prismap._validation import is_fitted
from prismap.exceptions import InputError
from prismap.metrics.entries import EntryRows
from prismap.metrics.posteriors.models import BoundModel, model_name


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

    Not all estimators around others pass the tag on (``CalibratedClassifierCV`` does not): the inner one tells.
    """
    model = innermost(model)
    own = hasattr(model, "__sklearn_tags__") and bool(get_tags(model).input_tags.pairwise)
    return own or (hasattr(model, "estimator") and takes_entries(model.estimator))
