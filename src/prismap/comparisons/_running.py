"""A comparison run over many pairs, on all cores: what it gives is handed on as it comes, also when a pair fails."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isfinite
from reprlib import Repr
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from prismap._util.arrays import Rows

#: Pairs that are evaluated first, to see what one costs.
FIRST_PAIRS = 100
#: Seconds of work that one job should take, and jobs per worker that are handed out together.
JOB_SECONDS, JOBS_PER_WORKER = 0.25, 4
#: Pairs of a job at most.
MOST_PAIRS = 20_000
#: Seconds of work left from which on starting workers pays.
WORTH_WORKERS = 2.0

_REPR = Repr()
_REPR.maxstring = _REPR.maxother = 40
_REPR.maxlist = _REPR.maxtuple = _REPR.maxset = _REPR.maxdict = 4
_REPR.maxlevel = 3


def shortened(thing: Any) -> str:
    """What an object looks like, on one line and cut short."""
    return " ".join(_REPR.repr(thing).split())


@dataclass(frozen=True)
class Failure:
    """A pair whose comparison failed: its place among the pairs, why, and the error if there was one."""

    place: int
    why: str
    error: Exception | None = None


def run_pairs(
    many: Any,
    left: Sequence[Any],
    right: Sequence[Any],
    i: Rows,
    j: Rows,
    store: Any,
    n_jobs: int | None = None,
    backend: str = "loky",
) -> Any:
    """Compare ``left[i]`` with ``right[j]`` pair by pair; give what is known to ``store(places, values)`` as it comes.

    ``many(a, others)`` gives a list of values and None, or the values before the pair that failed and why it did. The
    pairs are worked through in the order of i, so that one object meets its partners together. `backend` is joblib's:
    "loky" for processes (threads for what cannot be sent to one), or "threading". Returns a `Failure` or None. Nothing
    is evaluated after a failure but the jobs already handed out, and all their values are stored.
    """
    order = np.lexsort((j, i))
    workers = effective_n_jobs(-1 if n_jobs is None else n_jobs)
    start, size, per_pair = 0, FIRST_PAIRS, 0.0
    while start < len(order):
        begun = perf_counter()
        at_once = workers if workers > 1 and per_pair * (len(order) - start) > WORTH_WORKERS else 1
        stop = min(len(order), start + size * (1 if at_once == 1 else workers * JOBS_PER_WORKER))
        cuts = [order[first : min(first + size, stop)] for first in range(start, stop, size)]
        jobs = [(many, _tasks(left, right, i, j, cut)) for cut in cuts]
        results, backend = _all_jobs(jobs, at_once, backend)
        failures = []
        for cut, (values, why, error) in zip(cuts, results, strict=True):
            store(cut[: len(values)], np.array(values, dtype=np.float64))
            if why is not None:
                failures.append(Failure(int(cut[len(values)]), why, error))
        if failures:
            return failures[0]
        per_pair = max(1e-9, (perf_counter() - begun) * at_once / (stop - start))
        start, size = stop, int(np.clip(JOB_SECONDS / per_pair, 1, MOST_PAIRS))
    return None


def _all_jobs(jobs: list[Any], workers: int, backend: str) -> tuple[Any, str]:
    """Results of jobs, and the backend that did them: processes for what can be sent to one, threads otherwise."""
    if workers == 1:
        return [_work(*job) for job in jobs], backend
    try:
        return Parallel(n_jobs=workers, backend=backend)(delayed(_work)(*job) for job in jobs), backend
    except pickle.PicklingError:
        return Parallel(n_jobs=workers, backend="threading")(delayed(_work)(*job) for job in jobs), "threading"


def one_by_one(function: Any) -> Any:
    """The form that `run_pairs` takes of a function of two objects."""

    def many(a: Any, others: Sequence[Any]) -> tuple[list[Any], str | None, Exception | None]:
        values: list[float] = []
        for b in others:
            try:
                given = function(a, b)
            except Exception as error:
                return values, f"{type(error).__name__}: {' '.join(str(error).split())}", error
            try:
                value = float(given)
            except (TypeError, ValueError):
                return values, f"it gave {shortened(given)}, which is no number", None
            if not isfinite(value):
                return values, f"it gave {value}, which is no finite number", None
            values.append(value)
        return values, None, None

    return many


def in_blocks(block: Callable[..., Any]) -> Any:
    """The form that `run_pairs` takes of a function of many objects and many, for values that are slow to compute."""

    def many(a: Any, others: Sequence[Any]) -> tuple[list[Any], str | None, Exception | None]:
        values = np.asarray(block([a], others), dtype=np.float64)[0]
        wrong = np.flatnonzero(~np.isfinite(values))
        if len(wrong):
            first = int(wrong[0])
            return values[:first].tolist(), f"it gave {values[first]}, which is no finite number", None
        return values.tolist(), None, None

    return many


def _tasks(left: Sequence[Any], right: Sequence[Any], i: Rows, j: Rows, places: Rows) -> list[tuple[Any, list[Any]]]:
    """Objects of the pairs, as one object and its partners at a time."""
    rows = i[places]
    cuts = np.flatnonzero(np.diff(rows)) + 1
    return [(left[rows_[0]], [right[k] for k in columns]) for rows_, columns in zip(
        np.split(rows, cuts), np.split(j[places], cuts), strict=True)]  # fmt: skip


def _work(many: Any, tasks: Any) -> tuple[list[Any], str | None, Exception | None]:
    """All values of one job, or those before the first pair that failed."""
    values = []
    for a, others in tasks:
        given, why, error = many(a, others)
        values += given
        if why is not None:
            return values, why, _sendable(error)
    return values, None, None


def _sendable(error: Any) -> Any:
    """The error if another process can read it."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return None
    return error
