"""Matrices of pairs that are not quite symmetric."""

from __future__ import annotations

import warnings

import numpy as np

from prismap.exceptions import PrismapWarning

#: Differences up to this share of the largest entry are rounding.
ROUNDING = 1e-6


def symmetrized(S, kind, *, stacklevel=2):
    """``(S + S^T) / 2``, with a warning that says how far S was from it; S itself if it is symmetric up to rounding.

    A matrix of which only one triangle is filled is left to the checks, which refuse it: half of it would be lost.
    """
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        return S
    gap, scale = np.abs(S - S.T), float(np.abs(S).max(initial=0.0))
    if gap.max(initial=0.0) <= ROUNDING * scale or not np.triu(S, 1).any() or not np.tril(S, -1).any():
        return S
    mean = (S + S.T) / 2
    share = float(gap.sum() / max(np.abs(mean).sum(), np.finfo(np.float64).tiny))
    warnings.warn(
        f"the {kind} matrix is not symmetric: entries and their mirror images differ by {100 * share:.2g} % on average "
        f"and {float(gap.max()):.3g} at most. Their mean is used.",
        PrismapWarning,
        stacklevel=stacklevel + 1,
    )
    return mean
