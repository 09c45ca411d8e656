import json
import re
from dataclasses import replace
from html import escape, unescape

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.quality import (
    MapReport,
    TrustRule,
    chance_error,
    class_overlap,
    knn_error,
    overlapping_pairs,
    permuted_null,
    r_nx,
)
from prismap.quality._estimates import Estimate
from prismap.quality._headlines import RELATION
from prismap.quality._knn import Overlap
from prismap.quality._null import NullResult
from prismap.quality._report import current_versions
from prismap.quality._report_text import marked
from prismap.quality._scores import TargetScore


def error(value, n=400):
    return Estimate(value, np.sqrt(value * (1 - value) / n))


def score(value=0.1, chance=0.9, permuted=(0.89, 0.91, 0.9), **more):
    null = NullResult(permuted, chance) if permuted else None
    return TargetScore("1-NN error", error(value), chance, permuted=null, **more)


def report(*scores, **more):
    return MapReport(**{"target": "class", "n_fitted": 1000, "n_judged": 400, "scores": scores, **more})


def curve(seed=0):
    X = np.random.default_rng(seed).normal(size=(300, 3))
    return r_nx(X, X[:, :2])


FULL = report(
    score(
        in_sample=error(0.09),
        unsupervised=error(0.25),
        permuted_in_sample=NullResult((0.88, 0.9), 0.9),
        gain=Estimate(0.15, 0.02),
        flattery=Estimate(0.01, 0.02),
    ),
    TargetScore("10-NN error", error(0.08), 0.88),
    structure={"map, data": curve(), "map, Fisher": curve(1)},
    overlaps=(Overlap("8", "1", 0.23), Overlap("9", "3", 0.12)),
    bandwidths={"metric": np.float32(1.5)},
    posterior="parzen",
    seed=np.int64(3),
    versions=current_versions(),
    times={"fit": 1.25},
    settings={"method": "tsne"},
    notes=("one note",),
    warnings=("one warning",),
)


@pytest.mark.parametrize(
    ("value", "word"), [(0.1, "clearly"), (0.4, "in good part"), (0.7, "only in part"), (0.8, "faintly")]
)
def test_labels_that_show_are_said_to_show(value, word):
    found = report(score(value))
    assert found.target_shows
    figure = f"{100 * value:.1f} ± {100 * found.scores[0].value.spread:.1f} %"
    assert f"The labels show {word} in this map: {figure} of the rows have another label" in found.verdict
    assert "(400 held-out rows)" in found.verdict
    assert "does not exaggerate" in found.verdict


def test_labels_at_chance_are_said_not_to_show():
    found = report(score(0.87), overlaps=(Overlap("8", "1", 0.9),))
    assert found.target_shows is False
    assert found.overstates is False
    assert "The labels do not show in this map: 87.0 ± 1.7 % of the rows" in found.verdict
    assert "The map does not exaggerate" in found.verdict
    assert "overlap" not in found.verdict


def test_a_no_states_what_it_excludes():
    stated = report(score(0.87)).statement("target_shows")
    excluded = 1 - 0.87 / 0.9 + 2 * np.hypot(stated.figures["error"].spread, np.sqrt(0.9 * 0.1 / 400)) / 0.9
    assert stated.figures["excluded"] == pytest.approx(excluded)
    sentence = f"A relation that takes more than {100 * excluded:.0f} % off that error on this map is excluded, a "
    assert stated.words.endswith(f"{sentence}weaker one not.")
    assert "excluded" not in report(score(0.5)).statement("target_shows").figures


@pytest.mark.parametrize(("chance", "answer"), [(0.4, "no"), (0.01, "cannot tell"), (0.0005, "in part")])
def test_no_is_not_said_of_what_the_features_know(chance, answer):
    """Nor are overlaps and trust, which are about the map."""
    found = report(score(0.87), measures={RELATION: Estimate(chance)}, overlaps=(Overlap("8", "1", 0.9),))
    stated = found.statement("target_shows")
    assert stated.answer == answer
    assert stated.figures["chance_of_features"] == chance
    assert "overlap" not in found.verdict
    if answer == "in part":
        assert stated.words.startswith(
            "The labels hardly show in this map, though the features say something about them (p = 0.0005 for their "
            "columns): 87.0 ± 1.7 % of the rows"
        )
    several = replace(found, looks=1000)  # one of many readings
    assert several.statement("target_shows").answer != "in part"


