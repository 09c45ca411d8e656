"""Which posterior: by name, as an object, from a model, or by out-of-fold log-loss: one, or a weighted mean of some."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone

from prismap._util.evidence import first_of_equals
from prismap._util.validation import is_fitted
from prismap.exceptions import InputError
from prismap.metrics.posteriors._base import Posterior
from prismap.metrics.posteriors._discriminant import Discriminant
from prismap.metrics.posteriors._gaussian_process import GaussianProcess
from prismap.metrics.posteriors._gradients import check_gradient
from prismap.metrics.posteriors._machine import LeastSquaresMachine
from prismap.metrics.posteriors._model import ClassModel, RealModel, SegmentModel, TangentModel
from prismap.metrics.posteriors._models import (
    check_model,
    is_model,
    model_name,
    model_words,
    on_entries,
    predicted_target,
)
from prismap.metrics.posteriors._parzen import Parzen
from prismap.metrics.posteriors._row_process import RowProcess
from prismap.metrics.posteriors._rowwise import LEAST_CHANCE, RootRows, RowPosterior, log_loss
from prismap.metrics.posteriors._several_targets import posterior_of_several
from prismap.metrics.posteriors._trees import Trees
from prismap.target import ClassTarget, RealTarget, SeveralTarget, Target

# --- a weighted mean --------------------------------------------------------------------------------------------------


def blend_weights(parts, codes, n_steps=100):
    """Weights (K,) of the smallest log-loss of ``sum_k w_k p_k``, from the out-of-fold probabilities (K, n, C).

    By expectation maximisation: each step ``w_k = mean_i w_k p_ki / sum_l w_l p_li`` (p_ki the probability of row i's
    class) lowers a loss that is convex in w (Smyth and Wolpert 1999). As if each knew one row more than all others.
    """
    chances = np.maximum([P[np.arange(len(codes)), codes] for P in parts], LEAST_CHANCE)
    weights = np.full(len(chances), 1 / len(chances))
    for _ in range(n_steps):
        shares = weights[:, None] * chances
        weights = (np.sum(shares / shares.sum(axis=0), axis=1) + 1) / (len(codes) + len(chances))
    return weights


def blended(parts, codes, least=0.05):
    """The `Blend` of some fitted posteriors, without those of less weight: one of them alone where one is left.

    codes : classes of the fitted rows, -1 where there is none.
    """
    parts = [part for one in parts for part in (one.parts if isinstance(one, Blend) else [one])]
    known = codes >= 0
    weights = blend_weights([one.fitted_probabilities[known] for one in parts], codes[known])
    kept = weights >= least
    parts, weights = [one for one, keep in zip(parts, kept, strict=True) if keep], weights[kept]
    return parts[0] if len(parts) == 1 else Blend()._take(parts, weights / weights.sum())


class Blend(RowPosterior):
    """A weighted mean of the class probabilities of fitted posteriors, which `blended` makes."""

    def _take(self, parts, weights, P=None):
        first = parts[0]
        self.parts, self.weights, self.name = parts, weights, "+".join(one.name for one in parts)
        self.rule, self.order, self.dtype = first.rule, first.order, first.dtype
        self.judged = ", ".join(dict.fromkeys(one.judged for one in parts))
        self.fitted_probabilities = self._mean([one.fitted_probabilities for one in parts]) if P is None else P
        self.rows = RootRows.of(self.fitted_probabilities, self.dtype)
        return self

    def _mean(self, parts):
        return sum(weight * P for weight, P in zip(self.weights, parts, strict=True))

    def fit(self, context):
        """A mean is made of posteriors that are fitted already."""
        raise InputError("a Blend is made of fitted posteriors, by out-of-fold log-loss: set posterior='auto'.")

    def predict(self, rows, self_similarity=None):
        """Class probabilities of new rows, or of fitted ones by their index."""
        return self._mean([one.predict(rows, self_similarity) for one in self.parts])

    def new_roots(self, rows, own=None):
        """Square roots of the class probabilities of new rows."""
        return np.sqrt(self._mean([np.square(one.new_roots(rows, own)) for one in self.parts]))

    def state(self):
        """The weights and the fitted rows' own probabilities, and the other arrays of each part under its number."""
        parts = {f"part{k}_{name}": value for k, one in enumerate(self.parts) for name, value in one.state().items()}
        own = {name: value for name, value in parts.items() if not name.endswith("_probabilities")}
        return {"blend_weights": self.weights, "probabilities": self.fitted_probabilities, **own}

    def restore(self, context, state):
        """From the arrays of `state`: the fitted rows are known to the mean alone."""
        weights, parts, P = state["blend_weights"], [], state["probabilities"]
        if weights.ndim != 1 or not len(weights) or weights.min() < 0 or not np.isclose(weights.sum(), 1):
            raise ValueError("the weights of its parts are no shares")
        for k in range(len(weights)):
            prefix = f"part{k}_"
            own = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
            parts.append(stored_kind(own)().restore(context, {**own, "probabilities": P}))
        return self._take(parts, weights, P)


def stored_kind(state):
    """The class of the posterior of the rows whose arrays these are."""
    if "blend_weights" in state:
        return Blend
    if "discriminant_slopes" in state:
        return Discriminant
    return Trees if "trees_roots" in state else LeastSquaresMachine


# --- a choice ---------------------------------------------------------------------------------------------------------


class Choice(Posterior):
    """A posterior that is another one as soon as it is fitted, so that only that one is ever asked."""

    def new(self, rows, self_similarity=None):
        """The state of new rows is that of the fitted posterior."""
        raise InputError(f"{type(self).__name__} is not fitted; fit returns the posterior to ask.")

    def block(self, A, B):
        """The pairs are those of the fitted posterior."""
        raise InputError(f"{type(self).__name__} is not fitted; fit returns the posterior to ask.")


