"""Nearest neighbours over any metric."""

from prismap.neighbors.exact import kneighbors

__all__ = ["kneighbors"]
