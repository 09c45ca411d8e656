"""A model's decisions behind the points of a map's page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from prismap.inspection.model import certainty_scale, output_scale
from prismap.inspection.model_view import ModelView
from prismap.inspection.paint import paint
from prismap.page.data import PageData, Raster, Target

#: Places along each side of the page's picture.
RESOLUTION = 200


def with_model(page: PageData, fitted: Any, model: Any) -> PageData:
    """The page of a fitted `PrisMap` with what a trained model says at every place and of every row."""
    y = fitted.shown_target()
    if fitted.shown_classes() is not None:
        y = np.array([*fitted.shown_classes(), None], dtype=object)[y]
    return with_view(page, ModelView.from_estimator(model, fitted.rows_, y, map=fitted, grid_resolution=RESOLUTION))


def with_view(page: PageData, view: ModelView) -> PageData:
    """The page with the picture of a view of the same rows on the same map."""
    words = "Decisions" if view.kind == "class" else "Output"
    rgba = paint(view.grid, view.kind, scale=scale_of(view), n_classes=len(view.classes), opaque=False)
    raster = Raster(rgba[::-1], view.grid.extent, f"{words} of {view.model_name} behind the points", page.layers[0].id)
    return replace(page, raster=raster, misshown=view.misshown, target=target_of(page.target, view))


def scale_of(view: ModelView) -> Any:
    """The scale of the picture's colours: the page colours its points by the same one."""
    return certainty_scale(view) if view.kind == "class" else output_scale(view)


def target_of(target: Target, view: ModelView) -> Target:
    """The page's target with the model's answers beside it."""
    truth = view.said if view.truth is None else view.truth
    if view.kind == "real":
        return replace(target, kind="real", values=truth, predicted=view.said)
    names = [str(name) for name in view.classes]
    return replace(target, kind="class", classes=names, codes=truth, predicted=view.said)
