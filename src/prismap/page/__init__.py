"""The page of a map: a plain value, the file, live explorer and notebook that show it, and pages of fitted maps.

Three layers, each of which imports only those above it in this list:

- the data of a page: columns, packing, messages;
- rendering and serving: document, widget, folder, rows, application, server;
- pages of fitted maps and models. Only these know `prismap.map` and `prismap.inspection`, and they
  are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prismap._util.optional import import_extra
from prismap.page._compute import Compute, ModelCompute, Placed
from prismap.page._data import Layer, PageData, Target
from prismap.page._document import show_in_notebook, write_html
from prismap.page._server import serve

__all__ = [
    "Compute", "Layer", "ModelCompute", "PageData", "Placed", "Target", "make_app", "page_of", "serve",
    "show_in_notebook", "write_html",
]  # fmt: skip

if TYPE_CHECKING:
    from prismap.page._of_map import page_of
else:

    def __getattr__(name: str) -> Any:
        if name == "page_of":
            from prismap.page._of_map import page_of

            return page_of
        raise AttributeError(f"module 'prismap.page' has no attribute {name!r}")


def make_app(*args: Any, **options: Any) -> Any:
    """The live explorer as an application: see `prismap.page._app.make_app`, which needs the extra `explorer`."""
    import_extra("starlette", extra="explorer", feature="The live explorer")
    from prismap.page._app import make_app as make

    return make(*args, **options)
