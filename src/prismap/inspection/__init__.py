"""Pictures of maps: arrays in, matplotlib when drawn."""

from prismap.inspection.map import MapDisplay
from prismap.inspection.mixture import MixtureDisplay
from prismap.inspection.quality import QualityDisplay
from prismap.inspection.relevance import RelevanceDisplay

__all__ = ["MapDisplay", "MixtureDisplay", "QualityDisplay", "RelevanceDisplay"]
