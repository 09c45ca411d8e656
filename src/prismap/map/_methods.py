"""Which embedding and which mapping, by name or as an object: the tables of methods, and what is made of them."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from prismap import embeddings
from prismap._util.arrays import Numbers, Rows
from prismap._util.missing import mean_filled
from prismap._util.random import as_generator
from prismap._util.validation import changed
from prismap.bundle._checkpoint import Checkpoint, fingerprint
from prismap.bundle._json import check_form
from prismap.embeddings._places import coarse_layout
from prismap.embeddings._tsne import check_neighbors
from prismap.exceptions import InputError
from prismap.map._fitted import DENSE_ROWS
from prismap.mappings import DirectPlacement, KernelMap, MapCost, ParametricMap, VoteMap
from prismap.mappings._base import Mapping
from prismap.mappings._costs import MAP_COSTS, PLACEMENT_COSTS
from prismap.metrics._base import PrecomputedMetric
from prismap.metrics._geometry import DataMetric
from prismap.neighbors import Neighbors, kneighbors
from prismap.target import ClassTarget, RealTarget, SeveralTarget, Target

#: Methods by the name `PrisMap` and the command line take.
METHODS = {
    "tsne": "TSNE", "nerv": "NeRV", "mds": "MDS", "elastic": "ElasticMDS", "isomap": "Isomap", "lle": "LLE",
    "mvu": "MVU", "som": "SOM", "gtm": "GTM", "kpca": "KernelPCA", "kda": "KernelDiscriminant",
}  # fmt: skip
#: Mappings by name. ``metric="data"`` asks for the data's own distances, all others get those of the map.
MAPPINGS = {
    "fisher": KernelMap(), "euclidean": KernelMap(metric="data"), "svr": KernelMap(solver="svr"),
    "cost": KernelMap(solver="cost"), "elm": KernelMap("elm"), "direct": DirectPlacement(), "vote": VoteMap(),
    "parametric": ParametricMap(),
}  # fmt: skip
#: The cost that places new rows on maps of a method, for the mappings that minimise one.
COSTS = {
    "TSNE": "tsne", "ShortTSNE": "tsne", "NeRV": "nerv", "MDS": "mds", "ElasticMDS": "elastic", "Isomap": "isomap",
    "LLE": "lle", "MVU": "mvu",
}  # fmt: skip
#: Iterations of an embedding by name.
N_ITER = 500
#: Rows that carry the mapping of a large map, and rows that the search for a mapping's smoothness looks at.
N_LANDMARKS, SMOOTHNESS_ROWS = 4000, 500
#: Fewer rows would not show it, though they were independent.
FEWEST_SMOOTHED = 50


# --- embeddings -------------------------------------------------------------------------------------------------------


def make_embedding(
    method: Any, *, perplexity: float, seed: int, max_iter: int = N_ITER, callback: Any = None, checkpoint: Any = None
) -> Any:
    """An embedding by name, with those of the settings it knows; or a clone of the user's own.

    That gets the seed if it has none: the map's seed decides all of the map.
    """
    if not isinstance(method, str):
        own, known = clone(method), method.get_params(deep=False)
        if known.get("random_state", 0) is None:
            own.set_params(random_state=seed)
        if callback is not None and "callback" in known:
            own.set_params(callback=callback)
        return with_checkpoint(own, checkpoint)
    wanted = {"perplexity": perplexity, "random_state": seed, "callback": callback}
    if method == "tsne":
        wanted["max_iter"] = max_iter
    make = getattr(embeddings, METHODS[method])
    known = inspect.signature(make).parameters
    return with_checkpoint(make(**{name: value for name, value in wanted.items() if name in known}), checkpoint)


def with_checkpoint(embedding: Any, folder: Any) -> Any:
    """The embedding, which keeps its state in this folder and no other: several maps may be made of one object."""
    if "descent" in embedding.get_params(deep=False):
        descent = embeddings.GradientDescent() if embedding.descent is None else embedding.descent
        return embedding.set_params(descent=descent.set_params(checkpoint=folder))
    if folder is not None:
        raise InputError(f"checkpoint: {type(embedding).__name__} cannot go on where it stopped; method='tsne' can.")
    return embedding


def arrangement_of(embedding: Any) -> Any:
    """How strongly an embedding arranges groups; None if it cannot."""
    if not isinstance(embedding, embeddings.TSNE):
        return None
    return 0 if embedding.descent is None else embedding.descent.arrangement


def with_arrangement(embedding: Any, arrangement: Any) -> Any:
    """A copy of a t-SNE with another strength of arrangement, or with `Places`."""
    descent = embeddings.GradientDescent() if embedding.descent is None else embedding.descent
    return changed(embedding, descent=changed(descent, arrangement=arrangement))


def usual_iterations(embedding: Any) -> int:
    """Iterations of an embedding if nothing ends it earlier: t-SNE's exaggerated half comes on top of its own."""
    max_iter: int = embedding.get_params(deep=False).get("max_iter", 1)
    return max_iter + max_iter // 2 if isinstance(embedding, embeddings.TSNE) else max_iter


