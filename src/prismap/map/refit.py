"""New regions on a map that exists: some of the new rows become landmarks, and nothing that was there moves.

Far rows are taken farthest first, in the data's own geometry, until the others lie within the typical distance of one
taken. Connected groups of them become new clusters (`prismap.map.islands`) near where the embedding's cost puts their
medoid with all old rows in place (Gisbrecht et al. 2012, sec. 2). Each gets a kernel of its own: with old coefficients
``alpha`` kept, those of the new landmarks solve ``K_new beta = Y - K_old alpha`` at the new landmarks. Far from these,
where their kernels vanish, rows go where they went before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from prismap._validation import changed, check_target_length, missing_mask
from prismap.exceptions import InputError
from prismap.map.islands import groups_of, medoid, place_islands
from prismap.map.make import METHODS
from prismap.map.parts import MapParts
from prismap.mappings import DirectPlacement, KernelMap, MapCost, VoteMap
from prismap.mappings.kernels import interpolate, kernel_matrix
from prismap.metrics import FisherMetric
from prismap.metrics.base import PrecomputedMetric
from prismap.metrics.geometry import DataMetric
from prismap.metrics.several import is_several

#: The cost that places rows on maps of a method; that of t-SNE looks at all pairs, so not on large maps.
COSTS = {"TSNE": "tsne", "NeRV": "nerv", "MDS": "mds", "ElasticMDS": "mds", "Isomap": "mds"}
MOST_PAIRED = 10_000


def new_landmarks(parts: MapParts, rows, most):
    """Indices of the rows to add, farthest first; none if no row is far.

    Costs O(rows x landmarks) distances.
    """
    if (
        not isinstance(parts.metric, (FisherMetric, DataMetric))
        or not isinstance(parts.mapping, (KernelMap, VoteMap))
        or not parts.mapping.state()
    ):
        raise InputError("partial_refit extends the Fisher metric, kernel maps and votes only; fit anew.")
    distance = parts.place(rows)[1]
    far = np.flatnonzero(distance > parts.far_threshold)
    nearest = distance[far] * parts.typical_distance
    chosen: list[int] = []
    while len(chosen) < min(most, len(far)) and nearest.max() > parts.typical_distance:
        k = int(nearest.argmax())
        chosen.append(int(far[k]))
        nearest = np.minimum(nearest, new_distances(parts, rows[far], rows[far[k : k + 1]])[:, 0])
        nearest[k] = 0
    return np.array(chosen, dtype=np.intp)


def new_distances(parts: MapParts, A, B):
    """Distances between new rows in the data's own metric."""
    return np.sqrt(np.maximum(parts.data.squared_between(A, B), 0)).astype(np.float64)


def extended(parts: MapParts, method, perplexity, old_target, rows, target) -> MapParts:
    """The map with `rows` added to its fitted ones; old positions are kept to the last bit."""
    new = new_positions(parts, method, perplexity, rows)
    old = parts.rows
    all_rows = sp.vstack([old, rows], format="csr") if sp.issparse(old) else np.vstack([old, rows])
    all_targets = None if old_target is None else np.concatenate([old_target, target])
    data = clone(parts.data).over(all_rows)
    metric = data if parts.metric is parts.data else extended_metric(parts.metric, data, rows, all_targets)
    added = np.arange(len(parts.positions), all_rows.shape[0])
    anchors = np.concatenate([parts.anchors, added])
    D = new_to_anchors(data if parts.placed_by_data else metric, data, anchors, rows)
    positions = np.vstack([parts.positions, new])
    mapping = extended_mapping(parts.mapping, D, new, positions[anchors])
    apart = data.between(added, anchors).astype(np.float64)
    apart[np.arange(len(added)), len(parts.anchors) + np.arange(len(added))] = np.inf
    return replace(
        parts, rows=all_rows, data=data, metric=metric, positions=positions, mapping=mapping, anchors=anchors,
        nearest=np.concatenate([parts.nearest, apart.min(axis=1)]),
    )  # fmt: skip


