"""Nearest neighbours over any metric."""

from prismap._util.search import Neighbors as Neighbors  # for other rooms
from prismap.neighbors._search import kneighbors

__all__ = ["kneighbors"]
