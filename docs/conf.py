"""How the documentation is built: `make docs`. Nothing is fetched while building or reading it."""

from __future__ import annotations

import importlib
import os
import re
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from types import ModuleType
from typing import Any

import prismap

os.environ.setdefault("MPLBACKEND", "Agg")

project = "prismap"
author = "the prismap developers"
copyright = "the prismap developers, BSD 3-Clause"
version = release = prismap.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
# sphinx-gallery's tables of times ask a CDN for scripts.
exclude_patterns = ["_build", "_templates", "gallery/*.ipynb", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]

# Names in single quotes are code, and links where they are names of ours.
default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_custom_sections = [("Attributes", "params_style")]
napoleon_use_rtype = False
napoleon_preprocess_types = False

html_theme = "furo"
html_title = f"prismap {release}"
html_static_path = ["_static"]
html_css_files = ["prismap.css"]
html_js_files = ["sort_tables.js"]
html_copy_source = False
html_show_sourcelink = False
pygments_style, pygments_dark_style = "tango", "monokai"

# MathJax from an installed package: one file beside the pages, so that readers make no network requests.
_mathjax = distribution("sphinx-mathjax-offline").locate_file("sphinx-mathjax-offline/static/mathjax/tex-svg.js")
html_static_path.append(str(_mathjax))
mathjax_path = "tex-svg.js"

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 0,
    "plot_gallery": True,
    "abort_on_example_error": True,
    "image_scrapers": ("matplotlib",),
    "doc_module": ("prismap",),
    "backreferences_dir": None,
    "inspect_global_variables": False,
}

ROOMS = {
    "prismap": "The main job",
    "prismap.metrics": "Distances",
    "prismap.comparisons": "Comparisons of objects",
    "prismap.neighbors": "Neighbours",
    "prismap.embeddings": "Embeddings",
    "prismap.mappings": "Mappings",
    "prismap.learners": "Learners",
    "prismap.quality": "Quality",
    "prismap.relevance": "Relevance",
    "prismap.transfer": "Transfer",
    "prismap.published": "The published methods",
    "prismap.inspection": "Pictures and models",
    "prismap.scale": "Files of any size",
    "prismap.tables": "Data files",
    "prismap.bundle": "Our files",
    "prismap.page": "The page",
    "prismap.map": "The fitted map",
    "prismap.judging": "Judgements",
    "prismap.exceptions": "Errors and warnings",
}
#: Packages whose main names are explained on the first page.
BEHIND_THE_FACE = ("prismap.map", "prismap.judging")


@cache
def public_names(room: str) -> list[str]:
    """What a room exports and no other room explains: its `__all__`, or what it defines."""
    module = importlib.import_module(room)
    names = getattr(module, "__all__", None) or [n for n, value in vars(module).items() if home(value) == room]
    elsewhere = tuple(other for other in ROOMS if other not in (room, "prismap", *BEHIND_THE_FACE))
    if room in BEHIND_THE_FACE:
        names = [name for name in names if name not in prismap.__all__]
    return [
        name for name in names
        if not name.startswith("_") and not home(getattr(module, name)).startswith(elsewhere)
    ]  # fmt: skip


def home(value: object) -> str:
    """The module that defines a class or function; of other values, none."""
    return str(getattr(value, "__module__", "")) if callable(value) else ""


def write_reference(folder: Path) -> list[str]:
    """Write one page per package from its public names, so that no name can be forgotten, and return the pages."""
    (folder / "api").mkdir(parents=True, exist_ok=True)
    stems, pages = [], set()
    for room, title in ROOMS.items():
        module, names = importlib.import_module(room), public_names(room)
        if names:
            stems.append(room.replace(".", "_"))
            pages |= {f"{room}.{name}.rst" for name in names if callable(getattr(module, name))}
            write_if_new(folder / f"{stems[-1]}.rst", room_page(module, title, names))
    listing = "\n".join(f"   {stem}" for stem in stems)
    index = f"Reference\n=========\n\nEvery public name, by room.\n\n.. toctree::\n   :maxdepth: 2\n\n{listing}\n"
    write_if_new(folder / "index.rst", index)
    # Pages of an earlier build, of names and packages that are gone.
    kept = pages | {f"{stem}.rst" for stem in (*stems, "index")}
    for path in [*folder.glob("*.rst"), *(folder / "api").iterdir()]:
        if path.name not in kept:
            path.unlink()
    return [f"{folder.name}/{stem}.rst" for stem in stems]


def room_page(module: ModuleType, title: str, names: list[str]) -> str:
    """Title, what the module says of itself, a table of classes and functions, and the tables of names it holds."""
    head = f"{title}: ``{module.__name__}``"
    objects = [name for name in names if callable(getattr(module, name))]
    listing = "\n".join(f"   {name}" for name in objects)
    text = (module.__doc__ or "").strip().splitlines()
    plain_text(text)
    page = "\n".join([head, "=" * len(head), "", *text, "", f".. currentmodule:: {module.__name__}", "", ""])
    page += f".. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{listing}\n"
    for name in sorted(set(names) - set(objects)):
        keys = ", ".join(f"``{key}``" for key in getattr(module, name))
        page += f"\n``{name}``, a table with the names {keys}.\n"
    return page


def write_if_new(path: Path, text: str) -> None:
    """Leave unchanged files alone, so that only what changed is built again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def plain_text(lines: list[str]) -> None:
    """Docstrings are plain text with formulas: an underscore or a bar in them is no markup."""
    literal = None
    for k, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if literal is not None and line.strip() and indent <= literal:
            literal = None
        if literal is None and not line.lstrip().startswith((">>>", "..")):
            parts = re.split(r"(``.*?``|`[^`]*`_?)", line)
            lines[k] = "".join(
                p if p.startswith("`") else re.sub(r"(?<=\w)_(?!\w)|(?<!\\)\|", r"\\\g<0>", p) for p in parts
            )
        if line.rstrip().endswith("::"):
            literal = indent


def link_by_name(app: Any, env: Any, node: Any, text: Any) -> Any:
    """`FisherMetric` in a docstring of another room leads to `prismap.metrics.FisherMetric`."""
    rooms = [room for room in ROOMS if node.get("reftarget") in public_names(room)]
    if node.get("refdomain") != "py" or len(rooms) != 1:
        return None
    target = f"{rooms[0]}.{node['reftarget']}"
    return env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", target, node, text)


def setup(app: Any) -> None:
    """Connect what Sphinx asks on the way."""
    app.connect("autodoc-process-docstring", lambda *event: plain_text(event[-1]), priority=900)
    app.connect("missing-reference", link_by_name)
    app.connect("autodoc-skip-member", lambda *event: True if re.fullmatch(r"set_\w+_request", event[2]) else None)


autosummary_generate = write_reference(Path(__file__).parent / "reference")
