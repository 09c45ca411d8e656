"""Statements: what they are, what reports make of their figures, and that all of it is documented."""

import ast
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

import prismap
from prismap import PrisMap, judge
from prismap.exceptions import InputError
from prismap.quality import MapReport, Statement, r_nx
from prismap.quality._cluster_report import Cluster, MapClusters
from prismap.quality._estimates import Estimate
from prismap.quality._null import NullResult
from prismap.quality._report_text import LINES, WIDTH, without_reason
from prismap.quality._scores import TargetScore

ROOT = Path(__file__).parents[2]
SOURCE = Path(prismap.__file__).parent
SCHEMA = json.loads((ROOT / "docs" / "statements.schema.json").read_text(encoding="utf-8"))
QUESTIONS = ["target_shows", "map_exaggerates", "target_needed"]


def estimate(value, n=400):
    return Estimate(value, np.sqrt(value * (1 - value) / n))


def report(error=0.1, chance=0.5, n=400, **more):
    null = NullResult((chance, chance), chance)
    scores = {"in_sample": estimate(error, n), "unsupervised": estimate(min(2 * error, chance), n)}
    score = TargetScore("10-NN error", estimate(error, n), chance, permuted=null, permuted_in_sample=null, **scores)
    return MapReport(**{"target": "class", "n_fitted": 1000, "n_judged": n, "scores": (score,), **more})


def answers(report):
    return [one.answer for one in report.statements if one.id in QUESTIONS]


# --- the schema -------------------------------------------------------------------------------------------------------

KINDS = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "null": type(None)}


