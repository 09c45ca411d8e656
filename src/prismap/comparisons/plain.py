"""Objects as plain values of JSON, and back: what a file without pickle can hold, and what tells equal objects."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from prismap.comparisons.running import shortened
from prismap.exceptions import FileFormatError, InputError

#: Keys of one-entry dictionaries that stand for what JSON does not know.
SET, BYTES, TUPLE = "prismap.set", "prismap.bytes", "prismap.tuple"


def to_plain(thing: Any) -> Any:
    """Text, numbers, lists, dictionaries, sets, tuples, bytes and arrays (as lists) in plain values.

    >>> to_plain({"nodes": np.array([1, 2]), "tags": {"b", "a"}})
    {'nodes': [1, 2], 'tags': {'prismap.set': ['a', 'b']}}
    """
    if isinstance(thing, np.generic):
        thing = thing.item()
    if isinstance(thing, (str, bool, int, float, type(None))):
        return thing
    if isinstance(thing, np.ndarray):
        return [to_plain(part) for part in thing.tolist()]
    if isinstance(thing, list):
        return [to_plain(part) for part in thing]
    if isinstance(thing, tuple):
        return {TUPLE: [to_plain(part) for part in thing]}
    if isinstance(thing, (set, frozenset)):
        return {SET: sorted((to_plain(part) for part in thing), key=lambda part: json.dumps(part, sort_keys=True))}
    if isinstance(thing, (bytes, bytearray)):
        return {BYTES: bytes(thing).hex()}
    if isinstance(thing, dict) and all(isinstance(key, str) for key in thing):
        return {key: to_plain(value) for key, value in thing.items()}
    raise InputError(f"{shortened(thing)} ({type(thing).__name__}) has no form in JSON.")


def from_plain(value: Any) -> Any:
    """The inverse of `to_plain`; arrays stay lists."""
    if isinstance(value, list):
        return [from_plain(part) for part in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {SET}:
        return {_hashable(from_plain(part)) for part in value[SET]}
    if value.keys() == {BYTES}:
        return bytes.fromhex(value[BYTES])
    if value.keys() == {TUPLE}:
        return tuple(from_plain(part) for part in value[TUPLE])
    return {key: from_plain(part) for key, part in value.items()}


def _hashable(part: Any) -> Any:
    return frozenset(part) if isinstance(part, set) else part


def pack(objects: list[Any]) -> np.ndarray:
    """Objects as bytes of JSON; one that has no such form is named by its number."""
    plain = []
    for k, thing in enumerate(objects):
        try:
            plain.append(to_plain(thing))
        except InputError as error:
            raise InputError(
                f"object {k:,} cannot be saved: {error} Use text, numbers, lists or dictionaries."
            ) from error
    return np.frombuffer(json.dumps(plain, ensure_ascii=True).encode(), dtype=np.uint8)


def unpack(packed: np.ndarray) -> list[Any]:
    """The objects of `pack`."""
    try:
        plain = json.loads(packed.tobytes())
        if not isinstance(plain, list):
            raise ValueError("no list")
        return [from_plain(value) for value in plain]
    except (ValueError, TypeError, RecursionError) as error:
        raise FileFormatError(f"the stored objects are damaged: {error}.") from error
