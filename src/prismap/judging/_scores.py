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
from prismap._util.evidence import error_of_mean
from prismap._util.random import as_generator
from prismap.judging._refits import PARTS as PARTS_JUDGED
from prismap.judging._refits import Comparison, Judged
from prismap.quality import Estimate, NullResult, Overlap, TargetScore, overlapping_pairs, rare_classes
from prismap.quality._agreement import Agreement, Levels, agreement, levels
from prismap.quality._errors import VOTE, ErrorKind, errors_of, neighbor_means, vote_on_codes, with_ranks
from prismap.quality._knn import overlap_of_codes
from prismap.quality._scores import PARTS, Recall
from prismap.target import ClassTarget, SeveralTarget, Target

Cases = Sequence[Judged]
NO_CLASS: Rows = np.empty(0, dtype=np.intp)
#: Rows whose nearest ones in the data are asked: there is no tree for many columns.
MOST_IN_DATA = 2000


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
    on_map = comparison.on_map
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
    fewest = min(len(p.target if p.fitted_target is None else p.fitted_target) - 1 for p in on_map)
    errors = [error.at_most(fewest) for error in errors_of(target)]
    first, *more = (score_of(error, positions, target, comparison, among_fitted, rare) for error in errors)
    first = replace(first, agreement=agreement_of(on_map, rare))
    return (first, *more), n_judged


def score_of(
    error: ErrorKind, positions: Numbers | None, target: Target, comparison: Comparison, among_fitted: Cases, rare: Rows
) -> TargetScore:
    """One error of the judged rows, with all that it is compared with."""
    on_map, on_plain, permuted = comparison.on_map, comparison.on_plain, comparison.permuted
    chance, shares = error.chance(target, rare), class_shares(error, target, rare, by_class=comparison.by_class)
    # Folds judge few rows each: together they make one figure. Placed rows make one for each permutation.
    groups = [comparison.on_permuted] if comparison.folded else [[p] for p in comparison.on_permuted]
    themselves = [[Judged(one.made.positions, one.target)] for one in permuted]
    null, inside = (tuple(float(joint(error, g, rare, shares)) for g in cases) for cases in (groups, themselves))
    itself = None if comparison.small_maps else positions
    return TargetScore(
        name=error.name, value=joint(error, on_map, rare, shares), chance=chance,
        in_sample=joint(error, among_fitted, rare, shares) if among_fitted else None,
        unsupervised=None if on_plain is None else joint(error, on_plain, rare, shares),
        in_data=among_neighbors_in_data(error, comparison, rare),
        permuted=NullResult(null, chance, min(n_independent(group, rare, shares) for group in groups)),
        permuted_in_sample=None if not inside else NullResult(
            inside, chance, min(n_independent(case, NO_CLASS, shares) for case in themselves)
        ),
        gain=None if on_plain is None else gap_of(error, on_plain, on_map, rare, shares),
        flattery=None if itself is None else flattery_of(error, on_map, itself, target, rare, shares),
        n_units=n_independent(on_map, rare, shares),
    )  # fmt: skip


def agreement_of(placed: Cases, rare: Rows) -> Agreement | None:
    """Whether what neighbours say of the judged rows goes with what is true; None where rows vote on each other."""
    if any(case.fitted_target is None for case in placed):
        return None
    return agreement(*all_votes(placed, rare), joined_targets(placed, rare), as_generator(0), voting_twice(placed))


def levels_of(target: Target, placed: Cases) -> Levels | None:
    """Whether votes separate units, and samples inside them, where the target varies inside; of several the first."""
    cases = [replace(p, target=p.target.shown, fitted_target=p.fitted_target and p.fitted_target.shown) for p in placed]
    if target.independent or not cases or any(case.fitted_target is None for case in cases):
        return None
    known = joined_targets(cases, NO_CLASS)
    return levels(*all_votes(cases, NO_CLASS), known, as_generator(0), voting_twice(cases))


def voting_twice(placed: Cases) -> float:
    """How much larger the variance of what votes and target have in common is, because judged rows vote elsewhere."""
    return 1.0 + min((len(placed) - 1) / (PARTS_JUDGED - 1), 1.0)


