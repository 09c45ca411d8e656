"""Positions in the plane from distances: one estimator a file."""

from prismap.embeddings.tsne import TSNE

__all__ = ["TSNE"]
