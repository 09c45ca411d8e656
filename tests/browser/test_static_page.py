"""What a user does with map.html, in a real browser, from a file."""

import csv
import io
import re

import numpy as np
import pytest
from playwright.sync_api import expect
from sklearn.neighbors import NearestNeighbors

from browser.accessibility import breaches
from browser.examples import BROWSER, CENTRES, EVIL, three_groups, with_model
from browser.hands import count, lasso, on_screen, point_at, wait_for_map
from prismap.page import Layer, PageData, Target, write_html
from prismap.page._data import Neighbors, Relevance

pytestmark = BROWSER


@pytest.fixture
def laptop(tab):
    before = tab.viewport_size
    tab.set_viewport_size({"width": 1366, "height": 768})
    yield
    tab.set_viewport_size(before)


def test_first_view_shows_map_verdict_figures_and_curves(laptop, show, keep):
    page = show(three_groups())
    expect(page.get_by_role("heading", name="Three groups")).to_be_visible()
    expect(page.locator(".pm-answer").first).to_have_text(
        re.compile(r"^Does the target show\?yes The labels show clearly")
    )
    expect(page.get_by_role("heading", name="1-NN error")).to_be_visible()
    page.get_by_text("More figures").click()
    expect(page.get_by_role("img", name="R N X curves")).to_be_visible()
    expect(page.get_by_text("1 far from the data")).to_be_visible()
    page.wait_for_function(
        """() => { const c = document.querySelector('.pm-canvas'); const p = document.createElement('canvas');
        [p.width, p.height] = [c.width, c.height]; const pen = p.getContext('2d'); pen.drawImage(c, 0, 0);
        const d = pen.getImageData(0, 0, p.width, p.height).data; let n = 0;
        for (let i = 0; i < d.length; i += 4) {
          const rgb = [d[i], d[i+1], d[i+2]];
          if (d[i+3] > 0 && Math.max(...rgb) - Math.min(...rgb) > 40) n++;
        }
        return n > 1000; }"""
    )
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    keep("static-first-view")


def test_the_supervision_that_was_tried_is_drawn_and_the_one_taken_marked(show, keep):
    data = three_groups()
    keys = ("posterior", "supervision", "score", "map_score", "neighbors_kept", "taken")
    tried = [
        ("none", 0.0, 0.81, 0.78, 1.0, False), ("lssvm", 0.8, 0.93, 0.92, 0.7, True),
        ("lssvm", 0.95, 0.94, 0.93, 0.5, False), ("lssvm", 0.99, 0.94, None, 0.3, False),
        ("trees", 0.8, 0.85, None, 0.6, False),
    ]  # fmt: skip
    curve = [dict(zip(keys, values, strict=True)) for values in tried]
    page = show(three_groups(report={**data.report, "supervision_curve": curve}))
    page.get_by_text("More figures").click()
    chart = page.get_by_role("img", name="How much the target counts.")
    expect(chart).to_have_accessible_name(
        re.compile("0.8 with lssvm: predicted 93 %, on a quick map 92 %, neighbours kept 70 %, taken")
    )
    expect(chart.locator("path")).to_have_count(4)
    expect(chart.locator("circle")).to_have_count(3)
    expect(chart.locator(".pm-taken")).to_have_count(1)
    taken = chart.get_by_text("taken").get_attribute("x")
    assert float(taken) == float(chart.get_by_text("0.8", exact=True).get_attribute("x"))
    chart.scroll_into_view_if_needed()
    keep("static-supervision")


def test_hover_tells_a_rows_values(show, keep):
    data = three_groups()
    page = show(data)
    point_at(page, 4, data)
    card = page.locator(".pm-card")
    expect(card).to_contain_text("item-004")
    expect(card).to_contain_text("far from all fitted rows")
    expect(card).to_contain_text("height")
    keep("static-hover")


def test_legend_filters_and_undo_brings_back(show):
    page = show(three_groups())
    page.get_by_role("button", name="a 30").click()
    expect(page.locator(".pm-status")).to_have_text("60 of 90 rows shown.")
    page.get_by_role("button", name="Show only c").click()
    expect(page.locator(".pm-status")).to_have_text("30 of 90 rows shown.")
    lasso(page)
    expect(count(page)).to_have_text("30 rows")
    page.keyboard.press("Escape")
    for _ in range(4):
        page.keyboard.press("Control+z")
    expect(page.locator(".pm-status")).to_have_text("")
    page.keyboard.press("Control+y")
    expect(page.locator(".pm-status")).to_have_text("60 of 90 rows shown.")