def all_votes(placed: Cases, rare: Rows) -> tuple[Numbers, Numbers]:
    """What neighbours say of the judged rows, and what is true.

    Votes are those of the classes that are judged, or ranks that are predicted; each part has a mean of its own, for
    others voted there.
    """
    votes, truths = zip(*(votes_and_truth(case, rare) for case in placed if n_counted([case], rare)), strict=True)
    return np.concatenate([V - V.mean(axis=0) for V in votes]), np.concatenate(truths)


def votes_and_truth(case: Judged, rare: Rows) -> tuple[Numbers, Numbers]:
    """What neighbours say of the judged rows, and what is true: shares of classes, or ranks, (n, columns) each."""
    who: dict[str, Any] = {"judged": counted(case.target, rare)}
    fitted = case.fitted_target
    assert fitted is not None
    if not case.target.independent:
        who |= {"units": case.target.units, "units_fit": fitted.units, "in_order": case.target.in_order}
    if case.target.codes is not None:
        vote, own, _ = vote_on_codes(case.positions, case.target.codes, case.fitted_positions, fitted.codes, **who)
        n_classes = len(case.target.classes)
        shares = np.zeros((len(own), n_classes))
        shares[:, : vote.seats.shape[1]] = vote.seats / np.maximum(vote.seats.sum(axis=1, keepdims=True), 1e-9)
        return shares, np.eye(n_classes)[own]
    columns = [
        neighbor_means(case.positions, *with_ranks(mine.values, case.fitted_positions, theirs.values), **who)[:2]
        for mine, theirs in zip(case.target.columns, fitted.columns, strict=True)
    ]
    known, predicted = (np.column_stack(parts) for parts in zip(*columns, strict=True))
    return predicted, known


def joined_targets(placed: Cases, rare: Rows) -> Target:
    """The target of all judged rows that count, one part after the other."""
    values, units = judged_rows(placed, rare)
    levels = [case.target.levels[counted_mask(case.target, rare)] for case in placed]
    return replace(placed[0].target, values=values, units=units, levels=np.concatenate(levels))


def class_shares(error: ErrorKind, target: Target, rare: Rows, *, by_class: bool) -> Numbers | None:
    """What each class counts in an error: as much as any other, or what it has of all rows; None: every row alike.

    by_class : whether more rows of rare classes were judged than their share. Each class counts by its share of all
        rows with a target then, so that the error is that of the population, and not of the draw.
    """
    if target.codes is None:
        return None
    sizes = np.bincount(target.codes[target.labelled], minlength=len(target.classes)).astype(np.float64)
    sizes[rare] = 0.0
    if error.balanced:
        return np.asarray(sizes > 0, dtype=np.float64)
    return sizes if by_class else None


def row_weights(codes: Rows, shares: Numbers | None) -> Numbers:
    """The weight of each judged row, so that classes count by their shares; the mean weight is one."""
    if shares is None:
        return np.ones(len(codes))
    counts = np.bincount(codes, minlength=len(shares))
    weights = (shares / np.maximum(counts, 1))[codes]
    return np.asarray(weights * len(codes) / (weights.sum() or 1.0))


def among_neighbors_in_data(error: ErrorKind, comparison: Comparison, rare: Rows) -> Estimate | None:
    """The error of the nearest rows in the data, on the judged rows or a sample of them; None where it is not asked."""
    if comparison.in_data is None:
        return None
    (case,), (rows, metric) = comparison.on_map, comparison.in_data
    judged = counted(case.target, rare)
    judged = np.ones(len(case.target), dtype=bool) if judged is None else judged
    if judged.sum() > MOST_IN_DATA:
        sample = as_generator(0).choice(np.flatnonzero(judged), MOST_IN_DATA, replace=False)
        judged = np.isin(np.arange(len(judged)), sample)
    return error.measure(rows, case.target, judged=judged, metric=metric)


def counted(target: Target, rare: Rows) -> Any:
    """A mask of the rows that are judged: all but those of rare classes. None: all."""
    return ~np.isin(target.values, rare) if len(rare) else None


