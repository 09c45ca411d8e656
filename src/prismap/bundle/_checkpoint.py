"""Long work that goes on where it was when it was killed: its state in a folder, written now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from prismap.bundle._archive import read_bundle, write_bundle
from prismap.bundle._aside import remove_leftovers, set_aside
from prismap.bundle._json import reason_of
from prismap.exceptions import FileFormatError, InputError

#: Seconds between two writings of a state that changes all the time.
SECONDS_BETWEEN = 120.0
KIND = "prismap.checkpoint"
#: Room for what a file holds beside its arrays.
_SPARE_BYTES = 2**16


class State(NamedTuple):
    """Arrays by name, and plain values by name."""

    arrays: dict[str, np.ndarray]
    values: dict[str, Any]


def fingerprint(*parts: Any) -> str:
    """A short name for arrays, sparse matrices and plain values: equal for equal ones, and only for them."""
    digest = blake2b(digest_size=16)
    for part in parts:
        if sp.issparse(part):
            digest.update(fingerprint(part.data, part.indices, part.indptr).encode())
        elif isinstance(part, np.ndarray):
            digest.update(repr((part.dtype.str, part.shape)).encode())
            digest.update(np.ascontiguousarray(part).data)
        else:
            digest.update(repr(part).encode())
    return digest.hexdigest()


class Checkpoint:
    """One file of a folder that holds the state of one piece of work.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    name : str
        The piece of work.
    key : str
        `fingerprint` of all that decides its result. The state of other work is refused.
    """

    def __init__(self, folder: Any, name: str, key: str) -> None:
        self.path, self.key = Path(folder) / f"{name}.npz", key
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._last = time.monotonic()
        remove_leftovers(self.path)

    def load(self, shapes: Mapping[str, tuple[int, ...]], check: Callable[[State], None]) -> State | None:
        """The state, or None where there is none.

        Its arrays must have these shapes, of numbers of at most 8 bytes, so that its size is known before it is read.
        `check` raises ValueError if the values are not those of any state of this work. What cannot be trusted is set
        aside with a warning, and the work begins anew.
        """
        if not self.path.exists():
            return None
        try:
            most_bytes = sum(8 * int(np.prod(shape)) + _SPARE_BYTES for shape in shapes.values()) + _SPARE_BYTES
            bundle = read_bundle(self.path, max_bytes=most_bytes)
            if bundle.header.get("kind") != KIND:
                raise FileFormatError("it is no checkpoint")
            if bundle.header.get("key") == self.key:
                state = State(bundle.arrays, bundle.header["state"])
                _check_shapes(state.arrays, shapes)
                check(state)
                return state
        except (ValueError, KeyError, TypeError, ArithmeticError, OSError) as error:
            set_aside(self.path, reason_of(error), "The work begins anew.")
            return None
        raise InputError(
            f"checkpoint: {self.path} belongs to a fit of other samples, targets or parameters. Name another "
            "folder, or delete this one to begin anew."
        )

    def save(self, arrays: Mapping[str, np.ndarray], **values: Any) -> None:
        """Write the state; a process that is killed while writing leaves the one before."""
        write_bundle(self.path, arrays, {"kind": KIND, "key": self.key, "state": values})
        self._last = time.monotonic()

    def is_due(self) -> bool:
        """Whether the state was written long ago."""
        return time.monotonic() - self._last >= SECONDS_BETWEEN

    def clear(self) -> None:
        """The work is done: remove its state, and the folder if nothing else is in it."""
        self.path.unlink(missing_ok=True)
        if not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()


def _check_shapes(arrays: Mapping[str, np.ndarray], shapes: Mapping[str, tuple[int, ...]]) -> None:
    if arrays.keys() != shapes.keys():
        raise ValueError(f"it holds {', '.join(sorted(arrays))} and not {', '.join(sorted(shapes))}")
    for name, shape in shapes.items():
        if arrays[name].shape != shape or arrays[name].dtype.str not in ("<f4", "<f8", "<i4", "<i8"):
            raise ValueError(f"{name} has shape {arrays[name].shape} of {arrays[name].dtype} and not {shape}")
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"{name} holds values that are not finite")