def test_lasso_counts_mixes_explains_and_exports(show, keep):
    data = three_groups()
    page = show(data)
    lasso(page, on_screen(page, CENTRES[2], data), 0.25)
    expect(count(page)).to_have_text("30 rows")
    expect(page.get_by_role("tab", name="Selection 30")).to_have_attribute("aria-selected", "true")
    expect(page.locator(".pm-mix li")).to_have_text(re.compile(r"^c100 %"))
    expect(page.locator(".pm-diffs li").first).to_contain_text(re.compile("height|city = Kiel"))
    expect(page.locator(".pm-table tbody tr")).to_have_count(30)
    order = np.arange(2, 90, 3)[np.argsort(data.columns["height"][2::3])]
    first = page.locator(".pm-table tbody tr").first
    page.locator(".pm-sort", has_text="height").click()
    expect(first).to_contain_text(f"item-{order[0]:03d}")
    page.locator(".pm-sort", has_text="height").click()
    expect(first).to_contain_text(f"item-{order[-1]:03d}")
    expect(page.locator("th[aria-sort=descending]")).to_have_text("height ↓")
    keep("static-selection")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export csv").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_bytes().decode("utf-8"))))
    assert [row["row"] for row in rows] == [f"item-{i:03d}" for i in range(2, 90, 3)]
    assert {row["group"] for row in rows} == {"c"}
    np.testing.assert_allclose([float(row["x"]) for row in rows], data.layers[0].positions[2::3, 0], rtol=1e-5)
    page.get_by_role("button", name="Invert").click()
    expect(count(page)).to_have_text("60 rows")
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_text("Nothing selected")).to_be_visible()


def test_box_adds_and_takes_away(show):
    data = three_groups()
    page = show(data)

    def box(group, key=None):
        x, y = on_screen(page, CENTRES[group], data)
        if key:
            page.keyboard.down(key)
        page.mouse.move(x - 70, y - 70)
        page.mouse.down()
        for step in (40, 90, 140):
            page.mouse.move(x - 70 + step, y - 70 + step)
            page.wait_for_timeout(25)
        page.mouse.up()
        if key:
            page.keyboard.up(key)

    page.keyboard.press("b")
    box(0)
    expect(count(page)).to_have_text("30 rows")
    box(1, "Control")
    expect(count(page)).to_have_text("60 rows")
    box(0, "Alt")
    expect(count(page)).to_have_text("30 rows")
    expect(page.locator(".pm-mix li")).to_have_text(re.compile("^b"))


def test_click_selects_and_empty_click_clears(show):
    data = three_groups()
    page = show(data)
    point_at(page, 7, data)
    expect(page.locator(".pm-card")).to_be_visible()
    page.mouse.down()
    page.mouse.up()
    expect(count(page)).to_have_text(re.compile("item-"))
    page.mouse.click(*on_screen(page, np.array([0.0, 4.0]), data))
    expect(page.get_by_text("Nothing selected")).to_be_visible()


def test_layers_switch_and_say_what_they_are(show, keep):
    page = show(three_groups())
    page.get_by_role("radio", name="Permuted labels").click()
    expect(page.locator(".pm-about")).to_contain_text("invented, not found")
    expect(page.get_by_role("radio", name="Permuted labels")).to_have_attribute("aria-checked", "true")
    wait_for_map(page)
    lasso(page)
    expect(count(page)).to_have_text(re.compile(r"^[678]\d rows$"))
    keep("static-permuted")