def joint(error: ErrorKind, placed: Cases, rare: Rows, shares: Numbers | None = None) -> Estimate:
    """The error over several sets of judged rows, with the standard error of all of them together."""
    placed = [p for p in placed if not np.isin(p.target.values, rare).all()]
    if shares is not None and error.of_rows is not None:
        return mean_of_parts([parts_of(error, p, rare) for p in placed], placed, rare, shares)
    if len(placed) == 1:
        [p] = placed
        return error.measure(p.positions, p.target, p.fitted_positions, p.fitted_target, counted(p.target, rare))
    parts = [
        error.measure(p.positions, p.target, p.fitted_positions, p.fitted_target, counted(p.target, rare))
        for p in placed
    ]
    sizes = np.array([n_counted([p], rare) for p in placed], dtype=float)
    spread = np.sqrt(np.sum((sizes * [part.spread for part in parts]) ** 2)) / sizes.sum()
    return Estimate(float(np.average([float(part) for part in parts], weights=sizes)), float(spread))


def gap_of(error: ErrorKind, ones: Cases, others: Cases, rare: Rows, shares: Numbers | None = None) -> Estimate | None:
    """How much higher the error of `ones` is than that of `others`, which are the same rows on other maps.

    By the differences of rows, whose standard error is smaller than those of the two errors. None where rows have no
    part in the error.
    """
    if error.of_rows is None:
        return None
    pairs = zip(ones, others, strict=True)
    gaps = [parts_of(error, one, rare) - parts_of(error, other, rare) for one, other in pairs]
    return mean_of_parts(gaps, ones, rare, shares)


def flattery_of(
    error: ErrorKind, placed: Cases, positions: Numbers, target: Target, rare: Rows, shares: Numbers | None = None
) -> Estimate | None:
    """How much higher the error of judged rows is than that of the same rows on the map itself, by its other rows.

    None where the judged rows are not on it.
    """
    if error.of_rows is None:
        return None
    gaps = []
    for case in placed:
        if case.rows is None:
            return None
        mask = counted(case.target, rare)
        rows = case.rows if mask is None else case.rows[mask]
        asked = np.isin(np.arange(len(target)), rows)
        own = np.empty(len(positions))
        if asked.any():
            own[asked] = error.rows(positions, target, judged=asked)
        gaps.append(parts_of(error, case, rare) - own[rows])
    return mean_of_parts(gaps, placed, rare, shares)


def parts_of(error: ErrorKind, case: Judged, rare: Rows) -> Numbers:
    """The part of each judged row that counts in the error."""
    if not n_counted([case], rare):
        return np.empty(0)
    return error.rows(
        case.positions, case.target, case.fitted_positions, case.fitted_target, counted(case.target, rare)
    )


def mean_of_parts(parts: list[Numbers], placed: Cases, rare: Rows, shares: Numbers | None) -> Estimate:
    """The mean of what judged rows have, one array for each case, with its standard error by units.

    With shares of the classes it is that of means of classes, which were drawn one by one: its standard error is that
    of rows around the mean of their class.
    """
    values = np.concatenate(parts)
    codes, units = judged_rows(placed, rare)
    if shares is None:
        return Estimate.over_rows(values, units)
    weights = row_weights(codes, shares)
    mean = float((weights * values).mean())
    counts = np.maximum(np.bincount(codes, minlength=len(shares)), 1)
    of_classes = np.bincount(codes, weights=values, minlength=len(shares)) / counts
    return Estimate(mean, error_of_mean(weights * (values - of_classes[codes]), units))


def counted_mask(target: Target, rare: Rows) -> Any:
    """A mask of the rows with a target that count."""
    return target.labelled & ~np.isin(target.values, rare) if len(rare) else target.labelled


def judged_rows(placed: Cases, rare: Rows) -> tuple[Any, Rows]:
    """The targets and the units of the judged rows that count."""
    masks = [counted_mask(p.target, rare) for p in placed]
    values, units = (
        np.concatenate([part[mask] for part, mask in zip(parts, masks, strict=True)])
        for parts in ([p.target.values for p in placed], [p.target.units for p in placed])
    )
    return values, units


def n_counted(placed: Cases, rare: Rows) -> int:
    """How many judged rows count."""
    return sum(int((~np.isin(p.target.values, rare)).sum()) if len(rare) else len(p.target) for p in placed)


