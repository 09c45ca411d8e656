"""Distances: the Fisher metric, named and ready-made metrics, and what they are built of."""

from prismap.metrics.base import NamedMetric, PrecomputedMetric, fit_metric

__all__ = ["NamedMetric", "PrecomputedMetric", "fit_metric"]
