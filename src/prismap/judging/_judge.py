"""How a map is judged, whoever made it: a `Subject` in, a `Judgement` out."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np

from prismap._util.random import as_generator
from prismap.exceptions import InputError, PrismapWarning
from prismap.judging._budget import MOST_COMPARED, QUICK, Effort, effort_of
from prismap.judging._confounding import confounding_of
from prismap.judging._makers import Made, Maker
from prismap.judging._refits import Comparison, Judged, Outside, compare, compare_plain, compare_without_target
from prismap.judging._scores import class_findings, judged_scores, judged_units, levels_of
from prismap.judging._trust import evidence_on, learnt_rule, rule_of_null
from prismap.quality import (
    Estimate,
    MapClusters,
    MapReport,
    alignment_measure,
    current_versions,
    judge_clusters,
    local_quality,
    map_measures,
    r_nx,
)
from prismap.quality._agreement import chance_of_columns
from prismap.quality._confounding import Confounding
from prismap.quality._headlines import RELATION, answer_on_map
from prismap.quality._ranks import MOST_PAIRS
from prismap.quality._statements import Statement
from prismap.quality._trust import TrustRule
from prismap.quality._votes import VOTERS
from prismap.target import Target, plural

#: With fewer labelled rows, or units of them, a map without a fifth of them has too few to vote on that fifth.
FEWEST_LABELLED = 15
FEWEST_UNITS = 5
#: Permutations of labels on a map that is not made again: they cost next to nothing.
N_PERMUTED = 20


@dataclass(frozen=True)
class Subject:
    """A map that is to be judged.

    Attributes
    ----------
    made : the map.
    maker : what made it, and can make it again; None of coordinates alone.
    target : of its rows.
    seed : int
    spaces : (rows, metric) by name that the map's neighbourhoods are compared with, the data first.
    columns : the rows as dense numbers, for what looks at single columns; None where there are none.
    seconds : that the map took.
    outside : samples that were given and are not on the map.
    facts : what the report says of how the map was made, by the names of its fields.
    remarks : further notes, which are written when the maps for comparison have been made.
    findings : statements about the data, such as columns that give the target away; asked for at the same time.
    column : name of the column whose levels the target has; None if it had none.
    raw : the rows as they were given, dense vectors, where levels were taken out of the map's.
    filled : the columns without gaps, for tests of single ones; None: `columns`.
    """

    made: Made
    target: Target
    maker: Maker | None = None
    seed: int = 0
    spaces: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    columns: Any = None
    seconds: float = 0.0
    outside: Outside | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    remarks: Callable[[], tuple[str, ...]] = tuple
    findings: Callable[[], tuple[Statement, ...]] = tuple
    column: str | None = None
    raw: Any = None
    filled: Any = None

    @property
    def is_large(self) -> bool:
        """Whether the map was made of searched neighbours: not all distances between its rows can be had."""
        return self.maker is not None and self.maker.is_large


@dataclass(frozen=True)
class Judgement:
    """The report of a map, and the maps that it was compared with; None if the report was read from a file."""

    report: MapReport
    comparison: Comparison | None = None

    @property
    def knows_trust(self) -> bool:
        """Whether enough samples were judged to tell how far others can be trusted."""
        return self.report.trust is not None


def judge_subject(
    subject: Subject, *, budget: Any = "full", n_permutations: int | None = None, callback: Any = None,
    forecast: bool = False,
) -> Judgement:  # fmt: skip
    """The judgement; where the target cannot be judged, the report says why.

    forecast : whether the last fifth of the rows in time is judged by those before it.
    """
    if forecast and not subject.target.in_order:
        raise InputError("forecast=True judges the last fifth in time, and the map has no order: fit it with order=...")
    effort = effort_of(budget, subject.seconds)
    why = too_few_units(subject.target)
    if why is None and subject.maker is not None:
        why = too_few_labels(subject.target)
    if why is None:
        try:
            return _judged(subject, effort, n_permutations, callback, forecast=forecast)
        except InputError as error:  # the map itself was made: it is a refit to fewer rows that cannot be
            if not subject.target.exists or subject.maker is None or not subject.maker.falls_back:
                raise
            why = f"a map for comparison cannot be made: {error}"
    judgement = _judged(subject, effort, None, callback, by_target=False)
    return replace(judgement, report=replace(judgement.report, unjudged=why))


def too_few_labels(target: Target) -> str | None:
    """Why maps of four fifths of the labelled rows cannot be made or cannot judge the last fifth; None if they can."""
    if not target.exists:
        return None
    n_known = int(target.labelled.sum())
    if n_known < FEWEST_LABELLED:
        return f"{n_known} rows have a target, and at least {FEWEST_LABELLED} are needed."
    if not target.can_be_parted:
        return "fewer than two classes have more than one row, so a map without some rows has nothing to tell apart."
    return None


def too_few_units(target: Target) -> str | None:
    """Why nothing is known about other units; None if something is."""
    if not target.exists or target.independent or target.n_units >= FEWEST_UNITS:
        return None
    return (
        f"the rows with a target are {target.n_units} {plural(target.unit_name)}, and at least {FEWEST_UNITS} are "
        "needed. Rows that are not independent of each other show nothing about others."
    )


def _judged(
    subject: Subject, effort: Effort, n_permutations: int | None, callback: Any, *, by_target: bool = True,
    forecast: bool = False,
) -> Judgement:  # fmt: skip
    """The report and the maps of comparison, with or without scores of the target."""
    start, target, maker = perf_counter(), subject.target, subject.maker
    with warnings.catch_warnings():
        # Maps for comparison repeat the warnings of the first map, or cause others by their fewer rows.
        warnings.simplefilter("ignore", PrismapWarning)
        comparison = _compared(subject, effort, n_permutations, callback, by_target=by_target, forecast=forecast)
    measures, arranged = map_measures(
        *subject.spaces["data"][:1], subject.made.positions, target.codes,
        metric=subject.spaces["data"][1], units=target.units, names=target.classes,
        neighborhoods=not subject.is_large, n_samples=effort.structure_rows, random_state=subject.seed,
    )  # fmt: skip
    if target.exists and subject.columns is not None and effort.plain_iter is not None:
        shown = target.shown.values
        measures |= alignment_measure(subject.columns, subject.made.positions, shown, random_state=subject.seed)
    facts = dict(subject.facts)
    measures |= facts.pop("measures", {})
    notes, times = facts.pop("notes", ()), facts.pop("times", {})
    confounded = _confounding(subject, comparison) if by_target else None
    report = MapReport(
        target=target.reported_kind, n_fitted=len(subject.made.positions), judged=comparison.how,
        structure=structure_of(subject, comparison, effort), arrangement=arranged,
        measures={**measures, **steadiness(subject.made, comparison)}, budget=effort.name, seed=subject.seed,
        versions=current_versions(), clusters=clusters_of(subject, comparison),
        depth="coordinates" if maker is None else "method", notes=(*notes, *subject.remarks()),
        findings=subject.findings(), uses_target=maker is None or not maker.leaves_target_out,
        times={**times, "judging": perf_counter() - start}, confounding=confounded, **facts,
        **_findings(subject, comparison, by_target=by_target),
    )  # fmt: skip
    return Judgement(replace(report, measures={**report.measures, **relations_of(subject, report)}), comparison)


def relations_of(subject: Subject, report: MapReport) -> dict[str, Estimate]:
    """How likely the columns go so well with a target by chance, by name.

    It is asked of targets that the map does not show, and of coordinates, which may show a target that nothing knows.
    """
    columns = subject.columns if subject.filled is None else subject.filled
    if columns is None or not report.scores:
        return {}
    names, rng, chances = subject.target.names or (None,), as_generator(subject.seed), {}
    for name, target in zip(names, subject.target.columns, strict=False):
        score = next((one for one in report.scores if one.of == name), report.scores[0])
        asked = report.depth == "coordinates" or answer_on_map(report, score) in ("no", "cannot tell")
        rows = target.labelled_rows
        known = target.take(rows)
        chance = chance_of_columns(columns[rows], known.numeric, known, rng) if asked else None
        if chance is not None:
            chances[RELATION if name is None else f"{RELATION} ({name})"] = Estimate(chance)
    return chances


def _compared(
    subject: Subject, effort: Effort, n_permutations: int | None, callback: Any, *, by_target: bool, forecast: bool
) -> Comparison:
    """The maps that the map is compared with."""
    maker, target = subject.maker, subject.target
    if maker is None:
        return on_itself(subject.made, target, as_generator(subject.seed))
    if not target.exists:
        return compare_without_target(maker, target, effort, callback)
    if not by_target:
        return compare_plain(maker, effort, callback)
    wrong = partial(wrong_inside, subject)
    return compare(maker, target, subject.outside, effort, n_permutations, wrong, callback, forecast=forecast)


def on_itself(made: Made, target: Target, rng: np.random.Generator) -> Comparison:
    """Coordinates alone: rows are judged by the other rows on this map, with labels that are permuted on it."""
    if not target.exists:
        return Comparison()
    known = target.labelled_rows
    truth, Y = target.take(known), made.positions[known]
    evidence = evidence_on(made, made.positions, target)
    case = Judged(Y, truth, evidence=evidence.take(known))
    X, metric = made.space
    among = (X[np.ix_(known, known)] if isinstance(metric, str) and metric == "precomputed" else X[known], metric)
    return Comparison(
        on_map=(case,), on_permuted=tuple(Judged(Y, truth.permuted(rng)) for _ in range(N_PERMUTED)), in_data=among
    )  # fmt: skip


def wrong_inside(subject: Subject) -> float:
    """The share of the map's rows whose neighbours on the map are wrong about them."""
    evidence = evidence_on(subject.made, subject.made.positions, subject.target)
    known = subject.target.labelled
    return 1.0 - float(evidence.right(subject.target.shown.values)[known].mean())


