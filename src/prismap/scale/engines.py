"""Three ways to run parts: here, in a pool of processes that outlives its dead, and on a Dask cluster.

Each takes parts and a picklable ``job(part) -> Mapped`` and yields results as they come.
"""

from __future__ import annotations

import logging
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from threading import Thread
from typing import Any

from prismap._optional import import_extra
from prismap.scale.records import Mapped, Part, failed

#: How often a part whose worker dies is tried, the first time included; and how many deaths a run survives.
MOST_TRIES, MOST_DEATHS = 3, 20
_DIED = (
    "its worker process died {} times (out of memory, or killed). In a script, the call must stand under "
    "`if __name__ == '__main__':`"
)

log = logging.getLogger(__name__)
Job = Callable[[Part], Mapped]


def n_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_here(parts: Iterable[Part], job: Job) -> Iterator[Mapped]:
    """One after the other, in this process."""
    return map(job, parts)


# A pool of processes


def run_pool(parts: Iterable[Part], job: Job, n_workers: int) -> Iterator[Mapped]:
    """In `n_workers` processes. When one dies the pool is made anew; what was lost is done last, one part at a time.

    One at a time, because a pool does not tell which of its parts killed it.
    """
    waiting, lost = deque(parts), deque[Part]()
    deaths: Counter[Part] = Counter()
    while waiting and deaths.total() < MOST_DEATHS:
        broken = yield from _drain(waiting, job, min(n_workers, len(waiting)))
        deaths.update(broken)
        lost.extend(broken)
    while lost and deaths.total() < MOST_DEATHS:
        for part in (yield from _drain(lost, job, 1)):
            deaths[part] += 1
            if deaths[part] < MOST_TRIES:
                lost.append(part)
            else:
                yield failed(part, _DIED.format(MOST_TRIES))
    for part in (*lost, *waiting):
        yield failed(part, f"not mapped: too many worker processes died ({deaths.total()})")


def _drain(waiting: deque[Part], job: Job, n_workers: int) -> Any:
    """Run parts until none is waiting or a worker dies; return the parts that were lost with it."""
    running: dict[Any, Part] = {}
    with _workers(n_workers) as pool:
        while waiting or running:
            # No more parts than workers are handed out, so that few are lost together.
            while waiting and len(running) < n_workers:
                try:
                    running[pool.submit(job, waiting[0])] = waiting[0]
                except BrokenProcessPool:
                    return _lost(running.values()) or [waiting.popleft()]
                waiting.popleft()
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                try:
                    result = future.result()
                except BrokenProcessPool:
                    return _lost(running.values())
                del running[future]
                yield result
    return []


def _lost(parts: Iterable[Part]) -> list[Part]:
    lost = list(parts)
    log.warning("a worker process died; to be tried again: %s", ", ".join(part.out.name for part in lost))
    return lost


@contextmanager
def _workers(n_workers: int) -> Iterator[ProcessPoolExecutor]:
    """Fresh processes (no inherited locks or threads) that end at once when this block, or this process, does."""
    context = get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    with reader, writer:
        pool = ProcessPoolExecutor(n_workers, mp_context=context, initializer=_begin_work, initargs=(reader,))
        try:
            yield pool
        finally:
            writer.close()
            pool.shutdown(wait=True, cancel_futures=True)


def _begin_work(reader: Any) -> None:
    """In a worker: Ctrl-C is the parent's to hear, and the end of its pipe is the end of the worker.

    The system closes the pipe even of a parent that is killed, so no worker goes on alone.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def follow() -> None:
        try:
            reader.recv_bytes()
        except (EOFError, OSError):
            os._exit(1)

    Thread(target=follow, daemon=True).start()


# Dask


def run_dask(parts: list[Part], job: Job, address: str | None, n_workers: int) -> Iterator[Mapped]:
    """On the cluster at `address`, or on one of `n_workers` processes made for the run.

    Dask starts parts of dead workers again, and gives up on a part that has killed four of them. Sources, outputs and
    the model are paths: the workers must see the same folders.
    """
    distributed = import_extra("distributed", extra="distributed", feature="engine='dask'")
    with ExitStack() as stack:
        if address is None:
            address = stack.enter_context(
                distributed.LocalCluster(
                    n_workers=n_workers, threads_per_worker=1, dashboard_address=None, silence_logs=logging.ERROR
                )
            )
        client = stack.enter_context(distributed.Client(address, set_as_default=False))
        part_of = dict(zip(client.map(job, parts, pure=False), parts, strict=True))
        for future in distributed.as_completed(list(part_of), loop=client.loop):
            error = future.exception()
            yield failed(part_of[future], repr(error)) if error is not None else future.result()
