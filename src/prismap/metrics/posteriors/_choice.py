"""Which posterior: by name, as an object, from a model, or by out-of-fold log-loss."""

from __future__ import annotations

from dataclasses import replace

from sklearn.base import clone

from prismap._util.evidence import first_of_equals
from prismap._util.validation import is_fitted
from prismap.exceptions import InputError
from prismap.metrics.posteriors._base import Posterior
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
from prismap.metrics.posteriors._rowwise import log_loss
from prismap.metrics.posteriors._several_targets import posterior_of_several
from prismap.metrics.posteriors._trees import Trees
from prismap.target import ClassTarget, RealTarget, SeveralTarget, Target


class Choice(Posterior):
    """A posterior that is another one as soon as it is fitted, so that only that one is ever asked."""

    def new(self, rows, self_similarity=None):
        """The state of new rows is that of the fitted posterior."""
        raise InputError(f"{type(self).__name__} is not fitted; fit returns the posterior to ask.")

    def block(self, A, B):
        """The pairs are those of the fitted posterior."""
        raise InputError(f"{type(self).__name__} is not fitted; fit returns the posterior to ask.")


class Best(Choice):
    """Parzen or the least-squares machine, by out-of-fold log-loss.

    Where segments are to be looked into (supervision 1, tangents, more than one sub-segment) it is Parzen: the machine
    does not see what lies between rows, and without a Euclidean part would merge all clusters of a class.
    """

    name = "auto"

    def fit(self, context):
        """Fit both, and return the better one with both losses."""
        tangent = context.path.startswith("tangent")
        if tangent or context.n_segments not in ("auto", 1) or context.supervision == 1:
            return Parzen().fit(context)
        support, codes = context.support, context.codes
        if len(support) < 3 and context.cross_fit:  # a pair of folds leaves kernels nothing to judge it by
            return LeastSquaresMachine().fit(context)
        machine, parzen = LeastSquaresMachine().fit(context), Parzen().fit(context)
        both = parzen, machine
        losses = {one.name: log_loss(fitted_probabilities(one)[support], codes[support]) for one in both}
        chosen = both[first_of_equals([losses[one.name] for one in both])]
        chosen.log_losses = losses
        return chosen

    def restore(self, context, state):
        """The one whose arrays these are."""
        if "trees_roots" in state:  # chosen by evidence, in the place of the two
            return Trees().restore(context, state)
        return (LeastSquaresMachine() if "probabilities" in state else Parzen()).restore(context, state)


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