def _findings(subject: Subject, comparison: Comparison, *, by_target: bool) -> dict[str, Any]:
    """What the report says of the target, and of the trust in single rows."""
    made, target = subject.made, subject.target
    if not target.exists:
        return {"trust": _null_rule(subject, comparison)}
    if not by_target:
        return {}
    positions = made.positions if subject.maker is not None else None
    scores, n_judged = judged_scores(positions, target, comparison)
    judged = [(case.evidence, case.target) for case in comparison.on_map if case.evidence is not None]
    return {
        "scores": scores, "n_judged": n_judged, "trust": learnt_rule(made, target, judged),
        "levels": levels_of(target, comparison.on_map), **judged_units(target, comparison.on_map),
        **class_findings(target, comparison.on_map),
    }  # fmt: skip


def _confounding(subject: Subject, comparison: Comparison) -> Confounding | None:
    """What the levels of a column of no interest have to do with the target and the map; None without both."""
    target = subject.target
    if not target.exists or target.n_levels < 2 or not comparison.on_map:
        return None
    return confounding_of(
        subject.made.positions, target, comparison.on_map, subject.seed, column=subject.column, raw=subject.raw
    )


def _null_rule(subject: Subject, comparison: Comparison) -> TrustRule | None:
    unstructured = comparison.unstructured
    return None if unstructured is None else rule_of_null(subject.made, subject.target, unstructured)


