"""The figures of a report in words that need no statistics.

Questions, each answered by a rule on standard errors, so that a verdict does not depend on chance (by more of them
where several verdicts are read together, see `bar`):

- *Does the target show?* Yes if the error is below the reference by more than `SIGNIFICANT` standard errors. The
  reference is the smaller of the permuted-target mean and the chance level; the standard error joins that of the error
  with that of the reference (the spread over permutations or, if larger, the sampling error of the chance level for the
  rows judged). How well it shows is the share of the reference error that is gone (`STRENGTHS`).
- *Does the map over-state it?* Yes if permuted targets, which mean nothing, get one of the errors below `INVENTED` of
  chance, by more than `SIGNIFICANT` standard errors; or if the error among fitted rows is lower than on the judged rows
  by more than `SIGNIFICANT` standard errors and by more than `FLATTERED`. For coordinates alone this is not asked.
- *Did supervision help?* Yes (no) if the error of the unsupervised map is higher (lower) by more than `HELPFUL`
  standard errors.
- *May the arrangement of the groups be read?* By the rank correlation of the distances between classes in map and data
  (`READABLE`), where permuted classes agree as well in less than one of twenty cases.
- *Do the columns that predict the target shape the map?* By the rank correlation of the two importances, if it differs
  from 0 by more than `HELPFUL` of the standard deviations that unrelated ones have.
- *Which rows can be trusted?* How many have neighbours that are more likely wrong than right, by the rule of
  `prismap.quality._trust`, where the target shows.
- *Are the clusters real?* By their gaps against those of a map of one Gaussian, and by whether they are there in other
  runs (`prismap.quality._cluster_report`).
- *Do clusters of nothing look the same?* Labels that a clustering made are circular if the same clustering of data
  without structure reaches three quarters of the separation (`CIRCULAR`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

from prismap._util.evidence import SIGNIFICANT

if TYPE_CHECKING:
    from prismap.quality._estimates import Estimate
    from prismap.quality._null import NullResult
    from prismap.quality._report import MapReport
    from prismap.quality._scores import TargetScore

#: Share of readings, of one verdict or of several together, that may err.
LEVEL = 0.05
HELPFUL = 2.0
#: A difference of this share is seen by a reader, whether it is beyond chance or not.
VISIBLE = 0.25
INVENTED = 0.85
FLATTERED = 0.05
#: Share of the reference error that is gone, from here on, and how that is called.
STRENGTHS = ((0.75, "clearly"), (0.4, "in good part"), (0.15, "only in part"), (0.0, "faintly"))
#: Area under R_NX from here on, and the words for how well neighbourhoods are then kept.
KEPT = ((0.6, "very well"), (0.4, "well"), (0.2, "in part"), (0.1, "poorly"), (-np.inf, "hardly at all"))
#: Pairs of classes, and rare classes, that are named.
MOST_PAIRS = 3
MOST_RARE = 5
#: Targets that are named.
MOST_NAMED = 8
#: Rank correlation of distances between classes from here on, and how far their arrangement may then be read.
READABLE = ((0.8, "may be read"), (0.5, "may be read only roughly"), (-np.inf, "should not be read"))
CIRCULAR = 0.75
#: Share of a row's neighbours that stay in another run, below which the verdict says so.
STEADY = 0.6


def verdict(report: MapReport) -> str:
    """The verdict on a map, a short paragraph."""
    sentences = []
    if report.scores:
        score = report.scores[0]
        sentences += [_shows(report, score), *_each(report), *_overstated(report, score)]
        sentences += [*_chosen(report)] if _left_out(report) else [*_helped(report, score), *_chosen(report)]
        sentences += _mixed(report) if target_shows(report, score) else []
    sentences += [
        *_rare(report),
        *_circular(report),
        *_structure(report),
        *_arranged(report),
        *_aligned(report),
        *_trusted(report),
        *(() if report.clusters is None else report.clusters.words),
    ]
    sentences += _steady(report)
    return " ".join(sentences) or "There is nothing to judge: neither a target nor a rank curve was given."


def target_shows(report: MapReport, score: TargetScore) -> bool:
    """Whether the error is below its reference by more than `SIGNIFICANT` standard errors.

    Or, of a real target, whether guesses and values are in the same order to that degree: with a few neighbours the
    error of a weak relation is hardly below chance, though its order is beyond doubt.
    """
    return _error_shows(report, score) or _order_shows(report, score)


def _error_shows(report: MapReport, score: TargetScore) -> bool:
    reference, _ = _reference(score)
    noise = np.hypot(_finite(score.value.spread), _noise(report, score, score.permuted, report.n_judged))
    return bool(reference - score.value > bar(report) * noise)


def _order_shows(report: MapReport, score: TargetScore) -> bool:
    order = _order_of(report, score)
    if order is None:
        return False
    chance = max(1.0 / np.sqrt(max(report.n_judged, 1)), _finite(order.permuted.spread) if order.permuted else 0.0)
    return bool(order.value - _null_order(order) > bar(report) * np.hypot(_finite(order.value.spread), chance))


def _order_of(report: MapReport, score: TargetScore) -> TargetScore | None:
    """The rank correlation of guesses and values that stands beside a rank error."""
    return next((one for one in report.scores if one.name == "rank correlation" and one.of == score.of), None)


def _null_order(order: TargetScore) -> float:
    """The rank correlation that permuted values have, or chance."""
    return 0.0 if order.permuted is None else max(order.permuted.mean, 0.0)


def bar(report: MapReport) -> float:
    """Standard errors that a claim takes: `SIGNIFICANT`, and more where that many verdicts would err once by chance.

    Bonferroni: with 37 verdicts read together, 3 standard errors still err in one of twenty such readings.
    """
    return max(SIGNIFICANT, float(norm.isf(LEVEL / report.looks)))


def overstates(report: MapReport, score: TargetScore) -> bool:
    """Whether permuted targets look like structure, or fitted rows look better than judged ones."""
    return _invents(report) is not None or _flatters(score)


def _shows(report: MapReport, score: TargetScore) -> str:
    reference, whose = _reference(score)
    judged = {
        "held-out rows": f"on {report.n_judged} held-out rows",
        "cross-validation": f"by cross-validation on {report.n_judged} rows",
        "in-sample": f"on the {report.n_judged} fitted rows themselves, which flatters the map",
    }.get(report.judged, f"on {report.n_judged} rows, {report.judged}")
    order, target = _order_of(report, score), score.wording.target
    beside = f" (rank correlation {float(order.value):.2f})" if order is not None and "rank error" in score.name else ""
    figures = f"{score.meaning}{beside}, where {whose} would give {score.figure(reference)} (judged {judged})."
    if not target_shows(report, score):
        return f"{target} do not show in this map: {figures}"
    if order is not None and not _error_shows(report, score):
        figures = "what its neighbours in the map guess of a row's rank and the rank itself have a correlation of"
        null = f"where permuted values would give {_null_order(order):.2f} (judged {judged})"
        return f"{target} show faintly in these data: {figures} {float(order.value):.2f}, {null}."
    strength = next(word for least, word in STRENGTHS if 1.0 - score.value / reference >= least)
    return f"{target} show {strength} in these data: {figures}"


def _each(report: MapReport) -> list[str]:
    """Which of several targets show, and how much each counts in the map."""
    first = {score.of: score for score in reversed(report.scores) if score.of is not None}
    shown = [name for name in first if target_shows(report, first[name])][::-1]
    hidden = [name for name in first if name not in shown][::-1]
    sentences = []
    if shown and hidden:
        sentences.append(
            f"Of the targets {_named(shown)} {_do(shown, 'show')}, {_named(hidden)} {_do(hidden, 'do')} not."
        )
    counting = {str(name): weight for name, weight in report.target_weights.items() if weight > 0}
    if counting:
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in counting.items())
        others = [str(name) for name in report.target_weights if name not in counting]
        left_out = f"; {_named(others)} {_do(others, 'do')} not count" if others else ""
        sentences.append(f"They count by how well the features predict them: {weights}{left_out}.")
    return sentences


def _named(names: list[str]) -> str:
    """a, b and c; of many the first ones."""
    names = names if len(names) <= MOST_NAMED else [*names[:MOST_NAMED], f"{len(names) - MOST_NAMED} more"]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _do(names: list[str], verb: str) -> str:
    """The verb for one or several."""
    return verb if len(names) > 1 else {"do": "does"}.get(verb, f"{verb}s")


def _overstated(report: MapReport, score: TargetScore) -> list[str]:
    sentences = []
    null = _invents(report) if report.depth == "method" else None
    if null is not None:
        sentences.append(
            "Beware: the map invents structure. Permuted targets, which mean nothing, still get "
            f"{score.figure(null.mean)} where chance gives {score.figure(null.chance)}. Part of what you see was "
            "made by the method."
        )
    if score.in_sample is not None and _flatters(score):
        sentences.append(
            f"Beware: the picture is better than the truth. Among the fitted rows the {score.name} is "
            f"{score.figure(score.in_sample)}, on others {score.figure(score.value)}."
        )
    if report.depth == "coordinates":
        return ["Whether the method that made the map invents structure cannot be told from coordinates."]
    if sentences or (score.permuted is None and score.permuted_in_sample is None and score.in_sample is None):
        return sentences
    return ["The map does not over-state this." if target_shows(report, score) else "Nor does the map invent them."]


def _invents(report: MapReport) -> NullResult | None:
    """The permuted figure that is farthest below chance, if one is far below; one neighbour often shows it first."""
    low = []
    # A correlation is no error; of several targets all are asked together, or one of many would be low by chance.
    for score in (one for one in report.scores if one.chance > 0 and one.of is None):
        for null, n in ((score.permuted_in_sample, report.n_fitted), (score.permuted, report.n_judged)):
            if null is None or null.mean >= INVENTED * null.chance:
                continue
            noise = _noise(report, score, null, null.n_rows or n) / np.sqrt(len(null.values))
            if null.chance - null.mean > bar(report) * noise:
                low.append(null)
    return min(low, key=lambda null: null.mean / null.chance, default=None)


def _flatters(score: TargetScore) -> bool:
    if score.in_sample is None:
        return False
    gap = float(score.value - score.in_sample)
    return gap > max(FLATTERED, SIGNIFICANT * _joint_error(score.value, score.in_sample))


def _helped(report: MapReport, score: TargetScore) -> list[str]:
    if score.unsupervised is None:
        return []
    gain = score.unsupervised - score.value
    noise = HELPFUL * _joint_error(score.value, score.unsupervised)
    plain = score.figure(score.unsupervised)
    if not target_shows(report, score) and gain >= -noise:
        return []
    if gain > noise:
        return [f"Supervision sharpened the map: without it the error is {plain}."]
    if gain < -noise:
        return [f"A map made without the target does better ({plain}): supervision does not help here."]
    if abs(gain) > VISIBLE * score.unsupervised:
        return [f"Without the target the error is {plain}, but on {report.n_judged} judged rows this may be chance."]
    return [f"A map made without the target does about as well ({plain})."]


def _left_out(report: MapReport) -> bool:
    """Whether the map was made without the target, by choice: there is nothing then that could have helped."""
    return any(one["taken"] and one["supervision"] == 0 for one in report.supervision_curve or ())


def _chosen(report: MapReport) -> list[str]:
    """How much the target counts, where that was chosen."""
    if not report.supervision_curve:
        return []
    taken = next(one for one in report.supervision_curve if one["taken"])
    plain = next(one for one in report.supervision_curve if one["supervision"] == 0)
    if _left_out(report):
        return ["The target was left out of the map, because the data's own distances predict it as well."]
    share, best, own = f"{taken['supervision']:g}", float(taken["score"]), float(plain["score"])
    if report.predicts_shares:
        how, alone = f"the ten nearest rows predict {best:.1%} of the rows correctly, out of fold", f"{own:.1%}"
    else:
        how = f"the mean of the ten nearest rows misses a row by {best:.2f} standard deviations, out of fold"
        alone = f"{own:.2f}"
    return [f"With a supervision of {share}, {how}. With the data's own distances alone it is {alone}."]


def _mixed(report: MapReport) -> list[str]:
    if report.overlaps is None:
        return []
    if not report.overlaps:
        return ["No two classes overlap much."]
    pairs = report.overlaps[:MOST_PAIRS]
    named = ", ".join(f"{pair.of} with {pair.into} ({pair.share:.0%} of its neighbours)" for pair in pairs)
    return [f"Classes that overlap most: {named}."]


def _rare(report: MapReport) -> list[str]:
    if not report.rare:
        return []
    named = ", ".join(report.rare[:MOST_RARE])
    more = f" and {len(report.rare) - MOST_RARE} more" if report.rare[MOST_RARE:] else ""
    return [f"Classes with fewer than five judged rows, about which nothing can be said: {named}{more}."]


def _circular(report: MapReport) -> list[str]:
    circular = report.circular
    if circular is None:
        return []
    figures = f"{circular.explained:.0%} of their separation in the {circular.where}"
    if circular.explained >= CIRCULAR:
        return [f"Beware: the labels are circular. The same clustering of data without structure explains {figures}."]
    return [f"The labels were made by clustering these data, which by itself explains {figures}."]


def _arranged(report: MapReport) -> list[str]:
    arrangement = report.arrangement
    if arrangement is None:
        return []
    readable = next(word for least, word in READABLE if arrangement.correlation >= least)
    readable = readable if arrangement.p_value < LEVEL / report.looks else "should not be read"
    return [
        f"The arrangement of the groups {readable}: the rank correlation of the distances between classes with those "
        f"in the data is {arrangement.correlation:.2f} ({arrangement.n_pairs} pairs)."
    ]


def _aligned(report: MapReport) -> list[str]:
    alignment = report.measures.get("importance alignment")
    if alignment is None or not report.target_shows or abs(alignment) <= HELPFUL * alignment.spread:
        return []
    which = "shape the map, too" if alignment > 0 else "are not those that shape the map"
    return [f"The columns that predict the target {which} (rank correlation {alignment:.2f})."]


def _steady(report: MapReport) -> list[str]:
    kept = report.measures.get("neighbours kept in another run")
    if kept is None or kept >= STEADY:
        return []
    return [f"Details are not stable: in another run {1 - kept:.0%} of a row's ten neighbours are different."]


def _trusted(report: MapReport) -> list[str]:
    rule = report.trust
    if rule is None or rule.low != rule.low or not (report.target_shows or rule.kind == "none"):
        return []
    if rule.kind == "none":
        return [
            f"{_percent(1 - rule.low)} of the rows keep more of their ten neighbours than 95% of the rows do on a map "
            "of data without structure."
        ]
    low, them = ("No row has", "it") if rule.low == 0 else (f"{_percent(rule.low)} of the rows have", "them")
    statement = f"{low} neighbours that are more likely wrong about {them} than right"
    tenth = "the least trusted tenth of the judged rows holds"
    if rule.worst_tenth > 0.1:
        return [f"{statement}, and {tenth} {rule.worst_tenth:.0%} of the wrong ones."]
    if rule.worst_tenth == rule.worst_tenth:  # labels that are wrong at random, say
        chance = f"{tenth} {rule.worst_tenth:.0%} of them, where chance would give 10%"
        return [f"{statement}.", f"Trust does not tell which rows are wrong: {chance}."]
    return [f"{statement}."]


def _percent(share: float) -> str:
    """A share in words: none and all only if it is so."""
    if share in (0.0, 1.0):
        return "None" if share == 0 else "All"
    return f"{share:.0%}" if 0.005 <= share <= 0.995 else "Fewer than 1 %" if share < 0.5 else "More than 99 %"


def _structure(report: MapReport) -> list[str]:
    if not report.structure:
        return []
    area = next(iter(report.structure.values())).auc_log_k
    kept = next(word for least, word in KEPT if area >= least)
    opening = "As a picture of the data themselves it keeps" if report.scores else "The map keeps"
    plain = next((curve for name, curve in report.structure.items() if name.startswith("unsupervised")), None)
    beside = f", the map made without the target {plain.auc_log_k:.2f}" if plain else ""
    return [f"{opening} neighbourhoods {kept} (area {area:.2f}{beside}; a random map has 0, a perfect one 1)."]


def _reference(score: TargetScore) -> tuple[float, str]:
    """The error to beat, and what it is called."""
    if score.permuted is None or score.permuted.mean >= score.chance:
        return score.chance, "chance"
    return score.permuted.mean, score.wording.permuted


def _noise(report: MapReport, score: TargetScore, null: NullResult | None, n_rows: int) -> float:
    """Standard error of one figure at chance; of several targets together, the mean of theirs."""
    n = max(n_rows, 1)
    each = {one.of: one for one in reversed(report.scores) if one.of is not None} if score.of is None else {}
    if each:  # errors over chance, of targets that may depend on each other
        sampling = float(np.mean([one.noise_at_chance(n) / one.chance for one in each.values()]))
    else:
        sampling = score.noise_at_chance(n)
    return max(sampling, _finite(null.spread) if null else 0.0)


def _joint_error(a: Estimate, b: Estimate) -> float:
    return float(np.hypot(_finite(a.spread), _finite(b.spread)))


def _finite(value: float) -> float:
    return float(value) if np.isfinite(value) else 0.0
