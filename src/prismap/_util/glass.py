"""Files of others read behind glass: by a child process with limits of time and memory, which may end in our place.

Some libraries believe what a file says: one changed byte sends HDF5 round in circles, or past the end of an array. Then
the child is ended, and the file refused. This is no sandbox: the child has the rights of its user.
"""

from __future__ import annotations

import importlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import IO, Any

from prismap.exceptions import FileFormatError, InputError, MissingExtraError

#: Seconds in which a child must be ready, whatever it reads: it imports the libraries that it needs.
START = 120.0
#: Bytes beyond those of the file's content that libraries may take on the way.
SLACK = 2**29


def behind_glass(work: Callable[..., Iterator[Any]], *args: Any, what: str, seconds: float, n_bytes: float) -> Any:
    """What the generator function ``work(*args)`` yields in a child process.

    Parameters
    ----------
    work : a generator function at the top of a module, which the child imports.
    *args : its arguments, and what it yields, can be pickled.
    what : how an error calls the file.
    seconds : time for each value.
    n_bytes : memory of the child beyond what it has when it begins, where the system has such limits.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import serve; serve()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        task = (work.__module__, work.__name__, args, int(n_bytes) + SLACK, int(seconds) + int(START))
        kind, value = _receive(process, START, what, task)
        while kind != "end":
            if kind == "error":
                raise value
            if kind == "value":
                yield value
            kind, value = _receive(process, seconds, what)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
        with suppress(BrokenPipeError):  # what the child has not read
            process.stdin.close()  # type: ignore[union-attr]


def _receive(
    process: subprocess.Popen[bytes], seconds: float, what: str, task: tuple[Any, ...] | None = None
) -> tuple[str, Any]:
    """The next message of a child, or why there is none.

    A task is handed over first, within the same time: a large one waits for the child, which may be stuck.
    """
    late = threading.Event()

    def end() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(seconds, end)
    timer.start()
    try:
        if task is not None:
            with suppress(BrokenPipeError):  # the child has ended; how is seen below
                pickle.dump(task, process.stdin)  # type: ignore[arg-type]
                process.stdin.close()  # type: ignore[union-attr]
        message: tuple[str, Any] = pickle.load(process.stdout)  # type: ignore[arg-type]
        return message
    except (EOFError, pickle.UnpicklingError) as error:
        if late.is_set():
            raise FileFormatError(f"{what} cannot be read: it took more than {seconds:.0f} seconds.") from error
        code = process.wait()
        name = signal.Signals(-code).name if code < 0 else f"code {code}"
        raise FileFormatError(f"{what} cannot be read: the process that read it ended ({name}).") from error
    finally:
        timer.cancel()


def serve() -> None:
    """Run the task that comes in, and send what it yields: in the child."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no message
    module, name, args, n_bytes, seconds = pickle.load(sys.stdin.buffer)
    work = getattr(importlib.import_module(module), name)
    _limit(n_bytes, seconds)
    _send(out, "ready", None)
    try:
        for value in work(*args):
            _send(out, "value", value)
        _send(out, "end", None)
    except MemoryError:
        _send(out, "error", InputError("it needs more memory than it may take."))
    except (InputError, MissingExtraError) as error:
        _send(out, "error", error)
    except Exception as error:
        what = " ".join(str(error).split()) or type(error).__name__
        _send(out, "error", RuntimeError(what))


def _send(out: IO[bytes], kind: str, value: Any) -> None:
    pickle.dump((kind, value), out, protocol=5)
    out.flush()


def _limit(n_bytes: int, seconds: int) -> None:
    """Limits of this process; its time ends too if there is no parent any more."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        _, hardest = resource.getrlimit(resource.RLIMIT_CPU)
        most = seconds if hardest == resource.RLIM_INFINITY else min(seconds, hardest)
        resource.setrlimit(resource.RLIMIT_CPU, (most, hardest))
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        limits = [used + n_bytes, *(one for one in (soft, hard) if one != resource.RLIM_INFINITY)]
        resource.setrlimit(resource.RLIMIT_AS, (min(limits), hard))
