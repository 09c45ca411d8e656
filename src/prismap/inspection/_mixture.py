"""Pictures of learnt mixtures: the weights of dissimilarities or comparisons, the map with thumbnails, the stress."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers
from prismap._util.optional import import_extra
from prismap.exceptions import InputError


class MixtureDisplay:
    """What a `MixtureMetric` learnt, as arrays ready to be drawn.

    Parameters
    ----------
    measures : list of str
    weights, start_weights : arrays (L,)
    positions : array (n, 2 or more); the first two columns are drawn
    history : array, the stress after each epoch

    Attributes
    ----------
    ax_, figure_ : where the last picture was drawn

    See Also
    --------
    from_estimator : takes the arrays from a fitted metric.
    """

    def __init__(self, measures: Any, weights: Numbers, start_weights: Any, positions: Any, history: Any) -> None:
        self.measures = list(measures)
        self.weights = np.asarray(weights)
        self.start_weights = np.asarray(start_weights)
        self.positions = np.asarray(positions)
        self.history = np.asarray(history)

    @classmethod
    def from_estimator(cls, metric: Any) -> MixtureDisplay:
        """From a fitted `MixtureMetric`, or an embedding that was fitted with one."""
        metric = getattr(metric, "metric_", metric)
        if not hasattr(metric, "weights_"):
            raise InputError(
                f"MixtureDisplay needs a fitted MixtureMetric; got {type(metric).__name__} without weights_."
            )
        return cls(metric.measures_, metric.weights_, metric.start_weights_, metric.positions_, metric.history_)

    def plot(self, *, images: Any = None, c: Any = None) -> MixtureDisplay:
        """All three pictures side by side; parameters as `plot_positions`."""
        pyplot = _pyplot()
        figure, (left, middle, right) = pyplot.subplots(1, 3, figsize=(16, 5), layout="constrained")
        self.plot_weights(left)
        self.plot_positions(middle, images=images, c=c)
        self.plot_stress(right)
        self.figure_, self.ax_ = figure, np.array([left, middle, right])
        return self

    def plot_weights(self, ax: Any = None) -> MixtureDisplay:
        """A bar per measure, with a mark where its weight started."""
        ax = self._axes(ax)
        place = np.arange(len(self.measures))
        ax.bar(place, self.weights, color="tab:blue", label="learnt")
        ax.plot(place, self.start_weights, "_", color="black", markersize=12, label="start")
        ax.axhline(0.0, color="black", linewidth=0.8)
        ax.set_xticks(place, self.measures, rotation=90)
        ax.set_ylabel("weight $\\alpha$")
        ax.legend()
        return self

    def plot_positions(
        self, ax: Any = None, *, images: Any = None, c: Any = None, size: float = 0.06, most: int = 1000
    ) -> MixtureDisplay:
        """The map: points coloured by `c`, or thumbnails of `images` (n, height, width[, 3]) centred on them.

        A thumbnail is as wide as `size` of the map. Where thumbnails would hide each other by more than half, the later
        one gives way to a point; no more than `most` are drawn.
        """
        ax = self._axes(ax)
        Y = self.positions[:, :2]
        if Y.shape[1] < 2:
            Y = np.column_stack([Y, np.zeros(len(Y))])
        ax.scatter(*Y.T, c="0.7" if c is None else c, s=8 if images is None else 2, zorder=1)
        if images is not None:
            self._draw_thumbnails(ax, Y, np.asarray(images), size, most)
        ax.set_aspect("equal")
        ax.set(xticks=[], yticks=[])
        return self

    def plot_stress(self, ax: Any = None) -> MixtureDisplay:
        """Stress after the first placement and after each epoch."""
        ax = self._axes(ax)
        ax.plot(np.arange(len(self.history)), self.history, marker="o")
        ax.set(xlabel="epoch", ylabel="elastic stress")
        ax.set_ylim(bottom=0.0)
        return self

    def _axes(self, ax: Any) -> Any:
        if ax is None:
            ax = _pyplot().subplots()[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax

    def _draw_thumbnails(self, ax: Any, Y: Any, images: Any, size: Any, most: int) -> None:
        if images.ndim not in (3, 4) or len(images) != len(Y):
            raise InputError(
                f"images must hold one picture per row, shape ({len(Y)}, height, width) or with a last axis of "
                f"colours; got shape {images.shape}."
            )
        half = size * float(np.ptp(Y, axis=0).max()) / 2
        tall = half * images.shape[1] / images.shape[2]
        shades = {"cmap": "gray", "vmin": images.min(), "vmax": images.max()} if images.ndim == 3 else {}
        for i in uncovered(Y, half)[:most]:
            box = (Y[i, 0] - half, Y[i, 0] + half, Y[i, 1] - tall, Y[i, 1] + tall)
            ax.imshow(images[i], extent=box, aspect="auto", zorder=2, **shades)
        ax.set_xlim(Y[:, 0].min() - 2 * half, Y[:, 0].max() + 2 * half)
        ax.set_ylim(Y[:, 1].min() - 2 * tall, Y[:, 1].max() + 2 * tall)


def uncovered(Y: Numbers, gap: float) -> list[int]:
    """Indices of points, in order, that lie at least `gap` from every point chosen before."""
    chosen: list[int] = []
    for i, position in enumerate(Y):
        if not chosen or np.abs(Y[chosen] - position).max(axis=1).min() >= gap:
            chosen.append(i)
    return chosen


def _pyplot() -> Any:
    return import_extra("matplotlib.pyplot", extra="plot", feature="MixtureDisplay")


# --- weights of comparisons -------------------------------------------------------------------------------------------


class ComparisonDisplay:
    """Weights of comparisons as bars.

    Parameters
    ----------
    weights, spread, permuted : dictionaries by name; see `ComparisonWeights` and `ClassMixture`.

    Attributes
    ----------
    ax_, figure_ : where the last `plot` drew.

    See Also
    --------
    from_weights : takes them from a result of `comparison_weights` or `comparison_weights_for_classes`.
    """

    def __init__(
        self, weights: Mapping[str, float], spread: Mapping[str, float], permuted: Mapping[str, float]
    ) -> None:
        self.weights, self.spread, self.permuted = dict(weights), dict(spread), dict(permuted)
        if not self.weights or not self.weights.keys() == self.spread.keys() == self.permuted.keys():
            raise InputError("weights, spread and permuted must be of the same comparisons, at least one.")
        self.ax_: Any = None
        self.figure_: Any = None

    @classmethod
    def from_weights(cls, result: Any) -> ComparisonDisplay:
        """From a `ComparisonWeights` or a `ClassMixture`."""
        return cls(result.weights, result.spread, result.permuted)

    def plot(self, ax: Any = None) -> ComparisonDisplay:
        """A bar per comparison, the largest first, its spread, and a mark at its weight in the baseline."""
        if ax is None:
            ax = import_extra("matplotlib.pyplot", extra="plot", feature="ComparisonDisplay").subplots()[1]
        names = sorted(self.weights, key=lambda name: -self.weights[name])
        place = np.arange(len(names))
        weights, spread, permuted = (
            [part[name] for name in names] for part in (self.weights, self.spread, self.permuted)
        )
        ax.bar(place, weights, yerr=spread, capsize=3, color="tab:blue", ecolor="#3a3f4a", label="weight, spread")
        ax.plot(place, permuted, "_", color="black", markersize=18, label="permuted")
        ax.set_xticks(place, names, rotation=30, ha="right")
        ax.set_ylabel("weight")
        ax.legend(frameon=False)
        self.ax_, self.figure_ = ax, ax.figure
        return self
