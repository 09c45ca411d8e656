"""`ModelView`: what a trained classifier or regressor does, seen on a map of its data (thesis chapter 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import takewhile
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from prismap._brief import Brief
from prismap._validation import check_rows, check_target_length, is_fitted
from prismap.exceptions import InputError
from prismap.inspection.exemplars import Exemplars, exemplars_of
from prismap.inspection.held_out import cross_validate, judge_view, off_surface, shown_wrongly
from prismap.inspection.model_posterior import ModelPosterior
from prismap.inspection.object_view import is_of_objects, view_of_objects
from prismap.inspection.pre_images import PreImages, among, among_vectors, squared_of_matrix
from prismap.inspection.responses import Responder, dense
from prismap.inspection.surface import Grid, frozen, inverse_of, make_grid, positions_of, region_codes
from prismap.map import PrisMap
from prismap.mappings import InverseMap
from prismap.metrics import FisherMetric
from prismap.metrics.geometry import data_metric
from prismap.metrics.posteriors.models import model_name, takes_entries
from prismap.metrics.target import real_values
from prismap.quality.fidelity import HeldOutFidelity

N_FOLDS = 5
FEWEST_ROWS = 10


@dataclass(frozen=True, eq=False, repr=False)
class ModelView(Brief):
    """A picture of a model: its answers on a grid of the plane, and the rows, as read-only arrays.

    A map places the rows, an inverse map finds the row that belongs to each place of a grid, and the model is asked
    there. The rows behind a plane form a surface: the picture shows where that surface cuts the model, not what the
    model does elsewhere. `fidelity_` says how well that works, on rows that trained neither map.

    Parameters
    ----------
    kind : "class" or "real".
    classes : labels; codes below count them.
    positions : (n, 2), the rows on the map.
    truth : codes (-1: unknown) or values (NaN: unknown) of the target, None without one.
    said, said_certainty : what the model says of the rows; certainty is None for regressors and mere labellers.
    shown : what the picture shows at the rows' places.
    grid : the picture.
    regions : the region of the picture each row lies in, -1 outside the larger ones.
    exemplars : prototypes or support vectors on the map, or None.
    times : seconds by stage: map, inverse, model.
    map : the fitted map.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> view = ModelView.from_estimator(SVC().fit(X, y), X, y, grid_resolution=50)
    >>> view.grid.value.shape, bool(view.misshown.mean() < 0.1)
    ((50, 50), True)
    """

    kind: str
    classes: np.ndarray
    positions: np.ndarray
    truth: np.ndarray | None
    said: np.ndarray
    said_certainty: np.ndarray | None
    shown: np.ndarray
    grid: Grid
    regions: np.ndarray
    exemplars: Exemplars | None
    model_name: str
    times: Mapping[str, float]
    map: Any = field(repr=False)
    _fidelity: Callable[..., HeldOutFidelity] = field(repr=False)
    _pre_images: Callable[[np.ndarray], np.ndarray] = field(repr=False)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any = None, *, map: Any = None, supervision_from: str = "labels",
        inverse: Any = "auto", grid_resolution: int = 200,
    ) -> ModelView:  # fmt: skip
        """Picture a trained model on rows X with target y.

        Parameters
        ----------
        model : any trained classifier or regressor; it is asked, never changed.
        X, y : rows of features and their labels or values (y may be None). For a machine of similarities or distances
            the square matrix it was trained on; for a model of objects (behind `ComparisonMatrix`, or with a map that
            compares objects) a list of them.
        map : what places the rows: a `PrisMap`, or any other 2-D transformer (``PCA(2)``, ``SOM()``, a pipeline).
            A fitted one is used as it is, an unfitted one is cloned and fitted. None: a `PrisMap` of the rows, behind
            the scalers that lead a pipeline of the model.
        supervision_from : "labels" or "model"
            What the map is supervised by: y, which shows the model before the true structure, or the model itself,
            which shows the data as the model sees it (thesis 3.5.4): a `PrisMap` with metric="fisher" then measures
            by the model's probabilities or output, any other map is fitted with the model's answers as its target.
        inverse : {"auto", "local", "kernel"} or `InverseMap`
            The way from places to rows. "auto" is the map's own if it has one (PCA, SOM, GTM), and the surface of local
            means behind a `PrisMap`; "local" is always that surface. "kernel" is the published one: kernels in the
            plane that are fitted under the Fisher tensor of the map's metric (thesis 3.3). An `InverseMap` is fitted.
        grid_resolution : places along each side of the picture.
        """
        check_options(supervision_from, inverse, grid_resolution)
        if is_of_objects(model, map):
            if inverse != "auto":
                raise InputError(f"inverse={inverse!r} is for vectors: behind a place of objects stands one of them.")
            return view_of_objects(
                cls, model, X, y, map=map, supervision_from=supervision_from, grid_resolution=grid_resolution
            )
        rows = check_vectors(X)
        X = X if hasattr(X, "shape") else rows
        truth = None if y is None else check_target_length(y, len(rows))
        responder = Responder(model, X, truth)
        if responder.kind == "real" and truth is not None:
            truth = real_values(truth)
        answer = responder(rows)
        target = supervision_target(responder, answer.value, truth, supervision_from)
        recipe = default_map(model, rows) if map is None else check_map(map)
        check_entries(recipe, rows)
        # Our own pipelines take arrays: scalers without names.
        form = np.asarray if map is None and isinstance(recipe, Pipeline) else responder.as_given
        X = rows if form is np.asarray else X
        if not is_fitted(recipe):
            recipe = of_kind(recipe, responder.kind)
            recipe = recipe if supervision_from == "labels" else supervised_by_model(recipe, responder, X)
        start = perf_counter()
        fitted = recipe if is_fitted(recipe) else clone(recipe).fit(X, target)
        positions = positions_of(fitted, X)
        after_map = perf_counter()
        back = inverse_of(fitted, positions, rows, inverse)
        behind = back(positions)
        after_inverse = perf_counter()
        grid = make_grid(back, responder, positions, grid_resolution)
        times = {
            "map": after_map - start,
            "inverse": after_inverse - after_map,
            "model": perf_counter() - after_inverse,
        }
        codes = truth if truth is None or responder.kind == "real" else responder.encode(truth)
        return cls(
            responder.kind, frozen(responder.classes), frozen(positions), frozen(codes), frozen(answer.value),
            frozen(answer.certainty), frozen(responder(behind).value), grid, frozen(region_codes(grid, positions)),
            placed_exemplars(fitted, responder, form), model_name(model), times, fitted,
            partial(held_out, recipe, responder, X, rows, target, inverse),
            PreImages(positions, among_rows(fitted, rows)),
        )  # fmt: skip

    @property
    def misshown(self) -> np.ndarray:
        """Rows that the picture shows otherwise than the model says (for output: by more than half its spread)."""
        return shown_wrongly(self.said, self.shown, self.kind)

    @cached_property
    def fidelity_(self) -> HeldOutFidelity:
        """The view judged on rows that trained neither map, in five folds; the first call makes that many maps."""
        return self.cross_validate()

    def cross_validate(self, n_folds: int = N_FOLDS, random_state: int = 0) -> HeldOutFidelity:
        """`fidelity_` in another number of folds."""
        return self._fidelity(self, n_folds=n_folds, seed=random_state)

    def pre_images(self, places: Any) -> np.ndarray:
        """The row nearest to what lies behind each place (m, 2), as numbers of rows of X.

        It is the row that comes nearest to the mean of those mapped nearby, which a kernel machine of objects has no
        other picture of (`prismap.inspection.pre_images`). In a view of objects the model was asked about this one.
        """
        return self._pre_images(np.atleast_2d(np.asarray(places, dtype=np.float64)))

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the view (`prismap.inspection.ModelDisplay.plot`) and return the axes."""
        from prismap.inspection.model import ModelDisplay

        return ModelDisplay(self).plot(ax, **options).ax_


