"""The house stays in order: imports between rooms only go the ways the architecture allows."""

import ast
from pathlib import Path

import prismap

ROOT = Path(prismap.__file__).parent
BASE = {"_validation", "_blocks", "_locks", "_costs", "_threads", "_random", "_optional", "_version", "exceptions"}
BELOW = {
    "metrics": set(),
    "bundle": set(),
    "tables": set(),
    "neighbors": {"metrics"},
    "embeddings": {"metrics", "neighbors"},
    "mappings": {"metrics", "neighbors"},
    "learners": {"metrics"},
    "quality": {"metrics", "neighbors"},
    "relevance": {"metrics", "neighbors", "embeddings", "learners", "quality"},
    "transfer": {"metrics", "neighbors", "embeddings", "mappings"},
    "explorer": {"bundle", "tables"},
}
BELOW["inspection"] = {"metrics", "neighbors", "embeddings", "mappings", "learners", "quality", "relevance", "transfer"}
BELOW["map"] = BELOW["inspection"] | {"inspection", "bundle", "explorer", "tables"}
BELOW["scale"] = {"map", "bundle", "tables"}
BELOW["cli"] = {*BELOW, "map", "scale", "cli"}


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[0]


def imported_rooms(path: Path) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names = [node.module or ""]
            if node.module == "prismap":
                names = [f"prismap.{alias.name}" for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("prismap.")}
    return rooms


def test_imports_only_go_down():
    files = [path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"]
    assert len(files) > 10
    wrong = []
    for path in files:
        room = room_of(path)
        allowed = BASE | {room} | (BELOW[room] if room not in BASE else set())
        wrong += [
            f"{path.relative_to(ROOT)} imports prismap.{other}" for other in sorted(imported_rooms(path) - allowed)
        ]
    assert not wrong, "\n".join(wrong)


def test_base_imports_nothing_above_it():
    for name in BASE:
        assert imported_rooms(ROOT / f"{name}.py") <= BASE
