"""Numbers written for people, "€1,234.50", "12 %" or "1.234,5": recognised by all levels of a column."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.tables.column import TextColumn

#: The two ways of writing, by an example: what groups the thousands and what begins the decimals.
POINT, COMMA = "1,234.5", "1.234,5"
#: What groups thousands in both: blanks and apostrophes.
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
#: Units that stand behind a number. Single capitals are left out: 5A and 12K are more often codes.
_UNITS = (
    "°C °F ° kg g mg µg lb lbs oz km m cm mm µm nm mi ft in l L dl ml mL d h min s ms days hours minutes seconds years "
    "months weeks kW MW kWh mV mA Hz kHz MHz GHz Pa hPa kPa bar mbar kJ kcal cal kB KB MB GB TB mmHg bpm rpm ppm ppb "
    "mmol km/h mph m/s m² m³ km² mg/dl mg/dL mmol/l mmol/L g/l g/L"
)
_BEFORE = "|".join(map(re.escape, _CURRENCIES.split()))
_BEHIND = "|".join(map(re.escape, [*_CURRENCIES.split(), *_PERCENT, *_UNITS.split()]))
_AMOUNT = re.compile(rf"([-+\u2212]?)\s*({_BEFORE})?\s*([-+\u2212]?)([\d.][\d.,{_GROUPS}]*)\s*({_BEHIND})?")


class Amount(NamedTuple):
    """One amount as it is written."""

    negative: bool
    digits: str
    unit: tuple[str, str]
    """What stands before and behind the digits."""


def amount_format(column: TextColumn) -> str | None:
    """How the amounts of a column are written, by an example; None if a level is no amount, or if their units differ.

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
    """The amounts of a column as numbers, NaN where missing; the unit may be left away."""
    values = [_value(level, written) for level in column.levels]
    if None in values:
        wrong = column.levels[values.index(None)]
        raise InputError(
            f"column {name!r} held numbers written like {written} when the map was fitted; {wrong!r} is none."
        )
    return np.array([*values, np.nan], dtype=np.float64)[column.codes]


def is_amount_format(written: str) -> bool:
    """Whether a way of writing is one of amounts."""
    return any(split_amount(written.replace(one, "7")) is not None for one in (POINT, COMMA) if one in written)


def split_amount(token: str) -> Amount | None:
    """Sign, unit and digits of a token; None if it is no amount. Brackets are a minus, as accountants have it."""
    token = token.strip()
    bracketed = token.startswith("(") and token.endswith(")")
    found = _AMOUNT.fullmatch(token[1:-1] if bracketed else token)
    if found is None or (found[2] and found[5]) or (found[1] and found[3]):
        return None
    negative = bracketed or (found[1] or found[3]) in ("-", "\u2212")
    return Amount(negative, found[4].strip(), (found[2] or "", found[5] or ""))


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
