"""Maps of files of any size: one pure function for one file, and a pool or a Dask cluster around it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

_HOME = {"map_file": "_files", "map_files": "_run", "map_frame": "_frames"}

__all__ = ["map_file", "map_files", "map_frame"]


if TYPE_CHECKING:
    from prismap.scale._files import map_file
    from prismap.scale._frames import map_frame
    from prismap.scale._run import map_files
else:  # a type checker that saw this would take every name for one of ours

    def __getattr__(name: str) -> Any:
        """Import a name when it is asked for: the command line's --help needs none of them."""
        if name in _HOME:
            return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
