"""When a difference counts: one threshold, and the paired difference that it is held against."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A difference counts from so many standard errors on, here and in every sentence of a verdict.
SIGNIFICANT = 3.0


def paired_gap(a: NDArray[np.float64], b: Any) -> tuple[float, float]:
    """Mean of a - b over rows, and its standard error."""
    gap = a - b
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else np.inf