class Best(Choice):
    """Parzen, or a `Blend` of the least-squares machine and linear discriminants, by out-of-fold log-loss.

    Where segments are to be looked into (supervision 1, tangents, more than one sub-segment) it is Parzen: the others
    do not see what lies between rows, and without a Euclidean part would merge all clusters of a class.
    """

    name = "auto"

    def fit(self, context):
        """Fit all, and return the better one with all losses."""
        tangent = context.path.startswith("tangent")
        if tangent or context.n_segments not in ("auto", 1) or context.supervision == 1:
            return Parzen().fit(context)
        support, codes = context.support, context.codes
        if len(support) < 3 and context.cross_fit:  # a pair of folds leaves kernels nothing to judge it by
            return LeastSquaresMachine().fit(context)
        fitted = [Parzen().fit(context), LeastSquaresMachine().fit(context)]
        if Discriminant.serves(context):
            fitted.append(Discriminant().fit(context))
        mean = blended(fitted[1:], codes)
        losses = {one.name: log_loss(fitted_probabilities(one)[support], codes[support]) for one in [*fitted, mean]}
        chosen = (fitted[0], mean)[first_of_equals([losses[fitted[0].name], losses[mean.name]])]
        chosen.log_losses = losses
        return chosen

    def restore(self, context, state):
        """The one whose arrays these are."""
        at_rows = {"probabilities", "blend_weights"} & set(state)
        return (stored_kind(state) if at_rows else Parzen)().restore(context, state)


class PredictedLabels(Choice):
    """A model's predictions instead of the target, for ``FisherMetric(posterior=PredictedLabels(model))``.

    They go through the usual posterior (Parzen, or a Gaussian process for a regressor), so that the metric is smooth
    and needs no evaluation per pair. An unfitted model predicts out of fold, a fitted one as it is.

    Parameters
    ----------
    model : a classifier (``predict`` is enough) or a regressor, fitted or not.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import LinearSVC
    >>> from prismap.metrics import FisherMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> FisherMetric(posterior=PredictedLabels(LinearSVC()), random_state=0).fit(X, y).pairwise().shape
    (150, 150)
    """

    targets = (ClassTarget, RealTarget)

    def __init__(self, model):
        self.model = model

    def most_support(self, target):
        """As many as the posterior that the predictions go through."""
        return along_segments(target).most_support(target)

    def fit(self, context):
        """The usual posterior of what the model predicts."""
        predicted, folded = predicted_target(context, on_entries(self.model, context.data))
        fitted = along_segments(context.target).fit(replace(context, target=context.target.with_values(predicted)))
        fitted.judged = f"on what {model_name(self.model)} predicts ({model_words(context, folded)})"
        return fitted


#: Posteriors by the kind of target and their name.
POSTERIORS: dict[type[Target], dict[str, type[Posterior]]] = {
    ClassTarget: {"auto": Best, "parzen": Parzen, "lssvm": LeastSquaresMachine, "trees": Trees},
    RealTarget: {"auto": RowProcess, "gp": GaussianProcess},
}


def along_segments(target):
    """The usual posterior of a target along whole segments, unfitted."""
    return GaussianProcess() if isinstance(target, RealTarget) else Parzen()


def posterior_of(given, target, *, n_segments, path, data, supervision=1.0):
    """The unfitted posterior that a user asks for by name, by an object or by a model.

    Of a real target "auto" is known at the rows, unless segments are to be looked into, as with `Best`.
    """
    if isinstance(target, SeveralTarget):
        return posterior_of_several(given)
    real = isinstance(target, RealTarget)
    along = path.startswith("tangent") or n_segments not in ("auto", 1) or supervision == 1
    if isinstance(given, str) and given == "auto" and real and along:
        given = "gp"
    if isinstance(given, str) or (isinstance(given, Posterior) and not isinstance(target, given.targets)):
        named = POSTERIORS[type(target)]
        if isinstance(given, str) and given in named:
            return named[given]()
        wrong, way = ("classes", "target='class'") if real else ("a real target", "target='real'")
        actual = "y is a real target" if real else "y holds classes"
        names = " or ".join(repr(name) for name in named)
        raise InputError(f"posterior={given!r} is for {wrong} and {actual}; use {names}, or set {way}.")
    if not is_model(given):
        return clone(given) if not hasattr(given, "model") else given
    check_model(given, classes=not real)
    given = on_entries(given, data)
    if path.startswith("tangent"):
        if real:
            raise InputError("a regressor as posterior has no tangent form: path must be 'chord' or 'graph'.")
        check_gradient(given, f"path={path!r}")
        return TangentModel(given)
    if n_segments not in ("auto", 1):
        if data.is_matrix:
            raise InputError(
                f"between rows that are no vectors there are no points to ask {model_name(given)} about: n_segments "
                f"must be 1 or 'auto'; got {n_segments!r}."
            )
        return SegmentModel(given)
    return RealModel(given) if real else ClassModel(given)


def is_cross_fitted(posterior):
    """Whether rows can be judged by others only: a model that is fitted already has seen what it has seen."""
    model = getattr(posterior, "model", None)
    return model is None or isinstance(posterior, PredictedLabels) or not is_fitted(model)


def fitted_probabilities(posterior):
    """Class probabilities of the fitted rows, in their order."""
    P = posterior.probabilities(posterior.rows)
    out = P.copy()
    out[posterior.order] = P
    return out
