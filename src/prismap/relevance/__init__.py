"""Which features matter: relevance of a map, and valid bounds for linear models."""

from prismap.relevance.bounds import RelevanceBounds
from prismap.relevance.columns import column_relevance
from prismap.relevance.features import FeatureRelevance, relevance_by_group, relevance_curve
from prismap.relevance.fisher import fisher_relevance
from prismap.relevance.panel import relevance_panel

__all__ = [
    "FeatureRelevance", "RelevanceBounds", "column_relevance", "fisher_relevance", "relevance_by_group",
    "relevance_curve", "relevance_panel",
]  # fmt: skip
