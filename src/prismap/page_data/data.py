"""What one map has to show, as a plain value: arrays and words, and no knowledge of where they come from or go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prismap.exceptions import InputError


@dataclass(frozen=True)
class Target:
    """What the map is about. Code -1 and value NaN mean unlabelled; `predicted` is a model's answer, coded alike."""

    kind: Literal["class", "real", "none"] = "none"
    name: str = "target"
    classes: Sequence[Any] = ()
    codes: ArrayLike | None = None
    values: ArrayLike | None = None
    predicted: ArrayLike | None = None


@dataclass(frozen=True)
class Layer:
    """One set of positions of the same rows: the map itself, its unsupervised or permuted twin, ...

    `note` says what is seen. A layer that was made with another target than the page's, a shuffled one, has it in
    `own` (of the same kind and classes) and is coloured by it first; `own_note` says what is seen then.
    """

    id: str
    label: str
    positions: NDArray[Any]
    note: str = ""
    own: Target | None = None
    own_note: str = ""


@dataclass(frozen=True)
class Curve:
    """R_NX against the neighbourhood size k."""

    label: str
    k: ArrayLike
    r_nx: ArrayLike


@dataclass(frozen=True)
class Raster:
    """A picture behind one layer: RGBA rows from the top, `extent` = (x_min, x_max, y_min, y_max) in its units."""

    rgba: NDArray[Any]
    extent: tuple[float, float, float, float]
    legend: str = ""
    layer: str | None = None


@dataclass(frozen=True)
class PageData:
    """Everything a page shows; only `layers` is required. All arrays have one entry a row, in the same order."""

    layers: Sequence[Layer]
    title: str = "prismap"
    target: Target = field(default_factory=Target)
    columns: Mapping[str, Any] = field(default_factory=dict)
    split: Sequence[Any] | NDArray[Any] | None = None
    far: ArrayLike | None = None
    quality: ArrayLike | None = None
    misshown: ArrayLike | None = None
    report: Mapping[str, Any] | None = None
    curves: Sequence[Curve | tuple[str, Any, Any]] = ()
    images: ArrayLike | None = None
    raster: Raster | None = None
    relevance: tuple[Sequence[Any], ArrayLike] | None = None
    row_ids: Sequence[Any] | NDArray[Any] | None = None
    notes: Sequence[str] = ()

    @property
    def n_rows(self) -> int:
        """Rows on the map."""
        return int(np.shape(self.layers[0].positions)[0])


def check_page(page: PageData) -> None:
    if not page.layers:
        raise InputError("layers of PageData is empty. Pass at least one Layer(id, label, positions).")
    n = page.n_rows
    for layer in page.layers:
        if np.shape(layer.positions) != (n, 2):
            found = np.shape(layer.positions)
            raise InputError(f"positions of layer '{layer.id}' must be ({n}, 2) like the first layer's. Got {found}.")
        if layer.own is not None:
            _check_own(layer, page.target, n)
    target = page.target
    per_row = {
        "target.codes": target.codes if target.kind == "class" else None,
        "target.values": target.values if target.kind == "real" else None,
        "target.predicted": target.predicted,
        "split": page.split,
        "far": page.far,
        "quality": page.quality,
        "misshown": page.misshown,
        "row_ids": page.row_ids,
        "images": page.images,
        **{f"columns['{name}']": values for name, values in page.columns.items()},
    }
    for name, values in per_row.items():
        if values is not None and np.shape(values)[:1] != (n,):
            raise InputError(
                f"{name} of PageData must have one entry for each of the {n} rows. Got {np.shape(values)}."
            )
    if target.kind == "class":
        _check_codes(target)
    if page.images is not None and (np.ndim(page.images) != 3 or np.asarray(page.images).dtype != np.uint8):
        raise InputError("images of PageData must be uint8 of shape (rows, height, width).")


def _check_own(layer: Layer, target: Target, n: int) -> None:
    """The target of a layer has the page's kind and classes, and an entry for each row."""
    own = layer.own
    assert own is not None
    values: Any = own.codes if own.kind == "class" else own.values
    if own.kind != target.kind or own.kind == "none" or np.shape(values) != (n,):
        raise InputError(
            f"own of layer '{layer.id}' must be a target of kind '{target.kind}' with {n} entries. Got kind "
            f"'{own.kind}' with {np.shape(values)}."
        )
    if own.kind == "class":
        _check_codes(Target("class", own.name, target.classes, codes=own.codes))


def _check_codes(target: Target) -> None:
    codes = np.asarray(target.codes)
    if codes.size and (codes.min() < -1 or codes.max() >= len(target.classes)):
        found = f"{codes.min()} to {codes.max()}"
        raise InputError(f"target.codes must lie in -1 .. {len(target.classes) - 1}, one per class. Got {found}.")
