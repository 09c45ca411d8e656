"""Ways from places of a map back to rows: weighted means of rows nearby, the published kernels, or one of the rows.

=================  ================================================================================================
`LocalSurface`     the mean of rows nearby that belong together: never an extrapolation
`kernel_inverse`   kernels in the plane, weighted by the Fisher tensor (Schulz 2017, sec. 3.3)
`PreImages`        the row nearest to such a mean, where rows have no mean
=================  ================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline

from prismap._util.blocks import row_blocks
from prismap.exceptions import InputError
from prismap.map import PrisMap
from prismap.map._exact_rows import KnownRows
from prismap.map._fitted import FittedMap
from prismap.mappings import InverseMap
from prismap.metrics import FisherMetric, Parzen
from prismap.target import ClassTarget, SeveralTarget

#: Rows that a place is the mean of.
N_NEIGHBORS = 15
#: Rows whose distances in the data tell what is near; h is this many times the distance to the fifth neighbour.
SAMPLE_ROWS, NEAR = 500, 1.5
#: Widths by the rule of kernel t-SNE, kernels at a codebook, and the Euclidean part e of the default. (With hardly any,
#: directions and rows that do not matter for the target are lost: on digits 69 % agreement instead of 99.)
PUBLISHED = InverseMap(bandwidth="all-representable")
#: Support of a Parzen estimate that is made for its tensor alone.
TENSOR_SUPPORT = 2000


def inverse_of(fitted: Any, positions: np.ndarray, rows: np.ndarray, inverse: Any = "auto") -> Any:
    """The way from places to rows, as a function.

    "auto" is the map's own (PCA, SOM, GTM have one), or the surface of means through the rows: a `PrisMap` learns its
    inverse from the same pairs, for smooth reconstructions; the means are nearer to rows left out and do not
    extrapolate (docs/methods/model_view.md). "local" is always the surface of means, "kernel" the published inverse,
    and an `InverseMap` is fitted to the pairs.
    """
    own = fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted
    if inverse == "kernel" or isinstance(inverse, BaseEstimator):
        return kernel_inverse(fitted, positions, rows, None if isinstance(inverse, str) else inverse)
    if inverse == "local" or isinstance(own, PrisMap) or not callable(getattr(fitted, "inverse_transform", None)):
        return LocalSurface(positions, rows).transform
    return fitted.inverse_transform


class LocalSurface:
    """The surface of weighted means through rows (n, D) with positions (n, 2).

    ``pi^-1(z) = sum_i w_i(z) x_i`` over the k rows nearest to z, ``w_i ~ (1 - d_i / R) / sqrt(d_i^2 + s^2)``: d_i is
    the distance of row i on the map, R that of the next row beyond (so that weights come and go smoothly; Franke &
    Nielson 1980), s the usual distance between neighbours on the map, so that a single row does not form a region of
    its own. Means of rows stay among the rows: places beyond them show the nearest rows, never an extrapolation.

    A map of a target may put rows from different parts of the data in one place, because the target is the same there;
    their mean lies between the parts, where the target is another. So w_i is multiplied by
    ``exp(-|x_i - x_c|^2 / 2 h^2)``: c is the row among the k that most of the weight is near to, h the usual distance
    between neighbours in the data.
    """

    def __init__(self, positions: Any, rows: Any, n_neighbors: int = N_NEIGHBORS) -> None:
        self.rows = np.asarray(rows, dtype=np.float64)
        self.tree = cKDTree(np.asarray(positions, dtype=np.float64))
        self.n_neighbors = min(n_neighbors, len(self.rows) - 1)
        self.spacing = usual(self.tree.query(self.tree.data, k=2)[0][:, 1])
        sample = self.rows[:: max(1, len(self.rows) // SAMPLE_ROWS)]
        near = NearestNeighbors(n_neighbors=min(6, len(self.rows))).fit(self.rows).kneighbors(sample)[0][:, -1]
        self.width = NEAR * usual(near)

    def transform(self, places: Any) -> np.ndarray:
        """Rows for places, (m, D)."""
        index, weights = near_weights(self.tree, places, self.n_neighbors, self.spacing)
        out = np.empty((len(weights), self.rows.shape[1]))
        for block in row_blocks(len(weights), 32.0 * self.n_neighbors * (self.rows.shape[1] + self.n_neighbors)):
            out[block] = self._means(self.rows[index[block]], weights[block])
        return out

    def _means(self, near: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Means of the rows (m, k, D) that lie together, by weights (m, k)."""
        together = np.exp(-squared_among(near) / (2 * self.width**2))
        core = (together @ weights[:, :, None])[:, :, 0].argmax(axis=1)
        weights = weights * together[np.arange(len(core)), core]
        return np.asarray(np.einsum("mk,mkd->md", weights / weights.sum(axis=1, keepdims=True), near))


