"""Counts that may only go down: each of them is a way in which a reader gets lost.

A change that lowers a count lowers its limit here, so that it does not rise again.
"""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

import prismap

ROOT = Path(prismap.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

#: Branches on the kind of a target, outside the room that owns it.
BRANCHES = re.compile(
    r"""[!=]=\ ?["'](class|real|none|ordered)["'] | \bin\ \(["'](class|real|ordered)["']
    | isinstance\([^)]*\b(ClassTarget|RealTarget|SeveralTarget|NoTarget)\b | dtype\.kind\ [!=]=\ ["']f["']
    | \.(codes|classes|texts)\ is\ (not\ )?None""",
    re.VERBOSE,
)
#: The estimator, read outside the room that has it.
READS = re.compile(r"\bmodel\.(?!predict|classes_|steps|fit|transform|get_params|set_params)[a-zA-Z_]+")

LIMITS = {
    "branches on the kind of a target": 98,
    "modules with one importer": 82,
    "modules with one importer that is no face of a room": 34,
    "public names": 144,
    "module constants": 705,
    "reads of the estimator outside map/": 117,
    "files": 280,
    "lines of the longest file": 681,
}


@cache
def text_of(path: Path) -> str:
    return path.read_text("utf-8")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0]


def lines_with(pattern: re.Pattern[str], *, but: str) -> int:
    return sum(bool(pattern.search(line)) for p in FILES if room_of(p) != but for line in text_of(p).splitlines())


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("prismap", *(parts[:-1] if parts[-1] == "__init__" else parts)))


@cache
def importers() -> dict[str, set[str]]:
    """The modules of ours that import each module."""
    found: dict[str, set[str]] = {module_of(path): set() for path in FILES}
    for path in FILES:
        own = module_of(path)
        for node in ast.walk(parsed(path)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                if name in found and name != own:
                    found[name].add(own)
    rooms = {module_of(path) for path in FILES if path.name == "__init__.py"}
    return {name: by for name, by in found.items() if name not in rooms}


def constants() -> int:
    """Names in capitals that modules assign."""
    total = 0
    for path in FILES:
        for node in parsed(path).body:
            targets = getattr(node, "targets", [node.target] if isinstance(node, ast.AnnAssign) else [])
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                total += sum(isinstance(name, ast.Name) and name.id.isupper() for name in names)
    return total


def public_names() -> int:
    rooms = [module_of(path) for path in FILES if path.name == "__init__.py"]
    return sum(len(getattr(importlib.import_module(room), "__all__", ())) for room in rooms)


@cache
def counts() -> dict[str, int]:
    alone = {name: by for name, by in importers().items() if len(by) == 1}
    faces = ("prismap.cli.main", *(module_of(path) for path in FILES if path.name == "__init__.py"))
    return {
        "branches on the kind of a target": lines_with(BRANCHES, but="target"),
        "modules with one importer": len(alone),
        "modules with one importer that is no face of a room": sum(not by & set(faces) for by in alone.values()),
        "public names": public_names(),
        "module constants": constants(),
        "reads of the estimator outside map/": lines_with(READS, but="map"),
        "files": len(FILES),
        "lines of the longest file": max(text_of(path).count("\n") for path in FILES),
    }


@pytest.mark.parametrize("what", LIMITS)
def test_counts_only_go_down(what):
    count = counts()[what]
    assert count <= LIMITS[what], f"{what}: {count}, and the limit is {LIMITS[what]}"
    assert count > LIMITS[what] - 10, f"{what} went down to {count}: lower the limit, so that it stays there"


def test_branches_are_seen():
    seen = [
        'if kind == "class":', "if target.kind != 'real':", 'x in ("class", "real")', "isinstance(target, ClassTarget)",
        'y.dtype.kind == "f"',
    ]  # fmt: skip
    assert all(BRANCHES.search(line) for line in seen)
    assert BRANCHES.search("if target.codes is None:")
    assert not any(BRANCHES.search(line) for line in ('kind = "class"', "codes is None", "ClassTarget(values)"))
