"""The folder of a map, read back for the explorer: the page it holds, else its rows and report."""

from __future__ import annotations

import base64
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.blocks import require_memory
from prismap.bundle._json import parse_json, reason_of, unsealed
from prismap.exceptions import FileFormatError, InputError
from prismap.page._data import Layer, PageData, Target
from prismap.page._message import DAMAGE, read_page_file, unpack_page
from prismap.tables import Roles, Table, TextColumn, label_texts, read_table

#: The page's data in a folder of `prismap map`.
DATA = "map.page"
#: The largest self-contained page.
PAGE_BYTES = 2**30
_DATA = re.compile(rb'<script type="text/plain" id="prismap-data">([A-Za-z0-9+/=\s]*)</script>')
_OWN = ("id", "x", "y", "split", "far", "target")


def load_folder(path: str | Path) -> PageData:
    """What a folder written by ``prismap map`` shows. A damaged part is passed over while another can stand in."""
    path = Path(path)
    if not path.is_dir():
        raise InputError(f"there is no folder {path}: name one written by prismap map.")
    troubles: list[str] = []
    page = _read_data(path, troubles) or _read_rows(path, troubles)
    if page is None:
        reasons = "; ".join(troubles) or f"it has neither {DATA} nor map.html nor map.parquet nor map.csv"
        raise FileFormatError(f"{path.name} holds no map that can be shown: {reasons}.")
    notes = [f"A part of the folder could not be read: {trouble}." for trouble in troubles]
    return replace(page, notes=(*page.notes, *notes))


def _read_data(path: Path, troubles: list[str]) -> PageData | None:
    """The file of the page's data, or the data in map.html where that file is missing or damaged."""
    for name, read in ((DATA, read_page_file), ("map.html", read_page)):
        if (path / name).is_file():
            try:
                return read(path / name)
            except FileFormatError as error:
                troubles.append(str(error))
    return None


def read_page(path: Path) -> PageData:
    """The data inside a self-contained page."""
    try:
        n_bytes = path.stat().st_size
        if n_bytes > PAGE_BYTES:
            raise ValueError("it is larger than any page")
        require_memory(3.0 * n_bytes, f"A page of {n_bytes} bytes", "Read it on a machine with more memory.")
        match = _DATA.search(path.read_bytes())
        if match is None:
            raise ValueError("it has no data of prismap inside")
        return unpack_page(_gunzip(base64.b64decode(match[1])))
    except DAMAGE as error:
        raise FileFormatError(f"{path.name} cannot be read ({reason_of(error)})") from error


def _gunzip(data: bytes) -> bytes:
    """Unpack, but no more than the last four bytes declare: a few bytes of gzip can stand for gigabytes."""
    declared = int.from_bytes(data[-4:], "little")
    if declared > PAGE_BYTES:
        raise ValueError("its data are cut short or too large")
    require_memory(2.0 * declared, f"A page of {declared} bytes", "Read it on a machine with more memory.")
    unpacker = zlib.decompressobj(wbits=31)
    message = unpacker.decompress(data, declared + 1)
    if not unpacker.eof or unpacker.unused_data:
        raise ValueError("its data are cut short or too large")
    return message


def _read_rows(path: Path, troubles: list[str]) -> PageData | None:
    """A page of the rows and the report alone."""
    for name in ("map.parquet", "map.csv"):
        if not (path / name).is_file():
            continue
        try:
            table = read_table(path / name, Roles("target", "id", required=False))
            if not {"x", "y"} <= set(table.columns):
                raise InputError(f"{name} has no columns x and y")
            page = _page_of_rows(table, path.name)
        except (InputError, ImportError, *DAMAGE) as error:
            troubles.append(str(error).rstrip("."))
            continue
        return replace(page, report=_read_report(path, troubles))
    return None


def _read_report(path: Path, troubles: list[str]) -> dict[str, Any] | None:
    try:
        return unsealed(parse_json((path / "report.json").read_bytes()))
    except FileNotFoundError:
        return None
    except DAMAGE as error:
        troubles.append(f"report.json cannot be read ({reason_of(error)})")
        return None


def _page_of_rows(table: Table, title: str) -> PageData:
    """A page from map.parquet alone: one layer, the target, and whatever columns are there."""
    columns = {name: _values(table, name) for name in table.columns}
    positions = np.column_stack([np.asarray(columns[name], dtype=np.float32) for name in ("x", "y")])
    ids = label_texts(table.ids)
    if ids == [str(row) for row in range(table.n_rows)]:
        ids = None
    return PageData(
        layers=[Layer("map", "Map", positions)],
        title=title,
        target=_target_of(table.target),
        columns={name: values for name, values in columns.items() if name not in _OWN},
        split=columns.get("split"),
        far=None if "far" not in columns else np.asarray(columns["far"], dtype=bool),
        row_ids=ids,
    )


def _values(table: Table, name: str) -> NDArray[Any]:
    column = table.columns[name]
    return column.values() if isinstance(column, TextColumn) else column


def _target_of(values: NDArray[Any] | None) -> Target:
    """Text and few whole numbers are classes, other numbers are real."""
    if values is None:
        return Target()
    if values.dtype.kind in "iuf":
        numbers = np.ma.filled(values.astype(np.float64), np.nan)
        whole = np.isnan(numbers) | (numbers == np.round(numbers))
        if not whole.all() or len(np.unique(values[~np.isnan(numbers)])) > 30:
            return Target("real", "target", values=numbers)
    known = [value for value in values.tolist() if value is not None and value == value]
    classes = sorted(set(known))
    place = {value: code for code, value in enumerate(classes)}
    codes = np.array([place.get(value, -1) for value in values.tolist()], dtype=np.int32)
    names = [str(int(value)) if isinstance(value, float) else str(value) for value in classes]
    return Target("class", "target", names, codes=codes)
