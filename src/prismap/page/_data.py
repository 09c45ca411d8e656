"""What one map has to show, as a plain value: arrays and words, and no knowledge of where they come from or go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prismap.exceptions import InputError

#: What holds the entries of a target, by its kind.
FIELDS: dict[str, str | None] = {"class": "codes", "real": "values", "none": None}


@dataclass(frozen=True)
class Target:
    """What the map is about. Code -1 and value NaN mean unlabelled; `predicted` is a model's answer, coded alike.

    `unit` is "date" for values that are days since 1970.
    """

    kind: Literal["class", "real", "none"] = "none"
    name: str = "target"
    classes: Sequence[Any] = ()
    codes: ArrayLike | None = None
    values: ArrayLike | None = None
    predicted: ArrayLike | None = None
    unit: Literal["date"] | None = None

    @property
    def has_classes(self) -> bool:
        """Whether its entries are codes of classes."""
        return self.kind == "class"

    @property
    def field(self) -> str | None:
        """The name of what holds the entries of the rows; None without a target."""
        return FIELDS[self.kind]

    @property
    def entries(self) -> Any:
        """The code or value of each row; None without a target."""
        return None if self.field is None else getattr(self, self.field)

    def with_entries(self, entries: ArrayLike, predicted: ArrayLike | None) -> Target:
        """The same target with other codes or values."""
        changes: dict[str, Any] = {"predicted": predicted, str(self.field): entries}
        return replace(self, **changes)


@dataclass(frozen=True)
class Layer:
    """One set of positions of the same rows: the map itself, the unsupervised map, the map of permuted labels, ...

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
class Relevance:
    """How well each column alone keeps the neighbourhoods of the map, and how well shuffled columns do.

    `baseline` and `spread` are the mean and standard deviation of the shuffled ones; a column shows on the map if its
    value is above `threshold`, the best of them.
    """

    names: Sequence[Any]
    values: ArrayLike
    baseline: float = 0.0
    spread: float = 0.0
    threshold: float = 0.0


@dataclass(frozen=True)
class Neighbors:
    """The nearest rows of some rows, nearest first: by the data's own distances and, if that differs, by the metric.

    `rows` are the rows that have neighbours, in ascending order; `data` and `metric` hold, for each, places in `rows`.
    `distances` are those to the rows of `metric`, or of `data` without it.
    """

    rows: NDArray[Any]
    data: NDArray[Any]
    metric: NDArray[Any] | None = None
    distances: NDArray[Any] | None = None


@dataclass(frozen=True)
class Version:
    """The rows on a map before this one, in its coordinates: NaN for rows that it does not have.

    `gone` are positions of rows that only it has.
    """

    label: str
    positions: NDArray[Any]
    gone: NDArray[Any]


@dataclass(frozen=True)
class Raster:
    """A picture behind one layer: RGBA rows from the top, `extent` = (x_min, x_max, y_min, y_max) in its units.

    `fidelity` says in a few words how far it shows what the model does.
    """

    rgba: NDArray[Any]
    extent: tuple[float, float, float, float]
    legend: str = ""
    layer: str | None = None
    fidelity: str = ""


@dataclass(frozen=True)
class PageData:
    """Everything a page shows; only `layers` is required. All arrays have one entry per row, in the same order."""

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
    relevance: Relevance | None = None
    row_ids: Sequence[Any] | NDArray[Any] | None = None
    notes: Sequence[str] = ()
    neighbors: Neighbors | None = None
    keywords: Sequence[Any] | NDArray[Any] | None = None
    """What the cluster of each row is about, where the rows are texts; None for rows between clusters."""
    left_out: int = 0
    """Columns of the data that are not among `columns`."""
    versions: Sequence[Version] = ()
    """The maps before the first layer, the oldest first."""
    changes: Sequence[str] = ()
    """What has changed since the last of them, a sentence each."""

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
            shape = np.shape(layer.positions)
            raise InputError(f"positions of layer '{layer.id}' must be ({n}, 2) like the first layer's. Got {shape}.")
        if layer.own is not None:
            _check_own(layer, page.target, n)
    target = page.target
    per_row = {
        f"target.{target.field}": target.entries,
        "target.predicted": target.predicted,
        "split": page.split,
        "keywords": page.keywords,
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
    _check_codes(target)
    if page.neighbors is not None:
        _check_neighbors(page.neighbors, n)
    for version in page.versions:
        if np.shape(version.positions) != (n, 2) or np.ndim(version.gone) != 2 or np.shape(version.gone)[1] != 2:
            raise InputError(
                f"positions of the version '{version.label}' must be ({n}, 2), and gone have two columns. Got "
                f"{np.shape(version.positions)} and {np.shape(version.gone)}."
            )
    if page.images is not None:
        shape = np.shape(page.images)
        if np.asarray(page.images).dtype != np.uint8 or not (len(shape) == 3 or (len(shape) == 4 and shape[3] == 3)):
            raise InputError(
                "images of PageData must be uint8 of shape (rows, height, width) or (rows, height, width, 3)."
            )


def _check_own(layer: Layer, target: Target, n: int) -> None:
    """The target of a layer has the page's kind and classes, and an entry for each row."""
    own = layer.own
    assert own is not None
    if own.kind != target.kind or own.field is None or np.shape(own.entries) != (n,):
        raise InputError(
            f"own of layer '{layer.id}' must be a target of kind '{target.kind}' with {n} entries. Got kind "
            f"'{own.kind}' with {np.shape(own.entries)}."
        )
    _check_codes(replace(own, classes=target.classes))


def _check_neighbors(neighbors: Neighbors, n: int) -> None:
    rows = np.asarray(neighbors.rows)
    inside = rows.ndim == 1 and len(rows) > 0 and rows.min() >= 0 and rows.max() < n
    for table in (neighbors.data, neighbors.metric):
        places = np.asarray(neighbors.data if table is None else table)
        if not inside or places.ndim != 2 or len(places) != len(rows) or places.max(initial=0) >= len(rows):
            raise InputError(
                f"neighbors of PageData must name rows from 0 to {n - 1} and, for each, places among these rows. Got "
                f"{rows.shape} rows and {places.shape} places."
            )
    if neighbors.distances is not None and np.shape(neighbors.distances) != np.shape(neighbors.data):
        shape = np.shape(neighbors.distances)
        raise InputError(f"distances of neighbors must be one for each of the {np.shape(neighbors.data)}. Got {shape}.")


def _check_codes(target: Target) -> None:
    """Codes count the classes."""
    if not target.has_classes:
        return
    codes = np.asarray(target.codes)
    if codes.size and (codes.min() < -1 or codes.max() >= len(target.classes)):
        span = f"{codes.min()} to {codes.max()}"
        raise InputError(f"target.codes must lie in -1 .. {len(target.classes) - 1}, one per class. Got {span}.")
