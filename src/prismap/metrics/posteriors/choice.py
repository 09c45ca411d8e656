"""Which posterior: by name, as an object, from a model, or by out-of-fold log-loss."""

from __future__ import annotations

from dataclasses import replace

from sklearn.base import clone

from prismap._validation import is_fitted
from prismap.exceptions import InputError
from prismap.metrics.posteriors.base import Posterior
from prismap.metrics.posteriors.entry_model import on_entries
from prismap.metrics.posteriors.gradients import check_gradient
from prismap.metrics.posteriors.lssvm import log_loss
from prismap.metrics.posteriors.machine import LeastSquaresMachine
from prismap.metrics.posteriors.model import ClassModel, RealModel
from prismap.metrics.posteriors.model_segments import SegmentModel
from prismap.metrics.posteriors.model_tangents import TangentModel
from prismap.metrics.posteriors.models import check_model, is_model, model_name, model_words, predicted_target
from prismap.metrics.posteriors.parzen import Parzen
from prismap.metrics.posteriors.process import GaussianProcess
from prismap.metrics.posteriors.row_process import RowProcess
from prismap.metrics.posteriors.trees import Trees


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
        support, codes = context.support, context.values
        if len(support) < 3 and context.cross_fit:  # a pair of folds leaves kernels nothing to judge it by
            return LeastSquaresMachine().fit(context)
        machine, parzen = LeastSquaresMachine().fit(context), Parzen().fit(context)
        losses = {one.name: log_loss(fitted_probabilities(one)[support], codes[support]) for one in (parzen, machine)}
        chosen = machine if losses["lssvm"] < losses["parzen"] else parzen
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

    targets = ("class", "real")

    def __init__(self, model):
        self.model = model

    def most_support(self, n_rows, target):
        """As many as the posterior that the predictions go through."""
        return (GaussianProcess() if target == "real" else Parzen()).most_support(n_rows, target)

    def fit(self, context):
        """The usual posterior of what the model predicts."""
        predicted, folded = predicted_target(context, on_entries(self.model, context.data))
        posterior = GaussianProcess() if context.target == "real" else Parzen()
        fitted = posterior.fit(replace(context, values=predicted))
        fitted.judged = f"on what {model_name(self.model)} predicts ({model_words(context, folded)})"
        return fitted


#: Posteriors by the kind of target and their name.
POSTERIORS: dict[str, dict[str, type[Posterior]]] = {
    "class": {"auto": Best, "parzen": Parzen, "lssvm": LeastSquaresMachine, "trees": Trees},
    "real": {"auto": RowProcess, "gp": GaussianProcess},
}


def posterior_of(given, target, *, n_segments, path, data, supervision=1.0):
    """The unfitted posterior that a user asks for by name, by an object or by a model.

    Of a real target "auto" is known at the rows, unless segments are to be looked into, as with `Best`.
    """
    along = path.startswith("tangent") or n_segments not in ("auto", 1) or supervision == 1
    if isinstance(given, str) and given == "auto" and target == "real" and along:
        given = "gp"
    if isinstance(given, str) or (isinstance(given, Posterior) and target not in given.targets):
        if isinstance(given, str) and given in POSTERIORS[target]:
            return POSTERIORS[target][given]()
        wrong, way = ("classes", "target='class'") if target == "real" else ("a real target", "target='real'")
        found = "y is a real target" if target == "real" else "y holds classes"
        names = " or ".join(repr(name) for name in POSTERIORS[target])
        raise InputError(f"posterior={given!r} is for {wrong} and {found}; use {names}, or set {way}.")
    if not is_model(given):
        return clone(given) if not hasattr(given, "model") else given
    check_model(given, classes=target == "class")
    given = on_entries(given, data)
    if path.startswith("tangent"):
        if target == "real":
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
    return ClassModel(given) if target == "class" else RealModel(given)


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
