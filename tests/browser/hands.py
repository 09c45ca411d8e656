"""What a user's hands do: wait for the map, point at a row, draw a lasso, read the count."""

import math

import numpy as np
from playwright.sync_api import expect


def wait_for_map(page):
    """A hand that moves before the points are drawn finds none, and a hand that rests then is not seen."""
    page.wait_for_selector("[data-ready=true]")
    expect(page.locator(".pm-map[aria-busy=true]")).to_have_count(0)
    return page


def on_screen(page, position, data):
    """Where a position of the first layer is on the screen, while the whole map is shown."""
    wait_for_map(page)
    positions = data.layers[0].positions
    centre = (positions.min(0) + positions.max(0)) / 2
    radius = np.ptp(positions, axis=0).max() / 2 * 1.06
    box = page.locator(".pm-canvas").first.bounding_box()
    x, y = (np.asarray(position) - centre) / radius * box["height"] / 2
    return box["x"] + box["width"] / 2 + x, box["y"] + box["height"] / 2 - y


def point_at(page, row, data):
    """Move the mouse to a row."""
    page.mouse.move(*on_screen(page, data.layers[0].positions[row], data))


def lasso(page, centre=None, radius=0.49):
    """Draw a circle with the lasso; `centre` on the screen (default: the middle), `radius` as a part of the height."""
    wait_for_map(page)
    box = page.locator(".pm-canvas").first.bounding_box()
    x, y = centre or (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    r = radius * box["height"]
    page.get_by_role("button", name="Lasso (L)").click()
    page.mouse.move(x + r, y)
    page.mouse.down()
    for step in range(1, 11):
        angle = 2 * math.pi * step / 10
        page.mouse.move(x + r * math.cos(angle), y + r * math.sin(angle))
        page.wait_for_timeout(10)
    page.mouse.up()


def count(page):
    """The number of selected rows, as the page says it."""
    return page.locator("[data-test=count]")
