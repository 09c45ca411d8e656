"""The self-contained page as text: complete, safe, and nothing half-written."""

import base64
import gzip
import hashlib
import html
import re

import numpy as np
import pytest

from prismap.exceptions import InputError
from prismap.page import Layer, PageData, Target, write_html
from prismap.page import _document as page_module
from prismap.page._data import Curve, Neighbors, Raster, Relevance
from prismap.page._document import page_script, render_html
from prismap.page._message import pack_page
from prismap.page._packing import unpack

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def small_page(**changes):
    positions = np.random.default_rng(0).normal(size=(5, 2))
    fields = {
        "layers": [Layer("fisher", "Fisher", positions), Layer("permuted", "Permuted", positions[::-1])],
        "title": "five rows",
        "target": Target("class", "kind", ["a", "b"], codes=[0, 1, -1, 0, 1]),
        "columns": {"size": np.arange(5.0), "city": ["Ulm", "Bonn", None, "Ulm", "Ulm"]},
    }
    return PageData(**{**fields, **changes})


def embedded(text):
    data = re.search(r'id="prismap-data">([^<]*)</script>', text)[1]
    return unpack(gzip.decompress(base64.b64decode(data)))


def test_a_page_holds_its_data():
    page = small_page(
        far=[0, 0, 1, 0, 0],
        quality=np.linspace(0, 1, 5),
        split=["fitted"] * 4 + ["mapped"],
        report={"verdict": "fine", "auc": np.float64(0.4), "bad": float("nan")},
        curves=[("map", [1, 2], [0.1, 0.2]), Curve("other", [1, 2], [0.3, 0.4])],
        images=np.zeros((5, 2, 3), np.uint8),
        raster=Raster(np.zeros((4, 4, 4), np.uint8), (0, 1, 0, 1), "model"),
        relevance=Relevance(["size"], [0.7]),
        row_ids=[10, 11, 12, 13, 14],
        misshown=[True, False, False, False, False],
    )
    header, arrays = embedded(render_html(page))
    np.testing.assert_allclose(arrays[header["layers"][0]["positions"]["offset"]], page.layers[0].positions, rtol=1e-6)
    assert arrays[header["target"]["codes"]["offset"]].tolist() == [0, 1, -1, 0, 1]
    assert arrays[header["far"]["offset"]].tolist() == [0, 0, 1, 0, 0]
    assert header["split"]["texts"] == ["fitted", "mapped"]
    assert header["columns"][1]["texts"] == ["Bonn", "Ulm"]
    assert arrays[header["columns"][1]["codes"]["offset"]].tolist() == [1, 0, -1, 1, 1]
    assert header["report"] == {"verdict": "fine", "auc": 0.4, "bad": None}
    assert [curve["label"] for curve in header["curves"]] == ["map", "other"]
    assert header["raster"]["layer"] == "fisher"
    assert header["images"]["shape"] == [5, 2, 3]
    assert header["ids"] == ["10", "11", "12", "13", "14"]


def test_script_in_any_name_stays_text():
    page = small_page(
        title=EVIL,
        target=Target("class", EVIL, [EVIL, "b"], codes=[0, 1, -1, 0, 1]),
        columns={EVIL: [EVIL] * 5},
        report={"verdict": EVIL, EVIL: EVIL},
        row_ids=[EVIL] * 5,
    )
    text = render_html(page)
    assert EVIL not in text
    assert text.count("</script>") == 2
    assert text.count("<script") == 2 + page_script().count("<script")
    assert f"<title>{html.escape(EVIL)}</title>" in text
    assert embedded(text)[0]["target"]["classes"][0] == EVIL


