"""Explicit maps: from rows to positions, and back."""

from prismap.mappings.kernel_map import KernelMap

__all__ = ["KernelMap"]
