"""Pictures of maps and of models: arrays in, matplotlib when drawn."""

from prismap.inspection.comparison import ComparisonDisplay
from prismap.inspection.fisher import FisherDisplay
from prismap.inspection.map import MapDisplay
from prismap.inspection.mixture import MixtureDisplay
from prismap.inspection.model import ModelDisplay
from prismap.inspection.model_view import ModelView
from prismap.inspection.onnx_model import OnnxModel
from prismap.inspection.out_of_sample import OutOfSampleDisplay
from prismap.inspection.quality import QualityDisplay
from prismap.inspection.relevance import RelevanceDisplay
from prismap.inspection.transfer import TransferDisplay

__all__ = [
    "ComparisonDisplay",
    "FisherDisplay",
    "MapDisplay",
    "MixtureDisplay",
    "ModelDisplay",
    "ModelView",
    "OnnxModel",
    "OutOfSampleDisplay",
    "QualityDisplay",
    "RelevanceDisplay",
    "TransferDisplay",
]
