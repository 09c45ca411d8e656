"""`ModelView`: what a trained classifier or regressor does, seen on a map of its data (Schulz 2017, chapter 3)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from sklearn.base import clone

from prismap._util.repr import Brief
from prismap._util.validation import is_fitted
from prismap.exceptions import InputError, PrismapWarning
from prismap.inspection._responses import Responder
from prismap.inspection._surface import Grid, frozen, make_grid, positions_of, region_codes
from prismap.inspection._tasks import TASKS, Answer, Task
from prismap.inspection._view_data import Exemplars, check_vectors, data_of, of_kind, plane_of
from prismap.mappings import InverseMap
from prismap.metrics.posteriors._models import model_name
from prismap.quality._fidelity import HeldOutFidelity, Region, SegmentFidelity, segment_fidelity
from prismap.target import read_groups, split_rows

N_FOLDS = 5
FIGURES = ("agreement", "certainty", "output", "signed_certainty")


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
    predicted, certainty : what the model says of the rows; certainty is None for regressors and for models that only
        label.
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
    predicted: np.ndarray
    certainty: np.ndarray | None
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
        inverse: Any = "auto", grid_resolution: int = 200, groups: Any = None,
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
            which shows the data as the model sees it (Schulz 2017, sec. 3.5.4): a `PrisMap` with metric="fisher" then
            measures by the model's probabilities or output, any other map is fitted with the model's answers as its
            target.
        inverse : {"auto", "local", "kernel"} or `InverseMap`
            The way from places to rows. "auto" is the map's own if it has one (PCA, SOM, GTM), and the surface of local
            means behind a `PrisMap`; "local" is always that surface. "kernel" is the published one: kernels in the
            plane that are fitted under the Fisher tensor of the map's metric (Schulz 2017, sec. 3.3). An `InverseMap`
            is fitted.
        grid_resolution : places along each side of the picture.
        groups : which rows are not independent of each other, one entry per row: a `PrisMap` is fitted with them, and
            `fidelity_` leaves out whole groups.
        """
        check_options(supervision_from, inverse, grid_resolution)
        data = data_of(model, X, y, map, inverse)
        task, answer = data.responder.task, data.answer
        truth = None if data.truth is None else task.check(data.truth)
        target = truth if supervision_from == "labels" else task.as_target(answer.value)
        recipe = data.recipe
        if not is_fitted(recipe):
            recipe = of_kind(recipe, task.kind)
            recipe = recipe if supervision_from == "labels" else data.supervised_by_model(recipe)
        start = perf_counter()
        units = None if groups is None else read_groups(groups, len(answer.value)).codes
        fitted = recipe if is_fitted(recipe) else fit_recipe(recipe, data.X, target, units)
        data = data.known_to(fitted)
        positions = data.positions(fitted)
        after_map = perf_counter()
        back = data.way_back(fitted, positions)
        behind = back(positions)
        after_inverse = perf_counter()
        grid = make_grid(back, data.answers, positions, grid_resolution)
        times = {
            "map": after_map - start,
            "inverse": after_inverse - after_map,
            "model": perf_counter() - after_inverse,
        }
        return cls(
            task.kind, frozen(task.classes), frozen(positions), None if truth is None else frozen(task.encode(truth)),
            frozen(answer.value), frozen(answer.certainty), frozen(data.answers(behind).value), grid,
            frozen(region_codes(grid, positions)), data.exemplars(fitted), model_name(model), times, fitted,
            partial(held_out, recipe, data, target, units), data.pre_images(fitted, positions, back),
        )  # fmt: skip

    @property
    def task(self) -> Task:
        """What the model answers, with all that is done otherwise with classes than with numbers."""
        task: Task = TASKS[self.kind](self.classes)
        return task

    @property
    def misshown(self) -> np.ndarray:
        """Rows that the picture shows otherwise than the model says (for output: by more than half its spread)."""
        return self.task.differs(self.predicted, self.shown)

    @cached_property
    def fidelity_(self) -> HeldOutFidelity:
        """The view judged on rows that trained neither map, in five folds; the first call makes that many maps."""
        return self.cross_validate()

    def cross_validate(self, n_folds: int = N_FOLDS, random_state: int = 0) -> HeldOutFidelity:
        """`fidelity_` in another number of folds."""
        return self._fidelity(self, n_folds=n_folds, seed=random_state)

    def segment_fidelity(self, model: Any, X: Any, *, n_neighbors: int = 5, n_nodes: int = 17) -> SegmentFidelity:
        """How far the picture shows the model's margins and curvature, along segments between rows.

        Parameters
        ----------
        model : the model that the view shows.
        X : rows of features, best those that trained neither the map nor the model; the map places them.
        n_neighbors : segments lead from each row to so many neighbours on the map.
        n_nodes : places along a segment, an odd number.

        Returns
        -------
        named tuple
            `margin`, `curvature` and the numbers of segments that they rest on (`prismap.quality.fidelity` has the
            figures of single rows). A margin of 1: the border cuts segments in the picture where it does in the data.
        """
        rows, responder = check_vectors(X), Responder(model, X)
        positions = positions_of(self.map, X)
        k = min(n_neighbors, len(rows) - 1)
        second = cKDTree(positions).query(positions, k=k + 1)[1][:, 1:].ravel()
        first = np.repeat(np.arange(len(rows)), k)
        answer = responder(along(rows, first, second, n_nodes))
        places, shape = along(positions, first, second, n_nodes), (len(first), n_nodes)
        classes = self.task.has_classes
        height = answer.certainty if classes else answer.value
        height_back = self.grid.height(places)
        return segment_fidelity(
            answer.value.reshape(shape) if classes else None,
            self.grid.value[self.grid.cells(places)].reshape(shape) if classes else None,
            None if height is None else height.reshape(shape),
            None if height_back is None else height_back.reshape(shape),
        )

    def pre_images(self, places: Any) -> np.ndarray:
        """The row nearest to what lies behind each place (m, 2), as numbers of rows of X.

        It is the row that comes nearest to the mean of those mapped nearby, which a kernel machine of objects has no
        other picture of (`prismap.inspection._inverse.PreImages`). In a view of objects the model was asked about this
        one.
        """
        return self._pre_images(np.atleast_2d(np.asarray(places, dtype=np.float64)))

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """Draw the view (`prismap.inspection.ModelDisplay.plot`) and return the axes."""
        from prismap.inspection._model import ModelDisplay

        return ModelDisplay(self).plot(ax, **options).ax_


