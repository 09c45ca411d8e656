"""Parameters as JSON: plain values as they are, the library's own estimators by class and parameters, nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap import embeddings, mappings, metrics
from prismap.exceptions import InputError
from prismap.metrics.objects import Objects, objects_from_spec, objects_to_spec

PLAIN = (str, int, float, bool, type(None))


def known_classes() -> dict[str, Any]:
    """The estimators that a file may name."""
    rooms = (embeddings, mappings, metrics)
    found = {name: getattr(room, name) for room in rooms for name in room.__all__}
    return {name: kind for name, kind in found.items() if isinstance(kind, type) and hasattr(kind, "get_params")}


def to_spec(value: Any, name: str) -> Any:
    """The value of parameter `name` for a header of JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, Objects):
        return {"objects": objects_to_spec(value)}
    kind = type(value).__name__
    if known_classes().get(kind) is not type(value):
        raise InputError(f"{name}={value!r} is an object, which a file cannot hold; use a name.")
    return {"class": kind, "params": {key: to_spec(own, name) for key, own in value.get_params(deep=False).items()}}


def from_spec(spec: Any, compare: Any = None) -> Any:
    """The value of a header; `compare` stands in for a function of the user's, which a file cannot hold."""
    if isinstance(spec, PLAIN):
        return spec
    if "objects" in spec:
        return objects_from_spec(spec["objects"], compare)
    make = known_classes()[spec["class"]]
    return make(**{key: from_spec(value, compare) for key, value in spec["params"].items()})


def objects_spec(params: dict[str, Any]) -> dict[str, Any] | None:
    """What the header says of the comparison of objects; None where the data are none."""
    data = params["data"]
    if isinstance(data, str):
        return None
    if "objects" not in data:
        data = data["params"].get("how", {})
    return data.get("objects")
