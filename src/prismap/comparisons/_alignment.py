"""Alignment scores of sequences with affine gaps: local (Smith, Waterman 1981) and global (Needleman, Wunsch 1970).

With the score s of two letters and a gap of length l at the price ``o + e (l - 1)`` (Gotoh 1982),

    H_ij = max(H_i-1,j-1 + s(a_i, b_j), E_ij, F_ij),   and 0 for local scores,
    E_ij = max(H_i-1,j - o, E_i-1,j - e),              F_ij = max(H_i,j-1 - o, F_i,j-1 - e).

Biopython computes the scores and brings BLOSUM62 (the extra `things`).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from math import sqrt
from typing import Any, NamedTuple

from prismap._util.optional import import_extra
from prismap.exceptions import InputError

MODES = ("local", "global")
SCORINGS = ("blosum62", "match")
#: The twenty amino acids. Any other letter is unknown, is written X and scores -1 against all.
AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"
_OTHER_LETTER = re.compile(f"[^{AMINO_ACIDS}]")


class Letters(NamedTuple):
    """A sequence in capitals, and its score with itself."""

    text: str
    own: float


def prepare(thing: Any, scoring: str = "blosum62") -> Letters:
    """A sequence of letters, capitals or not."""
    if isinstance(thing, Letters):
        return thing
    if not isinstance(thing, str) or not thing:
        raise TypeError("a string of at least one letter is needed")
    if scoring not in SCORINGS:
        raise InputError(f"scoring must be one of {', '.join(SCORINGS)}; got {scoring!r}.")
    biopython()
    text = thing.upper()
    text.encode()  # half a pair of surrogates is no letter
    if scoring == "match":
        return Letters(text, float(len(text)))
    scores, text = blosum62(), _OTHER_LETTER.sub("X", text)
    own = float(sum(scores[letter, letter] * text.count(letter) for letter in set(text)))
    if own <= 0:
        raise ValueError("it holds no letter of an amino acid; use scoring='match' for other alphabets")
    return Letters(text, own)


def alignment_score(
    a: Any,
    b: Any,
    mode: str = "local",
    scoring: str = "blosum62",
    gap_open: float = 11.0,
    gap_extend: float = 1.0,
    normalized: bool = True,
) -> float:
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
    score: float = aligner(mode, scoring, float(gap_open), float(gap_extend)).score(a.text, b.text)
    return score / sqrt(a.own * b.own) if normalized else score


def biopython() -> Any:
    """Biopython's alignments."""
    return import_extra("Bio.Align", extra="things", feature="Alignment of sequences")


@cache
def blosum62() -> Any:
    """Log odds, in half bits, of one amino acid standing in for another (Henikoff & Henikoff 1992, Figure 2)."""
    scores = biopython().substitution_matrices.load("BLOSUM62").select(AMINO_ACIDS + "X")
    scores[-1, :] = scores[:, -1] = -1.0
    return scores


@lru_cache(maxsize=16)
def aligner(mode: str, scoring: Any, gap_open: float, gap_extend: float) -> Any:
    """What computes scores with these options."""
    pairwise = biopython().PairwiseAligner(mode=mode, open_gap_score=-gap_open, extend_gap_score=-gap_extend)
    if scoring == "match":
        pairwise.match_score, pairwise.mismatch_score = 1.0, -1.0
    else:
        pairwise.substitution_matrix = blosum62()
    return pairwise
