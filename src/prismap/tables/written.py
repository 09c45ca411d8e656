"""Text columns that are numbers: dates and amounts, by the way they are written, which later files repeat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prismap.tables import dates
from prismap.tables.amounts import amount_format, amounts_of, is_amount_format
from prismap.tables.column import TextColumn


def way_of_writing(column: TextColumn) -> str | None:
    """How the dates or amounts of a column are written; None if it holds text."""
    return dates.date_format(column) or amount_format(column)


def numbers_of(column: TextColumn, written: str, name: str) -> NDArray[np.float64]:
    """The numbers of a column, NaN where missing; a level that is written otherwise is refused."""
    return (dates.days_of if is_date(written) else amounts_of)(column, written, name)


def is_date(written: str) -> bool:
    """Whether a way of writing is one of dates."""
    return written in dates.FORMATS


def is_known(written: str) -> bool:
    """Whether a way of writing is one that files may name."""
    return is_date(written) or is_amount_format(written)
