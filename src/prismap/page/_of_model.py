"""A model's decisions behind the points of a map's page."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from prismap.inspection._model import fidelity_words
from prismap.inspection._model_view import ModelView
from prismap.page._data import PageData, Raster, Target

#: Places along each side of the page's picture.
RESOLUTION = 200


def with_model(page: PageData, fitted: Any, model: Any) -> PageData:
    """The page of a fitted `PrisMap` with what a trained model says at every place and of every row."""
    given = fitted.map_.given
    y = given.target.shown.named if given.target.exists else None
    return with_view(page, ModelView.from_estimator(model, given.rows, y, map=fitted, grid_resolution=RESOLUTION))


def with_view(page: PageData, view: ModelView) -> PageData:
    """The page with the picture of a view of the same rows on the same map, in the colours of its points."""
    rgba = view.task.paint(view, opaque=False)
    legend = f"{view.task.picture} of {view.model_name} behind the points"
    words = f"{view.model_name}: {fidelity_words(view)}"
    raster = Raster(rgba[::-1], view.grid.extent, legend, page.layers[0].id, words)
    return replace(page, raster=raster, misshown=view.misshown, target=target_of(page.target, view))


def target_of(target: Target, view: ModelView) -> Target:
    """The page's target with the model's answers beside it."""
    kind: Any = view.kind
    own = replace(target, kind=kind, classes=[str(name) for name in view.classes])
    return own.with_entries(view.predicted if view.truth is None else view.truth, view.predicted)
