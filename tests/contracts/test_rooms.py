"""The house stays in order: rooms know only the rooms below them, and only by public names."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import prismap

ROOT = Path(prismap.__file__).parent
BASE = {"_util", "_version", "exceptions"}
BELOW = {
    "target": set(),
    "bundle": set(),
    "comparisons": {"bundle"},
    "metrics": {"comparisons"},
    "tables": set(),
    "neighbors": {"metrics"},
    "embeddings": {"metrics", "neighbors", "bundle"},
    "mappings": {"metrics", "neighbors"},
    "learners": {"metrics"},
    "quality": {"metrics", "neighbors", "bundle"},
    "relevance": {"metrics", "neighbors", "embeddings", "learners", "quality"},
    "transfer": {"metrics", "neighbors", "embeddings", "mappings"},
    "page": {"bundle", "tables"},
    "map": {"metrics", "neighbors", "embeddings", "mappings", "quality", "bundle", "tables", "relevance", "learners"},
}
BELOW["judging"] = {"metrics", "mappings", "quality"}
BELOW["map"] |= {"comparisons", "judging"}
BELOW["inspection"] = {*BELOW["map"], "map", "learners", "relevance", "transfer"}
BELOW["published"] = {"metrics", "embeddings", "mappings", "learners", "relevance", "transfer", "map"}
BELOW["scale"] = {"map", "bundle", "tables", "comparisons"}
for room in set(BELOW) - {"target", "comparisons", "bundle", "tables"}:
    BELOW[room].add("target")
BELOW["cli"] = {*BELOW, "cli"}

#: The layers of `page`, from the data up: a file imports those of its own layer and of lower ones. Only the last one,
#: which makes pages of fitted maps, also knows the rooms of these.
PAGE_LAYERS = (
    {"_columns", "_data", "_message", "_packing"},
    {"_app", "_compute", "_document", "_folder", "_rows", "_security", "_server", "_widget"},
    {"_keywords", "_live", "_of_map"},
)
OF_MAPS = {*BELOW["inspection"], "inspection"}

#: `PrisMap` is the public face of the house: its methods that draw and show call rooms above it, when they are called.
FACE = {("map/_prismap.py", "inspection"), ("map/_prismap.py", "page")}

#: Names with an underscore that are the contract of scikit-learn or Python, not the secret of a room.
CONTRACTS = {"_n_features_out", "_validate_params", "_repr_html_", "_exit"}

FILES = sorted(path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(tree: ast.AST, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """Modules of ours that a file imports, and whether it does so inside a function."""
    for node in ast.iter_child_nodes(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.stmt | ast.excepthandler | ast.match_case):  # nowhere else can an import stand
            yield from imports(node, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        for name in names:
            if name.split(".")[0] == "prismap":
                yield behind_the_face(name), inside


def behind_the_face(name: str) -> str:
    """The module that a name on the package's face comes from: `prismap.PrisMap` lives in `prismap.map`."""
    parts = name.split(".")
    return ".".join([prismap._LAZY[parts[1]], *parts[1:]]) if parts[1:] and parts[1] in prismap._LAZY else name


def imported_rooms(path: Path) -> set[str]:
    """Rooms that a file imports; those the face may reach are left out where they are reached inside a function."""
    own = path.relative_to(ROOT).as_posix()
    rooms = set()
    for name, inside in imports(parsed(path)):
        room = (name.split(".") + [""])[1]
        if not (inside and (own, room) in FACE):
            rooms.add(room)
    return rooms


def own_names(room: str) -> set[str]:
    """Private names that a room defines: functions, methods, classes, attributes of `self` and of classes."""
    names = set()
    for path in FILES:
        if room_of(path) == room:
            for node in ast.walk(parsed(path)):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    names.add(node.name)
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
                    names.add(node.attr)
    return names


def is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_reads(tree: ast.AST, room: str, own: set[str]) -> set[str]:
    """Private names of other rooms that a file uses: attributes, and names out of modules.

    The files of a room are private to users, so that they can move, and not to other rooms: what has no underscore in
    them is there for these.
    """
    read = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not is_self(node.value):
            read.add(node.attr)
    read -= own | CONTRACTS
    for name, _ in imports(tree):
        parts = name.split(".")[1:]
        if parts[1:] and parts[0] != room and is_private(parts[-1]) and not is_file(parts):
            read.add(".".join(parts))
    return read


def is_file(parts: list[str]) -> bool:
    return ROOT.joinpath(*parts).with_suffix(".py").exists()