class PreImages:
    """Rows behind places, by number: where rows have no mean, the one nearest to the mean that they would have.

    The mean ``m = sum_i w_i x_i`` of the rows mapped near a place exists in the space of a comparison even if nothing
    can be built that lies there. Distances to it follow from those between the rows (Hammer & Hasenfuss 2010, sec. 3),

        d^2(x_j, m) = sum_i w_i d^2(x_j, x_i) - 1/2 sum_ik w_i w_k d^2(x_i, x_k),

    and the second part is the same for all j. So the pre-image is the row among them with the smallest first part,
    their weighted medoid.

    Parameters
    ----------
    positions : (n, 2), the rows on the map.
    squared : function of numbers (m, k) that gives the squared distances (m, k, k) among each k rows; None takes the
        row that is nearest on the map.
    """

    def __init__(self, positions: Any, squared: Any = None, n_neighbors: int = N_NEIGHBORS) -> None:
        self.tree, self.squared = cKDTree(np.asarray(positions, dtype=np.float64)), squared
        self.n_neighbors = min(n_neighbors, self.tree.n - 1)
        self.spacing = usual(self.tree.query(self.tree.data, k=2)[0][:, 1])

    def __call__(self, places: Any) -> np.ndarray:
        """Numbers of the rows behind places, (m,)."""
        places = np.asarray(places, dtype=np.float64)
        if self.squared is None:
            return np.asarray(self.tree.query(places)[1])
        index, weights = near_weights(self.tree, places, self.n_neighbors, self.spacing)
        out = np.empty(len(places), dtype=np.intp)
        for block in row_blocks(len(places), 16.0 * self.n_neighbors**2):
            near = index[block]
            cost = np.einsum("mjk,mk->mj", self.squared(near), weights[block])
            out[block] = near[np.arange(len(near)), cost.argmin(axis=1)]
        return out


def among(D2: np.ndarray, index: np.ndarray) -> np.ndarray:
    """Squared distances among rows, from the matrix of all of them."""
    return np.asarray(D2[index[:, :, None], index[:, None, :]])