def test_a_posterior_that_knows_the_target_is_heard():
    tried = [{"supervision": share, "posterior": "p", "score": 0.1, "taken": share == 0} for share in (0.0, 0.8)]
    for knows, answer in ((False, "no"), (True, "in part")):
        curve_ = tuple({**one, "knows_target": one["supervision"] == 0 or knows} for one in tried)
        found = report(score(0.87), supervision_curve=curve_)
        assert found.statement("target_shows").answer == answer
        assert found.statement("target_needed").answer == ("cannot tell" if knows else "no")


def test_three_standard_errors_decide():
    noise = np.hypot(np.sqrt(0.5 * 0.5 / 400), 0.02)
    for off, shows in ((2.9, None), (3.1, True), (1.1, False)):
        found = TargetScore("1-NN error", Estimate(0.5 - off * noise, 0.02), 0.5)
        assert report(found).target_shows is shows
    unsteady = score(0.3, chance=0.5, permuted=(0.3, 0.5, 0.7))  # permutations that scatter widely prove nothing
    assert not report(unsteady).target_shows


def test_permuted_labels_far_below_chance_raise_the_alarm():
    for which in ("permuted", "permuted_in_sample"):
        found = report(replace(score(0.05), **{which: NullResult((0.15, 0.17), 0.9)}))
        assert found.overstates
        assert "invents structure" in found.verdict
        assert "16.0 % where chance gives 90.0 %" in found.verdict
    assert not report(score(0.05, permuted=(0.8, 0.82))).overstates  # below chance, but not by much
    assert not report(score(0.05, chance=0.5, permuted=(0.4, 0.42)), n_judged=30).overstates  # few rows prove nothing
    lucky = score(0.05, chance=0.5, permuted=(0.3,))
    assert report(lucky, n_judged=60).overstates
    few = replace(lucky, permuted=replace(lucky.permuted, n_rows=24))  # of 60 judged rows 24 on maps of permuted labels
    assert not report(few, n_judged=60).overstates
    assert NullResult.from_dict(few.permuted.to_dict()) == few.permuted


def test_what_permuted_labels_reach_counts_for_nothing():
    found = report(score(0.5, permuted=(0.5, 0.51)))
    assert not found.target_shows
    assert "against 50.5 % for permuted labels" in found.verdict


def test_fitted_rows_that_look_better_than_others_raise_the_alarm():
    found = report(score(0.3, in_sample=error(0.02)))
    assert found.overstates
    assert "among the fitted rows the 1-NN error is 2.0 ± 0.7 %, on others 30.0 ± 2.3 %" in found.verdict
    assert not report(score(0.06, in_sample=error(0.02))).overstates
    sure = TargetScore("1-NN error", error(0.06, 10**5), 0.9, in_sample=error(0.02, 10**5))
    assert not report(sure).overstates  # certain, but small


@pytest.mark.parametrize(
    ("plain", "answer", "words"),
    [
        (0.3, "yes", "The target was needed: without it the error is 30.0 ± 2.3 %."),
        (0.105, "no", "a map made without it does about as well (10.5 ± 1.5 %)"),
        (0.02, "no", "a map made without it does better (2.0 ± 0.7 %)"),
    ],
)
def test_the_unsupervised_map_is_compared(plain, answer, words):
    stated = report(score(0.1, unsupervised=error(plain))).statement("target_needed")
    assert stated.answer == answer
    assert words in stated.words
    assert set(stated.figures) == {"error", "unsupervised"}
    assert "neither with it nor without it" in report(score(0.89, unsupervised=error(0.9))).verdict
    assert "does better (50.0 ± 2.5 %)" in report(score(0.89, unsupervised=error(0.5))).verdict


