"""Colours of a model's picture: class colours that certainty deepens, output on a scale, empty places greyed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from prismap._util.arrays import Numbers

if TYPE_CHECKING:
    from prismap.inspection._surface import Grid

#: Colours by number of classes, those of the page (Okabe and Ito 2008; Petroff 2021): they differ for readers
#: with all kinds of colour vision.
OKABE_ITO = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#c9b400", "#5b5b7a")
PETROFF = (
    "#3f90da", "#ffa90e", "#bd1f01", "#2f9e78", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#4b5d8a", "#7fd0d3",
)  # fmt: skip
VIRIDIS = (
    "#440154", "#482576", "#414487", "#35608d", "#2a788e", "#21918c", "#22a884", "#43bf71", "#7ad151", "#bbdf27",
    "#fde725",
)  # fmt: skip
#: Part of viridis that is used, as on the page: its last end vanishes on white.
RAMP_END = 0.93
#: How deep the colour is at a boundary and at full certainty, and in places far from the data.
FAINT, DEEP, FAR = 0.12, 0.62, 0.18
OUTPUT_DEPTH = 0.75
FAR_GREY = (226, 228, 232)


def class_palette(n_classes: int) -> list[str]:
    """A colour per class as "#rrggbb"; beyond ten, hues at the golden angle in three lightnesses (OKLCH)."""
    for palette in (OKABE_ITO, PETROFF):
        if n_classes <= len(palette):
            return list(palette[:n_classes])
    return [to_hex(oklch((0.58, 0.72, 0.44)[i % 3], 0.14, (i * 137.508 + 20) % 360)) for i in range(n_classes)]


def paint_classes(grid: Grid, n_classes: int, full: float, *, opaque: bool = True) -> np.ndarray:
    """The picture of a classifier as RGBA bytes, line 0 at the lowest y; `full` is the certainty with the full colour.

    Opaque on white, or see-through for any background.
    """
    colours = np.array([from_hex(colour) for colour in class_palette(n_classes)], dtype=np.float64)
    return blend(grid, colours[grid.value], class_depth(grid, full), opaque)


def paint_output(grid: Grid, low: float, high: float, *, opaque: bool = True) -> np.ndarray:
    """The picture of a regressor, with the ends of its scale; otherwise as `paint_classes`."""
    return blend(grid, ramp(grid.value, low, high), np.full(grid.value.shape, OUTPUT_DEPTH), opaque)


def blend(grid: Grid, rgb: np.ndarray, depth: np.ndarray, opaque: bool) -> np.ndarray:
    """Colours of some depth on white, places far from the data greyed; or see-through by their depth."""
    depth = np.where(grid.far, FAR, depth)[..., None]
    if not opaque:
        return np.concatenate([rgb, 255 * depth], axis=-1).round().astype(np.uint8)
    ground = np.where(grid.far[..., None], np.array(FAR_GREY, dtype=np.float64), 255.0)
    painted = depth * rgb + (1 - depth) * ground
    return np.concatenate([painted, np.full((*grid.value.shape, 1), 255.0)], axis=-1).round().astype(np.uint8)


def class_depth(grid: Any, full: float) -> Numbers:
    """Depth of colour from certainty: `FAINT` at a boundary, `DEEP` at `full` and above; even without certainty."""
    if grid.certainty is None:
        return np.full(grid.value.shape, (FAINT + DEEP) / 2)
    share = np.clip(grid.certainty / full, 0, 1) if full > 0 else np.ones(grid.value.shape)
    return FAINT + (DEEP - FAINT) * share


def ramp(values: Numbers, low: float, high: float) -> Numbers:
    """viridis at values between low and high, as RGB."""
    stops = np.array([from_hex(colour) for colour in VIRIDIS], dtype=np.float64)
    share = np.clip((values - low) / (high - low if high > low else 1.0), 0, 1) * RAMP_END
    at = np.linspace(0, 1, len(stops))
    return np.stack([np.interp(share, at, stops[:, channel]) for channel in range(3)], axis=-1)


def from_hex(colour: str) -> tuple[int, ...]:
    """(red, green, blue) of "#rrggbb"."""
    return tuple(int(colour[start : start + 2], 16) for start in (1, 3, 5))


def to_hex(rgb: Any) -> str:
    """ "#rrggbb" of a colour."""
    return "#" + "".join(f"{int(np.clip(round(value), 0, 255)):02x}" for value in rgb)


def oklch(lightness: float, chroma: float, hue: float) -> list[float]:
    """OKLCH to sRGB bytes (Ottosson, 2020)."""
    a, b = chroma * np.cos(np.radians(hue)), chroma * np.sin(np.radians(hue))
    roots = np.array(
        [[1, 0.3963377774, 0.2158037573], [1, -0.1055613458, -0.0638541728], [1, -0.0894841775, -1.291485548]]
    )
    cones = (roots @ [lightness, a, b]) ** 3
    mixing = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.707614701],
        ]
    )
    linear = mixing @ cones
    return [255 * (12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055) for v in linear]
