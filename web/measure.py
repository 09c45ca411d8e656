"""How quick the page is: first paint and frames while zooming and panning, and the server's memory.

    python web/measure.py [--rows 100000 1000000]

Needs Chromium on the PATH and the extra `dev`. Software GL: a graphics card is far faster; compare within one run.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from playwright.sync_api import sync_playwright

from prismap.page import Layer, PageData, Target, write_html

FLAGS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-background-networking"]
RECORD = """() => { window.frames_ = []; let last = performance.now(); window.recording = true;
  const tick = (now) => { window.frames_.push(now - last); last = now; if (window.recording) requestAnimationFrame(tick); };
  requestAnimationFrame(tick); }"""
SERVE = """
import sys
from prismap.page import serve
serve(sys.argv[1], open_browser=False, announce=lambda address: print(address, flush=True))
"""


def example(n_rows: int) -> PageData:
    """Ten round groups and eight columns."""
    rng = np.random.default_rng(0)
    codes = rng.integers(10, size=n_rows)
    angle = 2 * np.pi * codes / 10
    positions = 20 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(size=(n_rows, 2)) * 3
    layers = [Layer("map", "Map", positions), Layer("permuted", "Permuted", rng.normal(size=(n_rows, 2)))]
    columns = {f"column {i}": rng.normal(size=n_rows).astype(np.float32) for i in range(8)}
    return PageData(layers, f"{n_rows} rows", Target("class", "group", list("abcdefghij"), codes=codes), columns)


def memory(pid: int, key: str) -> float:
    """Megabytes of a process, from /proc."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))


def frames(page) -> str:
    """Frame times of 12 wheel steps and 15 drag steps over the map."""
    box = page.locator(".pm-canvas").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.evaluate(RECORD)
    started = time.perf_counter()
    for step in range(12):
        page.mouse.wheel(0, -120 if step < 6 else 120)
        page.wait_for_timeout(30)
    page.mouse.down()
    for step in range(15):
        page.mouse.move(x + 8 * step, y + 5 * step)
        page.wait_for_timeout(30)
    page.mouse.up()
    page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    wall = time.perf_counter() - started
    times = np.array(page.evaluate("() => { window.recording = false; return window.frames_.slice(1); }"))
    return (
        f"{wall:.1f} s for the script, frames: median {np.median(times):.0f} ms, p95 {np.quantile(times, 0.95):.0f} ms"
    )


def opened(browser, address: str):
    """A page at its first picture, with what it took."""
    page = browser.new_page(viewport={"width": 1366, "height": 768})
    started = time.perf_counter()
    page.goto(address)
    page.wait_for_selector("[data-ready=true]", timeout=120_000)
    ready = time.perf_counter() - started
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN")
    print(f"  first paint {paint / 1000:.2f} s, map drawn {ready:.2f} s")
    return page


def measure(browser, n_rows: int, folder: Path) -> None:
    """A file and a server over the same rows."""
    path = write_html(example(n_rows), folder / "map.html")
    print(f"{n_rows:,} rows, file of {path.stat().st_size / 1e6:.1f} MB")
    page = opened(browser, path.as_uri())
    print(f"  zoom and pan: {frames(page)}")
    page.close()
    with subprocess.Popen([sys.executable, "-c", SERVE, str(folder)], stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().strip()
            print(f" live at {urlsplit(address).netloc}")
            opened(browser, address).close()
            print(f"  server memory {memory(server.pid, 'VmRSS'):.0f} MB, peak {memory(server.pid, 'VmHWM'):.0f} MB")
        finally:
            server.kill()


def main() -> None:
    """Measure what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    with sync_playwright() as playwright:
        names = ("chromium", "chromium-browser", "google-chrome")
        program = next(found for name in names if (found := shutil.which(name)))
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        for n_rows in parser.parse_args().rows:
            with tempfile.TemporaryDirectory() as folder:
                measure(browser, n_rows, Path(folder))
        browser.close()


if __name__ == "__main__":
    main()
