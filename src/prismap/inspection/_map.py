"""`MapDisplay`: a map as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from prismap._util.optional import import_extra
from prismap._util.repr import Brief
from prismap.exceptions import InputError
from prismap.inspection._names import ROOM, Cover, densest_places, place_names
from prismap.inspection._paint import class_palette
from prismap.target._labels import check_target_length

#: Rows without a class, on the page too.
UNLABELLED, UNLABELLED_COLOUR = "unlabelled", "#b9bec7"
#: Up to so many classes a legend lists them all; beyond, the largest, and the others stand on the map.
MOST_ENTRIES = 40


@dataclass(repr=False)
class MapDisplay(Brief):
    """Positions and their target, drawn by `plot`; holds arrays only.

    Parameters
    ----------
    positions : (n, 2).
    target : codes of classes (-1: none) or real values (NaN: none), or None.
    classes : names of the classes; None for a real target.
    title, subtitle : text above the picture.
    unit : "date" for a target of days since 1970.
    """

    positions: np.ndarray
    target: Any = None
    classes: Any = None
    title: str = ""
    subtitle: str = ""
    unit: str | None = None
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    @classmethod
    def from_map(cls, model: Any) -> Self:
        """From a fitted `PrisMap`: all rows it was given."""
        given = model.map_.given
        target, encoding = given.target.shown, given.encoding
        dates = encoding is not None and encoding.target in encoding.date_targets
        values = target.values if target.exists else None
        return cls(model.positions(), values, target.classes, unit="date" if dates else None)

    def plot(
        self,
        ax: Any = None,
        *,
        color: Any = None,
        palette: Any = None,
        labels: Any = None,
        legend: bool = True,
        size: float | None = None,
        alpha: float = 0.85,
    ) -> Self:
        """Draw the points: classes by colour with a legend, numbers with a colour bar, no target in grey.

        Parameters
        ----------
        color : values to colour by instead of the target, one per row: numbers, or names of groups.
        palette : colours of the classes, a list or a mapping from their names, or the colour map of numbers.
        labels : whether classes are named on the map, beside their points; None: where a legend is too long.
        legend : whether there is a legend outside the map.
        size, alpha : area and opacity of the points.
        """
        plt = import_extra("matplotlib.pyplot", extra="plot", feature="drawing a map")
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 6), layout="constrained")
        values, classes = self._shown(color)
        size = size or float(np.clip(20000 / max(len(self.positions), 1), 2, 30))
        style = {"s": size, "linewidths": 0, "alpha": alpha}
        ax.set(xticks=[], yticks=[], aspect="equal")
        if self.title:
            ax.set_title(drawable(self.title))
        for side in ax.spines.values():
            side.set_color("#bbbbbb")
        x, y = self.positions[:, 0], self.positions[:, 1]
        if values is None:
            ax.scatter(x, y, color="#44607a", **style)
        elif classes is None:
            drawn = ax.scatter(x, y, c=values, cmap=palette or "viridis", plotnonfinite=True, **style)
            if legend:
                # Beside a map that is wide and low, a bar would leave most of its side empty.
                low = np.ptp(self.positions[:, 1]) < 0.5 * np.ptp(self.positions[:, 0])
                bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.8, location="bottom" if low else "right")
                if self.unit == "date" and color is None:
                    name_dates(bar)
        else:
            self._classes(ax, values, [str(name) for name in classes], palette, style, legend=legend)
            if labels or (labels is None and len(classes) > MOST_ENTRIES):
                name_classes(ax, self.positions, np.asarray(values), [str(name) for name in classes], size)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _shown(self, color: Any) -> tuple[Any, Any]:
        """Values and classes to colour by: the target's, or those of `color`."""
        if color is None:
            return self.target, self.classes
        values = check_target_length(color, len(self.positions))
        if values.dtype.kind in "fiub":
            return values.astype(np.float64), None
        missing = np.array([value is None or value != value for value in values.tolist()])
        names, codes = np.unique(np.where(missing, "", values.astype(str)), return_inverse=True)
        codes = np.where(missing, -1, codes - int(missing.any() and names[0] == ""))
        return codes, names[1:] if missing.any() and names[0] == "" else names

    def _classes(self, ax: Any, codes: Any, names: Any, palette: Any, style: Any, *, legend: Any) -> None:
        colours = chosen_colours(names, palette)
        x, y = self.positions[:, 0], self.positions[:, 1]
        groups = [(-1, UNLABELLED, UNLABELLED_COLOUR)] if (codes < 0).any() else []
        groups += list(zip(range(len(names)), names, colours, strict=True))
        sizes = {}
        for code, name, colour in groups:
            rows = codes == code
            sizes[code] = (int(rows.sum()), ax.scatter(x[rows], y[rows], color=colour, label=drawable(name), **style))
        if legend:
            draw_legend(ax, list(sizes.values()), loc="center left", bbox_to_anchor=(1, 0.5))

    def explain(self, figure: Any) -> None:
        """A legend, or a colour bar, beside all panels of a figure, of which this display was drawn in the first."""
        points = self.ax_.collections
        if self.classes is not None:
            draw_legend(figure, [(len(one.get_offsets()), one) for one in points], loc="outside right center")
        elif self.target is not None:
            bar = figure.colorbar(points[0], ax=figure.axes, shrink=0.6)
            if self.unit == "date":
                name_dates(bar)