def test_the_permuted_map_is_coloured_by_its_own_labels_first(show, keep):
    codes = np.arange(90) % 3
    own = Target("class", "shuffled labels", codes=np.random.default_rng(1).permutation(codes))
    positions = three_groups().layers[0].positions
    layers = [
        Layer("map", "map", positions),
        Layer("permuted", "permuted target", positions[::-1], "true colours", own, "shuffled colours"),
    ]
    page = show(three_groups(layers=layers))
    labels = page.get_by_role("radiogroup", name="Which labels")
    expect(labels).to_be_hidden()
    page.get_by_role("radio", name="permuted target").click()
    expect(page.locator(".pm-about")).to_have_text("shuffled colours")
    expect(labels.get_by_role("radio", name="shuffled labels")).to_have_attribute("aria-checked", "true")
    wait_for_map(page)
    point_at(page, 88, three_groups(layers=layers[1:]))
    names = ["a", "b", "c"]
    expect(page.locator(".pm-card .pm-facts")).to_contain_text(f"shuffled labels{names[own.codes[88]]}")
    keep("static-permuted-own")
    swatch = "getComputedStyle(document.querySelector('.pm-card .pm-swatch')).backgroundColor"
    shuffled = page.evaluate(swatch)
    assert own.codes[88] != codes[88]
    labels.get_by_role("radio", name="shuffled labels").press("ArrowRight")
    expect(labels.get_by_role("radio", name="true group")).to_be_focused()
    expect(page.locator(".pm-about")).to_have_text("true colours")
    point_at(page, 85, three_groups(layers=layers[1:]))
    point_at(page, 88, three_groups(layers=layers[1:]))
    page.wait_for_function(f"{swatch} !== '{shuffled}'")
    page.wait_for_function("location.hash.includes('own=0')")
    page.get_by_label("Colour by", exact=True).select_option("column:0")
    expect(labels).to_be_hidden()


def test_colour_by_a_column_with_a_range(show, keep):
    page = show(three_groups())
    page.get_by_role("tab", name="Features").click()
    page.get_by_role("button", name="height").click()
    expect(page.get_by_label("Colour by", exact=True)).to_have_value("column:0")
    slider = page.get_by_role("slider", name=re.compile("^From"))
    slider.focus()
    page.keyboard.press("PageUp")
    page.keyboard.press("PageUp")
    expect(slider).to_be_focused()
    expect(page.locator(".pm-status")).to_contain_text("of 90 rows shown")
    page.get_by_label("Light or dark").click()
    wait_for_map(page)
    keep("static-feature-dark")
    page.get_by_label("Colour by", exact=True).select_option("column:2")
    expect(page.locator(".pm-entry")).to_have_count(3)
    expect(page.locator(".pm-status")).to_have_text("")


def test_features_stand_beside_shuffled_ones(show, keep):
    columns = {f"c{i}": np.arange(90) % (i + 2) for i in range(20)}
    values = np.linspace(0.2, 0.01, 20)
    data = three_groups(columns=columns, relevance=Relevance(list(columns), values, 0.1, 0.02, 0.125), left_out=764)
    page = show(data)
    expect(page.locator(".pm-sub")).to_have_text("90 rows · 20 of 784 columns")
    page.get_by_role("tab", name="Features").click()
    expect(page.get_by_text("Shuffled columns reach 10 % ± 2 ")).to_be_visible()
    expect(page.locator(".pm-feature-list .pm-bar-none")).to_have_count(int((values <= 0.125).sum()))
    expect(page.get_by_text("764 of 784 columns did not fit into this page")).to_be_visible()
    keep("static-features")
    page.get_by_label("Find a column").fill("c19")
    expect(page.locator(".pm-feature-list li")).to_have_count(1)
    expect(page.get_by_label("Find a column")).to_be_focused()
    page.get_by_role("button", name="c19").click()
    expect(page.get_by_label("Colour by", exact=True)).to_have_value("column:19")


def test_years_dates_and_decimals_are_written_as_people_do(show):
    columns = {
        "year": np.full(90, 2042), "day": np.datetime64("2024-05-01") + np.arange(90),
        "price": np.full(90, 5.1), "at": np.datetime64("2024-05-01T13:45:00") + np.arange(90),
    }  # fmt: skip
    data = three_groups(columns=columns, relevance=None)
    page = show(data)
    point_at(page, 4, data)
    for words in ("year2042", "day2024-05-05", "price5.1", "at2024-05-01 13:45:04"):
        expect(page.locator(".pm-card .pm-values")).to_contain_text(words)
    page.get_by_label("Colour by", exact=True).select_option("column:1")
    expect(page.locator(".pm-ramp-ends")).to_have_text("2024-05-012024-07-29")
    page.get_by_label("Search rows").fill("day <= 2024-05-03")
    page.keyboard.press("Enter")
    expect(count(page)).to_have_text("3 rows")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export csv").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_bytes().decode("utf-8"))))
    assert [row["day"] for row in rows] == ["2024-05-01", "2024-05-02", "2024-05-03"]
    assert (rows[0]["price"], rows[0]["year"], rows[0]["at"]) == ("5.1", "2042", "2024-05-01 13:45:00")
    assert len(rows[0]["x"]) < 13