def among_vectors(rows: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The same of vectors."""
    return squared_among(rows[index])


def squared_among(near: np.ndarray) -> np.ndarray:
    """Squared distances (m, k, k) among the vectors (m, k, D) of each place."""
    squares = np.square(near).sum(axis=2)
    return np.asarray(np.maximum(squares[:, :, None] + squares[:, None, :] - 2 * near @ near.transpose(0, 2, 1), 0))


def squared_of_matrix(matrix: np.ndarray, kind: str) -> np.ndarray:
    """Squared distances from a square matrix of dissimilarities, or of similarities (``s_ii + s_jj - 2 s_ij``)."""
    if kind == "dissimilarity":
        return matrix**2
    own = np.diag(matrix)
    return np.asarray(own[:, None] + own[None, :] - 2 * matrix)


def near_weights(tree: cKDTree, places: Any, n_neighbors: int, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """The rows near each place and their weights, both (m, k)."""
    distance, index = tree.query(np.asarray(places, dtype=np.float64), k=n_neighbors + 1)
    beyond, distance, index = distance[:, -1:], distance[:, :-1], index[:, :-1]
    fade = 1 - distance / np.maximum(beyond, np.finfo(float).tiny)
    # All as far as the next one beyond (a ring, or far away): they count alike.
    weights = np.maximum(fade, 1e-9) / np.sqrt(distance**2 + spacing**2)
    return index, weights / weights.sum(axis=1, keepdims=True)


def usual(distances: np.ndarray) -> float:
    """The median of those that are not 0."""
    positive = distances[distances > 0]
    return float(np.median(positive)) if len(positive) else 1.0


@dataclass(frozen=True)
class Tensors:
    """Factors (n, C, D) of the Fisher tensors of some rows, in the place of a metric fitted to them."""

    factors: np.ndarray

    @property
    def n_rows_(self) -> int:
        """How many rows they are."""
        return len(self.factors)

    def tensor_factor(self, A: Any = None) -> np.ndarray:
        """The factors."""
        return self.factors


def kernel_inverse(fitted: Any, positions: np.ndarray, rows: np.ndarray, inverse: InverseMap | None = None) -> Any:
    """The function from places to rows of the published inverse (Schulz 2017, sec. 3.3), or of the user's `InverseMap`.

    ``pi^-1(z) = sum_j b_j k_j(z) / sum_l k_l(z)`` (eq. 3.2) minimises ``sum_i r_i^T (J(x_i) + e I) r_i`` with
    r_i = x_i - pi^-1(z_i) (eq. 3.3, and the regularised J of eq. 2.16). J is the tensor of the map's own metric: that
    of the model where it supervises the map (sec. 3.5.4). For a metric without a tensor it is that of the Parzen
    estimate (for real targets the Gaussian process) of its target, and a map without a target has the squared error.

    Behind the scalers of a pipeline the inverse is learnt in scaled units, in which the metric of the map measures.
    """
    before = fitted[:-1] if isinstance(fitted, Pipeline) and len(fitted) > 1 else None
    if before is not None and not hasattr(before, "inverse_transform"):
        before = None
    inner = rows if before is None else np.asarray(before.transform(rows), dtype=np.float64)
    if inverse is None:
        plane = fitted.steps[-1][1] if isinstance(fitted, Pipeline) else fitted
        known, factors = tensors_of(plane, inner)
        made = clone(PUBLISHED).set_params(metric=None if factors is None else Tensors(factors))
        made.fit(positions[known], inner[known])
    else:
        made = clone(inverse).fit(positions, inner)
    if before is None:
        return made.transform
    return lambda places: np.asarray(before.inverse_transform(made.transform(places)), dtype=np.float64)


def tensors_of(plane: Any, rows: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """Which rows are fitted ones of a map with a target, and the factors of their tensors; else all rows and None."""
    every = slice(None)
    if not isinstance(plane, PrisMap):
        return every, None
    fitted, target = plane.map_, plane.map_.target
    if not target.exists or isinstance(target, SeveralTarget) or fitted.data.is_matrix:
        return every, None
    known, place = KnownRows(fitted.rows).find(rows)
    if len(known) < 2:
        return every, None
    return known, fitted_factors(fitted)[place]


def fitted_factors(fitted: FittedMap) -> np.ndarray:
    """Factors of the tensors of a map's fitted rows, cross-fitted where its metric is."""
    if isinstance(fitted.metric, FisherMetric):
        try:
            return np.asarray(fitted.metric.tensor_factor(None), dtype=np.float64)
        except InputError:  # known at the rows only
            pass
    target = fitted.target
    metric = FisherMetric(
        target.kind, posterior=Parzen(TENSOR_SUPPORT) if isinstance(target, ClassTarget) else "gp",
        perplexity=fitted.recipe.perplexity, random_state=fitted.seed,
    )  # fmt: skip
    return np.asarray(metric.fit(fitted.rows, target).tensor_factor(None), dtype=np.float64)
