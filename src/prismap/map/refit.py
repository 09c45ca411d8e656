"""New regions on a map that exists: some of the new rows become landmarks, and nothing that was there moves.

Far rows are taken farthest first, in the data's own geometry, until the others lie within the typical distance of one
taken. Connected groups of them become islands (`prismap.map.islands`) near where the embedding's cost puts their
medoid with all old rows in place (001_..., section 2). Each gets a kernel of its own: with the old coefficients
``alpha`` kept, those of the new landmarks solve ``K_new beta = Y - K_old alpha`` at the new landmarks. Far from these,
where their kernels vanish, rows go where they went before.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from prismap._validation import check_target_length, missing_mask
from prismap.exceptions import InputError
from prismap.map.build import Built
from prismap.map.islands import groups_of, medoid, place_islands
from prismap.map.mapping import Kernels
from prismap.mappings import DirectPlacement
from prismap.mappings.kernels import kernel_matrix
from prismap.mappings.solve import interpolate
from prismap.metrics import FisherMetric

#: The cost that places rows on maps of a method; that of t-SNE looks at all pairs, so not on large maps.
COSTS = {"tsne": "tsne", "nerv": "nerv", "mds": "mds", "elastic": "mds", "isomap": "mds"}
MOST_PAIRED = 10_000


def new_landmarks(built: Built, rows, most):
    """Indices of the rows to add, farthest first; none if no row is far.

    Costs O(rows x landmarks) distances.
    """
    if getattr(built, "own", None) is not None or not isinstance(built.mapping, Kernels):
        raise InputError("partial_refit extends the Fisher metric and kernel maps only; fit anew.")
    distance = built.place(rows)[1]
    far = np.flatnonzero(distance > built.far_threshold)
    nearest = distance[far] * built.typical_distance
    chosen: list[int] = []
    while len(chosen) < min(most, len(far)) and nearest.max() > built.typical_distance:
        k = int(nearest.argmax())
        chosen.append(int(far[k]))
        step = np.sqrt(np.maximum(built.geometry.squared_between(rows[far], rows[far[k : k + 1]]), 0))
        nearest = np.minimum(nearest, step[:, 0])
        nearest[k] = 0
    return np.array(chosen, dtype=np.intp)


def extended(built: Built, old_rows, old_target, rows, target) -> Built:
    """The map with `rows` added to its fitted ones; old positions are kept to the last bit."""
    positions = new_positions(built, old_rows, rows)
    all_rows = sp.vstack([old_rows, rows], format="csr") if sp.issparse(old_rows) else np.vstack([old_rows, rows])
    all_targets = None if old_target is None else np.concatenate([old_target, target])
    metric = extended_metric(built, rows, all_rows, all_targets)
    added = np.arange(len(built.positions), all_rows.shape[0])
    if built.maps_by_fisher:
        D = metric.pairwise(rows)
    else:
        D = np.sqrt(np.maximum(metric.geometry_.squared_to(rows, slice(None)), 0))
    mapping = extended_kernels(built.mapping, np.asarray(D, dtype=np.float64), added, positions)
    positions = np.vstack([built.positions, positions])
    return replace(built, metric=metric, positions=positions, mapping=mapping, rows=all_rows)


def new_positions(built: Built, old_rows, rows):
    """Positions of the new rows: a medoid by the embedding's cost, its group around it."""
    D = np.sqrt(np.maximum(built.geometry.squared_between(rows, rows), 0)).astype(np.float64)
    groups = groups_of(D, 2 * built.far_threshold * built.typical_distance)
    method = built.recipe.method if isinstance(built.recipe.method, str) else "tsne"
    cost = COSTS.get(method, "tsne")
    if cost == "tsne" and len(built.positions) > MOST_PAIRED:
        cost = "nerv"
    metric = "euclidean" if built.recipe.target == "none" else built.metric
    placement = DirectPlacement(cost, metric=metric, perplexity=built.recipe.perplexity)
    medoids = [group[medoid(D[np.ix_(group, group)])] for group in groups]
    anchors = placement.fit(old_rows, built.positions).transform(rows[medoids])
    return place_islands(anchors, groups, D, built.positions)


def extended_metric(built: Built, rows, all_rows, all_targets):
    """The same metric, by the same support and bandwidth, over more rows."""
    state = built.metric.state()
    state["folds"] = np.concatenate([state["folds"], np.full(rows.shape[0], -1)])
    for name in {"probabilities", "local_probabilities"} & set(state):
        state[name] = np.vstack([state[name], built.metric.class_probabilities(rows)])
    return FisherMetric.restore(all_rows, all_targets, state, built.recipe.metric_options())


def extended_kernels(mapping: Kernels, D, added, positions) -> Kernels:
    """Kernels with landmarks `added`, whose distances to all fitted rows are D, that send them to `positions`."""
    old = len(mapping.landmarks)
    landmarks = np.concatenate([mapping.landmarks, added])
    width = np.broadcast_to(mapping.bandwidth, (old,))
    bandwidth = np.concatenate([width, np.full(len(added), np.median(width))])
    K = kernel_matrix(D[:, landmarks], bandwidth, normalize=True)
    rest = positions - mapping.center - K[:, :old] @ mapping.coefficients
    coefficients = interpolate(K[:, old:], rest, float(mapping.smoothness[1]))[0]
    return replace(
        mapping, landmarks=landmarks, bandwidth=bandwidth, coefficients=np.vstack([mapping.coefficients, coefficients])
    )


def target_of(model, y, n_rows):
    """Targets of new rows as the map keeps them: codes of its classes (-1: none), numbers (NaN: none), or None."""
    if model.target_ == "none":
        return None
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