def check_options(supervision_from, inverse, grid_resolution):
    """The options of a view, or an `InputError`."""
    named = isinstance(inverse, str) and inverse in ("auto", "local", "kernel")
    if not named and not isinstance(inverse, InverseMap):
        raise InputError(f"inverse must be 'auto', 'local', 'kernel' or an InverseMap; got {inverse!r}.")
    if supervision_from not in ("labels", "model"):
        raise InputError(f"supervision_from must be 'labels' or 'model'; got {supervision_from!r}.")
    if not isinstance(grid_resolution, (int, np.integer)) or grid_resolution < 2:
        raise InputError(f"grid_resolution must be a whole number from 2; got {grid_resolution!r}.")


def check_vectors(X):
    """Rows of numbers as one array."""
    rows = dense(check_rows(BaseEstimator(), X, reset=True, sparse=True))
    if len(rows) < FEWEST_ROWS:
        raise InputError(f"X has {len(rows)} rows; a view needs at least {FEWEST_ROWS}.")
    return rows


def supervision_target(responder, said, truth, supervision_from):
    """What the map is fitted with: the labels, or what the model says of the rows."""
    if supervision_from == "labels":
        return truth
    if responder.kind == "real":
        return said
    if len(np.unique(said)) < 2:
        raise InputError(
            f"supervision_from='model' needs a model that tells rows apart; this one says "
            f"{str(responder.classes[said[0]])!r} of every row. Use supervision_from='labels'."
        )
    return responder.classes[said]


