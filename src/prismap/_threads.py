"""Loops of small matrix products belong on one thread of linear algebra.

A second thread that shares its core with anything else makes every product wait in a spinning lock: with one other
process on two cores, GTM of 500 rows took 9.8 s instead of 0.1. And one thread gives one result on any machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


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