def n_independent(placed: Cases, rare: Rows, shares: Numbers | None = None) -> int:
    """How many units the judged rows that count are of; every row is one unless they are not independent.

    If classes count by shares of their own, as many equal rows as are as precise: ``(sum w)^2 / sum w^2`` (Kish 1965).
    """
    codes, units = judged_rows(placed, rare)
    n_units = sum(len(np.unique(judged_rows([p], rare)[1])) for p in placed)
    if shares is None or not len(units):
        return n_units
    weights = row_weights(codes, shares)
    return max(1, int(n_units * weights.sum() ** 2 / (np.square(weights).sum() * len(units))))


def judged_units(target: Target, placed: Cases) -> dict[str, Any]:
    """How many units were judged, of the class with the fewest and of all; nothing if rows are independent."""
    if target.independent or not placed:
        return {}
    units = np.concatenate([p.target.units for p in placed])
    facts: dict[str, Any] = {"n_units": len(np.unique(units)), "unit": target.unit_name}
    classes, shown = target.shown.codes, [p.target.shown for p in placed]
    if classes is None:
        return {**facts, "fewest_units": facts["n_units"]}
    codes, rare = np.concatenate([one.values for one in shown]), rare_of(placed)
    judged = [code for code in np.unique(codes) if code not in rare]
    return {**facts, "fewest_units": min((len(np.unique(units[codes == code])) for code in judged), default=0)}


def rare_of(placed: Cases) -> Rows:
    """Codes of the classes with too few judged rows; none of numbers."""
    if not placed or not all(isinstance(p.target, ClassTarget) and not p.target.ordered for p in placed):
        return NO_CLASS
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

    fewest = min((score.n_units for score in scores if score.n_units is not None), default=None)
    return TargetScore(
        f"mean error over chance of {len(scores)} targets", chance=1.0, n_units=fewest, **{p: mean(p) for p in PARTS}
    )


def class_findings(target: Target, placed: Cases) -> dict[str, Any]:
    """Pairs of classes that are mixed among the judged rows, and rare classes, which are neither side of a pair."""
    if not isinstance(target, ClassTarget):
        return {}
    names = [str(name) for name in target.classes]
    rare = rare_of(placed)
    return {
        "overlaps": mixed_pairs(placed, names, rare), "rare": tuple(names[code] for code in rare),
        "recalls": recalls_of(placed, names),
    }  # fmt: skip


def recalls_of(placed: Cases, names: list[str]) -> tuple[Recall, ...]:
    """How many judged rows of each class the vote names right, of the classes that have any."""
    right = np.concatenate([1.0 - parts_of(VOTE, case, NO_CLASS) for case in placed])
    codes, units = judged_rows(placed, NO_CLASS)
    recalls = []
    for code in np.unique(codes):
        own = codes == code
        share, n_units = Estimate.over_rows(right[own], units[own]), len(np.unique(units[own]))
        smoothed = (n_units * share + 1) / (n_units + 2)  # Laplace's rule: ten of ten do not mean all
        spread = max(np.nan_to_num(share.spread), np.sqrt(smoothed * (1 - smoothed) / n_units))
        recalls.append(Recall(names[code], Estimate(share, spread), int(own.sum()), n_units))
    return tuple(recalls)


def mixed_pairs(placed: Cases, names: list[str], rare: Rows) -> tuple[Overlap, ...]:
    """Pairs of classes that are mixed: rows of different folds lie on different maps, and each votes on its own."""
    shares, sizes = np.zeros((len(names), len(names))), np.zeros(len(names))
    for p in placed:
        fitted = None if p.fitted_target is None else p.fitted_target.values
        who: dict[str, Any] = {}
        if not p.target.independent:
            units_fit = None if p.fitted_target is None else p.fitted_target.units
            who = {"units": p.target.units, "units_fit": units_fit, "in_order": p.target.in_order}
        overlap = overlap_of_codes(
            p.positions, p.target.values, p.fitted_positions, fitted, n_classes=len(names), **who
        )
        counts = np.bincount(p.target.values[p.target.labelled], minlength=len(names))
        shares += np.nan_to_num(overlap) * counts[:, None]
        sizes += counts
    with np.errstate(invalid="ignore"):
        shares /= sizes[:, None]
    shares[rare], shares[:, rare] = np.nan, np.nan
    return overlapping_pairs(shares, names)