def needs_target(method: Any) -> bool:
    """Whether an embedding, by name or as an object, cannot be fitted without a target."""
    own = getattr(embeddings, METHODS[method])() if isinstance(method, str) else method
    return bool(get_tags(own).target_tags.required)


def method_target(embedding: Any, target: Target) -> Any:
    """What an embedding is fitted with beside the distances: nothing, or the classes where it is supervised itself."""
    if not needs_target(embedding):
        return None
    if isinstance(embedding, embeddings.KernelDiscriminant) and not isinstance(target, ClassTarget):
        reasons: dict[Any, str] = {SeveralTarget: "has several columns", RealTarget: "is real"}
        reason = reasons.get(type(target), "is not there (y=None, target='none' or supervision=0)")
        raise InputError(
            f"the kernel discriminant (method='kda') separates classes, and the target {reason}. Use method='kpca', or "
            "pass classes."
        )
    return target.values if target.exists else None


def embed(embedding: Any, rows: Any, data: DataMetric, metric: Any, *, target: Any = None) -> Any:
    """The embedding, fitted to all distances or to the measured ones, or to the vectors themselves without a metric."""
    if metric is None:
        return embedding.set_params(metric="euclidean").fit(rows, target)
    embedding = embedding.set_params(metric=metric).fit(metric.rows_, target)
    if not data.is_matrix and data.is_complete and hasattr(embedding, "keep_points"):
        embedding.keep_points(rows)
    return embedding


def embed_many(embedding: Any, rows: Any, data: DataMetric, metric: Any, *, perplexity: float, seed: int) -> Any:
    """t-SNE of more rows than all distances have room for, from approximate neighbours."""
    if not embeds_many(embedding):
        raise InputError(
            f"method={type(embedding).__name__} needs all distances, and {rows.shape[0]} rows have too many: above "
            f"{DENSE_ROWS} only method='tsne' embeds. Set fit_rows={DENSE_ROWS} or less: the other rows are placed on "
            "the map."
        )
    n_neighbors, kept, folder = int(3 * perplexity), None, getattr(embedding.descent, "checkpoint", None)
    if folder is not None:
        # Distances between some rows tell whether the metric, and with it the target, is the same.
        some = np.asarray(metric.between(np.arange(100), np.arange(100)))
        kept = Checkpoint(folder, "neighbors", fingerprint(data.rows_, some, n_neighbors, seed))
    neighbors = kept_neighbors(
        kept, (rows.shape[0], n_neighbors), lambda: kneighbors(None, n_neighbors, metric=metric, random_state=seed)
    )
    strength = arrangement_of(embedding)
    if isinstance(strength, (int, float)) and strength > 0:
        # Of the metric of the map, which the embedding does not get.
        layout = coarse_layout(metric, rows.shape[0], as_generator(seed), strength=float(strength))
        embedding = with_arrangement(embedding, layout)
    if data.is_matrix:
        embedding = embedding.set_params(metric=data, neighbors=neighbors).fit(data.rows_)
    else:
        # What is missing counts in the neighbours as it should; the start looks at the rows for their main directions.
        embedding = embedding.set_params(metric="euclidean", neighbors=neighbors).fit(mean_filled(rows))
    if kept is not None:
        kept.clear()
    return embedding