def draw_legend(where: Any, classes: list[tuple[int, Any]], **place: Any) -> None:
    """A legend of drawn classes, each with its number of rows: all of them, or the largest."""
    listed = classes
    if len(classes) > MOST_ENTRIES:
        listed = sorted(classes, key=lambda one: -one[0])[: MOST_ENTRIES - 1]
    title = None if len(listed) == len(classes) else f"the largest {len(listed)} of {len(classes)}"
    points = [drawn for _, drawn in listed]
    legend = where.legend(
        points, [drawn.get_label() for drawn in points], title=title, frameon=False,
        ncols=1 + (len(listed) - 1) // 20, **place,
    )  # fmt: skip
    for handle in legend.legend_handles:
        handle.set(sizes=[36], alpha=1)


def name_dates(bar: Any) -> None:
    """Dates beside a colour bar of days since 1970, which are what matplotlib counts dates by."""
    dates = import_extra("matplotlib.dates", extra="plot", feature="drawing a map")
    locator = dates.AutoDateLocator(minticks=3, maxticks=6)
    bar.locator, bar.formatter = locator, dates.AutoDateFormatter(locator, defaultfmt="%Y-%m-%d")
    bar.update_ticks()


def drawable(text: str) -> str:
    """A text as matplotlib draws it: names that are broken TeX, such as "$\\frac$", are drawn as they are written."""
    if "$" not in text:
        return text
    mathtext = import_extra("matplotlib.mathtext", extra="plot", feature="drawing a map")
    try:
        mathtext.MathTextParser("path").parse(text)
    except (ValueError, RuntimeError):
        return text.replace("$", r"\$")
    return text


def chosen_colours(names: Any, palette: Any) -> list[Any]:
    """A colour per class: the page's own, those of a list, or those of a mapping from the names."""
    if palette is None:
        return class_palette(len(names))
    if hasattr(palette, "keys"):
        missing = [name for name in names if name not in palette]
        if missing:
            raise InputError(f"palette has no colour for {', '.join(map(repr, missing[:8]))}: name one for each class.")
        return [palette[name] for name in names]
    if isinstance(palette, str) or len(palette) < len(names):
        raise InputError(
            f"palette must hold a colour for each of the {len(names)} classes, as a list or by name; got {palette!r}."
        )
    return list(palette)[: len(names)]


def name_classes(ax: Any, positions: Any, codes: Any, names: Any, size: float) -> None:
    """Write the name of each class beside its points, the largest first, as far as there is room for it.

    size : area of a point, in square points of the figure.
    """
    halo = import_extra("matplotlib.patheffects", extra="plot", feature="drawing a map")
    figure = ax.figure
    figure.draw_without_rendering()  # the layout is settled: names are as large as they will be
    corner, frame = np.array(ax.bbox.min), np.array(ax.bbox.size)
    pixels = ax.transData.transform(np.asarray(positions, dtype=np.float64)) - corner
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    style: dict[str, Any] = {
        "ha": "center", "va": "center", "fontsize": 9 if len(names) <= ROOM.many else 7, "fontweight": "bold",
        "transform": None, "path_effects": [halo.withStroke(linewidth=2.5, foreground="white")],
    }  # fmt: skip
    texts = [ax.text(0, 0, drawable(name), **style) for name in names]
    boxes = np.array([text.get_window_extent().size for text in texts])
    radius = np.sqrt(size / np.pi) * figure.dpi / 72
    placed = place_names(
        densest_places(pixels, codes, len(names)), boxes, np.argsort(-sizes, kind="stable"),
        Cover(pixels, codes, frame, radius), frame,
    )  # fmt: skip
    # As parts of the frame: the picture may be saved at another size.
    for name in placed:
        texts[name.code].set(position=name.centre / frame, transform=ax.transAxes)
        if name.line is not None:
            x, y = (name.line / frame).T
            ax.plot(x, y, color="#333333", linewidth=0.7, transform=ax.transAxes, scalex=False, scaley=False)
    for code in set(range(len(names))) - {name.code for name in placed}:
        texts[code].remove()
