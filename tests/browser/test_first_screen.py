"""What the first screen of a page shows of any table, on a laptop and on a phone, light and dark."""

import re
import struct
from dataclasses import replace

import numpy as np
from playwright.sync_api import expect

from browser.examples import BROWSER, three_groups, with_model
from browser.hands import count, wait_for_map
from browser.test_looking_closer import COLOURED
from prismap.page import Layer, PageData, Target, write_html
from prismap.page._document import page_script

pytestmark = BROWSER

#: Of the pixels painted over the map: how many there are, how many lie over coloured points, and how many at its edge.
PAINTED_OVER = """() => {
    const [canvas, overlay] = ['.pm-canvas', '.pm-overlay'].map((name) => document.querySelector(name));
    const { width, height } = overlay, copy = document.createElement('canvas');
    [copy.width, copy.height] = [width, height];
    copy.getContext('2d').drawImage(canvas, 0, 0, width, height);
    const [points, over] = [copy, overlay].map((c) => c.getContext('2d').getImageData(0, 0, width, height).data);
    let [painted, covering, edge] = [0, 0, 0];
    for (let i = 0; i < points.length; i += 4) {
      if (over[i + 3] < 200) continue;
      const rgb = [points[i], points[i + 1], points[i + 2]], [x, y] = [(i / 4) % width, Math.floor(i / 4 / width)];
      painted++;
      if (points[i + 3] > 0 && Math.max(...rgb) - Math.min(...rgb) > 40) covering++;
      if (Math.min(x, y, width - 1 - x, height - 1 - y) < 1) edge++;
    }
    return [painted, covering, edge];
  }"""


def many_classes(n_classes, n_rows=2400):
    """Round clouds on a spiral."""
    rng = np.random.default_rng(0)
    angle = np.arange(n_classes)[:, None] * [2.4, 2.4] + [0, np.pi / 2]
    centres = 30 * np.sqrt(np.arange(n_classes) / n_classes)[:, None] * np.sin(angle)
    codes = np.arange(n_rows) % n_classes
    positions = centres[codes] + 0.4 * rng.normal(size=(n_rows, 2))
    names = [f"species {i}" for i in range(n_classes)]
    return PageData([Layer("map", "map", positions)], target=Target("class", "species", names, codes=codes))


def test_names_stand_beside_their_clusters_and_are_not_cut(look, show, keep):
    for n_classes, fewest in ((3, 1), (60, 12)):
        page = show(many_classes(n_classes))
        page.wait_for_function(f"() => ({PAINTED_OVER})()[0] > {200 * fewest}")
        painted, covering, edge = page.evaluate(PAINTED_OVER)
        assert covering < 0.02 * painted
        assert edge == 0
        keep(f"names-{n_classes}-{look}")


def test_names_find_room_again_when_the_map_is_zoomed(look, show):
    page = show(many_classes(60))
    page.locator(".pm-map").focus()
    for _ in range(3):
        page.keyboard.press("+")
    page.wait_for_function(
        f"() => {{ const [n, over, edge] = ({PAINTED_OVER})(); return n > 500 && over < 0.02 * n && !edge; }}"
    )
    page.get_by_text("Appearance").click()
    page.get_by_label("Names on the map").uncheck()
    expect(page.locator(".pm-map[aria-busy=true]")).to_have_count(0)
    page.wait_for_function(f"() => ({PAINTED_OVER})()[0] === 0")


def many_rows(n=20_500):
    """A cloud of two mixed classes, some rows of it far from the data."""
    rng = np.random.default_rng(0)
    positions, codes = rng.normal(size=(n, 2)), rng.integers(0, 2, n)
    target = Target("class", "delayed", ["late", "on time"], codes=codes)
    return PageData([Layer("map", "map", positions)], target=target, far=np.arange(n) < 250)


def test_many_rows_show_their_density_and_rings_are_a_switch_with_a_count(look, show, keep):
    page = show(many_rows())
    page.get_by_text("Appearance").click()
    expect(page.get_by_label("Density behind the points")).to_be_checked()
    expect(page.get_by_text("250 far from the data")).to_be_visible()
    rings = page.get_by_label("Ring them on the map")
    expect(rings).not_to_be_checked()
    plain = page.evaluate(PAINTED_OVER)[0]
    keep(f"many-rows-{look}")
    rings.check()
    page.wait_for_function(f"() => ({PAINTED_OVER})()[0] > {plain + 1000}")
    page.wait_for_function("() => location.hash.includes('rings=1')")
    rings.uncheck()
    page.wait_for_function(f"() => ({PAINTED_OVER})()[0] < {plain + 200}")


