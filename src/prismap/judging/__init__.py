"""A verdict for any map: `judge`."""

from prismap.judging._any_map import judge, judge_and_map
from prismap.judging._judge import Judgement

__all__ = ["Judgement", "judge", "judge_and_map"]
