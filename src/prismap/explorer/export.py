"""Rows as csv that a spreadsheet opens without running any of it."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.page_data import Layer, PageData
from prismap.page_data.columns import column_array, is_missing, time_texts

#: What spreadsheets take for a formula, also after spaces and in full-width form; a plain number is none.
_RISKY = re.compile(r"^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)
_ROWS_A_CHUNK = 2000


def safe_cell(value: Any) -> Any:
    """Text that would be run as a formula gets a leading apostrophe; numbers stay numbers, missing is empty.

    >>> safe_cell("=1+1"), safe_cell("-3.5"), safe_cell(-3.5), safe_cell(None)
    ("'=1+1", '-3.5', -3.5, '')
    """
    if is_missing(value):
        return ""
    if isinstance(value, (bool, int, float)):
        return value if math.isfinite(value) else ""
    text = str(value)
    return f"'{text}" if _RISKY.match(text) and not _NUMBER.fullmatch(text) else text


def csv_chunks(page: PageData, layer: Layer, rows: NDArray[np.intp]) -> Iterator[str]:
    """The csv of some rows, a few thousand lines at a time: position on `layer`, and all the page knows."""
    columns = {name: column_array(values) for name, values in _columns(page, layer).items()}
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n")
    writer.writerow([safe_cell(name) for name in columns])
    for start in range(0, len(rows), _ROWS_A_CHUNK):
        chunk = rows[start : start + _ROWS_A_CHUNK]
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
    if target.kind == "class":
        columns[target.name] = _named(target.classes, target.codes)
    elif target.kind == "real":
        columns[target.name] = target.values
    if target.predicted is not None:
        predicted = _named(target.classes, target.predicted) if target.kind == "class" else target.predicted
        columns[f"predicted {target.name}"] = predicted
    for name, values in (("split", page.split), ("far", page.far), ("quality", page.quality)):
        if values is not None:
            columns[name] = values
    for name, values in page.columns.items():
        columns[name if name not in columns else f"{name} (column)"] = values
    return columns


def _named(classes: Any, codes: Any) -> NDArray[np.object_]:
    names: NDArray[np.object_] = np.array([*(str(name) for name in classes), None], dtype=object)
    return names.take(np.asarray(codes))
