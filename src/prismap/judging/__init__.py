"""A verdict for any map: `judge`."""

from prismap.judging.any_map import judge, judge_and_map

__all__ = ["judge", "judge_and_map"]
