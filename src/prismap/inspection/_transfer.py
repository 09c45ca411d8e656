"""`TransferDisplay`: two matched clouds, overlaid and apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from prismap._util.arrays import Numbers
from prismap._util.optional import import_extra
from prismap._util.repr import Brief
from prismap.exceptions import InputError
from prismap.inspection._paint import class_palette
from prismap.target._labels import check_target_length

_COLOURS = {"source": "#0072B2", "target": "#D55E00"}


@dataclass(repr=False)
class TransferDisplay(Brief):
    """Positions of source and target in the shared space; holds arrays only.

    Parameters
    ----------
    source, target : (n, 2), (m, 2) positions; of more columns the first two are drawn, a single one along a line.
    y_source, y_target : labels to colour the clouds by where they are drawn apart, or None.
    agreement : how well the clouds agree, for the title.
    ambiguous : whether the match is one of several, for the title.
    """

    source: np.ndarray
    target: np.ndarray
    y_source: Any = None
    y_target: Any = None
    agreement: float | None = None
    ambiguous: bool = False
    axes_: Any = field(default=None, init=False)
    figure_: Any = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.source, self.target = _plane(self.source), _plane(self.target)
        if self.y_source is not None:
            self.y_source = check_target_length(self.y_source, len(self.source))
        if self.y_target is not None:
            self.y_target = check_target_length(self.y_target, len(self.target))

    @classmethod
    def from_estimator(cls, model: Any, y_source: Any = None, y_target: Any = None) -> Self:
        """From a fitted `SharedEmbedding`."""
        if not hasattr(model, "target_positions_"):
            raise InputError(f"TransferDisplay needs a fitted SharedEmbedding; got {type(model).__name__}, not fitted.")
        return cls(
            model.source_positions_, model.target_positions_, y_source, y_target, model.agreement_, model.ambiguous_
        )

    def plot(self, *, size: float = 12) -> Self:
        """Three pictures with the same axes: both clouds, the source alone, the target alone."""
        plt = import_extra("matplotlib.pyplot", extra="plot", feature="TransferDisplay")
        figure, axes = plt.subplots(1, 3, figsize=(15, 5), sharex=True, sharey=True, layout="constrained")
        for name, cloud in (("source", self.source), ("target", self.target)):
            axes[0].scatter(*cloud.T, s=size, linewidths=0, alpha=0.6, color=_COLOURS[name], label=name)
        axes[0].legend(frameon=False)
        axes[0].set_title(self._title())
        names = _names(self.y_source, self.y_target)
        _cloud(axes[1], self.source, self.y_source, names, size, _COLOURS["source"])
        _cloud(axes[2], self.target, self.y_target, names, size, _COLOURS["target"])
        axes[1].set_title("source")
        axes[2].set_title("target")
        for ax in axes:
            ax.set(xticks=[], yticks=[], aspect="equal")
        self.axes_, self.figure_ = axes, figure
        return self

    def _title(self) -> str:
        words = [] if self.agreement is None else [f"agreement {self.agreement:.2f}"]
        return ", ".join(words + (["ambiguous"] if self.ambiguous else []))


def _plane(positions: Any) -> Numbers:
    Y = np.asarray(positions, dtype=np.float64)
    if Y.ndim != 2 or not Y.shape[1]:
        raise InputError(f"positions must have the shape (n_rows, n_components); got {Y.shape}.")
    return Y[:, :2] if Y.shape[1] > 1 else np.column_stack([Y, np.zeros(len(Y))])


def _names(*labels: Any) -> NDArray[Any]:
    """All classes of both clouds, so that a class has the same colour in both pictures."""
    known = [np.asarray(one).astype(str) for one in labels if one is not None]
    return np.unique(np.concatenate(known)) if known else np.array([], dtype=str)


def _cloud(ax: Any, Y: Any, labels: Any, names: Any, size: Any, colour: Any) -> None:
    if labels is None:
        ax.scatter(*Y.T, s=size, linewidths=0, alpha=0.85, color=colour)
        return
    labels = np.asarray(labels).astype(str)
    for shade, name in zip(class_palette(len(names)), names, strict=True):
        rows = labels == name
        if rows.any():
            ax.scatter(*Y[rows].T, s=size, linewidths=0, alpha=0.85, color=shade, label=name)
    if len(names) <= 20:
        ax.legend(frameon=False)
