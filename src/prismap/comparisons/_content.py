"""The content of an object in three forms: a key, plain values of JSON, and a line of text."""

from __future__ import annotations

import functools
import inspect
import json
import pickle
from collections import Counter
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.comparisons._running import shortened
from prismap.exceptions import FileFormatError, InputError

# Keys: the same objects under the same comparison have the same key in every program, on every machine


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
    """Sixteen bytes that stand for a function: its name, its source and the values it holds.

    Functions that it calls are not read, so a cache of values does not notice when one of them changes.
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
    """Each part is preceded by its length, so that no two lists of parts give the same bytes."""
    state = blake2b(digest_size=16)
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.digest()


# Plain values: what a file without pickle can hold

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


# Text: what a page shows of an object, and a message of a report

#: Letters of an object that are shown.
MOST_LETTERS = 200
#: Heights of a series drawn with letters, and moments of it at most.
BARS, MOST_BARS = "▁▂▃▄▅▆▇█", 60


def shown_text(thing: Any) -> str:
    """Text as it is, series and histograms as small pictures of bars, graphs by their nodes and edges, trees as terms.

    Examples
    --------
    >>> shown_text([0.0, 1.0, 2.0, 1.0])
    '▁▅█▅ (4 values, 0 to 2)'
    >>> shown_text({"nodes": ["C", "C", "O"], "edges": [[0, 1], [1, 2]]})
    '3 nodes (2 C, 1 O), 2 edges: C-C, C-O'
    >>> shown_text(["f", ["d", "a", "b"], "e"])
    'f(d(a, b), e)'
    >>> shown_text({"milk", "bread"})
    'bread, milk'
    """
    text = " ".join(_text(thing).split())
    return text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…"


def _text(thing: Any) -> str:
    if isinstance(thing, str):
        return thing
    if isinstance(thing, (set, frozenset)):
        return ", ".join(sorted(map(str, thing)))
    if isinstance(thing, dict) and "nodes" in thing and "edges" in thing:
        return _graph(thing["nodes"], thing["edges"])
    numbers = _numbers(thing)
    if numbers is not None:
        return _bars(numbers)
    if isinstance(thing, (list, tuple)) and thing and isinstance(thing[0], str):
        nested = any(isinstance(part, (list, tuple)) for part in thing)
        return _tree(thing) if nested else " ".join(map(str, thing))
    return repr(thing)


def _numbers(thing: Any) -> NDArray[Any] | None:
    """A series as an array (time, channels), or None."""
    if not isinstance(thing, (list, tuple, np.ndarray)) or not len(thing):
        return None
    try:
        array = np.asarray(thing, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array.reshape(len(array), -1) if array.ndim in (1, 2) and np.isfinite(array).all() else None


def _bars(series: NDArray[Any]) -> str:
    """A channel as a row of bars, long ones by the means of equal parts."""
    pictures = []
    for channel in series.T:
        parts = [part.mean() for part in np.array_split(channel, min(len(channel), MOST_BARS))]
        low, high = channel.min(), channel.max()
        width = high - low or 1.0
        pictures.append("".join(BARS[min(7, int(8 * (part - low) / width))] for part in parts))
    what = f"{len(series)} values" if series.shape[1] == 1 else f"{len(series)} moments"
    return f"{' | '.join(pictures[:3])} ({what}, {series.min():.3g} to {series.max():.3g})"


def _graph(nodes: Any, edges: Any) -> str:
    """Numbers of nodes by label, and the edges as pairs of labels."""
    labels = [""] * int(nodes) if isinstance(nodes, (int, np.integer)) else [str(label) for label in nodes]
    counts = ", ".join(f"{count} {label}".strip() for label, count in Counter(labels).most_common(6))
    named = any(labels)
    ends = (f"{labels[i]}-{labels[j]}" if named else f"{i}-{j}" for i, j in edges)
    kinds = f" ({counts})" if named else ""
    return f"{len(labels)} nodes{kinds}, {len(edges)} edges: {', '.join(ends)}"


def _tree(node: Any) -> str:
    """A label with its children in brackets."""
    if not isinstance(node, (list, tuple)):
        return str(node)
    label, *children = node
    return f"{label}({', '.join(map(_tree, children))})" if children else str(label)
