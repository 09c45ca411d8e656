"""A real Chromium for the page: found on the PATH, with software GL; every foreign request is a failure."""

import gc
import os
import shutil
import threading
import time
import warnings
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Error, expect

from browser.hands import wait_for_map
from prismap.page import write_html

FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
# How long to wait for what must come; a busy machine draws slowly.
expect.set_options(timeout=20_000)
ARTIFACTS = Path(__file__).parents[2] / "test-artifacts"
#: Small, since the software renderer pays for every pixel; one test looks at the size of a laptop.
VIEWPORT = {"width": 1140, "height": 600}
SIZES = {"laptop": (1440, 900), "phone": (390, 844)}


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args):
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    if path is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium on the PATH, and this is CI: install the system package 'chromium'")
        pytest.skip("no Chromium on the PATH")
    return {**browser_type_launch_args, "executable_path": path, "args": FLAGS}


@pytest.fixture(scope="session")
def only_tab(browser):
    """One tab for all tests: a new one costs as much as a test."""
    context = browser.new_context(viewport=VIEWPORT, accept_downloads=True)
    yield context.new_page()
    context.close()


@pytest.fixture
def tab(only_tab):
    """The tab with its complaints and requests on record; nothing may complain, and nothing may leave the machine."""
    complaints, requested = [], []
    listeners = {
        "pageerror": lambda error: complaints.append(str(error)),
        "console": lambda message: message.type == "error" and complaints.append(message.text),
        "request": lambda request: requested.append(request.url),
    }
    for event, listener in listeners.items():
        only_tab.on(event, listener)
    only_tab.expected_complaints = 0
    yield only_tab
    for event, listener in listeners.items():
        only_tab.remove_listener(event, listener)
    only_tab.goto("about:blank")
    if only_tab.expected_complaints is not None:
        assert len(complaints) == only_tab.expected_complaints, complaints
    foreign = [
        url for url in requested if not url.startswith(("file:", "data:", "blob:", "about:", "http://127.0.0.1:"))
    ]
    assert foreign == []


@pytest.fixture(params=[("laptop", "light"), ("phone", "dark")], ids="-".join)
def look(request, tab):
    """The tab at a size and in a scheme; its name for screenshots."""
    before, (size, scheme) = tab.viewport_size, request.param
    tab.set_viewport_size(dict(zip(("width", "height"), SIZES[size], strict=True)))
    tab.emulate_media(color_scheme=scheme)
    yield f"{size}-{scheme}"
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size(before)


@pytest.fixture
def show(tab, tmp_path):
    """Write a self-contained page, open the file, wait for the points."""

    def open_page(data):
        tab.goto(write_html(data, tmp_path / "map.html").as_uri())
        return wait_for_map(tab)

    return open_page


@pytest.fixture
def run_app():
    """Serve an application in a thread; returns its address. Stopped with the test, or by the function returned."""
    running = []

    def start(app):
        config = uvicorn.Config(app, port=0, log_level="error", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]

        def stop():
            server.should_exit = True
            thread.join()
            # A connection that the browser keeps alive may still be open when the server's loop ends. It is collected
            # here, so that its warning does not come up in the middle of another test.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ResourceWarning)
                gc.collect()

        running.append(stop)
        return f"http://127.0.0.1:{port}/?token={app.state.token}", stop

    yield start
    for stop in running:
        stop()


@pytest.fixture
def keep(tab):
    """Keep a screenshot as an artefact of the run."""

    def save(name):
        ARTIFACTS.mkdir(exist_ok=True)
        try:
            tab.screenshot(path=ARTIFACTS / f"{name}.png")
        except Error:  # on a busy machine Chromium now and then has no frame to give
            tab.wait_for_timeout(1000)
            tab.screenshot(path=ARTIFACTS / f"{name}.png")

    return save
