"""How good maps are, as pictures: neighbourhoods of all sizes, and new rows beside the fitted ones.

Whether a map treats new rows as it treats the fitted ones is seen in the three pictures of Gisbrecht et al. (2015, Fig.
1 to 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.utils import check_array

from prismap._util.arrays import Numbers
from prismap._util.optional import import_extra
from prismap._util.random import as_generator
from prismap.exceptions import InputError
from prismap.quality import q_local, q_nx, r_nx
from prismap.quality._estimates import RankCurve

#: Rows that are looked at where all pairs count, for Q_local and for the distribution of q_ij.
MOST_ROWS = 2000


class Share(NamedTuple):
    """The quality of a map that was fitted to a share of the rows: means over random splits."""

    share: float
    fitted: float
    new: float
    seconds: float


def sampled_curve(X: Numbers, Y: Numbers, *, size: int = 100, n_repeats: int = 10, random_state: Any = 0) -> Numbers:
    """Q_M(k) for k = 1 ... size - 1: the mean Q_NX of random samples of `size` rows (Gisbrecht et al. 2015, section 5).

    Sets of different size compare by it, fitted rows and new ones: a sample's k-th neighbour stands for the
    k n / size-th of n rows.
    """
    rng, size = as_generator(random_state), min(size, len(X))
    samples = [rng.choice(len(X), size, replace=False) for _ in range(n_repeats)]
    return np.asarray(np.mean([q_nx(X[rows], Y[rows]).value for rows in samples], axis=0))


def affinity_distribution(Y: Numbers, *, bins: Any = 50, random_state: Any = 0) -> tuple[Numbers, Numbers]:
    """Share of pairs of positions by their q_ij, scaled so that sets of different size compare: ``(shares, edges)``.

    ``q_ij = w_ij / sum w``, w = 1 / (1 + |y_i - y_j|^2), is scaled to one for coinciding positions, which makes it w
    itself. `bins` equal bins from 0 to 1. Rows piled up in one spot show as a share of pairs in the last bin that
    fitted rows do not have (Gisbrecht et al. 2015, Fig. 3).
    """
    Y = np.asarray(Y, dtype=np.float64)
    if len(Y) > MOST_ROWS:
        Y = Y[as_generator(random_state).choice(len(Y), MOST_ROWS, replace=False)]
    counts, edges = np.histogram(1 / (1 + pdist(Y, "sqeuclidean")), bins, range=(0.0, 1.0))
    return counts / counts.sum(), edges


def share_curve(
    embedding: Any, mapping: Any, X: Any, shares: Any, *, n_repeats: int = 3, random_state: Any = 0
) -> list[Share]:
    """`Share` for each training share: Q_local of fitted and of new rows, and seconds to embed, fit and place.

    Each repeat draws a random split, the same for all shares. Q_local is judged on at most 2,000 rows.
    """
    curve = []
    for share in shares:
        rng, values = as_generator(random_state), []
        for _ in range(n_repeats):
            fitted, new = np.split(rng.permutation(len(X)), [round(share * len(X))])
            start = perf_counter()
            Y = clone(embedding).fit_transform(X[fitted])
            Z = clone(mapping).fit(X[fitted], Y).transform(X[new])
            seconds = perf_counter() - start
            few, some = slice(MOST_ROWS), new[:MOST_ROWS]
            values.append((q_local(X[fitted[few]], Y[few]), q_local(X[some], Z[few]), seconds))
        curve.append(Share(share, *map(float, np.mean(values, axis=0))))
    return curve


class OutOfSampleDisplay:
    """Quality of fitted and of new rows, over neighbourhoods and over the training share, and where rows pile up.

    Parameters
    ----------
    curves : name -> Q_M(k), as `sampled_curve` gives it; names that end in "new" are drawn dashed
    shares : list of `Share`
    affinities : name -> share of pairs by q_ij, as `affinity_distribution` gives it; two of them

    Attributes
    ----------
    ax_, figure_ : where the last picture was drawn

    See Also
    --------
    from_estimators : computes all three.
    """

    def __init__(
        self, curves: Mapping[str, Any], shares: Sequence[Share], affinities: Mapping[str, Any]
    ) -> None:  # fmt: skip
        self.curves, self.shares, self.affinities = dict(curves), list(shares), dict(affinities)

    @classmethod
    def from_estimators(
        cls, embeddings: Mapping[str, Any], mapping: Any, X: Any, *, n_fit: int | None = None,
        shares: Sequence[float] = (0.1, 0.3, 0.5, 0.7, 0.9), n_repeats: int = 3, random_state: Any = 0,
    ) -> OutOfSampleDisplay:  # fmt: skip
        """Fit embeddings (name -> estimator) on `n_fit` rows (a tenth) and a mapping to each, and place the others.

        Curves are of all embeddings; shares and affinities of the first.
        """
        X = check_array(X, dtype=(np.float64, np.float32))
        n_fit = max(len(X) // 10, 10) if n_fit is None else n_fit
        if not 3 <= n_fit <= len(X) - 3:
            raise InputError(f"n_fit must leave three rows on either side of {len(X)}; got {n_fit}.")
        if not embeddings:
            raise InputError("embeddings must name at least one estimator; got none.")
        order = as_generator(random_state).permutation(len(X))
        fitted, new = X[order[:n_fit]], X[order[n_fit:]]
        curves: dict[str, Any] = {}
        affinities: dict[str, Any] = {}
        for name, embedding in embeddings.items():
            Y = clone(embedding).fit_transform(fitted)
            Z = clone(mapping).fit(fitted, Y).transform(new)
            curves |= {f"{name}, fitted": sampled_curve(fitted, Y), f"{name}, new": sampled_curve(new, Z)}
            affinities = affinities or {"fitted": affinity_distribution(Y)[0], "new": affinity_distribution(Z)[0]}
        first = next(iter(embeddings.values()))
        by_share = share_curve(first, mapping, X, shares, n_repeats=n_repeats, random_state=random_state)
        return cls(curves, by_share, affinities)

    def plot(self) -> OutOfSampleDisplay:
        """All three pictures side by side."""
        figure, (left, middle, right) = _pyplot().subplots(1, 3, figsize=(18, 5), layout="constrained")
        self.plot_curves(left).plot_shares(middle).plot_affinities(right)
        self.figure_ = figure
        return self

    def plot_curves(self, ax: Any = None) -> OutOfSampleDisplay:
        """Q_M(k) of fitted (lines) and new rows (dashes), a colour per embedding (Fig. 1)."""
        ax = self._axes(ax)
        colors: dict[str, Any] = {}
        for name, curve in self.curves.items():
            group = name.rpartition(",")[0] or name
            style = {"ls": "--" if name.endswith("new") else "-", "color": colors.get(group)}
            (line,) = ax.plot(np.arange(1, len(curve) + 1), curve, label=name, **style)
            colors[group] = line.get_color()
        ax.set(xlabel="k", ylabel=f"Q(k), samples of {len(curve) + 1} rows", title="Fitted and new rows")
        ax.legend(fontsize="small")
        return self

    def plot_shares(self, ax: Any = None) -> OutOfSampleDisplay:
        """Q_local and seconds against the training share (Fig. 2)."""
        ax = self._axes(ax)
        share, fitted, new, seconds = np.transpose(self.shares)
        ax.plot(100 * share, fitted, "o-", label="fitted rows")
        ax.plot(100 * share, new, "s--", label="new rows")
        ax.plot([], [], "k:", label="seconds (right)")
        ax.set(xlabel="training share in %", ylabel="Q_local", title="Quality and time against the training share")
        ax.legend(fontsize="small")
        twin = ax.twinx()
        twin.plot(100 * share, seconds, "k:")
        twin.set_ylabel("seconds")
        return self

    def plot_affinities(self, ax: Any = None) -> OutOfSampleDisplay:
        """Share of pairs by q, fitted rows upwards and new rows downwards (Fig. 3); the many small q are cut off."""
        ax = self._axes(ax)
        (first, up), (second, down) = self.affinities.items()
        places = (np.arange(len(up)) + 0.5) / len(up)
        ax.bar(places, up, width=0.9 / len(up), label=first)
        ax.bar(places, -down, width=0.9 / len(up), label=second)
        top = 1.1 * max(up[1:].max(), down[1:].max())
        ax.set(xlabel="q, scaled", ylabel="share of pairs", ylim=(-top, top), title="Distribution of q")
        ax.legend(fontsize="small")
        return self

    def _axes(self, ax: Any) -> Any:
        """Where to draw: a new figure unless there is one."""
        self.ax_ = _pyplot().subplots()[1] if ax is None else ax
        self.figure_ = self.ax_.figure
        return self.ax_


def _pyplot() -> Any:
    return import_extra("matplotlib.pyplot", extra="plot", feature="OutOfSampleDisplay")


# --- neighbourhoods of all sizes --------------------------------------------------------------------------------------


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
