"""A column of no interest and a map: does it predict the target alone, what is left inside its levels, does it show?

Each figure has a baseline of its own. The level alone is compared with targets permuted over all rows. What the map
knows inside levels is compared with targets of the judged rows permuted inside levels: the map was made without these,
so that all such orders are equally likely if position and target are independent inside levels. How far the map shows
the level is compared with levels permuted among rows of the same target, since a map that shows the target shows all
that goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers, Rows
from prismap._util.random import as_generator
from prismap.judging._refits import Judged
from prismap.quality import Estimate, NullResult
from prismap.quality._confounding import Confounding
from prismap.quality._errors import chance_of_codes, error_of_codes
from prismap.quality._votes import VOTERS, poll
from prismap.target import Target, exchange_units, shuffle_inside

Generator = np.random.Generator


@dataclass(frozen=True)
class LevelRules:
    """How much is spent on the figures of levels.

    Attributes
    ----------
    permutations : permutations of figures that cost little.
    vote_permutations : permutations of votes on the level.
    folds : folds in which levels predict the target.
    most_rows : rows at most whose levels are voted on: a share of so many is precise enough.
    """

    permutations: int = 100
    vote_permutations: int = 20
    folds: int = 10
    most_rows: int = 2000


RULES = LevelRules()


def confounding_of(
    positions: Numbers,
    target: Target,
    cases: Sequence[Judged],
    seed: int,
    *,
    column: str | None = None,
    raw: Any = None,
) -> Confounding:
    """The figures of a map of rows at `positions`, whose target has levels.

    cases : judged rows on the map, or on maps of the others. raw : the rows as they were given, dense vectors.
    """
    rng, shown = as_generator(seed + 5), target.shown
    inside, inside_permuted = inside_levels(cases, rng)
    some = np.sort(rng.permutation(len(positions))[: RULES.most_rows])
    part = shown.take(some)
    level, level_permuted = levels_shown(positions[some], part, rng)
    in_data = None if raw is None else error_of_codes(raw[some], part.levels, **voters_of(part))
    return Confounding(
        column, shown.n_levels, shown.codes is not None, *alone(shown, rng),
        inside, inside_permuted, level, level_permuted, in_data,
    )  # fmt: skip


# --- the level alone --------------------------------------------------------------------------------------------------


def alone(target: Target, rng: Generator) -> tuple[Estimate, NullResult]:
    """Error of predicting the target by the level, out of fold, and the same for targets permuted over all rows."""
    known = target.take(target.labelled_rows)
    values, levels = known.numeric, known.levels
    folds = known.folds(np.arange(len(known)), RULES.folds, rng)
    free = known.inside(levels, 0)  # which is permuted over all levels
    null = [float(level_error(free.permuted(rng).numeric, levels, folds)) for _ in range(RULES.permutations)]
    without = float(level_error(values, np.zeros_like(levels), folds))
    return level_error(values, levels, folds, known.units), NullResult(tuple(null), without, len(known))


def level_error(values: Numbers, levels: Rows, folds: Rows, units: Rows | None = None) -> Estimate:
    """Error of predicting rows of values by the mean of their level in the other folds, with the error of units.

    Of indicators: the share of rows of which another class than their own is the commonest there. Of a number: the
    root of the mean squared error.
    """
    losses = np.empty(len(values))
    for fold in np.unique(folds):
        out = folds == fold
        predicted = means_of(levels[~out], values[~out], int(levels.max()) + 1)[levels[out]]
        if values.shape[1] > 1:
            losses[out] = predicted.argmax(axis=1) != values[out].argmax(axis=1)
        else:
            losses[out] = np.square(predicted - values[out])[:, 0]
    mean = Estimate.over_rows(losses, units)
    return mean if values.shape[1] > 1 else Estimate(np.sqrt(mean), mean.spread / (2 * np.sqrt(mean) or 1.0))


def means_of(levels: Rows, values: Numbers, n_levels: int) -> Numbers:
    """Means of the rows of each level, of all rows where it has none."""
    sums = np.stack([np.bincount(levels, weights=column, minlength=n_levels) for column in values.T], axis=1)
    counts = np.bincount(levels, minlength=n_levels)[:, None]
    return np.where(counts > 0, sums / np.maximum(counts, 1), values.mean(axis=0))


# --- the map inside levels --------------------------------------------------------------------------------------------


def inside_levels(cases: Sequence[Judged], rng: Generator) -> tuple[Estimate, NullResult]:
    """How many voters of a row's own level disagree with it, and the same with judged targets permuted inside levels.

    It is the share of single voters, and not whether their vote is wrong: where a level has hardly any rows of a class,
    their vote never names it. Rows of a level of which no fitted row has a target are not judged.
    """
    judged = [part for case in cases for part in votes_inside(case)]

    units = np.concatenate([truth.units for _, truth in judged])

    def disagreement(truths: list[Target]) -> Estimate:
        pairs = zip(judged, truths, strict=True)
        shares = [1.0 - vote.agreement(one.values, one.tolerance) for (vote, _), one in pairs]
        return Estimate.over_rows(np.concatenate(shares), units)

    truths = [truth for _, truth in judged]
    null = tuple(float(disagreement([truth.permuted(rng) for truth in truths])) for _ in range(RULES.permutations))
    return disagreement(truths), NullResult(null, float(np.mean(null)), sum(len(truth) for truth in truths))


def votes_inside(case: Judged) -> list[tuple[Any, Target]]:
    """The votes of the rows of a level on its judged rows, and the targets of these, level by level."""
    target = case.target.shown
    voting = target if case.fitted_target is None else case.fitted_target.shown
    places = case.positions if case.fitted_positions is None else case.fitted_positions
    votes = []
    for level in np.unique(target.levels[target.labelled]):
        rows = np.flatnonzero((target.levels == level) & target.labelled)
        voters = np.flatnonzero((voting.levels == level) & voting.labelled)
        if len(voters) - (case.fitted_positions is None) < 1:
            continue
        who: dict[str, Any] = {"own": np.arange(len(rows)) if case.fitted_positions is None else None}
        if not target.independent:
            who = {"units": target.units[rows], "fitted_units": voting.units[voters], "in_order": target.in_order}
        votes.append((poll(case.positions[rows], places[voters], voting.take(voters), **who), target.take(rows)))
    return votes


# --- the level on the map ---------------------------------------------------------------------------------------------


def levels_shown(positions: Numbers, target: Target, rng: Generator) -> tuple[Estimate, NullResult]:
    """Error of neighbours in naming the level, and the same for levels permuted among rows of the same target."""
    who, levels, null = voters_of(target), target.levels, []
    for _ in range(RULES.vote_permutations):
        null.append(float(error_of_codes(positions, permuted_levels(target, rng), **who)))
    chance = chance_of_codes(levels, who["n_neighbors"])
    return error_of_codes(positions, levels, **who), NullResult(tuple(null), chance, len(target))


def permuted_levels(target: Target, rng: Generator) -> Rows:
    """The levels permuted among rows of the same target; what rows of a unit have, they exchange with another unit."""
    every = np.arange(len(target))
    if target.independent:
        return shuffle_inside(target.levels, every, target.groups, rng)
    levels = target.levels
    for group in np.unique(target.groups):
        levels = exchange_units(levels, every[target.groups == group], target.units, rng)
    return levels


def voters_of(target: Target) -> dict[str, Any]:
    """Who votes on a level: the nearest rows, but those that are not independent of the row."""
    who: dict[str, Any] = {"n_neighbors": min(VOTERS, len(target) - 1), "at_most": True}
    return who if target.independent else {**who, "units": target.units, "in_order": target.in_order}
