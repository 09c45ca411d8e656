"""A map in a notebook: the widget with a two-way selection, or the self-contained page where the extra is missing."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable
from typing import Any

from prismap._optional import import_extra
from prismap.exceptions import MissingExtraError, PrismapWarning
from prismap.explorer.document import render_html
from prismap.page_data import PageData


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
    from prismap.explorer.notebook import MapWidget

    widget = MapWidget(page, height=height, index=index, picture=picture)
    if later is not None:
        widget.judge_later(later)
    return widget
