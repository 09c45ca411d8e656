"""A user's similarity (or distance) between arbitrary objects as a Python function: strings, graphs, programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from prismap._threads import n_threads
from prismap.exceptions import InputError

#: Pairs that one job evaluates, and that are evaluated first to see what they cost.
CHUNK_PAIRS = 500
#: Seconds of work left from which on starting processes pays.
WORTH_PROCESSES = 2.0

#: What joblib calls them.
BACKENDS = {"processes": "loky", "threads": "threading"}

Function = Callable[[Any, Any], float]
Progress = Callable[[int, int], Any]


def pairwise_similarity(
    objects: Iterable[Any], function: Function, *, symmetric: bool = True, n_jobs: int | None = None,
    prefer: str = "processes", progress: Progress | None = None,
) -> np.ndarray:  # fmt: skip
    """The matrix of ``function(a, b)`` between all objects, for ``data="similarity"`` (or ``"dissimilarity"``).

    Parameters
    ----------
    objects : any objects.
    function : from two objects to a number.
    symmetric : whether ``function(a, b)`` equals ``function(b, a)``; every pair is then evaluated once, n (n + 1) / 2
        in all, otherwise all n^2.
    n_jobs : workers; None takes all cores. They are only started if the first pairs show that it pays.
    prefer : "processes", or "threads" for functions that release the interpreter.
    progress : ``progress(done, all)``, called as pairs are done.

    Returns
    -------
    array (n, n)

    Examples
    --------
    >>> pairwise_similarity(["ab", "abc"], lambda a, b: len(set(a) & set(b))).tolist()
    [[2.0, 2.0], [2.0, 3.0]]
    """
    objects = list(objects)
    n = len(objects)
    rows, columns = np.triu_indices(n) if symmetric else (part.ravel() for part in np.indices((n, n)))
    S = np.empty((n, n))
    S[rows, columns] = _evaluate(objects, objects, rows, columns, function, n_jobs, prefer, progress)
    if symmetric:
        S[columns, rows] = S[rows, columns]
    return S


def similarity_to(
    new: Iterable[Any], objects: Iterable[Any], function: Function, *, n_jobs: int | None = None,
    prefer: str = "processes", progress: Progress | None = None,
) -> np.ndarray:  # fmt: skip
    """``function(a, b)`` of new objects a against the fitted ones b, (n_new, n): what `transform` takes.

    Parameters as `pairwise_similarity`.
    """
    new, objects = list(new), list(objects)
    rows, columns = (part.ravel() for part in np.indices((len(new), len(objects))))
    values = _evaluate(new, objects, rows, columns, function, n_jobs, prefer, progress)
    return values.reshape(len(new), len(objects))


def _evaluate(left, right, rows, columns, function, n_jobs, prefer, progress):
    """Values of pairs by index, a chunk at a time; in parallel once the first chunk has shown that this pays."""
    if prefer not in BACKENDS:
        raise InputError(f"prefer must be 'processes' or 'threads'; got {prefer!r}.")
    values, total, done, start = np.empty(len(rows)), len(rows), 0, perf_counter()
    chunks = [slice(first, min(first + CHUNK_PAIRS, total)) for first in range(0, total, CHUNK_PAIRS)]
    workers = n_threads(n_jobs)

    def pairs(chunk):
        return [(left[i], right[j]) for i, j in zip(rows[chunk], columns[chunk], strict=True)]

    # Defined here, so that it is sent to other processes as it is: they need not import this package.
    def work(pairs):
        return [function(a, b) for a, b in pairs]

    while chunks:
        left_over = (perf_counter() - start) / max(done, 1) * (total - done)
        if done and workers > 1 and left_over > WORTH_PROCESSES:
            parallel = Parallel(n_jobs=workers, backend=BACKENDS[prefer], return_as="generator")
            found = parallel(delayed(work)(pairs(chunk)) for chunk in chunks)
            now, chunks = chunks, []
        else:
            now, chunks = chunks[:1], chunks[1:]
            found = (work(pairs(chunk)) for chunk in now)
        for chunk, part in zip(now, found, strict=True):
            values[chunk] = _numbers(part, rows[chunk], columns[chunk])
            done = chunk.stop
            if progress is not None:
                progress(done, total)
    return values


def _numbers(values: Sequence[Any], rows, columns) -> list[float]:
    """What the function gave, as numbers; one that is no finite number is named."""
    found = []
    for value, i, j in zip(values, rows, columns, strict=True):
        try:
            number = float(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"the function gave {value!r} for objects {i} and {j}; it must give a number.") from error
        if not isfinite(number):
            raise InputError(f"the function gave {number} for objects {i} and {j}; it must give a finite number.")
        found.append(number)
    return found
