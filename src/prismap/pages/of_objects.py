"""What a page shows of objects: each as text, and of which group it is the most typical one."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap.comparisons.content import shown_text
from prismap.map.medoids import medoids_of


def object_columns(model: Any) -> dict[str, np.ndarray]:
    """Columns "object" and "most typical of"; none for rows that are no objects."""
    if model.parts_.data.kind != "objects":
        return {}
    texts = np.array([shown_text(thing) for thing in model.rows_.objects], dtype=object)
    groups: dict[int, list[str]] = {}
    for one in medoids_of(model):
        groups.setdefault(one["row"], []).append(one["of"])
    if not groups:
        return {"object": texts}
    typical = np.array([", ".join(groups[row]) if row in groups else None for row in range(len(texts))], dtype=object)
    return {"object": texts, "most typical of": typical}
