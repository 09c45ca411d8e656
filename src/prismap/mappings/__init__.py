"""Explicit maps: from rows to positions, and back."""

from prismap.mappings._base import Mapping
from prismap.mappings._costs import MapCost
from prismap.mappings._inverse import InverseMap
from prismap.mappings._kernel_map import KernelMap
from prismap.mappings._onnx_export import to_onnx
from prismap.mappings._parametric import ParametricMap
from prismap.mappings._placement import DirectPlacement
from prismap.mappings._vote_map import VoteMap

__all__ = [
    "DirectPlacement", "InverseMap", "KernelMap", "MapCost", "Mapping", "ParametricMap", "VoteMap", "to_onnx",
]  # fmt: skip
