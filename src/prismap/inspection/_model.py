"""`ModelDisplay`: the picture of a model, drawn with matplotlib."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np

from prismap._util.optional import import_extra
from prismap.exceptions import InputError
from prismap.inspection._model_view import ModelView
from prismap.inspection._paint import FAR_GREY, RAMP_END, VIRIDIS, class_palette

#: Support vectors are drawn by themselves when they are no more than this share of the rows.
FEW_SUPPORT_VECTORS = 0.25
#: Beyond this many classes the legend would be larger than the picture.
MOST_NAMES = 40
#: What a regressor's points show.
POINTS = {"true": "the target", "predicted": "its output at the row", "none": "none"}


class ModelDisplay:
    """A `ModelView` drawn: regions, rows, rings around rows that are shown wrongly, prototypes, and what it all means.

    Parameters
    ----------
    view : ModelView

    Attributes
    ----------
    ax_, figure_ : where the last `plot` drew.
    """

    def __init__(self, view: ModelView) -> None:
        self.view = view
        self.ax_: Any = None
        self.figure_: Any = None

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any = None, **options: Any) -> ModelDisplay:
        """`ModelView.from_estimator` as a display."""
        return cls(ModelView.from_estimator(model, X, y, **options))

    def plot(
        self, ax: Any = None, *, points: str = "true", exemplars: bool | str = "auto", surface: bool = False,
        legend: bool = True, caption: bool = True, size: float | None = None,
    ) -> ModelDisplay:  # fmt: skip
        """Draw the view.

        Parameters
        ----------
        ax : axes to draw into (with ``projection="3d"`` for a surface); None makes a figure.
        points : "true", "predicted" or "none": what colours the rows.
        exemplars : whether prototypes and support vectors are drawn; "auto" leaves out support vectors in crowds.
        surface : a regressor's output as a surface in three dimensions.
        legend, caption : the key, and the sentence that says what the picture can and cannot show.
        size : area of a point.
        """
        if points not in ("true", "predicted", "none"):
            raise InputError(f"points must be 'true', 'predicted' or 'none'; got {points!r}.")
        if surface and self.view.task.has_classes:
            raise InputError("surface=True draws the output of a regressor; this model is a classifier.")
        if points == "true" and self.view.truth is None:
            points = "predicted"
        if ax is None:
            pyplot = import_extra("matplotlib.pyplot", extra="plot", feature="drawing a model")
            figure = pyplot.figure(
                figsize=(9.5, 6.5 if surface else figure_height(self.view.grid)), layout="constrained"
            )
            ax = figure.add_subplot(projection="3d" if surface else None)
        size = size or float(np.clip(16000 / max(len(self.view.positions), 1), 6, 34))
        if surface:
            self._surface(ax, points, size)
        elif self.view.task.has_classes:
            self._classes(ax, points, size, exemplars, legend)
        else:
            self._output(ax, points, size, exemplars, legend)
        self._dress(ax, surface, caption)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _classes(self, ax: Any, points: Any, size: Any, exemplars: Any, legend: Any) -> None:
        view, grid = self.view, self.view.grid
        colours = class_palette(len(view.classes))
        rgba = view.task.paint(view)
        ax.imshow(rgba, origin="lower", extent=grid.extent, interpolation="nearest", aspect="auto", zorder=0)
        for code in np.unique(grid.value):
            inside = np.ma.masked_where(grid.far, (grid.value == code).astype(float))
            if 0 < inside.mean() < 1:
                ax.contour(grid.x, grid.y, inside, [0.5], colors="#3a3f4a", linewidths=0.7, alpha=0.7, zorder=1)
        codes = self._values(points)
        if codes is not None:
            shades = [*colours, "#8b919b"]
            ax.scatter(
                *view.positions.T, s=size, c=[shades[code] for code in codes], edgecolors="white", linewidths=0.4,
                zorder=3,
            )  # fmt: skip
        self._rings(ax, points, size)
        drawn = self._exemplars(ax, exemplars, size, colours)
        if legend:
            self._class_legend(ax, points, colours, drawn)

    def _output(self, ax: Any, points: Any, size: Any, exemplars: Any, legend: Any) -> None:
        view, grid = self.view, self.view.grid
        low, high = view.task.scale(view)
        colormap = view_colormap()
        levels = (
            import_extra("matplotlib.ticker", extra="plot", feature="drawing").MaxNLocator(12).tick_values(low, high)
        )
        shades = ax.contourf(
            grid.x, grid.y, np.clip(grid.value, levels[0], levels[-1]), levels, cmap=colormap, alpha=0.75, zorder=0
        )
        ax.contour(grid.x, grid.y, grid.value, levels, colors="white", linewidths=0.5, alpha=0.8, zorder=1)
        grey = tuple(channel / 255 for channel in FAR_GREY)
        ax.contourf(grid.x, grid.y, grid.far.astype(float), [0.5, 1.5], colors=[(*grey, 0.8)], zorder=1)
        values = self._values(points)
        if values is not None:
            ax.scatter(
                *view.positions.T, s=size, c=values, cmap=colormap, vmin=low, vmax=high, edgecolors="white",
                linewidths=0.6, zorder=3, plotnonfinite=True,
            )  # fmt: skip
        self._rings(ax, points, size)
        drawn = self._exemplars(ax, exemplars, size, None)
        bar = ax.figure.colorbar(shades, ax=ax, shrink=0.7)
        bar.set_label(f"output of {view.model_name}; points: {POINTS[points]}")
        if legend:
            place = {"loc": "upper left", "bbox_to_anchor": (0, -0.01), "borderaxespad": 0}
            ax.legend(handles=self._key(points, drawn), frameon=False, fontsize=8, ncols=2, **place)

    def _surface(self, ax: Any, points: Any, size: Any) -> None:
        view, grid = self.view, self.view.grid
        low, high = view.task.scale(view)
        colormap = view_colormap()
        x, y = np.meshgrid(grid.x, grid.y)
        height = np.where(grid.far, np.nan, grid.value)
        step = max(1, len(grid.x) // 100)
        drawn = ax.plot_surface(
            x, y, height, cmap=colormap, vmin=low, vmax=high, rstride=step, cstride=step, alpha=0.85, linewidth=0,
            antialiased=False,
        )  # fmt: skip
        values = self._values(points)
        if values is not None:
            ax.scatter(
                *view.positions.T, values, s=size, c=values, cmap=colormap, vmin=low, vmax=high, edgecolors="#3a3f4a",
                linewidths=0.4, depthshade=False,
            )  # fmt: skip
        ax.figure.colorbar(drawn, ax=ax, shrink=0.6, label=f"output of {view.model_name}; points: {POINTS[points]}")
        ax.set_zlabel("output")

    def _values(self, points: Any) -> Any:
        """What colours the rows; None: they are not drawn."""
        return {"true": self.view.truth, "predicted": self.view.predicted}.get(points)

    def _rings(self, ax: Any, points: Any, size: Any) -> None:
        """A ring around every row that the picture shows otherwise than the model says."""
        wrong = self.view.positions[self.view.misshown]
        if self._values(points) is None or not len(wrong):
            return
        for colour, width in (("white", 2.6), ("#111318", 1.1)):
            ax.scatter(*wrong.T, s=3.2 * size + 12, facecolors="none", edgecolors=colour, linewidths=width, zorder=4)

    def _exemplars(self, ax: Any, wanted: Any, size: Any, colours: Any) -> str | None:
        """Prototypes as diamonds, support vectors as crosses; returns what was drawn."""
        own = self.view.exemplars
        crowd = own is not None and len(own.rows) > FEW_SUPPORT_VECTORS * len(self.view.positions)
        if own is None or wanted is False or (wanted == "auto" and own.name == "support vector" and crowd):
            return None
        if own.name == "support vector":
            ax.scatter(*own.rows.T, s=1.4 * size + 8, marker="x", color="#111318", linewidths=0.9, zorder=5)
        else:
            shades = "#d0d4da" if own.labels is None or colours is None else [colours[code] for code in own.labels]
            ax.scatter(
                *own.rows.T, s=4 * size + 60, marker="D", c=shades, edgecolors="#111318", linewidths=1.4, zorder=5
            )
        return own.name

    def _class_legend(self, ax: Any, points: Any, colours: Any, drawn: Any) -> None:
        lines, patches = (
            import_extra(f"matplotlib.{name}", extra="plot", feature="drawing") for name in ("lines", "patches")
        )
        handles = []
        if len(self.view.classes) <= MOST_NAMES:
            handles = [
                patches.Patch(facecolor=colour, label=textwrap.shorten(str(name), 24))
                for colour, name in zip(colours, self.view.classes, strict=True)
            ]
        own = "region: the model's class" + ("" if self.view.grid.certainty is None else ",\ndeeper where it is surer")
        handles.append(lines.Line2D([], [], linestyle="none", label=own))
        columns = 1 + (len(self.view.classes) - 1) // 14 if len(self.view.classes) <= MOST_NAMES else 1
        ax.legend(
            handles=[*handles, *self._key(points, drawn)], loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False,
            fontsize=9, ncols=columns, borderaxespad=0,
        )  # fmt: skip

    def _key(self, points: Any, drawn: Any) -> list[Any]:
        """What the signs mean."""
        lines, patches = (
            import_extra(f"matplotlib.{name}", extra="plot", feature="drawing") for name in ("lines", "patches")
        )

        def sign(marker: str, label: str, **style: Any) -> Any:
            return lines.Line2D([], [], linestyle="none", marker=marker, label=label, **style)

        handles = []
        if self._values(points) is not None:
            what = {"true": "its true", "predicted": "the model's"}[points]
            label = f"row, coloured by {what} {self.view.task.noun}"
            handles.append(sign("o", label, color="#8b919b", markeredgecolor="white"))
            if self.view.misshown.any():
                label = f"shown wrongly ({int(self.view.misshown.sum())}): the model\nsays otherwise of this row"
                handles.append(sign("o", label, markerfacecolor="none", markeredgecolor="#111318", markersize=9))
        if drawn:
            style = (
                {"marker": "x", "color": "#111318"}
                if drawn == "support vector"
                else {"marker": "D", "color": "#d0d4da"}
            )
            handles.append(sign(style.pop("marker"), drawn, markeredgecolor="#111318", **style))
        if self.view.grid.far.any():
            handles.append(
                patches.Patch(facecolor=tuple(c / 255 for c in FAR_GREY), label="far from all rows: a guess")
            )
        return handles

    def _dress(self, ax: Any, surface: Any, caption: Any) -> None:
        ax.set(xticks=[], yticks=[])
        if not surface:
            ax.set_aspect("equal", adjustable="box")
            for side in ax.spines.values():
                side.set_color("#bbbbbb")
        title = f"What {self.view.model_name} does: {fidelity_words(self.view)}"
        ax.set_title(title, fontsize=11, loc="left", color="#1c2230")
        if caption:
            words = "\n".join(textwrap.wrap(caption_of(self.view), 96))
            if surface:
                ax.figure.supxlabel(words, fontsize=8, color="#555b66")
            else:
                below = 46 if ax.get_legend() and not self.view.task.has_classes else 4
                ax.set_xlabel(words, fontsize=8, color="#555b66", labelpad=below)


def figure_height(grid: Any) -> float:
    """Inches that fit a picture 6 inches wide with its caption, within reason."""
    x_min, x_max, y_min, y_max = grid.extent
    return float(np.clip(6 * (y_max - y_min) / (x_max - x_min), 2.4, 7) + 0.9)


def fidelity_words(view: ModelView) -> str:
    """How far the picture is true, in a few words: on held-out rows if these were judged, else on its own rows."""
    known = view.__dict__.get("fidelity_")
    if known is None:
        return f"{1 - np.mean(view.misshown):.0%} of its own rows are shown rightly".replace("%", " %")
    if known.agreement is None:
        return f"output correlates {known.output:.2f} on held-out rows"
    return f"{known.agreement:.0%} of held-out rows are shown rightly".replace("%", " %")


def caption_of(view: ModelView) -> str:
    """What the picture can and cannot show, and how far it is true."""
    known = view.__dict__.get("fidelity_")
    share = float(np.mean(view.misshown))
    figures = (
        f"On rows the maps were not trained on: {known}." if known else f"{share:.1%} of these rows are shown wrongly."
    )
    return (
        "Each place stands for one row of data behind it, where the model was asked; together these rows are a surface "
        f"through the data, and what the model does off that surface is not shown. {figures}"
    )


def view_colormap() -> Any:
    """viridis as `paint_output` uses it."""
    colors = import_extra("matplotlib.colors", extra="plot", feature="drawing a model")
    whole = colors.LinearSegmentedColormap.from_list("view", VIRIDIS)
    return colors.LinearSegmentedColormap.from_list("view", whole(np.linspace(0, RAMP_END, 256)))
