"""One map, built: metric, embedding and mapping of some rows, in one step that can be repeated with other targets."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from prismap import embeddings
from prismap._blocks import require_memory, row_blocks
from prismap.embeddings._lattice import LatticeEmbedding
from prismap.embeddings.base import all_distances
from prismap.exceptions import InputError
from prismap.map.cells import Cells
from prismap.map.mapping import PLACEMENTS, Kernels, make_mapping
from prismap.map.placing import Distances, each_block
from prismap.mappings import InverseMap
from prismap.metrics import FisherMetric
from prismap.metrics.base import fit_metric
from prismap.metrics.geometry import FittedIndex, VectorGeometry
from prismap.neighbors import kneighbors

#: Methods by the name `PrisMap` and the command line take.
METHODS = {
    "tsne": "TSNE", "nerv": "NeRV", "mds": "MDS", "elastic": "ElasticMDS", "isomap": "Isomap", "lle": "LLE",
    "mvu": "MVU", "som": "SOM", "gtm": "GTM",
}  # fmt: skip
#: A new row is far when it is farther from the data than this share of the fitted rows are from each other.
FAR_QUANTILE = 0.99
#: Up to so many rows all distances are computed; beyond, neighbours are searched and this many rows carry the mapping.
DENSE_ROWS, N_LANDMARKS = 10_000, 4000
#: Nearer than this to a fitted row, in units of the typical distance, a row is that row.
SAME = 1e-6


@dataclass(frozen=True)
class Recipe:
    """How a map is made; everything but the rows and the target."""

    method: Any
    data: str
    target: str
    supervision: float
    posterior: Any
    cross_fit: bool
    mapping: Any
    perplexity: float
    repair: str
    seed: int
    n_jobs: int | None
    callback: Any = None
    smoothness: tuple[float, float] | None = None
    n_iter: int = 500
    metric: Any = "fisher"

    def unsupervised(self):
        """The same map without a target, of the data's own distances, to be compared with.

        Such a map is often torn, where kernels place new rows badly: by their vote it is judged at its best.
        """
        placed_already = not isinstance(self.mapping, str) or self.mapping in PLACEMENTS
        mapping = self.mapping if placed_already else "vote"
        return replace(self, target="none", mapping=mapping, callback=None, smoothness=None, metric="fisher")

    def quick(self):
        """The same map in half the iterations: enough to be judged, and all that are compared get as many."""
        return replace(self, n_iter=250)

    @property
    def maps_by_fisher(self):
        """Whether new rows are placed by Fisher distances."""
        return self.target != "none" and not (isinstance(self.mapping, str) and self.mapping == "euclidean")

    def metric_options(self):
        """Arguments of the recipe's `FisherMetric`."""
        unsupervised = self.target == "none"
        return {
            "target": "auto" if unsupervised else self.target, "data": self.data, "posterior": self.posterior,
            "supervision": 0.0 if unsupervised else self.supervision, "cross_fit": self.cross_fit,
            "perplexity": self.perplexity, "repair": self.repair, "n_jobs": self.n_jobs, "random_state": self.seed,
        }  # fmt: skip

    def twin_of(self, built):
        """The same map once more, without progress reports and without a new search for the mapping's smoothness."""
        smoothness = tuple(built.mapping.smoothness) if isinstance(built.mapping, Kernels) else None
        return replace(self, callback=None, smoothness=smoothness)


