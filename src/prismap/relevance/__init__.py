"""Which features matter: relevance of a map, and valid bounds for linear models."""

from prismap.relevance._bounds import RelevanceBounds
from prismap.relevance._columns import column_relevance, fisher_relevance
from prismap.relevance._entropy import conditional_entropy, recursive_independence_test
from prismap.relevance._features import FeatureRelevance, relevance_by_group, relevance_curve
from prismap.relevance._linear_maps import coefficient_paths

__all__ = [
    "FeatureRelevance", "RelevanceBounds", "coefficient_paths", "column_relevance", "conditional_entropy",
    "fisher_relevance", "recursive_independence_test", "relevance_by_group", "relevance_curve",
]  # fmt: skip
