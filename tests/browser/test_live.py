"""What a user does with the live explorer, in a real browser against a real server."""

import csv
import io
import re
import threading
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

from browser.accessibility import breaches
from browser.examples import BROWSER, CENTRES, three_groups
from browser.hands import count, lasso, on_screen, wait_for_map
from prismap.exceptions import InputError
from prismap.page import Placed, make_app, write_html

pytestmark = BROWSER


class FakeCompute:
    """Moves the map to the side, a step at a time; the last step waits until it is let go."""

    supervision = 1.0

    def __init__(self):
        self.go = threading.Event()
        self.go.set()

    def transform(self, path):
        lines = path.read_text().split()
        if lines[0] != "x,y":
            raise InputError("the file lacks 2 of the 2 columns of the map: -'x', -'y'.")
        positions = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
        about = {
            "class of neighbours": np.array(["b"] * len(positions), dtype=object),
            "share of neighbours": np.full(len(positions), 0.9),
        }
        far, notes = np.abs(positions[:, 0]) > 11.5, ["1 missing value of 'x' was filled"]
        return Placed(positions, far, None, notes, {"height": positions[:, 1]}, None, about)

    def relevance(self, rows, *, progress, cancel):
        while not self.go.wait(0.05):
            progress(0.5)
        return ["noise", "height"], np.array([0.1, len(rows) / 90])

    def target_relevance(self, rows):
        return ["height", "noise"], np.array([0.8, 0.2]), np.array([0.5, 0.5])

    def shape(self, groups, *, start, progress, cancel):
        assert [len(group) for group in groups] == [30, 30]
        progress(0.5, start * 0.5)
        return start[:, ::-1], ["height", "noise"], np.array([0.9, 0.1])

    def reembed(self, supervision, *, start, progress, cancel):
        for step in range(4):
            progress(step / 4, start[:, ::-1] * (step + 1))
            self.go.wait(0.02)
        while not self.go.wait(0.05):
            progress(0.9)
        return start[:, ::-1]


@pytest.fixture
def compute():
    made = FakeCompute()
    yield made
    made.go.set()


@pytest.fixture
def data():
    return three_groups()


@pytest.fixture
def open_app(tab, run_app):
    def start(*arguments, fragment=""):
        address, _ = run_app(make_app(*arguments))
        tab.goto(address + fragment)
        return wait_for_map(tab)

    return start


def test_the_map_is_there_before_its_verdict(open_app, data, keep):
    go = threading.Event()

    def judged(progress):
        progress(0.25, "judging")
        go.wait(20)
        return data

    first = replace(data, report=None, curves=(), layers=data.layers[:1])
    page = open_app(lambda progress: (first, None, judged))
    expect(page.get_by_role("heading", name="Judging this map")).to_be_visible()
    expect(page.get_by_role("radiogroup", name="Which map")).to_be_hidden()
    keep("live-judging")
    page.get_by_label("Search rows").fill("item-00")
    page.keyboard.press("Enter")
    go.set()
    expect(page.get_by_role("radio", name="Permuted labels")).to_be_visible()
    expect(page.locator("[data-test=count]")).to_have_text("10 rows")
    page.get_by_role("tab", name="Verdict").click()
    expect(page.locator(".pm-answer").first).to_contain_text("The labels show")


def test_columns_are_fetched_once_and_when_they_are_needed(open_app, data, tab, keep):
    fetched = []
    tab.on("request", lambda request: fetched.append(request.url))
    page = open_app(data)
    expect(page.locator(".pm-answer", has_text="The labels show clearly in this map")).to_be_visible()
    page.get_by_label("Colour by", exact=True).select_option("column:0")
    expect(page.locator(".pm-histogram")).to_be_visible()
    page.get_by_label("Colour by", exact=True).select_option("target")
    page.get_by_label("Colour by", exact=True).select_option("column:0")
    expect(page.locator(".pm-histogram")).to_be_visible()
    page.get_by_label("Search rows").fill("city = ulm")
    expect(page.get_by_role("button", name=re.compile("Select all"))).to_be_visible()
    assert [url.partition("columns/")[2] for url in fetched if "columns" in url] == ["0/3"]
    keep("live-first-view")


def test_a_card_gets_its_values_when_they_come(open_app, data, tab):
    held = []
    tab.route("**/columns/**", lambda route: held.append(route))
    page = open_app(data)
    page.mouse.move(*on_screen(page, data.layers[0].positions[0], data))
    expect(page.locator(".pm-card")).to_be_visible()
    expect(page.locator(".pm-card .pm-values")).to_have_count(0)
    for route in held:
        route.continue_()
    expect(page.locator(".pm-card .pm-values")).to_be_visible()
    tab.unroute("**/columns/**")


