"""Which features matter: relevance of a map, and valid bounds for linear models."""

from prismap.relevance.bounds import RelevanceBounds

__all__ = ["RelevanceBounds"]
