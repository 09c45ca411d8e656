"""One binary form for everything the page reads: a JSON header, then little-endian arrays.

    b"PRSM" | uint32 length of the header | header (JSON, UTF-8, spaces up to 8 bytes) | arrays, each on 8 bytes
    | SHA-256 of all that stands before it

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

from prismap.bundle._json import check_form, parse_json, seal_bytes, unseal_bytes

MAGIC = b"PRSM"
ALIGNMENT = 8
#: What the header says of an array.
REFERENCE = {"dtype": str, "shape": [int], "offset": int}
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
        raw += b"\0" * (-len(raw) % ALIGNMENT if raw else ALIGNMENT)  # also an empty array has a place of its own
        self._chunks.append(raw)
        self._length += len(raw)
        return reference

    def finish(self, header: Mapping[str, Any]) -> bytes:
        """The whole message."""
        text = json.dumps(plain(header), ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        text += b" " * (-(len(text) + len(MAGIC) + 4) % ALIGNMENT)
        return seal_bytes(b"".join([MAGIC, len(text).to_bytes(4, "little"), text, *self._chunks]))


def unpack(message: bytes) -> tuple[dict[str, Any], dict[int, NDArray[Any]]]:
    """Header and arrays by offset: the counterpart of the page's decoder. Arrays are views of the message.

    No two of them share a byte, so that together they are no larger than the message.
    """
    content = unseal_bytes(message)
    if content[:4] != MAGIC:
        raise ValueError("not a packed page")
    length = int.from_bytes(content[4:8], "little")
    if 8 + length > len(content):
        raise ValueError("its header is cut short")
    header = parse_json(bytes(content[8 : 8 + length]))
    arrays, room = {}, content[8 + length :]
    end = 0
    for reference in sorted(_references(header), key=_checked_offset):
        offset, n_bytes = reference["offset"], _checked_bytes(reference)
        if offset < end or offset % ALIGNMENT or offset + n_bytes > len(room):
            raise ValueError(f"its arrays share bytes or are cut short at {offset}")
        flat = np.frombuffer(room[offset : offset + n_bytes], f"<{reference['dtype']}")
        arrays[offset], end = flat.reshape(reference["shape"]), max(offset + n_bytes, offset + 1)
    return header, arrays


def _checked_offset(reference: dict[str, Any]) -> int:
    check_form(reference, REFERENCE, "an array")
    return int(reference["offset"])


def _checked_bytes(reference: dict[str, Any]) -> int:
    """Bytes that an array takes by its type and shape."""
    dtype, shape = reference["dtype"], reference["shape"]
    if dtype not in DTYPES:
        raise ValueError(f"it holds arrays of type {dtype[:20]}")
    if len(shape) > 4 or min(shape, default=0) < 0:
        raise ValueError(f"it holds an array of shape {shape[:5]}")
    return int(math.prod(shape)) * int(dtype[1])


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