def offences(value, schema, where="report"):
    """What a value breaks of a JSON schema, as far as ours uses the language."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
    unknown = set(schema) - {
        "$schema", "$id", "$defs", "title", "description", "type", "required", "properties", "additionalProperties",
        "items", "enum", "const", "pattern", "minLength", "minimum",
    }  # fmt: skip
    assert not unknown, unknown
    kinds = [schema["type"]] if isinstance(schema.get("type"), str) else schema.get("type")
    if kinds and (isinstance(value, bool) or not any(isinstance(value, KINDS[kind]) for kind in kinds)):
        return [f"{where} is {value!r}, and no {' or '.join(kinds)}"]
    found = [f"{where} is {value!r}"] if value not in schema.get("enum", [value]) else []
    found += [f"{where} is {value!r}"] if schema.get("const", value) != value else []
    if isinstance(value, str):
        found += [f"{where} is {value!r}"] if not re.search(schema.get("pattern", ""), value) else []
        found += [f"{where} is empty"] if len(value) < schema.get("minLength", 0) else []
    if isinstance(value, int | float) and value < schema.get("minimum", -np.inf):
        found.append(f"{where} is {value}")
    if isinstance(value, dict):
        found += [f"{where} has no {key}" for key in schema.get("required", ()) if key not in value]
        others = schema.get("additionalProperties", True)
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, others)
            found += [f"{where} has {key}"] if inner is False else []
            found += offences(item, inner, f"{where}.{key}") if isinstance(inner, dict) else []
    if isinstance(value, list):
        for k, item in enumerate(value):
            found += offences(item, schema.get("items", {}), f"{where}[{k}]")
    return found


@pytest.fixture(scope="module")
def real_reports():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 5)), np.repeat(list("abc"), 30)
    X[:, 0] += 3.0 * (y == "a")
    quick = {"n_permutations": 1, "budget": "quick"}
    return {
        "classes": PrisMap("mds", perplexity=10, random_state=0).fit(X, y).report(n_permutations=1),
        "numbers": PrisMap("mds", perplexity=10, random_state=0).fit(X, X[:, 0] + rng.normal(size=90)).report(**quick),
        "no target": PrisMap("mds", perplexity=10, random_state=0).fit(X).report(**quick),
        "three rows": PrisMap("mds", perplexity=1, random_state=0).fit(X[:3], y[[0, 40, 1]]).report(),
        "several": PrisMap("mds", perplexity=10, random_state=0).fit(X, {"kind": y, "size": X[:, 1]}).report(**quick),
        "coordinates": judge(X, X[:, :2], y),
    }


def test_real_reports_are_what_the_schema_says(real_reports):
    assert SCHEMA["$id"] == "prismap-statements-1"
    for name, made in real_reports.items():
        stored = json.loads(json.dumps(made.to_dict(), allow_nan=False))
        assert offences(stored, SCHEMA) == [], name
        assert MapReport.from_dict(stored).statements == made.statements, name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"answer": "maybe"}, ".answer is 'maybe'"),
        ({"level": "loud"}, ".level is 'loud'"),
        ({"id": "Target shows"}, ".id is 'Target shows'"),
        ({"n_rows": "400"}, ".n_rows is '400', and no integer or null"),
        ({"n_rows": -1}, ".n_rows is -1"),
        ({"figures": {"error": {"value": 0.1}}}, ".figures.error has no standard_error"),
        ({"unit": ""}, ".unit is empty"),
        ({"tone": "good"}, " has tone"),
    ],
)
def test_the_schema_refuses_what_is_none(change, words):
    stored = report().to_dict()
    stored["statements"][0] |= change
    assert offences(stored, SCHEMA) == [f"report.statements[0]{words}"]
    assert offences({**report().to_dict(), "schema": "other"}, SCHEMA) == ["report.schema is 'other'"]


def test_every_id_is_on_its_page_and_nothing_else_is():
    stated = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Statement":
                ids = node.args[0].value if isinstance(node.args[0], ast.Subscript) else node.args[0]
                parts = ids.values if isinstance(ids, ast.Dict) else ast.walk(ids)  # one of some by a key or a test
                stated |= {one.value for one in parts if isinstance(one, ast.Constant)}
    page = (ROOT / "docs" / "statements.md").read_text(encoding="utf-8").partition("## The three answers")[2]
    tables = page.partition("## In a file")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", tables, re.MULTILINE)) == stated


def test_figures_of_real_reports_are_on_the_page(real_reports):
    page = (ROOT / "docs" / "statements.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.MULTILINE))
    for made in real_reports.values():
        for one in made.statements:
            if one.id == "target_weights":
                continue
            assert [name for name in one.figures if f"`{name}`" not in rows[one.id]] == [], one.id
            assert one.level != "detail" or one.answer is None or one.answer in rows[one.id], one.id


# --- statements -------------------------------------------------------------------------------------------------------


def test_a_statement_survives_json():
    one = Statement(
        "some_id", "Words.", "warning", "in part", {"a": Estimate(0.5, 0.1), "b": 3}, "what", ("x",), 4, 2, "patient"
    )
    back = Statement.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False)))
    assert back.to_dict() == one.to_dict()
    assert (back.figures["a"].spread, str(back)) == (0.1, "Words.")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"id": "No Id"}, "id must be a name in snake_case; got 'No Id'"),
        ({"level": "loud"}, "level must be one of warning, headline, detail; got 'loud'"),
        ({"answer": "maybe"}, "answer must be one of yes, in part, no, cannot tell, or None; got 'maybe'"),
    ],
)
def test_bad_statements_are_refused(change, words):
    with pytest.raises(InputError, match=re.escape(words)):
        Statement(**{"id": "fine", "words": "Words.", **change})


def test_warnings_come_first_then_three_answers(real_reports):
    leak = Statement("leaking_column", "A column is a copy.", "warning")
    made = report(findings=(Statement("cluster_columns", "A detail."), leak), rare=("odd",))
    assert [one.id for one in made.statements[:5]] == ["leaking_column", "classes_not_judged", *QUESTIONS]
    assert made.verdict.startswith("A column is a copy. Classes with fewer")
    for name, found in real_reports.items():
        levels = [one.level for one in found.statements]
        assert levels == sorted(levels, key=["warning", "headline", "detail"].index), name
        headlines = [one.id for one in found.statements if one.level == "headline"]
        assert headlines == QUESTIONS or name == "no target"
    assert set(headlines := [one.id for one in real_reports["no target"].statements if one.level == "headline"])
    assert "neighborhoods_kept" in headlines


@pytest.mark.parametrize("n_warnings", [0, 1, 2, 3, 9])
def test_a_report_fits_on_twelve_lines(real_reports, n_warnings):
    long = "Column 'a name that is rather long' alone gives 0.0 % error: is it a copy of the target? Then leave it out."
    alarms = tuple(Statement("leaking_column", long, "warning") for _ in range(n_warnings))
    for made in real_reports.values():
        lines = str(replace(made, findings=alarms)).splitlines()
        assert len(lines) <= LINES
        assert max(map(len, lines)) <= WIDTH + 1
        assert lines[1].startswith("warning") or not n_warnings
        text = " ".join(" ".join(lines).split())
        answers = [one for one in made.statements if one.level == "headline"]
        for place, one in enumerate(answers):
            kept = one if not (place and n_warnings) else without_reason(one)
            assert kept.words.removeprefix("Cannot tell ").removesuffix(".") in text


def test_reasons_go_before_warnings(real_reports):
    long = f"Rows of one 'patient' are alike: {'480 rows are 60 patients and are judged by them. ' * 4}"
    made = replace(real_reports["classes"], findings=(Statement("rows_depend", long.strip(), "warning"),))
    text = " ".join(str(made).split())
    assert made.findings[0].words in text
    assert "The map does not exaggerate." in text


# --- the answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "n", "answer"),
    [
        (0.05, 400, "yes"), (0.3, 400, "in part"), (0.5, 400, "no"), (0.43, 400, "cannot tell"),
        (0.5, 40, "cannot tell"), (0.25, 12, "cannot tell"), (0.02, 40, "yes"),
    ],
)  # fmt: skip
def test_no_is_said_only_where_a_visible_relation_is_excluded(error, n, answer):
    made = report(error, n=n)
    assert made.statement("target_shows").answer == answer
    assert made.target_shows == {"yes": True, "in part": True, "no": False, "cannot tell": None}[answer]


def test_few_units_cannot_tell_whatever_the_figure():
    patients = {"n_units": 6, "unit": "patient", "fewest_units": 3}
    made = report(0.01, **patients)
    assert answers(made) == ["cannot tell"] * 3
    few = "Cannot tell from 3 patients of a class"
    assert all(one.words.startswith(few) for one in made.statements if one.id in QUESTIONS)
    assert (made.target_shows, made.overstates) == (None, None)
    shows = report(0.01, **{**patients, "n_units": 40, "fewest_units": 18}).statement("target_shows")
    assert (shows.answer, shows.n_rows, shows.n_units, shows.unit) == ("yes", 400, 40, "patient")
    assert "(400 held-out rows of 40 patients)" in shows.words


def test_units_and_not_rows_are_counted_at_chance():
    assert report(0.3).statement("target_shows").answer == "in part"
    assert report(0.3, n_units=30, unit="patient", fewest_units=15).statement("target_shows").answer == "cannot tell"


def test_what_was_not_judged_is_open():
    made = MapReport("class", 12, unjudged="12 rows have a target, and at least 15 are needed.")
    assert answers(made) == ["cannot tell"] * 3
    assert MapReport.from_dict(made.to_dict()).to_dict() == made.to_dict()


def test_three_rows_have_no_neighbourhoods_to_keep():
    X = np.random.default_rng(0).normal(size=(30, 3))
    for n, answer in ((3, "cannot tell"), (30, "yes")):
        stated = MapReport("none", n, structure={"map": r_nx(X[:n], X[:n])}).statement("neighborhoods_kept")
        assert stated.answer == answer
        assert ("very well" in stated.words) == (n == 30)


@pytest.mark.parametrize(
    ("groups", "supervised", "answer"),
    [
        ([], False, "no"),
        ([(9.0, 1.0, 9.0)] * 3, False, "yes"),
        ([(9.0, 1.0, 9.0)] * 3, True, "yes"),
        ([(9.0, 1.0, 9.0), (9.0, 0.5, 9.0)], True, "in part"),
        ([(1.2, 1.0, 9.0)] * 2, False, "no"),
        ([(9.0, 1.0, 1.0)] * 2, True, "no"),
        ([(9.0, 1.0, np.nan)] * 2, True, "cannot tell"),  # no map without the target
        ([(1.2, 1.0, np.nan)] * 2, True, "no"),
    ],
)
def test_groups_are_clusters_only_if_neither_chance_nor_the_target_made_them(groups, supervised, answer):
    clusters = tuple(
        Cluster(0.3, (0.0, 0.0), gap, there=there, gap_unsupervised=without) for gap, there, without in groups
    )
    found = MapClusters(clusters, 2, (1.2, 1.3, 1.4), 0.0, supervised)
    stated = report(clusters=found).statement("clusters")
    assert stated.answer == answer
    assert (stated.figures["groups"], stated.figures["readable"]) == (len(groups), len(found.readable))
    few = report(clusters=found, n_fitted=12).statement("clusters")
    assert few.answer == "cannot tell"


def test_a_posterior_that_knows_more_than_the_map_is_stated():
    knows = report(0.36, measures={"posterior error": estimate(0.25)}).statement("features_know_more")
    assert "errs in 25.0 ± 2.2 % of the rows" in knows.words
    for posterior, n in ((0.34, 400), (0.25, 30), (0.3, 10**6)):  # little, unproven, and certain but little
        small = report(0.36, n=n, measures={"posterior error": estimate(posterior, n)})
        assert small.statement("features_know_more") is None
    assert "in these data" not in report(0.36).verdict


def test_the_error_of_the_posterior_is_out_of_fold():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), np.array(list("ab"))[rng.integers(0, 2, 80)]
    X[:, 0] += 2 * (y == "b")
    model = PrisMap("mds", supervision=0.8, perplexity=10, random_state=0).fit(X, y)
    error = model.report(n_permutations=1, budget="quick").measures["posterior error"]
    expected = model.classes_[model.metric_.class_probabilities().argmax(axis=1)] != y
    assert float(error) == expected.mean() > 0
    assert error.spread == pytest.approx(expected.std(ddof=1) / np.sqrt(80))


# --- coordinates alone ------------------------------------------------------------------------------------------------


def test_coordinates_that_were_given_the_labels_do_not_show_them_in_the_data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 60)), rng.integers(0, 3, 120)
    made = judge(X, LinearDiscriminantAnalysis().fit_transform(X, y), y)
    shows = made.statement("target_shows")
    assert shows.figures["error"] < 0.3 < 0.5 < shows.figures["error_in_data"]
    assert (shows.answer, made.target_shows) == ("cannot tell", None)
    assert "in the data" in shows.words
    assert "in these data" not in made.verdict
    assert "it may have been given the target" in made.statement("map_exaggerates").words


def test_the_weaker_of_map_and_data_is_the_answer():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 8)) + 0.8 * y[:, None] * (np.arange(8) < 2)
    good, made = rng.normal(size=(300, 2)) + 9 * y[:, None], {}
    made = {name: judge(X, Y, y).statement("target_shows") for name, Y in (("made up", good), ("pca", X[:, :2]))}
    assert made["made up"].figures["error"] == 0
    assert {name: one.answer for name, one in made.items()} == {"made up": "in part", "pca": "in part"}
    assert "among neighbours in the data they show" in made["made up"].words
    clear = judge(X + 5 * y[:, None], PCA(2).fit_transform(X + 5 * y[:, None]), y)
    assert clear.statement("target_shows").answer == "yes"
    assert "given the target" not in clear.statement("map_exaggerates").words


def test_neighbours_in_the_data_are_those_of_all_rows_and_of_distances():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 2, 60)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    by_rows, by_distances = judge(X, X[:, :2], y), judge(D, X[:, :2], y, metric="precomputed")
    expected = prismap.quality.knn_error(X, y, n_neighbors=10)
    for made in (by_rows, by_distances):
        assert float(made.scores[0].in_data) == pytest.approx(float(expected))
    y = y.astype(object)
    y[:9] = None
    assert judge(X, X[:, :2], y).scores[0].in_data == pytest.approx(
        float(prismap.quality.knn_error(X[9:], y[9:].astype(int), n_neighbors=10))
    )
