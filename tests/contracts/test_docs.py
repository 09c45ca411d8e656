"""What is written is true: every public name is documented, stated defaults are the real ones, and examples run."""

import ast
import doctest
import importlib
import inspect
import io
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import prismap

SOURCE = Path(prismap.__file__).parent
ROOT = SOURCE.parents[1]
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [ROOT / "README.md"]
PAGES = [page for page in PAGES if not {"_build", "gallery", "reference"} & set(page.relative_to(ROOT).parts)]
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e[+-]?\d+)?")
ROW = re.compile(r"^\| `(\w+)` \| `([^`]*)` \|", re.MULTILINE)


def public_objects():
    """Every class and function that a room exports, by its full name."""
    found = {}
    for room in ["", *(f".{name}" for name in prismap._ROOMS)]:
        module = importlib.import_module(f"prismap{room}")
        for name in getattr(module, "__all__", ()):
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                found[f"prismap{room}.{name}"] = value
    return found


OBJECTS = public_objects()
MODULES = sorted(
    "prismap." + ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)
EXAMPLES = [page for page in PAGES if any(">>> " in block for block in FENCE.findall(page.read_text("utf-8")))]


def parameters_of(value):
    if inspect.isclass(value) and issubclass(value, BaseException):
        return {}
    return {
        name: parameter.default
        for name, parameter in inspect.signature(value).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }


def same(written, default):
    """Whether the text of a default is the default: `1e-3` is 0.001."""
    try:
        return ast.literal_eval(written) == default
    except (ValueError, SyntaxError):
        return written == repr(default)


def test_every_public_name_says_what_it_is():
    assert len(OBJECTS) > 60
    bare = [name for name, value in OBJECTS.items() if not (inspect.getdoc(value) or "").strip()]
    bare += [
        f"{name}.{method}"
        for name, value in OBJECTS.items() if inspect.isclass(value)
        for method, member in vars(value).items()
        if inspect.isfunction(member) and not method.startswith("_") and not inspect.getdoc(getattr(value, method))
    ]  # fmt: skip
    assert not bare


def names_in_code(text):
    """The words of a page that stand in fences and between backticks."""
    return set(re.findall(r"\w+", " ".join(re.findall(r"```.*?```|`[^`\n]+`", text, re.DOTALL))))


def test_every_public_name_stands_on_a_page():
    """On a page for users: decisions and results are records. What no page needs is not in `__all__`."""
    records = {"decisions", "results"}
    pages = [page for page in PAGES if not records & set(page.relative_to(ROOT).parts)]
    written = set().union(*(names_in_code(page.read_text("utf-8")) for page in pages))
    for example in (ROOT / "examples").glob("*.py"):
        written |= set(re.findall(r"\w+", example.read_text("utf-8")))
    rooms = ["prismap", *(f"prismap.{path.parent.name}" for path in SOURCE.glob("[!_]*/__init__.py"))]
    public = {(room, name) for room in rooms for name in getattr(importlib.import_module(room), "__all__", ())}
    assert len(public) > 100
    assert not sorted(f"{room}.{name}" for room, name in public if name not in written)


def test_files_named_on_pages_exist():
    folders = [ROOT, SOURCE, SOURCE.parent]
    n_checked, wrong = 0, []
    for page in [*PAGES, ROOT / "CONTRIBUTING.md"]:
        text = page.read_text("utf-8")
        near = [SOURCE / room for room in re.findall(r"`src/prismap/(\w+(?:/posteriors)?)/", text)]
        for path in re.findall(r"`([\w/]+\.py)`", text):
            n_checked += 1
            if not any((folder / path).exists() for folder in folders + near):
                wrong.append(f"{page.relative_to(ROOT)}: {path}")
    assert n_checked > 50
    assert not wrong, "\n".join(wrong)


def test_every_parameter_of_an_estimator_is_described():
    estimators = {n: v for n, v in OBJECTS.items() if inspect.isclass(v) and issubclass(v, BaseEstimator)}
    assert len(estimators) > 15
    missing = [
        f"{name}({parameter})"
        for name, value in estimators.items()
        for parameter in parameters_of(value)
        if not re.search(rf"^\s*(\w+, )*{parameter}(, \w+)* :", inspect.getdoc(value), re.MULTILINE)
    ]
    # Two wrappers with nothing to explain beyond their line.
    assert [one for one in missing if "NamedMetric" not in one] == []


