"""What makes maps, and what it made: the two contracts of judging, and the makers of other libraries' maps.

A `Maker` makes a map of some of the judged rows and a target, as often as a verdict takes. `PrisMap` has one
(`prismap.map._judged`), and so have an estimator, a function, and coordinates that exist already, which cannot be made
again. Rows are known by their numbers, so that judging is the same for vectors, matrices and objects.
"""

from __future__ import annotations

import copy
import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from prismap._util.arrays import Numbers, Rows
from prismap.exceptions import InputError
from prismap.judging._budget import FULL, Effort
from prismap.mappings import VoteMap
from prismap.quality._votes import poll
from prismap.target import Target

#: Names that methods give to their target and to their seed.
TARGET_NAMES = ("y", "target", "labels")
SEED_NAMES = ("random_state", "seed")


class Refusal(Exception):
    """A method of another library does not take some data, whatever it raised: a verdict can do without that map."""


class Made(ABC):
    """A map of some rows: their `positions`, and how others are projected onto it.

    `is_a_run` tells whether it was made for itself; positions that were taken from another map are no run.
    """

    positions: Numbers
    is_a_run: bool = True

    @abstractmethod
    def place(self, rows: Any) -> Numbers:
        """Positions of other rows, as `Maker.rows` gives them."""

    def kept(self, rows: Any, Y: Numbers | None, k: int) -> Numbers:
        """The share of new rows' k nearest rows in the metric that are among their k nearest on the map, at Y."""
        raise NotImplementedError

    @property
    @abstractmethod
    def space(self) -> tuple[Any, Any]:
        """Its own rows and the metric of their distances, as the measures of quality take them."""

    @abstractmethod
    def in_data(self, rows: Any) -> dict[str, Any]:
        """Where the nearest rows of some rows are looked for in the data: arguments of `vote_on`; None: its own."""

    def in_own_data(self, rows: Any = None) -> dict[str, Any]:
        """The same by the data's own distances, whatever the metric of the map."""
        return self.in_data(rows)

    def support(self, predicted: NDArray[Any], rows: Any, target: Target) -> Numbers:
        """The chance that rows' own features give a prediction.

        By default the share of each row's ten nearest rows in the data that agree with it.

        rows : as for `place`; None: the map's own rows, none of which votes for itself. target : of one column, of the
        map's rows.
        """
        votes = poll(target=target, same=rows is None, **self.in_data(rows))
        agreement: Numbers = votes.agreement(predicted, target.tolerance)
        return agreement


class Maker(ABC):
    """Makes maps of some of the judged rows, and of others like them.

    Attributes
    ----------
    map : the judged map.
    name : of the method, in words.
    seed : of all that is random.
    n_rows : number of judged rows.
    columns : the judged rows as (n, d) numbers, from which others can be drawn; None where that makes no sense.
    leaves_target_out : whether the judged map is the one that would be made without a target.
    compares_plain : whether the map without a target is another one, or may be, and is shown beside this one.
    shows_plain : whether it is shown how well the map without a target keeps neighbourhoods.
    is_large, most_rows : whether maps for comparison have far fewer rows than the judged one, and at most how many.
    reseeds : whether the map with another seed is another map.
    falls_back : whether the map is judged without its target if a map for comparison cannot be made.
    notes, limits : how it was judged, and what could not be determined.
    """

    map: Made
    name: str
    seed: int
    n_rows: int
    columns: Any = None
    leaves_target_out: bool = False
    compares_plain: bool = True
    shows_plain: bool = False
    is_large: bool = False
    most_rows: float = math.inf
    reseeds: bool = False
    falls_back: bool = False
    notes: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()

    @abstractmethod
    def rows(self, index: Rows) -> Any:
        """Some of the judged rows, as `Made.place` takes them."""

    @abstractmethod
    def make(self, index: Rows, target: Target, plain: Made | None = None) -> Made:
        """The map made again of some rows and their target.

        plain : the map of all rows without a target, whose positions may be taken where the target has no part in it.
        """

    @abstractmethod
    def make_plain(self, index: Rows, effort: Effort = FULL) -> Made | None:
        """The map of some rows without a target; None where there is none."""

    @abstractmethod
    def plain_of_part(self, plain: Made, index: Rows, effort: Effort) -> Made:
        """The map without a target as if only some rows had been on it.

        No target had a part in that map, so it need not be made again without the others, unless they are projected by
        other means than votes of their nearest rows.
        """

    @abstractmethod
    def make_of(
        self, X: Numbers, target: Target | None = None, share: float | None = None, effort: Effort = FULL
    ) -> Made:
        """A map of other rows, given as numbers, made in the same way; a `Refusal` if the method does not take them.

        share : how much their target counts, where that can be set.
        """

    def share_of(self, made: Made) -> float | None:
        """How much the target counts on a map; None where that is not known."""
        return None

    def make_reseeded(self, target: Target) -> Made:
        """The map of all rows with another seed."""
        raise NotImplementedError

    def run(self, jobs: Sequence[tuple[Any, ...]], callback: Any = None) -> list[Any]:
        """Results of ``job[0](*job[1:])``, one after the other: libraries of others need not be safe in threads."""
        done = []
        for job in jobs:
            done.append(job[0](*job[1:]))
            if callback is not None:
                callback(len(done), len(jobs))
        return done


