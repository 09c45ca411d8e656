"""Embeddings shared by two spaces."""

from prismap.transfer.matching import Matching
from prismap.transfer.shared import SharedEmbedding

__all__ = ["Matching", "SharedEmbedding"]
