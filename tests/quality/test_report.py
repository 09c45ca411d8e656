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
from prismap.quality._knn import Overlap
from prismap.quality._null import NullResult
from prismap.quality._report import current_versions
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
    score(in_sample=error(0.09), unsupervised=error(0.25), permuted_in_sample=NullResult((0.88, 0.9), 0.9)),
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
    assert f"The labels show {word} in these data: {value:.1%} of the rows have another label" in found.verdict
    assert "on 400 held-out rows" in found.verdict
    assert "does not over-state" in found.verdict


def test_labels_at_chance_are_said_not_to_show():
    found = report(score(0.87), overlaps=(Overlap("8", "1", 0.9),))
    assert found.target_shows is False
    assert found.overstates is False
    assert "The labels do not show in this map: 87.0% of the rows" in found.verdict
    assert "Nor does the map invent them." in found.verdict
    assert "overlap" not in found.verdict


def test_three_standard_errors_decide():
    noise = np.hypot(np.sqrt(0.5 * 0.5 / 400), 0.02)
    for off, shows in ((2.9, False), (3.1, True)):
        found = TargetScore("1-NN error", Estimate(0.5 - off * noise, 0.02), 0.5)
        assert report(found).target_shows is shows
    unsteady = score(0.3, chance=0.5, permuted=(0.3, 0.5, 0.7))  # permutations that scatter widely prove nothing
    assert not report(unsteady).target_shows


def test_permuted_labels_far_below_chance_raise_the_alarm():
    for which in ("permuted", "permuted_in_sample"):
        found = report(replace(score(0.05), **{which: NullResult((0.15, 0.17), 0.9)}))
        assert found.overstates
        assert "invents structure" in found.verdict
        assert "16.0% where chance gives 90.0%" in found.verdict
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
    assert "permuted labels would give 50.5%" in found.verdict


def test_fitted_rows_that_look_better_than_others_raise_the_alarm():
    found = report(score(0.3, in_sample=error(0.02)))
    assert found.overstates
    assert "Among the fitted rows the 1-NN error is 2.0%, on others 30.0%" in found.verdict
    assert not report(score(0.06, in_sample=error(0.02))).overstates
    sure = TargetScore("1-NN error", error(0.06, 10**5), 0.9, in_sample=error(0.02, 10**5))
    assert not report(sure).overstates  # certain, but small


@pytest.mark.parametrize(
    ("plain", "words"), [(0.3, "Supervision sharpened"), (0.105, "about as well"), (0.02, "does not help here")]
)
def test_the_unsupervised_map_is_compared(plain, words):
    assert words in report(score(0.1, unsupervised=error(plain))).verdict
    assert "without the target" not in report(score(0.89, unsupervised=error(0.9))).verdict
    better = report(score(0.89, unsupervised=error(0.5)))
    assert "A map made without the target does better (50.0%)" in better.verdict


def test_a_visible_difference_that_few_rows_cannot_prove_is_not_called_about_as_well():
    few = TargetScore("1-NN error", error(0.05, 30), 0.67, unsupervised=error(0.15, 30))
    words = report(few, n_judged=30).verdict
    assert "Without the target the error is 15.0%, but on 30 judged rows this may be chance" in words
    assert "about as well" not in words


def test_structure_is_compared_with_that_of_the_unsupervised_map():
    found = report(score(), structure={"map": curve(), "unsupervised map": curve(1)})
    areas = [f"{kept.auc_log_k:.2f}" for kept in found.structure.values()]
    assert f"(area {areas[0]}, the map made without the target {areas[1]}; a random map has 0" in found.verdict


def test_overlapping_classes_are_named_when_labels_show():
    assert "8 with 1 (23% of its neighbours), 9 with 3 (12%" in FULL.verdict
    assert "No two classes overlap much" in report(score(), overlaps=()).verdict
    assert "overlap" not in report(score()).verdict


def test_how_it_was_judged_is_said():
    assert "by cross-validation on 400 rows" in report(score(), judged="cross-validation").verdict
    assert "which flatters the map" in report(score(), judged="in-sample").verdict


