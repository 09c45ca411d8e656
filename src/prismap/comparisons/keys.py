"""Content keys: the same objects under the same comparison have the same key in every program, on every machine."""

from __future__ import annotations

import functools
import inspect
import pickle
from hashlib import blake2b
from typing import Any

import numpy as np


def digest(thing: Any) -> bytes:
    """Sixteen bytes that stand for the content of an object.

    Text, numbers, arrays and collections of them by their content, whatever their order in a set or a dictionary.
    Anything else by its pickle.

    >>> digest({"a": 1, "b": [2.0]}) == digest({"b": [2], "a": 1})
    True
    """
    if isinstance(thing, (bool, int, float, np.number, np.bool_)):
        number = float(thing)
        text = repr(int(thing)) if number.is_integer() else repr(number)
        return _hash(b"number", text.encode())
    if isinstance(thing, str):
        return _hash(b"text", thing.encode("utf-8", "surrogatepass"))
    if isinstance(thing, (bytes, bytearray)):
        return _hash(b"bytes", bytes(thing))
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        return _hash(b"array", str((thing.dtype.str, thing.shape)).encode(), np.ascontiguousarray(thing).tobytes())
    if isinstance(thing, (set, frozenset)):
        return _hash(b"set", *sorted(digest(part) for part in thing))
    if isinstance(thing, dict):
        return _hash(b"dict", *sorted(digest(key) + digest(value) for key, value in thing.items()))
    if isinstance(thing, (list, tuple, np.ndarray)):
        return _hash(b"list", *(digest(part) for part in thing))
    if thing is None:
        return _hash(b"none")
    return _hash(b"pickle", pickle.dumps(thing, protocol=4))


def function_digest(function: Any) -> bytes:
    """What a function computes, as far as one can see: its name, its text and the values it holds on to.

    Functions that it calls are not looked into; a cache of values does not notice when one of them changes.
    """
    if isinstance(function, functools.partial):
        return _hash(b"partial", function_digest(function.func), digest(function.args), digest(function.keywords))
    if not inspect.isfunction(function):
        return digest(function)
    try:
        text = inspect.getsource(function)
    except (OSError, TypeError):  # typed in at a prompt
        text = function.__code__.co_code.hex()
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    held = (*cells, *(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    parts = [function_digest(value) if callable(value) else digest(value) for value in held]
    return _hash(f"{function.__module__}.{function.__qualname__}".encode(), text.encode(), *parts)


def _hash(*parts: bytes) -> bytes:
    """Parts are told apart by their lengths."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()
