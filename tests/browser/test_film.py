"""The maps before this one: a slider and a strip, by hand, by keyboard and for those who want less motion."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect

from browser.accessibility import breaches
from browser.examples import BROWSER, CENTRES, three_groups
from browser.hands import wait_for_map
from browser.test_looking_closer import COLOURED, PAINTED
from prismap.page._data import Version

pytestmark = BROWSER


@pytest.fixture(scope="module")
def data():
    """Two maps before: group c was elsewhere, half of group a was not there, and another group is gone."""
    codes = np.arange(90) % 3
    now = three_groups().layers[0].positions
    february, january = now + (codes == 2)[:, None] * [0, -8.0], now + (codes == 2)[:, None] * [0, -20.0]
    january[(codes == 0) & (np.arange(90) < 45)] = np.nan
    gone = CENTRES[1] + [0, 8] + np.random.default_rng(2).normal(size=(20, 2))
    versions = [Version("january", january, gone), Version("february", february, np.empty((0, 2)))]
    return three_groups(title="march", versions=versions, changes=("Moved: c.", "Gone: d."))


def test_rows_move_from_map_to_map(look, show, keep, data):
    page = show(data)
    film = page.get_by_role("region", name="Earlier maps")
    slider = film.get_by_role("slider", name="Time")
    expect(slider).to_have_value("2")
    expect(slider).to_have_attribute("aria-valuetext", "march")
    expect(film).to_contain_text("Since february: Moved: c. Gone: d.")
    before = page.evaluate(PAINTED)
    film.get_by_role("button", name="january").click()
    expect(slider).to_have_value("0")
    wait_for_map(page)
    expect(page.locator(".pm-about")).to_have_text(
        "The rows of this map as they were on “january”; hollow ones are gone."
    )
    page.wait_for_function(f"() => ({PAINTED})() > {before + 200}")  # the rows that are gone
    page.wait_for_function(COLOURED, arg=[0, 300])
    assert breaches(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    keep(f"film-{look}")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_value("0.05")
    expect(slider).to_have_attribute("aria-valuetext", "near january")
    page.wait_for_function("() => location.hash.includes('time=0.05')")
    # Another map of the page has no time.
    page.get_by_role("radio", name="Unsupervised").click()
    expect(film).to_be_hidden()


def test_it_plays_to_the_end_and_stops_by_hand(show, data):
    page = show(data)
    film = page.get_by_role("region", name="Earlier maps")
    slider = film.get_by_role("slider", name="Time")
    film.get_by_role("button", name="january").click()
    film.get_by_role("button", name="Play").click()
    page.wait_for_function("() => Number(document.querySelector('.pm-film input').value) > 0")
    film.get_by_role("button", name="Pause").click()
    expect(film.get_by_role("button", name="Play")).to_be_visible()
    film.get_by_role("button", name="Play").click()
    expect(slider).to_have_value("2")
    expect(film.get_by_role("button", name="Play")).to_be_visible()
    expect(film.get_by_role("button", name="march")).to_have_attribute("aria-pressed", "true")


def test_with_less_motion_it_goes_from_map_to_map(show, tab, data):
    tab.emulate_media(reduced_motion="reduce")
    page = show(data)
    page.evaluate("""() => { window.times = []; const s = document.querySelector('.pm-film input');
        const note = () => { if (window.times.at(-1) !== s.value) window.times.push(s.value);
                            requestAnimationFrame(note); };
        note(); }""")
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("() => window.times.length > 2 && window.times.at(-1) === '2'")
    assert page.evaluate("window.times") == ["2", "0", "1", "2"]
    tab.emulate_media(reduced_motion="no-preference")


def test_a_link_brings_the_time_back_and_a_page_without_earlier_maps_has_no_slider(show, tab, data):
    page = show(data)
    url = page.url.split("#")[0]
    tab.goto("about:blank")
    tab.goto(f"{url}#time=0.50")
    wait_for_map(tab)
    expect(tab.get_by_role("slider", name="Time")).to_have_attribute("aria-valuetext", re.compile("near"))
    page = show(three_groups())
    expect(page.locator(".pm-film")).to_be_hidden()
