"""Text columns that are numbers: dates, times and amounts, by the way they are written, which later files repeat."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prismap.tables import clock, dates
from prismap.tables.amounts import amount_format, amounts_of, is_amount_format
from prismap.tables.column import TextColumn


def way_of_writing(column: TextColumn) -> str | None:
    """How the dates, times or amounts of a column are written; None if it holds text."""
    return dates.date_format(column) or clock.clock_format(column) or amount_format(column)


def numbers_of(column: TextColumn, written: str, name: str) -> NDArray[np.float64]:
    """The numbers of a column, NaN where missing; a level that is written otherwise is refused."""
    read = {"dates": dates.days_of, "times": clock.hours_of, "amounts": amounts_of}[kind_of(written)]
    return read(column, written, name)


def kind_of(written: str) -> str:
    """What is written in a way: "dates", "times" or "amounts"."""
    return "dates" if written in dates.FORMATS else "times" if written in clock.WAYS else "amounts"


def is_known(written: str) -> bool:
    """Whether a way of writing is one that files may name."""
    return kind_of(written) != "amounts" or is_amount_format(written)
