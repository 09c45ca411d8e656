"""Which features matter: relevance of a map, and valid bounds for linear models."""

from prismap.relevance.bounds import RelevanceBounds
from prismap.relevance.features import FeatureRelevance, relevance_by_group, relevance_curve
from prismap.relevance.panel import relevance_panel

__all__ = ["FeatureRelevance", "RelevanceBounds", "relevance_by_group", "relevance_curve", "relevance_panel"]