def test_the_unsupervised_map_is_compared_on_the_same_rows():
    """26.2 against 36.4 % of 107 rows is beyond chance, for most of the rows are right or wrong on both maps."""
    two = TargetScore("10-NN error", error(0.262, 107), 0.67, unsupervised=error(0.364, 107))
    answers = [
        report(replace(two, gain=gain), n_judged=107).statement("target_needed").answer
        for gain in (None, Estimate(0.102, 0.033), Estimate(0.02, 0.033))
    ]
    assert answers == ["cannot tell", "yes", "no"]


def test_flattery_is_measured_on_the_same_rows():
    two = score(0.3, in_sample=error(0.21))
    assert not report(replace(two, flattery=Estimate(0.02, 0.01))).overstates
    assert report(replace(two, flattery=Estimate(0.09, 0.02))).overstates


def test_a_visible_difference_that_few_rows_cannot_prove_is_not_called_about_as_well():
    few = TargetScore("1-NN error", error(0.05, 30), 0.67, unsupervised=error(0.15, 30))
    stated = report(few, n_judged=30).statement("target_needed")
    assert stated.answer == "cannot tell"
    assert "without it the error is 15.0 ± 6.5 %, which may be chance" in stated.words


def test_structure_is_compared_with_that_of_the_unsupervised_map():
    found = report(score(), structure={"map": curve(), "unsupervised map": curve(1)})
    areas = [f"{kept.auc_log_k:.2f}" for kept in found.structure.values()]
    assert f"(area {areas[0]}, the map made without the target {areas[1]}; a random map has 0" in found.verdict


def test_overlapping_classes_are_named_when_labels_show():
    assert "8 with 1 (23 % of its neighbours), 9 with 3 (12 %" in FULL.verdict
    assert "No two classes overlap much" in report(score(), overlaps=()).verdict
    assert "overlap" not in report(score()).verdict


def test_how_it_was_judged_is_said():
    assert "(cross-validation on 400 rows)" in report(score(), judged="cross-validation").verdict
    assert "which flatters the map" in report(score(), judged="in-sample").verdict


@pytest.mark.parametrize(
    ("share", "low", "answer", "words"),
    [
        (0.61, 0.02, "yes", "2 % of the rows have neighbours that are more likely wrong about them than right, and the "
         "least trusted tenth of the judged rows holds 61 % of the wrong ones."),
        (0.04, 0.0, "no", "No row has neighbours that are more likely wrong about it than right. Trust does not tell "
         "which rows are wrong: the least trusted tenth of the judged rows holds 4 % of them, where chance would give "
         "10 %."),
        (float("nan"), 0.0, None, "No row has neighbours that are more likely wrong about it than right."),
    ],
)  # fmt: skip
def test_the_verdict_does_not_praise_a_trust_that_finds_no_more_than_chance(share, low, answer, words):
    rule = TrustRule("class", (0.0, 1.0, 1.0), 400, 0.01, share, low)
    stated = report(score(), trust=rule).statement("rows_trusted")
    assert (stated.answer, stated.words) == (answer, words)


def test_nothing_is_said_of_what_trust_finds_among_three_wrong_rows():
    rule = TrustRule("class", (0.0, 1.0, 1.0), 400, 0.01, 0.0, 0.01)
    for rare_error, sentences in ((3 / 400, 1), (40 / 400, 2)):
        stated = report(score(rare_error), trust=rule).statement("rows_trusted")
        assert stated.words.count(".") == sentences


