"""What a live explorer can do beyond showing: the contract of the object handed in, one for a fitted map, and jobs.

The explorer knows no metrics and no embeddings. Whoever starts it hands in an object with some of the methods of
`Compute`; the page offers what is there. `ModelCompute` makes one of a fitted map and two functions. Long computations
run beside the server as `Jobs`: in a few threads, with progress to look at and a way to stop.
"""

from __future__ import annotations

import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.page._columns import column_array, column_numbers, is_numeric
from prismap.page._data import PageData
from prismap.tables import encoding_of, label_texts, read_table

Progress = Callable[..., None]
"""``progress(share, positions=None)``: how far it is from 0 to 1, and where the rows are by now."""
Cancel = Callable[[], bool]
"""True once the user has asked to stop."""
LocalRelevance = Callable[[NDArray[Any], NDArray[Any], NDArray[np.intp]], NDArray[Any]]
#: Jobs that wait or run at the same time; jobs that are remembered.
WAITING_AT_MOST = 8
REMEMBERED = 32

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Placed:
    """New rows on the map: positions in the units of its first layer, and which of them lie far from all data.

    `columns` are those of the file, by the page's names, `target` is the target that the file has, and `about` are
    further columns, such as what the rows around them say.
    """

    positions: NDArray[Any]
    far: NDArray[np.bool_]
    ids: Sequence[str] | None = None
    notes: Sequence[str] = ()
    columns: Mapping[str, Any] = field(default_factory=dict)
    target: Any = None
    about: Mapping[str, Any] = field(default_factory=dict)


class Compute(Protocol):
    """All methods are optional. They run in a worker thread, several at once for several browsers."""

    def transform(self, path: Path) -> Placed:
        """Place the rows of a data file."""

    def relevance(
        self, rows: NDArray[np.intp], *, progress: Progress, cancel: Cancel
    ) -> tuple[Sequence[str], NDArray[Any]]:
        """Names of features and how much each matters for the neighbourhoods of these rows."""

    def target_relevance(self, rows: NDArray[np.intp]) -> tuple[Sequence[str], NDArray[Any], NDArray[Any]]:
        """Names of features, their shares in the change of the target around these rows, and around all rows."""

    def shape(
        self, groups: Sequence[NDArray[np.intp]], *, start: NDArray[np.float32], progress: Progress, cancel: Cancel
    ) -> tuple[NDArray[Any], Sequence[str], NDArray[Any]]:
        """Positions of all rows on a map that follows groups of rows, and how much each feature counts on it."""

    def reembed(
        self, supervision: float, *, start: NDArray[np.float32], progress: Progress, cancel: Cancel
    ) -> NDArray[Any]:
        """Positions of all rows with another weight of the target, beginning from `start`."""


class ModelCompute:
    """`Compute` for a fitted map (anything with `place`) and its page.

    Parameters
    ----------
    model : the fitted map; the encoding of its columns is taken from ``extra_header_["table"]`` when it is there
    page : PageData
    relevance : callable ``(X, Y, rows) -> values``, or None
        X holds the page's numeric columns, standardised; Y the positions of the first layer.
    reembed : callable as in `Compute`, or None
    about : callable ``(X) -> positions, far, columns``, or None
        Places rows like ``model.place`` and gives further columns of them.
    """

    supervision: float
    """The weight that the slider starts at, where there is one."""
    target_relevance: Callable[[NDArray[np.intp]], tuple[Sequence[str], NDArray[Any], NDArray[Any]]]
    """As in `Compute`, where there is one."""
    shape: Callable[..., tuple[NDArray[Any], Sequence[str], NDArray[Any]]]
    """As in `Compute`, where there is one."""

    def __init__(
        self,
        model: Any,
        page: PageData,
        *,
        relevance: LocalRelevance | None = None,
        reembed: Callable[..., NDArray[Any]] | None = None,
        about: Callable[..., tuple[NDArray[Any], NDArray[Any], Mapping[str, Any]]] | None = None,
        may_lack: Callable[[tuple[str, ...]], str] | None = None,
    ) -> None:
        self._model = model
        self._about = about
        self._may_lack = may_lack
        # The page offers what is there.
        if relevance is not None:
            self.relevance = partial(_column_relevance, page, relevance)
        if reembed is not None:
            self.reembed = reembed

    def transform(self, path: Path) -> Placed:
        """Read the file as the map's own data were read, and place its rows."""
        encoding = encoding_of(self._model)
        table = read_table(path, encoding.roles)
        encoded = encoding.apply(table, may_lack=self._may_lack)
        notes = [
            f"{count} missing values of {name!r} were filled as at the fit" for name, count in encoded.filled.items()
        ]
        notes += encoded.surprises
        ids = label_texts(table.ids)
        place = self._model.place if self._about is None else self._about
        given = {} if encoded.given is None else {"given": encoded.given}
        positions, far, *about = place(encoded.X, **given)
        far = np.asarray(far) | encoded.doubtful
        shown = encoding.shown(table)
        return Placed(positions, far, ids, notes, shown, table.target, about[0] if about else {})


def _column_relevance(
    page: PageData, relevance: LocalRelevance, rows: NDArray[np.intp], *, progress: Progress, cancel: Cancel
) -> tuple[Sequence[str], NDArray[Any]]:
    """Relevance of the page's numeric columns for the neighbourhoods of `rows`."""
    names, X = _numeric_columns(page)
    if not names:
        raise InputError("the page has no numeric columns to compare.")
    progress(0.0)
    return names, relevance(X, np.asarray(page.layers[0].positions, dtype=np.float64), rows)


def _numeric_columns(page: PageData) -> tuple[list[str], NDArray[np.float64]]:
    """Names and standardised values of the columns that hold finite, varying numbers."""
    columns = {}
    for name, values in page.columns.items():
        array = column_array(values)
        if not is_numeric(array):
            continue
        array = column_numbers(array).astype(np.float64)
        spread = array.std()
        if np.isfinite(spread) and spread > 0:
            columns[str(name)] = (array - array.mean()) / spread
    return list(columns), np.column_stack(list(columns.values())) if columns else np.empty((page.n_rows, 0))


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
