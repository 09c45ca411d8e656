"""The statements of a report: warnings, the three answers, and what else the figures say.

`prismap.quality._headlines` has the three answers. The others, each by its own rule:

- *May the arrangement of the groups be read?* By the rank correlation of the distances between classes in map and data
  (`READABLE`), where permuted classes agree as well in less than one of twenty cases, and by for how many groups the
  nearest one on the map is surely the nearest in the data.
- *Which rows can be trusted?* How many have neighbours that are more likely wrong than right, by the rule of
  `prismap.quality._trust`, where the target shows.
- *Are the clusters real?* By their gaps against those of a map of one Gaussian, and by whether they are there in other
  runs (`prismap.quality._cluster_report`).
- *Do clusters of nothing look the same?* Labels that a clustering made are circular if the same clustering of data
  without structure reaches three quarters of the separation (`CIRCULAR`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from prismap._util.evidence import SIGNIFICANT
from prismap.quality._estimates import Estimate
from prismap.quality._headlines import LEVEL, VISIBLE, answer_of, answer_on_map, headlines, joint_error, left_out, rests
from prismap.quality._statements import Statement, in_order
from prismap.target import plural

if TYPE_CHECKING:
    from prismap.quality._report import MapReport
from prismap.quality._trust import FEWEST_WRONG

#: Area under R_NX from here on, the words for how well neighbourhoods are then kept, and the answer.
KEPT = (
    (0.6, "very well", "yes"), (0.4, "well", "yes"), (0.2, "in part", "in part"), (0.1, "poorly", "in part"),
    (-np.inf, "hardly at all", "no"),
)  # fmt: skip
#: Fewer rows have hardly any neighbourhoods that a map could lose.
FEWEST_ROWS = 20
#: Pairs of classes, rare classes, and targets that are named.
MOST_PAIRS, MOST_RARE, MOST_NAMED = 3, 5, 8
#: Rank correlation of distances between classes, and share of the groups whose nearest group is right, from here on;
#: how far their arrangement may then be read, and the answer.
READABLE = (
    (0.8, 0.9, "may be read", "yes"), (0.5, 0.0, "may be read only roughly", "in part"),
    (-np.inf, 0.0, "should not be read", "no"),
)  # fmt: skip
CIRCULAR = 0.75
#: Its name among the measures of a report.
POSTERIOR_ERROR = "posterior error"
#: Share of a row's neighbours that stay in another run, below which the verdict says so.
STEADY = 0.6
#: Statements that the verdict leaves out: how the map was made and judged, in no particular order.
BESIDE = ("note", "limit")


def statements_of(report: MapReport) -> tuple[Statement, ...]:
    """All statements of a report: warnings first, then the answers, then the rest."""
    alarms = [one for one in report.findings if one.level == "warning"]
    others = [one for one in report.findings if one.level != "warning"]
    column = () if report.confounding is None else report.confounding.statements
    stated = [*alarms, *_warnings(report), *headlines(report), *column, *_details(report), *others]
    if not stated:
        words = "There is nothing to judge: neither a target nor a rank curve was given."
        stated = [Statement("nothing_judged", words, "headline", "cannot tell")]
    return in_order([*stated, *_beside(report)])


def verdict(report: MapReport) -> str:
    """The statements as a paragraph."""
    return " ".join(one.words for one in statements_of(report) if one.id not in BESIDE)


def shows(report: MapReport) -> bool:
    """Whether the target shows on the map at all."""
    return bool(report.scores) and answer_on_map(report, report.scores[0]) in ("yes", "in part")


def _warnings(report: MapReport) -> Iterator[Statement]:
    yield from (Statement("warning", words, "warning") for words in report.warnings)
    if report.rare:
        names = ", ".join(report.rare[:MOST_RARE])
        more = f" and {len(report.rare) - MOST_RARE} more" if report.rare[MOST_RARE:] else ""
        words = f"Classes with fewer than five judged rows, about which nothing can be said: {names}{more}."
        yield Statement("classes_not_judged", words, "warning", "cannot tell", about=report.rare)
    yield from _circular(report)


def _details(report: MapReport) -> Iterator[Statement]:
    yield from _each(report)
    yield from _between_and_inside(report)
    yield from _more_known(report)
    yield from _choices(report)
    yield from _mixed(report)
    yield from _structure(report)
    yield from _arranged(report)
    yield from _trusted(report)
    yield from _clusters(report)
    yield from _steady(report)


def _beside(report: MapReport) -> Iterator[Statement]:
    yield from (Statement("limit", f"Not judged: {limit}") for limit in report.limits)
    yield from (Statement("note", note) for note in report.notes)


# --- the target -------------------------------------------------------------------------------------------------------


def _each(report: MapReport) -> Iterator[Statement]:
    """Which of several targets show, and how much each counts in the map."""
    first = {score.of: score for score in reversed(report.scores) if score.of is not None}
    answers = {name: answer_of(report, first[name]) for name in reversed(first)}
    shown = [name for name, answer in answers.items() if answer in ("yes", "in part")]
    hidden = [name for name, answer in answers.items() if answer == "no"]
    unknown = [name for name, answer in answers.items() if answer == "cannot tell"]
    parts = [f"{_named(shown)} {_do(shown, 'show')}"] if shown else []
    parts += [f"{_named(hidden)} {_do(hidden, 'do')} not"] if hidden else []
    parts += [f"of {_named(unknown)} it cannot be told"] if unknown else []
    if len(parts) > 1:
        yield Statement("each_target", f"Of the targets {', '.join(parts)}.", about=tuple(shown), **rests(report))
    counting = {str(name): weight for name, weight in report.target_weights.items() if weight > 0}
    if counting:
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in counting.items())
        others = [str(name) for name in report.target_weights if name not in counting]
        silent = f"; {_named(others)} {_do(others, 'do')} not count" if others else ""
        words = f"They count by how well the features predict them: {weights}{silent}."
        yield Statement("target_weights", words, figures=counting, about=tuple(counting))


def _named(names: list[str]) -> str:
    """a, b and c; of many the first ones."""
    names = names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _do(names: list[str], verb: str) -> str:
    """The verb for one or several."""
    return verb if len(names) > 1 else {"do": "does"}.get(verb, f"{verb}s")


def _between_and_inside(report: MapReport) -> Iterator[Statement]:
    """Where a target varies inside units: whether the map tells units apart by their targets, and samples of one."""
    if report.levels is None:
        return
    between, inside, unit = report.levels.between, report.levels.inside, report.unit
    words, answer, figures = _apart(report, between, f"{plural(unit)} apart by their targets")
    yield Statement("units_told_apart", words, "detail", answer, figures, **rests(report))
    words, answer, figures = _apart(report, inside, f"rows of one {unit} apart by theirs")
    yield Statement("samples_told_apart", words, "detail", answer, figures, **rests(report))


def _apart(report: MapReport, level: Any, what: str) -> tuple[str, str, dict[str, float]]:
    """Words, answer and figures of one of the two."""
    beyond = level.p_value < LEVEL / report.looks
    opening = "The map tells" if beyond else "Cannot tell whether the map tells"
    words = f"{opening} {what} (correlation of votes and target {level.correlation:.2f}, p = {level.p_value:.2g})."
    answer = "yes" if beyond else "cannot tell"
    return words, answer, {"correlation": level.correlation, "p_value": level.p_value}


def _more_known(report: MapReport) -> Iterator[Statement]:
    """That the features say more about the target than the map shows."""
    known = report.measures.get(POSTERIOR_ERROR)
    if known is None or not report.scores or not report.scores[0].is_share:
        return
    score = report.scores[0]
    gap = float(score.value - known)
    if gap > max(VISIBLE * score.value, SIGNIFICANT * joint_error(score.value, known)):
        words = (
            f"The features know more than the map shows: their posterior errs in {score.with_error(known)} of the rows."
        )
        figures = {"posterior_error": known, "error": score.value}
        yield Statement("features_know_more", words, "detail", "yes", figures, score.name, **rests(report))


def _choices(report: MapReport) -> Iterator[Statement]:
    """How much the target counts, by which posterior, and what places new rows, each with its reason."""
    if not report.supervision_curve or left_out(report):
        return
    taken = next(one for one in report.supervision_curve if one["taken"])
    plain = next(one for one in report.supervision_curve if one["supervision"] == 0)
    best, own = float(taken["score"]), float(plain["score"])
    if report.predicts_shares:
        how = f"the ten nearest rows then predict {100 * best:.1f} % of the rows correctly, out of fold, "
        alone = f"{100 * own:.1f} %"
    else:
        how = f"the mean of the ten nearest rows then misses a row by {best:.2f} standard deviations, out of fold, "
        alone = f"{own:.2f}"
    *others, last = dict.fromkeys(one["posterior"] for one in report.supervision_curve if one["supervision"] > 0)
    among = f" (the {'best' if len(others) > 1 else 'better'} of {', '.join(others)} and {last})" if others else ""
    words = (
        f"Taken: a supervision of {taken['supervision']:g} ({how}with the data's own distances {alone}), the posterior "
        f"{taken['posterior']}{among}{_mapping_taken(report)}."
    )
    error = taken.get("standard_error")  # reports of the first version have none
    figures = {"supervision": taken["supervision"], "score": Estimate(best, float("nan") if error is None else error)}
    yield Statement("choices", words, figures=figures | {"score_of_own_distances": own}, about=(taken["posterior"],))


def _mapping_taken(report: MapReport) -> str:
    """What places new rows, and why, where that was chosen."""
    taken = report.settings.get("mapping taken")
    if taken is None:
        return ""
    why = "which place left-out rows better than votes do" if taken == "kernels" else "no worse than kernels"
    return f", and {taken} for new rows ({why if report.settings.get('mappings compared') else 'not compared'})"


def _mixed(report: MapReport) -> Iterator[Statement]:
    if report.overlaps is None or not shows(report):
        return
    if not report.overlaps:
        yield Statement("overlapping_classes", "No two classes overlap much.", answer="no", **rests(report))
        return
    pairs = report.overlaps[:MOST_PAIRS]
    names = ", ".join(f"{pair.of} with {pair.into} ({_share(pair.share)} of its neighbours)" for pair in pairs)
    about = dict.fromkeys(name for pair in pairs for name in (pair.of, pair.into))
    words = f"Classes that overlap most: {names}."
    figures = {"largest_share": pairs[0].share}
    yield Statement("overlapping_classes", words, "detail", "yes", figures, None, tuple(about), **rests(report))


def _circular(report: MapReport) -> Iterator[Statement]:
    circular = report.circular
    if circular is None:
        return
    share = f"{_share(circular.explained)} of their separation in the {circular.where}"
    figures = {"explained": circular.explained, "separation": circular.separation, "without_structure": circular.null}
    if circular.explained >= CIRCULAR:
        words = f"The labels are circular. The same clustering of data without structure explains {share}."
        yield Statement("circular_labels", words, "warning", "yes", figures)
    else:
        words = f"The labels were made by clustering these data, which by itself explains {share}."
        yield Statement("circular_labels", words, "detail", "in part", figures)


# --- the map ----------------------------------------------------------------------------------------------------------


def _structure(report: MapReport) -> Iterator[Statement]:
    if not report.structure:
        return
    curve = next(iter(report.structure.values()))
    area, level = curve.auc_log_k, "detail" if report.has_target else "headline"
    plain = next((one for name, one in report.structure.items() if name.startswith("unsupervised")), None)
    figures = {"area": area} | ({} if plain is None else {"unsupervised": plain.auc_log_k})
    basis: dict[str, Any] = {"n_rows": curve.n_samples, "n_units": curve.n_samples}
    if curve.n_rows < FEWEST_ROWS:
        words = f"Cannot tell from {curve.n_rows} rows how well the map keeps neighbourhoods."
        yield Statement("neighborhoods_kept", words, level, "cannot tell", figures, **basis)
        return
    kept, answer = next((word, answer) for least, word, answer in KEPT if area >= least)
    opening = "As a picture of the data themselves it keeps" if report.scores else "The map keeps"
    beside = f", the map made without the target {plain.auc_log_k:.2f}" if plain else ""
    words = f"{opening} neighbourhoods {kept} (area {area:.2f}{beside}; a random map has 0, a perfect one 1)."
    yield Statement("neighborhoods_kept", words, level, answer, figures, **basis)


def _arranged(report: MapReport) -> Iterator[Statement]:
    arrangement = report.arrangement
    if arrangement is None:
        return
    n_groups, n_right, wrong = arrangement.n_groups, arrangement.n_right, arrangement.wrong
    share = 1.0 if n_groups is None else n_right / max(n_groups, 1)
    readable, answer = next(
        (words, answer) for least, right, words, answer in READABLE
        if arrangement.correlation >= least and share >= right
    )  # fmt: skip
    if arrangement.p_value >= LEVEL / report.looks:
        *_, readable, answer = READABLE[-1]
    figures: dict[str, Any] = {"rank_correlation": arrangement.correlation, "p_value": arrangement.p_value}
    figures |= {"pairs": arrangement.n_pairs}
    nearest, about = "", tuple[str, ...]()
    if n_groups is not None:
        named = ", ".join(f"{near} next to {of}" for of, near in wrong[:MOST_PAIRS])
        more = " and others" if wrong[MOST_PAIRS:] else ""
        but = f" and wrong for {len(wrong)} ({named}{more})" if wrong else ""
        unknown = n_groups - n_right - len(wrong)
        but += f", the data cannot tell for {unknown}" if unknown else ""
        nearest = f"the nearest group is right for {n_right} of {n_groups} groups{but}, and "
        figures |= {"groups": n_groups, "nearest_right": n_right, "nearest_wrong": len(wrong)}
        about = tuple(dict.fromkeys(name for pair in wrong[:MOST_PAIRS] for name in pair))
    words = (
        f"The arrangement of the groups {readable}: {nearest}the rank correlation of the distances between classes "
        f"with those in the data is {arrangement.correlation:.2f} ({arrangement.n_pairs} pairs)."
    )
    yield Statement("arrangement_readable", words, "detail", answer, figures, None, about)


def _trusted(report: MapReport) -> Iterator[Statement]:
    rule = report.trust
    if rule is None or rule.low != rule.low or (rule.has_target and not shows(report)):
        return
    basis: dict[str, Any] = {"n_rows": rule.n_judged, "n_units": rule.n_judged}
    if not rule.has_target:
        share = f"{_percent(1 - rule.low)} of the rows keep"
        words = f"{share} more of their ten neighbours than 95 % of the rows do on a map of data without structure."
        yield Statement("rows_trusted", words, "headline", None, {"low": rule.low}, **basis)
        return
    low, them = ("No row has", "it") if rule.low == 0 else (f"{_percent(rule.low)} of the rows have", "them")
    words, figures = f"{low} neighbours that are more likely wrong about {them} than right", {"low": rule.low}
    tenth = "the least trusted tenth of the judged rows holds"
    share = _share(rule.worst_tenth)
    if rule.worst_tenth != rule.worst_tenth or not _many_wrong(report):
        yield Statement("rows_trusted", f"{words}.", "detail", None, figures, **basis)
        return
    figures = figures | {"worst_tenth": rule.worst_tenth}
    if rule.worst_tenth > 0.1:
        words = f"{words}, and {tenth} {share} of the wrong ones."
        yield Statement("rows_trusted", words, "detail", "yes", figures, **basis)
    else:  # labels that are wrong at random, say
        words = (
            f"{words}. Trust does not tell which rows are wrong: {tenth} {share} of them, where chance would give 10 %."
        )
        yield Statement("rows_trusted", words, "detail", "no", figures, **basis)


def _many_wrong(report: MapReport) -> bool:
    """Whether enough judged rows are wrong to see which of them trust finds; of numbers, whether enough were judged."""
    wrong = report.scores[0].value if report.scores and report.scores[0].is_share else 0.5
    return report.trust is not None and wrong * report.trust.n_judged >= FEWEST_WRONG


def _clusters(report: MapReport) -> Iterator[Statement]:
    clusters = report.clusters
    if clusters is None or not clusters.words:
        return
    n, readable = len(clusters.clusters), len(clusters.readable)
    figures = {"groups": n, "readable": readable} | ({"moved": clusters.moved} if clusters.n_runs else {})
    level = "detail" if report.has_target else "headline"
    answer, words = "yes" if n == readable > 0 else "in part" if readable else "no", " ".join(clusters.words)
    if report.n_fitted < FEWEST_ROWS:
        answer, words = "cannot tell", f"Cannot tell from {report.n_fitted} rows whether the map has clusters."
    elif not readable and clusters.supervised and len({*clusters.unfounded, *clusters.unsteady}) < n:
        known = any(one.gap_unsupervised == one.gap_unsupervised for one in clusters.clusters)
        answer = "no" if known else "cannot tell"  # there is no map without the target
    yield Statement("clusters", words, level, answer, figures, n_rows=report.n_fitted, n_units=report.n_fitted)


def _steady(report: MapReport) -> Iterator[Statement]:
    kept = report.measures.get("neighbours kept in another run")
    if kept is None or kept >= STEADY:
        return
    words = f"Details are not stable: in another run {_share(1 - kept)} of a row's ten neighbours are different."
    yield Statement("details_stable", words, "detail", "no", {"neighbors_kept": kept})


def _share(share: float) -> str:
    return f"{100 * share:.0f} %"


def _percent(share: float) -> str:
    """A share at the beginning of a sentence: none and all only if it is so."""
    if share in (0.0, 1.0):
        return "None" if share == 0 else "All"
    if 0.005 <= share <= 0.995:
        return _share(share)
    return "Fewer than 1 %" if share < 0.5 else "More than 99 %"
