"""Parameters as JSON: plain values as they are, the library's own estimators by class and parameters, nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap import embeddings, mappings, metrics
from prismap.exceptions import InputError
from prismap.metrics._objects import Objects, objects_from_spec, objects_to_spec

PLAIN = (str, int, float, bool, type(None))
#: Parameters that may be lists, of several targets, and what may stand in these.
LISTS, LISTED = ("target", "weights"), (str, int, float)
#: Estimators within estimators, at most.
MOST_DEPTH = 4
#: Parameters by which the work of loading a map or of placing a row grows, and their largest values in a file.
MOST_WORK = {"n_segments": 4096, "n_init": 1000, "n_epochs": 10_000, "n_weight_iter": 10_000, "max_iter": 10**6}


def known_classes() -> dict[str, Any]:
    """The estimators that a file may name."""
    rooms = (embeddings, mappings, metrics)
    names = {name: kind for room in rooms for name, kind in vars(room).items()}
    return {name: kind for name, kind in names.items() if isinstance(kind, type) and hasattr(kind, "get_params")}


def to_spec(value: Any, name: str, depth: int = 0) -> Any:
    """The value of parameter `name` for a header of JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        if _too_much(name, value):
            raise InputError(f"{name}={value!r} cannot be saved: a file holds at most {MOST_WORK[name]}.")
        return value
    if name in LISTS and isinstance(value, (list, tuple, np.ndarray)):
        listed = value.tolist() if isinstance(value, np.ndarray) else list(value)
        if all(isinstance(one, LISTED) for one in listed):
            return listed
    if isinstance(value, Objects):
        return {"objects": objects_to_spec(value)}
    kind = type(value).__name__
    if known_classes().get(kind) is not type(value) or depth == MOST_DEPTH:
        raise InputError(f"{name}={value!r} is an object, which a file cannot hold; use a name.")
    params = value.get_params(deep=False).items()
    return {"class": kind, "params": {key: to_spec(own, key, depth + 1) for key, own in params}}


def from_spec(spec: Any, name: str = "", compare: Any = None, depth: int = 0) -> Any:
    """The value of parameter `name` in a header: a plain one, or an estimator that is made and not fitted.

    `compare` stands in for a function of the user's, which a file cannot hold.
    """
    if isinstance(spec, PLAIN):
        if _too_much(name, spec):
            raise ValueError(f"its {name} is {spec}, more than {MOST_WORK[name]}")
        return spec
    if name in LISTS and isinstance(spec, list) and all(isinstance(one, LISTED) for one in spec):
        return spec
    if not isinstance(spec, dict):
        raise ValueError(f"its parameter {name} is neither a plain value nor an estimator")
    if "objects" in spec:
        return objects_from_spec(spec["objects"], compare)
    if set(spec) != {"class", "params"} or not isinstance(spec["params"], dict):
        raise ValueError(f"its parameter {name} is neither a plain value nor an estimator")
    if depth == MOST_DEPTH:
        raise ValueError(f"its parameters lie more than {MOST_DEPTH} estimators deep")
    make = known_classes().get(spec["class"]) if isinstance(spec["class"], str) else None
    if make is None:
        raise ValueError(f"its parameter {name} names no estimator that a file may hold")
    return make(**{key: from_spec(value, key, compare, depth + 1) for key, value in spec["params"].items()})


def _too_much(name: str, value: Any) -> bool:
    return name in MOST_WORK and isinstance(value, (int, float)) and not value <= MOST_WORK[name]


def objects_spec(params: dict[str, Any]) -> dict[str, Any] | None:
    """What the header says of the comparison of objects; None where the data are no objects."""
    data = params["data"]
    if isinstance(data, str):
        return None
    if "objects" not in data:
        data = data["params"].get("how", {})
    spec: dict[str, Any] | None = data.get("objects")
    return spec
