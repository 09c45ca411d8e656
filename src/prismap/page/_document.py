"""The self-contained page: everything one map has to show, in one HTML file that makes no network requests.

`render_html` puts the data of a page and its code, built ahead from ``web/`` and kept in ``static/``, into one file.
The file carries a content security policy that forbids every connection and runs no script but ours: a class label or
column name that looks like HTML stays text.

In a notebook the same page is a widget with a two-way selection, or this file in a frame where the extra is missing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import os
import warnings
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from prismap._util.optional import import_extra
from prismap._version import __version__
from prismap.bundle import written_aside
from prismap.exceptions import MissingExtraError, PrismapWarning
from prismap.page._data import PageData
from prismap.page._message import pack_page

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="prismap {version}">
<title>{title}</title>
<link rel="icon" href="data:,">
</head>
<body>
<!--
{licences}-->
<div id="prismap" data-mode="{mode}">
<noscript>This page draws the map with JavaScript, which is switched off here.</noscript></div>
<script type="text/plain" id="prismap-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def render_html(page: PageData) -> str:
    """The self-contained page as text."""
    data = base64.b64encode(gzip.compress(pack_page(page), compresslevel=6, mtime=0)).decode("ascii")
    return html_document(page.title, mode="static", data=data, connect="'none'")


def write_html(page: PageData, path: str | os.PathLike[str]) -> Path:
    """Write the self-contained page, aside first and then renamed, so that no half-written file carries the name."""
    text = render_html(page)
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def html_document(title: str, *, mode: str, data: str = "", connect: str) -> str:
    """The page around its data; `connect` says which connections the browser may make."""
    script = page_script()
    return TEMPLATE.format(
        policy=html.escape(content_policy(script, connect), quote=True),
        title=html.escape(title),
        version=__version__,
        mode=mode,
        data=data,
        script=script,
        licences=_static("LICENSES.txt"),
    )


def page_script() -> str:
    """The page's code, built from ``web/``."""
    return _static("prismap.js")


def _static(name: str) -> str:
    return files("prismap.page").joinpath("static", name).read_text(encoding="utf-8")


def content_policy(script: str, connect: str) -> str:
    """Our script by its hash and nothing else. 'unsafe-eval' is there because regl compiles its draw calls."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}' 'unsafe-eval'; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


class StaticView:
    """The self-contained page inside a notebook: everything but a selection that Python can see."""

    def __init__(self, page: PageData, *, height: int = 640) -> None:
        self._page = page
        self._height = height

    def _repr_html_(self) -> str:
        # Sandboxed: the page runs its own script and may offer downloads, but cannot reach the notebook around it.
        document = html.escape(render_html(self._page), quote=True)
        return (
            f'<iframe srcdoc="{document}" title="{html.escape(self._page.title, quote=True)}" loading="lazy" '
            f'sandbox="allow-scripts allow-downloads" style="width:100%;height:{self._height}px;border:0"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<map of {self._page.n_rows} rows: {self._page.title}>"


def show_in_notebook(
    page: PageData, *, height: int = 640, index: Any = None, later: Callable[..., PageData] | None = None,
    picture: bytes | None = None,
) -> Any:  # fmt: skip
    """A `MapWidget`; without the extra `notebook`, a `StaticView` and a warning that names it.

    `index` names the rows of the table. ``later(callback)`` makes the page with its verdict: in a thread while the
    widget is looked at, before the view is shown where there is none; ``callback(done, total)`` says how far it is.
    `picture` is a PNG for readers that run no widgets.
    """
    try:
        import_extra("anywidget", extra="notebook", feature="A selection that Python can see")
    except MissingExtraError as error:
        warnings.warn(f"{error}. The page is shown without it.", PrismapWarning, stacklevel=2)
        return StaticView(page if later is None else later(None), height=height)
    from prismap.page._widget import MapWidget

    widget = MapWidget(page, height=height, index=index, picture=picture)
    if later is not None:
        widget.judge_later(later)
    return widget
