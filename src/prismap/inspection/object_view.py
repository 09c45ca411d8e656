"""Views of models of objects: behind each place of the map stands one of the objects, and the model is asked about it.

The objects are compared by the map; the model takes a list of them, as a pipeline behind `ComparisonMatrix` does, or a
Gaussian process with a kernel of objects. `prismap.inspection.pre_images` says which object stands behind a place.
"""

from __future__ import annotations

import warnings
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from prismap._validation import check_target_length, is_fitted
from prismap.comparisons.matrix import ComparisonMatrix
from prismap.comparisons.objects import Objects
from prismap.exceptions import InputError, PrismapWarning
from prismap.inspection.exemplars import Exemplars
from prismap.inspection.held_out import judge_view
from prismap.inspection.model_posterior import probabilities
from prismap.inspection.pre_images import PreImages, among
from prismap.inspection.responses import Answer, Responder, classes_of, kind_of
from prismap.inspection.surface import frozen, make_grid, region_codes
from prismap.map import PrisMap
from prismap.metrics import FisherMetric
from prismap.metrics.geometry import data_metric
from prismap.metrics.objects import ObjectRows, as_rows
from prismap.metrics.posteriors.models import model_name
from prismap.metrics.target import real_values

FEWEST_OBJECTS = 10


class ObjectResponder(Responder):
    """A trained model that takes a list of objects."""

    def __init__(self, model: Any, objects: list[Any], y: Any = None):
        if not callable(getattr(model, "predict", None)):
            raise InputError(f"model must be a trained classifier or regressor with predict; got {model_name(model)}.")
        self.model, self.frame, self.as_given = model, list, list
        predicted = self._predict(objects)
        self.kind = kind_of(model, predicted, y)
        self.classes = classes_of(model, predicted, y) if self.kind == "class" else np.empty(0)


class ObjectPosterior(BaseEstimator):
    """A trained model of objects as what the map knows about the target; it stays itself when cloned."""

    def __init__(self, responder: ObjectResponder):
        self.responder = responder

    @property
    def classes_(self):
        """The labels."""
        return self.responder.classes

    def predict(self, X):
        """Labels or output."""
        value = self.responder(X).value
        return value if self.responder.kind == "real" else self.responder.classes[value]

    @available_if(lambda self: self.responder.kind == "class")
    def predict_proba(self, X):
        """Probability of each of `classes_`."""
        return self.responder.ask(probabilities, X)

    def __sklearn_clone__(self):
        return self

    def __sklearn_is_fitted__(self):
        return True


class KnownAnswers:
    """What the model says of the objects, by their numbers: each is asked about once."""

    def __init__(self, answer: Answer, kind: str):
        self.answer, self.kind = answer, kind

    def __call__(self, numbers: np.ndarray) -> Answer:
        sure = self.answer.certainty
        return Answer(self.answer.value[numbers], None if sure is None else sure[numbers])


def is_of_objects(model: Any, plane: Any) -> bool:
    """Whether a view is one of objects: the map compares them, or the model does and there is no map."""
    if isinstance(plane, PrisMap):
        return data_metric(plane.data).kind == "objects"
    return plane is None and comparing_step(model) is not None


def comparing_step(model: Any) -> ComparisonMatrix | None:
    """The step of a pipeline, also inside a search, that compares objects."""
    model = getattr(model, "best_estimator_", model)
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    return first if isinstance(first, ComparisonMatrix) else None


def view_of_objects(
    cls: Any, model: Any, X: Any, y: Any, *, map: Any, supervision_from: str, grid_resolution: int
) -> Any:
    """`ModelView.from_estimator` of objects."""
    from prismap.inspection.model_view import of_kind, supervision_target

    rows = as_rows(X, least=FEWEST_OBJECTS)
    truth = None if y is None else check_target_length(y, len(rows))
    responder = ObjectResponder(model, rows.tolist(), truth)
    if responder.kind == "real" and truth is not None:
        truth = real_values(truth)
    answer = responder(rows.tolist())
    target = supervision_target(responder, answer.value, truth, supervision_from)
    recipe = default_map(model, len(rows)) if map is None else map
    if not is_fitted(recipe):
        recipe = of_kind(recipe, responder.kind)
        if supervision_from == "model" and recipe.metric == "fisher":
            recipe = clone(recipe).set_params(metric=FisherMetric(posterior=ObjectPosterior(responder)))
    start = perf_counter()
    fitted = recipe if is_fitted(recipe) else clone(recipe).fit(rows, target)
    rows = known_rows(fitted, rows)
    positions = np.asarray(fitted.transform(rows), dtype=np.float64)
    after_map = perf_counter()
    pre_images = pre_images_of(fitted, rows, positions)
    known = KnownAnswers(answer, responder.kind)
    shown = known(pre_images(positions)).value
    after_inverse = perf_counter()
    grid = make_grid(pre_images, known, positions, grid_resolution)
    times = {"map": after_map - start, "inverse": after_inverse - after_map, "model": perf_counter() - after_inverse}
    codes = truth if truth is None or responder.kind == "real" else responder.encode(truth)
    return cls(
        responder.kind, frozen(responder.classes), frozen(positions), frozen(codes), frozen(answer.value),
        frozen(answer.certainty), frozen(shown), grid, frozen(region_codes(grid, positions)),
        support_objects(fitted, responder), model_name(model), times, fitted,
        partial(held_out_objects, recipe, responder, rows, target, answer), pre_images,
    )  # fmt: skip