def rooms_below(path: Path) -> set[str]:
    """Rooms that a file may import."""
    room = room_of(path)
    below = BASE | {room} | (BELOW[room] if room not in BASE else set())
    return below | OF_MAPS if room == "page" and path.stem in PAGE_LAYERS[-1] else below


def test_imports_only_go_down():
    assert len(FILES) > 10
    wrong = []
    for path in FILES:
        wrong += [
            f"{path.relative_to(ROOT)} imports prismap.{other}"
            for other in sorted(imported_rooms(path) - rooms_below(path))
        ]
    assert not wrong, "\n".join(wrong)


def test_layers_of_the_page_import_only_lower_ones():
    files = {path.stem: path for path in FILES if room_of(path) == "page" and path.stem != "__init__"}
    layer_of = {name: place for place, layer in enumerate(PAGE_LAYERS) for name in layer}
    assert files.keys() == layer_of.keys()
    wrong = []
    for name, path in files.items():
        for module, _ in imports(parsed(path)):
            other = (module.split(".") + ["", ""])[2] if module.startswith("prismap.page.") else None
            # What is none of the files stands for a name of the room's face.
            if other is not None and layer_of.get(other, len(PAGE_LAYERS)) > layer_of[name]:
                wrong.append(f"page/{name}.py imports {module}")
    assert not wrong, "\n".join(wrong)


def test_page_can_be_shown_without_the_rooms_of_maps():
    code = "import sys, prismap.page._app, prismap.page._widget; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "prismap.page._app" in loaded
    assert not {"prismap.map", "prismap.inspection", "prismap.embeddings"} & set(loaded)


def test_no_two_rooms_lie_below_each_other():
    def all_below(room: str) -> set[str]:
        return BELOW[room].union(*(all_below(other) for other in BELOW[room] - {room}))

    assert not [room for room in BELOW if room != "cli" and room in all_below(room)]


def test_base_imports_nothing_above_it():
    assert all(imported_rooms(path) <= BASE for path in FILES if room_of(path) in BASE)


def test_files_of_rooms_are_private():
    """So that users import from the rooms, and files can move. (Sub-commands of the command line are no library.)"""
    rooms = [path for path in FILES if path.parent != ROOT and room_of(path) not in ("cli", "_util")]
    assert not [path.relative_to(ROOT).as_posix() for path in rooms if not path.stem.startswith("_")]


def test_private_names_stay_in_their_room():
    names = {room: own_names(room) for room in set(map(room_of, FILES))}
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in FILES
        for name in private_reads(parsed(path), room_of(path), names[room_of(path)])
    }
    assert not found, sorted(found)


def private_imports_of_sklearn(tree: ast.AST) -> set[str]:
    """Private modules of scikit-learn that a file imports, and private names out of its modules."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.startswith("sklearn.") and any(map(is_private, name.split(".")))}


def test_one_file_imports_private_names_of_sklearn():
    files = [path.relative_to(ROOT).as_posix() for path in FILES if private_imports_of_sklearn(parsed(path))]
    assert files == ["_util/params.py"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("from sklearn.utils._param_validation import Interval", {"sklearn.utils._param_validation.Interval"}),
        ("def f():\n    import sklearn.utils._tags", {"sklearn.utils._tags"}),
        ("from sklearn.utils import _safe_indexing, check_array", {"sklearn.utils._safe_indexing"}),
        ("from sklearn.utils.validation import check_is_fitted", set()),
    ],
)
def test_private_imports_of_sklearn_are_seen(source, names):
    assert private_imports_of_sklearn(ast.parse(source)) == names


@pytest.mark.parametrize(
    ("source", "rooms"),
    [
        ("import prismap", {""}),
        ("import prismap.map.build", {"map"}),
        ("from prismap import PrisMap", {"map"}),
        ("def f():\n    from prismap import embeddings", {"embeddings"}),
        ("from prismap.map import PrisMap", {"map"}),
    ],
)
def test_imports_are_seen_wherever_they_are(source, rooms):
    assert {(name.split(".") + [""])[1] for name, _ in imports(ast.parse(source))} == rooms


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("model._built", {"_built"}),
        ("self.metric._source", {"_source"}),
        ("self._built + cls._rows", set()),
        ("from prismap.map._fitting import f", set()),
        ("from prismap.map import _fitting", set()),
        ("from prismap.map._fitting import _secret", {"map._fitting._secret"}),
        ("from prismap._util.blocks import _secret", {"_util.blocks._secret"}),
        ("from prismap._version import __version__", set()),
        ("x.__class__", set()),
        ("x._mine", set()),
    ],
)
def test_private_names_are_seen(source, names):
    assert private_reads(ast.parse(source), "scale", {"_mine"}) == names
