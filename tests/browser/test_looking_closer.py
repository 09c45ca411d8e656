"""Charts that filter, a second map, density and images, on a laptop and on a phone, light and dark."""

import re

import numpy as np
from playwright.sync_api import expect

from browser.accessibility import breaches
from browser.examples import BROWSER, three_groups
from browser.hands import count, lasso, wait_for_map

pytestmark = BROWSER

#: Pixels with a colour on the n-th map.
COLOURED = """([index, least]) => { const c = document.querySelectorAll('.pm-canvas')[index];
    const p = document.createElement('canvas'); [p.width, p.height] = [c.width, c.height];
    const pen = p.getContext('2d'); pen.drawImage(c, 0, 0);
    const d = pen.getImageData(0, 0, p.width, p.height).data; let n = 0;
    for (let i = 0; i < d.length; i += 4) {
      const rgb = [d[i], d[i+1], d[i+2]];
      if (d[i+3] > 0 && Math.max(...rgb) - Math.min(...rgb) > 25) n++;
    }
    return n >= least; }"""

#: Pixels that are painted over the first map.
PAINTED = """() => { const c = document.querySelector('.pm-overlay');
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;
    for (let i = 3; i < d.length; i += 4) n += d[i] > 0;
    return n; }"""


def shown(page):
    return page.locator(".pm-status")


def test_charts_filter_the_map_and_each_other(look, show, keep):
    page = show(three_groups())
    page.get_by_role("button", name="Charts of columns").click()
    city, height = (page.get_by_role("group", name=name) for name in ("city", "height"))
    expect(city.get_by_role("button", name="Ulm")).to_be_visible()
    # On the page: the most relevant columns first.
    assert page.locator(".pm-chart-head b").all_inner_texts() == ["height", "city", "noise"]
    city.get_by_role("button", name="Bonn").click()
    expect(shown(page)).to_have_text("33 of 90 rows shown.")
    expect(city.get_by_role("button", name="Bonn")).to_have_attribute("aria-pressed", "true")
    plot = height.locator(".pm-chart-plot").bounding_box()
    page.mouse.move(plot["x"] + 1, plot["y"] + 20)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] * 0.5, plot["y"] + 20, steps=3)
    page.mouse.up()
    expect(shown(page)).to_have_text("32 of 90 rows shown.")
    page.wait_for_function("() => location.hash.includes('brush=')")
    assert breaches(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    keep(f"charts-{look}")
    page.get_by_role("button", name="Select these rows").click()
    expect(count(page)).to_have_text("32 rows")
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+z")
    expect(shown(page)).to_have_text("33 of 90 rows shown.")
    page.get_by_role("button", name="Clear filters").click()
    expect(shown(page)).to_have_text("")


def test_a_second_map_follows_selection_hover_and_filter(look, show, keep):
    data = three_groups()
    page = show(data)
    page.get_by_role("button", name="A second map").click()
    expect(page.get_by_label("Second map", exact=True)).to_have_value("unsupervised")
    for index in (0, 1):
        page.wait_for_function(COLOURED, arg=[index, 500])
    page.get_by_label("Second map", exact=True).select_option("fisher")
    page.get_by_label("Colour of the second map").select_option(label="height")
    assert page.locator(".pm-map").count() == 2
    assert breaches(page) == []
    page.locator(".pm-entry").first.hover()
    page.get_by_role("button", name="only").first.click()
    expect(shown(page)).to_have_text("30 of 90 rows shown.")
    keep(f"beside-{look}")
    page.locator(".pm-beside .pm-canvas").scroll_into_view_if_needed()
    box = page.locator(".pm-beside .pm-canvas").bounding_box()
    radius = 0.48 * min(box["width"], box["height"]) / page.locator(".pm-canvas").first.bounding_box()["height"]
    lasso(page, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), radius)
    expect(count(page)).to_have_text(re.compile(r"^[12]?\d rows$|^30 rows$"))
    page.get_by_role("button", name="Close the second map").click()
    expect(page.locator(".pm-map")).to_have_count(1)


def test_density_and_its_lines_at_any_size(look, show, keep):
    page = show(three_groups())
    page.get_by_text("Appearance").click()
    page.get_by_label("Density behind the points").check()
    page.wait_for_function(COLOURED, arg=[0, 6000])
    before = page.evaluate("document.querySelector('.pm-overlay').toDataURL().length")
    page.get_by_label("Lines around 25, 50, 75 and 95 %").check()
    page.wait_for_function(f"() => document.querySelector('.pm-overlay').toDataURL().length > {before} + 1000")
    expect(page.get_by_label("Both by the number of points in view")).to_be_checked()
    page.get_by_label("Point size").fill("3")
    expect(page.get_by_label("Both by the number of points in view")).not_to_be_checked()
    keep(f"density-{look}")


def test_a_link_brings_charts_filters_and_the_second_map_back(show, tab):
    page = show(three_groups())
    url = page.url.split("#")[0]
    tab.goto("about:blank")
    tab.goto(f"{url}#charts=0.2&brush=2~~0&beside=permuted~target")
    wait_for_map(tab)
    expect(shown(tab)).to_have_text("33 of 90 rows shown.")
    expect(tab.get_by_label("Second map", exact=True)).to_have_value("permuted")
    tab.get_by_role("button", name="Select these rows").click()
    expect(count(tab)).to_have_text("33 rows")


def test_pictures_in_colour_on_the_map_and_of_a_selection(look, show, keep):
    images = np.zeros((90, 4, 5, 3), dtype=np.uint8)
    images[np.arange(90), 0, 0, np.arange(90) % 3] = 255  # red, green or blue by class
    page = show(three_groups(images=images))
    plain = page.evaluate(PAINTED)
    page.locator(".pm-map").focus()
    page.keyboard.press("+")  # once: further in, all three groups are out of a small view
    page.wait_for_function(f"() => ({PAINTED})() > {plain + 3000}")
    keep(f"images-{look}")
    page.get_by_label("Search rows").fill("group = a")
    page.keyboard.press("Enter")
    expect(count(page)).to_have_text("30 rows")
    first = (
        "label => [...document.querySelector(`[aria-label='${label}']`).getContext('2d').getImageData(0,0,1,1).data]"
    )
    assert page.evaluate(first, "mean image of the selection") == [255, 0, 0, 255]
    assert page.evaluate(first, "difference from the mean of all other rows") == [255, 255, 255, 255]
    assert breaches(page) == []
