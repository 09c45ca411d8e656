"""What judged rows on maps say: errors with all they must be compared to, and classes that are mixed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prismap.map.trust import Evidence
from prismap.metrics.target import known_targets
from prismap.quality import (
    Estimate,
    NullResult,
    TargetScore,
    chance_error,
    chance_nrmse,
    chance_steps,
    class_overlap,
    knn_error,
    knn_nrmse,
    knn_rank_correlation,
    knn_rank_error,
    knn_steps,
    overlapping_pairs,
    rare_classes,
)

#: Ten neighbours are better founded than one where most rows have so many fitted rows of their class.
MANY_PER_CLASS = 20
#: Errors of a target by what they compare: classes, steps between ordered ones, values, ranks and their order.
ERRORS = {
    "class": knn_error, "steps": knn_steps, "real": knn_nrmse, "rank": knn_rank_error, "order": knn_rank_correlation,
}  # fmt: skip


@dataclass(frozen=True)
class Judged:
    """Judged rows on a map: their positions and targets, and those of the rows that vote (None: the other rows)."""

    positions: np.ndarray
    target: np.ndarray
    fitted_positions: np.ndarray | None = None
    fitted_target: np.ndarray | None = None
    kept: np.ndarray | None = None
    """Which of the fitted rows a map of some of them was made of; `out`: which the judged ones are."""
    evidence: Evidence | None = None
    """What neighbours say of the judged rows; `right`: whether that is true."""
    right: np.ndarray | None = None
    out: np.ndarray | None = None


def error_of(target, n_neighbors, positions, y, fitted_positions=None, fitted_y=None, *, rare=()):
    """An error of `ERRORS`; of several real targets its mean. Rows of `rare` classes vote, and are not judged."""
    if y.ndim == 2:
        columns = zip(y.T, [None] * y.shape[1] if fitted_y is None else fitted_y.T, strict=True)
        parts = [error_of(target, n_neighbors, positions, one, fitted_positions, other) for one, other in columns]
        # The same rows were judged for every target: their errors are not independent.
        return Estimate(float(np.mean([float(part) for part in parts])), float(np.mean([p.spread for p in parts])))
    options = {"judged": ~np.isin(y, rare)} if len(rare) else {}
    return ERRORS[target](
        positions, y, n_neighbors=n_neighbors, Y_fit=fitted_positions, y_fit=fitted_y, **options
    )  # fmt: skip


def joint(target, n_neighbors, placed, rare=()):
    """The error over several sets of judged rows, with the standard error of all of them together."""
    placed = [p for p in placed if not np.isin(p.target, rare).all()]
    parts = [
        error_of(target, n_neighbors, p.positions, p.target, p.fitted_positions, p.fitted_target, rare=rare)
        for p in placed
    ]
    sizes = np.array([(~np.isin(p.target, rare)).sum() if len(rare) else len(p.target) for p in placed], dtype=float)
    spread = np.sqrt(np.sum((sizes * [part.spread for part in parts]) ** 2)) / sizes.sum()
    return Estimate(float(np.average([float(part) for part in parts], weights=sizes)), float(spread))


def n_counted(placed, rare=()):
    """How many judged rows count."""
    return sum(int((~np.isin(p.target, rare)).sum()) if len(rare) else len(p.target) for p in placed)


def judged_targets(placed):
    """The targets of all judged rows."""
    return np.concatenate([p.target for p in placed])


def kinds_of_error(target, y, rare):
    """(name, kind of `ERRORS`, neighbours) of the scores of a report, the best founded first."""
    if target == "real":
        kinds = [("rank error", "rank", 5), ("nRMSE", "real", 5), ("rank correlation", "order", 5)]
        many = y.shape[1] if y.ndim == 2 else 1
        return [(f"mean {name} of {many} targets" if many > 1 else name, *how) for name, *how in kinds]
    sizes = np.bincount(y[y >= 0])
    common = y[(y >= 0) & ~np.isin(y, rare)]
    kinds = [("10-NN error", "class", 10), ("1-NN error", "class", 1)]
    if target == "ordered":
        return [("mean class steps", "steps", 10), *kinds]
    return kinds if len(common) and np.median(sizes[common]) >= MANY_PER_CLASS else kinds[::-1]


def score_cases(target, positions, y, permuted, cases, *, folded, small_maps=False):
    """The scores of the report, and how many rows they were judged on.

    `positions` are those of the fitted rows, None where these are the judged rows themselves; the cases of an
    unsupervised map are None where there is none. No figure rests on rows of rare classes. With `small_maps`, rows were
    judged on maps of far fewer rows than the map has: the error among fitted rows is then of these maps, too.
    """
    on_map, on_unsupervised, on_permuted = cases
    of_all = judged_targets(on_map)
    rare = rare_classes(of_all) if target == "class" else np.empty(0, dtype=np.intp)
    n_judged = n_counted(on_map, rare)
    if not n_judged:
        return (), 0
    shuffled = [other[known_targets(other)] for _, other, _ in permuted]
    among_fitted = [Judged(positions, y)]
    if small_maps:
        among_fitted = [Judged(p.fitted_positions, p.fitted_target) for p in on_map]
    scores = []
    for name, kind, k in kinds_of_error(target, y, rare):
        k = min(k, *(len(p.target) - 1 if p.fitted_target is None else len(p.fitted_target) - 1 for p in on_map))
        chance = chance_of(kind, y, k, rare)
        # Folds judge few rows each: together they make one figure. Placed rows make one a permutation.
        groups = [on_permuted] if folded else [[p] for p in on_permuted]
        null = tuple(float(joint(kind, k, group, rare)) for group in groups)
        inside = tuple(float(error_of(kind, k, one.positions, other, rare=rare)) for one, other, _ in permuted)
        score = TargetScore(
            name=name, value=joint(kind, k, on_map, rare), chance=chance,
            in_sample=None if positions is None else joint(kind, k, among_fitted, rare),
            unsupervised=None if on_unsupervised is None else joint(kind, k, on_unsupervised, rare),
            permuted=NullResult(null, chance, min(n_counted(group, rare) for group in groups)),
            permuted_in_sample=NullResult(inside, chance, min(map(len, shuffled))) if inside else None,
        )  # fmt: skip
        scores.append(score)
    return tuple(scores), n_judged


def chance_of(kind, y, k, rare):
    """The level of an error that unrelated targets have."""
    if kind == "class":
        return float(chance_error(y, n_neighbors=k, judged=~np.isin(y, rare)))
    if kind == "steps":
        return chance_steps(y[y >= 0])
    return 0.0 if kind == "order" else float(chance_nrmse(k))


def map_overlaps(placed, classes):
    """Pairs of classes that are mixed among the judged rows; a rare class is neither side of a pair."""
    rare = rare_classes(judged_targets(placed))
    shares = np.zeros((len(classes), len(classes)))
    sizes = np.zeros(len(classes))
    # Rows of different folds lie on different maps: each votes on its own, the shares are averaged over the rows.
    for p in placed:
        found, names = class_overlap(p.positions, p.target, Y_fit=p.fitted_positions, y_fit=p.fitted_target)
        names = names.astype(np.intp)  # a fold need not hold every class
        counts = np.bincount(p.target[p.target >= 0], minlength=len(classes))
        shares[np.ix_(names, names)] += np.nan_to_num(found) * counts[names, None]
        sizes += counts
    with np.errstate(invalid="ignore"):
        shares /= sizes[:, None]
    shares[rare], shares[:, rare] = np.nan, np.nan
    return overlapping_pairs(shares, [str(name) for name in classes])
