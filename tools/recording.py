"""Two pictures and a short recording of the page for README and docs/start.md: docs/images/page*.

    prismap demo -o demo && python tools/recording.py demo/map.html

Needs Chromium on the PATH, playwright and Pillow. The recording is a GIF of screenshots, each with its time.
"""

import io
import math
import shutil
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 1180, "height": 720}
#: Width of the recording in pixels, and its number of colours.
WIDTH, COLOURS = 900, 256


class Recording:
    """Screenshots with the time that each is shown, in milliseconds."""

    def __init__(self, page):
        self.page = page
        self.frames, self.times = [], []

    def frame(self, milliseconds, *, wait=700):
        """What is seen once it has settled."""
        self.page.wait_for_timeout(wait)
        self.frames.append(Image.open(io.BytesIO(self.page.screenshot())).convert("RGB"))
        self.times.append(milliseconds)

    def save(self, path):
        """One palette for all frames, so that what does not change takes no room."""
        height = round(WIDTH * SIZE["height"] / SIZE["width"])
        small = [frame.resize((WIDTH, height), Image.Resampling.LANCZOS) for frame in self.frames]
        wall = Image.new("RGB", (WIDTH, height * len(small)))
        for i, frame in enumerate(small):
            wall.paste(frame, (0, i * height))
        palette = wall.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
        frames = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in small]
        frames[0].save(path, save_all=True, append_images=frames[1:], duration=self.times, loop=0, optimize=True)


def lasso(page, x, y, r):
    """Draw a circle with the lasso around a place on the screen."""
    page.get_by_role("button", name="Lasso (L)").click()
    page.mouse.move(x + r, y)
    page.mouse.down()
    for step in range(1, 17):
        page.mouse.move(x + r * math.cos(step * math.pi / 8), y + r * math.sin(step * math.pi / 8))
        page.wait_for_timeout(30)
    page.mouse.up()
    page.get_by_role("button", name="Move (P)").click()


def settled(page):
    """Wait until the points are drawn: a busy machine draws slowly."""
    page.wait_for_selector("[data-ready=true]")
    page.wait_for_timeout(2500)


def keep(page, name):
    """A picture with few colours."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(128, dither=Image.Dither.NONE).save(IMAGES / f"{name}.png", optimize=True)


def play(page, film):
    """What the recording shows: the verdict, the baselines, a selection, pictures, charts, a second map."""
    film.frame(1800)
    for name in ("without target", "permuted target", "map"):
        page.get_by_role("radio", name=name, exact=True).click()
        film.frame(350, wait=250)
        film.frame(1500, wait=1500)
    box = page.locator(".pm-canvas").bounding_box()
    centre = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    lasso(page, centre[0] - 0.02 * box["width"], centre[1] + 0.3 * box["height"], 0.12 * box["height"])
    film.frame(2200, wait=1500)
    page.get_by_role("button", name="Zoom to").click()
    film.frame(2200, wait=1800)
    page.get_by_role("button", name="Clear").click()
    page.get_by_role("button", name="Whole map (0)").click()
    page.get_by_role("tab", name="Verdict").click()
    page.get_by_role("button", name="Charts of columns (C)").click()
    film.frame(1200, wait=1500)
    plot = page.locator(".pm-chart-plot").first.bounding_box()
    page.mouse.move(plot["x"] + 0.6 * plot["width"], plot["y"] + 20)
    page.mouse.down()
    page.mouse.move(plot["x"] + plot["width"] - 1, plot["y"] + 20, steps=5)
    page.mouse.up()
    film.frame(1800, wait=1500)
    page.get_by_role("button", name="A second map (S)").click()
    film.frame(2600, wait=2500)


def main(source):
    """Write the pictures and the recording."""
    path = next(found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(Path(source).resolve().as_uri())
        settled(page)
        keep(page, "page")
        film = Recording(page)
        play(page, film)
        film.save(IMAGES / "page.gif")
        page.emulate_media(color_scheme="dark")
        page.goto("about:blank")
        page.goto(Path(source).resolve().as_uri() + "#beside=unsupervised~target&contours=1")
        settled(page)
        keep(page, "page_beside")
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
