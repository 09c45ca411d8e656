"""Nearest neighbours over any metric."""

from prismap.metrics.found import Neighbors
from prismap.neighbors.search import kneighbors

__all__ = ["Neighbors", "kneighbors"]
