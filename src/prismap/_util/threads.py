"""Threads: loops of small matrix products on one, independent jobs on all cores.

A second thread of linear algebra that shares its core with anything else makes every product wait in a spinning lock:
with one other process on two cores, GTM of 500 rows took 9.8 s instead of 0.1. And one thread gives one result on any
machine, so jobs that run side by side give the same result for any number of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")
Job = TypeVar("Job")


#: The limits in force, the innermost last.
_limit: list[int] = []


@cache
def thread_pools() -> ThreadpoolController:
    """The libraries with threads, looked for once: the search takes longer than many a loop."""
    return ThreadpoolController()


def on_one_thread(work: Callable[P, R]) -> Callable[P, R]:
    """A function whose matrix products use one thread."""

    @wraps(work)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with thread_pools().limit(limits=1, user_api="blas"):
            return work(*args, **kwargs)

    return limited


def n_threads(n_jobs: int | None) -> int:
    """Threads for `n_jobs`: None and -1 mean every core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    cores = min(cores, _limit[-1]) if _limit else cores
    return cores if n_jobs is None or n_jobs < 0 else max(1, min(n_jobs, cores))


def n_blas_threads() -> int:
    """Threads that linear algebra may use now."""
    return max((library["num_threads"] for library in thread_pools().select(user_api="blas").info()), default=1)


@contextmanager
def limit_threads(most: int | None) -> Iterator[None]:
    """At most so many threads in this process, of ours and of linear algebra; None changes nothing.

    For processes that share the cores, and for the option of the command line.
    """
    if most is None:
        yield
        return
    _limit.append(most)
    try:
        with thread_pools().limit(limits=most):
            yield
    finally:
        _limit.pop()


@contextmanager
def pool_of_threads(n_jobs: int | None = None) -> Iterator[ThreadPoolExecutor]:
    """A pool of `n_threads(n_jobs)` threads, each of which uses one thread of linear algebra."""
    with thread_pools().limit(limits=1, user_api="blas"), ThreadPoolExecutor(n_threads(n_jobs)) as pool:
        yield pool


def parallel_map(work: Callable[[Job], R], jobs: Iterable[Job], n_jobs: int | None = None) -> list[R]:
    """``work(job)`` of every job, in the order of the jobs, on `n_jobs` threads (None: all cores).

    >>> parallel_map(lambda job: job + 1, [1, 2, 3], n_jobs=2)
    [2, 3, 4]
    """
    if n_threads(n_jobs) == 1:
        with thread_pools().limit(limits=1, user_api="blas"):
            return [work(job) for job in jobs]
    with pool_of_threads(n_jobs) as pool:
        return list(pool.map(work, jobs))
