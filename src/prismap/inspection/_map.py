"""`MapDisplay`: a map as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from prismap._util.optional import import_extra
from prismap._util.repr import Brief
from prismap.exceptions import InputError
from prismap.inspection._paint import class_palette
from prismap.target._labels import check_target_length

#: Rows without a class, on the page too.
UNLABELLED, UNLABELLED_COLOUR = "unlabelled", "#b9bec7"
#: Up to so many classes a legend lists them all; beyond, the largest, and the others stand on the map.
MOST_ENTRIES = 40
#: Cells along each side of the grid on which the place of a name is looked for.
GRID = 28


@dataclass(repr=False)
class MapDisplay(Brief):
    """Positions and their target, drawn by `plot`; holds arrays only.

    Parameters
    ----------
    positions : (n, 2).
    target : codes of classes (-1: none) or real values (NaN: none), or None.
    classes : names of the classes; None for a real target.
    title, subtitle : text above the picture.
    """

    positions: np.ndarray
    target: Any = None
    classes: Any = None
    title: str = ""
    subtitle: str = ""
    ax_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    @classmethod
    def from_map(cls, model: Any) -> Self:
        """From a fitted `PrisMap`: all rows it was given."""
        target = model.map_.given.target.shown
        return cls(model.positions(), target.values if target.exists else None, target.classes)

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
        labels : whether classes are named on the map, where most of their rows are; None: where a legend is too long.
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
            ax.set_title(self.title)
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
                ax.figure.colorbar(drawn, ax=ax, shrink=0.8, location="bottom" if low else "right")
        else:
            self._classes(ax, values, [str(name) for name in classes], palette, style, legend=legend)
            if labels or (labels is None and len(classes) > MOST_ENTRIES):
                name_classes(ax, self.positions, values, [str(name) for name in classes])
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
            sizes[code] = (int(rows.sum()), ax.scatter(x[rows], y[rows], color=colour, label=name, **style))
        if not legend:
            return
        listed = [code for code, _, _ in groups]
        if len(listed) > MOST_ENTRIES:
            listed = sorted(listed, key=lambda code: -sizes[code][0])[: MOST_ENTRIES - 1]
        title = None if len(listed) == len(groups) else f"the largest {len(listed)} of {len(groups)}"
        drawn = ax.legend(
            [sizes[code][1] for code in listed], [sizes[code][1].get_label() for code in listed], title=title,
            loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, ncols=1 + (len(listed) - 1) // 20,
        )  # fmt: skip
        for handle in drawn.legend_handles:
            handle.set(sizes=[36], alpha=1)


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


def name_classes(ax: Any, positions: Any, codes: Any, names: Any) -> None:
    """Write the name of each class where most of its rows are, largest first, as far as names do not overlap."""
    low, span = positions.min(axis=0), np.maximum(np.ptp(positions, axis=0), 1e-12)
    cells = np.minimum((GRID * (positions - low) / span).astype(np.intp), GRID - 1)
    sizes = np.bincount(codes[codes >= 0], minlength=len(names))
    boxes: list[Any] = []
    halo = import_extra("matplotlib.patheffects", extra="plot", feature="drawing a map")
    ax.figure.draw_without_rendering()  # the layout is settled: names are as large as they will be
    for code in np.argsort(-sizes, kind="stable"):
        rows = np.flatnonzero(codes == code)
        if not len(rows):
            continue
        own = np.zeros((GRID, GRID))
        np.add.at(own, tuple(cells[rows].T), 1)
        at = np.array(np.unravel_index(own.argmax(), own.shape))
        near = positions[rows[np.abs(cells[rows] - at).max(axis=1) <= 1]].mean(axis=0)
        text = ax.text(*near, names[code], ha="center", va="center", fontsize=9, fontweight="bold")
        text.set_path_effects([halo.withStroke(linewidth=2.5, foreground="white")])
        box = text.get_window_extent()
        if any(box.overlaps(other) for other in boxes):
            text.remove()
        else:
            boxes.append(box)
