"""Workers of Dask without an HTTP server: not for a moment, and not when they are started again after their death."""

from __future__ import annotations

from typing import Any

from distributed import Nanny, Worker


class ClosedWorker(Worker):
    """A worker that does not listen for browsers: any user of the machine could ask it."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        """Leave it out."""


class ClosedNanny(Nanny):
    """Starts a `ClosedWorker` in a process of its own, and again if it dies."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, worker_class=ClosedWorker, **options)
