"""Explicit maps: from rows to positions, and back."""

from prismap.mappings.costs import MapCost
from prismap.mappings.inverse import InverseMap
from prismap.mappings.kernel_map import KernelMap
from prismap.mappings.parametric import ParametricMap
from prismap.mappings.placement import DirectPlacement
from prismap.mappings.vote_map import VoteMap

__all__ = ["DirectPlacement", "InverseMap", "KernelMap", "MapCost", "ParametricMap", "VoteMap"]
