"""The folder of a map, read back for the explorer: the page it holds, else its rows and report."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import FileFormatError, InputError
from prismap.explorer.packing import unpack
from prismap.explorer.page import Curve, Layer, PageData, Raster, Target
from prismap.tables import Roles, Table, TextColumn, label_texts, read_table

PAGE_BYTES = 2**30
_DATA = re.compile(rb'<script type="text/plain" id="prismap-data">([A-Za-z0-9+/=\s]*)</script>')
_OWN = ("id", "x", "y", "split", "far", "target")
_DAMAGE = (ValueError, KeyError, TypeError, IndexError, AttributeError, EOFError, OSError, zlib.error, binascii.Error)


def load_folder(path: str | Path) -> PageData:
    """What a folder written by ``prismap map`` shows. A damaged part is passed over while another can stand in."""
    path = Path(path)
    if not path.is_dir():
        raise InputError(f"there is no folder {path}: name one written by prismap map.")
    troubles: list[str] = []
    page = None
    if (path / "map.html").is_file():
        try:
            page = read_page(path / "map.html")
        except FileFormatError as error:
            troubles.append(str(error))
    rows = _read_rows(path, troubles)
    if page is None and rows is None:
        found = "; ".join(troubles) or "it has neither map.html nor map.parquet nor map.csv"
        raise FileFormatError(f"{path.name} holds no map that can be shown: {found}.")
    if page is None:
        assert rows is not None
        page = replace(_page_of_rows(rows, path.name), report=_read_report(path, troubles))
    elif rows is not None and rows.n_rows == page.n_rows:
        page = _with_columns(page, rows)
    notes = [f"A part of the folder could not be read: {trouble}." for trouble in troubles]
    return replace(page, notes=(*page.notes, *notes))


def read_page(path: Path) -> PageData:
    """The data inside a self-contained page."""
    try:
        if path.stat().st_size > PAGE_BYTES:
            raise ValueError("it is larger than any page")
        match = _DATA.search(path.read_bytes())
        if match is None:
            raise ValueError("it has no data of prismap inside")
        return unpack_page(_gunzip(base64.b64decode(match[1])))
    except _DAMAGE as error:
        raise FileFormatError(f"{path.name} cannot be read ({error})") from error


def unpack_page(message: bytes) -> PageData:
    """The inverse of `pack_page`."""
    header, arrays = unpack(message)
    if header["format"] != 1:
        raise ValueError(f"its format is {header['format']}, which this version cannot read")

    def array(reference: Any) -> Any:
        return None if reference is None else arrays[reference["offset"]]

    def column(about: Any) -> Any:
        if about["kind"] == "number":
            return array(about["values"])
        return np.array([*about["texts"], None], dtype=object)[array(about["codes"])]

    target, raster, relevance = header["target"], header.get("raster"), header.get("relevance")
    far, misshown = array(header.get("far")), array(header.get("misshown"))
    page = PageData(
        layers=[
            Layer(one["id"], one["label"], arrays[one["positions"]["offset"]], one["note"]) for one in header["layers"]
        ],
        title=header["title"],
        target=Target(
            target["kind"],
            target["name"],
            target.get("classes", ()),
            array(target.get("codes")),
            array(target.get("values")),
            array(target.get("predicted")),
        ),
        columns={one["name"]: column(one) for one in header["columns"]},
        split=column(header["split"]) if "split" in header else None,
        far=None if far is None else far.astype(bool),
        quality=array(header.get("quality")),
        misshown=None if misshown is None else misshown.astype(bool),
        report=header["report"],
        curves=[Curve(one["label"], array(one["k"]), array(one["r_nx"])) for one in header["curves"]],
        images=array(header.get("images")),
        raster=raster
        and Raster(arrays[raster["rgba"]["offset"]], tuple(raster["extent"]), raster["legend"], raster["layer"]),
        relevance=relevance and (relevance["names"], array(relevance["values"])),
        row_ids=header.get("ids"),
        notes=tuple(header["notes"]),
    )
    if not page.layers or any(np.shape(layer.positions) != (header["n"], 2) for layer in page.layers):
        raise ValueError("its positions do not fit its rows")
    return page


def _gunzip(data: bytes) -> bytes:
    """Unpack, but no more than a page can hold: a few bytes of gzip can stand for gigabytes."""
    unpacker = zlib.decompressobj(wbits=31)
    message = unpacker.decompress(data, PAGE_BYTES)
    if not unpacker.eof:
        raise ValueError("its data are cut short or too large")
    return message


def _read_rows(path: Path, troubles: list[str]) -> Table | None:
    for name in ("map.parquet", "map.csv"):
        if not (path / name).is_file():
            continue
        try:
            table = read_table(path / name, Roles("target", "id", required=False))
            if not {"x", "y"} <= set(table.columns):
                raise InputError(f"{name} has no columns x and y")
            return table
        except (InputError, ImportError, *_DAMAGE) as error:
            troubles.append(str(error).rstrip("."))
    return None


def _read_report(path: Path, troubles: list[str]) -> dict[str, Any] | None:
    try:
        report = json.loads((path / "report.json").read_bytes())
        if not isinstance(report, dict):
            raise ValueError("it holds no JSON object")
        return report
    except FileNotFoundError:
        return None
    except (*_DAMAGE, RecursionError) as error:
        troubles.append(f"report.json cannot be read ({error})")
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


def _with_columns(page: PageData, table: Table) -> PageData:
    """Add the columns of map.parquet that the page was too small for."""
    more = {name: _values(table, name) for name in table.columns if name not in _OWN and name not in page.columns}
    return replace(page, columns={**page.columns, **more}) if more else page


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
