"""What a user's type checker sees of the public names: right calls pass, wrong ones are found."""

import os
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

pytest.importorskip("mypy")

RIGHT = """
import numpy as np
import prismap
from prismap import InputError, MapReport, PrisMap
from prismap.scale import map_files

model = PrisMap("mds", perplexity=5, random_state=0)
model.fit(np.zeros((9, 2)), [0, 1, 2] * 3).transform(np.zeros((1, 2)))
model.save("m.prismap")
report: MapReport = prismap.quality.MapReport.from_dict({})
error: ValueError = InputError("x")
map_files("in", "out", "m.prismap", engine="local")
prismap.page.serve("out", port=0)
prismap.bundle.read_bundle("m.prismap", max_bytes=10)
"""
#: A wrong call, and what must be said of it.
WRONG = {
    "PrisMap(perplexty=5)": 'Unexpected keyword argument "perplexty" for "PrisMap"',
    "PrisMap().fit()": 'Missing positional argument "X" in call to "fit"',
    "PrisMap().save()": 'Missing positional argument "path" in call to "save"',
    "map_files('in')": 'Missing positional arguments "out_dir", "model" in call to "map_files"',
    "prismap.page.serve('out', port='x')": 'Argument "port" to "serve" has incompatible type "str"',
    "prismap.bundle.read_bundle(3)": 'Argument 1 to "read_bundle" has incompatible type "int"',
    "prismap.Prismap": 'Module has no attribute "Prismap"',
    "prismap.scale.map_flies": 'Module has no attribute "map_flies"',
    "prismap.scale.map_frame()": 'Missing positional arguments "frame", "model" in call to "map_frame"',
}


def test_a_users_mypy_knows_the_public_names(tmp_path):
    lines = RIGHT.strip().splitlines()
    path = tmp_path / "user.py"
    path.write_text("\n".join([*lines, *WRONG]) + "\n")
    source = Path(__file__).parents[2] / "src"
    command = [
        sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "--follow-imports=silent",
        "--no-site-packages",  # the stubs of numpy take ten seconds and are not what is tested
        f"--cache-dir={tmp_path / 'cache'}", "--no-error-summary", "--hide-error-context", str(path),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MYPYPATH": str(source)})
    found = {}
    for line in done.stdout.splitlines():
        _, number, words = line.split(":", 2)
        if "error" in words:
            found.setdefault(int(number), words)
    for number, (call, words) in enumerate(WRONG.items(), len(lines) + 1):
        assert words in found.pop(number, ""), f"{call}: {done.stdout}"
    assert found == {}, done.stdout


def test_most_lines_are_under_strict_rules():
    root = Path(__file__).parents[2]
    rules = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["mypy"]
    assert rules["strict"]
    relaxed = [name for one in rules["overrides"] for name in one["module"] if "disallow_untyped_defs" in one]
    lines = {"strict": 0, "relaxed": 0}
    for path in (root / "src" / "prismap").rglob("*.py"):
        module = ".".join(path.relative_to(root / "src").with_suffix("").parts)
        is_relaxed = any(fnmatch(module, name) for name in relaxed)
        lines["relaxed" if is_relaxed else "strict"] += len(path.read_text(encoding="utf-8").splitlines())
        assert not (is_relaxed and module.split(".")[1] in ("map", "judging", "target", "quality")), module
    assert 0 < lines["relaxed"] < lines["strict"], lines
