"""Text columns that are numbers: dates, times of day and durations, and amounts such as "€1,234.50".

The levels of a column decide together which format it is written in. The format is kept with the map, so that later
files are read alike, and a level in another format is refused.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.tables._column import TextColumn, is_no_number


def way_of_writing(column: TextColumn) -> str | None:
    """The format of a column of dates, times or amounts; None if it holds other text."""
    column = without_dashes(column)
    return date_format(column) or clock_format(column) or amount_format(column)


def numbers_of(column: TextColumn, written: str, name: str) -> NDArray[np.float64]:
    """The numbers of a column in the format `written`, NaN where missing; a level in another format is refused."""
    convert = {"dates": days_of, "times": hours_of, "amounts": amounts_of}[kind_of(written)]
    return convert(without_dashes(column), written, name)


def without_dashes(column: TextColumn) -> TextColumn:
    """The column with missing values where a dash or dots stand for them.

    >>> without_dashes(TextColumn(np.array([1, 0, -1]), ("-", "1,5")))
    TextColumn(codes=array([ 0, -1, -1]), levels=('1,5',))
    """
    known = np.array([not is_no_number(level) for level in column.levels], dtype=bool)
    if known.all():
        return column
    codes = np.append(np.where(known, np.cumsum(known) - 1, -1), -1)
    return TextColumn(codes[column.codes], tuple(np.array(column.levels, dtype=object)[known]))


def is_plain_number(token: str) -> bool:
    """Whether a token is a number without a unit, with a decimal point or a comma.

    >>> [is_plain_number(token) for token in ("1.5", "-0,3", "1 234", "10.0.0.1", "5 kg")]
    [True, True, True, False, False]
    """
    return any(_value(token, style) is not None for style in (POINT, COMMA))


def kind_of(written: str) -> str:
    """What a format is one of: "dates", "times" or "amounts"."""
    return "dates" if written in DATE_FORMATS else "times" if written in CLOCK_FORMATS else "amounts"


def is_known(written: str) -> bool:
    """Whether a format is one that files may name."""
    return kind_of(written) != "amounts" or is_amount_format(written)


# Dates, as days since 1970

#: Formats of dates. With slashes, a day above 12 shows which number is the month.
DATE_FORMATS = ("iso", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y")
_EPOCH = dt.datetime(1970, 1, 1)


def date_format(column: TextColumn) -> str | None:
    """The format of the dates of a column; None if a level is no date, or if day and month could be exchanged.

    >>> date_format(TextColumn(np.array([0]), ("31.12.2020",))), date_format(TextColumn(np.array([0]), ("1/2/2020",)))
    ('%d.%m.%Y', None)
    """
    if not column.levels:
        return None
    fitting = [written for written in DATE_FORMATS if all(_days(level, written) is not None for level in column.levels)]
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


# Times of day and durations, "08:30", "1 day, 2:15:20", "8:30 PM", as hours

#: Formats of times, each by an example.
CLOCK_FORMATS = ("8:30", "8:30:00", "8:30 PM", "8:30:00 PM")
_DAY_PART, _HALF_OF_DAY = r"(?:(-?\d{1,6}) days?,? \+?)?", r"(?:\s*([ap])\.?m\.?)?"
_TIME = re.compile(rf"{_DAY_PART}(\d{{1,3}}):([0-5]\d)(:[0-5]\d(?:\.\d+)?)?{_HALF_OF_DAY}", re.IGNORECASE)


def clock_format(column: TextColumn) -> str | None:
    """The format of the times of a column, by an example; None if a level is no time, or if their formats differ.

    >>> one = np.array([0])
    >>> clock_format(TextColumn(one, ("08:30", "17:05"))), clock_format(TextColumn(one, ("3:1",)))
    ('8:30', None)
    """
    formats = {split_time(level)[0] for level in column.levels}
    return formats.pop() if len(formats) == 1 else None


def hours_of(column: TextColumn, written: str, name: str) -> NDArray[np.float64]:
    """The times of a column as hours since midnight, or as durations in hours; NaN where missing.

    Nothing in a column shows whether 3:45 means hours and minutes or minutes and seconds. The number is 3.75 in both
    cases, so that a map is the same.
    """
    split = [split_time(level) for level in column.levels]
    for level, (way, _) in zip(column.levels, split, strict=True):
        if way != written:
            raise InputError(
                f"column {name!r} held times written like {written} when the map was fitted; {level!r} is none."
            )
    return np.array([*(hours for _, hours in split), np.nan], dtype=np.float64)[column.codes]


def split_time(token: str) -> tuple[str | None, float]:
    """The format of a time and its hours; None and NaN for a token that is no time."""
    match = _TIME.fullmatch(token.strip())
    if match is None:
        return None, np.nan
    days, hours, minutes, seconds, half = match.groups()
    whole = int(hours)
    if half and (days or not 1 <= whole <= 12):
        return None, np.nan
    if half:  # the hour after noon is 12 PM, and that after midnight 12 AM
        whole = whole % 12 + 12 * (half in "pP")
    way = "8:30" + (":00" if seconds else "") + (" PM" if half else "")
    return way, 24 * int(days or 0) + whole + int(minutes) / 60 + float((seconds or ":0")[1:]) / 3600


# Amounts, "€1,234.50", "12 %" or "1.234,5"

#: The two formats of digits, by an example: the mark that groups thousands and the mark before the decimals.
POINT, COMMA = "1,234.5", "1.234,5"
#: Marks that group thousands in both: blanks and apostrophes.
_GROUPS = "' \u2019\u00a0\u202f"
_DIGITS = {
    POINT: re.compile(rf"([1-9]\d{{0,2}}([,{_GROUPS}]\d{{3}})+|\d+)(\.\d+)?|\.\d+"),
    COMMA: re.compile(rf"([1-9]\d{{0,2}}([.{_GROUPS}]\d{{3}})+|\d+)(,\d+)?"),
}
_CURRENCIES = (
    "EUR USD GBP CHF JPY CNY INR KRW CAD AUD NZD HKD SGD SEK NOK DKK PLN CZK HUF RON TRY UAH RUB ILS ZAR BRL MXN "
    "US$ A$ C$ R$ kr zł Kč Ft Rs $ € £ ¥ ₹ ₽ ₩ ₺ ₫ ₴ ₪ ₦ ฿"
)
_PERCENT = ("%", "‰")
#: Units behind a number. Single capitals are left out: 5A and 12K are more often codes.
_UNITS = (
    "°C °F ° kg g mg µg lb lbs oz km m cm mm µm nm mi ft in l L dl ml mL d h min s ms days hours minutes seconds years "
    "months weeks kW MW kWh mV mA Hz kHz MHz GHz Pa hPa kPa bar mbar kJ kcal cal kB KB MB GB TB mmHg bpm rpm ppm ppb "
    "mmol km/h mph m/s m² m³ km² mg/dl mg/dL mmol/l mmol/L g/l g/L"
)
_BEFORE = "|".join(map(re.escape, _CURRENCIES.split()))
_BEHIND = "|".join(map(re.escape, [*_CURRENCIES.split(), *_PERCENT, *_UNITS.split()]))
_AMOUNT = re.compile(rf"([-+\u2212]?)\s*({_BEFORE})?\s*([-+\u2212]?)([\d.][\d.,{_GROUPS}]*)\s*({_BEHIND})?")


class Amount(NamedTuple):
    """The parts of an amount."""

    negative: bool
    digits: str
    unit: tuple[str, str]
    """The text before and behind the digits."""


def amount_format(column: TextColumn) -> str | None:
    """The format of the amounts of a column, by an example; None if a level is no amount, or if their units differ.

    "€1.234" beside "€950" can be read in two ways. The one that groups thousands is taken; for percents, which are
    seldom so large, the other. Plain numbers are no amounts: they were declared to be text.

    >>> levels = ("€1,234.50", "€7")
    >>> amount_format(TextColumn(np.array([0, 1]), levels)), amount_format(TextColumn(np.array([0]), ("A7",)))
    ('€1,234.5', None)
    """
    amounts: list[Amount] = []
    for level in column.levels:
        amount = split_amount(level)
        if amount is None or (amounts and amount.unit != amounts[0].unit):
            return None
        amounts.append(amount)
    if not amounts:
        return None
    unit = amounts[0].unit
    if not any(unit) and all(map(_is_plain, column.levels)):
        return None
    n_grouped = {
        written: sum(written[1] in amount.digits for amount in amounts)
        for written, digits in _DIGITS.items()
        if all(digits.fullmatch(amount.digits) for amount in amounts)
    }
    choose = min if unit[1] in _PERCENT else max
    return choose(n_grouped, key=n_grouped.__getitem__).join(unit) if n_grouped else None


def amounts_of(column: TextColumn, written: str, name: str) -> NDArray[np.float64]:
    """The amounts of a column as numbers, NaN where missing; the unit may be left out."""
    values = [_value(level, written) for level in column.levels]
    if None in values:
        wrong = column.levels[values.index(None)]
        raise InputError(
            f"column {name!r} held numbers written like {written} when the map was fitted; {wrong!r} is none."
        )
    return np.array([*values, np.nan], dtype=np.float64)[column.codes]


def is_amount_format(written: str) -> bool:
    """Whether a format is one of amounts."""
    return any(split_amount(written.replace(one, "7")) is not None for one in (POINT, COMMA) if one in written)


def split_amount(token: str) -> Amount | None:
    """Sign, unit and digits of a token; None if it is no amount. Brackets are a minus, as in accounts."""
    token = token.strip()
    bracketed = token.startswith("(") and token.endswith(")")
    match = _AMOUNT.fullmatch(token[1:-1] if bracketed else token)
    if match is None or (match[2] and match[5]) or (match[1] and match[3]):
        return None
    negative = bracketed or (match[1] or match[3]) in ("-", "\u2212")
    return Amount(negative, match[4].strip(), (match[2] or "", match[5] or ""))


def _is_plain(token: str) -> bool:
    return token.strip().lstrip("-+\u2212").replace(".", "", 1).isdecimal()


def _value(token: str, written: str) -> float | None:
    amount, style = split_amount(token), POINT if POINT in written else COMMA
    if amount is None or not _DIGITS[style].fullmatch(amount.digits):
        return None
    if any(amount.unit) and written != style.join(amount.unit):
        return None
    decimal = "." if style == POINT else ","
    number = float("".join("." if one == decimal else one for one in amount.digits if one.isdigit() or one == decimal))
    return -number if amount.negative else number
