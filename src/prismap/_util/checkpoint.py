"""Long work that goes on where it was when it was killed: its state in a folder, written now and then."""

from __future__ import annotations

import os
import time
import zipfile
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._util.locks import replace_path
from prismap.exceptions import InputError

#: Seconds between two writings of a state that changes all the time.
SECONDS_BETWEEN = 120.0


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

    def load(self) -> dict[str, np.ndarray] | None:
        """The state by name, or None where there is none, or none that can be read."""
        try:
            with open(self.path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
                state = dict(file)
        except (OSError, ValueError, EOFError, zipfile.BadZipFile):
            return None
        if str(state.pop("key", "")) != self.key:
            raise InputError(
                f"checkpoint: {self.path} belongs to a fit of other samples, targets or parameters. Name another "
                "folder, or delete this one to begin anew."
            )
        return state

    def save(self, **state: Any) -> None:
        """Write the state; a process that is killed while writing leaves the one before."""
        new = self.path.with_suffix(".new")
        with open(new, "wb") as file:
            np.savez(file, key=np.array(self.key), **state)
            file.flush()
            os.fsync(file.fileno())
        replace_path(new, self.path)
        self._last = time.monotonic()

    def is_due(self) -> bool:
        """Whether the state was written long ago."""
        return time.monotonic() - self._last >= SECONDS_BETWEEN

    def clear(self) -> None:
        """The work is done: remove its state, and the folder if nothing else is in it."""
        self.path.unlink(missing_ok=True)
        if not any(self.path.parent.iterdir()):
            self.path.parent.rmdir()
