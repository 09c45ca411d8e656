"""One column of a table: an array of numbers, or text as codes into its levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: What stands for "no value" in text files, in any case, and what spreadsheets write where a formula fails.
MISSING = frozenset(
    {"", "na", "n/a", "n.a.", "<na>", "nan", "null", "none", "?"}
    | {"#n/a", "#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!"}
)
#: What stands for it beside numbers, dates and amounts, too. Among words it may be a level, as in + and -.
NO_NUMBER = MISSING | {"-", "--", "---", "\u2013", "\u2014", ".", "..", "..."}


@dataclass(frozen=True)
class TextColumn:
    """Text as codes into its sorted levels; -1 marks a missing value."""

    codes: NDArray[np.intp]
    levels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def values(self) -> NDArray[np.object_]:
        """The text itself, None where missing."""
        # The code -1 picks the last entry.
        return np.array([*self.levels, None], dtype=object)[self.codes]


Column = NDArray[Any] | TextColumn


def missing_count(column: Column) -> int:
    """How many values are missing or infinite."""
    if isinstance(column, TextColumn):
        return int((column.codes < 0).sum())
    return int((~np.isfinite(column)).sum()) if column.dtype.kind == "f" else 0


def infinite_count(column: Column) -> int:
    """How many values are infinite."""
    if isinstance(column, TextColumn) or column.dtype.kind != "f":
        return 0
    return int(np.isinf(column).sum())


def is_missing(token: str) -> bool:
    """Whether a token of a text file stands for no value."""
    return token.strip().lower() in MISSING


def is_no_number(token: str) -> bool:
    """Whether a token stands for no value where all others are numbers, dates or amounts.

    >>> is_no_number("-"), is_missing("-")
    (True, False)
    """
    return token.strip().lower() in NO_NUMBER


def text_column(values: Sequence[str | None]) -> TextColumn:
    """Text as codes into sorted levels."""
    levels = sorted({value for value in values if value is not None})
    code = {level: number for number, level in enumerate(levels)}
    return TextColumn(
        np.array([-1 if value is None else code[value] for value in values], dtype=np.intp), tuple(levels)
    )


def concatenated(pieces: Sequence[Column]) -> Column:
    """Pieces of one column, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    texts = [piece for piece in pieces if isinstance(piece, TextColumn)]
    if not texts:
        masked = any(isinstance(piece, np.ma.MaskedArray) for piece in pieces)
        join: Any = np.ma.concatenate if masked else np.concatenate
        numbers: NDArray[Any] = join(pieces)
        return numbers
    levels = sorted(set().union(*(piece.levels for piece in texts)))
    code = {level: number for number, level in enumerate(levels)}
    codes = [np.array([*map(code.__getitem__, piece.levels), -1], dtype=np.intp)[piece.codes] for piece in texts]
    return TextColumn(np.concatenate(codes), tuple(levels))