def test_selected_rows_are_exported_by_the_server(open_app, data):
    page = open_app(data)
    lasso(page, on_screen(page, CENTRES[0], data), 0.25)
    expect(count(page)).to_have_text("30 rows")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export csv").click()
    rows = list(csv.DictReader(io.StringIO(download.value.path().read_bytes().decode("utf-8"))))
    assert {row["group"] for row in rows} == {"a"}
    assert len(rows) == 30


def test_what_sets_a_selection_apart_needs_no_server_but_relevance_does(open_app, data, compute, keep):
    page = open_app(data, compute)
    lasso(page, on_screen(page, CENTRES[2], data), 0.25)
    expect(page.locator(".pm-diffs li").first).to_contain_text(re.compile("height|city = Kiel"))
    page.get_by_role("button", name="Local relevance").click()
    bars = page.locator(".pm-selection .pm-feature-list:not([data-test]) li")
    expect(bars).to_have_text([re.compile("^height0.333"), re.compile("^noise0.1")])
    here = page.locator("[data-test=target-relevance] li")
    expect(here).to_have_text([re.compile("^height80 %"), re.compile("^noise20 %")])
    bars.first.get_by_role("button").click()
    expect(page.get_by_label("Colour by", exact=True)).to_have_value("column:0")
    keep("live-relevance")
    compute.go.clear()
    page.get_by_role("button", name="Local relevance").click()
    expect(page.get_by_role("progressbar", name="Local relevance")).to_have_attribute("value", "0.5")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped.", exact=True)).to_be_visible()


def test_a_map_shaped_by_hand_says_so(open_app, data, compute, keep):
    page = open_app(data, compute)
    page.get_by_text("Shape the map by hand").click()
    for name in ("group = a", "group = b"):
        page.get_by_label("Search rows").fill(name)
        page.keyboard.press("Enter")
        expect(count(page)).to_have_text("30 rows")
        page.get_by_role("button", name="Selection is a group").click()
    page.get_by_role("button", name="Let the map follow").click()
    expect(page.get_by_role("radio", name="Shaped by hand")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_text("What tells the groups apart: height (90 %), noise (10 %).")).to_be_visible()
    page.get_by_role("tab", name="Verdict").click()
    expect(page.locator(".pm-verdict .pm-sentence").first).to_contain_text(
        "This map was shaped by hand. It was not judged"
    )
    assert breaches(page) == []
    keep("live-by-hand")
    page.get_by_role("radio", name="Fisher map").click()
    expect(page.locator(".pm-verdict .pm-sentence").first).not_to_contain_text("shaped by hand")


def test_supervision_moves_the_points_and_can_be_stopped(open_app, data, compute, keep):
    page = open_app(data, compute)
    slider = page.get_by_label("Supervision")
    slider.focus()
    page.keyboard.press("Home")
    expect(page.get_by_role("radio", name="Supervision 0")).to_have_attribute("aria-checked", "true")
    expect(page.get_by_text("Supervision 0: done.")).to_be_visible()
    keep("live-supervision")
    compute.go.clear()
    page.keyboard.press("End")
    expect(page.get_by_role("progressbar", name="Re-embedding")).to_be_visible()
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_text("Stopped. The points stay")).to_be_visible()
    expect(page.get_by_role("progressbar", name="Re-embedding")).to_be_hidden()
    page.get_by_role("radio", name="Fisher map").click()
    expect(page.get_by_role("radio", name="Fisher map")).to_have_attribute("aria-checked", "true")
    expect(slider).to_have_value("1")
    page.get_by_role("radio", name="Unsupervised").click()
    expect(slider).to_have_value("0")


def test_a_link_to_another_supervision_computes_it(open_app, data, compute):
    page = open_app(data, compute, fragment="#layer=supervision-0.5")
    expect(page.get_by_role("radio", name="Supervision 0.5")).to_have_attribute("aria-checked", "true")


def test_dropped_rows_appear_and_far_ones_are_marked(open_app, data, compute, keep):
    page = open_app(data, compute)
    drop = """([text, name]) => {
        const files = new DataTransfer();
        files.items.add(new File([text], name, { type: "text/csv" }));
        const map = document.querySelector(".pm-map");
        for (const kind of ["dragover", "drop"]) {
            map.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: files }));
        }
    }"""
    page.evaluate(drop, ["x,y\n-10,0\n10,1\n12,12\n", "new.csv"])
    expect(page.locator("[data-test=placed]")).to_have_text("3 new rows, 1 far from the data")
    expect(page.get_by_text("1 missing value of 'x' was filled")).to_be_visible()
    page.mouse.move(*on_screen(page, [12.0, 12.0], data))
    expect(page.locator(".pm-card")).to_contain_text("new row 3")
    expect(page.locator(".pm-card")).to_contain_text("far from all fitted rows")
    expect(page.locator(".pm-card")).to_contain_text("class of neighbours")
    expect(page.locator(".pm-card")).to_contain_text("90 %")
    keep("live-new-rows")
    page.get_by_label("Colour by").select_option(label="class of neighbours")
    expect(page.locator(".pm-entry-name").first).to_have_text("b")
    lasso(page, on_screen(page, [10.0, 1.0], data), 0.12)
    expect(page.locator(".pm-selection")).to_contain_text("new row 2")
    page.evaluate(drop, ["weight\n1\n", "other.csv"])
    expect(page.get_by_role("alert")).to_contain_text("lacks 2 of the 2 columns")
    page.expected_complaints = 1  # the browser's own note of the refused request
    page.get_by_role("button", name="Remove").click()
    expect(page.locator("[data-test=placed]")).to_have_count(0)
    page.get_by_label("File with new rows").set_input_files(
        {"name": "rows.csv", "mimeType": "text/csv", "buffer": b"x,y\n1,2\n"}
    )
    expect(page.locator("[data-test=placed]")).to_have_text("1 new row, all near the data")


