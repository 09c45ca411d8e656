"""Objects as the matrix of their values, for machines with a kernel or distance of their own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from prismap._util.arrays import Numbers
from prismap.comparisons._objects import Objects
from prismap.exceptions import InputError

KERNELS = ("values", "gaussian")


class ComparisonMatrix(TransformerMixin, BaseEstimator):
    """Objects by their values against the fitted ones: the first step of a pipeline that ends in a kernel machine.

    Parameters
    ----------
    how : `prismap.comparisons.Objects` or str
        How two objects are compared, or the name of a comparison.
    kernel : {"values", "gaussian"}, default="values"
        Values as they are, or ``exp(-gamma d^2)`` of dissimilarities d.
    gamma : float or None, default=None
        None is the inverse of the median of d^2 between the fitted objects that differ.

    Attributes
    ----------
    objects_ : the fitted objects.
    evaluator_ : `prismap.comparisons.Evaluator`, which counts the values computed.
    gamma_ : the gamma taken; None for values as they are.

    See Also
    --------
    prismap.inspection.ModelView : the picture of a model behind this step.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> words, kind = ["house", "houses", "housing", "winter", "winters", "wintry"], ["place"] * 3 + ["season"] * 3
    >>> model = make_pipeline(ComparisonMatrix("edit", kernel="gaussian"), SVC(kernel="precomputed"))
    >>> model.fit(words, kind).predict(["housed", "wintery"]).tolist()
    ['place', 'season']
    """

    def __init__(self, how: Any, kernel: str = "values", gamma: float | None = None) -> None:
        self.how = how
        self.kernel = kernel
        self.gamma = gamma

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the objects; without a kernel nothing is compared yet."""
        how = self.how if isinstance(self.how, Objects) else Objects(self.how)
        if self.kernel not in KERNELS:
            raise InputError(f"kernel must be 'values' or 'gaussian'; got {self.kernel!r}.")
        if self.kernel == "gaussian" and how.kind != "dissimilarity":
            raise InputError("kernel='gaussian' is of dissimilarities; a similarity is a kernel as it is.")
        self.objects_ = list(X)
        self.evaluator_ = how.over(self.objects_)
        self.gamma_ = None
        if self.kernel == "gaussian":
            self.gamma_ = self.gamma if self.gamma is not None else usual_gamma(self.evaluator_.block())
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Numbers:
        """The matrix between the objects."""
        return self._kernel(self.fit(X, y).evaluator_.block())

    def transform(self, X: Any) -> Numbers:
        """Values of objects against the fitted ones, (n, n_fitted)."""
        check_is_fitted(self)
        return self._kernel(self.evaluator_.new(X))

    def _kernel(self, values: Numbers) -> Numbers:
        return values if self.gamma_ is None else np.exp(-self.gamma_ * values**2)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        return tags


def usual_gamma(D: Numbers) -> float:
    """The inverse of the median squared dissimilarity between objects that differ; 1 where none do."""
    apart = D[D > 0]
    return 1 / float(np.median(apart**2)) if len(apart) else 1.0
