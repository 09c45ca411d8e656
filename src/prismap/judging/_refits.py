"""The maps that a map is compared with: without a target, with permuted ones, without the judged rows, of no structure.

Each map of a permuted target leaves a fold out, too, so that one map shows what is invented among its own rows and what
among others. A map that leaves the target out is judged as the map without a target that it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers, Rows
from prismap._util.random import as_generator
from prismap.judging._budget import FEW_KEPT, FULL, MOST_KEPT, QUICK, Effort
from prismap.judging._makers import Made, Maker, Refusal
from prismap.judging._trust import Evidence, evidence_on
from prismap.quality import one_gaussian
from prismap.target import Target

Run = tuple[Rows, Numbers]
HeldOut = tuple[Any, Target]

#: Rows given to `fit` but not embedded are enough to judge by from here on; below, the map is made again in folds.
FEWEST_HELD_OUT = 200
#: Runs that show how steady a map is that is not made again in folds.
OTHER_RUNS = 3
#: The labelled rows are judged in so many parts.
PARTS = 5
#: How rows were judged if they are the last ones in time.
FORECAST = "the last fifth in time"
#: Units of a class that are judged where it has as many; fewer show little of it.
JUDGED_PER_CLASS = 10


@dataclass(frozen=True)
class Outside:
    """Samples that were given and are not on the map: their target, their numbers, and their rows for `Made.place`."""

    target: Target
    rows: Any
    """A function of their numbers."""
    numbers: Rows


@dataclass(frozen=True)
class Judged:
    """Judged rows on a map: their positions and target, and those of the rows that vote (None: the other rows).

    `kept` are the numbers of the rows that the map was made of, where that was another run, and `rows` those of the
    judged rows, where they are on the map that is judged.
    """

    positions: Numbers
    target: Target
    fitted_positions: Numbers | None = None
    fitted_target: Target | None = None
    kept: Rows | None = None
    evidence: Evidence | None = None
    rows: Rows | None = None

    def column(self, t: int) -> Judged:
        """The same with one of several targets."""
        fitted = None if self.fitted_target is None else self.fitted_target.columns[t]
        return replace(self, target=self.target.columns[t], fitted_target=fitted)


@dataclass(frozen=True)
class Permuted:
    """A map of some rows (`rows`) with a permuted target."""

    made: Made
    target: Target
    rows: Rows


@dataclass(frozen=True)
class Comparison:
    """The maps that a map was compared with, and the judged rows on each of them.

    Attributes
    ----------
    plain : the map without a target; None where there is none.
    plain_rows : the rows that it has: all, unless the judged map is large and is made again in folds.
    permuted : maps of permuted targets.
    on_map, on_plain, on_permuted : the judged rows on the map or on maps of the others, on the one without a target
        (None: there is none) and on those of permuted targets.
    runs : other maps of the same target: which of the rows they have, and where.
    nulls : positions on maps of one Gaussian each, and of a permuted target if there is one.
    unstructured : the map of permuted columns, by which rows without a target are judged.
    again : the map with another seed.
    how : how rows were judged, in words.
    folded : whether the judged rows come in several parts, which make one figure.
    small_maps : whether rows were judged on maps of far fewer rows than the map has.
    in_data : the judged rows in the data (or their distances) and the metric there, of coordinates alone: whoever made
        these may have used the target.
    by_class : whether more rows of rare classes were judged than their share of all rows.
    """

    plain: Made | None = None
    plain_rows: Rows | None = None
    permuted: tuple[Permuted, ...] = ()
    on_map: tuple[Judged, ...] = ()
    on_plain: tuple[Judged, ...] | None = None
    on_permuted: tuple[Judged, ...] = ()
    runs: tuple[Run, ...] = ()
    nulls: tuple[Numbers, ...] = ()
    unstructured: Made | None = None
    again: Made | None = None
    how: str = "in-sample"
    folded: bool = False
    small_maps: bool = field(default=False)
    in_data: tuple[Any, Any] | None = None
    by_class: bool = field(default=False)

    @property
    def plain_run(self) -> Run | None:
        """The map without a target as a run: which of the rows it has, and where."""
        if self.plain is None:
            return None
        rows = np.arange(len(self.plain.positions)) if self.plain_rows is None else self.plain_rows
        return rows, self.plain.positions


# --- which rows -------------------------------------------------------------------------------------------------------


def judged_folds(
    target: Target, rng: np.random.Generator, effort: Effort = FULL, wrong: float = 0.5, most: float = MOST_KEPT,
    *, forecast: bool = False,
) -> list[tuple[Rows, Rows]]:  # fmt: skip
    """(kept, judged) rows: of five fifths of the labelled rows as many as the figures take.

    wrong : about the share of rows that neighbours are wrong about. The fitted rows show it, so that no judged row
        decides how many there will be.
    most : rows that a map for comparison can have.
    forecast : whether the last fifth in time is judged by what came before it.
    """
    if forecast:
        return last_part(target, rng, most)
    parts, n_rows = target.splits(PARTS, rng), len(target)
    most = int(min(most, MOST_KEPT, max(FEW_KEPT, int(effort.kept_share * n_rows))))
    n_judged = n_folds(target.n_units, effort, wrong)
    parts = with_rare_classes(target, parts, n_judged)
    folds = [(kept_rows(target, out, rng, most), out) for out in parts][:n_judged]
    return [(kept, drawn_by_class(target, out, effort.held_out, rng)) for kept, out in folds]


def with_rare_classes(target: Target, parts: list[Rows], n_judged: int) -> list[Rows]:
    """The parts, of which the first are judged and get more units of the classes that they have few of.

    Up to `JUDGED_PER_CLASS` in all of them, and half of a class in each, so that the other half is on the map. Units in
    order of time stay where they are.
    """
    if target.codes is None or target.in_order or n_judged == len(parts):
        return parts
    judged, others = [list(part) for part in parts[:n_judged]], np.concatenate(parts[n_judged:])
    moved = np.zeros(len(target), dtype=bool)
    for code in np.unique(target.codes[target.labelled]):
        have = [len(np.unique(target.units[out][target.codes[out] == code])) for out in map(np.asarray, judged)]
        rows = others[(target.codes[others] == code) & ~moved[others]]
        units = np.unique(target.units[rows])
        most = (sum(have) + len(units)) // 2
        for unit in units:
            fewest = int(np.argmin(have))
            if sum(have) >= JUDGED_PER_CLASS or have[fewest] >= most:
                break
            theirs = others[target.units[others] == unit]
            judged[fewest] += theirs.tolist()
            moved[theirs] = True
            have[fewest] += 1
    if not moved.any():
        return parts
    left = [part[~moved[part]] for part in parts[n_judged:]]
    return [*(np.sort(np.asarray(out, dtype=np.intp)) for out in judged), *left]


def last_part(target: Target, rng: np.random.Generator, most: float) -> list[tuple[Rows, Rows]]:
    """The last fifth of the labelled rows in time is judged, by rows that are a stretch of time earlier at least."""
    known = target.labelled_rows
    stretches = np.sort(target.units[known])
    first = stretches[int(np.ceil(len(stretches) * (1 - 1 / PARTS)))]
    before = np.flatnonzero(target.units < first - 1)
    return [(drawn_of(before, int(min(most, MOST_KEPT)), rng), known[target.units[known] >= first])]


def n_folds(n_known: int, effort: Effort, wrong: float = 0.5) -> int:
    """How many fifths of the units are judged: two, unless one is enough or a share is not precise enough by then.

    A table that has no more rows than are enough in any case is judged as a whole: few judged rows would call real
    differences chance, and its maps take no time.

    >>> n_folds(1500, FULL), n_folds(700, FULL), n_folds(700, FULL, 0.05), n_folds(200, FULL, 0.05)
    (1, 3, 2, 5)
    """
    if n_known <= effort.judged_rows:
        return PARTS
    wrong = (wrong * n_known + 1) / (n_known + 2)  # Laplace's rule: no error so far does not mean a rate of 0
    wanted = min(effort.judged_rows, wrong * (1 - wrong) / effort.precision**2)
    fewest = 1 if n_known / PARTS >= effort.judged_rows else 2
    return int(np.clip(np.ceil(PARTS * wanted / n_known), fewest, PARTS))


def kept_rows(target: Target, out: Rows, rng: np.random.Generator, most: int = MOST_KEPT) -> Rows:
    """All rows that are independent of the rows `out`, of many a draw that is fitted in a fraction of the time.

    Fewer rows err on the safe side.
    """
    return drawn_of(target.apart(np.arange(len(target)), out), most, rng)


def drawn_by_class(target: Target, rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """A draw of the rows, and beyond it units of the classes that the draw has few of, up to `JUDGED_PER_CLASS`.

    Every unit has its share in the draw: a figure of many units is more precise than that of as many rows of few.
    """
    drawn = rows[target.take(rows).share_of_units(most, rng)]
    if target.codes is None or len(drawn) == len(rows):
        return drawn
    codes, units, left, more = target.codes, target.units, np.setdiff1d(rows, drawn), []
    for code in np.unique(codes[left]):
        have, others = np.unique(units[drawn[codes[drawn] == code]]), left[codes[left] == code]
        others = others[~np.isin(units[others], have)]
        one_of_each = others[np.sort(np.unique(units[others], return_index=True)[1])]
        more.append(one_of_each[: max(JUDGED_PER_CLASS - len(have), 0)])
    return np.sort(np.concatenate([drawn, *more])) if sum(map(len, more)) else drawn


def drawn_of(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """The rows, or a draw of so many of them, in their order."""
    return np.sort(rng.choice(rows, most, replace=False)) if len(rows) > most else rows


def permuted_part(target: Target, rng: np.random.Generator, rows: Rows | None, most: int) -> tuple[Target, Rows]:
    """A permuted target of at most `most` of the rows, and which rows these are."""
    rows = drawn_of(np.arange(len(target)) if rows is None else rows, most, rng)
    return target.take(rows).permuted(rng), rows


# --- maps -------------------------------------------------------------------------------------------------------------


def judged_on(
    made: Made, rows: Any, target: Target, fitted: Target, kept: Rows | None, *, trusted: bool = False
) -> Judged:
    """Rows with a target on a map of others with the target `fitted`; with `trusted` what shows how far to trust them.

    kept : numbers of the map's rows.
    """
    Y = made.place(rows)
    evidence = evidence_on(made, Y, fitted, rows) if trusted else None
    return Judged(Y, target, made.positions, fitted, kept if made.is_a_run else None, evidence)


def place_fold(maker: Maker, target: Target, kept: Rows, out: Rows, plain: Made | None) -> Judged:
    """Rows `out` on the map made again of the rows `kept`."""
    made = maker.make(kept, target.take(kept), plain)
    case = judged_on(made, maker.rows(out), target.take(out), target.take(kept), kept, trusted=True)
    return replace(case, rows=out)


def place_on_plain(maker: Maker, plain: Made, target: Target, kept: Rows, out: Rows, effort: Effort) -> Judged:
    """Rows `out` on the map without a target as if they had not been on it."""
    made = maker.plain_of_part(plain, kept, effort)
    fitted = target.take(kept)
    case = judged_on(made, maker.rows(out), target.take(out), fitted, kept, trusted=maker.leaves_target_out)
    return replace(case, rows=out)


def another_run(maker: Maker, target: Target, turn: int, plain: bool) -> Run:
    """A map of four fifths of the rows, others in every turn: which, and where."""
    rng, every = as_generator(maker.seed + 3 + 1000 * turn), np.arange(maker.n_rows)
    if target.independent:
        kept = np.setdiff1d(every, rng.permutation(maker.n_rows)[: maker.n_rows // PARTS])
    else:
        kept = np.flatnonzero(target.folds(every, PARTS, rng) != turn % PARTS)
    kept = drawn_of(kept, MOST_KEPT, rng)
    made = maker.make_plain(kept, QUICK) if plain else None
    made = maker.make(kept, target.take(kept)) if made is None else made
    return kept, made.positions


def of_one_gaussian(maker: Maker, target: Target, effort: Effort, shares: list[float | None]) -> tuple[Numbers, ...]:
    """Positions on maps like this one, each of one Gaussian and of a permuted target if there is one.

    shares : how much permuted targets of the data themselves count on the maps that were made of them. This target is
        as meaningless, and gets the share of one of these.
    """
    rng, maps = as_generator(maker.seed + 4), []
    for turn in range(effort.nulls):
        part = np.sort(rng.permutation(maker.n_rows)[: effort.null_rows])
        shuffled = target.take(part).permuted(rng)
        share = shares[turn % len(shares)] if shares else None
        try:
            maps.append(maker.make_of(one_gaussian(maker.columns[part], rng), shuffled, share).positions)
        except Refusal:
            break
    return tuple(maps)


def without_structure(maker: Maker, effort: Effort) -> Made | None:
    """A map of the same columns, each permuted by itself: what neighbourhoods chance keeps (Johnson et al. 2022).

    None if the method refuses such rows.
    """
    rng = as_generator(maker.seed + 2)
    try:
        return maker.make_of(np.column_stack([rng.permutation(column) for column in maker.columns.T]), effort=effort)
    except Refusal:
        return None


def counting(callback: Any, total: int) -> Any:
    """A callback for several rounds of `Maker.run`, which counts on to `total`."""
    done = count(1)
    return None if callback is None else lambda *_: callback(next(done), total)


# --- all of them ------------------------------------------------------------------------------------------------------


def compare_without_target(maker: Maker, target: Target, effort: Effort, callback: Any) -> Comparison:
    """The maps that show how far neighbourhoods, clusters and places can be trusted."""
    if maker.columns is None:
        return Comparison()
    jobs: list[tuple[Any, ...]] = [(without_structure, maker, effort)]
    if effort.nulls:
        jobs += [(of_one_gaussian, maker, target, effort, []), (another_run, maker, target, 0, False)]
        jobs += [(maker.make_reseeded, target)] if maker.reseeds else []
    made, *more = maker.run(jobs, callback)
    if not more:
        return Comparison(unstructured=made)
    nulls, run, *again = more
    runs = (*((np.arange(maker.n_rows), one.positions) for one in again), run)
    return Comparison(unstructured=made, nulls=nulls, runs=runs, again=again[0] if again else None)


def compare_plain(maker: Maker, effort: Effort, callback: Any) -> Comparison:
    """The map without a target alone, where the target itself cannot be judged."""
    [plain] = maker.run([(maker.make_plain, np.arange(maker.n_rows), effort)], callback)
    return Comparison(plain=plain)


@dataclass(frozen=True)
class Plan:
    """Which rows are judged, and which targets are permuted, before any map is made.

    Attributes
    ----------
    held_out : numbers of the samples outside the map that are judged; none where the map is made again in folds.
    folds : (kept, judged) rows; none where samples outside the map are judged.
    shuffles : (permuted target, its rows), one for each map of a permuted target. Each leaves a fold out.
    rng : what further permutations are drawn with.
    by_class : whether more rows of rare classes are judged than their share of all rows.
    """

    held_out: Rows
    folds: list[tuple[Rows, Rows]]
    shuffles: list[tuple[Target, Rows]]
    rng: np.random.Generator
    by_class: bool = False

    def fold_of(self, turn: int) -> tuple[Rows, Rows]:
        """The fold that the map of a permuted target leaves out."""
        return self.folds[turn % len(self.folds)]

    def plain_rows(self, maker: Maker) -> Rows:
        """The rows of the map without a target: all, on a large map those of the folds that it is compared with.

        Its time and memory do not grow with a large map then, and both maps are of as many rows. (On maps of a few
        thousand rows half of them would call the target needed more than all of them do.)
        """
        if not self.folds or not maker.is_large:
            return np.arange(maker.n_rows)
        return np.unique(np.concatenate([kept for kept, _ in self.folds]))


def planned(
    maker: Maker, target: Target, outside: Outside | None, effort: Effort, n_permutations: int | None,
    wrong: Callable[[], float], *, forecast: bool = False,
) -> Plan:  # fmt: skip
    """The plan of a comparison."""
    rng = as_generator(maker.seed + 1)
    held_out = (
        np.empty(0, dtype=np.intp)
        if outside is None
        else drawn_by_class(outside.target, outside.numbers, effort.held_out, rng)
    )
    in_folds = forecast or len(held_out) < FEWEST_HELD_OUT
    folds = judged_folds(target, rng, effort, wrong(), maker.most_rows, forecast=forecast) if in_folds else []
    n_turns = n_permutations or effort.permutations
    if maker.leaves_target_out and not maker.compares_plain:  # no map is made for a permuted target: all folds get one
        n_turns = max(n_turns, len(folds))
    parts = [folds[turn % len(folds)][0] if folds else None for turn in range(n_turns)]
    shuffles = [permuted_part(target, rng, part, effort.permuted_rows) for part in parts]
    by_class = more_than_their_share(target, folds) if folds else len(held_out) > effort.held_out
    return Plan(held_out, folds, shuffles, rng, by_class)


def more_than_their_share(target: Target, folds: list[tuple[Rows, Rows]]) -> bool:
    """Whether more rows of a class are judged than equal parts have at most."""
    if target.codes is None:
        return False
    judged = np.bincount(target.codes[np.concatenate([out for _, out in folds])], minlength=len(target.classes))
    sizes = np.bincount(target.codes[target.labelled], minlength=len(target.classes))
    return bool((judged > len(folds) * np.ceil(sizes / PARTS)).any())


def compare(
    maker: Maker, target: Target, outside: Outside | None, effort: Effort, n_permutations: int | None,
    wrong: Callable[[], float], callback: Any, *, forecast: bool = False,
) -> Comparison:  # fmt: skip
    """All that a verdict on a map with a target rests on.

    outside : samples that are not on the map, by which it is judged if they are enough. wrong : gives what
    `judged_folds` takes, and is called only if there are folds.
    """
    plan = planned(maker, target, outside, effort, n_permutations, wrong, forecast=forecast)
    left_out, reseeded = maker.leaves_target_out, maker.reseeds and effort.nulls > 0
    n_runs = (OTHER_RUNS if left_out else 0 if plan.folds else 1) if effort.nulls else 0
    with_nulls = effort.nulls > 0 and maker.columns is not None
    n_refits = 0 if left_out else len(plan.folds)
    callback = counting(callback, 1 + n_runs + reseeded + len(plan.shuffles) + n_refits + with_nulls)

    plain_rows = plan.plain_rows(maker)
    first: list[tuple[Any, ...]] = [(maker.make_plain, plain_rows, effort)]
    first += [(another_run, maker, target, turn, left_out) for turn in range(n_runs)]
    first += [(maker.make_reseeded, target)] if reseeded else []
    plain, *others = maker.run(first, callback)
    again = others.pop() if reseeded else None

    jobs: list[tuple[Any, ...]] = [(maker.make, rows, shuffled, plain) for shuffled, rows in plan.shuffles]
    jobs += [(place_fold, maker, target, kept, out, plain) for kept, out in plan.folds[:n_refits]]
    done = maker.run(jobs, callback)
    permuted = tuple(Permuted(made, *shuffle) for made, shuffle in zip(done, plan.shuffles, strict=False))
    nulls: tuple[Numbers, ...] = ()
    if with_nulls:
        shares = [maker.share_of(one.made) for one in permuted]
        [nulls] = maker.run([(of_one_gaussian, maker, target, effort, shares)], callback)

    held_out = None
    if outside is not None and not plan.folds:
        held_out = outside.rows(plan.held_out), outside.target.take(plan.held_out)
    on_plain = judged_on_plain(maker, plain, target, held_out, plan, effort)
    on_map = done[len(plan.shuffles) :]
    if held_out is not None:
        on_map = [judged_on(maker.map, *held_out, target, None, trusted=True)]
    elif left_out and on_plain is not None:
        on_map = on_plain
    runs = [] if again is None else [(np.arange(maker.n_rows), again.positions)]
    runs += [*others, *((case.kept, case.fitted_positions) for case in on_map if case.kept is not None)]
    small_maps = bool(plan.folds) and maker.is_large
    return Comparison(
        plain=plain, plain_rows=plain_rows, permuted=permuted, on_map=tuple(on_map),
        on_plain=None if on_plain is None or not maker.compares_plain else tuple(on_plain),
        on_permuted=judged_on_permuted(maker, permuted, target, held_out, plan), runs=tuple(runs), nulls=nulls,
        again=again, how=FORECAST if forecast else how_judged(plan, small_maps), folded=len(plan.folds) > 1,
        small_maps=small_maps, by_class=plan.by_class,
    )  # fmt: skip


def judged_on_plain(
    maker: Maker, plain: Made | None, target: Target, held_out: HeldOut | None, plan: Plan, effort: Effort
) -> list[Judged] | None:
    """The judged rows on the map without a target; None where there is none to be compared with."""
    if plain is None or not (maker.compares_plain or maker.leaves_target_out):
        return None
    if held_out is not None:
        return [judged_on(plain, *held_out, target, None)]
    return maker.run([(place_on_plain, maker, plain, target, kept, out, effort) for kept, out in plan.folds])


def judged_on_permuted(
    maker: Maker, permuted: tuple[Permuted, ...], target: Target, held_out: HeldOut | None, plan: Plan
) -> tuple[Judged, ...]:
    """The judged rows on the maps of permuted targets, with a permuted target of their own."""
    cases = []
    for turn, one in enumerate(permuted):
        if held_out is not None:
            rows, truth = held_out
        else:
            _, out = plan.fold_of(turn)
            rows, truth = maker.rows(out), target.take(out)
        cases.append(Judged(one.made.place(rows), truth.permuted(plan.rng), one.made.positions, one.target))
    return tuple(cases)


def how_judged(plan: Plan, small_maps: bool) -> str:
    """How rows were judged, in words."""
    if small_maps:
        return f"by cross-validation with maps of {len(plan.folds[0][0])} rows"
    return "cross-validation" if plan.folds else "held-out rows"