# --- maps of other libraries ------------------------------------------------------------------------------------------


class OtherMade(Made):
    """A map of vectors that a method of another library made, or coordinates that exist already."""

    def __init__(
        self, positions: Numbers, X: Numbers, metric: Any, transform: Callable[[Any], Any] | None = None,
        remark: Callable[[bool], None] | None = None,
    ):  # fmt: skip
        self.positions, self.X, self.metric, self.transform, self.remark = positions, X, metric, transform, remark

    def place(self, rows: Any) -> Numbers:
        """By the method's own transform; if it has none, or it fails, by votes of the nearest fitted rows."""
        Y = self._own_projection(rows)
        if self.remark is not None:
            self.remark(Y is not None)
        if Y is None:
            Y = VoteMap(metric=self.metric).fit(self.X, self.positions).transform(rows)
        return np.asarray(Y)

    def _own_projection(self, rows: Any) -> Numbers | None:
        if self.transform is None:
            return None
        try:
            Y = np.asarray(self.transform(rows), dtype=np.float64)
        except Exception:  # some libraries have a transform that works for some of their settings only
            return None
        right = Y.shape == (len(rows), self.positions.shape[1]) and np.isfinite(Y).all()
        return Y if right else None

    @property
    def space(self) -> tuple[Any, Any]:
        """The vectors and their metric."""
        return self.X, self.metric

    def in_data(self, rows: Any) -> dict[str, Any]:
        """The vectors, or the matrix of distances between them."""
        fitted = None if isinstance(self.metric, str) and self.metric == "precomputed" else self.X
        return {"Y": self.X if rows is None else rows, "fitted_Y": fitted, "metric": self.metric}

    def part(self, index: Rows) -> OtherMade:
        """Some of its rows as they lie; others are projected by votes."""
        part = OtherMade(self.positions[index], self.X[index], self.metric)
        part.is_a_run = False
        return part


