"""Nearest neighbours over any metric."""

from prismap._util.search import Neighbors
from prismap.neighbors._search import kneighbors

__all__ = ["Neighbors", "kneighbors"]
