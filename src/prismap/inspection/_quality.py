"""R_NX over neighbourhood sizes: how well maps keep neighbourhoods, near and far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prismap._util.optional import import_extra
from prismap.exceptions import InputError
from prismap.quality import r_nx
from prismap.quality._estimates import RankCurve

LABELS = {"q_nx": "$Q_{NX}(k)$", "r_nx": "$R_{NX}(k)$"}


class QualityDisplay:
    """Rank curves of one or more maps, drawn over k on a logarithmic scale.

    Parameters
    ----------
    curves : name -> `prismap.quality.RankCurve`; all of one kind

    Attributes
    ----------
    ax_, figure_ : where the last `plot` drew
    lines_ : its lines, one per curve

    See Also
    --------
    from_maps : computes the curves first.
    """

    def __init__(self, curves: Mapping[str, RankCurve]) -> None:
        self.curves = dict(curves)
        kinds = {curve.kind for curve in self.curves.values()}
        if len(kinds) != 1:
            names = ", ".join(sorted(kinds)) or "none"
            raise InputError(f"curves must be of one kind (all from r_nx, or all from q_nx); got {names}.")
        self.kind = kinds.pop()

    @classmethod
    def from_maps(
        cls, X: Any, maps: Mapping[str, Any], *, metric: Any = "euclidean", n_samples: int | None = None,
        random_state: Any = None,
    ) -> QualityDisplay:  # fmt: skip
        """Judge maps (name -> positions) of the rows X; parameters as `prismap.quality.r_nx`."""
        how = {"metric": metric, "n_samples": n_samples, "random_state": random_state}
        return cls({name: r_nx(X, Y, **how) for name, Y in maps.items()})

    def plot(self, ax: Any = None, *, n_points: int = 400) -> QualityDisplay:
        """Draw the curves with a band of one standard error; the area stands in the legend."""
        pyplot = import_extra("matplotlib.pyplot", extra="plot", feature="QualityDisplay.plot")
        if ax is None:
            _, ax = pyplot.subplots()
        self.lines_ = []
        for name, curve in self.curves.items():
            thin = curve.thin(n_points)
            (line,) = ax.plot(thin.k, thin.value, label=f"{name} (area {curve.auc_log_k:.3f})")
            band = (thin.value - thin.spread, thin.value + thin.spread)
            ax.fill_between(thin.k, *band, color=line.get_color(), alpha=0.2, linewidth=0)
            self.lines_.append(line)
        ax.set(xscale="log", xlabel="neighbourhood size k", ylabel=LABELS[self.kind])
        ax.set_ylim(bottom=min(0.0, ax.get_ylim()[0]), top=1.0)
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
