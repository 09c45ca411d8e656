"""New regions on a map that exists: some of the new rows become landmarks, and nothing that was there moves.

Far rows are taken farthest first, in the data's own geometry, until the others lie within the typical distance of one
taken. Connected groups of them become new clusters: rows placed one by one do not see each other, and a new cluster
would be torn apart or fall on old ones. So a group keeps its own shape (classical scaling of its distances), at the
density of the map, on the free place next to where the embedding's cost puts its medoid with all old rows in place
(Gisbrecht et al. 2012, sec. 2). Each new row gets a kernel of its own: with old coefficients
``alpha`` kept, those of the new landmarks solve ``K_new beta = Y - K_old alpha`` at the new landmarks. Far from these,
where their kernels vanish, rows go where they went before.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.base import clone

from prismap._util.arrays import Numbers, Rows
from prismap._util.scales import position_spacing
from prismap._util.spectra import classical_scaling
from prismap._util.validation import changed
from prismap.comparisons._content import shown_text
from prismap.exceptions import InputError
from prismap.map._fitted import FittedMap
from prismap.map._methods import cost_settings
from prismap.mappings import DirectPlacement, KernelMap, MapCost, VoteMap
from prismap.mappings._kernels import interpolate, kernel_matrix
from prismap.metrics import FisherMetric
from prismap.metrics._base import PrecomputedMetric
from prismap.metrics._geometry import DataMetric
from prismap.quality import find_clusters

#: The cost of t-SNE looks at all pairs, so it does not place rows on larger maps than this.
MOST_PAIRED = 10_000
#: The width of the empty band around a new cluster, in typical distances between neighbours on the map, and the places
#: that are tried along each side of the map.
GAP, GRID = 4.0, 60
#: Up to so many fitted objects: all values between them are known then.
MOST_OBJECTS = 5000


def new_landmarks(parts: FittedMap, rows: Any, most: int) -> Any:
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


def new_distances(parts: FittedMap, A: Any, B: Any) -> Numbers:
    """Distances between new rows in the data's own metric."""
    return np.asarray(np.sqrt(np.maximum(parts.data.squared_between(A, B), 0)), dtype=np.float64)


def extended(fitted: FittedMap, rows: Any, values: Any) -> FittedMap:
    """The map with `rows` added to its fitted ones, whose target has these `values`; old positions stay as they are."""
    new = new_positions(fitted, rows)
    first, given = len(fitted.positions), fitted.given
    all_rows, target = joined(fitted.rows, rows), fitted.target.joined(values)
    data = clone(fitted.data).over(all_rows)
    metric = data if fitted.metric is fitted.data else extended_metric(fitted.metric, data, rows, target)
    added = np.arange(first, first + len(new))
    anchors = np.concatenate([fitted.anchors, added])
    D = new_to_anchors(data if fitted.placed_by_data else metric, data, anchors, rows)
    positions = np.vstack([fitted.positions, new])
    apart = data.between(added, anchors).astype(np.float64)
    apart[np.arange(len(added)), len(fitted.anchors) + np.arange(len(added))] = np.inf
    given = replace(
        given, rows=joined(given.rows, rows), target=given.target.joined(values),
        fitted=np.concatenate([given.fitted, np.arange(len(given), len(given) + len(new))]),
        row_names=None,  # the new rows have names of another table
    )  # fmt: skip
    return replace(
        fitted, given=given, rows=all_rows, data=data, metric=metric, positions=positions, anchors=anchors,
        mapping=extended_mapping(fitted.mapping, D, new, positions[anchors]),
        apart=np.concatenate([fitted.nearest, apart.min(axis=1)]),
    )  # fmt: skip


def joined(rows: Any, more: Any) -> Any:
    """Rows, and more of them below."""
    return sp.vstack([rows, more], format="csr") if sp.issparse(rows) else np.vstack([rows, more])


def new_positions(fitted: FittedMap, rows: Any) -> Numbers:
    """Positions of the new rows: a medoid by the embedding's cost, its group around it."""
    D = new_distances(fitted, rows, rows)
    groups = groups_of(D, 2 * fitted.far_threshold * fitted.typical_distance)
    placement = placement_on(fitted)
    medoids = rows[[group[medoid(D[np.ix_(group, group)])] for group in groups]]
    if fitted.is_large:
        belong = placed_by_anchors(fitted, placement, medoids)
    else:
        metric = "euclidean" if fitted.metric is fitted.data else fitted.metric
        belong = placement.set_params(metric=metric).fit(fitted.rows, fitted.positions).transform(medoids)
    return place_groups(belong, groups, D, fitted.positions)


def placement_on(fitted: FittedMap) -> DirectPlacement:
    """What places rows on the map by the cost of its method, or by that of t-SNE if its own is not known."""
    try:
        settings = cost_settings("direct", fitted.recipe.method)
    except InputError:
        settings = {"name": "tsne"}
    if settings["name"] == "tsne" and len(fitted.positions) > MOST_PAIRED:
        settings["name"] = "nerv"
    return DirectPlacement(MapCost(**{"perplexity": fitted.recipe.perplexity, **settings}))