def embeds_many(method: Any) -> bool:
    """Whether an embedding, by name or as an object, needs neighbours only, so that it takes any number of rows."""
    return method == "tsne" if isinstance(method, str) else isinstance(method, embeddings.TSNE)


def kept_neighbors(kept: Any, shape: tuple[int, int], search: Callable[[], Neighbors]) -> Neighbors:
    """The neighbours by `search`, or those of this shape that an earlier fit has left in the `Checkpoint`."""
    if kept is None:
        return search()
    state = kept.load({"distances": shape, "indices": shape}, lambda state: _check_kept(state, shape[0]))
    if state is not None:
        return Neighbors(state.arrays["distances"], state.arrays["indices"], **state.values)
    neighbors = search()
    story = {"method": neighbors.method, "recall": float(neighbors.recall), "n_distances": neighbors.n_distances}
    kept.save({"distances": neighbors.distances, "indices": neighbors.indices}, **story)
    return neighbors


def _check_kept(state: Any, n_rows: int) -> None:
    """Refuse (ValueError) what are no neighbours of so many rows."""
    check_form(state.values, {"method": str, "recall": float, "n_distances": (int, None)}, "its story")
    check_neighbors((state.arrays["distances"], state.arrays["indices"]), n_rows)


def story_of(embedding: Any) -> dict[str, Any]:
    """How an embedding ended."""
    names = ("objective", "n_iter", "stop_reason", "neighbors", "repulsion", "arrangement")
    return {name: getattr(embedding, name + "_", None) for name in names}


# --- mappings ---------------------------------------------------------------------------------------------------------


class OwnPlacement(Mapping):
    """New rows placed by the embedding's own ``transform``."""

    def __init__(self, embedding: Any, metric: Any = "precomputed") -> None:
        self.embedding = embedding
        self.metric = metric

    def fit(self, X: Any, Y: Any) -> Self:
        """Nothing is left to learn."""
        self.keep(X, Y)
        return self

    def place(self, D: Any) -> Numbers:
        """Positions of rows from their distances D to all fitted rows."""
        return np.asarray(self.embedding.transform(D.astype(np.float64)), dtype=np.float64)


def make_mapping(
    mapping: Any, embedding: Any, *, method: Any, perplexity: float, seed: int, large: bool = False
) -> Any:
    """The mapping by name or as an object, unfitted; "own" is the embedding's, "cost" and "direct" know its cost."""
    if isinstance(mapping, str) and mapping == "own":
        if not hasattr(embedding, "transform"):
            raise InputError(
                "mapping='own' needs a method that can place new rows itself, 'som', 'gtm', 'kpca' or 'kda'; "
                f"{type(embedding).__name__} cannot. Use mapping='fisher'."
            )
        return OwnPlacement(embedding)
    if not isinstance(mapping, str):
        made = clone(mapping)
    else:
        settings = {"random_state": seed}
        made = clone(MAPPINGS[mapping])
        if mapping in ("cost", "direct", "parametric"):
            cost = MapCost(**{"perplexity": perplexity, **cost_settings(mapping, method)})
            settings["solver" if mapping == "cost" else "cost"] = cost
        made.set_params(**{name: value for name, value in settings.items() if name in made.get_params()})
    if large and not carries_many(made):
        raise InputError(
            f"mapping={mapping!r} needs all distances; on a large map use mapping='fisher', or set fit_rows."
        )
    return made


def carries_many(mapping: Any) -> bool:
    """Whether a mapping, by name or as an object, can do with landmarks, so that a map may have any number of rows."""
    if isinstance(mapping, str):
        return mapping == "auto" or (mapping in MAPPINGS and carries_many(MAPPINGS[mapping]))
    return isinstance(mapping, VoteMap) or (isinstance(mapping, KernelMap) and mapping.kernel == "rbf")


