"""Rows out of the page, as csv that a spreadsheet opens without running any of it, and new rows into the page."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.bundle._rows import safe_text
from prismap.page._columns import column_array, column_numbers, is_missing, is_numeric, time_texts
from prismap.page._compute import Placed
from prismap.page._data import Layer, PageData, Target
from prismap.tables import points_in_time

_ROWS_PER_CHUNK = 2000
#: What the split says of new rows.
NEW = "new"


def safe_cell(value: Any) -> Any:
    """Text that would be run as a formula gets a leading apostrophe; numbers stay numbers, missing is empty.

    >>> safe_cell("=1+1"), safe_cell("-3.5"), safe_cell(-3.5), safe_cell(None)
    ("'=1+1", '-3.5', -3.5, '')
    """
    if is_missing(value):
        return ""
    if isinstance(value, (bool, int, float)):
        return value if math.isfinite(value) else ""
    return safe_text(str(value))


def csv_chunks(page: PageData, layer: Layer, rows: NDArray[np.intp]) -> Iterator[str]:
    """The csv of some rows, a few thousand lines at a time: position on `layer`, and all the page knows."""
    columns = {name: column_array(values) for name, values in _columns(page, layer).items()}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow([safe_cell(name) for name in columns])
    for start in range(0, len(rows), _ROWS_PER_CHUNK):
        chunk = rows[start : start + _ROWS_PER_CHUNK]
        lists = [cells(values[chunk]) for values in columns.values()]
        writer.writerows([safe_cell(value) for value in row] for row in zip(*lists, strict=True))
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()
    yield buffer.getvalue()


def cells(values: NDArray[Any]) -> list[Any]:
    """The values of a column as they are written: points in time as text, float32 by its shortest decimal."""
    if values.dtype.kind == "M":
        return list(time_texts(values))
    if values.dtype == np.float32:
        return [float(text) for text in values.astype(str).tolist()]
    return list(values.tolist())


def _columns(page: PageData, layer: Layer) -> dict[str, Any]:
    target = page.target
    ids = np.arange(page.n_rows) if page.row_ids is None else page.row_ids
    columns: dict[str, Any] = {"row": ids, "x": layer.positions[:, 0], "y": layer.positions[:, 1]}
    if target.field is not None:
        columns[target.name] = _named(target, target.entries)
    if target.predicted is not None:
        columns[f"predicted {target.name}"] = _named(target, target.predicted)
    for name, values in (("split", page.split), ("far", page.far), ("quality", page.quality)):
        if values is not None:
            columns[name] = values
    for name, values in page.columns.items():
        columns[name if name not in columns else f"{name} (column)"] = values
    return columns


def _named(target: Target, entries: Any) -> Any:
    """Names of classes, days as dates, or numbers as they are."""
    if not target.has_classes:
        return points_in_time(np.asarray(entries, dtype=np.float64)) if target.unit == "date" else entries
    return np.array([*(str(name) for name in target.classes), None], dtype=object).take(np.asarray(entries))


def with_new_rows(page: PageData, placed: Placed) -> PageData:
    """The page with the placed rows at its end, which are selected, coloured, searched and exported like all others.

    They have no position on other layers than the first.
    """
    n = len(placed.positions)
    ids = [f"row {row}" for row in range(page.n_rows)] if page.row_ids is None else list(page.row_ids)
    names = placed.ids if placed.ids is not None else [f"new row {i + 1}" for i in range(n)]
    nowhere = np.full((n, 2), np.nan)
    layers = [
        replace(
            layer,
            positions=np.concatenate([layer.positions, nowhere if i else placed.positions]),
            own=None if layer.own is None else _longer_target(layer.own, n),
        )
        for i, layer in enumerate(page.layers)
    ]
    return replace(
        page,
        layers=layers,
        target=_longer_target(page.target, n, placed.target),
        columns=_longer_columns(page, placed),
        split=np.concatenate([_split(page), np.full(n, NEW, dtype=object)]),
        keywords=None if page.keywords is None else [*page.keywords, *[None] * n],
        far=np.concatenate([_flags(page.far, page.n_rows), np.asarray(placed.far, dtype=bool)]),
        quality=None if page.quality is None else np.concatenate([page.quality, np.full(n, np.nan)]),
        misshown=None if page.misshown is None else np.concatenate([page.misshown, np.zeros(n, dtype=bool)]),
        images=None if page.images is None else _longer_images(np.asarray(page.images), n),
        row_ids=[*ids, *names],
        versions=[replace(one, positions=np.concatenate([one.positions, nowhere])) for one in page.versions],
    )


def _longer_target(target: Target, n: int, given: Any = None) -> Target:
    """The target with `n` rows more: of `given` values those that the map knows, unlabelled otherwise."""
    if target.field is None:
        return target
    unlabelled = -1 if target.has_classes else np.nan
    new = np.full(n, unlabelled) if given is None else _entries(target, given)
    return target.with_entries(np.append(target.entries, new), _padded(target.predicted, n, unlabelled))


def _entries(target: Target, given: Any) -> NDArray[Any]:
    """Values of a file as entries of the target; classes are known by their text."""
    if not target.has_classes:
        return column_numbers(column_array(given))
    codes = {str(name): code for code, name in enumerate(target.classes)}
    return np.array([codes.get(str(value), -1) for value in given], dtype=np.intp)


def _longer_columns(page: PageData, placed: Placed) -> dict[str, Any]:
    """The page's columns with the values that the file has, and what the file has beyond them."""
    n_old, n_new = page.n_rows, len(placed.positions)
    columns = {name: _joined(values, placed.columns.get(name), n_new) for name, values in page.columns.items()}
    for name, values in placed.about.items():
        columns[name] = _joined(np.full(n_old, np.nan), values, n_new)
    return columns


def _joined(old: Any, new: Any, n_new: int) -> NDArray[Any]:
    """Two parts of a column: numbers if both are, else as they are; None where the second is missing."""
    old = column_array(old)
    new = np.full(n_new, np.nan) if new is None else column_array(new)
    if is_numeric(old) and old.dtype.kind != "M" and is_numeric(new) and new.dtype.kind != "M":
        return np.concatenate([column_numbers(old), column_numbers(new)])
    if old.dtype.kind == new.dtype.kind == "M":
        return np.concatenate([old, new])
    parts = [part.astype(str).astype(object) if part.dtype.kind == "M" else part.astype(object) for part in (old, new)]
    return np.concatenate(parts)


def _padded(values: Any, n: int, fill: float) -> Any:
    return None if values is None else np.append(values, np.full(n, fill, dtype=np.asarray(values).dtype))


def _split(page: PageData) -> NDArray[Any]:
    return np.full(page.n_rows, "fitted", dtype=object) if page.split is None else np.asarray(page.split, dtype=object)


def _flags(flags: Any, n: int) -> NDArray[np.bool_]:
    return np.zeros(n, dtype=bool) if flags is None else np.asarray(flags, dtype=bool)


def _longer_images(images: NDArray[Any], n: int) -> NDArray[Any]:
    return np.concatenate([images, np.zeros((n, *images.shape[1:]), dtype=images.dtype)])
