"""The maps that judging a method takes: as given, without a target, with permuted ones, in folds, with another seed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from prismap._random import as_generator
from prismap.exceptions import InputError, PrismapWarning
from prismap.judging.makers import EstimatorMaker, FunctionMaker, Made
from prismap.map.effort import FULL, FULL_SHARE, effort_of
from prismap.map.scores import Judged
from prismap.map.twins import judged_folds, permute_known, permuted_part
from prismap.quality import one_gaussian


@dataclass(frozen=True)
class Refits:
    """The map and those it is compared with.

    `cases` are the judged rows on the map, on the one without a target (None if there is none) and on those of permuted
    targets, one for each fold if `folded`; `permuted` are (map, permuted target, rows); `again` is the map of another
    seed, `nulls` are (rows, map) of one Gaussian and a permuted target each.
    """

    map: Made
    plain: Made | None
    again: Made | None
    nulls: list[tuple[np.ndarray, Made]]
    permuted: list[tuple[Made, np.ndarray, np.ndarray]]
    cases: tuple[Any, Any, Any]
    folded: bool
    budget: str
    notes: tuple[str, ...]
    limits: tuple[str, ...]

    @property
    def runs(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Other maps of the rows, or of some of them: (which, where)."""
        again = [] if self.again is None else [(np.arange(len(self.again.positions)), self.again.positions)]
        return again + [(case.kept, case.fitted_positions) for case in self.cases[0]]


def refit(
    method: EstimatorMaker | FunctionMaker, rows: np.ndarray, kind: str, y: Any, seed: int,
    n_permutations: int | None, metric: Any, callback: Any, budget: Any = "full",
) -> Refits:  # fmt: skip
    """Run a method as often as its verdict takes."""
    effort_of(budget, 0.0)  # refuses what is none before anything is run
    rng, said, limits = as_generator(seed + 1), Said(method.name), list[str]()
    target = None if kind == "none" else y
    if method.needs_target and target is None:
        raise InputError(f"{method.name} needs a target: judge(method, X, y).")
    with quiet():
        start, fresh = perf_counter(), None
        whole = method.map_given(rows)
        if whole is None:
            whole = fresh = method.make(rows, target, seed)
        plain = without_target(method, rows, target, seed, limits)
        # These were two runs, and a full verdict takes eighteen at most.
        effort = effort_of(budget, 9.0 / FULL_SHARE * (perf_counter() - start))
        again = method.make(rows, target, seed + 1, reseed=True) if effort is FULL else None
        nulls = of_one_gaussian(method, rows, target, seed, effort)
    if target is None:
        return Refits(whole, None, again, nulls, [], ([], None, []), False, effort.name, (), ())
    supervised = method.takes_target
    if supervised and plain is not None:  # t-SNE and principal components take a target, and ignore it
        with quiet():
            fresh = fresh or method.make(rows, target, seed)
        supervised = not np.array_equal(fresh.positions, plain.positions)
    if not supervised:
        plain = None
        said.notes.append(f"The target does not change the map of {method.name}: permuted targets were judged on it.")
    turns = range(n_permutations or effort.permutations)
    folds = judged_folds(y, kind, rng, effort)
    # No target had a part in it: only rows that it projects itself must not have been on it.
    again_plain = plain is not None and plain.transform is not None and effort is FULL
    done, total = 0, (len(turns) if supervised else 0) + len(folds) * (2 if again_plain else 1)
    permuted: list[tuple[Made, np.ndarray, np.ndarray]] = []
    cases: tuple[list[Judged], ...] = ([], [], [])
    with quiet():
        for kept, out in folds:
            made = method.make(rows[kept], y[kept], seed)
            on_map = project(made, rows, y, kept, out, metric, said)
            cases[0].append(on_map)
            done = count(callback, done + 1, total)
            if not supervised:
                mixed = permute_known(y, rng)
                cases[2].append(Judged(on_map.positions, mixed[out], on_map.fitted_positions, mixed[kept]))
            elif again_plain:
                cases[1].append(project(method.make(rows[kept], None, seed), rows, y, kept, out, metric, said))
                done = count(callback, done + 1, total)
            elif plain is not None:
                cases[1].append(project(Made(plain.positions[kept]), rows, y, kept, out, metric))
        for turn in turns:
            kept, out = folds[turn % len(folds)]
            shuffled, part = permuted_part(y, rng, kept if supervised else None)
            one = method.make(rows[part], shuffled, seed) if supervised else Made(whole.positions[part])
            permuted.append((one, shuffled, part))
            if supervised:
                Y, own = one.place(rows[part], rows[out], metric)
                said.projected(own)
                cases[2].append(Judged(Y, permute_known(y[out], rng), one.positions, shuffled))
                done = count(callback, done + 1, total)
    compared = (cases[0], cases[1] if plain is not None else None, cases[2])
    folded = not supervised or len(folds) > 1
    return Refits(
        whole, plain, again, nulls, permuted, compared, folded, effort.name, tuple(said.notes), tuple(limits)
    )  # fmt: skip


def without_target(method, rows, target, seed, limits) -> Made | None:
    """The map without a target; None, with the reason, where the method cannot make one."""
    if target is None:
        return None
    if method.needs_target:
        limits.append(f"whether the target sharpened the map, because {method.name} makes none without it.")
        return None
    try:
        return method.make(rows, None, seed)
    except Exception as error:  # whatever a method of somebody else's does when the target is missing
        limits.append(
            f"whether the target sharpened the map, because {method.name} fails without it ({type(error).__name__})."
        )
        return None


def of_one_gaussian(method, rows, target, seed, effort) -> list[tuple[np.ndarray, Made]]:
    """What the method makes of rows of one Gaussian and a permuted target, a few times."""
    rng, found = as_generator(seed + 2), []
    for _ in range(effort.nulls):
        part = np.sort(rng.permutation(len(rows))[: effort.null_rows])
        drawn = one_gaussian(rows[part], rng)
        shuffled = None if target is None else permute_known(target[part], rng)
        try:
            found.append((drawn, method.make(drawn, shuffled, seed)))
        except Exception:  # a method of somebody else's may refuse such data; the report does without
            return found
    return found


def project(made: Made, rows, y, kept, out, metric, said: Said | None = None) -> Judged:
    """The rows `out` on a map of the rows `kept`."""
    Y, own = made.place(rows[kept], rows[out], metric)
    if said is not None:
        said.projected(own)
    return Judged(Y, y[out], made.positions, y[kept], kept, out=out)


class Said:
    """Notes, each once."""

    def __init__(self, name: str):
        self.name = name
        self.notes: list[str] = []

    def projected(self, own: bool) -> None:
        """How held-out rows came onto the map."""
        note = (
            f"Held-out rows were projected by the transform of {self.name}."
            if own
            else f"Held-out rows went where most of their nearest fitted rows are: {self.name} projects none itself."
        )
        if note not in self.notes:
            self.notes.append(note)


def count(callback: Any, done: int, total: int) -> int:
    """Tell the caller, and give back, how many maps are done."""
    if callback is not None:
        callback(done, total)
    return done


@contextmanager
def quiet() -> Iterator[None]:
    """Refits repeat what was said of the first map, or what their fewer rows cause."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrismapWarning)
        yield
