"""Locks on files and folders, and renames, that hold on Linux, macOS and Windows."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

from prismap.exceptions import InputError

#: Seconds between two tries for a lock of Windows, whose own waiting cannot be interrupted and ends after ten seconds.
_LOCK_PAUSE = 0.1
#: Seconds between the tries of a rename on Windows.
_RENAME_PAUSES = (0.01, 0.05, 0.1, 0.3, 0.5)


@contextmanager
def locked_folder(folder: Path, *, refusal: str | None = None) -> Iterator[None]:
    """Hold the lock of `folder`: wait for it, or refuse with these words if another run has it.

    The system releases the lock when the process ends, however it ends. Systems and network file systems without locks
    go on without. On Windows the lock is seen by runs of the same user on the same machine only.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(_system_lock(folder, wait=refusal is None))
        except BlockingIOError as error:
            raise InputError(refusal or f"{folder} is in use.") from error
        yield


def lock_if_free(path: Path) -> ExitStack | None:
    """The lock of a file or folder, held until it is closed; None if it is taken, here or in another process."""
    stack = ExitStack()
    try:
        stack.enter_context(_system_lock(path, wait=False))
    except BlockingIOError:
        return None
    return stack


@contextmanager
def claimed(path: Path) -> Iterator[None]:
    """Let other processes see that this one works on a file or folder (POSIX; elsewhere nothing happens)."""
    with ExitStack() as stack:
        with suppress(ImportError, OSError):
            stack.enter_context(_flock(import_module("fcntl"), path, wait=False))
        yield


def is_claimed(path: Path) -> bool | None:
    """Whether a process works on a file or folder; None where the system cannot tell."""
    try:
        fcntl = import_module("fcntl")
    except ImportError:
        return None
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a network file system without locks
        return None
    finally:
        os.close(handle)
    return False


def replace_path(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """`os.replace`; on Windows it is tried for a second.

    Windows refuses to rename what another program has open, and virus scanners open new files for a moment.
    """
    for pause in _RENAME_PAUSES if sys.platform == "win32" else ():
        try:
            os.replace(source, target)
            return
        except PermissionError:
            time.sleep(pause)
    os.replace(source, target)


def _system_lock(folder: Path, *, wait: bool) -> AbstractContextManager[None]:
    """The lock that this system has; entering it raises BlockingIOError if it is taken and `wait` is False."""
    for name, lock in (("fcntl", _flock), ("msvcrt", _locked_byte)):
        try:
            module = import_module(name)
        except ImportError:
            continue
        return lock(module, folder, wait=wait)
    return nullcontext()


@contextmanager
def _flock(fcntl: ModuleType, folder: Path, *, wait: bool) -> Iterator[None]:
    """A lock on the folder itself (POSIX)."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            raise
        except OSError:  # a network file system without locks
            pass
        yield
    finally:
        os.close(handle)


@contextmanager
def _locked_byte(msvcrt: ModuleType, folder: Path, *, wait: bool) -> Iterator[None]:
    """A lock on one byte of a file of the user's temporary folder, because Windows does not open folders."""
    name = hashlib.sha256(os.fsencode(os.path.normcase(folder.resolve()))).hexdigest()[:32]
    handle = os.open(Path(tempfile.gettempdir()) / f"prismap-{name}.lock", os.O_RDWR | os.O_CREAT)
    try:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
                break
            except PermissionError as error:
                if not wait:
                    raise BlockingIOError(f"{folder} is locked") from error
            time.sleep(_LOCK_PAUSE)
        try:
            yield
        finally:
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
    finally:
        os.close(handle)