def structure_of(subject: Subject, comparison: Comparison, effort: Effort) -> dict[str, Any]:
    """Neighbourhood preservation of the map in each of its spaces, and of the map without a target in the data.

    Of more rows than the budget pays for, each curve is from the neighbourhoods of a sample of them among all rows.
    """
    options: dict[str, Any] = {"random_state": subject.seed}
    Y = subject.made.positions
    n_samples = min(effort.structure_rows, max(QUICK.structure_rows, MOST_PAIRS // (10 * len(Y))))
    if n_samples < len(Y):
        options["n_samples"] = n_samples
    curves = {f"map against {name}": r_nx(X, Y, metric=m, **options) for name, (X, m) in subject.spaces.items()}
    plain = comparison.plain
    # A map of few iterations keeps too little to be compared, and one of fewer rows has other neighbourhoods.
    shown = subject.maker is not None and subject.maker.shows_plain and effort.plain_iter is not None
    if plain is not None and shown and len(plain.positions) == len(Y):
        X, metric = subject.spaces["data"]
        curves["unsupervised map against data"] = r_nx(X, plain.positions, metric=metric, **options)
    return curves


def steadiness(made: Made, comparison: Comparison) -> dict[str, Estimate]:
    """The share of a row's ten neighbours that it keeps with another seed."""
    Y, again = made.positions, comparison.again
    k = min(VOTERS, len(Y) - 2)
    if again is None or k < 1 or len(Y) > MOST_COMPARED:
        return {}
    kept = local_quality(Y, again.positions, n_neighbors=k)
    return {"neighbours kept in another run": Estimate.over_rows(kept)}


def clusters_of(subject: Subject, comparison: Comparison) -> MapClusters:
    """The clusters of the map, in other runs, against maps of one Gaussian, and without the target."""
    target, maker = subject.target, subject.maker
    supervised = target.exists and maker is not None and not maker.leaves_target_out
    return judge_clusters(
        subject.made.positions, comparison.runs, nulls=comparison.nulls, names=target.texts, supervised=supervised,
        unsupervised=comparison.plain_run,
        random_state=subject.seed,
    )  # fmt: skip
