"""A verdict for any map: `judge`."""

from prismap.judging.any_map import judge

__all__ = ["judge"]
