"""The self-contained page: everything one map has to show, in one HTML file that asks nobody for anything.

`PageData` holds arrays and words; `pack_page` turns it into the binary form of `packing`; `render_html` puts that and
the page's code, built ahead from ``web/`` and kept in ``static/``, into one file. The file carries a content security
policy that forbids every connection and runs no script but ours: a class label or column name that looks like HTML
stays text.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prismap._version import __version__
from prismap.bundle import written_aside
from prismap.exceptions import InputError
from prismap.explorer.packing import Packer, dictionary_codes, is_missing

FORMAT = 1
COLUMN_BYTES = 24_000_000
"""How much room hover values may take in a page; columns beyond it are left out, and the page says how many."""
IMAGE_BYTES = 64_000_000

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="prismap {version}">
<title>{title}</title>
<link rel="icon" href="data:,">
</head>
<body>
<!--
{licences}-->
<div id="prismap" data-mode="{mode}">
<noscript>This page draws the map with JavaScript, which is switched off here.</noscript></div>
<script type="text/plain" id="prismap-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


@dataclass(frozen=True)
class Layer:
    """One set of positions of the same rows: the map itself, its unsupervised or permuted twin, ..."""

    id: str
    label: str
    positions: NDArray[Any]
    note: str = ""


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


def pack_page(page: PageData, *, column_bytes: int = COLUMN_BYTES, live: Mapping[str, Any] | None = None) -> bytes:
    """The page's data in the binary form of `packing`; with `live`, its columns are left to be asked for later."""
    _check(page)
    packer = Packer()
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "title": page.title,
        "n": page.n_rows,
        "layers": [
            {
                "id": layer.id,
                "label": layer.label,
                "note": layer.note,
                "positions": packer.add(_float32(layer.positions)),
            }
            for layer in page.layers
        ],
        "target": _pack_target(page.target, packer),
        "report": page.report,
        "curves": [_pack_curve(curve, packer) for curve in page.curves],
        "notes": list(page.notes),
    }
    for name, values in (("far", page.far), ("misshown", page.misshown)):
        if values is not None:
            header[name] = packer.add(np.asarray(values, dtype=bool).astype(np.uint8))
    if page.quality is not None:
        header["quality"] = packer.add(_float32(page.quality))
    if page.split is not None:
        header["split"] = pack_column("split", page.split, packer, as_text=True)
    if page.row_ids is not None:
        header["ids"] = [str(value) for value in page.row_ids]
    if page.relevance is not None:
        names, values = page.relevance
        header["relevance"] = {"names": [str(name) for name in names], "values": packer.add(_float32(values))}
    if page.raster is not None:
        header["raster"] = _pack_raster(page.raster, page.layers[0].id, packer)
    _pack_images(page, header, packer)
    if live is None:
        _pack_columns(page, header, packer, column_bytes)
    else:
        header |= {"columns": [], "columns_left_out": [], "live": live}
    return packer.finish(header)


def render_html(page: PageData) -> str:
    """The self-contained page as text."""
    data = base64.b64encode(gzip.compress(pack_page(page), compresslevel=6, mtime=0)).decode("ascii")
    return html_document(page.title, mode="static", data=data, connect="'none'")


