"""Times of day and durations, "08:30", "1 day, 2:15:20", "8:30 PM", as hours: recognised by all levels of a column."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.tables.column import TextColumn

#: How times may be written, by an example.
WAYS = ("8:30", "8:30:00", "8:30 PM", "8:30:00 PM")
_DAYS, _HALF = r"(?:(-?\d{1,6}) days?,? \+?)?", r"(?:\s*([ap])\.?m\.?)?"
_TIME = re.compile(rf"{_DAYS}(\d{{1,3}}):([0-5]\d)(:[0-5]\d(?:\.\d+)?)?{_HALF}", re.IGNORECASE)


def clock_format(column: TextColumn) -> str | None:
    """How the times of a column are written, by an example; None if a level is no time, or if they are written apart.

    >>> one = np.array([0])
    >>> clock_format(TextColumn(one, ("08:30", "17:05"))), clock_format(TextColumn(one, ("3:1",)))
    ('8:30', None)
    """
    ways = {split_time(level)[0] for level in column.levels}
    return ways.pop() if len(ways) == 1 else None


def hours_of(column: TextColumn, written: str, name: str) -> NDArray[np.float64]:
    """The times of a column as hours since midnight, or as hours that something took; NaN where missing.

    Of minutes and seconds, 3:45, the same numbers are minutes: nothing in the cells tells, and a map does not ask.
    """
    split = [split_time(level) for level in column.levels]
    for level, (way, _) in zip(column.levels, split, strict=True):
        if way != written:
            raise InputError(
                f"column {name!r} held times written like {written} when the map was fitted; {level!r} is none."
            )
    return np.array([*(hours for _, hours in split), np.nan], dtype=np.float64)[column.codes]


def split_time(token: str) -> tuple[str | None, float]:
    """How a time is written, None if it is none, and its hours."""
    found = _TIME.fullmatch(token.strip())
    if found is None:
        return None, np.nan
    days, hours, minutes, seconds, half = found.groups()
    whole = int(hours)
    if half and (days or not 1 <= whole <= 12):
        return None, np.nan
    if half:  # the hour after noon is 12 PM, and that after midnight 12 AM
        whole = whole % 12 + 12 * (half in "pP")
    way = "8:30" + (":00" if seconds else "") + (" PM" if half else "")
    return way, 24 * int(days or 0) + whole + int(minutes) / 60 + float((seconds or ":0")[1:]) / 3600
