"""How a map is judged: on rows that took no part, beside its unsupervised twin and twins with permuted targets."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from prismap._random import as_generator
from prismap.exceptions import InputError
from prismap.map.choose import compared_with_own
from prismap.map.columns import column_notes
from prismap.map.effort import MOST_KEPT, effort_of
from prismap.map.scores import judged_targets, map_overlaps
from prismap.map.several import judged_scores, target_kind, target_weights
from prismap.map.trust import are_right, evidence, learnt_rule, rule_of_null
from prismap.map.twins import (
    Twins,
    another_run,
    counting,
    fit_null,
    fit_nulls,
    fit_twin,
    has_columns,
    held_out_cases,
    held_out_rows,
    judged_folds,
    leaves_target_out,
    permuted_cases,
    permuted_part,
    place_fold,
    place_on_plain,
    run_side_by_side,
    share_of,
    twins_of,
)
from prismap.mappings import KernelMap
from prismap.metrics import FisherMetric, SimilarityMetric
from prismap.metrics.several import shown_column
from prismap.metrics.target import known_targets
from prismap.quality import (
    MapReport,
    alignment_measure,
    current_versions,
    judge_clusters,
    map_measures,
    r_nx,
    rare_classes,
)

#: Rows given to `fit` but not fitted are enough to judge by from here on; below, the map is refitted in folds.
FEWEST_HELD_OUT = 200
#: Runs that show how steady a map is that is not made again in folds.
OTHER_RUNS = 3
#: With fewer labelled rows, a map without a fifth of them has too few to vote on that fifth.
FEWEST_LABELLED = 15


def judge(model, *, n_permutations=None, budget="full", callback=None):
    """The report of a fitted `PrisMap`, and its twins; where the target cannot be judged, a note says why."""
    effort = effort_of(budget, sum(model.times_.values()))
    words = None if model.target_ == "none" else too_few_labels(model.fitted_target(), model.target_)
    if words is None:
        try:
            return judge_with(model, effort, n_permutations=n_permutations, callback=callback)
        except InputError as error:  # the map itself was made: it is a refit to fewer rows that cannot be
            words = f"a map for comparison cannot be made: {error}"
    report, twins = judge_with(model, effort, callback=callback, by_target=False)
    return replace(report, notes=(f"How well the target shows was not judged: {words}", *report.notes)), twins


def too_few_labels(y, target):
    """Why maps of four fifths of the labelled rows cannot be made or cannot judge the last fifth; None if they can."""
    known = y[known_targets(y)]
    if len(known) < FEWEST_LABELLED:
        return f"{len(known)} rows have a target, and at least {FEWEST_LABELLED} are needed."
    if target == "class" and np.sum(np.unique(known, return_counts=True)[1] > 1) < 2:
        return "fewer than two classes have more than one row, so a map without some rows has nothing to tell apart."
    return None


def judge_with(model, effort, *, n_permutations=None, callback=None, by_target=True):
    """The report and the twins, with or without scores of the target."""
    start, parts = perf_counter(), model.parts_
    found: dict[str, Any] = {"judged": "in-sample"}
    twins = Twins(parts)
    if model.target_ == "none" and has_columns(parts):
        jobs: list[tuple[Any, ...]] = [(fit_null, model, effort)]
        quick = twins_of(model, effort)[0]
        jobs += [(fit_nulls, model, quick, effort), (another_run, model, quick)] if effort.nulls else []
        null, *more = run_side_by_side(jobs, callback)
        found["trust"] = rule_of_null(model, null)
        twins = Twins(parts, runs=tuple(more[1:]), nulls=more[0]) if more else twins
    elif model.target_ != "none" and not by_target:
        every = np.arange(parts.data.n_rows_)
        twins = Twins(*run_side_by_side([(fit_twin, model, twins_of(model, effort)[1], None, every)], callback))
    elif model.target_ != "none":
        found, twins = judge_target(model, effort, n_permutations, callback)
    measures, arranged = map_measures(
        None, parts.positions, model.fitted_target() if model.target_ == "class" else None, metric=parts.data,
        neighborhoods=not parts.is_large, n_samples=effort.structure_rows, random_state=parts.seed,
    )  # fmt: skip
    if model.target_ != "none" and has_columns(parts) and effort.structure_rows is None:
        shown = shown_column(model.fitted_target(), model.target_)
        aligned = alignment_measure(parts.rows, parts.positions, shown, random_state=parts.seed)
        measures = {**measures, **aligned}
    report = MapReport(
        target=target_kind(model.target_), target_weights=target_weights(model), n_fitted=parts.data.n_rows_, **found,
        structure=structure_curves(parts, twins.unsupervised, effort.structure_rows), measures=measures,
        arrangement=arranged, bandwidths=bandwidths(model), budget=effort.name,
        posterior=posterior_words(model), seed=model.seed_, versions=current_versions(),
        clusters=clusters_of(model, twins),
        times={**model.times_, "judging": perf_counter() - start}, settings=settings_of(model), notes=notes_of(model),
        supervision_curve=model.supervision_curve_,
    )  # fmt: skip
    return report, twins


def judge_target(model, effort, n_permutations, callback):
    """What the report says of the target, and the twins that it was compared with.

    Each map of a permuted target leaves a fold out, too, so that one map tells what is invented among its own rows and
    what among others. A map that leaves the target out is judged as the map without a target that it is.
    """
    y, data, rng = model.fitted_target(), model.parts_.data, as_generator(model.seed_ + 1)
    turns = range(n_permutations or effort.permutations)
    held_out = held_out_rows(model, rng, effort.held_out)
    folds: list[Any] = []
    if len(held_out) < FEWEST_HELD_OUT:
        folds = judged_folds(y, model.target_, rng, effort, wrong_inside(model))
    shuffles = [
        permuted_part(y, rng, folds[turn % len(folds)][0] if folds else None, effort.permuted_rows) for turn in turns
    ]
    quick, without = twins_of(model, effort)
    first: list[tuple[Any, ...]] = [(fit_twin, model, without, None, np.arange(data.n_rows_))]
    left_out = leaves_target_out(model)
    if effort.nulls and (left_out or not folds):
        again = {**without, "method": quick["method"]} if left_out else quick
        first += [(another_run, model, again, turn) for turn in range(OTHER_RUNS if left_out else 1)]
    with_nulls = effort.nulls > 0 and has_columns(model.parts_)
    callback = counting(callback, len(first) + len(turns) + (0 if left_out else len(folds)) + with_nulls)
    plain, *others = run_side_by_side(first, callback)
    jobs: list[tuple[Any, ...]] = [(fit_twin, model, quick, target, rows, plain) for target, rows in shuffles]
    if not left_out:
        jobs += [(place_fold, model, quick, y, kept, out, True, plain) for kept, out in folds]
    done = run_side_by_side(jobs, callback)
    permuted = [(one, *shuffle) for one, shuffle in zip(done, shuffles, strict=False)]
    nulls: tuple[np.ndarray, ...] = ()
    if with_nulls:
        [nulls] = run_side_by_side(
            [(fit_nulls, model, quick, effort, [share_of(one) for one, *_ in permuted])], callback
        )
    if folds:
        on_plain = run_side_by_side([(place_on_plain, model, without, plain, y, *fold) for fold in folds])
        on_map = on_plain if left_out else done[len(turns) :]
        outs = [folds[turn % len(folds)][1] for turn in turns]
        on_permuted = permuted_cases(model, permuted, [(model.fitted_rows()[out], out) for out in outs], y, rng)
    else:
        on_map, on_plain = held_out_cases(model, held_out, plain)
        rows = model.entries(model.rows_[held_out])
        on_permuted = permuted_cases(model, permuted, [(rows, held_out)] * len(turns), model.y_, rng)
    cases = (on_map, on_plain, on_permuted)
    small_maps = bool(folds) and model.parts_.is_large
    scores, n_judged = judged_scores(model, y, permuted, cases, folded=len(folds) > 1, small_maps=small_maps)
    how = "cross-validation" if folds else "held-out rows"
    if small_maps:
        how = f"by cross-validation with maps of {len(folds[0][0])} rows"
    found = {
        "scores": scores, "n_judged": n_judged, "judged": how,
        "trust": learnt_rule(model, on_map),
    }  # fmt: skip
    if model.target_ == "class":
        found["overlaps"] = map_overlaps(on_map, model.classes_)
        found["rare"] = tuple(str(name) for name in model.classes_[rare_classes(judged_targets(on_map))])
    runs = (*others, *((case.kept, case.fitted_positions) for case in on_map if case.kept is not None))
    one, target, rows = permuted[0]
    return found, Twins(plain, one, target, rows, tuple(on_map), runs, nulls)


def wrong_inside(model):
    """The share of fitted rows whose neighbours on the map are wrong about them."""
    seen = evidence(model, model.embedding_)
    known = known_targets(shown_column(model.fitted_target(), model.target_))
    return 1.0 - float(are_right(model, seen.said, model.fitted_target())[known].mean())


def clusters_of(model, twins):
    """The clusters of the map, in the other runs there were and against the map of one Gaussian."""
    parts, y, names = model.parts_, model.fitted_target(), None
    if model.target_ == "class":
        names = [None if code < 0 else str(model.classes_[code]) for code in y]
    return judge_clusters(parts.positions, twins.runs, nulls=twins.nulls, names=names, random_state=parts.seed)


def structure_curves(parts, unsupervised, n_samples=None):
    """Neighbourhood preservation of the map against the data, of its twin, and against the Fisher metric.

    Of a large map, and with `n_samples`, each curve is from the neighbourhoods of a sample of rows among all rows.
    """
    options: dict[str, Any] = {"random_state": parts.seed} if parts.is_large else {}
    if n_samples is not None and n_samples < len(parts.positions):
        options = {"random_state": parts.seed, "n_samples": n_samples}
    curves = {"map against data": r_nx(None, parts.positions, metric=parts.data, **options)}
    if isinstance(parts.metric, FisherMetric):
        curves["map against Fisher metric"] = r_nx(None, parts.positions, metric=parts.metric, **options)
    if isinstance(parts.metric, FisherMetric) and n_samples is None:  # a map of few iterations keeps too little
        curves["unsupervised map against data"] = r_nx(None, unsupervised.positions, metric=parts.data, **options)
    return curves


def bandwidths(model):
    """Kernel widths worth knowing."""
    return {"Fisher metric": model.metric_.bandwidth_} if isinstance(model.metric_, FisherMetric) else {}


def posterior_words(model):
    """The estimate of the target's distribution, in words."""
    return model.metric_.describe() if isinstance(model.metric_, FisherMetric) else None


