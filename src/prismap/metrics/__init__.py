"""Distances: the Fisher metric, fifteen dissimilarities and their mixtures, named and ready-made metrics."""

from prismap.metrics.base import Metric, NamedMetric, PrecomputedMetric, fit_metric
from prismap.metrics.callables import pairwise_similarity, similarity_to
from prismap.metrics.dissimilarities import DISSIMILARITIES, dissimilarity, register_dissimilarity
from prismap.metrics.fisher import FisherMetric
from prismap.metrics.geometry import DissimilarityMetric, SimilarityMetric, VectorMetric, repair_similarity
from prismap.metrics.mixture import MixtureMetric
from prismap.metrics.posteriors import GaussianProcess, LeastSquaresMachine, Parzen, PredictedLabels

__all__ = [
    "DISSIMILARITIES",
    "DissimilarityMetric",
    "FisherMetric",
    "GaussianProcess",
    "LeastSquaresMachine",
    "Metric",
    "MixtureMetric",
    "NamedMetric",
    "Parzen",
    "PrecomputedMetric",
    "PredictedLabels",
    "SimilarityMetric",
    "VectorMetric",
    "dissimilarity",
    "fit_metric",
    "pairwise_similarity",
    "register_dissimilarity",
    "repair_similarity",
    "similarity_to",
]  # fmt: skip
