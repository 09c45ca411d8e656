"""Distances: the Fisher metric, fifteen dissimilarities and their mixtures, named and ready-made metrics."""

from prismap.metrics._base import Metric, NamedMetric, PrecomputedMetric, fit_metric
from prismap.metrics._callables import pairwise_similarity, similarity_to
from prismap.metrics._dissimilarities import DISSIMILARITIES, dissimilarity, register_dissimilarity
from prismap.metrics._fisher import FisherMetric
from prismap.metrics._geometry import CosineMetric, DissimilarityMetric, SimilarityMetric, VectorMetric
from prismap.metrics._mixture import AlternatingDescent, MixtureMetric
from prismap.metrics._mixture_costs import MixtureCost
from prismap.metrics._object_mixture import (
    ClassMixture,
    ComparisonWeights,
    comparison_weights,
    comparison_weights_for_classes,
    mixture_for_classes,
)
from prismap.metrics._objects import ObjectDissimilarity, ObjectSimilarity
from prismap.metrics._repair import repair_similarity
from prismap.metrics.posteriors import (
    GaussianProcess,
    LeastSquaresMachine,
    Parzen,
    PredictedLabels,
    RowProcess,
    SeveralTargets,
    Trees,
)

__all__ = [
    "DISSIMILARITIES",
    "AlternatingDescent",
    "ClassMixture",
    "ComparisonWeights",
    "CosineMetric",
    "DissimilarityMetric",
    "FisherMetric",
    "GaussianProcess",
    "LeastSquaresMachine",
    "Metric",
    "MixtureCost",
    "MixtureMetric",
    "NamedMetric",
    "ObjectDissimilarity",
    "ObjectSimilarity",
    "Parzen",
    "PrecomputedMetric",
    "PredictedLabels",
    "RowProcess",
    "SeveralTargets",
    "SimilarityMetric",
    "Trees",
    "VectorMetric",
    "comparison_weights",
    "comparison_weights_for_classes",
    "dissimilarity",
    "fit_metric",
    "mixture_for_classes",
    "pairwise_similarity",
    "register_dissimilarity",
    "repair_similarity",
    "similarity_to",
]  # fmt: skip