def placed_by_anchors(parts: FittedMap, placement: Any, rows: Any) -> Numbers:
    """Where the cost puts new rows on a large map: its anchors stand for all of its rows.

    The costs of large maps do not look at distances between fitted rows, so none are measured.
    """
    n_anchors = len(parts.anchors)
    unknown = PrecomputedMetric.of(np.broadcast_to(0.0, (n_anchors, n_anchors)))
    placement.set_params(metric=unknown).fit(unknown.rows_, parts.positions[parts.anchors])
    placed: Numbers = placement.place(new_to_anchors(parts.metric, parts.data, parts.anchors, rows))
    return placed


def new_to_anchors(metric: Any, data: DataMetric, anchors: Rows, rows: Any) -> Numbers:
    """Distances of new rows to some of the fitted ones, as they are measured when rows are placed."""
    seen = data.to_anchors(anchors).see(rows)
    if metric is not data:
        seen = metric.to_anchors(anchors).see(rows, seen)
    return np.asarray(seen.distances, dtype=np.float64)


def extended_metric(metric: Any, data: DataMetric, rows: Any, all_targets: Any) -> Any:
    """The same Fisher metric, by the same support and bandwidth, over more rows."""
    state = metric.state()
    state["folds"] = np.concatenate([state["folds"], np.full(rows.shape[0], -1)])
    for name in {"probabilities", "local_probabilities"} & set(state):
        state[name] = np.vstack([state[name], metric.class_probabilities(rows)])
    if "process_states" in state:
        state["process_states"] = np.concatenate([state["process_states"], metric.posterior_.new_states(rows)])
    return changed(metric).restore_on(data, all_targets, state)


def extended_mapping(mapping: Any, D: Numbers, new: Any, positions: Numbers) -> Any:
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


# --- where new groups go ----------------------------------------------------------------------------------------------


def groups_of(D: Numbers, link: float) -> list[Rows]:
    """Lists of rows connected by distances up to `link`, in the order of their first row."""
    labels = connected_components(sp.csr_array(link >= D), directed=False)[1]
    return [np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())]


def medoid(D: Numbers) -> int:
    """The row with the smallest sum of distances."""
    return int(D.sum(axis=1).argmin())


def medoids_of(fitted: FittedMap) -> list[dict[str, Any]]:
    """The medoid of each class and cluster of objects: of what, its row, the size of the group, and its text.

    Distances are the data's own. Of more objects than fit in a matrix there are none.
    """
    data, target = fitted.data, fitted.target
    if data.kind != "objects" or len(fitted.positions) > MOST_OBJECTS:
        return []
    groups = [(f"class {name}", rows) for name, rows in target.members]
    labels = find_clusters(fitted.positions, random_state=fitted.seed)
    clusters = range(labels.max() + 1) if labels.max() > 0 else ()  # one alone is the whole map
    groups += [(f"cluster {number + 1}", np.flatnonzero(labels == number)) for number in clusters]
    medoids = []
    for what, rows in groups:
        if len(rows):
            typical = int(rows[medoid(data.between(rows, rows))])
            text = shown_text(fitted.rows.objects[typical])
            medoids.append({"of": what, "row": int(fitted.given.fitted[typical]), "n_rows": len(rows), "text": text})
    return medoids


def own_shape(D: Numbers, n_components: int, spacing: float) -> Numbers:
    """Positions about zero with distances like D, scaled so that neighbours are `spacing` apart (median)."""
    Y: Numbers = classical_scaling(np.square(D), n_components)[0]
    now = float(np.median(position_spacing(Y))) if len(Y) > 1 else 0.0
    return Y * (spacing / now) if now > 0 else Y


def free_place(anchor: Numbers, radius: float, occupied: Numbers) -> Numbers:
    """The point nearest to `anchor` that is `radius` away from all occupied ones: itself, or one of a fine grid."""
    tree = cKDTree(occupied)
    low, high = occupied.min(axis=0) - 2 * radius, occupied.max(axis=0) + 2 * radius
    n_sides = GRID if occupied.shape[1] == 2 else 15
    axes = [np.linspace(a, b, n_sides) for a, b in zip(low, high, strict=True)]
    places = np.vstack([anchor, np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(axes))])
    free: Numbers = places[tree.query(places)[0] >= radius]
    return np.asarray(free[np.square(free - anchor).sum(axis=1).argmin()])


def place_groups(anchors: Numbers, groups: list[Rows], distances: Numbers, occupied: Numbers) -> Numbers:
    """Positions of grouped rows: ``anchors[g]`` is where the medoid of ``groups[g]`` belongs."""
    spacing = float(np.median(position_spacing(occupied))) or 1.0
    Y = np.empty((len(distances), occupied.shape[1]))
    for anchor, rows in zip(anchors, groups, strict=True):
        shape = own_shape(distances[np.ix_(rows, rows)], occupied.shape[1], spacing)
        radius = np.sqrt(np.square(shape).sum(axis=1).max()) + GAP * spacing
        Y[rows] = free_place(anchor, radius, occupied) + shape
        occupied = np.vstack([occupied, Y[rows]])
    return Y
