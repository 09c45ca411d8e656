"""The four repairs of an indefinite similarity side by side: the same map with each, judged on rows left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from prismap._util.random import as_generator
from prismap.comparisons import Objects
from prismap.exceptions import InputError
from prismap.judging._refits import Judged, judged_folds
from prismap.judging._scores import joint
from prismap.map._fitted import FittedMap
from prismap.map._fitting import fit_map
from prismap.map._judged import MapMaker
from prismap.map._recipe import Given, Recipe
from prismap.metrics import ObjectSimilarity, SimilarityMetric
from prismap.metrics._geometry import data_metric
from prismap.metrics._objects import known_rows
from prismap.metrics._repair import REPAIRS
from prismap.quality import Estimate, MapReport
from prismap.quality._errors import errors_of
from prismap.target import SeveralTarget, Target

NO_CLASSES = np.empty(0, dtype=np.intp)
N_NEIGHBORS, HEAD = 5, "Repairs side by side"


@dataclass(frozen=True)
class RepairFigures:
    """One repair: the error of rows left out on its maps, and the same with a permuted target."""

    repair: str
    error: Estimate
    permuted: Estimate

    def __str__(self) -> str:
        return f"{self.repair} {float(self.error):.3f} +- {self.error.spread:.3f} (permuted {float(self.permuted):.3f})"


def compare_repairs(fitted: FittedMap) -> tuple[RepairFigures, ...]:
    """The error of five neighbours (nRMSE of real targets) on maps with each repair, of rows that they never saw.

    The folds are the same for all, and so is the permuted target that stands beside each.
    """
    if not isinstance(fitted.data, SimilarityMetric):
        raise InputError("repairs=True is for similarities: other data need none.")
    if not fitted.target.exists:
        raise InputError("repairs=True judges the repairs by the target, and this map has none.")
    if isinstance(fitted.target, SeveralTarget):
        raise InputError("repairs=True judges the repairs by one target, and this map has several.")
    target, rng = fitted.target.shown, as_generator(fitted.seed)
    folds = judged_folds(target, rng)
    targets = (target, target.permuted(rng))
    how, rows = as_objects(fitted)
    jobs = [
        (place_fold, fitted.recipe, ObjectSimilarity(how, repair), rows, one, kept, out)
        for repair in REPAIRS for one in targets for kept, out in folds
    ]  # fmt: skip
    placed = np.array(MapMaker(fitted).run(jobs), dtype=object).reshape(len(REPAIRS), 2, len(folds))
    # Of classes the vote of five, of numbers their mean.
    error = next(one for one in errors_of(target) if one.name in ("1-NN error", "nRMSE"))
    error = replace(error, n_neighbors=N_NEIGHBORS)
    return tuple(
        RepairFigures(repair, *(joint(error, list(cases), NO_CLASSES) for cases in both))
        for repair, both in zip(REPAIRS, placed, strict=True)
    )


def as_objects(fitted: FittedMap) -> tuple[Any, Any]:
    """The fitted rows as objects whose values are known, because only these give a left-out row's similarity to itself.

    (If negative eigenvalues are kept, distances need it, and it does not follow from entries against other rows.)
    """
    if isinstance(fitted.data, ObjectSimilarity):
        return fitted.data.how, fitted.rows
    S = fitted.data.given
    how = Objects(partial(look_up, S), "similarity", n_jobs=1)
    return how, known_rows(how, range(len(S)), S)


def look_up(S: np.ndarray, i: int, j: int) -> float:
    """A matrix as a comparison of the numbers of its rows."""
    return float(S[i, j])


def place_fold(recipe: Recipe, data: Any, rows: Any, target: Target, kept: np.ndarray, out: np.ndarray) -> Judged:
    """Rows `out` on a map of the rows `kept` with another repair."""
    every = np.arange(len(kept))
    made = fit_map(recipe.but(data=data), data_metric(data), Given(rows[kept], target.take(kept), every, every))
    return Judged(made.place(rows[out])[0], target.take(out), made.positions, target.take(kept))


def with_repairs(report: MapReport, fitted: FittedMap) -> MapReport:
    """The report with the comparison among its notes."""
    if any(note.startswith(HEAD) for note in report.notes):
        return report
    figures = "; ".join(str(one) for one in compare_repairs(fitted))
    what = "nRMSE" if fitted.target.codes is None else "error"
    note = f"{HEAD}, {what} of {N_NEIGHBORS} neighbours on rows left out: {figures}. This map: {fitted.data.repair}."
    return replace(report, notes=(*report.notes, note))