@pytest.mark.parametrize(("order", "shows"), [(0.28, True), (0.2, None), (0.1, False)])
def test_a_weak_relation_shows_by_its_order_before_its_error_does(order, shows):
    score = TargetScore("rank error", Estimate(1.08, 0.04), 1.095, permuted=NullResult((1.16,), 1.095))
    beside = TargetScore("rank correlation", Estimate(order, 0.05), 0.0, permuted=NullResult((0.03,), 0.0))
    found = report(score, beside, target="real", n_judged=328)
    assert found.target_shows is shows
    assert not report(score, target="real", n_judged=328).target_shows
    words = {
        True: "The target values show faintly in this map: what its neighbours guess of a row's rank and the rank "
        "itself have a correlation of 0.28, against 0.03 for permuted values (328 held-out rows).",
        None: "Cannot tell whether the target values show in this map: guessing",
        False: "The target values do not show in this map: guessing",
    }
    assert found.verdict.startswith(words[shows])


def test_real_targets_speak_of_values():
    found = report(
        TargetScore("nRMSE", Estimate(0.6, 0.02), np.sqrt(1.2), permuted=NullResult((1.1, 1.15), np.sqrt(1.2))),
        target="real",
    )
    assert found.verdict.startswith("The target values show in good part in this map: guessing a row's value")
    assert "misses by 0.60 ± 0.02 standard deviations, against 1.10 by chance" in found.verdict
    assert "%" not in found.details


def test_a_correlation_is_no_error_that_could_be_invented():
    order = TargetScore("rank correlation", Estimate(0.9), 0.0, permuted=NullResult((-0.1, -0.08), 0.0))
    error_of_ranks = TargetScore("rank error", Estimate(0.4, 0.02), 1.1, permuted=NullResult((1.1, 1.12), 1.1))
    found = report(error_of_ranks, order, target="real")
    assert found.overstates is False
    assert "misses by 0.40 ± 0.02 standard deviations (rank correlation 0.90)" in found.verdict


def test_any_of_the_errors_can_show_invention():
    first = TargetScore("10-NN error", error(0.1), 0.9, permuted_in_sample=NullResult((0.86, 0.85), 0.9))
    second = TargetScore("1-NN error", error(0.1), 0.9, permuted_in_sample=NullResult((0.3, 0.31), 0.9))
    assert not report(first).overstates
    assert report(first, second).overstates


def test_coordinates_alone_say_nothing_of_invention():
    found = report(score(0.05, permuted=(0.15, 0.17)), depth="coordinates", limits=("the method",))
    assert found.overstates is None
    assert "invents structure." not in found.verdict
    assert "not judged: the method" in found.details
    with pytest.raises(InputError, match="depth must be one of"):
        report(score(), depth="deep")


def test_without_a_target_structure_alone_is_judged():
    found = MapReport(target="none", n_fitted=100, structure={"map, data": curve()})
    assert found.target_shows is None
    assert found.overstates is None
    assert found.verdict.startswith("The map keeps neighbourhoods ")
    assert "target: none" in str(found)
    assert "nothing to judge" in MapReport(target="none", n_fitted=100).verdict


def test_notebooks_get_the_same_cells_as_tables_and_no_markup_from_names():
    found = replace(FULL, notes=("<b>a note</b>",))
    html = found._repr_html_()
    assert html.count("<table>") == 2
    assert "<b>a note" not in html
    assert "&lt;b&gt;a note" in html
    cells = set(re.findall(r"<t[hd]>([^<]*)</t[hd]>", html))
    text = found.details
    assert all(unescape(cell) in text for cell in cells)
    first, _, folded = html.partition("<details>")
    for one in found.statements:
        assert escape(one.words) in (folded if one.level == "detail" else first)


def test_text_is_an_aligned_table_with_the_verdict():
    text = FULL.details
    lines = text.splitlines()
    head = next(line for line in lines if "unsupervised" in line)
    first, second = (next(line for line in lines if line.startswith(name)) for name in ("1-NN", "10-NN"))
    assert head.index("chance") == first.index("90.0 %", 40) == second.index("88.0 %")
    assert "10.0 +- 1.5 %" in first
    assert all(marked(one)[1] in " ".join(text.split()) for one in FULL.statements)
    for remark in (
        "note: one note",
        "warning      one warning",
        "seed 3",
        "fit 1.2 s",
        "posterior parzen",
        "bandwidth 1.5",
    ):
        assert remark in text
    assert max(map(len, lines)) <= 120


