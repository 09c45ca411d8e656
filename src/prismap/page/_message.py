"""A page in the binary form of `packing` and back: what the page's code, the live explorer and our files read.

The file of a page, `map.page`, is this message with every column, read without running anything.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap._util.blocks import require_memory
from prismap._version import __version__
from prismap.bundle import written_aside
from prismap.bundle._json import AnyName, check_form, reason_of
from prismap.exceptions import FileFormatError
from prismap.page._columns import compact, describe_column, float32, pack_column, unpack_column
from prismap.page._data import FIELDS, Curve, Layer, Neighbors, PageData, Raster, Relevance, Target, Version, check_page
from prismap.page._packing import REFERENCE, Packer, unpack

FORMAT = 1
#: Room for the values of columns in a page of few rows, for each of many rows, and at most.
FEW_BYTES, ROW_BYTES, MOST_BYTES = 10_000_000, 200, 24_000_000
IMAGE_BYTES = 64_000_000
#: The largest page; a file or message that claims more is refused.
FILE_BYTES = 2**32
#: What reading bytes that are no page may raise.
DAMAGE = (
    ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, OSError, RecursionError, MemoryError,
    zlib.error,
)  # fmt: skip
#: The form of a page's header.
_TARGET = {
    "kind": str, "name": str, "classes?": [str], "codes?": REFERENCE, "values?": REFERENCE, "predicted?": REFERENCE,
    "unit?": str,
}  # fmt: skip
_COLUMN = {"name": str, "kind": str, "texts?": [str], "codes?": REFERENCE, "values?": REFERENCE, "unit?": str}
_LAYER = {
    "id": str, "label": str, "note": str, "positions": REFERENCE, "own?": (_TARGET, None), "own_note?": str,
}  # fmt: skip
_NUMBER = (float, None)
_RELEVANCE = {
    "names": [str], "values": REFERENCE, "baseline": _NUMBER, "spread": _NUMBER, "threshold": _NUMBER,
}  # fmt: skip
HEADER = {
    "title": str, "n": int, "layers": [_LAYER], "target": _TARGET, "report": (AnyName({str: object}), None),
    "curves": [{"label": str, "k": REFERENCE, "r_nx": REFERENCE}], "notes": [str], "far?": REFERENCE,
    "misshown?": REFERENCE, "quality?": REFERENCE, "split?": _COLUMN, "keywords?": _COLUMN, "ids?": [str],
    "relevance?": (_RELEVANCE, None),
    "neighbors?": (
        {"rows": REFERENCE, "data": REFERENCE, "metric?": REFERENCE, "distances?": REFERENCE}, None,
    ), "images?": REFERENCE,
    "raster?": ({"rgba": REFERENCE, "extent": [float], "legend": str, "layer": str, "fidelity?": str}, None),
    "columns": [_COLUMN],
    "columns_left_out": int,
    "versions?": [{"label": str, "positions": REFERENCE, "gone": REFERENCE}], "changes?": [str],
}  # fmt: skip
#: Bytes that a value of a column takes while points in time are made of it, which is the most.
_VALUE_BYTES = 64


def pack_page(
    page: PageData,
    *,
    column_bytes: int | None = None,
    image_bytes: int = IMAGE_BYTES,
    live: Mapping[str, Any] | None = None,
) -> bytes:
    """The page's data in the binary form of `packing`; with `live`, its columns are left to be asked for later.

    Columns that do not fit into `column_bytes` are left out, the least relevant first, and counted.
    """
    check_page(page)
    packer = Packer()
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "title": str(page.title),
        "n": page.n_rows,
        "layers": [_pack_layer(layer, packer) for layer in page.layers],
        "target": _pack_target(page.target, packer),
        "report": page.report,
        "curves": [_pack_curve(curve, packer) for curve in page.curves],
        "notes": [str(note) for note in page.notes],
    }
    for name, values in (("far", page.far), ("misshown", page.misshown)):
        if values is not None:
            header[name] = packer.add(np.asarray(values, dtype=bool).astype(np.uint8))
    if page.quality is not None:
        header["quality"] = packer.add(float32(page.quality))
    for name, values in (("split", page.split), ("keywords", page.keywords)):
        if values is not None:
            header[name] = pack_column(name, values, packer, as_text=True)
    if page.row_ids is not None:
        header["ids"] = [str(value) for value in page.row_ids]
    if page.relevance is not None:
        header["relevance"] = {
            **vars(page.relevance),
            "names": [str(name) for name in page.relevance.names],
            "values": packer.add(float32(page.relevance.values)),
        }
    if page.neighbors is not None:
        tables = {name: table for name, table in vars(page.neighbors).items() if table is not None}
        header["neighbors"] = {name: packer.add(compact(np.asarray(table))) for name, table in tables.items()}
    if page.versions:
        header["versions"] = [
            {"label": str(one.label), "positions": packer.add(float32(one.positions)),
             "gone": packer.add(float32(one.gone))}
            for one in page.versions
        ]  # fmt: skip
        header["changes"] = [str(change) for change in page.changes]
    if page.raster is not None:
        header["raster"] = _pack_raster(page.raster, page.layers[0].id, packer)
    _pack_images(page, header, packer, image_bytes)
    if live is None:
        _pack_columns(page, header, packer, column_budget(page.n_rows) if column_bytes is None else column_bytes)
    else:
        header |= {"columns": [], "columns_left_out": page.left_out, "live": live}
    return packer.finish(header)


def unpack_page(message: bytes) -> PageData:
    """The inverse of `pack_page`."""
    header, arrays = unpack(message)
    if header["format"] != FORMAT:
        raise ValueError(f"its format is {header['format']!r:.40}, which this version cannot read")
    check_form(header, HEADER, "its header")
    _check_rows(header)
    needed = _VALUE_BYTES * header["n"] * (len(header["columns"]) + 4)
    require_memory(needed, f"A page of {header['n']} rows and {len(header['columns'])} columns", "Show fewer columns.")

    def array(reference: Any) -> Any:
        return None if reference is None else arrays[reference["offset"]]

    def column(about: Any) -> Any:
        return unpack_column(about, array)

    def target(about: Any) -> Target:
        codes, values, predicted = (array(about.get(name)) for name in ("codes", "values", "predicted"))
        unit: Any = "date" if about.get("unit") == "date" else None
        return Target(about["kind"], about["name"], about.get("classes", ()), codes, values, predicted, unit)

    raster, relevance, neighbors = (header.get(name) for name in ("raster", "relevance", "neighbors"))
    far, misshown = array(header.get("far")), array(header.get("misshown"))
    page = PageData(
        layers=[
            Layer(
                one["id"],
                one["label"],
                arrays[one["positions"]["offset"]],
                one["note"],
                one.get("own") and target(one["own"]),
                one.get("own_note", ""),
            )
            for one in header["layers"]
        ],
        title=header["title"],
        target=target(header["target"]),
        columns={one["name"]: column(one) for one in header["columns"]},
        split=column(header["split"]) if "split" in header else None,
        keywords=column(header["keywords"]) if "keywords" in header else None,
        far=None if far is None else far.astype(bool),
        quality=array(header.get("quality")),
        misshown=None if misshown is None else misshown.astype(bool),
        report=header["report"],
        curves=[Curve(one["label"], array(one["k"]), array(one["r_nx"])) for one in header["curves"]],
        images=array(header.get("images")),
        raster=raster
        and Raster(
            arrays[raster["rgba"]["offset"]],
            tuple(raster["extent"]),
            raster["legend"],
            raster["layer"],
            raster.get("fidelity", ""),
        ),
        relevance=relevance and Relevance(**{**relevance, "values": array(relevance["values"])}),
        row_ids=header.get("ids"),
        notes=tuple(header["notes"]),
        neighbors=neighbors and Neighbors(**{name: array(table) for name, table in neighbors.items()}),
        left_out=header["columns_left_out"],
        versions=[
            Version(one["label"], array(one["positions"]), array(one["gone"])) for one in header.get("versions", ())
        ],
        changes=header.get("changes", ()),
    )
    check_page(page)
    return page


def _check_rows(header: dict[str, Any]) -> None:
    """Every array that has an entry per row has as many as the header says, and no more; others go together."""
    target, texts = header["target"], (header.get(name) for name in ("split", "keywords"))
    columns = [*header["columns"], *(one for one in texts if one is not None)]
    per_row = [header.get(name) for name in ("far", "misshown", "quality")]
    for one in (target, *(layer.get("own") or {} for layer in header["layers"]), *columns):
        per_row += [one.get(name) for name in ("codes", "values", "predicted")]
    for one in (target, *(layer["own"] for layer in header["layers"] if layer.get("own"))):
        if one["kind"] not in FIELDS or ((field := FIELDS[one["kind"]]) is not None and field not in one):
            raise ValueError(f"its target is of kind {one['kind']!r:.40}, without entries of this kind")
    for reference in per_row:
        if reference is not None and reference["shape"] != [header["n"]]:
            raise ValueError(f"an array of shape {reference['shape']} does not go with its {header['n']} rows")
    if len({column["name"] for column in header["columns"]}) != len(header["columns"]):
        raise ValueError("two of its columns have one name")
    relevance, raster = header.get("relevance"), header.get("raster")
    if relevance is not None and relevance["values"]["shape"] != [len(relevance["names"])]:
        raise ValueError("its relevance has other values than names")
    for curve in header["curves"]:
        if len(curve["k"]["shape"]) != 1 or curve["k"]["shape"] != curve["r_nx"]["shape"]:
            raise ValueError("a curve has other values than neighbourhood sizes")
    if raster is not None and (
        len(raster["extent"]) != 4 or raster["rgba"]["dtype"] != "u1" or raster["rgba"]["shape"][2:] != [4]
    ):
        raise ValueError("the picture behind its map is none of four bytes per cell, between four bounds")


def column_budget(n_rows: int) -> int:
    """How much room the values of columns may take in a page."""
    return min(MOST_BYTES, max(FEW_BYTES, ROW_BYTES * n_rows))


def _pack_columns(page: PageData, header: dict[str, Any], packer: Packer, column_bytes: int) -> None:
    """The columns in their order; if not all have room, the most relevant ones."""
    room = column_bytes
    kept = {}
    for name in by_relevance(page):
        column = describe_column(name, page.columns[name])
        if column.n_bytes <= room:
            room -= column.n_bytes
            kept[name] = column
    header["columns"] = [kept[name].pack(packer) for name in page.columns if name in kept]
    header["columns_left_out"] = len(page.columns) - len(kept) + page.left_out


def by_relevance(page: PageData) -> list[str]:
    """The names of the columns, the most relevant first; those of unknown relevance last, in their order."""
    if page.relevance is None:
        return list(page.columns)
    values = np.nan_to_num(np.asarray(page.relevance.values, dtype=np.float64), nan=-np.inf)
    known = {str(name): -float(value) for name, value in zip(page.relevance.names, values, strict=True)}
    return sorted(page.columns, key=lambda name: known.get(str(name), np.inf))


def _pack_images(page: PageData, header: dict[str, Any], packer: Packer, image_bytes: int) -> None:
    if page.images is None:
        return
    images = np.asarray(page.images)
    if images.nbytes > image_bytes:
        header["notes"] = [*header["notes"], "The row images take too much room for this page and were left out."]
        return
    header["images"] = packer.add(images)


def _pack_layer(layer: Layer, packer: Packer) -> dict[str, Any]:
    packed = {
        "id": str(layer.id),
        "label": str(layer.label),
        "note": str(layer.note),
        "positions": packer.add(float32(layer.positions)),
    }
    if layer.own is not None:
        packed |= {"own": _pack_target(replace(layer.own, classes=()), packer), "own_note": str(layer.own_note)}
    return packed


def _pack_target(target: Target, packer: Packer) -> dict[str, Any]:
    packed: dict[str, Any] = {"kind": target.kind, "name": str(target.name)}
    if target.field is None:
        return packed
    if target.has_classes:
        packed["classes"] = [str(name) for name in target.classes]
    if target.unit is not None:
        packed["unit"] = target.unit
    numbers = _int32 if target.has_classes else float32
    packed[target.field] = packer.add(numbers(target.entries))
    if target.predicted is not None:
        packed["predicted"] = packer.add(numbers(target.predicted))
    return packed


def _int32(codes: Any) -> NDArray[np.int32]:
    return np.asarray(codes).astype(np.int32)


def _pack_curve(curve: Curve | tuple[str, Any, Any], packer: Packer) -> dict[str, Any]:
    label, k, r_nx = (curve.label, curve.k, curve.r_nx) if isinstance(curve, Curve) else curve
    return {"label": str(label), "k": packer.add(float32(k)), "r_nx": packer.add(float32(r_nx))}


def _pack_raster(raster: Raster, first_layer: str, packer: Packer) -> dict[str, Any]:
    return {
        "rgba": packer.add(np.asarray(raster.rgba, dtype=np.uint8)),
        "extent": [float(bound) for bound in raster.extent],
        "legend": str(raster.legend),
        "layer": str(raster.layer or first_layer),
        "fidelity": str(raster.fidelity),
    }


def write_page_file(page: PageData, path: str | os.PathLike[str]) -> Path:
    """Write the data of a page with all its columns and images, aside first and then renamed."""
    message = pack_page(page, column_bytes=sys.maxsize, image_bytes=sys.maxsize)
    with written_aside(path) as aside:
        aside.write_bytes(message)
    return Path(path)


def read_page_file(path: str | os.PathLike[str]) -> PageData:
    """The data of a page that `write_page_file` wrote, or a `FileFormatError` that says why it cannot be read."""
    path = Path(path)
    try:
        n_bytes = path.stat().st_size
        if n_bytes > FILE_BYTES:
            raise ValueError("it is larger than any page")
        require_memory(2.0 * n_bytes, f"A page of {n_bytes} bytes", "Read it on a machine with more memory.")
        return unpack_page(path.read_bytes())
    except DAMAGE as error:
        raise FileFormatError(f"{path.name} cannot be read ({reason_of(error)})") from error