class OtherMaker(Maker):
    """A method of another library, on the rows X that its map is judged by.

    Parameters
    ----------
    method : `EstimatorMethod` or `FunctionMethod`.
    X : the judged rows.
    target : their target.
    metric : of distances between rows.
    seed : int
    """

    reseeds = True

    def __init__(self, method: EstimatorMethod | FunctionMethod, X: Numbers, target: Target, metric: Any, seed: int):
        self.method, self.columns, self.metric, self.seed = method, X, metric, seed
        self.name, self.n_rows = method.name, len(X)
        if method.needs_target and not target.exists:
            raise InputError(f"{method.name} needs a target: judge(method, X, y).")
        own = method.map_given(X)
        self.map: OtherMade = self._run(X, target) if own is None else self._of(own, X)
        self.plain_map = self._without_target(target)
        if target.exists:
            self.leaves_target_out = not method.takes_target or self._ignores(target, fresh=own is None)
        self.compares_plain = self.shows_plain = (
            target.exists and self.plain_map is not None and not self.leaves_target_out
        )
        if self.leaves_target_out:
            # The target has no part in any map, so that the one there is will do.
            self.plain_map = self.map
            self.notes = (f"The target does not change the map of {self.name}: permuted targets were judged on it.",)

    def _ignores(self, target: Target, *, fresh: bool) -> bool:
        """Whether the same seed gives the same map without the target: t-SNE takes one, and ignores it."""
        if self.plain_map is None:
            return False
        again = self.map if fresh else self._run(self.columns, target)
        return np.array_equal(again.positions, self.plain_map.positions)

    def _without_target(self, target: Target) -> OtherMade | None:
        if not target.exists:
            return self.map
        why = "makes none without it" if self.method.needs_target else None
        if why is None:
            try:
                return self._run(self.columns, None)
            except Exception as error:  # a method may fail in any way when the target is missing
                why = f"fails without it ({type(error).__name__})"
        self.limits = (f"whether the target sharpened the map, because {self.name} {why}.",)
        return None

    def _run(self, X: Numbers, target: Target | None, seed: int | None = None) -> OtherMade:
        y = target.values if target is not None and target.exists else None
        other = seed is not None
        return self._of(self.method.make(X, y, self.seed if seed is None else seed, reseed=other), X)

    def _of(self, result: tuple[Numbers, Any], X: Numbers) -> OtherMade:
        return OtherMade(*result[:1], X, self.metric, result[1], self._remark)

    def _remark(self, own: bool) -> None:
        """Note how held-out rows came onto a map."""
        note = (
            f"Held-out rows were projected by the transform of {self.name}."
            if own
            else f"Held-out rows went where most of their nearest fitted rows are: {self.name} projects none itself."
        )
        self.notes = (*self.notes, note) if note not in self.notes else self.notes

    def rows(self, index: Rows) -> Any:
        """Vectors."""
        return self.columns[index]

    def make(self, index: Rows, target: Target, plain: Made | None = None) -> Made:
        """By the method once more; where it makes nothing of the target, the rows as they lie."""
        if self.leaves_target_out:
            return self.map.part(index)
        return self._run(self.columns[index], target)

    def make_plain(self, index: Rows, effort: Effort = FULL) -> Made | None:
        """The method without a target."""
        if len(index) == self.n_rows:
            return self.plain_map
        return self._run(self.columns[index], None)

    def plain_of_part(self, plain: Made, index: Rows, effort: Effort) -> Made:
        """By the method once more if it projects rows itself."""
        assert isinstance(plain, OtherMade)
        if plain.transform is not None and (effort is FULL or self.leaves_target_out):
            return self._run(self.columns[index], None)
        return plain.part(index)

    def make_of(
        self, X: Numbers, target: Target | None = None, share: float | None = None, effort: Effort = FULL
    ) -> Made:
        """By the method, which may refuse such rows."""
        try:
            return self._run(X, target)
        except Exception as error:
            raise Refusal(self.name) from error

    def make_reseeded(self, target: Target) -> Made:
        """By the method, with another seed."""
        return self._run(self.columns, target, self.seed + 1)


class EstimatorMethod:
    """An estimator with `fit` or `fit_transform`, which is cloned and never changed."""

    def __init__(self, estimator: Any, *, supervised: bool = True):
        self.estimator = estimator
        self.name = type(estimator).__name__
        ways = [getattr(estimator, name) for name in ("fit_transform", "fit") if hasattr(estimator, name)]
        # scikit-learn's fit_transform takes a y that fit may need, or lack
        answers = [target_parameter(way) for way in ways]
        self.takes_target, self.needs_target = (any(part) for part in zip(*answers, strict=True))
        if not supervised:
            if self.needs_target:
                raise InputError(f"{self.name} needs a target and cannot be judged with supervised=False.")
            self.takes_target = False
        self.seeds = tuple(name for name in _params(estimator) if name.rpartition("__")[2] in SEED_NAMES)

    def map_given(self, X: Any) -> tuple[Numbers, Any] | None:
        """The positions that the estimator holds already, if it was fitted to as many rows, and its projection."""
        positions = getattr(self.estimator, "embedding_", None)
        if positions is None or np.ndim(positions) != 2 or len(positions) != len(X):
            return None
        return np.asarray(positions, dtype=np.float64), projection_of(self.estimator, X)

    def make(self, X: Any, y: Any = None, seed: int | None = None, *, reseed: bool = False) -> tuple[Numbers, Any]:
        """Positions of rows X by a clone, and its projection; `seed` where none was set, or in any case: `reseed`."""
        model = _copy(self.estimator)
        params = _params(model)
        seeds = {name: seed for name in self.seeds if reseed or params[name] is None}
        if seeds and seed is not None:
            model.set_params(**seeds)
        arguments = (X, y) if self.takes_target and y is not None else (X,)
        if hasattr(model, "fit_transform"):
            return as_positions(model.fit_transform(*arguments), X, self.name), projection_of(model, X)
        fitted = model.fit(*arguments)
        if isinstance(fitted, np.ndarray) and fitted.ndim == 2:  # openTSNE: an array that projects
            return as_positions(fitted, X, self.name), projection_of(fitted, X)
        positions = getattr(model, "embedding_", None)
        positions = model.transform(X) if positions is None and hasattr(model, "transform") else positions
        return as_positions(positions, X, self.name), projection_of(model, X)


