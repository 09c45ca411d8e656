"""How strongly a map arranges its groups, by evidence: the largest strength that the neighbours can afford."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from prismap._util.arrays import Numbers
from prismap._util.random import as_generator
from prismap.embeddings._places import largest_affordable, neighbors_lost, sampled_rows
from prismap.embeddings._tsne import arranged
from prismap.map._choose import class_sizes, nearest_losses, nearest_rows
from prismap.target import Target


def affordable(embedding: Any, metric: Any, target: Target, seed: int) -> float:
    """The largest strength that costs less than one standard error of ten neighbours, on maps of at most 2,000 rows.

    With a target, ten neighbours on the map predict that of each row, as in `prismap.map._choose`: the metric is
    cross-fitted, rows of one unit have no vote on each other, and the standard error is that of units. Without one, it
    is the share of the ten neighbours under the metric that are lost on the map.
    """
    rng = as_generator(seed)
    rows = target.draw(2000, rng) if target.exists else sampled_rows(len(target), rng)
    judged = target.take(rows)
    D = np.asarray(metric.between(rows, rows), dtype=np.float64)

    def losses_at(strength: float) -> Numbers:
        Y = arranged(embedding, D, strength)
        return predicted(Y, judged, target) if target.exists else neighbors_lost(D, Y)

    return largest_affordable(losses_at, judged.units)[0]


def predicted(Y: Numbers, judged: Target, target: Target) -> Numbers:
    """The loss of each row by the ten nearest others on the map."""
    D2 = cdist(Y, Y, "sqeuclidean")
    return nearest_losses(D2.copy(), judged, nearest_rows(D2), class_sizes(target))