def default_map(model: Any, rows: np.ndarray) -> Any:
    """A `PrisMap`, behind the scalers that lead the model's pipeline: the geometry the model works in.

    A model of a matrix (``kernel="precomputed"``, ``metric="precomputed"``) gets a map of that matrix.
    """
    plane = PrisMap(perplexity=min(30, max(1, (len(rows) - 1) // 3)), random_state=0)
    if takes_entries(model):
        return plane.set_params(data="similarity" if np.diag(rows).any() else "dissimilarity")
    scalers = leading_scalers(model)
    return make_pipeline(*[FrozenEstimator(own) for own in scalers], plane) if scalers else plane


def among_rows(fitted, rows):
    """Squared distances among rows, of the kind of data that the map takes."""
    if takes_entries(fitted):
        kind = data_metric(fitted.data).kind if isinstance(fitted, PrisMap) else "dissimilarity"
        return partial(among, squared_of_matrix(rows, kind))
    return partial(among_vectors, rows)


def check_entries(recipe, rows):
    """A map of a matrix needs all its entries."""
    if takes_entries(recipe) and rows.shape[0] != rows.shape[1]:
        raise InputError(
            f"a picture of a model of similarities or distances needs the square matrix between the rows that it was "
            f"trained on; X has {rows.shape[0]} rows and {rows.shape[1]} columns."
        )


def leading_scalers(model: Any) -> list[Any]:
    """The fitted steps at the head of a pipeline that only move and stretch columns, as nameless copies."""
    steps = [own for _, own in model.steps[:-1]] if isinstance(model, Pipeline) else []
    scalers = takewhile(lambda own: hasattr(own, "inverse_transform") and hasattr(own, "scale_"), steps)
    copies = [copy(own) for own in scalers]
    for own in copies:
        vars(own).pop("feature_names_in_", None)
    return copies


def of_kind(recipe, kind):
    """The recipe with the model's kind of target, where a `PrisMap` would have to guess it from the values."""
    plane = recipe.steps[-1][1] if isinstance(recipe, Pipeline) else recipe
    if not isinstance(plane, PrisMap) or plane.target != "auto":
        return recipe
    told = clone(plane).set_params(target=kind)
    return told if plane is recipe else Pipeline([*recipe.steps[:-1], (recipe.steps[-1][0], told)])


def supervised_by_model(recipe, responder, X):
    """The recipe of a map with the model itself as its posterior, if it is a `PrisMap` that does not know better.

    Behind the model's own scalers the posterior is the rest of the model's pipeline.
    """
    plane = recipe.steps[-1][1] if isinstance(recipe, Pipeline) else recipe
    if not isinstance(plane, PrisMap) or plane.metric != "fisher" or takes_entries(plane):
        return recipe  # a model of a matrix cannot be asked between rows: the map takes its answers as the target
    if plane is recipe:
        return clone(plane).set_params(metric=asks(responder))
    scalers = [own for _, own in recipe.steps[:-1]]
    if not all(isinstance(own, FrozenEstimator) for own in scalers):
        return recipe
    rest = Responder(responder.model[len(scalers) :], recipe[:-1].transform(X), None)
    return make_pipeline(*scalers, clone(plane).set_params(metric=asks(rest)))


def asks(responder):
    """The Fisher metric that asks a model."""
    return FisherMetric(posterior=ModelPosterior(responder))


def placed_exemplars(fitted, responder, form):
    """Prototypes or support vectors of the model as positions on the map, with codes as labels."""
    if takes_entries(fitted):
        return support_of_matrix(fitted, responder)
    inner = exemplars_of(responder.model)
    if inner is None or inner.rows.shape[1] != getattr(fitted, "n_features_in_", inner.rows.shape[1]):
        return None
    codes = None if inner.labels is None else responder.encode(inner.labels)
    return Exemplars(inner.name, frozen(positions_of(fitted, form(inner.rows))), frozen(codes))


def support_of_matrix(fitted, responder):
    """The support vectors of a machine of a matrix, which it knows by the numbers of their rows."""
    machine = getattr(responder.model, "best_estimator_", responder.model)
    support = getattr(machine, "support_", None)
    positions = fitted.positions() if isinstance(fitted, PrisMap) else None
    if support is None or not len(support) or positions is None or support.max() >= len(positions):
        return None
    codes = responder.encode(np.repeat(machine.classes_, machine.n_support_)) if hasattr(machine, "classes_") else None
    return Exemplars("support vector", frozen(positions[support]), frozen(codes))


def held_out(recipe, responder, X, rows, target, inverse, view, *, n_folds, seed):
    """The cross-validated fidelity of a view."""
    n_folds = min(n_folds, len(rows))
    said = responder(rows)
    options = {"n_folds": n_folds, "seed": seed, "inverse": inverse}
    shown, behind, folds = cross_validate(recipe, responder, X, rows, target, said, **options)
    return judge_view(view, shown, off=off_surface(rows, behind), folds=folds)


def check_map(estimator):
    """A map that is given must be able to fit, or be fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputError(
            f"map must be a PrisMap or another 2-D transformer with fit and transform; got {type(estimator).__name__}."
        )
    return estimator
