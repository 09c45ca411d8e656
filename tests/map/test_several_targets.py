"""Maps of several targets, and of ordered classes: fitted, judged, saved, shown."""

import numpy as np
import pytest

from prismap import PrisMap
from prismap.exceptions import FileFormatError, InputError
from prismap.judging._scores import joint_score
from prismap.metrics import FisherMetric
from prismap.quality import MapReport
from prismap.quality._estimates import Estimate
from prismap.quality._null import NullResult
from prismap.quality._scores import TargetScore

N = 70
OPTIONS = {"method": "mds", "mapping": "vote", "supervision": 0.8, "perplexity": 10, "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    """A hierarchy of two levels in the first two columns, a label in the third, and noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4))
    coarse = (X[:, 0] > 0).astype(int)
    return X, {"kind": coarse, "sort": 2 * coarse + (X[:, 1] > 0), "noise": rng.integers(0, 2, size=N)}


@pytest.fixture(scope="module")
def hierarchy(rows):
    X, targets = rows
    made = PrisMap(metric=FisherMetric(posterior="lssvm"), **OPTIONS).fit(X, targets)
    made.report(n_permutations=1)
    return made


def test_what_a_map_of_several_targets_knows(rows, hierarchy):
    assert hierarchy.target_ == ("class", "class", "class")
    assert hierarchy.target_names_ == ("kind", "sort", "noise")
    assert [one.tolist() for one in hierarchy.classes_] == [[0, 1], [0, 1, 2, 3], [0, 1]]
    assert hierarchy.map_.given.target.shown.values.tolist() == rows[1]["kind"].tolist()
    assert hierarchy.metric_.posterior_.known_.tolist() == [True, True, False]
    codes = np.column_stack(list(rows[1].values()))
    np.testing.assert_array_equal(hierarchy.y_, codes)
    assert hierarchy.score(rows[0], codes) == pytest.approx(hierarchy.score(rows[0], rows[1]))
    with pytest.raises(InputError, match="y has 1 columns, and the map has 3 targets"):
        hierarchy.score(rows[0], rows[1]["kind"])


def test_levels_of_a_hierarchy_lie_apart_by_what_they_share(rows, hierarchy):
    D, sort = hierarchy.metric_.pairwise(), rows[1]["sort"]
    within, near, far = (np.median(D[np.ix_(sort == 0, sort == other)]) for other in (0, 1, 2))
    assert within < near < far


def test_the_report_judges_all_targets_and_each(hierarchy):
    report = hierarchy.report()
    assert report.target == "several"
    names = [score.name for score in report.scores]
    assert names[0] == "mean error over chance of 3 targets"
    assert {score.of for score in report.scores[1:]} == {"kind", "sort", "noise"}
    first = {score.of: score for score in reversed(report.scores)}
    each = [first[name] for name in ("kind", "sort", "noise")]
    assert float(report.scores[0].value) == pytest.approx(np.mean([float(one.value) / one.chance for one in each]))
    assert report.scores[0].chance == 1
    assert report.target_shows
    assert not report.overstates
    assert "Of the targets kind and sort show, of noise it cannot be told." in report.verdict  # 70 rows
    assert report.target_weights["noise"] == 0
    assert "; noise does not count." in report.verdict
    assert MapReport.from_dict(report.to_dict()).verdict == report.verdict
    assert "10-NN error of noise" in report.details or "1-NN error of noise" in report.details
    assert " %" in next(line for line in report.details.splitlines() if "NN error of kind" in line)


def test_a_saved_map_is_the_same(rows, hierarchy, tmp_path):
    hierarchy.save(tmp_path / "m")
    again = PrisMap.load(tmp_path / "m")
    new = np.random.default_rng(1).normal(size=(5, 4))
    np.testing.assert_array_equal(again.transform(new), hierarchy.transform(new))
    np.testing.assert_array_equal(again.trust(new), hierarchy.trust(new))
    assert (again.target_, again.target_names_) == (hierarchy.target_, hierarchy.target_names_)
    assert again.score(*rows) == hierarchy.score(*rows)
    assert again.report().verdict == hierarchy.report().verdict