def test_reports_survive_json():
    unsure = report(TargetScore("1-NN error", Estimate(0.1), 0.9, permuted=NullResult((0.9,), 0.9)))
    for found in (FULL, unsure, report(score(permuted=None)), MapReport(target="none", n_fitted=5)):
        stored = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        back = MapReport.from_dict(stored)
        assert back.to_dict() == found.to_dict()
        assert back.verdict == found.verdict
        assert back.details == found.details
    assert len(FULL.to_dict()["structure"]["map, data"]["k"]) <= 200 < len(FULL.structure["map, data"])


def test_real_and_permuted_maps_get_opposite_verdicts():
    """The measures and the report together, on a map that shows its classes and on one that does not."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 80)
    Y = rng.normal(size=(240, 2)) + 3.0 * np.c_[y == 1, y == 2]
    for labels, shows in ((y, True), (rng.permutation(y), False)):
        null = permuted_null(lambda shuffled: knn_error(Y, shuffled), labels, random_state=0)
        found = MapReport(
            target="class", n_fitted=240, n_judged=240, judged="in-sample",
            scores=(TargetScore("1-NN error", knn_error(Y, labels), chance_error(labels), permuted=null),),
            overlaps=overlapping_pairs(*class_overlap(Y, labels)),
        )  # fmt: skip
        assert found.target_shows is shows
        assert found.overstates is False


def test_bad_input_is_named():
    with pytest.raises(InputError, match="target must be one of class, ordered, real, several, none; got 'classes'"):
        MapReport(target="classes", n_fitted=3)
    with pytest.raises(InputError, match="cannot hold scores"):
        MapReport(target="none", n_fitted=3, scores=(score(),))
    with pytest.raises(InputError, match="no report of format 1"):
        MapReport.from_dict({"format": 99})


def stored_report(**changes):
    return {**json.loads(json.dumps(FULL.to_dict())), **changes}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n_judged": "many"}, "it.n_judged is 'many'"),
        ({"n_judged": True}, "it.n_judged is True"),
        ({"rare": "abc"}, "it.rare is 'abc'"),
        ({"scores": [{"name": "1-NN error"}]}, r"it.scores\[0\] has no 'chance'"),
        ({"structure": {"map, data": {}}}, r"it.structure\['map, data'\] has no 'kind'"),
        ({"medoids": [{"of": "class a", "row": 1, "text": 3}]}, r"it.medoids\[0\].text is 3"),
        ({"times": {"fit": None}}, r"it.times\['fit'\] is None"),
        ({"overlaps": [{"of": "8", "into": "1", "share": "x"}]}, r"it.overlaps\[0\].share is 'x'"),
        ({"clusters": {}}, "it.clusters has no 'n_runs'"),
        ({"target": "classes"}, "target must be one of"),
    ],
)
def test_what_is_no_report_is_refused_before_it_is_shown(changes, words):
    """Its own words must not end in an error later."""
    assert MapReport.from_dict(stored_report()).verdict == FULL.verdict
    with pytest.raises(InputError, match=words):
        str(MapReport.from_dict(stored_report(**changes)))


def test_a_report_that_cannot_be_put_in_words_is_refused():
    stored = stored_report()
    stored["scores"][0]["permuted"]["values"] = [None, None]
    with pytest.raises(InputError, match="no report of prismap: unsupported operand"):
        MapReport.from_dict(stored)


def test_a_choice_that_took_nothing_is_refused():
    tried = {"posterior": "parzen", "supervision": 0.5, "score": 0.9, "taken": False}
    with pytest.raises(InputError, match="no report of prismap"):
        MapReport.from_dict(stored_report(supervision_curve=[tried]))


@pytest.mark.parametrize("stored", [[], None, 3, "report"])
def test_a_report_is_a_dictionary(stored):
    with pytest.raises(InputError, match="no report of format 1"):
        MapReport.from_dict(stored)
