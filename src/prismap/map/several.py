"""Targets of several columns on a map: how much each counts, and how well the map tells each and all together.

The error of all targets is the mean of ``error / chance`` over them, so that targets of different kinds, and classes of
different numbers, count alike: 1 is what unrelated targets have.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from prismap.map.scores import score_cases
from prismap.metrics import FisherMetric
from prismap.metrics.several import column_of, indicator_columns, is_several
from prismap.quality import Estimate, NullResult, TargetScore


def told_target(metric, y, target):
    """The target by which neighbours are judged while a map is made: numbers in place of several targets."""
    if not is_several(target):
        return y
    return metric.judged_target(y) if isinstance(metric, FisherMetric) else indicator_columns(y, target)


def target_kind(target):
    """What a report calls the target."""
    return target if not is_several(target) else "ordered" if target == ("ordered",) else "several"


def target_weights(model):
    """How much each of several targets counts in the metric of the map, by name; nothing where none does."""
    if len(model.target_names_) < 2 or not is_several(model.target_) or not isinstance(model.metric_, FisherMetric):
        return {}
    return dict(zip(model.target_names_, model.metric_.posterior_.weights_.tolist(), strict=True))


def judged_scores(model, y, permuted, cases, **options):
    """The scores of the report and how many rows they rest on, as `score_cases`; of several targets all and each."""
    positions, kinds = model.embedding_, model.target_
    if not is_several(kinds):
        return score_cases(kinds, positions, y, permuted, cases, **options)
    each, n_judged = [], 0
    for t, name in enumerate(model.target_names_):
        of_column = [None if part is None else [column_case(case, kinds, t) for case in part] for part in cases]
        shuffled = [(one, column_of(target, kinds, t), rows) for one, target, rows in permuted]
        scores, n = score_cases(kinds[t], positions, column_of(y, kinds, t), shuffled, of_column, **options)
        n_judged = max(n_judged, n)
        if scores:
            each.append(
                [replace(one, name=f"{one.name} of {name}", of=name) for one in scores] if kinds[1:] else scores
            )
    together = [joint_score([one[0] for one in each])] if kinds[1:] and each else []
    return (*together, *(score for scores in each for score in scores)), n_judged


def column_case(case, kinds, t):
    """Judged rows with one of their targets."""
    fitted = None if case.fitted_target is None else column_of(case.fitted_target, kinds, t)
    return replace(case, target=column_of(case.target, kinds, t), fitted_target=fitted)


def joint_score(scores):
    """The mean of ``error / chance`` over the targets, with everything it is compared to."""

    def mean(name):
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