def settings_of(model):
    """The constructor's settings, as text where they are objects."""
    plain = (str, int, float, bool, type(None))
    taken = {"mapping taken": mapping_words(model.parts_.mapping)} if model.mapping == "auto" else {}
    if isinstance(model.supervision, str):
        taken["supervision taken"] = model.supervision_
    given = {k: v if isinstance(v, plain) else repr(v) for k, v in model.get_params(deep=False).items()}
    return given | taken


def mapping_words(mapping):
    """What "auto" took."""
    return "kernels" if isinstance(mapping, KernelMap) else "votes"


def notes_of(model):
    """What a reader should know about how the map was made."""
    n_given, n_fit = model.rows_.shape[0], len(model.fit_rows_)
    parts, notes = model.parts_, list(model.notes_)
    if n_fit < n_given:
        notes.append(f"{n_fit} of {n_given} rows were embedded; the others were placed on the map.")
    if isinstance(parts.data, SimilarityMetric) and parts.data.repaired_.negative_mass > 1e-9:
        mass, method = parts.data.repaired_.negative_mass, parts.data.repair
        notes.append(f"{100 * mass:.1f} % of the similarity's mass was negative; repair: {method}.")
    if parts.is_large:
        placed = f"{len(parts.anchors)} landmarks" if parts.cells is None else "their nearest fitted rows"
        notes.append(
            f"Large map: neighbours by {parts.story.get('neighbors')}; new rows are placed by {placed}; structure is "
            f"judged on a sample of rows. Maps that are refitted for judging take {MOST_KEPT} rows, the one without a "
            "target all. Among more rows there are nearer ones to tell by: the map itself is likely to err less than "
            "they do."
        )
    if isinstance(parts.metric, FisherMetric) and not parts.metric.cross_fit:
        notes.append("cross_fit=False: rows were judged with their own labels in the density, as published.")
    return (*notes, *published_notes(model), *column_notes(model))


def published_notes(model):
    """Whether the published metric, without a share of the data's own, tells the target worse than the latter."""
    parts = model.parts_
    fisher = isinstance(parts.metric, FisherMetric) and parts.metric.supervision == 1 and not parts.is_large
    if not fisher or not parts.metric.cross_fit:
        return ()
    own, pure = (
        one["score"] for one in compared_with_own(parts.metric, parts.data, model.fitted_target(), model.seed_)
    )
    if model.target_ == "class":
        worse, told = (
            pure < own,
            f"tell {100 * own:.0f} % of the rows right in the data and {100 * pure:.0f} % under it",
        )
    else:
        worse, told = pure > own, f"have an nRMSE of {own:.2f} in the data and of {pure:.2f} under it"
    if not worse:
        return ()
    return (
        f"supervision=1 is the published metric, and here it is worse than none: ten neighbours {told}, out of fold. "
        "supervision='max' is the sharpest map that keeps a share of the data's own distances.",
    )