def along(rows: np.ndarray, first: np.ndarray, second: np.ndarray, n_nodes: int) -> np.ndarray:
    """Equidistant nodes of the segments between rows, one segment after another."""
    share = np.linspace(0, 1, n_nodes)[:, None]
    return np.asarray(((1 - share) * rows[first, None] + share * rows[second, None]).reshape(-1, rows.shape[1]))


def check_options(supervision_from: Any, inverse: Any, grid_resolution: Any) -> None:
    """The options of a view, or an `InputError`."""
    named = isinstance(inverse, str) and inverse in ("auto", "local", "kernel")
    if not named and not isinstance(inverse, InverseMap):
        raise InputError(f"inverse must be 'auto', 'local', 'kernel' or an InverseMap; got {inverse!r}.")
    if supervision_from not in ("labels", "model"):
        raise InputError(f"supervision_from must be 'labels' or 'model'; got {supervision_from!r}.")
    if not isinstance(grid_resolution, (int, np.integer)) or grid_resolution < 2:
        raise InputError(f"grid_resolution must be a whole number from 2; got {grid_resolution!r}.")


def fit_recipe(recipe: Any, X: Any, target: Any, units: Any) -> Any:
    """A fitted clone of a recipe; a `PrisMap`, alone or at the end of a pipeline, is given the units of its rows."""
    made, plane = clone(recipe), plane_of(recipe)
    if units is None or not hasattr(plane, "from_table"):
        return made.fit(X, target)
    name = f"{made.steps[-1][0]}__groups" if hasattr(made, "steps") else "groups"
    return made.fit(X, target, **{name: units})


def held_out(recipe: Any, data: Any, target: Any, units: Any, view: Any, *, n_folds: int, seed: int) -> Any:
    """The fidelity of a view on rows that trained neither of its two maps (Schulz 2017, sec. 3.4.3)."""
    n_folds = min(n_folds, len(data.rows))
    behind, folds = cross_validate(recipe, data, target, n_folds=n_folds, seed=seed, units=units)
    return judge_view(view, data.answers(behind), off=data.off_surface(view.map, behind), folds=folds)


def cross_validate(
    recipe: Any, data: Any, target: Any, *, n_folds: int, seed: int = 0, units: Any = None
) -> tuple[NDArray[Any], list[Any]]:
    """What stands behind each row's place on a map of other rows, and the folds."""
    parts, folds = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)  # they were given for the map of all rows
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        groups = data.responder.task.groups(data.answer.value, n_folds)
        for train, test in split_rows(len(data.rows), n_folds, seed, groups, units):
            rows = data.part(recipe, train, train)
            kept = None if units is None else units[train]
            fitted = fit_recipe(recipe, rows, None if target is None else target[train], kept)
            parts.append(data.behind_held_out(fitted, train, test))
            folds.append(test)
    return np.concatenate(parts)[np.argsort(np.concatenate(folds))], folds


def judge_view(view: ModelView, shown: Answer, *, off: float, folds: list[np.ndarray]) -> HeldOutFidelity:
    """The figures of what pictures of other rows show, over all rows and by fold and region."""
    task, predicted = view.task, Answer(view.predicted, view.certainty)
    overall = task.compare(predicted, shown)
    by_fold = [task.compare(predicted.take(fold), shown.take(fold)) for fold in folds]
    spread = {
        name: float(np.std([getattr(one, name) for one in by_fold]))
        for name in FIGURES
        if getattr(overall, name) is not None
    }
    wrong = task.differs(view.predicted, shown.value)
    return HeldOutFidelity(
        len(view.predicted), **{name: getattr(overall, name) for name in FIGURES}, n_folds=len(folds), spread=spread,
        chance=task.chance(view.predicted), off_surface=off, regions=tuple(region_table(view, shown.value, wrong)),
        wrong=wrong,
    )  # fmt: skip


def region_table(view: ModelView, shown: np.ndarray, wrong: np.ndarray) -> list[Region]:
    """Share of rows shown wrongly and the commonest mistake, for each region of the picture."""
    values = region_values(view)
    table = []
    for number in [*range(len(values)), -1]:
        inside = view.regions == number
        if inside.any():
            name = view.task.region_name(values, number) if number >= 0 else "elsewhere"
            x, y = view.positions[inside].mean(axis=0)
            mistaken = inside & wrong
            mistake = view.task.mistake(view.predicted[mistaken], shown[mistaken]) if mistaken.any() else None
            table.append(Region(name, int(inside.sum()), float(wrong[inside].mean()), mistake, (float(x), float(y))))
    return table


def region_values(view: ModelView) -> list[float]:
    """What the picture shows in each region: the class that most of its rows' cells have, or the median output."""
    at_rows = view.grid.value[view.grid.cells(view.positions)]
    return [view.task.typical(at_rows[view.regions == number]) for number in range(view.regions.max(initial=-1) + 1)]
