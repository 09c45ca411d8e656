"""Parameters as JSON: plain values as they are, the library's own estimators by class and parameters, nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap import embeddings, mappings, metrics
from prismap.exceptions import InputError

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
    kind = type(value).__name__
    if known_classes().get(kind) is not type(value):
        raise InputError(f"{name}={value!r} is an object, which a file cannot hold; use a name.")
    return {"class": kind, "params": {key: to_spec(own, name) for key, own in value.get_params(deep=False).items()}}


def from_spec(spec: Any) -> Any:
    """The value of a header."""
    if isinstance(spec, PLAIN):
        return spec
    make = known_classes()[spec["class"]]
    return make(**{key: from_spec(value) for key, value in spec["params"].items()})
