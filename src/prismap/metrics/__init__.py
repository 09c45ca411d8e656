"""Distances: the Fisher metric, fifteen dissimilarities and their mixtures, and metrics of your own."""

# Names that are imported here and are not in __all__ are for other rooms and for files, which may name them. Users have
# words for them: data="cosine", metric="precomputed".
from prismap.metrics._base import Metric, NamedMetric, PrecomputedMetric, fit_metric  # noqa: F401
from prismap.metrics._callables import pairwise_similarity, similarity_to
from prismap.metrics._dissimilarities import DISSIMILARITIES, dissimilarity, register_dissimilarity
from prismap.metrics._fisher import FisherMetric
from prismap.metrics._geometry import CosineMetric, DissimilarityMetric, SimilarityMetric, VectorMetric  # noqa: F401
from prismap.metrics._mixture import AlternatingDescent, MixtureMetric
from prismap.metrics._mixture_costs import MixtureCost
from prismap.metrics._object_mixture import (
    ClassMixture,
    ComparisonWeights,
    comparison_weights,
    comparison_weights_for_classes,
)
from prismap.metrics._objects import ObjectDissimilarity, ObjectSimilarity  # noqa: F401
from prismap.metrics._repair import repair_similarity
from prismap.metrics.posteriors import (
    FunctionModel,
    GaussianProcess,
    LeastSquaresMachine,
    Parzen,
    PredictedLabels,
    RowProcess,
    SeveralTargets,
    Trees,
)

__all__ = [
    "DISSIMILARITIES", "AlternatingDescent", "ClassMixture", "ComparisonWeights", "FisherMetric", "FunctionModel",
    "GaussianProcess", "LeastSquaresMachine", "Metric", "MixtureCost", "MixtureMetric", "ObjectSimilarity", "Parzen",
    "PredictedLabels", "RowProcess", "SeveralTargets", "SimilarityMetric", "Trees", "comparison_weights",
    "comparison_weights_for_classes", "dissimilarity", "pairwise_similarity", "register_dissimilarity",
    "repair_similarity", "similarity_to",
]  # fmt: skip
