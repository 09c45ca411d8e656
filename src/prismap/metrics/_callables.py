"""A user's similarity (or distance) between arbitrary objects as a Python function: strings, graphs, programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from prismap.comparisons._running import one_by_one, run_pairs
from prismap.exceptions import InputError

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
    """The matrix of ``function(a, b)`` between new objects a and fitted ones b, which `PrisMap.transform` takes.

    Parameters
    ----------
    new : new objects.
    objects : those given to `fit`, in the same order.
    function : from two objects to a number.
    n_jobs : workers; None takes all cores. They are only started if the first pairs show that it pays.
    prefer : "processes", or "threads" for functions that release the interpreter.
    progress : ``progress(done, all)``, called as pairs are done.

    Returns
    -------
    array (n_new, n)

    See Also
    --------
    pairwise_similarity : The matrix between the fitted objects.

    Examples
    --------
    >>> similarity_to(["b"], ["ab", "cd"], lambda a, b: len(set(a) & set(b))).tolist()
    [[1.0, 0.0]]
    """
    new, objects = list(new), list(objects)
    rows, columns = (part.ravel() for part in np.indices((len(new), len(objects))))
    values = _evaluate(new, objects, rows, columns, function, n_jobs, prefer, progress)
    return values.reshape(len(new), len(objects))


def _evaluate(left, right, rows, columns, function, n_jobs, prefer, progress):
    """Values of pairs by index; a pair that fails is named."""
    if prefer not in BACKENDS:
        raise InputError(f"prefer must be 'processes' or 'threads'; got {prefer!r}.")
    values, done = np.empty(len(rows)), 0

    def store(places, part):
        nonlocal done
        values[places] = part
        done += len(part)
        if progress is not None:
            progress(done, len(rows))

    failure = run_pairs(one_by_one(function), left, right, rows, columns, store, n_jobs, BACKENDS[prefer])
    if failure is not None:
        i, j = rows[failure.place], columns[failure.place]
        raise InputError(f"the function failed for objects {i} and {j}: {failure.why}.") from failure.error
    return values