def test_a_rows_neighbours_are_listed_and_joined_by_lines(show, keep):
    data = three_groups()
    rows = np.arange(60)
    nearest = NearestNeighbors(n_neighbors=5).fit(data.layers[0].positions[:60]).kneighbors(return_distance=False)
    elsewhere = (nearest + 1) % 60  # the next row is of the next group: far on the map
    page = show(three_groups(neighbors=Neighbors(rows, elsewhere, nearest)))
    ink = """() => { const c = document.querySelector('.pm-overlay');
        const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;
        for (let i = 3; i < d.length; i += 4) if (d[i] > 0) n++;
        return n; }"""
    wait_for_map(page)
    before = page.evaluate(ink)
    page.get_by_label("Search rows").fill("item-004")
    page.keyboard.press("Enter")
    listed = page.locator(".pm-nearest-list li")
    expect(listed).to_have_count(5)
    expect(page.locator(".pm-torn")).to_have_count(5)
    expect(page.get_by_text("0 of these 5 are among its 5 nearest on this map")).to_be_visible()
    page.keyboard.press("0")
    page.wait_for_function(f"({ink})() > {before + 500}")
    keep("static-neighbours")
    page.get_by_role("button", name="in the metric").click()
    expect(page.locator(".pm-torn")).to_have_count(0)
    expect(page.get_by_role("button", name="in the metric")).to_be_focused()
    expect(listed).to_contain_text([f"item-{row:03d}" for row in nearest[4]])
    page.get_by_role("button", name="on the map").click()
    expect(listed).to_contain_text([f"item-{row:03d}" for row in nearest[4]])
    assert breaches(page) == []
    listed.first.get_by_role("button").click()
    expect(count(page)).to_have_text(f"item-{nearest[4][0]:03d}")
    page.get_by_label("Search rows").fill("item-080")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This row was placed on the map")).to_be_visible()


def test_search_by_word_and_by_comparison(show):
    page = show(three_groups())
    page.keyboard.press("/")
    page.keyboard.type("item-01")
    expect(page.get_by_role("button", name="Select all 10 rows")).to_be_visible()
    page.keyboard.press("Enter")
    expect(count(page)).to_have_text("10 rows")
    search = page.get_by_label("Search rows")
    search.fill("height > 1 and group = c or row 0")
    expect(page.get_by_role("button", name="Select all 31 rows")).to_be_visible()
    search.fill("height > 100")
    expect(page.get_by_text("No row matches.")).to_be_visible()
    search.fill("weight > 1")
    expect(page.get_by_text("No column has this name.")).to_be_visible()


def test_a_link_brings_the_view_back(show):
    page = show(three_groups())
    page.get_by_role("radio", name="Unsupervised").click()
    page.get_by_role("button", name="b 30").click()
    page.get_by_label("Search rows").fill("item-00")
    page.keyboard.press("Enter")
    page.wait_for_function("['layer=', 'hide=', 'rows=', 'view='].every((part) => location.hash.includes(part))")
    page.reload()
    wait_for_map(page)
    expect(page.get_by_role("radio", name="Unsupervised")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_role("button", name="b 30")).to_have_attribute("aria-pressed", "false")
    expect(count(page)).to_have_text("10 rows")


def test_the_verdict_does_not_wait_for_the_points(tab, tmp_path):
    tab.add_init_script("if (location.hash === '#frozen') window.requestAnimationFrame = () => 0;")
    tab.goto(write_html(three_groups(), tmp_path / "map.html").as_uri() + "#frozen")
    expect(tab.locator(".pm-answer").first).to_contain_text("The labels show")
    expect(tab.locator(".pm-entry")).to_have_count(3)
    expect(tab.locator("[data-ready=true]")).to_have_count(0)


