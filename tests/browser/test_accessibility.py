"""The page keeps the rules for keyboards, screen readers and weak eyes, in every state a user gets to."""

from itertools import pairwise

import pytest
from playwright.sync_api import expect

from browser.accessibility import breaches
from browser.examples import BROWSER, three_groups

pytestmark = BROWSER


@pytest.mark.parametrize("dark", [False, True])
def test_every_panel_keeps_the_rules(show, dark):
    page = show(three_groups())
    if dark:
        page.get_by_label("Light or dark").click()
    page.get_by_text("Appearance").click()
    page.get_by_text("How this map was made").click()
    assert breaches(page) == []
    page.get_by_label("Search rows").fill("item-0")
    expect(page.locator(".pm-result").first).to_be_visible()
    assert breaches(page) == []
    page.keyboard.press("Enter")
    expect(page.locator(".pm-table")).to_be_visible()
    assert breaches(page) == []
    page.get_by_role("tab", name="Features").click()
    page.get_by_role("button", name="height").click()
    expect(page.locator(".pm-histogram")).to_be_visible()
    assert breaches(page) == []


@pytest.fixture
def phone(tab):
    before = tab.viewport_size
    tab.set_viewport_size({"width": 390, "height": 844})
    yield
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size(before)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_map_and_verdict_on_its_first_screen(phone, tab, show, keep, scheme):
    tab.emulate_media(color_scheme=scheme)
    page = show(three_groups())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = {
        name: page.locator(name).bounding_box() for name in (".pm-map", ".pm-tools", ".pm-digest", ".pm-search", "h1")
    }
    ends = {name: box["y"] + box["height"] for name, box in boxes.items()}
    assert ends[".pm-digest"] <= 844
    assert boxes[".pm-map"]["height"] > 300
    order = ["h1", ".pm-search", ".pm-map", ".pm-tools", ".pm-digest"]
    for above, below in pairwise(order):
        assert ends[above] <= boxes[below]["y"] + 1, f"{above} covers {below}"
    assert breaches(page) == []
    keep(f"phone-{scheme}")
    page.get_by_role("button", name="Verdict: The labels show").click()
    expect(page.get_by_role("heading", name="1-NN error")).to_be_in_viewport()


def test_the_check_itself_finds_breaches(tab):
    tab.set_content(
        "<title>x</title><button></button><input><ul><b>no item</b></ul>"
        "<p style='color:#999;background:#fff'>pale</p><i id=a></i><i id=a></i>"
    )
    found = " ".join(breaches(tab))
    rules = ("duplicate id", "no language", "one main", "what this does", "no label", "a list with", "contrast 2.85")
    assert [rule for rule in rules if rule not in found] == []


def test_tab_reaches_the_controls_in_reading_order_and_shows_where_it_is(show):
    page = show(three_groups())
    page.locator("body").click(position={"x": 5, "y": 5})
    reached = []
    for _ in range(60):
        page.keyboard.press("Tab")
        place = page.evaluate(
            """() => { const e = document.activeElement; if (e === document.body) return null;
            const ring = getComputedStyle(e).outlineStyle !== "none";
            return [e.getAttribute("aria-label") ?? e.textContent.trim() ?? "", ring, e.type ?? ""]; }"""
        )
        if place is None:
            break
        reached.append(place)
    names = [name for name, _, _ in reached]
    for name in ("Download", "Keys and hints (?)", "Fisher map", "Lasso (L)", "Verdict"):
        assert any(found.startswith(name) for found in names), name
    assert any(name.startswith("Map of 90 rows") for name in names)
    assert all(ring for _, ring, _ in reached)
