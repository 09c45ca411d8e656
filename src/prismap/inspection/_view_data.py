"""What a view shows a model on: vectors (or a matrix between rows), or objects, with the model and the map of them.

`VectorData` and `ObjectData` have the same methods, so that `ModelView` makes and judges both views in the same way.
Behind a place of a map of vectors stands a row that the inverse map makes. Behind a place of objects stands one of
them (`PreImages`): the map compares the objects, and the model takes a list of them, as a pipeline behind
`ComparisonMatrix` does, or a Gaussian process with a kernel of objects.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline

from prismap._util.repr import Brief
from prismap._util.validation import check_rows
from prismap.comparisons._matrix import ComparisonMatrix
from prismap.comparisons._objects import Objects
from prismap.exceptions import InputError
from prismap.inspection._inverse import PreImages, among, among_vectors, inverse_of, squared_of_matrix
from prismap.inspection._responses import ModelPosterior, ObjectResponder, Responder, dense
from prismap.inspection._surface import frozen, positions_of
from prismap.inspection._tasks import Answer
from prismap.map import PrisMap
from prismap.metrics import FisherMetric
from prismap.metrics._geometry import data_metric
from prismap.metrics._objects import ObjectRows, as_rows
from prismap.metrics.posteriors._models import takes_entries
from prismap.target._labels import check_target_length

FEWEST_ROWS = 10
#: Attributes of fitted models that hold rows, by what they are called in a picture.
EXEMPLARS = {"prototypes_": "prototype", "centroids_": "prototype", "support_vectors_": "support vector"}


@dataclass(frozen=True, repr=False)
class Exemplars(Brief):
    """Rows inside a model: what they are, where they lie (rows or positions), and their labels (None: unknown)."""

    name: str
    rows: np.ndarray
    labels: np.ndarray | None = None


class VectorData:
    """Rows of vectors, or of a matrix between rows, with a model of them.

    Parameters
    ----------
    model, X, y, map, inverse : as for `ModelView.from_estimator`.

    Attributes
    ----------
    rows : the rows as one array; X the same as the map takes them.
    truth : y as an array, or None.
    responder, answer : the model, and what it says of the rows.
    recipe : the map, fitted or not.
    """

    def __init__(self, model: Any, X: Any, y: Any, map: Any, inverse: Any) -> None:
        self.rows, self.inverse = check_vectors(X), inverse
        X = X if hasattr(X, "shape") else self.rows
        self.truth = None if y is None else check_target_length(y, len(self.rows))
        self.responder = Responder(model, X, self.truth)
        self.answer = self.responder(self.rows)
        self.recipe = map_of_vectors(model, self.rows) if map is None else check_map(map)
        check_entries(self.recipe, self.rows)
        # Our own pipelines take arrays: scalers without names.
        own = map is None and isinstance(self.recipe, Pipeline)
        self.form = np.asarray if own else self.responder.as_given
        self.X = self.rows if self.form is np.asarray else X

    def supervised_by_model(self, recipe: Any) -> Any:
        """The recipe of a map with the model itself as its posterior, if it is a `PrisMap` that does not know better.

        Behind the model's own scalers the posterior is the rest of the model's pipeline.
        """
        plane = plane_of(recipe)
        if not isinstance(plane, PrisMap) or plane.metric != "fisher" or takes_entries(plane):
            return recipe  # a model of a matrix cannot be asked between rows: the map takes its answers as the target
        if plane is recipe:
            return measured_by(plane, self.responder)
        scalers = [own for _, own in recipe.steps[:-1]]
        if not all(isinstance(own, FrozenEstimator) for own in scalers):
            return recipe
        rest = Responder(self.responder.model[len(scalers) :], recipe[:-1].transform(self.X), None)
        return make_pipeline(*scalers, measured_by(plane, rest))

    def known_to(self, fitted: Any) -> VectorData:
        """The same rows."""
        return self

    def positions(self, fitted: Any) -> np.ndarray:
        """The rows on a fitted map."""
        return positions_of(fitted, self.X)

    def way_back(self, fitted: Any, positions: np.ndarray) -> Any:
        """The function from places to what stands behind them, which `answers` takes: rows."""
        return inverse_of(fitted, positions, self.rows, self.inverse)

    def answers(self, behind: np.ndarray) -> Answer:
        """What the model says of what stands behind places."""
        return self.responder(behind)

    def pre_images(self, fitted: Any, positions: np.ndarray, back: Any) -> PreImages:
        """The number of the row nearest to what stands behind a place."""
        if not takes_entries(fitted):
            return PreImages(positions, partial(among_vectors, self.rows))
        kind = data_metric(fitted.data).kind if isinstance(fitted, PrisMap) else "dissimilarity"
        return PreImages(positions, partial(among, squared_of_matrix(self.rows, kind)))

    def exemplars(self, fitted: Any) -> Exemplars | None:
        """Prototypes or support vectors of the model as positions on the map, with codes as labels."""
        if takes_entries(fitted):
            return self._support_of_matrix(fitted)
        inner = exemplars_of(self.responder.model)
        if inner is None or inner.rows.shape[1] != getattr(fitted, "n_features_in_", inner.rows.shape[1]):
            return None
        codes = None if inner.labels is None else self.responder.task.encode(inner.labels)
        return Exemplars(inner.name, frozen(positions_of(fitted, self.form(inner.rows))), frozen(codes))

    def _support_of_matrix(self, fitted: Any) -> Exemplars | None:
        """The support vectors of a machine of a matrix, which it knows by the numbers of their rows."""
        machine = getattr(self.responder.model, "best_estimator_", self.responder.model)
        support = getattr(machine, "support_", None)
        positions = fitted.positions() if isinstance(fitted, PrisMap) else None
        if support is None or not len(support) or positions is None or support.max() >= len(positions):
            return None
        return support_vectors(positions[support], machine, self.responder)

    def part(self, recipe: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
        """Some of the rows for a map of a part of them: of a matrix the entries against the rows `columns`."""
        if takes_entries(recipe):
            return np.asarray(self.X)[np.ix_(rows, columns)]
        return self.X.iloc[rows] if hasattr(self.X, "iloc") else self.X[rows]

    def behind_held_out(self, fitted: Any, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """What stands behind the places of the rows `test` on a map of the rows `train`."""
        # A map of a matrix is made of the entries between its rows; the model is asked with those against all rows.
        positions = positions_of(fitted, self.part(fitted, train, train))
        back = inverse_of(fitted, positions, self.rows[train], self.inverse)
        return np.asarray(back(positions_of(fitted, self.part(fitted, test, train))), dtype=np.float64)

    def off_surface(self, fitted: Any, behind: np.ndarray) -> float:
        """Root mean squared distance of rows to those behind their places, relative to their spread."""
        size = np.square(self.rows - self.rows.mean(axis=0)).sum()
        return float(np.sqrt(np.square(self.rows - behind).sum() / size)) if size > 0 else 0.0


class ObjectData:
    """Objects with a model of them; attributes and methods as those of `VectorData`.

    Behind a place stands the number of one of the objects, and the model has answered about each of them.
    """

    def __init__(self, model: Any, X: Any, y: Any, map: Any, inverse: Any) -> None:
        if inverse != "auto":
            raise InputError(f"inverse={inverse!r} is for vectors: behind a place of objects stands one of them.")
        self.rows = self.X = as_rows(X, least=FEWEST_ROWS)
        self.truth = None if y is None else check_target_length(y, len(self.rows))
        self.responder = ObjectResponder(model, self.rows.tolist(), self.truth)
        self.answer = self.responder(self.rows.tolist())
        self.recipe = map_of_objects(model, len(self.rows)) if map is None else map

    def supervised_by_model(self, recipe: PrisMap) -> PrisMap:
        """The recipe of a map with the model itself as its posterior."""
        return measured_by(recipe, self.responder) if recipe.metric == "fisher" else recipe

    def known_to(self, fitted: PrisMap) -> ObjectData:
        """The objects as the map knows them, if it was fitted to just these: no pair is then compared again."""
        own = fitted.map_.rows
        if len(own) != len(self.rows) or not all(a is b for a, b in zip(own.objects, self.rows.objects, strict=True)):
            return self
        known = copy(self)
        known.rows = known.X = own
        return known

    def positions(self, fitted: PrisMap) -> np.ndarray:
        """The objects on a fitted map."""
        return np.asarray(fitted.transform(self.rows), dtype=np.float64)

    def way_back(self, fitted: PrisMap, positions: np.ndarray) -> PreImages:
        """The function from places to the numbers of the objects behind them."""
        return pre_images_of(fitted, self.rows, positions)

    def answers(self, behind: np.ndarray) -> Answer:
        """What the model says of objects, by their numbers: it was asked about each of them once."""
        return self.answer.take(behind)

    def pre_images(self, fitted: PrisMap, positions: np.ndarray, back: PreImages) -> PreImages:
        """The way back itself."""
        return back

    def exemplars(self, fitted: PrisMap) -> Exemplars | None:
        """The objects that a machine behind a comparison stands on, placed on the map."""
        step = comparing_step(self.responder.model)
        if step is None:
            return None
        machine = getattr(self.responder.model, "best_estimator_", self.responder.model)[-1]
        support = getattr(machine, "support_", None)
        if support is None or not len(support):
            return None
        return support_vectors(fitted.transform([step.objects_[k] for k in support]), machine, self.responder)

    def part(self, recipe: PrisMap, rows: np.ndarray, columns: np.ndarray) -> ObjectRows:
        """Some of the objects."""
        some: ObjectRows = self.rows[rows]
        return some

    def behind_held_out(self, fitted: PrisMap, train: np.ndarray, test: np.ndarray) -> np.ndarray:
        """The numbers of the objects behind the places of the objects `test`; known values are not computed again."""
        back = pre_images_of(fitted, fitted.map_.rows, fitted.embedding_)
        return np.asarray(train[fitted.fit_rows_][back(fitted.transform(self.rows[test]))])

    def off_surface(self, fitted: PrisMap, behind: np.ndarray) -> float:
        """Root mean squared distance of objects to those behind their places, relative to their spread.

        The spread about the mean needs no mean: ``sum_i d^2(x_i, m) = sum_ij d^2(x_i, x_j) / 2n``.
        """
        if self.rows is not fitted.map_.rows or fitted.map_.is_large:
            return float("nan")
        D2 = fitted.map_.data.pairwise() ** 2
        spread = D2.sum() / (2 * len(D2))
        return float(np.sqrt(D2[np.arange(len(D2)), behind].sum() / spread)) if spread > 0 else 0.0


def data_of(model: Any, X: Any, y: Any, map: Any, inverse: Any) -> VectorData | ObjectData:
    """Objects if the map compares them, or if the model does and there is no map; else vectors."""
    if isinstance(map, PrisMap):
        of_objects = data_metric(map.data).kind == "objects"
    else:
        of_objects = map is None and comparing_step(model) is not None
    return (ObjectData if of_objects else VectorData)(model, X, y, map, inverse)


# --- maps ---


def map_of_vectors(model: Any, rows: np.ndarray) -> Any:
    """A `PrisMap`, behind the scalers that lead the model's pipeline: the geometry the model works in.

    A model of a matrix (``kernel="precomputed"``, ``metric="precomputed"``) gets a map of that matrix.
    """
    plane = usual_map(len(rows))
    if takes_entries(model):
        return plane.set_params(data="similarity" if np.diag(rows).any() else "dissimilarity")
    scalers = leading_scalers(model)
    return make_pipeline(*[FrozenEstimator(own) for own in scalers], plane) if scalers else plane


def map_of_objects(model: Any, n_objects: int) -> PrisMap:
    """A map by the model's own comparison."""
    step: Any = comparing_step(model)
    return usual_map(n_objects, data=step.how if isinstance(step.how, Objects) else Objects(step.how))


