"""A verdict for any map: `judge`."""

from prismap.judging._any_map import judge
from prismap.judging._any_map import judge_and_map as judge_and_map  # for the command line
from prismap.judging._judge import Judgement

__all__ = ["Judgement", "judge"]
