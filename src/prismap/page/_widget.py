"""The notebook widget itself; importing this needs the extra `notebook`."""

from __future__ import annotations

import base64
import threading
from collections.abc import Callable
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.page._data import PageData
from prismap.page._document import page_script
from prismap.page._message import pack_page


class Rows(traitlets.TraitType[Any, Any]):  # type: ignore[misc]
    """Row numbers as an array: ascending, each once, and rows of the map."""

    def validate(self, widget: Any, value: Any) -> NDArray[np.intp]:
        """Take lists, arrays and masks."""
        rows = np.asarray(value)
        if rows.dtype == bool and rows.shape == (widget.n_rows,):
            rows = np.flatnonzero(rows)
        if rows.size == 0:
            return np.empty(0, dtype=np.intp)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or rows.min() < 0 or rows.max() >= widget.n_rows:
            raise InputError(
                f"selection must hold row numbers from 0 to {widget.n_rows - 1}, or one bool for each row."
            )
        return np.unique(rows).astype(np.intp)


class MapWidget(anywidget.AnyWidget):  # type: ignore[misc]
    """A map in a notebook.

    `selection` holds the numbers of the selected rows: read it after a lasso, or set it to select. `selected_index`
    names them as the table does: ``table.iloc[widget.selection]`` is ``table.loc[widget.selected_index]``.
    ``widget.observe(function, "selection")`` calls `function` on every change.
    """

    _esm = page_script()
    _page = traitlets.Bytes().tag(sync=True)
    _judged = traitlets.Bytes().tag(sync=True)
    _judging = traitlets.Float(-1.0).tag(sync=True)
    _trouble = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)
    view = traitlets.Unicode("").tag(sync=True)
    selection = Rows().tag(
        sync=True,
        to_json=lambda rows, _: rows.astype("<i4").tobytes(),
        from_json=lambda data, _: np.frombuffer(data, "<i4").astype(np.intp),
    )

    def __init__(self, page: PageData, *, height: int = 640, index: Any = None, picture: bytes | None = None) -> None:
        self.n_rows = page.n_rows
        self._picture = picture
        self._index = np.arange(page.n_rows) if index is None else index
        self._text = f"map of {page.n_rows} rows: {page.title}"
        super().__init__(_page=pack_page(page), height=height, selection=np.empty(0, dtype=np.intp))

    @property
    def selected_index(self) -> Any:
        """The selected rows by their names in the table; their numbers where it has none."""
        return self._index[self.selection]

    def judge_later(self, later: Callable[..., PageData]) -> threading.Thread:
        """Show the verdict when ``later(callback)`` has made the page with it, in a thread."""
        self._judging = 0.0

        def follow(done: int, total: int) -> None:
            self._judging = done / total

        def work() -> None:
            try:
                self._judged = pack_page(later(follow))
            except Exception as error:  # the map itself is shown, and says what is missing
                self._trouble = str(error) or type(error).__name__
            self._judging = -1.0

        thread = threading.Thread(target=work, name="prismap-verdict", daemon=True)
        thread.start()
        return thread

    def _repr_mimebundle_(self, **options: Any) -> Any:
        """The widget, and the picture for readers that run no widgets: a notebook on a web page or on paper."""
        bundle = super()._repr_mimebundle_(**options)
        if bundle is None or self._picture is None:
            return bundle
        data, about = bundle if isinstance(bundle, tuple) else (bundle, {})
        return {**data, "image/png": base64.b64encode(self._picture).decode("ascii")}, about

    def __repr__(self) -> str:
        return f"<{self._text}>"
