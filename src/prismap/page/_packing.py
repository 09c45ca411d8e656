"""One binary form for everything the page reads: a JSON header, then little-endian arrays.

    b"PRSM" | uint32 length of the header | header (JSON, UTF-8, spaces up to 8 bytes) | arrays, each on 8 bytes

An array in the header is ``{"dtype": "f4", "shape": [n, 2], "offset": bytes after the header}``. The self-contained
file holds it gzipped in base64, the live explorer sends it as it is, the notebook widget hands it over as bytes: one
decoder in the page.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"PRSM"
ALIGNMENT = 8
DTYPES = ("i1", "i2", "i4", "u1", "u2", "u4", "f4", "f8")


class Packer:
    """Collects arrays while the header that refers to them is written."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._length = 0

    def add(self, array: NDArray[Any]) -> dict[str, Any]:
        """Append an array and return what the header says about it."""
        name = array.dtype.str[1:]
        if name not in DTYPES:
            raise TypeError(f"cannot pack dtype {array.dtype}; one of {', '.join(DTYPES)} is needed")
        raw = np.ascontiguousarray(array, dtype=f"<{name}").tobytes()
        reference = {"dtype": name, "shape": list(array.shape), "offset": self._length}
        raw += b"\0" * (-len(raw) % ALIGNMENT)
        self._chunks.append(raw)
        self._length += len(raw)
        return reference

    def finish(self, header: Mapping[str, Any]) -> bytes:
        """The whole message."""
        text = json.dumps(plain(header), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        text += b" " * (-(len(text) + len(MAGIC) + 4) % ALIGNMENT)
        return b"".join([MAGIC, len(text).to_bytes(4, "little"), text, *self._chunks])


def unpack(message: bytes) -> tuple[dict[str, Any], dict[int, NDArray[Any]]]:
    """Header and arrays by offset: the counterpart of the page's decoder, for checks and tests."""
    if message[:4] != MAGIC:
        raise ValueError("not a packed page")
    length = int.from_bytes(message[4:8], "little")
    header = json.loads(message[8 : 8 + length])
    start = 8 + length
    arrays = {}
    for reference in _references(header):
        if reference["dtype"] not in DTYPES:
            raise ValueError(f"it holds arrays of type {reference['dtype']}")
        count = math.prod(reference["shape"])
        flat = np.frombuffer(message, f"<{reference['dtype']}", count, start + reference["offset"])
        arrays[reference["offset"]] = flat.reshape(reference["shape"])
    return header, arrays


def _references(node: Any) -> Iterable[dict[str, Any]]:
    if isinstance(node, dict):
        if set(node) == {"dtype", "shape", "offset"}:
            yield node
        else:
            for child in node.values():
                yield from _references(child)
    elif isinstance(node, list):
        for child in node:
            yield from _references(child)


def plain(value: Any) -> Any:
    """JSON-ready: numpy scalars and small arrays become Python values, NaN and infinity become null."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return str(value)