def test_a_map_in_the_making_shows_how_far_it_is(tab, run_app, data, keep):
    go = threading.Event()

    def make(progress):
        progress(0.4, "fitting a map of 90 rows")
        go.wait(20)
        return data

    address, _ = run_app(make_app(make))
    tab.goto(address)
    expect(tab.get_by_text("fitting a map of 90 rows")).to_be_visible()
    expect(tab.get_by_role("progressbar")).to_have_attribute("value", "0.4")
    expect(tab).to_have_title("40 % · prismap")
    assert breaches(tab) == []
    keep("live-fitting")
    go.set()
    wait_for_map(tab)
    expect(tab).to_have_title("Three groups")


def test_a_map_that_could_not_be_made_says_why(tab, run_app, keep):
    def make(progress):
        progress(0.2, "fitting")
        raise InputError("--perplexity 50 needs more rows than the 24 there are.")

    address, _ = run_app(make_app(make))
    tab.goto(address)
    tab.expected_complaints = 1
    expect(tab.get_by_role("heading", name="This map cannot be shown")).to_be_visible()
    expect(tab.get_by_text("--perplexity 50 needs more rows")).to_be_visible()
    keep("live-failed")


def test_a_damaged_folder_gives_a_readable_page(tab, run_app, tmp_path, keep):
    (tmp_path / "map.html").write_text("<html>something else</html>")
    address, _ = run_app(make_app(tmp_path))
    tab.goto(address)
    tab.expected_complaints = 1
    expect(tab.get_by_role("heading", name="This map cannot be shown")).to_be_visible()
    expect(tab.get_by_text("no data of prismap inside")).to_be_visible()
    keep("live-damaged")


def test_an_address_without_the_token_says_so(tab, run_app, data):
    address, _ = run_app(make_app(data))
    tab.goto(address.split("?")[0])
    tab.expected_complaints = 1
    expect(tab.get_by_text("lacks the token of this run")).to_be_visible()


def test_a_restarted_server_shows_the_view_it_was_left_in(tab, run_app, data, tmp_path):
    write_html(data, tmp_path / "map.html")
    address, stop = run_app(make_app(tmp_path))
    tab.goto(address)
    wait_for_map(tab)
    with tab.expect_response(lambda response: "hide=" in (response.request.post_data or "")):
        tab.get_by_role("radio", name="Unsupervised").click()
        tab.get_by_role("button", name="b 30").click()
    stop()
    address, _ = run_app(make_app(tmp_path))
    tab.goto(address)
    wait_for_map(tab)
    expect(tab.get_by_role("radio", name="Unsupervised")).to_have_attribute("aria-checked", "true")
    expect(tab.get_by_role("button", name="b 30")).to_have_attribute("aria-pressed", "false")


def test_a_server_that_is_gone_is_noticed(tab, run_app, data, compute):
    address, stop = run_app(make_app(data, compute))
    tab.goto(address)
    wait_for_map(tab)
    stop()
    tab.expected_complaints = None  # the browser notes every request that was not answered
    tab.get_by_label("Supervision").focus()
    tab.keyboard.press("Home")
    expect(tab.get_by_role("alert")).to_contain_text("does not answer")


def test_two_browsers_see_their_own_work(tab, browser, run_app, data, compute):
    address, _ = run_app(make_app(data, compute))
    tab.goto(address)
    wait_for_map(tab)
    context = browser.new_context()
    other = context.new_page()
    other.goto(address)
    wait_for_map(other)
    tab.get_by_label("Supervision").focus()
    tab.keyboard.press("Home")
    expect(tab.get_by_text("Supervision 0: done.")).to_be_visible()
    expect(other.get_by_role("radio", name="Fisher map")).to_have_attribute("aria-checked", "true")
    expect(other.get_by_role("radio")).to_have_count(3)
    context.close()
