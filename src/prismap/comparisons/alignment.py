"""Alignment scores of sequences with affine gaps: local (Smith, Waterman 1981) and global (Needleman, Wunsch 1970).

With the score s of two letters and a gap of length l at the price ``o + e (l - 1)`` (Gotoh 1982),

    H_ij = max(H_i-1,j-1 + s(a_i, b_j), E_ij, F_ij),   and 0 for local scores,
    E_ij = max(H_i-1,j - o, E_i-1,j - e),              F_ij = max(H_i,j-1 - o, F_i,j-1 - e).

A row of the program is computed at once. A gap opened out of another gap in the same row never pays (o >= e), so that
``F_ij = max_k<j (H'_ik + e k) - o - e (j - 1)``, H' the row without F, which is a running maximum.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from prismap.comparisons.blosum import AMINO_ACIDS, BLOSUM62
from prismap.exceptions import InputError

MODES = ("local", "global")
SCORINGS = ("blosum62", "match")
_CODES = np.full(128, len(AMINO_ACIDS), dtype=np.intp)
_CODES[[ord(letter) for letter in AMINO_ACIDS]] = np.arange(len(AMINO_ACIDS))


class Coded(NamedTuple):
    """A sequence as numbers, and its score with itself."""

    codes: np.ndarray
    own: float


def prepare(thing, scoring="blosum62"):
    """A sequence of letters, capitals or not, as numbers."""
    if isinstance(thing, Coded):
        return thing
    if not isinstance(thing, str) or not thing:
        raise TypeError("a string of at least one letter is needed")
    if scoring not in SCORINGS:
        raise InputError(f"scoring must be one of {', '.join(SCORINGS)}; got {scoring!r}.")
    points = np.frombuffer(thing.upper().encode("utf-32-le"), dtype=np.uint32).astype(np.intp)
    codes = _CODES[np.minimum(points, 127)] if scoring == "blosum62" else points
    own = float(BLOSUM62[codes, codes].sum()) if scoring == "blosum62" else float(len(codes))
    if own <= 0:
        raise ValueError("it holds no letter of an amino acid; use scoring='match' for other alphabets")
    return Coded(codes, own)


def alignment_score(a, b, mode="local", scoring="blosum62", gap_open=11.0, gap_extend=1.0, normalized=True):
    """Score of the best alignment of two sequences.

    Parameters
    ----------
    a, b : strings.
    mode : "local", the best common part; or "global", from end to end.
    scoring : "blosum62" for proteins; or "match", 1 for equal letters and -1 for others, as for DNA.
    gap_open, gap_extend : price of the first and of each further letter of a gap.
    normalized : divide by the square root of the two sequences' scores with themselves, so that equal ones score 1.

    >>> alignment_score("HEAGAWGHEE", "PAWHEAE", normalized=False)
    17.0
    """
    if mode not in MODES:
        raise InputError(f"mode must be 'local' or 'global'; got {mode!r}.")
    if not gap_open >= gap_extend >= 0:
        raise InputError(f"gap_open must be at least gap_extend, and both positive; got {gap_open} and {gap_extend}.")
    a, b = prepare(a, scoring), prepare(b, scoring)
    if scoring == "blosum62":
        scores = BLOSUM62[a.codes][:, b.codes]
    else:
        scores = np.where(a.codes[:, None] == b.codes, 1.0, -1.0)
    score = best_score(scores, mode == "local", gap_open, gap_extend)
    return score / sqrt(a.own * b.own) if normalized else score


def best_score(scores, local, gap_open, gap_extend):
    """The best alignment under a matrix of letter scores, a row at a time."""
    n, m = scores.shape
    ramp = gap_extend * np.arange(m + 1)
    edge = np.zeros(n + 1) if local else -(gap_open - gap_extend) - gap_extend * np.arange(n + 1.0)
    H = np.zeros(m + 1) if local else -(gap_open - gap_extend) - ramp
    H[0] = 0.0
    E = np.full(m + 1, -np.inf)
    row, best = np.empty(m + 1), 0.0
    for i in range(n):
        E = np.maximum(H - gap_open, E - gap_extend)
        row[0] = edge[i + 1]
        np.maximum(H[:-1] + scores[i], E[1:], out=row[1:])
        if local:
            np.maximum(row, 0.0, out=row)
        F = np.maximum.accumulate(row + ramp)[:-1] - gap_open - ramp[:-1]
        np.maximum(row[1:], F, out=row[1:])
        H, row = row, H
        if local:
            best = max(best, float(H.max()))
    return best if local else float(H[-1])
