"""The notebook widget itself; importing this needs the extra `notebook`."""

from __future__ import annotations

from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.explorer.document import page_script
from prismap.page_data import PageData, pack_page


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
    """A map in a notebook. `selection` holds the selected rows: read it after a lasso, or set it to select.

    ``widget.observe(function, "selection")`` calls `function` on every change.
    """

    _esm = page_script()
    _page = traitlets.Bytes().tag(sync=True)
    height = traitlets.Int(640).tag(sync=True)
    view = traitlets.Unicode("").tag(sync=True)
    selection = Rows().tag(
        sync=True,
        to_json=lambda rows, _: rows.astype("<i4").tobytes(),
        from_json=lambda data, _: np.frombuffer(data, "<i4").astype(np.intp),
    )

    def __init__(self, page: PageData, *, height: int = 640) -> None:
        self.n_rows = page.n_rows
        super().__init__(_page=pack_page(page), height=height, selection=np.empty(0, dtype=np.intp))
