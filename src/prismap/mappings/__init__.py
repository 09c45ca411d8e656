"""Explicit maps: from rows to positions, and back."""

from prismap.mappings.inverse import InverseMap
from prismap.mappings.kernel_map import KernelMap
from prismap.mappings.placement import DirectPlacement

__all__ = ["DirectPlacement", "InverseMap", "KernelMap"]