def texts(n=120):
    """Embeddings of reviews: 64 numbers per row, a sentence, stars and a date."""
    rng = np.random.default_rng(0)
    codes = np.arange(n) % 3
    words = ["invoice refund card", "parcel courier late", "password login code"]
    columns = {
        **{f"e{j}": rng.normal(size=n) + codes for j in range(64)},
        "review": np.array([f"my {words[code]} again ({row})" for row, code in enumerate(codes)], dtype=object),
        "stars": rng.integers(1, 6, n),
        "written": np.datetime64("2024-01-01") + (100 * codes + np.arange(n) % 50).astype("timedelta64[D]"),
    }
    positions = np.array([[-10.0, 0.0], [10.0, 0.0], [0.0, 12.0]])[codes] + rng.normal(size=(n, 2))
    target = Target("class", "topic", ["billing", "shipping", "login"], codes=codes)
    return PageData([Layer("map", "map", positions)], title="Reviews", target=target, columns=columns)


def test_a_card_has_what_people_read_and_no_dimensions(look, show, keep):
    page = show(texts())
    page.locator(".pm-map").focus()
    page.keyboard.press("ArrowRight")
    card = page.locator(".pm-card")
    expect(card).to_contain_text("again (")
    expect(card).to_contain_text("stars")
    text = card.inner_text()
    assert text.index("again (") < text.index("topic") < text.index("stars")
    assert "\ne1\n" not in text
    assert "2024-" in text
    box, map_box = card.bounding_box(), page.locator(".pm-map").bounding_box()
    below = box["y"] >= map_box["y"] + map_box["height"]
    assert below == look.startswith("phone")
    assert box["x"] + box["width"] <= page.viewport_size["width"]
    keep(f"card-{look}")


def test_what_sets_a_selection_apart_leaves_out_dimensions_and_speaks_of_dates(look, show):
    page = show(texts())
    page.get_by_label("Search rows").fill("topic = login")
    page.keyboard.press("Enter")
    expect(count(page)).to_have_text("40 rows")
    names = page.locator(".pm-diffs .pm-bar-name").all_inner_texts()
    assert "written" in names
    assert not [name for name in names if re.fullmatch(r"e\d+", name)]
    expect(page.locator(".pm-diffs li", has_text="written")).to_contain_text(re.compile(r"\d+ days later"))


def with_dates(n=200):
    """A target of days since 1970, and a column of dates."""
    rng = np.random.default_rng(0)
    days = 17_880.0 + 3 * np.arange(n)
    columns = {
        "signup": np.datetime64("2023-01-01") + np.arange(n).astype("timedelta64[D]"),
        "wear": rng.normal(size=n),
    }
    positions = np.column_stack([days, rng.normal(size=n) * 50])
    target = Target("real", "made", values=days, unit="date")
    return PageData([Layer("map", "map", positions)], target=target, columns=columns)


def test_dates_are_compared_searched_and_shown_as_dates(look, show, keep):
    page = show(with_dates())
    expect(page.locator(".pm-ramp-ends")).to_contain_text("2018-12")
    expect(page.locator(".pm-ramp-ends")).to_contain_text("2020-0")
    search = page.get_by_label("Search rows")
    for query, rows in (
        ("signup > 2023-04-10", 100), ("signup >= 2023-04-10", 101), ("signup = 2023-02", 28), ("signup < 2023-02", 31),
        ("made = 2019", 122), ("made > 31.12.2019", 72), ("signup = 2023-01-05..2023-01-09", 5),
        ("made = 2018-12-15", 1),
    ):  # fmt: skip
        search.fill(query)
        page.keyboard.press("Enter")
        expect(page.locator(".pm-count")).to_contain_text(f"of {200}")
        expect(page.locator(".pm-badge")).to_have_text(str(rows))
    page.get_by_role("button", name="Charts of columns").click()
    expect(page.get_by_role("group", name="signup").locator(".pm-chart-ends")).to_have_text("2023-01-012023-07-19")
    keep(f"dates-{look}")


def test_search_names_columns_of_this_table_and_a_failed_one_keeps_nothing(look, show):
    page = show(with_dates())
    search = page.get_by_label("Search rows")
    hint = search.get_attribute("placeholder")
    column, value = re.fullmatch(r"Search, or (\w+) > (.+)", hint).groups()
    assert column in ("signup", "wear")
    clipped = """input => { const pen = document.createElement('canvas').getContext('2d');
        const style = getComputedStyle(input); pen.font = style.font;
        return pen.measureText(input.placeholder).width
          > input.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight); }"""
    assert not search.evaluate(clipped)
    search.fill(f"{column} > {value}")
    page.keyboard.press("Enter")
    expect(page.locator(".pm-badge")).to_have_text(re.compile(r"^(9\d|10\d)$"))
    search.fill("signup > 2031-01-01")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No row matches.")).to_be_visible()
    expect(page.get_by_text("Nothing selected")).to_have_count(1)
    expect(page.locator(".pm-badge")).to_be_hidden()


