"""Nearest neighbours over any metric."""

from prismap._search import Neighbors
from prismap.neighbors.search import kneighbors

__all__ = ["Neighbors", "kneighbors"]