def test_defaults_written_in_docstrings_are_the_real_ones():
    n_checked, wrong = 0, []
    for name, value in OBJECTS.items():
        for parameter, default in parameters_of(value).items():
            stated = re.search(rf"^\s*{parameter} :.*\bdefault=(.+)$", inspect.getdoc(value) or "", re.MULTILINE)
            if stated:
                n_checked += 1
                if not same(stated[1].strip().rstrip("."), default):
                    wrong.append(f"{name}({parameter}): written {stated[1]}, is {default!r}")
    assert n_checked > 60
    assert not wrong, "\n".join(wrong)


def test_defaults_on_the_page_of_parameters_are_the_real_ones():
    by_name = {name.rsplit(".", 1)[1]: value for name, value in OBJECTS.items()}
    text = (ROOT / "docs" / "parameters.md").read_text("utf-8")
    sections = re.split(r"^## `(\w+)`$", text, flags=re.MULTILINE)[1:]
    n_checked = 0
    for name, section in zip(sections[::2], sections[1::2], strict=True):
        real = parameters_of(by_name[name])
        for parameter, written in ROW.findall(section):
            assert same(written, real[parameter]), f"{name}({parameter}): written {written}, is {real[parameter]!r}"
            n_checked += 1
        if name == "PrisMap":
            assert set(real) == {parameter for parameter, _ in ROW.findall(section)}
    assert n_checked > 30


class Checker(doctest.OutputChecker):
    """Numbers may differ in digits that depend on the machine's linear algebra."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        if NUMBER.sub("#", want) != NUMBER.sub("#", got):
            return False
        return np.allclose([float(x) for x in NUMBER.findall(want)], [float(x) for x in NUMBER.findall(got)], 1e-9)


def run_doctest(test):
    report = io.StringIO()
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=doctest.ELLIPSIS)
    assert test.examples
    failed = runner.run(test, out=report.write, clear_globs=False).failed
    assert not failed, report.getvalue()


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    module = importlib.import_module(name)
    tests = [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]
    assert tests
    for test in tests:
        run_doctest(test)


@pytest.mark.parametrize("document", EXAMPLES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_examples_on_pages_run(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = [block for block in FENCE.findall(document.read_text("utf-8")) if ">>> " in block]
    run_doctest(doctest.DocTestParser().get_doctest("\n".join(blocks), {}, document.name, str(document), 0))


def test_imports_on_pages_exist():
    n_checked, wrong = 0, []
    for page in PAGES:
        for module, names in re.findall(
            r"^(?:>>> )?from (prismap[\w.]*) import ([\w, ]+)", page.read_text("utf-8"), re.M
        ):
            for name in names.split(","):
                n_checked += 1
                if not hasattr(importlib.import_module(module), name.strip()):
                    wrong.append(f"{page.relative_to(ROOT)}: {module}.{name.strip()}")
    assert n_checked > 20
    assert not wrong, "\n".join(wrong)


def test_links_between_pages_lead_somewhere():
    n_checked, wrong = 0, []
    for page in PAGES:
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", text):
            if "://" in link:
                continue
            n_checked += 1
            target = (page.parent / link).resolve()
            made = {"gallery": ROOT / "examples" / f"{target.stem}.py", "reference": ROOT / "docs" / "conf.py"}
            if target.stem == "index":
                made["gallery"] = ROOT / "examples" / "GALLERY_HEADER.rst"
            if not made.get(target.parent.name, target).exists():
                wrong.append(f"{page.relative_to(ROOT)}: {link}")
    assert n_checked > 50
    assert not wrong, "\n".join(wrong)


def test_accuracies_on_front_pages_stand_in_the_results():
    """Percentages with a decimal, in sentences and tables; ratios come from `make bench`."""
    results = "\n".join(path.read_text("utf-8") for path in (ROOT / "docs" / "results").glob("*.md"))
    measured = set(re.findall(r"\d+\.\d+", results))
    pages = [
        ROOT / "README.md",
        *(ROOT / "docs" / f"{name}.md" for name in ("index", "guide/trust", "guide/which_metric")),
    ]
    stated = [number for page in pages for number in re.findall(r"(\d+\.\d)(?= %| \|)", page.read_text("utf-8"))]
    assert len(stated) > 10
    assert not set(stated) - measured
