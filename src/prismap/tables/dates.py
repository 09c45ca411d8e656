"""Dates written as text, as days since 1970: recognised by all levels of a column, repeated on later files."""

from __future__ import annotations

import datetime as dt

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.tables.column import TextColumn

#: How dates may be written. With slashes, day and month are told apart by a day above 12.
FORMATS = ("iso", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
_EPOCH = dt.datetime(1970, 1, 1)


def date_format(column: TextColumn) -> str | None:
    """How the dates of a column are written; None if a level is no date, or if day and month could be exchanged.

    >>> date_format(TextColumn(np.array([0]), ("31.12.2020",))), date_format(TextColumn(np.array([0]), ("1/2/2020",)))
    ('%d.%m.%Y', None)
    """
    if not column.levels:
        return None
    fitting = [written for written in FORMATS if all(_days(level, written) is not None for level in column.levels)]
    return fitting[0] if len(fitting) == 1 else None


def days_of(column: TextColumn, written: str, name: str) -> NDArray[np.float64]:
    """The dates of a column as days since 1970, NaN where missing."""
    days = [_days(level, written) for level in column.levels]
    if None in days:
        wrong = column.levels[days.index(None)]
        example = dt.date(2020, 1, 31).strftime("%Y-%m-%d" if written == "iso" else written)
        raise InputError(f"column {name!r} held dates such as {example} when the map was fitted; {wrong!r} is none.")
    return np.array([*days, np.nan], dtype=np.float64)[column.codes]


def _days(token: str, written: str) -> float | None:
    try:
        if written != "iso":
            moment = dt.datetime.strptime(token, written)
        elif "-" not in token[1:]:  # 20200131 is a number
            return None
        else:
            moment = dt.datetime.fromisoformat(token)
    except ValueError:
        return None
    if moment.tzinfo is not None:
        moment = moment.astimezone(dt.UTC).replace(tzinfo=None)
    return (moment - _EPOCH) / dt.timedelta(days=1)
