"""The most typical object of each class and of each cluster of a map: the one nearest to all others of its group."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap.comparisons.content import shown_text
from prismap.map.islands import medoid
from prismap.relevance.map_groups import map_islands

#: Up to so many fitted objects: all values between them are known then.
MOST_OBJECTS = 5000


def medoids_of(model: Any) -> list[dict[str, Any]]:
    """What each is the medoid of, its number among the rows given to `fit`, the size of the group, and its text.

    Distances are the data's own. Of more objects than fit in a matrix there are none.
    """
    data, n_fitted = model.parts_.data, len(model.embedding_)
    if data.kind != "objects" or n_fitted > MOST_OBJECTS:
        return []
    groups = []
    if model.target_ == "class":
        y = model.fitted_target()
        groups += [(f"class {name}", np.flatnonzero(y == code)) for code, name in enumerate(model.classes_)]
    islands = map_islands(model.embedding_, seed=model.seed_)
    groups += [(f"cluster {number}", np.sort(rows)) for number, rows in enumerate(islands, 1)]
    found = []
    for what, rows in groups:
        if len(rows):
            typical = int(rows[medoid(data.between(rows, rows))])
            text = shown_text(model.fitted_rows().objects[typical])
            found.append({"of": what, "row": int(model.fit_rows_[typical]), "n_rows": len(rows), "text": text})
    return found
