"""The page keeps the rules for keyboards, screen readers and weak eyes, in every state a user gets to."""

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
        page.wait_for_timeout(400)
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
    page.wait_for_timeout(200)
    assert breaches(page) == []


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