def saved(page, label):
    """What an entry of the menu for downloads saves."""
    page.get_by_label("Download").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=label).click()
    return download.value.path().read_bytes()


def test_a_figure_that_is_saved_can_be_posted(look, show):
    page = show(three_groups())
    for maps in (1, 2):
        drawing = saved(page, "Drawing (SVG)").decode()
        words = re.findall(r">([^<>]+)</text>", drawing)
        assert words.count("Three groups") == 1
        assert sum(line.startswith("The labels show clearly in this map") for line in words) == 1
        assert any("1-NN error 2.0 % ± 1.0 %, permuted labels 66 % ± 3.0 %" in line for line in words)
        assert words.count("Fisher map") == 1
        assert words.count("Unsupervised") == maps - 1
        assert {"group", "a", "b", "c"} <= set(words)
        assert drawing.count("<circle") == 90 * maps + 3
        picture = saved(page, "Picture (PNG)")
        assert picture.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", picture[16:24])
        size = [float(value) for value in re.search(r'width="(\d+)" height="(\d+)"', drawing).groups()]
        assert [width, height] == [2 * value for value in size]
        # Points reach over most of the room that the maps have: no half is empty.
        x = [float(value) for value in re.findall(r'<circle cx="([\d.]+)"', drawing)][: 90 * maps]
        part = page.locator(".pm-map").first.bounding_box()
        assert np.ptp(x) > 0.5 * min(size[0], part["width"])
        if maps == 1:
            page.get_by_role("button", name="A second map").click()
            wait_for_map(page)


def test_a_view_of_a_model_says_beside_its_title_how_true_it_is(look, show, keep):
    data = with_model()
    words = "SVC: 93 % of held-out rows are shown rightly"
    page = show(replace(data, raster=replace(data.raster, fidelity=words)))
    title, said = page.get_by_role("heading", name="Three groups"), page.get_by_text(words)
    expect(said).to_be_visible()
    assert abs(title.bounding_box()["y"] - said.bounding_box()["y"]) < 40
    assert title.evaluate("h => h.scrollWidth <= h.clientWidth"), "the title is not cut"
    keep(f"fidelity-{look}")


def test_errors_stay_on_one_line_and_no_button_is_cut(look, show):
    scores = [{
        "name": "rank error", "value": {"value": 0.244, "spread": 0.01752},
        "unsupervised": {"value": 0.264, "spread": 0.0167},
        "permuted": {"mean": 1.16, "spread": 0.00803}, "chance": 1.1,
    }]  # fmt: skip
    data = three_groups()
    page = show(replace(data, report={**data.report, "target": "real", "scores": scores}))
    for text in page.locator(".pm-bars b").all():
        height = text.evaluate("b => b.getBoundingClientRect().height / parseFloat(getComputedStyle(b).lineHeight)")
        assert height < 1.5, text.inner_text()
    page.get_by_label("Search rows").fill("group = a")
    page.keyboard.press("Enter")
    expect(count(page)).to_have_text("30 rows")
    cut = """() => [...document.querySelectorAll('.pm-app button')].filter((b) => {
        const box = b.getBoundingClientRect();
        return box.width > 0 && !b.closest('.pm-table, .pm-cross') && !b.querySelector('.pm-bar-name, .pm-entry-name')
          && (b.scrollWidth > b.clientWidth + 1 || box.right > innerWidth + 1); }).map((b) => b.innerText)"""
    assert page.evaluate(cut) == []


def test_the_page_needs_no_webgpu(browser, tmp_path):
    """It draws with WebGL, which every browser has, and never asks for WebGPU, which some do not."""
    context = browser.new_context()
    try:
        page = context.new_page()
        page.add_init_script(
            "window.asked = 0; Object.defineProperty(navigator, 'gpu', { get() { window.asked++; } });"
        )
        page.goto(write_html(three_groups(), tmp_path / "map.html").as_uri())
        wait_for_map(page)
        page.wait_for_function(COLOURED, arg=[0, 500])
        assert page.evaluate("window.asked") == 0
    finally:
        context.close()
    script = page_script()
    assert "requestAdapter" not in script
    assert "navigator.gpu" not in script
