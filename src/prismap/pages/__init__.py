"""Pages made of fitted maps: as data, as a file, in a notebook, and what the live explorer may ask of them."""

from __future__ import annotations

import importlib.util
import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from prismap.explorer import show_in_notebook, write_html
from prismap.inspection.map import MapDisplay
from prismap.page_data import PageData
from prismap.pages.live import live_compute
from prismap.pages.of_map import judged_page, page_of
from prismap.pages.of_model import with_model, with_view

__all__ = ["judged_page", "live_compute", "page_of", "show_page", "with_model", "with_view", "write_page"]


def write_page(fitted: Any, path: str | os.PathLike[str], *, model: Any = None, **options: Any) -> Path:
    """Write the self-contained page of a fitted `PrisMap`; a trained `model` is shown behind its points."""
    page = page_of(fitted, **options)
    return write_html(page if model is None else with_model(page, fitted, model), path)


def show_page(fitted: Any, *, judge: bool = True, verbose: int | None = None, **options: Any) -> Any:
    """The page of a fitted `PrisMap` in a notebook: the map at once, the verdict when it is there."""
    page = page_of(fitted, judge=False, **options)
    if judge and fitted.report_dict() is not None:
        page, judge = judged_page(page, fitted), False

    def later(callback: Any) -> Any:
        fitted.report(callback=callback, verbose=verbose)
        return judged_page(page, fitted)

    return show_in_notebook(page, index=fitted.index_, later=later if judge else None, picture=picture_of(page))


def picture_of(page: PageData) -> bytes | None:
    """The map of a page as a small PNG; None without matplotlib."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    target = page.target
    classes = list(target.classes) if target.kind == "class" else None
    values = target.codes if classes is not None else target.values
    figure = Figure(figsize=(7, 5), layout="constrained")
    FigureCanvasAgg(figure)
    shown = None if values is None else np.asarray(values)
    display: Any = MapDisplay(np.asarray(page.layers[0].positions), shown, classes, page.title)
    display.plot(figure.add_subplot())
    with io.BytesIO() as file:
        figure.savefig(file, format="png", dpi=80)
        return file.getvalue()
