"""`FisherDisplay`: the Fisher metric of a plane, with ellipses, arrows and paths (Schulz 2017, fig. 2.3 to 2.5)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import dijkstra

from prismap._util.blocks import require_memory
from prismap._util.optional import import_extra
from prismap._util.repr import Brief
from prismap._util.validation import is_fitted
from prismap.exceptions import InputError
from prismap.inspection._paint import class_palette, paint_classes, paint_output, ramp
from prismap.inspection._surface import Grid, frozen, plane_axes
from prismap.metrics import FisherMetric

#: Longest half-axis of an ellipse and longest arrow, as shares of the gap between their places.
REACH = 0.46
#: Places along a straight path that mark its length so far.
N_NODES = 5
#: Classes that a legend names at most.
MOST_NAMED = 20
STRAIGHT, SHORTEST = "#1b7837", "#c51b8a"


@dataclass(frozen=True, repr=False)
class FisherPath(Brief):
    """Ways between two fitted rows: the straight one, the shortest over the other rows, and the bent one (classes).

    Parameters
    ----------
    straight : (N_NODES + 1, 2), equidistant points of the segment.
    parts : (N_NODES,), the Fisher lengths between them.
    straight_length, shortest_length : what the metric says of the segment, and the length over `shortest`.
    shortest : (m, 2), the rows that the shortest way passes.
    bent, bent_length : the corners of the way with the smallest energy (`FisherMetric.geodesic`) and its length; None
        for a real target.
    """

    straight: np.ndarray
    parts: np.ndarray
    straight_length: float
    shortest: np.ndarray
    shortest_length: float
    bent: np.ndarray | None = None
    bent_length: float | None = None


@dataclass(repr=False)
class FisherDisplay(Brief):
    """The Fisher metric of a plane: what is known about the target there, and how far it is from place to place.

    An ellipse holds the places that are equally far from its centre under the tensor: narrow across a border between
    classes, round and large where nothing changes. Half-axes that would meet the next ellipse are cut.

    Parameters
    ----------
    rows : array (n, 2)
        The fitted rows.
    target : array (n,)
        Codes of classes (-1: unlabelled), or a real target.
    classes : array
        The classes; empty for a real target.
    grid : Grid
        What the posterior says at places of the plane: the most probable class and how sure it is, or the mean.
    places, tensors : arrays (m, 2) and (m, 2, 2)
        Where ellipses are drawn, and the metric's tensors there.
    paths : tuple of FisherPath
        Ways between pairs of rows.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
        Where the last picture was drawn.

    See Also
    --------
    prismap.metrics.FisherMetric : The metric.
    ModelView : What a trained model says, on a map of rows with any number of columns.

    References
    ----------
    A. Schulz (2017), thesis, sec. 2.3.4, fig. 2.3 to 2.5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from prismap.metrics import FisherMetric
    >>> X, y = load_iris(return_X_y=True)
    >>> metric = FisherMetric(posterior="parzen", random_state=0).fit(X[:, :2], y)
    >>> display = FisherDisplay.from_estimator(metric, paths=[(0, 100)])
    >>> display.tensors.shape, bool(display.paths[0].shortest_length <= display.paths[0].straight_length)
    ((196, 2, 2), True)
    """

    rows: np.ndarray
    target: np.ndarray
    classes: np.ndarray
    grid: Grid
    places: np.ndarray
    tensors: np.ndarray
    paths: tuple[FisherPath, ...] = ()
    ax_: Any = field(default=None, init=False, repr=False)
    figure_: Any = field(default=None, init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, metric: FisherMetric, y: Any = None, *, paths: Any = (), n_ellipses: int = 14, grid_resolution: int = 120
    ) -> FisherDisplay:
        """Look at a fitted metric.

        Parameters
        ----------
        metric : FisherMetric
            Fitted on vectors with two columns, and with a tensor: posterior "parzen", "gp" or a classifier with a
            derivative.
        y : array (n,), default=None
            The target that colours the rows. None takes what the metric thinks most likely, out of fold.
        paths : pairs of int, default=()
            Fitted rows, by their indices, between which paths are drawn.
        n_ellipses : int, default=14
            Ellipses along each side of the picture.
        grid_resolution : int, default=120
            Places along each side at which the posterior is asked.
        """
        check_plane(metric)
        rows = np.asarray(metric.data_.raw(), dtype=np.float64)
        axes = plane_axes(rows, grid_resolution)
        places = lattice(*axes, n_ellipses)
        return cls(
            frozen(rows), frozen(fitted_target(metric, y)), frozen(metric.classes_), posterior_grid(metric, *axes),
            frozen(places), frozen(metric.tensor(places)), paths_between(metric, rows, paths),
        )  # fmt: skip

    def plot(self, ax: Any = None, *, size: float = 14, arrows: bool = False) -> FisherDisplay:
        """The posterior, the rows, an ellipse (or the eigenvectors) at each place, and the paths.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to draw.
        size : float, default=14
            Size of the rows' points.
        arrows : bool, default=False
            Whether eigenvectors, as long as their eigenvalues say, are drawn in the place of ellipses (fig. 2.5).
        """
        ax = self._axes(ax)
        self._plot_posterior(ax)
        self._plot_rows(ax, size)
        if arrows:
            self.plot_arrows(ax)
        else:
            self.plot_ellipses(ax)
        for path in self.paths:
            self._plot_path(ax, path)
        if self.paths or 0 < len(self.classes) <= MOST_NAMED:
            ax.legend(frameon=True, fontsize="small", loc="best")
        left, right, bottom, top = self.grid.extent
        ax.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        return self

    def plot_ellipses(self, ax: Any = None, *, radius: float | None = None) -> FisherDisplay:
        """The ellipses alone: places at Fisher distance `radius` of each centre, by the tensor there.

        None is the radius with which half of the ellipses reach the next one.
        """
        ax = self._axes(ax)
        collections = import_extra("matplotlib.collections", extra="plot", feature="FisherDisplay")
        outlines = ellipses(self.tensors, self._gap() * REACH, radius) + self.places[:, None]
        ax.add_collection(collections.LineCollection(outlines, colors="black", linewidths=0.7, alpha=0.75, zorder=3))
        ax.autoscale_view()
        return self

    def plot_arrows(self, ax: Any = None) -> FisherDisplay:
        """The eigenvectors of the tensors in both directions, as long as the roots of their eigenvalues."""
        ax = self._axes(ax)
        values, vectors = np.linalg.eigh(self.tensors)
        steps = vectors * np.sqrt(np.maximum(values, 0))[:, None]
        longest = max(float(np.linalg.norm(steps, axis=1).max()), np.finfo(float).tiny)
        steps *= REACH * self._gap() / longest
        for k in range(2):
            for sign in (-1, 1):
                ax.quiver(
                    *self.places.T, *(sign * steps[:, :, k]).T, angles="xy", scale_units="xy", scale=1, width=0.002,
                    zorder=3,
                )  # fmt: skip
        return self

    def _plot_posterior(self, ax: Any) -> None:
        left, right, bottom, top = self.grid.extent
        if len(self.classes):
            picture = paint_classes(self.grid, len(self.classes), 1.0)
        else:
            picture = paint_output(self.grid, self.grid.value.min(), self.grid.value.max())
        ax.imshow(picture, origin="lower", extent=(left, right, bottom, top), aspect="auto", zorder=0)

    def _plot_rows(self, ax: Any, size: Any) -> None:
        if not len(self.classes):
            colours = ramp(self.target, self.target.min(), self.target.max()) / 255
            ax.scatter(*self.rows.T, s=size, c=colours, edgecolors="white", linewidths=0.4, zorder=2)
            return
        for code, (name, colour) in enumerate(zip(self.classes, class_palette(len(self.classes)), strict=True)):
            own = self.rows[self.target == code]
            ax.scatter(*own.T, s=size, color=colour, edgecolors="white", linewidths=0.4, zorder=2, label=str(name))

    def _plot_path(self, ax: Any, path: Any) -> None:
        straight, shortest = f"straight: {path.straight_length:.2f}", f"shortest: {path.shortest_length:.2f}"
        ax.plot(*path.straight.T, "o-", color=STRAIGHT, markersize=4, linewidth=1.8, zorder=5, label=straight)
        ax.plot(*path.shortest.T, "o-", color=SHORTEST, markersize=4, linewidth=1.8, zorder=4, label=shortest)
        if path.bent is not None:
            ax.plot(*path.bent.T, "-", color="#e08214", linewidth=1.8, zorder=4, label=f"bent: {path.bent_length:.2f}")
        middles = (path.straight[1:] + path.straight[:-1]) / 2
        white = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8}
        for place, part in zip(middles, path.parts, strict=True):
            ax.annotate(
                f"{part:.2f}", place, xytext=(0, 5), textcoords="offset points", ha="center", color=STRAIGHT,
                fontsize="small", zorder=6, bbox=white,
            )  # fmt: skip

    def _gap(self) -> float:
        """Distance between neighbouring places."""
        return float(min(np.diff(np.unique(self.places[:, k])).min() for k in range(2)))

    def _axes(self, ax: Any) -> Any:
        if ax is None:
            ax = import_extra("matplotlib.pyplot", extra="plot", feature="FisherDisplay").subplots()[1]
        self.ax_, self.figure_ = ax, ax.figure
        return ax


def ellipses(tensors: np.ndarray, reach: float, radius: float | None = None, n_points: int = 48) -> np.ndarray:
    """Outlines (m, n_points, 2) of ``{v: v^T J v = radius^2}``, half-axes ``radius / sqrt(eigenvalue)`` cut at `reach`.

    Without a radius it is the one with which the shorter half-axis of half of them is as long as `reach`.
    """
    values, vectors = np.linalg.eigh(tensors)
    roots = np.sqrt(np.maximum(values, 0))
    if radius is None:
        radius = reach * max(float(np.median(roots[:, -1])), np.finfo(float).tiny)
    half = np.minimum(radius / np.maximum(roots, np.finfo(float).tiny), reach)
    angle = np.linspace(0, 2 * np.pi, n_points)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(np.einsum("mdk,mk,pk->mpd", vectors, half, circle))


def shortest_rows(D: np.ndarray, a: int, b: int) -> tuple[list[int], float]:
    """The rows on the shortest way from a to b over all rows, and its length (Schulz 2017, sec. 2.3.3).

    D holds the lengths of all edges; rows at distance 0 are joined.
    """
    edges = sp.csr_array(np.maximum(D, np.finfo(np.float64).tiny))  # of a dense one scipy drops what is nearly 0
    lengths, before = dijkstra(edges, indices=a, return_predecessors=True)
    way = [b]
    while way[-1] != a:
        way.append(int(before[way[-1]]))
    return way[::-1], float(lengths[b])


def paths_between(metric: FisherMetric, rows: np.ndarray, pairs: Any) -> tuple[FisherPath, ...]:
    """The straight and the shortest way between pairs of fitted rows.

    The rows are measured as new ones, by all of the support: the whole picture is then one of a single posterior.
    Cross-fitted lengths come from many, and the shortest way would pick the one that suits it.
    """
    pairs = [tuple(int(i) for i in np.ravel(pair)) for pair in pairs]
    for pair in pairs:
        if len(set(pair)) != 2 or not all(0 <= i < len(rows) for i in pair):
            raise InputError(f"paths must be pairs of different rows from 0 to {len(rows) - 1}; got {pair}.")
    if not pairs:
        return ()
    if metric.path.endswith("graph"):
        raise InputError("paths need a metric of straight segments (path='chord'): the graph is drawn beside them.")
    require_memory(16.0 * len(rows) ** 2, "The graph of all fitted rows", "Fit fewer rows, or leave paths out.")
    D = np.asarray(metric.pairwise(rows, rows), dtype=np.float64)
    D = (D + D.T) / 2
    paths = []
    for a, b in pairs:
        straight = rows[a] + np.linspace(0, 1, N_NODES + 1)[:, None] * (rows[b] - rows[a])
        parts = np.diagonal(np.asarray(metric.pairwise(straight, straight), dtype=np.float64), 1)
        way, length = shortest_rows(D, a, b)
        path = FisherPath(frozen(straight), frozen(parts), float(D[a, b]), frozen(rows[way]), length)
        if len(metric.classes_):
            bent = metric.geodesic(rows[a], rows[b])
            path = replace(path, bent=frozen(bent.corners), bent_length=bent.length)
        paths.append(path)
    return tuple(paths)


def posterior_grid(metric: FisherMetric, x: np.ndarray, y: np.ndarray) -> Grid:
    """What the posterior says at places of the plane; sureness runs from 0, all classes alike, to 1."""
    places = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])
    shape = (len(y), len(x))
    near = frozen(np.zeros(shape, dtype=bool))
    if metric.target_ == "real":
        mean = np.asarray(metric.target_moments(places)[0], dtype=np.float64)[:, 0]
        return Grid(frozen(x), frozen(y), frozen(mean.reshape(shape)), None, near)
    P = np.asarray(metric.class_probabilities(places), dtype=np.float64)
    least = 1 / max(P.shape[1], 2)
    sure = (P.max(axis=1) - least) / (1 - least)
    return Grid(frozen(x), frozen(y), frozen(P.argmax(axis=1).reshape(shape)), frozen(sure.reshape(shape)), near)


def fitted_target(metric: FisherMetric, y: Any) -> np.ndarray:
    """The target of the fitted rows as codes or numbers; without y what the metric predicts for them."""
    if metric.target_ == "real":
        values = (
            metric.target_moments()[0] if y is None else np.asarray(y, dtype=np.float64).reshape(metric.n_rows_, -1)
        )
        return np.asarray(values, dtype=np.float64)[:, 0]
    if y is None:
        return np.asarray(metric.class_probabilities().argmax(axis=1))
    y = np.asarray(y)
    if y.shape != (metric.n_rows_,):
        raise InputError(f"y must hold one label for each of the {metric.n_rows_} fitted rows; got shape {y.shape}.")
    names = {str(name): code for code, name in enumerate(metric.classes_)}
    return np.array([names.get(str(label), -1) for label in y])


def lattice(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    """n x n places inside the area of two axes, half a gap from its edges."""
    inner = [low + (np.arange(n) + 0.5) / n * (high - low) for low, high in ((x[0], x[-1]), (y[0], y[-1]))]
    return np.column_stack([axis.ravel() for axis in np.meshgrid(*inner)])


def check_plane(metric: Any) -> None:
    """Refuse what has no ellipses in a plane."""
    if not (isinstance(metric, FisherMetric) and is_fitted(metric)):
        raise InputError(f"FisherDisplay needs a fitted FisherMetric; got {type(metric).__name__}.")
    if metric.target_ == "none":
        raise InputError("FisherDisplay needs a metric with a target: with supervision=0 all ellipses are one circle.")
    if metric.data_.is_matrix or metric.n_features_in_ != 2:
        where = "a matrix between rows" if metric.data_.is_matrix else f"{metric.n_features_in_} columns"
        raise InputError(
            f"FisherDisplay draws the metric of rows with two columns, and this one is fitted on {where}. Fit it on "
            "two columns, or map the rows with PrisMap."
        )
