"""Which comparison matters: weights as bars, with their spread and what they are where nothing agrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from prismap._util.optional import import_extra
from prismap.exceptions import InputError


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