def new_positions(parts: MapParts, method, perplexity, rows):
    """Positions of the new rows: a medoid by the embedding's cost, its group around it."""
    D = new_distances(parts, rows, rows)
    groups = groups_of(D, 2 * parts.far_threshold * parts.typical_distance)
    cost = cost_of(method)
    if cost == "tsne" and len(parts.positions) > MOST_PAIRED:
        cost = "nerv"
    medoids = rows[[group[medoid(D[np.ix_(group, group)])] for group in groups]]
    if parts.is_large:
        belong = placed_by_anchors(parts, cost, perplexity, medoids)
    else:
        metric = "euclidean" if parts.metric is parts.data else parts.metric
        placement = DirectPlacement(MapCost(cost, perplexity=perplexity), metric=metric)
        belong = placement.fit(parts.rows, parts.positions).transform(medoids)
    return place_islands(belong, groups, D, parts.positions)


def placed_by_anchors(parts: MapParts, cost, perplexity, rows):
    """Where the cost puts new rows on a large map: its anchors stand for all of its rows.

    The costs of large maps do not look at distances between fitted rows, so none are measured.
    """
    n_anchors = len(parts.anchors)
    unknown = PrecomputedMetric.of(np.broadcast_to(0.0, (n_anchors, n_anchors)))
    placement = DirectPlacement(MapCost(cost, perplexity=perplexity), metric=unknown)
    placement.fit(unknown.rows_, parts.positions[parts.anchors])
    return placement.place(new_to_anchors(parts.metric, parts.data, parts.anchors, rows))


def new_to_anchors(metric, data, anchors, rows):
    """Distances of new rows to some of the fitted ones, as they are measured when rows are placed."""
    seen = data.to_anchors(anchors).see(rows)
    if metric is not data:
        seen = metric.to_anchors(anchors).see(rows, seen)
    return np.asarray(seen.distances, dtype=np.float64)


def cost_of(method):
    """The cost that places rows on maps of a method, given by name or as an object."""
    return COSTS.get(METHODS[method] if isinstance(method, str) else type(method).__name__, "tsne")


def extended_metric(metric, data, rows, all_targets):
    """The same Fisher metric, by the same support and bandwidth, over more rows."""
    state = metric.state()
    state["folds"] = np.concatenate([state["folds"], np.full(rows.shape[0], -1)])
    for name in {"probabilities", "local_probabilities"} & set(state):
        state[name] = np.vstack([state[name], metric.class_probabilities(rows)])
    if "process_states" in state:
        state["process_states"] = np.concatenate([state["process_states"], metric.posterior_.new_states(rows)])
    return changed(metric).restore_on(data, all_targets, state)


def extended_mapping(mapping, D, new, positions):
    """The mapping with more rows, whose distances to all anchors are D: a kernel map sends them to `new`."""
    state = mapping.state()
    if isinstance(mapping, VoteMap):  # new rows vote like all others; elsewhere the votes are what they were
        return changed(mapping).restore(None, positions, state)
    old, n_anchors = len(state["landmarks"]), D.shape[1]
    landmarks = np.concatenate([state["landmarks"], np.arange(n_anchors - len(new), n_anchors)])
    bandwidth = np.concatenate([state["bandwidth"], np.full(len(new), np.median(state["bandwidth"]))])
    K = kernel_matrix(D[:, landmarks], bandwidth, normalize=True)
    rest = new - state["center"] - K[:, :old] @ state["coefficients"]
    coefficients = interpolate(K[:, old:], rest, float(state["smoothness"][1]))[0]
    state |= {"landmarks": landmarks, "bandwidth": bandwidth}
    state["coefficients"] = np.vstack([state["coefficients"], coefficients])
    return changed(mapping).restore(None, positions, state)


def target_of(model, y, n_rows):
    """Targets of new rows as the map keeps them: codes of its classes (-1: none), numbers (NaN: none), or None."""
    if model.target_ == "none":
        return None
    if is_several(model.target_):
        raise InputError(
            "partial_refit extends maps of one target; this one has several columns or an order: fit anew."
        )
    if y is None:
        return np.full(n_rows, -1) if model.target_ == "class" else np.full(n_rows, np.nan)
    values = check_target_length(y, n_rows)
    missing = missing_mask(values)
    if model.target_ == "real":
        return np.where(missing, np.nan, values).astype(np.float64)
    codes = {str(name): code for code, name in enumerate(model.classes_)}
    names = [None if gap else str(value) for gap, value in zip(missing, values.tolist(), strict=True)]
    strangers = sorted({name for name in names if name is not None and name not in codes and name != "-1"})
    if strangers:
        raise InputError(
            f"y holds classes the map does not know ({', '.join(strangers[:8])}). partial_refit keeps its classes: "
            "pass None for these rows, or fit anew."
        )
    return np.array([-1 if name is None else codes.get(name, -1) for name in names])
