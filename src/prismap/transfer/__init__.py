"""Embeddings shared by two spaces."""

from prismap.transfer._matching import Matching
from prismap.transfer._shared import SharedEmbedding

__all__ = ["Matching", "SharedEmbedding"]