class FunctionMethod:
    """A function of rows, and of their target if it takes two arguments, that returns positions."""

    needs_target = False  # it may refuse None: then there is no map without a target

    def __init__(self, function: Callable[..., Any], *, supervised: bool = True):
        self.function = function
        name = getattr(function, "__name__", type(function).__name__)
        self.name = "the function" if name == "<lambda>" else name
        parameters = _parameters(function)
        free = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.seeds = tuple(p.name for p in parameters if p.name in SEED_NAMES)
        self.takes_two = len(free) >= 2 and free[1].name not in self.seeds
        self.takes_target = self.takes_two and supervised

    def map_given(self, X: Any) -> None:
        """A function holds no map."""

    def make(self, X: Any, y: Any = None, seed: int | None = None, *, reseed: bool = False) -> tuple[Numbers, Any]:
        """Positions of rows X; a function projects no others."""
        arguments = (X, y if self.takes_target else None) if self.takes_two else (X,)
        options = dict.fromkeys(self.seeds, seed) if seed is not None else {}
        return as_positions(self.function(*arguments, **options), X, self.name), None


def method_of(subject: Any, *, supervised: bool = True) -> EstimatorMethod | FunctionMethod:
    """An estimator or a function as a method; without `supervised` it is not given the target."""
    if isinstance(subject, type):
        raise InputError(f"judge was given the class {subject.__name__}; give it an object: {subject.__name__}().")
    if hasattr(subject, "fit") or hasattr(subject, "fit_transform"):
        return EstimatorMethod(subject, supervised=supervised)
    if callable(subject):
        return FunctionMethod(subject, supervised=supervised)
    raise InputError(
        f"judge needs coordinates, an estimator with fit or fit_transform, or a function; got {type(subject).__name__}."
    )


def makes_maps(subject: Any) -> bool:
    """Whether something is a method rather than data."""
    return (
        isinstance(subject, type) or hasattr(subject, "fit") or hasattr(subject, "fit_transform") or callable(subject)
    )


def target_parameter(method: Callable[..., Any]) -> tuple[bool, bool]:
    """Whether a method takes a target, by the name of its parameter, and whether it needs one."""
    for parameter in _parameters(method):
        if parameter.name in TARGET_NAMES:
            return True, parameter.default is parameter.empty
    return False, False


def as_positions(result: Any, X: Any, name: str) -> Numbers:
    """What a method returned as positions, or a clear complaint about it."""
    if result is None:
        raise InputError(f"{name} gave no positions: it has neither fit_transform, nor embedding_, nor transform.")
    try:
        Y = np.asarray(result, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must return positions, rows by columns; got {type(result).__name__}.") from error
    if Y.ndim != 2 or len(Y) != len(X):
        raise InputError(f"{name} must return a position for each of the {len(X)} rows; got an array of {Y.shape}.")
    bad = int((~np.isfinite(Y)).any(axis=1).sum())
    if bad:
        raise InputError(f"{name} returned NaN or infinite positions for {bad} of {len(Y)} rows.")
    return Y


def projection_of(model: Any, X: Any) -> Callable[[Any], Any] | None:
    """How a fitted object projects, if it does; PaCMAP wants the fitted rows again, as `basis`."""
    transform = getattr(model, "transform", None)
    if transform is None or all(parameter.name != "basis" for parameter in _parameters(transform)):
        return transform
    return lambda new: transform(new, basis=X)


def _copy(estimator: Any) -> Any:
    return clone(estimator) if hasattr(estimator, "get_params") else copy.deepcopy(estimator)


def _params(estimator: Any) -> dict[str, Any]:
    return estimator.get_params() if hasattr(estimator, "get_params") else {}


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C: nothing is known of it
        return []
