"""The main job in one object: fit, place new rows, judge, draw, save."""

from prismap.map.fitted import FittedMap
from prismap.map.prismap import PrisMap

__all__ = ["FittedMap", "PrisMap"]
