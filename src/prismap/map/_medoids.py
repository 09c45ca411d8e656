"""The most typical object of each class and of each cluster of a map: the one nearest to all others of its group."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap.comparisons._content import shown_text
from prismap.map._fitted import FittedMap
from prismap.map._refit import medoid
from prismap.quality import find_clusters

#: Up to so many fitted objects: all values between them are known then.
MOST_OBJECTS = 5000


def medoids_of(fitted: FittedMap) -> list[dict[str, Any]]:
    """What each is the medoid of, its number among the given rows, the size of the group, and its text.

    Distances are the data's own. Of more objects than fit in a matrix there are none.
    """
    data, target = fitted.data, fitted.target
    if data.kind != "objects" or len(fitted.positions) > MOST_OBJECTS:
        return []
    groups = []
    if target.codes is not None:
        groups += [(f"class {name}", np.flatnonzero(target.codes == c)) for c, name in enumerate(target.classes)]
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
