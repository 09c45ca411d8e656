"""Distances: the Fisher metric, named and ready-made metrics, and what they are built of."""

from prismap.metrics.base import NamedMetric, PrecomputedMetric, fit_metric
from prismap.metrics.fisher import FisherMetric
from prismap.metrics.geometry import repair_similarity

__all__ = ["FisherMetric", "NamedMetric", "PrecomputedMetric", "fit_metric", "repair_similarity"]
