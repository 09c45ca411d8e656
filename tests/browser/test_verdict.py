"""What is read first: warnings in amber, then three answers, and everything else one fold away."""

import pytest
from playwright.sync_api import expect

from browser.accessibility import breaches
from browser.examples import BROWSER, three_groups
from prismap.quality import MapReport, NullResult
from prismap.quality._estimates import Estimate
from prismap.quality._scores import TargetScore
from prismap.quality._statements import Statement

pytestmark = BROWSER

LEAK = Statement(
    "leaking_column", "Column 'final_invoice' alone gives 0.0 % error: is it a copy of the target? Then leave it out.",
    "warning", "yes", {"error": 0.0}, about=("final_invoice",),
)  # fmt: skip
SIZES = {"screen": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}


def report(*findings, error=0.03):
    """A report with all that a table usually has."""
    scores = [
        TargetScore(
            name, Estimate(error, 0.01), 0.5, Estimate(error, 0.01), Estimate(0.2, 0.02), NullResult((0.5, 0.49), 0.5),
            NullResult((0.48, 0.51), 0.5),
        )
        for name in ("10-NN error", "1-NN error")
    ]  # fmt: skip
    more = {"notes": ("One note.", "Another note."), "limits": ("the method",), "settings": {"method": "tsne"}}
    return MapReport("class", 900, 400, scores=tuple(scores), findings=findings, **more)


@pytest.fixture(params=SIZES)
def sized(request, tab):
    before = tab.viewport_size
    tab.set_viewport_size(SIZES[request.param])
    yield request.param
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size(before)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_leak_is_seen_first_and_takes_the_green_away(sized, tab, show, keep, scheme):
    tab.emulate_media(color_scheme=scheme)
    page = show(three_groups(report=report(LEAK).to_dict()))
    green, amber = page.evaluate(
        """() => { const style = getComputedStyle(document.querySelector('.pm-app'));
        const probe = document.body.appendChild(document.createElement('i'));
        const colours = ['--pm-good', '--pm-amber'].map((name) => {
          probe.style.color = style.getPropertyValue(name); return getComputedStyle(probe).color; });
        probe.remove(); return colours; }"""
    )
    if sized == "phone":
        digest = page.locator(".pm-digest")
        expect(digest).to_be_in_viewport()
        expect(digest).to_contain_text("Column 'final_invoice' alone gives")
        assert digest.evaluate("one => getComputedStyle(one).borderLeftColor") == amber
        digest.click()
    first = page.locator(".pm-verdict > *").first
    expect(first).to_contain_text("warning Column 'final_invoice' alone gives")
    expect(first).to_be_in_viewport()
    assert first.evaluate("one => getComputedStyle(one).borderLeftColor") == amber
    colours = page.locator(".pm-verdict").evaluate(
        """panel => [...panel.querySelectorAll('*')].flatMap((one) => {
        const style = getComputedStyle(one); return [style.color, style.borderLeftColor]; })"""
    )
    assert green not in colours
    assert breaches(page) == []
    keep(f"verdict-leak-{sized}-{scheme}")


def test_a_map_that_is_well_is_green(tab, show):
    show(three_groups(report=report().to_dict()))
    expect(tab.locator(".pm-verdict .pm-sentence").first).to_have_class("pm-sentence pm-statements pm-good")
    expect(tab.locator(".pm-tag-good")).to_have_text(["yes", "no", "yes"])
    show(three_groups(report=report(error=0.43).to_dict()))
    expect(tab.locator(".pm-tag").first).to_have_text("cannot tell")
    expect(tab.locator(".pm-verdict .pm-sentence").first).to_have_class("pm-sentence pm-statements pm-neutral")


def test_the_report_of_a_table_fits_on_one_screen_and_the_rest_is_one_fold_away(tab, show):
    before = tab.viewport_size
    tab.set_viewport_size(SIZES["screen"])
    made = report(LEAK)
    page = show(three_groups(report=made.to_dict()))
    assert page.locator(".pm-panel:visible").evaluate("panel => panel.scrollHeight <= panel.clientHeight")
    for one in made.statements:
        line = page.locator(".pm-verdict li", has_text=one.words.split(":")[0])
        expect(line.first).to_be_visible(visible=one.level != "detail")
    page.get_by_text("Everything else").click()
    expect(page.locator(".pm-verdict li", has_text="One note.")).to_be_visible()
    page.get_by_text("How this map was made").click()
    expect(page.get_by_text(made.methods_sentence.split(";")[0])).to_be_visible()
    assert breaches(page) == []
    tab.set_viewport_size(before)