@pytest.mark.parametrize("damage", ["kind", "names", "codes", "weights", "landmarks"])
def test_a_damaged_file_is_refused(hierarchy, tmp_path, damage):
    from prismap.bundle import read_bundle, write_bundle

    hierarchy.save(tmp_path / "m")
    bundle = read_bundle(tmp_path / "m")
    header, arrays = dict(bundle.header), {name: np.array(one) for name, one in bundle.arrays.items()}
    if damage == "kind":
        header["target_kind"] = ["class", "words", "class"]
    elif damage == "names":
        header["target_names"] = ["kind"]
    elif damage == "codes":
        arrays["target"][3, 1] = 9.0
    elif damage == "weights":
        arrays["metric/joint_weights"] = -arrays["metric/joint_weights"]
    else:
        name = next(name for name in arrays if name.endswith(("machine_landmarks", "trees_children")))
        arrays[name] = arrays[name] + 10**6
    write_bundle(tmp_path / "n", arrays, header)
    with pytest.raises(FileFormatError):
        PrisMap.load(tmp_path / "n")


def test_the_page_shows_the_first_target_and_has_the_others_as_columns(hierarchy):
    from prismap.page import page_of

    page = page_of(hierarchy)
    assert (page.target.name, page.target.kind, list(page.target.classes)) == ("kind", "class", ["0", "1"])
    assert {"sort", "noise"} <= set(page.columns)
    assert len(page.layers) == 3
    assert hierarchy.plot() is not None


def test_what_several_targets_cannot_do_says_so(rows, hierarchy):
    X, targets = rows
    with pytest.raises(InputError, match="partial_refit extends maps of one target"):
        hierarchy.partial_refit(X + 50, np.zeros((N, 3)))
    with pytest.raises(InputError, match="the target has several columns"):
        PrisMap(**{**OPTIONS, "method": "kda"}).fit(X, targets)


def test_targets_that_nothing_tells_are_left_out(rows):
    X, targets = rows
    Y = np.random.default_rng(3).permutation(np.column_stack(list(targets.values())))
    made = PrisMap(perplexity=10, random_state=0, target="class").fit(X, Y)
    assert made.supervision_ == 0
    assert made.metric_ is made.map_.data


def test_ordered_classes_are_judged_by_steps(rows):
    X, _ = rows
    pandas = pytest.importorskip("pandas")
    levels = ["low", "mid", "high"]
    size = pandas.Series(pandas.Categorical.from_codes(np.digitize(X[:, 0], [-0.5, 0.5]), levels, ordered=True))
    by_machine = FisherMetric(posterior="lssvm")
    made = PrisMap(metric=by_machine, **OPTIONS).fit(X, size.rename("size"))
    assert made.target_ == ("ordered",)
    assert made.map_.given.target.shown.classes.tolist() == levels
    report = made.report(n_permutations=1)
    assert report.target == "ordered"
    assert [score.name for score in report.scores] == [
        "mean class steps",
        "vote error",
        "1-NN error",
        "rank correlation",
    ]
    assert report.verdict.startswith("The ordered classes show")
    assert "classes on average" in report.verdict
    table = pandas.DataFrame(X, columns=list("abcd")).assign(size=size)
    by_table = PrisMap.from_table(table, "size", standardize=False, metric=by_machine, **OPTIONS)
    np.testing.assert_allclose(by_table.embedding_, made.embedding_)
    assert by_table.score(table) == pytest.approx(made.score(X, size))


def test_several_columns_of_a_table(rows):
    pandas = pytest.importorskip("pandas")
    X, targets = rows
    table = pandas.DataFrame(X, columns=list("abcd")).assign(**targets)
    table.loc[0, "sort"] = None
    made = PrisMap.from_table(table, ["kind", "sort"], drop="noise", target_kind="class", **OPTIONS)
    assert made.target_names_ == ("kind", "sort")
    assert made.encoding_.names == list("abcd")
    assert "1 row without one of the targets: placed without any of them" in made.notes_
    assert not made.map_.given.target.labelled[0]
    assert made.score(table) > 0.8
    with pytest.raises(InputError, match="a target is named twice: 'kind', 'kind'"):
        PrisMap.from_table(table, ["kind", "kind"], drop="sort")
    with pytest.raises(InputError, match="there is no column 'sorts' for target"):
        PrisMap.from_table(table, ["kind", "sorts"])


def test_the_joint_score_is_the_mean_over_chance():
    def score(value, chance, permuted):
        null = NullResult(permuted, chance)
        return TargetScore("e", Estimate(value, 0.1), chance, unsupervised=Estimate(2 * value, 0.1), permuted=null)

    joint = joint_score([score(0.1, 0.5, (0.5, 0.6)), score(0.4, 2.0, (2.0, 1.0))])
    assert float(joint.value) == pytest.approx(0.2)
    assert joint.value.spread == pytest.approx((0.2 + 0.05) / 2)
    assert float(joint.unsupervised) == pytest.approx(0.4)
    assert joint.permuted.values == pytest.approx((1.0, 0.85))
    assert joint.in_sample is None
