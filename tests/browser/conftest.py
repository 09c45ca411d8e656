"""A real Chromium for the page: found on the PATH, with software GL; every foreign request is a failure."""

import os
import shutil
from pathlib import Path

import pytest

FLAGS = [
    "--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
ARTIFACTS = Path(__file__).parents[2] / "test-artifacts"


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
def browser_context_args(browser_context_args):
    return {**browser_context_args, "viewport": {"width": 1366, "height": 768}, "accept_downloads": True}


@pytest.fixture
def watched(page):
    """The page with its complaints and requests on record."""
    page.complaints = []
    page.requested = []
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("console", lambda message: message.type == "error" and page.complaints.append(message.text))
    page.on("request", lambda request: page.requested.append(request.url))
    return page


@pytest.fixture
def keep(page):
    """Keep a screenshot as an artefact of the run."""

    def save(name):
        ARTIFACTS.mkdir(exist_ok=True)
        page.screenshot(path=ARTIFACTS / f"{name}.png")

    return save
