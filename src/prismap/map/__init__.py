"""The main job in one object: fit, place new rows, judge, draw, save."""

from prismap.map._fitted import FittedMap
from prismap.map._prismap import PrisMap

__all__ = ["FittedMap", "PrisMap"]
