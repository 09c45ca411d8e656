"""The four repairs of an indefinite similarity side by side: the same map with each, judged on rows left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from prismap._random import as_generator
from prismap._validation import changed
from prismap.comparisons import Objects
from prismap.exceptions import InputError
from prismap.map.scores import Judged
from prismap.map.twins import judged_folds, permute_known, run_side_by_side
from prismap.metrics import ObjectSimilarity, SimilarityMetric
from prismap.metrics.geometry import REPAIRS
from prismap.metrics.objects import known_rows
from prismap.metrics.several import is_several
from prismap.metrics.target import known_targets
from prismap.quality import Estimate, knn_error, knn_nrmse

N_NEIGHBORS, HEAD = 5, "Repairs side by side"


@dataclass(frozen=True)
class RepairFigures:
    """One repair: the error of rows left out on its maps, and the same with a permuted target."""

    repair: str
    error: Estimate
    permuted: Estimate

    def __str__(self):
        return f"{self.repair} {float(self.error):.3f} +- {self.error.spread:.3f} (permuted {float(self.permuted):.3f})"


def compare_repairs(model) -> tuple[RepairFigures, ...]:
    """The error of five neighbours (nRMSE of real targets) on maps with each repair, of rows that they never saw.

    The folds are the same for all, and so is the permuted target that stands beside each.
    """
    if not isinstance(model.parts_.data, SimilarityMetric):
        raise InputError("repairs=True is for similarities: other data need none.")
    y = model.fitted_target()
    if y is None:
        raise InputError("repairs=True judges the repairs by the target, and this map has none.")
    if is_several(model.target_):
        raise InputError("repairs=True judges the repairs by one target, and this map has several.")
    y = y if y.ndim == 1 else y[:, 0]
    rng = as_generator(model.seed_)
    folds = judged_folds(y, model.target_, rng)
    targets = (y, permute_known(y, rng))
    how, rows = as_objects(model)
    jobs = [
        (place_fold, model, ObjectSimilarity(how, repair), rows, target, kept, out)
        for repair in REPAIRS for target in targets for kept, out in folds
    ]  # fmt: skip
    placed = np.array(run_side_by_side(jobs), dtype=object).reshape(len(REPAIRS), 2, len(folds))
    return tuple(
        RepairFigures(repair, *(error_of(model.target_, list(cases)) for cases in both))
        for repair, both in zip(REPAIRS, placed, strict=True)
    )


def as_objects(model):
    """The fitted rows as objects whose values are known: only those know what a row left out is to itself.

    (Without negative eigenvalues taken away, a distance needs it, and entries against other rows do not tell.)
    """
    if isinstance(model.parts_.data, ObjectSimilarity):
        return model.parts_.data.how, model.fitted_rows()
    S = model.fitted_rows()
    how = Objects(partial(look_up, S), "similarity", n_jobs=1)
    return how, known_rows(how, range(len(S)), S)


def look_up(S, i, j):
    """A matrix as a comparison of the numbers of its rows."""
    return S[i, j]


def place_fold(model, data, rows, y, kept, out):
    """Rows `out` on a map of the rows `kept` with another repair."""
    twin = changed(model, data=data, target=model.target_).fit(rows[kept], y[kept])
    return Judged(twin.parts_.place(rows[out])[0], y[out], twin.embedding_, y[kept])


def error_of(target, cases):
    """The error over all folds, each row counted once."""
    error = knn_nrmse if target == "real" else knn_error
    parts, sizes = [], []
    for case in cases:
        known = known_targets(case.target)
        k = min(N_NEIGHBORS, len(case.fitted_target) - 1)
        options = {"Y_fit": case.fitted_positions, "y_fit": case.fitted_target, "n_neighbors": k}
        parts.append(error(case.positions[known], case.target[known], **options))
        sizes.append(known.sum())
    spread = np.sqrt(np.sum((np.array(sizes) * [part.spread for part in parts]) ** 2)) / np.sum(sizes)
    return Estimate(float(np.average([float(part) for part in parts], weights=sizes)), float(spread))


def with_repairs(report, model):
    """The report with the comparison among its notes."""
    if any(note.startswith(HEAD) for note in report.notes):
        return report
    figures = "; ".join(str(one) for one in compare_repairs(model))
    what = "nRMSE" if model.target_ == "real" else "error"
    note = (
        f"{HEAD}, {what} of {N_NEIGHBORS} neighbours on rows left out: {figures}. This map: {model.parts_.data.repair}."
    )
    return replace(report, notes=(*report.notes, note))
