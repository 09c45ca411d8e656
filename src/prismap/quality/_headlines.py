"""The three questions of a report with a target, each answered by a rule on standard errors.

- *Does the target show?* Yes if the error is below the reference by more than `bar` standard errors. The reference is
  the smaller of the permuted-target mean and the chance level. The standard error joins that of the error with that of
  the reference (the spread over permutations or, if larger, the sampling error of the chance level for the units
  judged). How well it shows is the share of the reference error that is gone (`STRENGTHS`). It shows, too, if the
  shares of the votes go with it beyond chance, or the order of classes that have one. Where nothing of it shows on the
  map but the features go with it (`prismap.quality._agreement`, or the out-of-fold posterior), the answer is "in part",
  and says that it is the features. No if even an error `HELPFUL` standard errors lower would leave less than `VISIBLE`
  of the reference gone, which the sentence states, if a relation of a stated size would have been seen in four of five
  cases (`has_power`), and if the features have no hint of it; else it cannot be determined.
- *Does the map exaggerate it?* Yes if permuted targets, which mean nothing, get one of the errors below `INVENTED` of
  chance, by more than `bar` standard errors; or if the error among fitted rows is lower than on the judged rows by more
  than `SIGNIFICANT` standard errors and by more than `FLATTERED`. Coordinates alone cannot tell.
- *Was the target needed?* Yes (no) if the error of the unsupervised map is higher (lower) by more than `HELPFUL`
  standard errors; no, too, if the difference is small and known well enough.

Fewer than `FEWEST_UNITS` independent units per class cannot tell anything, whatever the figures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from prismap._util.evidence import SIGNIFICANT
from prismap.quality._estimates import Estimate
from prismap.quality._statements import Statement, counted

if TYPE_CHECKING:
    from prismap.quality._null import NullResult
    from prismap.quality._report import MapReport
    from prismap.quality._scores import TargetScore

#: Share of readings, of one verdict or of several together, that may err.
LEVEL = 0.05
HELPFUL = 2.0
#: A difference of this share is seen by a reader, whether it is beyond chance or not; so is such a rank correlation.
VISIBLE = 0.25
INVENTED = 0.85
FLATTERED = 0.05
#: Share of the reference error that is gone, from here on, how that is called, and the answer it gives.
STRENGTHS = (
    (0.75, "clearly", "yes"), (0.4, "in good part", "in part"), (0.15, "only in part", "in part"),
    (0.0, "faintly", "in part"),
)  # fmt: skip
FEWEST_UNITS = 10
#: The chance that columns go with the target so well, among the measures of a report.
RELATION = "p of the columns"
#: Standard errors above the bar that are seen in four of five cases.
POWER = 0.84


def headlines(report: MapReport) -> list[Statement]:
    """The three answers; none without a target."""
    if report.scores:
        return [shows(report), exaggerates(report), needed(report)]
    if report.unjudged is None:
        return []
    return [
        Statement(
            "target_shows", f"Cannot tell whether the target shows: {report.unjudged}", "headline", "cannot tell"
        ),
        Statement("map_exaggerates", "Cannot tell whether the map exaggerates it.", "headline", "cannot tell"),
        Statement("target_needed", "Cannot tell whether the target was needed.", "headline", "cannot tell"),
    ]


# --- does the target show? --------------------------------------------------------------------------------------------


def shows(report: MapReport) -> Statement:
    """Whether the target shows in the map and, where only coordinates are known, in the data."""
    score, order = report.scores[0], order_of(report, report.scores[0])
    answer, words = answer_of(report, score), shows_in_words(report)
    figures: dict[str, Any] = {"error": score.value, "reference": reference_of(score)[0], "chance": score.chance}
    figures |= {} if score.permuted is None else {"permuted": null_figure(score.permuted)}
    figures |= {} if order is None else {"rank_correlation": order.value}
    figures |= {"excluded": most_gone(report, score)} if answer == "no" else {}
    figures |= {} if (chance := chance_of_features(report, score)) is None else {"chance_of_features": chance}
    if score.in_data is not None:
        figures["error_in_data"] = score.in_data
        answer, words = _also_in_data(report, answer, words)
    return Statement("target_shows", f"{words}.", "headline", answer, figures, score.name, **rests(report))


def shows_in_words(report: MapReport) -> str:
    """How far the target shows in the map, a sentence without its full stop."""
    score, order = report.scores[0], order_of(report, report.scores[0])
    answer = answer_of(report, score)
    if answer == "in part" and answer_on_map(report, score) in ("no", "cannot tell"):
        what = score.wording.target
        return (
            f"{what} hardly show in this map, though the features say something about them ({_evidence(report, score)}"
            f"): {score.meaning}, {against_of(score)} ({basis(report)})"
        )
    by_order = order_beyond_chance(report, score) > bar(report)
    if order is not None and answer in ("yes", "in part") and by_order and not error_gone(report, score) > bar(report):
        meaning = "what its neighbours guess of a row's rank and the rank itself have a correlation of "
        meaning += f"{float(order.value):.2f}, against {null_order(order):.2f} for permuted values"
        return f"{score.wording.target} show faintly in this map: {meaning} ({basis(report)})"
    if answer in ("yes", "in part") and not error_gone(report, score) > bar(report) and score.agreement is not None:
        meaning = f"the shares of the neighbours' votes go with it (correlation {score.agreement.correlation:.2f}, "
        meaning += (
            f"{score.agreement.deviations:.1f} standard errors), though their error is {score.figure(score.value)}"
        )
        return f"{score.wording.target} show faintly in this map: {meaning}, {against_of(score)} ({basis(report)})"
    beside = f" (rank correlation {float(order.value):.2f})" if order and "rank error" in score.name else ""
    words = f"{_opening(report, score, answer)}: {score.meaning}{beside}, {against_of(score)} ({basis(report)})"
    return f"{words}. {_excluded(report, score)}" if answer == "no" else words


def _excluded(report: MapReport, score: TargetScore) -> str:
    """How strong a relation may be that is not seen, a sentence without its full stop."""
    gone = max(most_gone(report, score), 0.01)
    return (
        f"A relation that takes more than {100 * gone:.0f} % off that error on this map is excluded, a weaker one not"
    )


def _evidence(report: MapReport, score: TargetScore) -> str:
    """What says that features go with the target, in words."""
    chance = chance_of_features(report, score)
    if chance is not None and norm.isf(chance) > bar(report):
        return f"p = {chance:.2g} for their columns"
    return "their posterior is better than chance, out of fold"


def against_of(score: TargetScore) -> str:
    """What the error is held against, in words."""
    reference, whose = reference_of(score)
    return f"against {score.figure(reference)} {whose}"


def _also_in_data(report: MapReport, answer: str, words: str) -> tuple[str, str]:
    """The answer for coordinates alone: whoever made them may have been given the target, and can separate noise."""
    # Targets were permuted on the map, which shows nothing about neighbours in the data.
    known = [replace(s, value=s.in_data, permuted=None) if s.in_data is not None else s for s in report.scores]
    in_data = replace(report, scores=tuple(known))
    score = in_data.scores[0]
    error = score.with_error(score.value)
    if answer_on_map(report, report.scores[0]) in ("no", "cannot tell"):
        return answer, words
    if answer_with_features(in_data, score) in ("no", "cannot tell"):
        what = f"{score.wording.target[0].lower()}{score.wording.target[1:]}"
        return "cannot tell", (
            f"Cannot tell whether {what} show in the data: on this map {report.scores[0].meaning}, but among "
            f"neighbours in the data it is {error}, against {score.figure(score.chance)} by chance. A method "
            "that is given the target separates noise as well"
        )
    degree, weaker = strength(score) if error_gone(in_data, score) > bar(report) else ("faintly", "in part")
    if answer_on_map(in_data, score) in ("no", "cannot tell"):
        words = f"{words}; neighbours in the data hardly do ({error}), though the features say something about them"
        words += f" ({_evidence(in_data, score)})"
    else:
        words = f"{words}; among neighbours in the data they show {degree} ({error})"
    return weaker if answer == "yes" else answer, words


def answer_of(report: MapReport, score: TargetScore) -> str:
    """Whether one target shows on the map or, in part, only in the features.

    Coordinates of others are asked for themselves: what the features say is no merit of theirs.
    """
    if report.depth == "coordinates":
        return answer_on_map(report, score)
    return answer_with_features(report, score)


def answer_with_features(report: MapReport, score: TargetScore) -> str:
    """The same whoever made the map."""
    on_map = answer_on_map(report, score)
    if on_map in ("yes", "in part") or too_few_units(report):
        return on_map
    by_features = features_beyond_chance(report, score)
    if by_features > bar(report):
        return "in part"
    return on_map if by_features < HELPFUL else "cannot tell"


def answer_on_map(report: MapReport, score: TargetScore) -> str:
    """Whether one target shows on the map, by its error or by the order of its values.

    With a few neighbours the error of a weak relation to a number is hardly below chance, though its order is beyond
    doubt.
    """
    if too_few_units(report):
        return "cannot tell"
    by_error, by_order = error_gone(report, score), order_beyond_chance(report, score)
    if by_error > bar(report):
        return strength(score)[1]
    by_votes = votes_beyond_chance(score)
    if max(by_order, by_votes) > bar(report):
        return "in part"
    nothing = max(by_error, by_order, by_votes) < HELPFUL
    return "no" if nothing and has_power(report, score) and _would_have_been_seen(report, score) else "cannot tell"


def strength(score: TargetScore) -> tuple[str, str]:
    """How an error that is beyond doubt is called, and the answer it gives."""
    gone = 1.0 - score.value / reference_of(score)[0]
    return next((word, answer) for least, word, answer in STRENGTHS if gone >= least)


def _opening(report: MapReport, score: TargetScore, answer: str) -> str:
    what = score.wording.target
    if answer == "no":
        return f"{what} do not show in this map"
    if answer == "cannot tell":
        units = f" from {few_units(report)}" if report.n_units and too_few_units(report) else ""
        return f"Cannot tell{units} whether {what[0].lower()}{what[1:]} show in this map"
    return f"{what} show {strength(score)[0]} in this map"


def _would_have_been_seen(report: MapReport, score: TargetScore) -> bool:
    """Whether a relation that a reader would see is beyond what the figures leave open."""
    order, most_order = order_of(report, score), 0.0
    if order is not None:
        most_order = float(order.value) - null_order(order) + HELPFUL * order_noise(report, order)
    return bool(max(most_gone(report, score), most_order) < VISIBLE)


def most_gone(report: MapReport, score: TargetScore) -> float:
    """The largest share of the reference error that may be gone: `HELPFUL` standard errors more than there is."""
    reference = reference_of(score)[0]
    return float(1.0 - score.value / reference + HELPFUL * error_noise(report, score) / reference)


def error_gone(report: MapReport, score: TargetScore) -> float:
    """How far the error is below its reference, in standard errors."""
    return float((reference_of(score)[0] - score.value) / max(error_noise(report, score), np.finfo(float).tiny))


def error_noise(report: MapReport, score: TargetScore) -> float:
    """The standard error of that difference."""
    at_chance = noise_at_chance(report, score, score.permuted, n_independent(report))
    return float(np.hypot(finite(score.value.spread), at_chance))


def order_beyond_chance(report: MapReport, score: TargetScore) -> float:
    """How far the rank correlation beside an error is above that of permuted values, in standard errors."""
    order = order_of(report, score)
    return -np.inf if order is None else float(order.value - null_order(order)) / order_noise(report, order)


def order_noise(report: MapReport, order: TargetScore) -> float:
    """The standard error of that difference."""
    spread = finite(order.permuted.spread) if order.permuted else 0.0
    return float(np.hypot(finite(order.value.spread), max(1.0 / np.sqrt(max(n_independent(report), 1)), spread)))


def has_power(report: MapReport, score: TargetScore) -> bool:
    """Whether a relation of a stated size (`prismap.quality._agreement`) would have been seen in four of five cases."""
    return score.agreement is None or score.agreement.expected > bar(report) + POWER


def votes_beyond_chance(score: TargetScore) -> float:
    """How far the votes go with the target beyond chance, in standard errors: their shares, not only who wins.

    Without a figure of their own nothing is known.
    """
    return -np.inf if score.agreement is None else score.agreement.deviations


def features_beyond_chance(report: MapReport, score: TargetScore) -> float:
    """How far the features go with the target beyond chance, in standard errors; nothing is known without a figure."""
    chance = chance_of_features(report, score)
    by_columns = -np.inf if chance is None else float(norm.isf(chance))
    known = score.of is None and any(
        one.get("knows_target") for one in report.supervision_curve or () if one["supervision"] > 0
    )
    return max(by_columns, np.nextafter(SIGNIFICANT, np.inf) if known else -np.inf)


def chance_of_features(report: MapReport, score: TargetScore) -> float | None:
    """How likely the columns go so well with the target by chance; None where that was not asked."""
    return report.measures.get(RELATION if score.of is None else f"{RELATION} ({score.of})")


def order_of(report: MapReport, score: TargetScore) -> TargetScore | None:
    """The rank correlation of guesses and values that stands beside a rank error."""
    return next((one for one in report.scores if one.name == "rank correlation" and one.of == score.of), None)


def null_order(order: TargetScore) -> float:
    """The rank correlation that permuted values have, or chance."""
    return 0.0 if order.permuted is None else max(order.permuted.mean, 0.0)


def reference_of(score: TargetScore) -> tuple[float, str]:
    """The error to beat, and what it is called."""
    if score.permuted is None or score.permuted.mean >= score.chance:
        return score.chance, "by chance"
    return score.permuted.mean, f"for {score.wording.permuted}"


# --- does the map exaggerate it? --------------------------------------------------------------------------------------


def exaggerates(report: MapReport) -> Statement:
    """Whether the map makes the target look clearer than it is."""
    score = report.scores[0]
    invented, answer = invention(report), exaggeration(report)
    figures: dict[str, Any] = {"chance": score.chance, "error": score.value}
    figures |= {} if score.in_sample is None else {"fitted_rows": score.in_sample}
    figures |= {} if invented is None else {"permuted": null_figure(invented)}
    if invented is None and (null := score.permuted_in_sample or score.permuted) is not None:
        figures["permuted"] = null_figure(null)
    if answer == "yes":
        words = " ".join(_alarms(score, invented))
    elif answer == "no":
        words = f"The map does not exaggerate: {_reassurance(score)}."
    elif report.depth == "coordinates":
        words = "Cannot tell from coordinates whether the map exaggerates: the method that made it was not run again."
        words += _better_than_data(score)
    elif too_few_units(report):
        words = f"Cannot tell from {few_units(report)} whether the map exaggerates."
    else:
        words = "Cannot tell whether the map exaggerates: too few rows were judged with permuted targets."
    return Statement("map_exaggerates", words, "headline", answer, figures, score.name, **rests(report))


def _better_than_data(score: TargetScore) -> str:
    """A hint that whoever made coordinates may have used the target."""
    known = score.in_data
    if known is None or known - score.value <= max(FLATTERED, SIGNIFICANT * joint_error(known, score.value)):
        return ""
    return f" Neighbours in the data err more ({score.with_error(known)}): it may have been given the target."


def exaggeration(report: MapReport) -> str:
    """Whether permuted targets look like structure, or fitted rows look better than judged ones."""
    score = report.scores[0]
    if report.depth == "coordinates" or too_few_units(report):
        return "cannot tell"
    if invention(report) is not None or flatters(score):
        return "yes"
    nulls = [null for null in (score.permuted_in_sample, score.permuted) if null is not None]
    if not nulls:
        return "cannot tell" if score.in_sample is None else "no"
    sharpest = min(null_noise(report, score, null) for null in nulls)
    # An invention that takes away half of the error by chance must have been seen.
    return "no" if bar(report) * sharpest < 0.5 * score.chance else "cannot tell"


def _alarms(score: TargetScore, invented: NullResult | None) -> list[str]:
    sentences = []
    if invented is not None:
        sentences.append(
            f"The map invents structure: {score.wording.permuted}, which mean nothing, still get "
            f"{score.figure(invented.mean)} where chance gives {score.figure(invented.chance)}. Part of what you see "
            "was made by the method."
        )
    if score.in_sample is not None and flatters(score):
        sentences.append(
            f"The picture is better than the truth: among the fitted rows the {score.name} is "
            f"{score.with_error(score.in_sample)}, on others {score.with_error(score.value)}."
        )
    return sentences


def _reassurance(score: TargetScore) -> str:
    parts = []
    if (null := score.permuted_in_sample or score.permuted) is not None:
        chance = score.figure(score.chance)
        parts.append(
            f"{score.wording.permuted} get {score.figure(null.mean)} on such a map, where chance gives {chance}"
        )
    if score.in_sample is not None:
        parts.append(
            f"its fitted rows ({score.with_error(score.in_sample)}) are not clearly better than the judged ones"
        )
    return ", and ".join(parts)


def invention(report: MapReport) -> NullResult | None:
    """The permuted figure that is farthest below chance, if one is far below; one neighbour often shows it first."""
    low = []
    # A correlation is no error; of several targets all are asked together, or one of many would be low by chance.
    for score in (one for one in report.scores if one.chance > 0 and one.of is None):
        for null in (score.permuted_in_sample, score.permuted):
            if null is None or null.mean >= INVENTED * null.chance:
                continue
            if null.chance - null.mean > bar(report) * null_noise(report, score, null):
                low.append(null)
    return min(low, key=lambda null: null.mean / null.chance, default=None)


def null_noise(report: MapReport, score: TargetScore, null: NullResult) -> float:
    """The standard error of the mean over permutations."""
    default = report.n_fitted if null is score.permuted_in_sample else n_independent(report)
    return float(noise_at_chance(report, score, null, null.n_rows or default) / np.sqrt(len(null.values)))


def flatters(score: TargetScore) -> bool:
    """Whether fitted rows look better than judged ones."""
    if score.in_sample is None:
        return False
    gap = score.flattery
    if gap is None:  # other rows were judged
        gap = Estimate(float(score.value - score.in_sample), joint_error(score.value, score.in_sample))
    return float(gap) > max(FLATTERED, SIGNIFICANT * finite(gap.spread))


# --- was the target needed? -------------------------------------------------------------------------------------------


def needed(report: MapReport) -> Statement:
    """Whether a map made without the target would have done as well."""
    score = report.scores[0]
    answer, words = _need(report, score)
    figures = {"error": score.value}
    figures |= {name: one for name in ("unsupervised", "gain") if (one := getattr(score, name)) is not None}
    return Statement("target_needed", words, "headline", answer, figures, score.name, **rests(report))


def _need(report: MapReport, score: TargetScore) -> tuple[str, str]:
    unknown = "Cannot tell whether the target was needed"
    if too_few_units(report):
        return "cannot tell", f"Cannot tell from {few_units(report)} whether the target was needed."
    if left_out(report):
        why = "it was left out of the map, because no share of it predicts it clearly better than the data alone."
        seen = answer_on_map(report, score) in ("yes", "in part")
        if not seen and not any(
            one.get("knows_target", True) for one in report.supervision_curve or () if one["supervision"] > 0
        ):
            why = "it was left out of the map, because no posterior of the features predicts it beyond chance."
        known = answer_of(report, score) == answer_on_map(report, score) != "cannot tell"
        return ("no", f"The target was not needed: {why}") if known else ("cannot tell", f"{unknown}: {why}")
    if not report.uses_target:
        return "no", "The target was not needed: this map was made without it."
    if score.unsupervised is None:
        return "cannot tell", f"{unknown}: there is no map without it to compare with."
    gain, noise = gain_of(score)
    plain = score.with_error(score.unsupervised)
    if gain < -HELPFUL * noise:
        return "no", f"The target was not needed: a map made without it does better ({plain})."
    answer = answer_on_map(report, score)
    if answer == "no":
        return "no", f"The target was not needed: it shows neither with it nor without it ({plain})."
    if answer == "cannot tell":
        return "cannot tell", f"{unknown}, because it is not known whether it shows (without it: {plain})."
    if gain > HELPFUL * noise:
        return "yes", f"The target was needed: without it the error is {plain}."
    if abs(gain) > VISIBLE * score.unsupervised or HELPFUL * noise > max(
        VISIBLE * score.unsupervised, FLATTERED, 0.1 * score.chance
    ):
        return "cannot tell", f"{unknown}: without it the error is {plain}, which may be chance."
    return "no", f"The target was not needed: a map made without it does about as well ({plain})."


def gain_of(score: TargetScore) -> tuple[float, float]:
    """By how much the error is higher without the target, and the standard error of that."""
    if score.gain is not None:
        return float(score.gain), finite(score.gain.spread)
    assert score.unsupervised is not None
    return float(score.unsupervised - score.value), joint_error(score.value, score.unsupervised)


def left_out(report: MapReport) -> bool:
    """Whether the map was made without the target, by choice: there is nothing then that could have helped."""
    return any(one["taken"] and one["supervision"] == 0 for one in report.supervision_curve or ())


# --- standard errors, and what they rest on ---------------------------------------------------------------------------


def bar(report: MapReport) -> float:
    """Standard errors that a claim takes: `SIGNIFICANT`, and more where that many verdicts would err once by chance.

    Bonferroni: with 37 verdicts read together, 3 standard errors still err in one of twenty such readings.
    """
    return max(SIGNIFICANT, float(norm.isf(LEVEL / report.looks)))


def too_few_units(report: MapReport) -> bool:
    """Whether a class has too few independent units for any answer."""
    return report.fewest_units is not None and report.fewest_units < FEWEST_UNITS


def few_units(report: MapReport) -> str:
    """The units that are too few, in words."""
    fewest, every = report.fewest_units or 0, report.n_units or 0
    return counted(fewest, report.unit) + (" of a class" if fewest < every else "")


def n_independent(report: MapReport) -> int:
    """How many of the judged rows are independent."""
    return report.n_judged if report.n_units is None else report.n_units


def rests(report: MapReport) -> dict[str, Any]:
    """What the scores rest on, as a statement has it."""
    return {"n_rows": report.n_judged, "n_units": n_independent(report), "unit": report.unit}


def basis(report: MapReport) -> str:
    """What the scores rest on, in words."""
    units = "" if report.n_units is None else f" of {counted(report.n_units, report.unit)}"
    rows = f"{report.n_judged} rows{units}"
    return {
        "held-out rows": f"{report.n_judged} held-out rows{units}",
        "cross-validation": f"cross-validation on {rows}",
        "in-sample": f"on the {report.n_judged} fitted rows themselves{units}, which flatters the map",
    }.get(report.judged, f"{rows}, {report.judged}")


def noise_at_chance(report: MapReport, score: TargetScore, null: NullResult | None, n: int) -> float:
    """Standard error of one figure at chance; of several targets together, the mean of theirs."""
    n = max(n, 1)
    each = {one.of: one for one in reversed(report.scores) if one.of is not None} if score.of is None else {}
    if each:  # errors over chance, of targets that may depend on each other
        sampling = float(np.mean([one.noise_at_chance(n) / one.chance for one in each.values()]))
    else:
        sampling = score.noise_at_chance(n)
    return max(sampling, finite(null.spread) if null else 0.0)


def null_figure(null: NullResult) -> Estimate:
    """The mean over permutations, with its spread."""
    return Estimate(null.mean, null.spread)


def joint_error(a: Estimate, b: Estimate) -> float:
    """The standard error of the difference of two figures of different rows."""
    return float(np.hypot(finite(a.spread), finite(b.spread)))


def finite(value: float) -> float:
    """The value, or 0 where it is not known."""
    return float(value) if np.isfinite(value) else 0.0
