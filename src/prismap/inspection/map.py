"""`MapDisplay`: a map as a picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from prismap._optional import import_extra

#: Colours that colour-blind readers tell apart (Okabe and Ito, then Tol's muted ones), for up to 17 classes.
PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#F0E442", "#000000", "#332288", "#88CCEE",
    "#44AA99", "#117733", "#999933", "#DDCC77", "#CC6677", "#882255", "#AA4499",
)  # fmt: skip


@dataclass
class MapDisplay:
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
    def from_map(cls, model):
        """From a fitted `PrisMap`: all rows it was given."""
        return cls(model.positions(), model.shown_target(), model.classes_ if model.target_ == "class" else None)

    def plot(self, ax=None, *, size=None, legend=True):
        """Draw the points: classes by colour with a legend, a real target with a colour bar, no target in grey."""
        plt = import_extra("matplotlib.pyplot", extra="plot", feature="drawing a map")
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 6), layout="constrained")
        size = size or float(np.clip(20000 / max(len(self.positions), 1), 2, 30))
        style = {"s": size, "linewidths": 0, "alpha": 0.85}
        x, y = self.positions[:, 0], self.positions[:, 1]
        if self.target is None:
            ax.scatter(x, y, color="#44607a", **style)
        elif self.classes is None:
            drawn = ax.scatter(x, y, c=self.target, cmap="viridis", plotnonfinite=True, **style)
            ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
        else:
            self._classes(ax, x, y, style, legend=legend)
        ax.set(xticks=[], yticks=[], aspect="equal")
        if self.title:
            ax.set_title(self.title)
        for side in ax.spines.values():
            side.set_color("#bbbbbb")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _classes(self, ax, x, y, style, *, legend):
        unknown = self.target < 0
        if unknown.any():
            ax.scatter(x[unknown], y[unknown], color="#c8c8c8", label="no label", **style)
        colours = class_colours(len(self.classes))
        for code, name in enumerate(self.classes):
            rows = self.target == code
            ax.scatter(x[rows], y[rows], color=colours[code], label=str(name), **style)
        if legend and len(self.classes) <= 40:
            columns = 1 + (len(self.classes) - 1) // 20
            ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False, markerscale=2, ncols=columns)


def class_colours(n_classes):
    """A colour a class: the palette, or evenly spaced hues when it is too short."""
    if n_classes <= len(PALETTE):
        return PALETTE[:n_classes]
    colormap = import_extra("matplotlib", extra="plot", feature="drawing a map").colormaps["turbo"]
    return [colormap(k / (n_classes - 1)) for k in range(n_classes)]
