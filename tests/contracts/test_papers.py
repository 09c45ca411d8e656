"""The page of the papers: every call on it can be made, every slow version and every page of figures is there."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
ROOMS = (
    "prismap", "prismap.metrics", "prismap.metrics.posteriors", "prismap.embeddings", "prismap.mappings",
    "prismap.inspection", "prismap.quality", "prismap.relevance", "prismap.learners", "prismap.transfer",
    "prismap.neighbors",
)  # fmt: skip
TESTS = [path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py") if path != Path(__file__)]
LINES = [line for line in PAGE.splitlines() if line.count("|") == 5 and "](" in line]
#: Lines without a formula of their own: the tree is compared with exact search, a grown map with a fit of all samples.
WITHOUT_SLOW = {"exact search over all pairs", "a fit of all samples"}


def resolved(node):
    """What a name, or a name of a class and its method, stands for."""
    if isinstance(node, ast.Attribute):
        return getattr(resolved(node.value), node.attr)
    for room in ROOMS:
        if hasattr(found := importlib.import_module(room), node.id):
            return getattr(found, node.id)
    raise AssertionError(f"{node.id} is in none of the public rooms")


def is_value(node):
    """Whether an argument is written out, and not the name of something that the reader has."""
    return isinstance(node, ast.Constant)


def test_the_page_has_its_lines():
    assert len(LINES) == 59


def calls(cell):
    """The calls in a cell, parsed."""
    parsed = (ast.parse(text, mode="eval").body for text in re.findall(r"`([^`]+)`", cell))
    return [made for made in parsed if isinstance(made, ast.Call)]


def check_call(made):
    """A call can be made: its parameters are there, and written values are allowed."""
    parameters = inspect.signature(resolved(made.func)).parameters
    assert {word.arg for word in made.keywords} <= set(parameters)
    assert len(made.args) <= len(parameters)
    values = [ast.literal_eval(one) for one in made.args if is_value(one)]
    given = {word.arg: ast.literal_eval(word.value) for word in made.keywords if is_value(word.value)}
    makes = hasattr(resolved(made.func), "_parameter_constraints") or ast.unparse(made.func).startswith("published.")
    if makes and len(values) == len(made.args):
        resolved(made.func)(*values, **given)._validate_params()


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.split("`")[1])
def test_calls_slow_versions_and_figures_are_there(line):
    _, call, slow, figures = (cell.strip() for cell in line.strip("|").split("|"))
    assert calls(call)
    for made in calls(call):
        check_call(made)
    if slow not in WITHOUT_SLOW:
        module, function = slow.strip("`").split(".")
        assert callable(getattr(importlib.import_module(f"reference.{module}"), function))
        assert any(function in text for text in TESTS)
    for link in re.findall(r"\]\(([^)]+)\)", figures):
        assert (ROOT / "docs" / link).exists()
    assert "](" in figures


def test_every_published_method_is_on_the_page():
    from prismap import published

    assert not [name for name in published.__all__ if f"published.{name}(" not in PAGE]
