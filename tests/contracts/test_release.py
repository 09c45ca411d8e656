"""What is released: one version, complete metadata, and packages that hold what they need."""

import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import prismap

ROOT = Path(prismap.__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    """Wheel and sdist, built here."""
    folder = tmp_path_factory.mktemp("dist")
    wheel = next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    sdist = next(SdistBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"]))
    return Path(wheel), Path(sdist)


def test_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"]
    assert re.fullmatch(r"\d+\.\d+\.\d+(\.?(dev|a|b|rc)\d+)?", prismap.__version__)
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    assert cited[1] == prismap.__version__
    assert f"## {prismap.__version__} " in (ROOT / "CHANGELOG.md").read_text("utf-8")


def test_all_holds_every_extra_for_users():
    extras = PROJECT["optional-dependencies"]
    (everything,) = extras["all"]
    listed = set(re.search(r"\[(.*)\]", everything)[1].split(","))
    assert listed == set(extras) - {"all", "dev", "docs", "umap"}  # umap is for comparisons


def test_wheel_holds_package_page_and_types_only(packages):
    wheel, _ = packages
    assert wheel.name.startswith(f"prismap-{prismap.__version__}-py3-none-any")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = next(archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
        scripts = next(archive.read(name).decode() for name in names if name.endswith("entry_points.txt"))
    assert {"prismap/py.typed", "prismap/_version.py", "prismap/page/static/prismap.js"} <= names
    assert {name.split("/")[0] for name in names} == {"prismap", f"prismap-{prismap.__version__}.dist-info"}
    assert not [name for name in names if name.endswith((".pyc", ".map")) or "/tests/" in name]
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "prismap = prismap.cli:entry" in scripts
    assert "Requires-Python: >=3.11" in metadata
    assert "Typing :: Typed" in metadata


def test_sdist_can_be_tested_and_documented(packages):
    _, sdist = packages
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    needed = {
        "pyproject.toml", "LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "Makefile", "docs/conf.py",
        "docs/images/digits.png", "src/prismap/py.typed", "src/prismap/page/static/prismap.js",
        "tests/contracts/test_release.py", "examples/plot_01_start.py",
    }  # fmt: skip
    assert not needed - names
    assert not [name for name in names if name.startswith((".venv", "docs/_build", "docs/gallery", "demo/"))]


def test_the_conda_recipe_asks_for_the_same():
    recipe = (ROOT / "recipe" / "meta.yaml").read_text("utf-8")
    assert f'{{% set version = "{prismap.__version__}" %}}' in recipe
    asked = re.search(r"  run:\n((?:    - .*\n)+)", recipe)[1]
    wanted = {
        f"python {PROJECT['requires-python']}",
        *(re.sub("(>=)", r" \1", d.lower()) for d in PROJECT["dependencies"]),
    }
    assert set(re.findall(r"- (.*)", asked)) == wanted


def test_a_stranger_finds_how_to_take_part():
    for name in ("CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff"):
        assert len((ROOT / name).read_text("utf-8")) > 300
    assert {path.name for path in (ROOT / ".github" / "ISSUE_TEMPLATE").iterdir()} == {
        "bug.yml",
        "config.yml",
        "idea.yml",
    }
