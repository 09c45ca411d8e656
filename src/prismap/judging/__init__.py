"""A verdict for any map: `judge`."""

from prismap.judging.any_map import judge, judge_and_map
from prismap.judging.judge import Judgement

__all__ = ["Judgement", "judge", "judge_and_map"]
