"""BLOSUM62: log odds, in half bits, of one amino acid standing in for another (Henikoff & Henikoff 1992, Figure 2)."""

from __future__ import annotations

import numpy as np

#: The twenty amino acids in the order of the table; any other letter is unknown and scores -1 against all.
AMINO_ACIDS = "ARNDCQEGHILKMFPSTWYV"

_LOWER = """
 4
-1  5
-2  0  6
-2 -2  1  6
 0 -3 -3 -3  9
-1  1  0  0 -3  5
-1  0  0  2 -4  2  5
 0 -2  0 -1 -3 -2 -2  6
-2  0  1 -1 -3  0  0 -2  8
-1 -3 -3 -3 -1 -3 -3 -4 -3  4
-1 -2 -3 -4 -1 -2 -3 -4 -3  2  4
-1  2  0 -1 -3  1  1 -2 -1 -3 -2  5
-1 -1 -2 -3 -1  0 -2 -3 -2  1  2 -1  5
-2 -3 -3 -3 -2 -3 -3 -3 -1  0  0 -3  0  6
-1 -2 -2 -1 -3 -1 -1 -2 -2 -3 -3 -1 -2 -4  7
 1 -1  1  0 -1  0  0  0 -1 -2 -2  0 -1 -2 -1  4
 0 -1  0 -1 -1 -1 -1 -2 -2 -1 -1 -1 -1 -2 -1  1  5
-3 -3 -4 -4 -2 -2 -3 -2 -2 -3 -2 -3 -1  1 -4 -3 -2 11
-2 -2 -2 -3 -2 -1 -2 -3  2 -1 -1 -2 -1  3 -3 -2 -2  2  7
 0 -3 -3 -3 -1 -2 -2 -3 -3  3  1 -2  1 -1 -2 -2  0 -3 -1  4
"""


def blosum62():
    """The symmetric table, (21, 21); the last row and column belong to unknown letters."""
    S = np.full((21, 21), -1.0)
    for i, line in enumerate(_LOWER.split("\n")[1:-1]):
        S[i, : i + 1] = S[: i + 1, i] = [float(score) for score in line.split()]
    return S


BLOSUM62 = blosum62()