def test_a_zoom_while_the_map_changes_its_size_stays(show):
    page = show(three_groups())
    page.evaluate("""() => new Promise((done) => {
        const map = document.querySelector(".pm-map");
        map.parentElement.style.width = "70%";
        new ResizeObserver(() => {  // told after the map's own
            map.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
            done();
        }).observe(map);
    })""")
    wait_for_map(page)
    page.wait_for_function("location.hash.includes('view=')")


def test_pictures_download(show):
    page = show(three_groups())

    def save(name):
        page.get_by_label("Download").click()
        with page.expect_download() as download:
            page.get_by_role("button", name=name).click()
        return download.value.path().read_bytes()

    assert save("Picture (PNG)").startswith(b"\x89PNG")
    drawing = save("Drawing (SVG)").decode()
    assert drawing.count("<circle") == 90 + 3
    assert save("All rows (csv)").decode().count("\r\n") == 91


def test_keyboard_alone_reaches_every_point(show):
    page = show(three_groups())
    page.locator(".pm-map").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".pm-card")).to_contain_text("item-")
    first = page.locator(".pm-card-head").inner_text()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".pm-card-head")).not_to_have_text(first)
    page.keyboard.press("Enter")
    expect(count(page)).to_have_text(re.compile("item-"))
    page.keyboard.press("Tab")
    expect(page.locator(".pm-card")).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_a_model_behind_the_points(show, keep):
    data = with_model()
    page = show(data)
    wait_for_map(page)
    expect(page.get_by_text("2 on the wrong side")).to_be_visible()
    point_at(page, 1, data)
    expect(page.locator(".pm-card .pm-thumb-image")).to_be_visible()
    expect(page.locator(".pm-card")).to_contain_text("drawn where the model says otherwise")
    keep("static-model")
    page.get_by_text("Appearance").click()
    page.get_by_label("Decisions of a tree").uncheck()
    page.get_by_label("Colour by", exact=True).select_option("predicted")
    expect(page.locator(".pm-entry")).to_have_count(3)
    page.get_by_label("Colour by", exact=True).select_option("far")
    expect(page.locator(".pm-entry")).to_have_text([re.compile("^near.*89"), re.compile("^far.*1")])
    page.get_by_label("Colour by", exact=True).select_option("quality")
    expect(page.locator(".pm-histogram")).to_be_visible()


def test_size_and_opacity_change_what_is_drawn(show):
    page = show(three_groups())
    page.get_by_text("Appearance").click()
    ink = """() => { const c = document.querySelector('.pm-canvas'); const p = document.createElement('canvas');
        [p.width, p.height] = [c.width, c.height]; const pen = p.getContext('2d'); pen.drawImage(c, 0, 0);
        const d = pen.getImageData(0, 0, p.width, p.height).data; let n = 0, most = 0;
        for (let i = 0; i < d.length; i += 4) {
          const colour = (Math.max(d[i], d[i+1], d[i+2]) - Math.min(d[i], d[i+1], d[i+2])) * d[i+3] / 255;
          if (colour > 15) n++;
          most = Math.max(most, colour);
        }
        return [n, most]; }"""
    page.wait_for_function(f"({ink})()[0] > 300")
    area, strength = page.evaluate(ink)
    page.get_by_label("Point size").focus()
    page.keyboard.press("End")
    page.wait_for_function(f"({ink})()[0] > {1.5 * area}")
    page.get_by_label("Opacity").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(f"({ink})()[1] < {0.8 * strength}")


def test_the_page_follows_a_dark_system(tab, show):
    tab.emulate_media(color_scheme="dark")
    page = show(three_groups())
    expect(page.locator(".pm-app")).to_have_attribute("data-theme", "dark")
    tab.emulate_media(color_scheme="light")
    expect(page.locator(".pm-app")).to_have_attribute("data-theme", "light")


def test_scripts_in_names_stay_words(show):
    data = three_groups(
        title=EVIL,
        target=Target("class", EVIL, [EVIL, "b", "c"], codes=np.arange(90) % 3),
        columns={EVIL: [EVIL] * 90},
        row_ids=[EVIL] * 90,
        report={"verdict": EVIL, EVIL: EVIL},
        notes=[EVIL],
        relevance=Relevance([EVIL], [1.0]),
    )
    page = show(data)
    expect(page.get_by_role("heading", level=1)).to_have_text(EVIL)
    point_at(page, 0, data)
    expect(page.locator(".pm-card")).to_contain_text("onerror")
    page.get_by_role("tab", name="Features").click()
    page.locator(".pm-feature-list button").click()
    lasso(page)
    expect(count(page)).to_be_visible()
    assert page.title() == EVIL
    assert page.locator("img").count() == 0