@pytest.mark.parametrize(
    ("share", "low", "told"),
    [
        (0.61, 0.02, "2% of the rows have neighbours that are more likely wrong about them than right, and the least "
         "trusted tenth of the judged rows holds 61% of the wrong ones."),
        (0.04, 0.0, "No row has neighbours that are more likely wrong about it than right. Trust does not tell which "
         "rows are wrong: the least trusted tenth of the judged rows holds 4% of them, where chance would give 10%."),
        (float("nan"), 0.0, "No row has neighbours that are more likely wrong about it than right."),
    ],
)  # fmt: skip
def test_the_verdict_does_not_praise_a_trust_that_finds_no_more_than_chance(share, low, told):
    rule = TrustRule("class", (0.0, 1.0, 1.0), 100, 0.01, share, low)
    assert report(score(), trust=rule).verdict.endswith(told)


@pytest.mark.parametrize(("order", "shows"), [(0.28, True), (0.2, False)])
def test_a_weak_relation_shows_by_its_order_before_its_error_does(order, shows):
    score = TargetScore("rank error", Estimate(1.08, 0.04), 1.095, permuted=NullResult((1.16,), 1.095))
    beside = TargetScore("rank correlation", Estimate(order, 0.05), 0.0, permuted=NullResult((0.03,), 0.0))
    found = report(score, beside, target="real", n_judged=328)
    assert found.target_shows == shows
    assert not report(score, target="real", n_judged=328).target_shows
    told = (
        "The target values show faintly in these data: what its neighbours in the map guess of a row's rank and the "
        "rank itself have a correlation of 0.28, where permuted values would give 0.03 (judged on 328 held-out rows)."
    )
    assert found.verdict.startswith(told if shows else "The target values do not show in this map: guessing")


def test_real_targets_speak_of_values():
    found = report(
        TargetScore("nRMSE", Estimate(0.6, 0.02), np.sqrt(1.2), permuted=NullResult((1.1, 1.15), np.sqrt(1.2))),
        target="real",
    )
    assert found.verdict.startswith("The target values show in good part in these data: guessing a row's value")
    assert "misses by 0.60 standard deviations, where chance would give 1.10" in found.verdict
    assert "%" not in str(found)


def test_a_correlation_is_no_error_that_could_be_invented():
    order = TargetScore("rank correlation", Estimate(0.9), 0.0, permuted=NullResult((-0.1, -0.08), 0.0))
    error_of_ranks = TargetScore("rank error", Estimate(0.4, 0.02), 1.1, permuted=NullResult((1.1, 1.12), 1.1))
    found = report(error_of_ranks, order, target="real")
    assert found.overstates is False
    assert "misses by 0.40 standard deviations (rank correlation 0.90)" in found.verdict


def test_any_of_the_errors_can_show_invention():
    first = TargetScore("10-NN error", error(0.1), 0.9, permuted_in_sample=NullResult((0.86, 0.85), 0.9))
    second = TargetScore("1-NN error", error(0.1), 0.9, permuted_in_sample=NullResult((0.3, 0.31), 0.9))
    assert not report(first).overstates
    assert report(first, second).overstates


def test_coordinates_alone_say_nothing_of_invention():
    found = report(score(0.05, permuted=(0.15, 0.17)), depth="coordinates", limits=("the method",))
    assert found.overstates is None
    assert "invents structure." not in found.verdict
    assert "not judged: the method" in str(found)
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
    text = unescape(str(found))
    assert all(unescape(cell) in text for cell in cells)
    assert escape(found.verdict) in html


def test_text_is_an_aligned_table_with_the_verdict():
    text = str(FULL)
    lines = text.splitlines()
    head = next(line for line in lines if "unsupervised" in line)
    first, second = (next(line for line in lines if line.startswith(name)) for name in ("1-NN", "10-NN"))
    assert head.index("chance") == first.index("90.0 %", 40) == second.index("88.0 %")
    assert "10.0 +- 1.5 %" in first
    assert " ".join(FULL.verdict.split()) in " ".join(text.split())
    for remark in (
        "note: one note",
        "warning: one warning",
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
        assert str(back) == str(found)
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
