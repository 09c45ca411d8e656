"""prismap: 2-D maps of high-dimensional data that show what matters for a target and do not invent it.

The public names live in the rooms (`prismap.metrics`, `prismap.embeddings`, ...); the main object, `PrisMap`, is also
here. Everything is imported on first use, so that `import prismap` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from prismap._version import __version__

_LAZY = {
    "PrisMap": "prismap.map", "MapReport": "prismap.quality", "InputError": "prismap.exceptions",
    "judge": "prismap.judging",
}  # fmt: skip
_ROOMS = (
    "bundle", "comparisons", "embeddings", "exceptions", "inspection", "judging", "learners", "mappings",
    "metrics", "neighbors", "page", "published", "quality", "relevance", "scale", "tables", "transfer",
)  # fmt: skip

__all__ = ["InputError", "MapReport", "PrisMap", "__version__", "judge"]


if TYPE_CHECKING:
    from prismap import (  # noqa: F401
        bundle,
        embeddings,
        exceptions,
        inspection,
        judging,
        learners,
        mappings,
        metrics,
        neighbors,
        page,
        quality,
        relevance,
        scale,
        tables,
        transfer,
    )
    from prismap.exceptions import InputError
    from prismap.judging import judge
    from prismap.map import PrisMap
    from prismap.quality import MapReport
else:  # a type checker that saw this would take every name for one of ours

    def __getattr__(name: str) -> Any:
        if name in _LAZY:
            return getattr(importlib.import_module(_LAZY[name]), name)
        if name in _ROOMS:
            return importlib.import_module(f"prismap.{name}")
        raise AttributeError(f"module 'prismap' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ROOMS})