def test_policy_allows_our_script_and_no_connection():
    text = render_html(small_page())
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == rules["connect-src"] == rules["form-action"] == "'none'"
    script = re.search(r'<script type="module">(.*)</script>', text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert rules["script-src"] == f"'sha256-{digest}' 'unsafe-eval'"
    assert not re.search(r"https?://(?!www\.w3\.org/)[\w.-]+/[\w./-]+\.(js|css|woff2?)", text)


def test_the_built_script_can_stand_inside_a_page():
    script = page_script()
    assert "</script" not in script.lower()
    assert "<!--" not in script
    assert "\r" not in script


def test_same_data_same_page():
    assert render_html(small_page()) == render_html(small_page())


def test_columns_beyond_the_budget_are_left_out_and_counted():
    header, _ = unpack(pack_page(small_page(left_out=3), column_bytes=10))
    assert [column["name"] for column in header["columns"]] == ["size"]
    assert header["columns_left_out"] == 4


def test_the_most_relevant_columns_have_room_first_and_keep_their_order():
    columns = {name: np.arange(5) for name in "abcd"}
    relevance = Relevance(["b", "d", "a"], [0.1, np.nan, 0.3], 0.0, 0.0, 0.2)
    header, _ = unpack(pack_page(small_page(columns=columns, relevance=relevance), column_bytes=10))
    assert [column["name"] for column in header["columns"]] == ["a", "b"]
    assert header["columns_left_out"] == 2


def test_images_beyond_the_budget_are_left_out_with_a_note():
    header, _ = unpack(pack_page(small_page(images=np.zeros((5, 2, 3), np.uint8)), image_bytes=10))
    assert "images" not in header
    assert "left out" in header["notes"][0]


def test_columns_keep_their_kind_when_values_are_missing():
    times = np.array(["2024-05-01", "NaT", "2024-05-02", "2024-05-01", "NaT"], dtype="datetime64[D]")
    page = small_page(columns={"age": [3, None, 5.5, float("nan"), True], "day": times, "empty": [None] * 5})
    header, arrays = unpack(pack_page(page))
    age, day, empty = header["columns"]
    np.testing.assert_array_equal(arrays[age["values"]["offset"]], np.array([3, np.nan, 5.5, np.nan, 1], np.float32))
    assert day["unit"] == "date"
    np.testing.assert_array_equal(arrays[day["values"]["offset"]], [19844, np.nan, 19845, 19844, np.nan])
    assert empty["kind"] == "number"


def test_real_targets_and_huge_values_fit():
    target = Target("real", "price", values=[1.0, np.nan, 1e300, 2, 3], predicted=np.arange(5.0))
    header, arrays = unpack(pack_page(small_page(target=target)))
    values = arrays[header["target"]["values"]["offset"]]
    assert np.isnan(values[1])
    assert np.isinf(values[2])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"layers": []}, "layers of PageData is empty"),
        ({"layers": [Layer("a", "A", np.zeros((5, 3)))]}, r"positions of layer 'a' must be \(5, 2\)"),
        (
            {"layers": [Layer("a", "A", np.zeros((5, 2)), own=Target("real", values=np.zeros(5)))]},
            "own of layer 'a' must be a target of kind 'class' with 5 entries. Got kind 'real'",
        ),
        (
            {"layers": [Layer("a", "A", np.zeros((5, 2)), own=Target("class", codes=[0, 1, 2, 0, 0]))]},
            r"must lie in -1 .. 1, one per class. Got 0 to 2",
        ),
        (
            {"neighbors": Neighbors(np.arange(9), np.zeros((9, 2), int))},
            "neighbors of PageData must name rows from 0 to 4",
        ),
        ({"neighbors": Neighbors(np.arange(5), np.full((5, 2), 5))}, "places among these rows"),
        ({"neighbors": Neighbors(np.arange(5), np.ones((5, 2), int), distances=np.ones(5))}, "distances of neighbors"),
        ({"far": [True]}, r"far of PageData must have one entry for each of the 5 rows. Got \(1,\)"),
        ({"columns": {"c": [1, 2]}}, r"columns\['c'\] of PageData"),
        (
            {"target": Target("class", "y", ["a"], codes=[0, 1, 0, 0, 0])},
            r"must lie in -1 .. 0, one per class. Got 0 to 1",
        ),
        ({"images": np.zeros((5, 2, 2))}, "images of PageData must be uint8"),
    ],
)
def test_wrong_shapes_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        render_html(small_page(**changes))


def test_write_html_leaves_the_old_file_when_it_fails(tmp_path, monkeypatch):
    path = tmp_path / "map.html"
    assert write_html(small_page(), path) == path
    before = path.read_text()
    monkeypatch.setattr(page_module.Path, "write_text", lambda *_, **__: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_html(small_page(title="new"), path)
    assert path.read_text() == before
    assert [file.name for file in tmp_path.iterdir()] == ["map.html"]
