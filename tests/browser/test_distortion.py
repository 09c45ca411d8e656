"""What a map tears apart and pushes together: on pointing at a row, and on demand for pairs of rows and groups."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from sklearn.neighbors import NearestNeighbors

from browser.accessibility import breaches
from browser.examples import BROWSER, three_groups
from browser.hands import point_at, wait_for_map
from browser.test_looking_closer import PAINTED
from prismap.page._data import Neighbors

pytestmark = BROWSER


@pytest.fixture(scope="module")
def data():
    """Of each row the nearest ones on the map, but one that is elsewhere; two groups lie wrongly."""
    plain = three_groups()
    near = NearestNeighbors(n_neighbors=5).fit(plain.layers[0].positions)
    distances, nearest = near.kneighbors()
    nearest[:, 4] = np.arange(90) ^ 1  # pairs of neighbouring numbers, which are of two groups
    arrangement = {"wrong": [["a", "b"], ["c", "a"]], "nearer": ["c", "b"]}
    report = {**plain.report, "arrangement": arrangement}
    return three_groups(neighbors=Neighbors(np.arange(90), (nearest + 1) % 90, nearest, distances), report=report)


def test_the_row_pointed_at_shows_what_was_torn_away_and_pushed_in(look, show, keep, data):
    page = show(data)
    before = page.evaluate(PAINTED)
    card = page.locator(".pm-card")
    if look.startswith("laptop"):
        point_at(page, 4, data)
        expect(card).to_contain_text("1 was torn away; 1 other was pushed in.")
        expect(card.locator(".pm-rings .pm-away")).to_have_count(1)
        expect(card.locator(".pm-rings .pm-kept")).to_have_count(4)
        expect(card.locator(".pm-rings .pm-pushed")).to_have_count(1)
        assert page.evaluate(PAINTED) > before + 300  # the line to the row torn away
        keep(f"neighbourhood-{look}")
        page.mouse.move(1, 1)
        expect(card).to_be_hidden()
        assert page.evaluate(PAINTED) == before
    # The same by keyboard; N takes it away.
    page.locator(".pm-map").focus()
    page.keyboard.press("ArrowRight")
    expect(card).to_contain_text("torn away")
    assert breaches(page) == []
    page.keyboard.press("n")
    expect(card).not_to_contain_text("torn away")
    page.wait_for_function("() => location.hash.includes('local=0')")


def test_torn_pairs_and_wrong_groups_are_drawn_on_demand(look, show, keep, data):
    page = show(data)
    page.get_by_text("What the map distorts").click()
    before = page.evaluate(PAINTED)
    torn = page.get_by_label(re.compile(r"^\d+ of \d+ pairs of nearest rows torn apart"))
    torn.check()
    page.wait_for_function(f"() => ({PAINTED})() > {before + 1000}")
    expect(torn).to_be_focused()
    page.get_by_label("pairs of nearest rows torn apart").uncheck()
    page.wait_for_function(f"() => ({PAINTED})() === {before}")
    page.get_by_label("2 groups lie beside a wrong one").check()
    page.wait_for_function(f"() => ({PAINTED})() > {before + 1000}")
    expect(page.get_by_text("a lies beside b, but c is nearer in the data.")).to_be_visible()
    assert breaches(page) == []
    keep(f"distortion-{look}")
    # The verdict is about the first map: other maps have no such groups.
    page.get_by_role("radio", name="Unsupervised").click()
    wait_for_map(page)
    expect(page.get_by_text("a lies beside b")).to_have_count(0)


def test_a_page_without_neighbours_has_no_such_switches(show):
    page = show(three_groups())
    expect(page.get_by_text("What the map distorts")).to_be_hidden()
