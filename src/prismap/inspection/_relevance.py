"""Pictures of relevance: bars of bounds or relevances, curves over k, and the map coloured by features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from prismap._util.optional import import_extra
from prismap.exceptions import InputError
from prismap.relevance import relevance_curve

#: Up to so many features are named at the axis.
MOST_NAMES = 40
DARK, LIGHT, ACCENT = "#2b2b2b", "white", "#c44e52"


class RelevanceDisplay:
    """Relevances of features, or bounds of them, as bars; over neighbourhood sizes as curves; on a map as colours.

    Parameters
    ----------
    values : array (n_features,) of relevances, or (n_features, 2) of lower and upper bounds
    names : names of the features; None for "1", "2", ...
    threshold : relevance that permuted features reach, drawn as a line
    curve : array (len(n_neighbors), n_features), relevances for the neighbourhood sizes `n_neighbors`
    label : what the values are

    Attributes
    ----------
    ax_, figure_ : where the last picture was drawn (`ax_` is an array of axes after `plot_map`)

    See Also
    --------
    from_estimator : takes all this from a fitted `FeatureRelevance` or `RelevanceBounds`.
    """

    def __init__(
        self, values: ArrayLike, *, names: Sequence[str] | None = None, threshold: float | None = None,
        curve: ArrayLike | None = None, n_neighbors: ArrayLike | None = None, label: str = "relevance",
    ) -> None:  # fmt: skip
        self.values = np.asarray(values, dtype=np.float64)
        if self.values.ndim not in (1, 2) or (self.values.ndim == 2 and self.values.shape[1] != 2):
            raise InputError(f"values must have shape (n_features,) or (n_features, 2); got {self.values.shape}.")
        n_features = len(self.values)
        self.names = [str(j + 1) for j in range(n_features)] if names is None else [str(name) for name in names]
        if len(self.names) != n_features:
            raise InputError(f"names has {len(self.names)} entries for {n_features} features.")
        self.threshold = threshold
        self.curve = None if curve is None else np.asarray(curve, dtype=np.float64)
        self.n_neighbors = None if n_neighbors is None else np.asarray(n_neighbors)
        shape = None if self.n_neighbors is None else (len(self.n_neighbors), n_features)
        if self.curve is not None and self.curve.shape != shape:
            raise InputError(
                f"curve has shape {self.curve.shape}; with these n_neighbors and values it must be {shape}."
            )
        self.label = label

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, Y: Any = None, *, names: Sequence[str] | None = None, n_neighbors: Any = None
    ) -> RelevanceDisplay:
        """From a fitted `FeatureRelevance` or `RelevanceBounds`; with X, Y and `n_neighbors`, the curve over k as well.

        `n_neighbors` needs a `FeatureRelevance`, which is fitted again for each size.
        """
        check_is_fitted(model)
        names = getattr(model, "feature_names_in_", None) if names is None else names
        if hasattr(model, "interval_"):
            unit = "drop of the error" if model.method == "greedy" else "absolute weight"
            return cls(model.interval_, names=names, label=unit)
        curve = None if n_neighbors is None else relevance_curve(model, X, Y, n_neighbors)
        label = {
            "forward": "$Q_{NX}$ of the feature alone", "backward": "loss of $Q_{NX}$ without the feature",
            "weights": r"$\lambda^2$", "matrix": r"$\Lambda_{ll}$",
        }[model.method]  # fmt: skip
        threshold = getattr(model, "threshold_", None)
        return cls(
            model.relevance_, names=names, threshold=threshold, curve=curve, n_neighbors=n_neighbors, label=label
        )

    @property
    def strongest(self) -> np.ndarray:
        """Features by relevance (upper bound), largest first."""
        return np.argsort(-(self.values if self.values.ndim == 1 else self.values[:, 1]), kind="stable")

    def plot(self, ax: Any = None, *, top: int | None = None) -> RelevanceDisplay:
        """Bars in the order of the features, or the `top` most relevant ones; bounds with the lower part white."""
        ax = self._axes(ax)
        shown = np.arange(len(self.values)) if top is None else self.strongest[:top]
        places = np.arange(len(shown))
        if self.values.ndim == 2:
            ax.bar(places, self.values[shown, 1], color=DARK, label="upper bound: may be used")
            ax.bar(places, self.values[shown, 0], color=LIGHT, edgecolor=DARK, label="lower bound: cannot be replaced")
        else:
            ax.bar(places, self.values[shown], color=DARK)
        if self.threshold is not None:
            ax.axhline(self.threshold, color=ACCENT, linestyle="--", label="best of the permuted features")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, frameon=False)
        if len(shown) <= MOST_NAMES:
            names = [self.names[j] for j in shown]
            rotation = 90 if max(map(len, names), default=0) > 3 else 0
            ax.set_xticks(places, names, rotation=rotation)
        ax.set(xlabel="feature", ylabel=self.label)
        return self._drawn(ax)

    def plot_curve(self, ax: Any = None, *, top: int = 10) -> RelevanceDisplay:
        """Relevance over the neighbourhood size, for the features that are most relevant at any size."""
        if self.curve is None or self.n_neighbors is None:
            raise InputError("there is no curve: pass curve= and n_neighbors=, or n_neighbors= to from_estimator.")
        ax = self._axes(ax)
        leading = np.argsort(-self.curve.max(axis=0), kind="stable")
        for j in leading[top:]:
            ax.plot(self.n_neighbors, self.curve[:, j], color="0.85", linewidth=0.8)
        for j in leading[:top]:
            ax.plot(self.n_neighbors, self.curve[:, j], label=self.names[j])
        ax.set(xlabel="neighbourhood size k", ylabel=self.label)
        ax.legend(title="feature")
        return self._drawn(ax)

    def plot_map(self, X: Any, Y: ArrayLike, *, top: int = 6, size: float = 8.0) -> RelevanceDisplay:
        """The map once for each of the `top` features, coloured by it: small multiples, most relevant first."""
        pyplot = import_extra("matplotlib.pyplot", extra="plot", feature="RelevanceDisplay")
        X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        if X.shape[1:] != (len(self.names),) or Y.shape != (len(X), 2):
            raise InputError(
                f"X must have {len(self.names)} columns and Y two, with equal rows; got {X.shape} and {Y.shape}."
            )
        shown = self.strongest[:top]
        n_columns = min(3, len(shown))
        n_rows = -(-len(shown) // n_columns)
        figure, axes = pyplot.subplots(
            n_rows, n_columns, squeeze=False, figsize=(3.2 * n_columns, 3.0 * n_rows), layout="constrained"
        )
        for ax in axes.flat[len(shown) :]:
            ax.set_axis_off()
        for ax, j in zip(axes.flat, shown, strict=False):
            low, high = np.percentile(X[:, j], [2, 98])  # outliers would take all the colours
            points = ax.scatter(*Y.T, c=X[:, j], s=size, vmin=low, vmax=high, cmap="viridis", linewidths=0)
            ax.set(title=self.names[j], xticks=[], yticks=[], aspect="equal")
            figure.colorbar(points, ax=ax, shrink=0.8)
        self.ax_, self.figure_ = axes, figure
        return self

    def _axes(self, ax: Any) -> Any:
        if ax is not None:
            return ax
        pyplot = import_extra("matplotlib.pyplot", extra="plot", feature="RelevanceDisplay")
        return pyplot.subplots(layout="constrained")[1]

    def _drawn(self, ax: Any) -> RelevanceDisplay:
        self.ax_, self.figure_ = ax, ax.figure
        return self
