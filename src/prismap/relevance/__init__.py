"""Which features matter: relevance of a map, and valid bounds for linear models."""

from prismap.relevance.bounds import RelevanceBounds
from prismap.relevance.columns import column_relevance
from prismap.relevance.entropy import conditional_entropy, recursive_independence_test
from prismap.relevance.features import FeatureRelevance, relevance_by_group, relevance_curve
from prismap.relevance.fisher import fisher_relevance
from prismap.relevance.paths import coefficient_paths

__all__ = [
    "FeatureRelevance", "RelevanceBounds", "coefficient_paths", "column_relevance", "conditional_entropy",
    "fisher_relevance", "recursive_independence_test", "relevance_by_group", "relevance_curve",
]  # fmt: skip
