"""Normalised compression distance: how much shorter two texts are when compressed together (Cilibrasi, Vitanyi 2005).

``d(x, y) = (C(xy) - min(C(x), C(y))) / max(C(x), C(y))``, where C is the length after compression. The shorter of two
texts (the smaller, if they are equally long) comes first, which makes the distance symmetric, and equal texts are at
distance 0. zlib looks back 32 kilobytes: use "lzma" for texts longer than half of that.
"""

from __future__ import annotations

import bz2
import lzma
import zlib
from typing import Any, NamedTuple

from prismap.exceptions import InputError

COMPRESSORS = {"zlib": lambda text: zlib.compress(text, 9), "bz2": bz2.compress, "lzma": lzma.compress}


class Compressed(NamedTuple):
    """A text and its length after compression."""

    text: bytes
    size: int


def prepare(thing: Any, compressor: str = "zlib") -> Compressed:
    """A text with its compressed length."""
    if isinstance(thing, Compressed):
        return thing
    if not isinstance(thing, (str, bytes, bytearray)):
        raise TypeError("text is needed")
    text = thing.encode("utf-8", "surrogatepass") if isinstance(thing, str) else bytes(thing)
    return Compressed(text, compressed_size(text, compressor))


def compressed_size(text: bytes, compressor: str) -> int:
    """Bytes after compression."""
    if compressor not in COMPRESSORS:
        raise InputError(f"compressor must be one of {', '.join(COMPRESSORS)}; got {compressor!r}.")
    return len(COMPRESSORS[compressor](text))


def compression_distance(a: Any, b: Any, compressor: str = "zlib") -> float:
    """Normalised compression distance of two texts, near 0 if they share all and near 1 if they share nothing.

    >>> song, other = "round and round the garden, like a teddy bear; ", "one step, two step, tickly under there"
    >>> compression_distance(song * 3, song * 4) < compression_distance(song * 3, other)
    True
    """
    a, b = prepare(a, compressor), prepare(b, compressor)
    if a.text == b.text:
        return 0.0
    first, second = sorted((a, b), key=lambda one: (len(one.text), one.text))
    together = compressed_size(first.text + second.text, compressor)
    share: float = (together - min(a.size, b.size)) / max(a.size, b.size)
    return share
