"""Pictures of maps and of models: arrays in, matplotlib when drawn."""

from prismap.inspection._fisher import FisherDisplay
from prismap.inspection._map import MapDisplay
from prismap.inspection._mixture import ComparisonDisplay, MixtureDisplay
from prismap.inspection._model import ModelDisplay
from prismap.inspection._model_view import ModelView
from prismap.inspection._onnx_model import OnnxModel
from prismap.inspection._out_of_sample import OutOfSampleDisplay, QualityDisplay
from prismap.inspection._relevance import RelevanceDisplay
from prismap.inspection._transfer import TransferDisplay

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
