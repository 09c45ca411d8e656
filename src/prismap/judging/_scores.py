"""What judged rows on maps say of the target: errors with all they must be compared to, and classes that are mixed.

The error of several targets is the mean of ``error / chance`` over them, so that targets of different kinds, and
classes of different numbers, count alike: 1 is what unrelated targets have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers, Rows
from prismap.judging._refits import Comparison, Judged
from prismap.quality import Estimate, NullResult, Overlap, TargetScore, overlapping_pairs, rare_classes
from prismap.quality._errors import ErrorKind, errors_of
from prismap.quality._knn import overlap_of_codes
from prismap.target import ClassTarget, SeveralTarget, Target

Cases = Sequence[Judged]


def judged_scores(
    positions: Numbers | None, target: Target, comparison: Comparison
) -> tuple[tuple[TargetScore, ...], int]:
    """The scores of a report, and how many rows they rest on; of several targets those of all and of each.

    positions : of the map's rows; None where these are the judged rows themselves.
    """
    if not isinstance(target, SeveralTarget):
        return scores_of(positions, target, comparison)
    several, each, n_judged = len(target.columns) > 1, [], 0
    for t, column in enumerate(target.columns):
        scores, n = scores_of(positions, column, column_of(comparison, t))
        n_judged = max(n_judged, n)
        if scores:
            name = target.names[t]
            each.append([replace(one, name=f"{one.name} of {name}", of=name) if several else one for one in scores])
    together = [joint_score([one[0] for one in each])] if several and each else []
    return (*together, *(score for scores in each for score in scores)), n_judged


def column_of(comparison: Comparison, t: int) -> Comparison:
    """What maps were compared with, for one of several targets."""
    plain = comparison.on_plain
    return replace(
        comparison, permuted=tuple(replace(one, target=one.target.columns[t]) for one in comparison.permuted),
        on_map=tuple(case.column(t) for case in comparison.on_map),
        on_plain=None if plain is None else tuple(case.column(t) for case in plain),
        on_permuted=tuple(case.column(t) for case in comparison.on_permuted),
    )  # fmt: skip


def scores_of(positions: Numbers | None, target: Target, comparison: Comparison) -> tuple[tuple[TargetScore, ...], int]:
    """The scores of one target, and how many rows they were judged on. No figure rests on rows of rare classes.

    Where rows were judged on maps of far fewer rows than the map has, the error among fitted rows is of these maps.
    """
    on_map, permuted = comparison.on_map, comparison.permuted
    rare = rare_of(on_map)
    n_judged = n_counted(on_map, rare)
    if not n_judged:
        return (), 0
    among_fitted: list[Judged] = []
    if comparison.small_maps:
        among_fitted = [
            Judged(p.fitted_positions, p.fitted_target)
            for p in on_map
            if p.fitted_positions is not None and p.fitted_target is not None
        ]
    elif positions is not None:
        among_fitted = [Judged(positions, target)]
    scores = []
    for error in errors_of(target, rare):
        error = error.at_most(min(len(p.target if p.fitted_target is None else p.fitted_target) - 1 for p in on_map))
        chance = error.chance(target, rare)
        # Folds judge few rows each: together they make one figure. Placed rows make one for each permutation.
        groups = [comparison.on_permuted] if comparison.folded else [[p] for p in comparison.on_permuted]
        null = tuple(float(joint(error, group, rare)) for group in groups)
        inside = tuple(
            float(error.measure(one.made.positions, one.target, judged=counted(one.target, rare))) for one in permuted
        )
        score = TargetScore(
            name=error.name, value=joint(error, on_map, rare), chance=chance,
            in_sample=joint(error, among_fitted, rare) if among_fitted else None,
            unsupervised=None if comparison.on_plain is None else joint(error, comparison.on_plain, rare),
            permuted=NullResult(null, chance, min(n_counted(group, rare) for group in groups)),
            permuted_in_sample=None if not inside else NullResult(
                inside, chance, min(int(one.target.labelled.sum()) for one in permuted)
            ),
        )  # fmt: skip
        scores.append(score)
    return tuple(scores), n_judged


def counted(target: Target, rare: Rows) -> Any:
    """A mask of the rows that are judged: all but those of rare classes. None: all."""
    return ~np.isin(target.values, rare) if len(rare) else None


def joint(error: ErrorKind, placed: Cases, rare: Rows) -> Estimate:
    """The error over several sets of judged rows, with the standard error of all of them together."""
    placed = [p for p in placed if not np.isin(p.target.values, rare).all()]
    parts = [
        error.measure(p.positions, p.target, p.fitted_positions, p.fitted_target, counted(p.target, rare))
        for p in placed
    ]
    sizes = np.array([n_counted([p], rare) for p in placed], dtype=float)
    spread = np.sqrt(np.sum((sizes * [part.spread for part in parts]) ** 2)) / sizes.sum()
    return Estimate(float(np.average([float(part) for part in parts], weights=sizes)), float(spread))


def n_counted(placed: Cases, rare: Rows) -> int:
    """How many judged rows count."""
    return sum(int((~np.isin(p.target.values, rare)).sum()) if len(rare) else len(p.target) for p in placed)


def rare_of(placed: Cases) -> Rows:
    """Codes of the classes with too few judged rows; none of numbers."""
    if not placed or not all(isinstance(p.target, ClassTarget) and not p.target.ordered for p in placed):
        return np.empty(0, dtype=np.intp)
    return rare_classes(np.concatenate([p.target.values for p in placed]))


def joint_score(scores: Sequence[TargetScore]) -> TargetScore:
    """The mean of ``error / chance`` over the targets, with everything it is compared to."""

    def mean(name: str) -> Any:
        parts = [getattr(score, name) for score in scores]
        if any(part is None for part in parts):
            return None
        chances = np.array([score.chance for score in scores])
        if isinstance(parts[0], NullResult):
            values = (np.array([p.values for p in parts]).T / chances).mean(axis=1)
            return NullResult(tuple(values.tolist()), 1.0, parts[0].n_rows)
        # The same rows were judged for every target: their errors are not independent.
        spread = float(np.mean(np.array([part.spread for part in parts]) / chances))
        return Estimate(float(np.mean(np.array([float(part) for part in parts]) / chances)), spread)

    parts = ("value", "in_sample", "unsupervised", "permuted", "permuted_in_sample")
    return TargetScore(f"mean error over chance of {len(scores)} targets", chance=1.0, **{p: mean(p) for p in parts})


def class_findings(target: Target, placed: Cases) -> dict[str, Any]:
    """Pairs of classes that are mixed among the judged rows, and rare classes, which are neither side of a pair."""
    if not isinstance(target, ClassTarget):
        return {}
    names = [str(name) for name in target.classes]
    rare = rare_of(placed)
    return {"overlaps": mixed_pairs(placed, names, rare), "rare": tuple(names[code] for code in rare)}


def mixed_pairs(placed: Cases, names: list[str], rare: Rows) -> tuple[Overlap, ...]:
    """Pairs of classes that are mixed: rows of different folds lie on different maps, and each votes on its own."""
    shares, sizes = np.zeros((len(names), len(names))), np.zeros(len(names))
    for p in placed:
        fitted = None if p.fitted_target is None else p.fitted_target.values
        overlap = overlap_of_codes(p.positions, p.target.values, p.fitted_positions, fitted, n_classes=len(names))
        counts = np.bincount(p.target.values[p.target.labelled], minlength=len(names))
        shares += np.nan_to_num(overlap) * counts[:, None]
        sizes += counts
    with np.errstate(invalid="ignore"):
        shares /= sizes[:, None]
    shares[rare], shares[:, rare] = np.nan, np.nan
    return overlapping_pairs(shares, names)
