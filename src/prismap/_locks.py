"""A folder for one run at a time: a lock of the system, which ends with its process however that ends."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from prismap.exceptions import InputError


@contextmanager
def locked_folder(folder: Path, *, refusal: str | None = None) -> Iterator[None]:
    """Hold the lock of `folder`: wait for it, or refuse with these words if another run has it.

    Systems and network file systems without such locks go on without.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if refusal is None else fcntl.LOCK_NB))
    except BlockingIOError as error:
        os.close(handle)
        raise InputError(refusal or f"{folder} is in use.") from error
    except OSError:
        pass
    try:
        yield
    finally:
        os.close(handle)