@dataclass(frozen=True)
class Built:
    """A map of some rows: what `build` made, and how long it took.

    `own` is the user's metric, fitted, where the map is not made by the Fisher metric; `metric` then only knows the
    data's own geometry.
    """

    recipe: Recipe
    metric: FisherMetric
    positions: np.ndarray
    mapping: Any
    nearest: np.ndarray
    story: dict[str, Any]
    times: dict[str, float]
    own: Any = None
    embedding: Any = None

    @property
    def geometry(self):
        """The data's own geometry."""
        return self.metric.geometry_

    def place(self, rows):
        """Positions of new rows (vectors, or entries against the fitted rows), and their distances to the data.

        Each row by itself, a block at a time. A row that equals a fitted one gets that one's position; distances are
        those to the nearest fitted row in the data's own geometry, in units of the typical such distance.
        """
        Y = np.empty((rows.shape[0], self.positions.shape[1]))
        nearest = np.empty(rows.shape[0])
        distances = self.distances
        by_kernels = isinstance(self.mapping, Kernels)

        cells = self.cells

        def place_block(block, filled):
            filled = distances.within_reach(filled)
            D, D2, state = distances(filled)
            n = block.stop - block.start
            closest = self.anchors[D2.argmin(axis=1)]
            squared = D2.min(axis=1)
            if cells is not None:
                root = None if state is None else state.root
                placed, closest, squared = cells.place(distances.centred(filled), root, D)
            else:
                placed = self.mapping.transform(D if by_kernels else D[:n])
            nearest[block] = np.sqrt(squared[:n]) / self.typical_distance
            Y[block] = placed[:n]
            same = np.flatnonzero(nearest[block] < SAME)
            Y[block][same] = self.positions[closest[same]]

        parallel = distances.parallel and by_kernels
        each_block(place_block, rows, len(self.anchors), parallel=parallel, n_jobs=self.recipe.n_jobs)
        return Y, nearest

    @cached_property
    def distances(self):
        """How far new rows are from the anchors."""
        return Distances(self.metric, self.anchors, self.maps_by_fisher, self.typical_distance, own=self.own)

    @cached_property
    def cells(self):
        """The fitted rows of a large map by their landmarks, where distances to single rows are cheap; else None."""
        known = self.distances.rowwise or not self.maps_by_fisher
        vectors = isinstance(self.geometry, VectorGeometry) and not sp.issparse(self.geometry.rows)
        if len(self.positions) <= DENSE_ROWS or self.own is not None or not (known and vectors):
            return None
        return Cells(self.distances, self.positions, self.recipe.seed)

    @property
    def anchors(self):
        """Indices of the fitted rows that new rows are compared with: all, on a large map the landmarks."""
        return np.arange(len(self.positions)) if len(self.positions) <= DENSE_ROWS else self.mapping.landmarks

    @property
    def maps_by_fisher(self):
        """Whether new rows are placed by Fisher distances; by the data's own otherwise."""
        return self.recipe.maps_by_fisher

    @property
    def typical_distance(self):
        """Median distance of a fitted row to its nearest neighbour."""
        positive = self.nearest[self.nearest > 0]
        return float(np.median(positive)) if len(positive) else 1.0

    @property
    def far_threshold(self):
        """99 % of the fitted rows are nearer than this to another one, in units of the typical distance."""
        rank = min(len(self.nearest), int(np.ceil((len(self.nearest) + 1) * FAR_QUANTILE)))
        return float(np.sort(self.nearest)[rank - 1] / self.typical_distance)


def build(recipe: Recipe, X, y=None) -> Built:
    """Fit metric, embedding and mapping to rows X (vectors or a square matrix) with target y."""
    require_memory(
        fit_bytes(X.shape[0], recipe.perplexity), f"A map of {X.shape[0]} fitted rows",
        "Set a smaller fit_rows: the other rows are placed on the map.",
    )  # fmt: skip
    start = perf_counter()
    metric = fit_metric_of(recipe, X, y)
    own = fit_own_metric(recipe, X, y)
    large = X.shape[0] > DENSE_ROWS
    D = None if large else distances_to_embed(recipe, metric, own)
    after_metric = perf_counter()
    embedding = embed_many(recipe, metric if own is None else own, X) if large else embed(recipe, D, X)
    after_embedding = perf_counter()
    positions = np.asarray(embedding.embedding_, dtype=np.float64)
    landmarks = sample_landmarks(X.shape[0], recipe.seed) if large else np.arange(X.shape[0])
    mapping = make_mapping(recipe, embedding, distances_to_map(recipe, metric, own, D, landmarks), landmarks)
    times = {
        "metric": after_metric - start,
        "embedding": after_embedding - after_metric,
        "mapping": perf_counter() - after_embedding,
    }
    story = {name: getattr(embedding, name + "_", None) for name in ("objective", "n_iter", "stop_reason", "neighbors")}
    nearest = nearest_distances(metric.geometry_, landmarks)
    return Built(recipe, metric, positions, mapping, nearest, story, times, own, embedding)


def distances_to_map(recipe, metric, own, D, landmarks):
    """Distances between the landmarks by which new rows are placed; D are those that were embedded, if all were."""
    if D is None and own is not None:
        return np.asarray(own.between(landmarks, landmarks), dtype=np.float64)
    if D is None or (recipe.target != "none" and not recipe.maps_by_fisher):
        return distances_among(metric, landmarks, by_fisher=recipe.maps_by_fisher)
    return D


def fit_bytes(n_rows, perplexity):
    """Memory of a fit at its peak: all distances and the kernels on them, of a large map the landmarks' and neighbours.

    (Measured: 33 to 50 bytes a pair, the most with the Parzen posterior.)
    """
    if n_rows <= DENSE_ROWS:
        return 50.0 * n_rows**2
    return 50.0 * N_LANDMARKS**2 + 100.0 * perplexity * n_rows


def fit_own_metric(recipe, X, y):
    """The user's own metric, fitted; None where the Fisher metric (or the data's own distances) is wanted."""
    if isinstance(recipe.metric, str) and recipe.metric == "fisher":
        return None
    if recipe.data != "vectors":
        raise InputError(
            f"metric={recipe.metric!r} needs data='vectors'; a matrix of distances has its metric already."
        )
    return fit_metric(recipe.metric, X, y, n_jobs=recipe.n_jobs)