def write_html(page: PageData, path: str | os.PathLike[str]) -> Path:
    """Write the self-contained page, aside first and then renamed, so that no half-written file carries the name."""
    text = render_html(page)
    with written_aside(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def html_document(title: str, *, mode: str, data: str = "", connect: str) -> str:
    """The page around its data; `connect` says which connections the browser may make."""
    script = page_script()
    return TEMPLATE.format(
        policy=html.escape(content_policy(script, connect), quote=True),
        title=html.escape(title),
        version=__version__,
        mode=mode,
        data=data,
        script=script,
        licences=_static("LICENSES.txt"),
    )


def page_script() -> str:
    """The page's code, built from ``web/``."""
    return _static("prismap.js")


def _static(name: str) -> str:
    return files("prismap.explorer").joinpath("static", name).read_text(encoding="utf-8")


def content_policy(script: str, connect: str) -> str:
    """Our script by its hash and nothing else. 'unsafe-eval' is there because regl compiles its draw calls."""
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    return (
        f"default-src 'none'; script-src 'sha256-{digest}' 'unsafe-eval'; style-src 'unsafe-inline'; "
        f"img-src data: blob:; connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def pack_column(name: str, values: Any, packer: Packer, *, as_text: bool = False) -> dict[str, Any]:
    """A column as numbers when it is numeric, by its distinct values otherwise."""
    array = column_array(values)
    if is_numeric(array) and not as_text:
        return {"name": str(name), "kind": "number", "values": packer.add(_float32(array))}
    distinct, codes = dictionary_codes(array.tolist())
    return {"name": str(name), "kind": "text", "texts": distinct, "codes": packer.add(codes)}


def column_array(values: Any) -> NDArray[Any]:
    """A column as one array: numbers among None as numbers with NaN, points in time as text."""
    array = np.asarray(values)
    if array.dtype.kind in "mM":
        texts = array.astype(str).astype(object)
        texts[np.isnat(array)] = None
        return texts
    if array.dtype == object:
        numbers = [np.nan if is_missing(value) else value for value in array.tolist()]
        if all(isinstance(value, (bool, int, float, np.number)) for value in numbers):
            return np.array(numbers, dtype=np.float64)
    return array


def is_numeric(array: NDArray[Any]) -> bool:
    """Whether a column is shown as numbers."""
    return array.dtype.kind in "fiub"


def _pack_columns(page: PageData, header: dict[str, Any], packer: Packer, column_bytes: int) -> None:
    kept: list[dict[str, Any]] = []
    left_out = []
    room = column_bytes
    for name, values in page.columns.items():
        cost = 4 * page.n_rows
        if cost > room:
            left_out.append(str(name))
            continue
        room -= cost
        kept.append(pack_column(name, values, packer))
    header["columns"] = kept
    header["columns_left_out"] = left_out


def _pack_images(page: PageData, header: dict[str, Any], packer: Packer) -> None:
    if page.images is None:
        return
    images = np.asarray(page.images)
    if images.nbytes > IMAGE_BYTES:
        header["notes"] = [*header["notes"], "The row images take too much room for this page and were left out."]
        return
    header["images"] = packer.add(images)


def _pack_target(target: Target, packer: Packer) -> dict[str, Any]:
    packed: dict[str, Any] = {"kind": target.kind, "name": target.name}
    if target.kind == "class":
        packed["classes"] = [str(name) for name in target.classes]
        packed["codes"] = packer.add(np.asarray(target.codes).astype(np.int32))
        if target.predicted is not None:
            packed["predicted"] = packer.add(np.asarray(target.predicted).astype(np.int32))
    elif target.kind == "real":
        packed["values"] = packer.add(_float32(target.values))
        if target.predicted is not None:
            packed["predicted"] = packer.add(_float32(target.predicted))
    return packed


def _pack_curve(curve: Curve | tuple[str, Any, Any], packer: Packer) -> dict[str, Any]:
    label, k, r_nx = (curve.label, curve.k, curve.r_nx) if isinstance(curve, Curve) else curve
    return {"label": str(label), "k": packer.add(_float32(k)), "r_nx": packer.add(_float32(r_nx))}


def _pack_raster(raster: Raster, first_layer: str, packer: Packer) -> dict[str, Any]:
    return {
        "rgba": packer.add(np.asarray(raster.rgba, dtype=np.uint8)),
        "extent": [float(bound) for bound in raster.extent],
        "legend": raster.legend,
        "layer": raster.layer or first_layer,
    }


def _check(page: PageData) -> None:
    if not page.layers:
        raise InputError("layers of PageData is empty. Pass at least one Layer(id, label, positions).")
    n = page.n_rows
    for layer in page.layers:
        if np.shape(layer.positions) != (n, 2):
            found = np.shape(layer.positions)
            raise InputError(f"positions of layer '{layer.id}' must be ({n}, 2) like the first layer's. Got {found}.")
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


def _check_codes(target: Target) -> None:
    codes = np.asarray(target.codes)
    if codes.size and (codes.min() < -1 or codes.max() >= len(target.classes)):
        found = f"{codes.min()} to {codes.max()}"
        raise InputError(f"target.codes must lie in -1 .. {len(target.classes) - 1}, one per class. Got {found}.")


def _float32(values: Any) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.asarray(values).astype(np.float32)