def default_map(model: Any, n_objects: int) -> PrisMap:
    """A map by the model's own comparison."""
    step: Any = comparing_step(model)
    how = step.how if isinstance(step.how, Objects) else Objects(step.how)
    return PrisMap(data=how, perplexity=min(30, max(1, (n_objects - 1) // 3)), random_state=0)


def known_rows(fitted: PrisMap, rows: ObjectRows) -> ObjectRows:
    """The objects as the map knows them, if it was fitted to just these: no pair is then compared again."""
    own = fitted.fitted_rows()
    same = len(own) == len(rows) and all(a is b for a, b in zip(own.objects, rows.objects, strict=True))
    return own if same else rows


def pre_images_of(fitted: PrisMap, rows: ObjectRows, positions: np.ndarray) -> PreImages:
    """What stands behind places: one of the rows.

    Values between rows that the map was fitted to are known. Others are compared no further, and neither are those of
    a large map: there the nearest on the map stands behind a place.
    """
    if rows is not fitted.fitted_rows() or fitted.parts_.is_large:
        return PreImages(positions)
    return PreImages(positions, partial(among, fitted.parts_.data.pairwise() ** 2))


def support_objects(fitted: PrisMap, responder: Responder) -> Exemplars | None:
    """The objects that a machine behind a comparison stands on, placed on the map."""
    step = comparing_step(responder.model)
    if step is None:
        return None
    machine = getattr(responder.model, "best_estimator_", responder.model)[-1]
    support = getattr(machine, "support_", None)
    if support is None or not len(support):
        return None
    positions = fitted.transform([step.objects_[k] for k in support])
    codes = responder.encode(np.repeat(machine.classes_, machine.n_support_)) if hasattr(machine, "classes_") else None
    return Exemplars("support vector", frozen(positions), frozen(codes))


def held_out_objects(recipe, responder, rows, target, said, view, *, n_folds, seed):
    """The fidelity of a view on objects that trained no map; values that are known are not computed again."""
    n_folds = min(n_folds, len(rows))
    by_class = responder.kind == "class" and np.bincount(said.value).max() >= n_folds
    cut = (StratifiedKFold if by_class else KFold)(n_folds, shuffle=True, random_state=seed)
    behind, folds = np.empty(len(rows), dtype=np.intp), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # said of the map of all objects already
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        for train, test in cut.split(np.zeros((len(rows), 1)), said.value if by_class else None):
            fitted = clone(recipe).fit(rows[train], None if target is None else target[train])
            inside = fitted.fitted_rows()
            own = train[fitted.fit_rows_]
            behind[test] = own[pre_images_of(fitted, inside, fitted.embedding_)(fitted.transform(rows[test]))]
            folds.append(test)
    shown = KnownAnswers(said, responder.kind)(behind)
    return judge_view(view, shown, off=off_surface(view.map, rows, behind), folds=folds)


def off_surface(fitted, rows, behind):
    """Root mean squared distance of objects to those behind their places, relative to their spread about their mean.

    The spread needs no mean: ``sum_i d^2(x_i, m) = sum_ij d^2(x_i, x_j) / 2n``.
    """
    if rows is not fitted.fitted_rows() or fitted.parts_.is_large:
        return float("nan")
    D2 = fitted.parts_.data.pairwise() ** 2
    spread = D2.sum() / (2 * len(D2))
    return float(np.sqrt(D2[np.arange(len(D2)), behind].sum() / spread)) if spread > 0 else 0.0