def sample_landmarks(n_rows, seed):
    """The rows that carry the mapping of a large map."""
    return np.sort(np.random.default_rng(seed).choice(n_rows, N_LANDMARKS, replace=False))


def embed_many(recipe, metric, X):
    """t-SNE of more rows than all distances have room for: from neighbours, found by partition."""
    if recipe.method != "tsne" and not isinstance(recipe.method, embeddings.TSNE):
        raise InputError(
            f"method={recipe.method!r} needs all distances, and {X.shape[0]} rows have too many: above {DENSE_ROWS} "
            f"only method='tsne' embeds. Set fit_rows={DENSE_ROWS} or less: the other rows are placed on the map."
        )
    found = kneighbors(None, int(3 * recipe.perplexity), metric=metric, random_state=recipe.seed, n_jobs=recipe.n_jobs)
    embedding = make_embedding(recipe, metric="euclidean" if recipe.data == "vectors" else "precomputed")
    return embedding.set_params(neighbors=found).fit(X)


def fit_metric_of(recipe, X, y):
    """The metric of a recipe, fitted; without a target it only knows the data's own geometry."""
    return FisherMetric(**recipe.metric_options()).fit(X, y if recipe.target != "none" else None)


def embed(recipe, D, X):
    """The fitted embedding: of the vectors themselves without a target, of the distances otherwise."""
    plain = isinstance(recipe.metric, str) and recipe.metric == "fisher" and recipe.target == "none"
    own_map = isinstance(recipe.mapping, str) and recipe.mapping == "own"
    if plain and recipe.data == "vectors" and not own_map:
        return make_embedding(recipe, metric="euclidean").fit(X)
    embedding = make_embedding(recipe, metric="precomputed").fit(D)
    if recipe.data == "vectors" and isinstance(embedding, LatticeEmbedding):
        embedding.keep_points(X)
    return embedding


def make_embedding(recipe, *, metric):
    """The embedding by name, or the user's own with this metric, given those of our settings it knows."""
    if not isinstance(recipe.method, str):
        own = clone(recipe.method).set_params(metric=metric)
        if recipe.callback is not None and "callback" in own.get_params(deep=False):
            own.set_params(callback=recipe.callback)
        return own
    if recipe.method not in METHODS:
        raise InputError(f"method={recipe.method!r} is not known. Methods: {', '.join(sorted(METHODS))}.")
    make = getattr(embeddings, METHODS[recipe.method])
    wanted = {
        "metric": metric, "perplexity": recipe.perplexity, "random_state": recipe.seed, "n_jobs": recipe.n_jobs,
        "callback": recipe.callback,
    }  # fmt: skip
    if make is embeddings.TSNE:  # the steps of other methods are not its steps: they keep their own number
        wanted["n_iter"] = recipe.n_iter
    known = inspect.signature(make).parameters
    return make(**{name: value for name, value in wanted.items() if name in known})


def inverse_of(built, rows, target):
    """The map from positions to rows: weighted by the Fisher tensors of a class target, plain least squares else.

    The tensors are those of a Parzen posterior, which has them whatever the map was made with.
    """
    rows = rows.toarray() if sp.issparse(rows) else rows
    metric = None
    if built.recipe.target == "class" and len(rows) <= DENSE_ROWS:
        options = {**built.recipe.metric_options(), "posterior": "parzen", "supervision": 1.0}
        metric = FisherMetric(**options).fit(rows, target)
    return InverseMap(metric).fit(built.positions, rows)


def distances_to_embed(recipe, metric, own=None):
    """All distances between the fitted rows: by the user's metric, Fisher ones, the data's own without a target."""
    if own is not None:
        return all_distances(own, metric.n_rows_, method="PrisMap", n_matrices=2)
    if recipe.target == "none":
        return distances_among(metric, np.arange(metric.n_rows_), by_fisher=False)
    return np.asarray(metric.pairwise(), dtype=np.float64)


def distances_among(metric, rows, *, by_fisher):
    """Distances between some of the fitted rows, Fisher ones or in the data's own geometry; exactly symmetric."""
    if by_fisher:
        D = np.array(metric.between(rows, rows), dtype=np.float64)
    else:
        D = np.sqrt(np.maximum(metric.geometry_.squared_to(FittedIndex(rows), rows), 0)).astype(np.float64)
    np.fill_diagonal(D, 0)
    return (D + D.T) / 2


def nearest_distances(geometry, rows):
    """Distance of each of some fitted rows to the nearest other one of them."""
    nearest = np.empty(len(rows))
    for block in row_blocks(len(rows), 24.0 * len(rows)):
        D2 = geometry.squared_to(FittedIndex(rows[block]), rows).astype(np.float64)
        D2[np.arange(len(D2)), np.arange(block.start, block.stop)] = np.inf
        nearest[block] = np.sqrt(np.maximum(D2.min(axis=1), 0))
    return nearest