def test_the_barest_page_has_words_where_things_are_missing(show, keep):
    page = show(PageData([Layer("map", "Map", np.zeros((1, 2)))]))
    expect(page.get_by_text("No report came with this map")).to_be_visible()
    page.get_by_role("tab", name="Features").click()
    expect(page.get_by_text("No columns in this page")).to_be_visible()
    page.get_by_role("tab", name="Selection").click()
    expect(page.get_by_text("Nothing selected")).to_be_visible()
    expect(page.get_by_role("radiogroup", name="Which map")).to_be_hidden()
    keep("static-bare")


def test_many_classes_are_said_to_be_too_many(show):
    target = Target("class", "letter", [f"class {i}" for i in range(26)], codes=np.arange(90) % 26)
    page = show(three_groups(target=target))
    expect(page.get_by_text("26 classes: more than ten colours")).to_be_visible()


def test_a_hundred_classes_are_named_found_sorted_and_seen_alone(show, keep):
    rng = np.random.default_rng(0)
    codes = np.concatenate([np.arange(100), rng.integers(100, size=1900)])
    positions = rng.normal(size=(100, 2))[codes] * 30 + rng.normal(size=(2000, 2))
    names = [f"class {i}" for i in range(100)]
    data = PageData([Layer("map", "map", positions)], target=Target("class", "kind", names, codes=codes))
    page = show(data)
    keep("static-hundred")
    entries = page.locator(".pm-entry")
    expect(entries).to_have_count(40)
    page.get_by_role("button", name="List 60 more").click()
    expect(entries).to_have_count(100)
    page.get_by_label("Order of the classes").select_option("size")
    largest = int(np.bincount(codes).argmax())
    expect(entries.first).to_contain_text(f"class {largest}")
    page.get_by_label("Find a class").fill("class 77")
    expect(entries).to_have_count(1)
    expect(page.get_by_label("Find a class")).to_be_focused()
    page.get_by_role("button", name="Show only class 77").click()
    expect(page.locator(".pm-status")).to_have_text(f"{int((codes == 77).sum())} of 2,000 rows shown.")
    page.wait_for_function("location.hash.includes('view=')")
    page.get_by_role("button", name="Show all 100 classes").click()
    expect(page.locator(".pm-status")).to_have_text("")
    page.wait_for_function("!location.hash.includes('view=')")
    page.get_by_label("Find a class").fill("nobody")
    expect(page.get_by_text("No class has this name.")).to_be_visible()


def test_a_damaged_file_says_so(tab, tmp_path):
    path = write_html(three_groups(), tmp_path / "map.html")
    text = path.read_text()
    start = text.index('id="prismap-data">') + 18
    path.write_text(text[: start + 400] + text[text.index("</script>", start) :])
    tab.goto(path.as_uri())
    expect(tab.get_by_role("heading", name="This map cannot be shown")).to_be_visible()


@pytest.mark.slow
def test_a_very_large_map_shows_its_density_and_still_selects_every_row(show, keep):
    rng = np.random.default_rng(0)
    codes = np.arange(210_000) % 3
    positions = CENTRES[codes] + rng.normal(size=(len(codes), 2))
    data = PageData([Layer("map", "Map", positions)], target=Target("class", "group", ["a", "b", "c"], codes=codes))
    page = show(data)
    expect(page.locator(".pm-status")).to_have_text("200,000 rows drawn as points; zoom in to see every one.")
    keep("static-large")
    page.keyboard.press("b")
    x, y = on_screen(page, CENTRES[2], data)
    page.mouse.move(x - 110, y - 90)
    page.mouse.down()
    page.mouse.move(x, y)
    page.mouse.move(x + 110, y + 110)
    page.mouse.up()
    expect(count(page)).to_have_text("70,000 rows")
    page.get_by_role("button", name="Zoom to").click()
    expect(page.locator(".pm-status")).to_have_text("")
