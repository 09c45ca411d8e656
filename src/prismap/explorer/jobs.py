"""Long work beside the server: a few threads, progress to look at, and a way to stop."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError

logger = logging.getLogger(__name__)

WAITING_AT_MOST = 8
REMEMBERED = 32


class Stopped(Exception):
    """Raised inside a job when its user has asked to stop."""


class TooManyJobs(Exception):
    """The queue is full."""


@dataclass
class Job:
    """One piece of work. `state` goes from waiting to running to done, failed or stopped."""

    id: str
    state: str = "waiting"
    share: float = 0.0
    positions: NDArray[np.float32] | None = None
    step: int = 0
    result: Any = None
    message: str = ""
    stop: threading.Event = field(default_factory=threading.Event)

    def progress(self, share: float, positions: Any = None) -> None:
        """Called by the work; ends it when it was asked to stop."""
        if self.stop.is_set():
            raise Stopped
        self.share = float(min(1.0, max(0.0, share)))
        if positions is not None:
            self.positions = np.array(positions, dtype=np.float32)
            self.step += 1

    def to_dict(self) -> dict[str, Any]:
        """What a browser may know."""
        return {"id": self.id, "state": self.state, "share": self.share, "step": self.step, "message": self.message}


class Jobs:
    """A queue with few workers. Names of jobs cannot be guessed, so no browser meets another's."""

    def __init__(self, workers: int = 2) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="prismap-job")
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, work: Callable[[Job], Any], *, apart: bool = False) -> Job:
        """Queue `work`; it gets its job and returns the result. `apart`: at once, in a thread no exit waits for."""
        with self._lock:
            unfinished = [job for job in self._jobs.values() if job.state in ("waiting", "running")]
            if len(unfinished) >= WAITING_AT_MOST:
                raise TooManyJobs
            job = Job(secrets.token_urlsafe(12))
            self._jobs[job.id] = job
            for name in [name for name, old in self._jobs.items() if old.state not in ("waiting", "running")]:
                if len(self._jobs) > REMEMBERED:
                    del self._jobs[name]
        if apart:
            threading.Thread(target=self._run, args=(job, work), name="prismap-prepare", daemon=True).start()
        else:
            self._pool.submit(self._run, job, work)
        return job

    def get(self, name: str) -> Job | None:
        """The job of this name."""
        return self._jobs.get(name)

    def close(self) -> None:
        """Ask all work to stop and take no more."""
        for job in list(self._jobs.values()):
            job.stop.set()
        self._pool.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _run(job: Job, work: Callable[[Job], Any]) -> None:
        if job.stop.is_set():
            job.state = "stopped"
            return
        job.state = "running"
        try:
            job.result = work(job)
            job.share = 1.0
            job.state = "stopped" if job.stop.is_set() else "done"
        except Stopped:
            job.state = "stopped"
        except InputError as error:
            job.message, job.state = str(error), "failed"
        except Exception:
            logger.exception("a job of the explorer failed")
            job.message, job.state = "It failed unexpectedly; the terminal that runs prismap has the details.", "failed"
