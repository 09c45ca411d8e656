"""The page: self-contained file, live explorer, notebook."""

from __future__ import annotations

from typing import Any

from prismap._optional import import_extra
from prismap.explorer.document import render_html, write_html
from prismap.explorer.serve import serve
from prismap.explorer.widget import show_in_notebook
from prismap.page_data import Curve, Layer, Neighbors, PageData, Raster, Relevance, Target

__all__ = [
    "Curve",
    "Layer",
    "Neighbors",
    "PageData",
    "Raster",
    "Relevance",
    "Target",
    "make_app",
    "render_html",
    "serve",
    "show_in_notebook",
    "write_html",
]


def make_app(*args: Any, **options: Any) -> Any:
    """The live explorer as an application: see `prismap.explorer.app.make_app`, which needs the extra `explorer`."""
    import_extra("starlette", extra="explorer", feature="The live explorer")
    from prismap.explorer import app

    return app.make_app(*args, **options)