def most_fitted(method: Any, mapping: Any, data: DataMetric) -> float:
    """Rows that can be fitted with an embedding and a mapping, by name or as objects, at most."""
    return min(data.most_rows, math.inf if embeds_many(method) and carries_many(mapping) else DENSE_ROWS)


def cost_settings(mapping: Any, method: Any) -> dict[str, Any]:
    """The cost of a method, by name or as an object, and those of its parameters that the cost depends on."""
    made = getattr(embeddings, METHODS[method])() if isinstance(method, str) else method
    name, own = type(made).__name__, made.get_params(deep=False)
    cost = COSTS.get(name)
    if name == "MDS":
        cost = {"metric": "mds"}.get(own["kind"], own["kind"])
    elif name == "ElasticMDS" and not (isinstance(own["weights"], str) and own["weights"] == "elastic"):
        cost = "mds" if isinstance(own["weights"], str) else None
    elif name == "NeRV" and own["kernel"] == "student":
        cost = "tsne" if mapping == "direct" else "tnerv"
    known = PLACEMENT_COSTS if mapping == "direct" else MAP_COSTS
    if cost not in known:
        raise InputError(
            f"mapping={mapping!r} needs a method whose cost is known for new rows, and {name} has none; use "
            "mapping='fisher'."
        )
    shared = ["gamma", "n_neighbors"] if isinstance(method, str) else ["gamma", "n_neighbors", "perplexity"]
    return {"name": cost, **{key: own[key] for key in shared if key in own}}


def fit_mapping(mapping: Any, D: Numbers, Y: Numbers, target: Target, seed: int) -> Any:
    """The mapping, fitted to distances D between rows with this target at positions Y.

    The smoothness of Gaussian kernels, their width and ridge, is relative to the rows' own spacing: a sample shows it
    as well as all rows would.
    """
    mapping.set_params(metric=PrecomputedMetric.of(D))
    if isinstance(mapping, KernelMap) and mapping.kernel == "rbf" and mapping.bandwidth == "cv":
        sample = smoothness_rows(target, seed)
        mapping.set_params(**smoothness(D[np.ix_(sample, sample)], Y[sample], mapping.ridge, seed))
    return mapping.fit(D, Y)


def smoothness_rows(target: Target, seed: int) -> Rows:
    """The sample that shows how smooth kernels should be: of rows that are not independent one per unit, if it can be.

    A row that is left out is placed where its copies are, however narrow the kernels.
    """
    order = np.random.default_rng(seed).permutation(len(target))
    if not target.independent:
        first = np.unique(target.units[order], return_index=True)[1]
        order = order[np.sort(first)] if len(first) >= FEWEST_SMOOTHED else order
    return np.sort(order[:SMOOTHNESS_ROWS])


def smoothness(D: Numbers, Y: Numbers, ridge: Any, seed: int) -> dict[str, Any]:
    """Width and ridge of Gaussian kernels for distances D and positions Y, by cross-validation."""
    trial = KernelMap(ridge=ridge, random_state=seed).set_params(metric=PrecomputedMetric.of(D)).fit(D, Y)
    return {"bandwidth": trial.factor_, "ridge": trial.ridge_}


def large_mapping(rows: Any, metric: Any, anchors: Rows) -> str:
    """The mapping of a large map by name: kernels, unless the nearest fitted rows decide alone (`Cells`)."""
    return "vote" if not sp.issparse(rows) and metric.placing().to_anchors(anchors).searchable else "fisher"


def large_anchors(n_rows: int, seed: int, most: int) -> Rows:
    """The rows that carry the mapping of a large map."""
    return np.sort(np.random.default_rng(seed).choice(n_rows, min(most, N_LANDMARKS), replace=False))


def fit_bytes(n_rows: int, perplexity: float) -> float:
    """Memory of a fit at its peak: all distances and the kernels on them, of a large map the landmarks' and neighbours.

    (Measured: 33 to 50 bytes per pair, the most with the Parzen posterior.)
    """
    if n_rows <= DENSE_ROWS:
        return 50.0 * n_rows**2
    return 50.0 * N_LANDMARKS**2 + 100.0 * perplexity * n_rows