def usual_map(n_rows: int, **options: Any) -> PrisMap:
    """A `PrisMap` with the usual perplexity, or less for few rows."""
    return PrisMap(perplexity=min(30, max(1, (n_rows - 1) // 3)), random_state=0, **options)


def leading_scalers(model: Any) -> list[Any]:
    """The fitted steps at the head of a pipeline that only move and stretch columns, as nameless copies."""
    steps = [own for _, own in model.steps[:-1]] if isinstance(model, Pipeline) else []
    scalers = takewhile(lambda own: hasattr(own, "inverse_transform") and hasattr(own, "scale_"), steps)
    copies = [copy(own) for own in scalers]
    for own in copies:
        vars(own).pop("feature_names_in_", None)
    return copies


def plane_of(recipe: Any) -> Any:
    """The map of a recipe: itself, or the last step of a pipeline."""
    return recipe.steps[-1][1] if isinstance(recipe, Pipeline) else recipe


def of_kind(recipe: Any, kind: str) -> Any:
    """The recipe with the model's kind of target, where a `PrisMap` would have to guess it from the values."""
    plane = plane_of(recipe)
    if not isinstance(plane, PrisMap) or plane.target != "auto":
        return recipe
    decided = clone(plane).set_params(target=kind)
    return decided if plane is recipe else Pipeline([*recipe.steps[:-1], (recipe.steps[-1][0], decided)])


def measured_by(plane: PrisMap, responder: Responder) -> PrisMap:
    """The recipe of a map with the Fisher metric that asks a model."""
    measured: PrisMap = clone(plane).set_params(metric=FisherMetric(posterior=ModelPosterior(responder)))
    return measured


def pre_images_of(fitted: PrisMap, rows: ObjectRows, positions: np.ndarray) -> PreImages:
    """What stands behind places: one of the rows.

    Values between rows that the map was fitted to are known. Others are compared no further, and neither are those of
    a large map: there the nearest on the map stands behind a place.
    """
    if rows is not fitted.map_.rows or fitted.map_.is_large:
        return PreImages(positions)
    return PreImages(positions, partial(among, fitted.map_.data.pairwise() ** 2))


# --- checks ---


def check_vectors(X: Any) -> np.ndarray:
    """Rows of numbers as one array."""
    rows = dense(check_rows(BaseEstimator(), X, reset=True, sparse=True))
    if len(rows) < FEWEST_ROWS:
        raise InputError(f"X has {len(rows)} rows; a view needs at least {FEWEST_ROWS}.")
    return rows


def check_entries(recipe: Any, rows: np.ndarray) -> None:
    """A map of a matrix needs all its entries."""
    if takes_entries(recipe) and rows.shape[0] != rows.shape[1]:
        raise InputError(
            f"a picture of a model of similarities or distances needs the square matrix between the rows that it was "
            f"trained on; X has {rows.shape[0]} rows and {rows.shape[1]} columns."
        )


def check_map(estimator: Any) -> Any:
    """A map that is given must be able to fit, or be fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise InputError(
            f"map must be a PrisMap or another 2-D transformer with fit and transform; got {type(estimator).__name__}."
        )
    return estimator


# --- rows inside models ---


def comparing_step(model: Any) -> ComparisonMatrix | None:
    """The step of a pipeline, also inside a search, that compares objects."""
    model = getattr(model, "best_estimator_", model)
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    return first if isinstance(first, ComparisonMatrix) else None


def exemplars_of(model: Any) -> Exemplars | None:
    """Prototypes or support vectors of a model, also inside a pipeline whose steps can be undone, or a search."""
    if hasattr(model, "best_estimator_"):
        return exemplars_of(model.best_estimator_)
    if isinstance(model, Pipeline):
        inner = exemplars_of(model[-1])
        if inner is None or len(model) == 1:
            return inner
        if not hasattr(model[:-1], "inverse_transform"):
            return None
        return Exemplars(inner.name, np.asarray(model[:-1].inverse_transform(inner.rows)), inner.labels)
    for attribute, name in EXEMPLARS.items():
        rows = getattr(model, attribute, None)
        if rows is not None and len(np.shape(rows)) == 2 and np.shape(rows)[0] and np.shape(rows)[1]:
            rows = rows.toarray() if sp.issparse(rows) else np.asarray(rows, dtype=np.float64)
            return Exemplars(name, rows, exemplar_labels(model, attribute))
    return None


def exemplar_labels(model: Any, attribute: str) -> np.ndarray | None:
    """The class of each prototype or support vector."""
    if attribute == "prototypes_":
        return getattr(model, "prototype_labels_", None)
    if not hasattr(model, "classes_"):
        return None
    if attribute == "support_vectors_":
        return np.repeat(model.classes_, model.n_support_)
    return np.asarray(model.classes_)


def support_vectors(positions: np.ndarray, machine: Any, responder: Responder) -> Exemplars:
    """The support vectors of a machine, by their positions."""
    labels = np.repeat(machine.classes_, machine.n_support_) if hasattr(machine, "classes_") else None
    codes = None if labels is None else responder.task.encode(labels)
    return Exemplars("support vector", frozen(positions), frozen(codes))
