"""Anything that makes maps, seen through `fit`, `transform`, `fit_transform` and `embedding_` alone."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from prismap.exceptions import InputError
from prismap.mappings import VoteMap

#: Names that methods give to their target and to their seed.
TARGET_NAMES = ("y", "target", "labels")
SEED_NAMES = ("random_state", "seed")


@dataclass(frozen=True)
class Made:
    """A map: positions of its rows, and how others are projected onto it (None: the method cannot)."""

    positions: np.ndarray
    transform: Callable[[Any], Any] | None = None

    def place(self, rows: Any, new: Any, metric: Any = "euclidean") -> tuple[np.ndarray, bool]:
        """Positions of `new` samples on this map of `rows`, and whether the method itself projected them.

        A method that cannot, or that fails to, leaves it to the votes of the nearest fitted samples.
        """
        if self.transform is not None:
            try:
                placed = np.asarray(self.transform(new), dtype=np.float64)
                if placed.shape == (len(new), self.positions.shape[1]) and np.isfinite(placed).all():
                    return placed, True
            except Exception:
                pass  # some libraries have a transform that works for some of their settings only
        return VoteMap(metric=metric).fit(rows, self.positions).transform(new), False


class EstimatorMaker:
    """An estimator with `fit` or `fit_transform`, which is cloned and never changed."""

    def __init__(self, estimator: Any, *, supervised: bool = True):
        self.estimator = estimator
        self.name = type(estimator).__name__
        ways = [getattr(estimator, name) for name in ("fit_transform", "fit") if hasattr(estimator, name)]
        found = [target_of(way) for way in ways]  # scikit-learn's fit_transform takes a y that fit may need, or lack
        self.takes_target, self.needs_target = (any(answers) for answers in zip(*found, strict=True))
        if not supervised:
            if self.needs_target:
                raise InputError(f"{self.name} needs a target and cannot be judged with supervised=False.")
            self.takes_target = False
        self.seeds = tuple(name for name in _params(estimator) if name.rpartition("__")[2] in SEED_NAMES)

    def map_given(self, X: Any) -> Made | None:
        """The map that the estimator holds already, if it was fitted to as many rows."""
        positions = getattr(self.estimator, "embedding_", None)
        if positions is None or np.ndim(positions) != 2 or len(positions) != len(X):
            return None
        return Made(np.asarray(positions, dtype=np.float64), projection_of(self.estimator, X))

    def make(self, X: Any, y: Any = None, seed: int | None = None, *, reseed: bool = False) -> Made:
        """A map of rows X by a clone; `seed` where none was set, or in any case with `reseed`."""
        model = _copy(self.estimator)
        params = _params(model)
        seeds = {name: seed for name in self.seeds if reseed or params[name] is None}
        if seeds and seed is not None:
            model.set_params(**seeds)
        arguments = (X, y) if self.takes_target and y is not None else (X,)
        if hasattr(model, "fit_transform"):
            return Made(as_positions(model.fit_transform(*arguments), X, self.name), projection_of(model, X))
        fitted = model.fit(*arguments)
        if isinstance(fitted, np.ndarray) and fitted.ndim == 2:  # openTSNE: an array that projects
            return Made(as_positions(fitted, X, self.name), projection_of(fitted, X))
        positions = getattr(model, "embedding_", None)
        positions = model.transform(X) if positions is None and hasattr(model, "transform") else positions
        return Made(as_positions(positions, X, self.name), projection_of(model, X))


class FunctionMaker:
    """A function of rows, and of their target if it takes two arguments, that returns positions."""

    def __init__(self, function: Callable[..., Any], *, supervised: bool = True):
        self.function = function
        name = getattr(function, "__name__", type(function).__name__)
        self.name = "the function" if name == "<lambda>" else name
        parameters = _parameters(function)
        free = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        self.seeds = tuple(p.name for p in parameters if p.name in SEED_NAMES)
        self.takes_two = len(free) >= 2 and free[1].name not in self.seeds
        self.takes_target = self.takes_two and supervised
        self.needs_target = False  # it may refuse None: then there is no map without a target

    def map_given(self, X: Any) -> None:
        """A function holds no map."""

    def make(self, X: Any, y: Any = None, seed: int | None = None, *, reseed: bool = False) -> Made:
        """A map of rows X."""
        arguments = (X, y if self.takes_target else None) if self.takes_two else (X,)
        options = dict.fromkeys(self.seeds, seed) if seed is not None else {}
        return Made(as_positions(self.function(*arguments, **options), X, self.name))


def maker_of(subject: Any, *, supervised: bool = True) -> EstimatorMaker | FunctionMaker:
    """What makes maps out of an estimator or a function; without `supervised` it is not given the target."""
    if isinstance(subject, type):
        raise InputError(f"judge was given the class {subject.__name__}; give it an object: {subject.__name__}().")
    if hasattr(subject, "fit") or hasattr(subject, "fit_transform"):
        return EstimatorMaker(subject, supervised=supervised)
    if callable(subject):
        return FunctionMaker(subject, supervised=supervised)
    raise InputError(
        f"judge needs coordinates, an estimator with fit or fit_transform, or a function; got {type(subject).__name__}."
    )


def makes_maps(subject: Any) -> bool:
    """Whether something is a method rather than data."""
    return (
        isinstance(subject, type) or hasattr(subject, "fit") or hasattr(subject, "fit_transform") or callable(subject)
    )


def target_of(method: Callable[..., Any]) -> tuple[bool, bool]:
    """Whether a method takes a target, by the name of its parameter, and whether it needs one."""
    for parameter in _parameters(method):
        if parameter.name in TARGET_NAMES:
            return True, parameter.default is parameter.empty
    return False, False


def as_positions(found: Any, X: Any, name: str) -> np.ndarray:
    """What a method returned as positions, or a clear complaint about it."""
    if found is None:
        raise InputError(f"{name} gave no positions: it has neither fit_transform, nor embedding_, nor transform.")
    try:
        Y = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must return positions, rows by columns; got {type(found).__name__}.") from error
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
