"""Types of arguments; argparse turns what they raise into "argument --x: ..."."""

from __future__ import annotations

import argparse
import math
from typing import Any

from prismap._util.progress import seconds_in


def add_columns(parser: Any) -> None:
    """Which columns of a table are used, shown or left out."""
    parser.add_argument("--id", dest="ids", metavar="COL", help="column that names the rows")
    parser.add_argument("--drop", type=names, default=(), metavar="COLS", help="columns to leave out: a,b,c")
    parser.add_argument(
        "--show", type=names, default=(), metavar="COLS", help="columns to show on the page but not to use for the map"
    )
    parser.add_argument(
        "--use", type=names, default=(), metavar="COLS",
        help="columns to use although they look like ids or free text; dates, times and amounts as categories",
    )  # fmt: skip


def add_units(parser: Any, *, order: bool = True) -> None:
    """Which rows of a table are not independent of each other."""
    parser.add_argument(
        "--groups", metavar="COL",
        help="column of what is independent, such as patient: its rows are learnt and judged together (default: looked "
        "for; none takes rows as independent)",
    )  # fmt: skip
    if order:
        parser.add_argument(
            "--order", metavar="COL",
            help="column of a time or position: learn and judge by stretches of it, with a gap",
        )  # fmt: skip
    parser.add_argument(
        "--copies", choices=("auto", "exact", "none"),
        help="what counts as a copy of another row (default: auto, which takes near copies, too)",
    )  # fmt: skip


def names(text: str) -> tuple[str, ...]:
    """Names divided by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def kinds(text: str) -> str | list[str]:
    """What a target is; of several targets one for all, or one each, divided by commas."""
    parts = text.split(",")
    known = ("auto", "class", "ordered", "real", "none")
    wrong = [kind for kind in parts if kind not in known or (kind == "none" and len(parts) > 1)]
    if wrong:
        raise argparse.ArgumentTypeError(f"auto, class, ordered, real or none is needed; got {wrong[0]!r}")
    return parts if len(parts) > 1 else text


def shape(text: str) -> tuple[int, ...]:
    """Height and width, divided by an x, and where the three colours are: 32x32x3 or 3x32x32."""
    parts = text.lower().split("x")
    sizes = tuple(int(part) for part in parts if part.isdecimal() and int(part) > 0)
    if len(sizes) == len(parts) and (len(sizes) == 2 or (len(sizes) == 3 and 3 in (sizes[0], sizes[2]))):
        return sizes
    raise argparse.ArgumentTypeError(f"height and width like 28x28, with colours 32x32x3, are needed; got {text!r}")


def supervision(text: str) -> float | str:
    """A number from 0 to 1, or how to choose one."""
    if text in ("auto", "max"):
        return text
    return _checked(text, float, lambda number: 0 <= number <= 1, "auto, max or a number from 0 to 1")


def arrangement(text: str) -> float | str:
    """A number from 0 to 1, or auto."""
    if text == "auto":
        return text
    return _checked(text, float, lambda number: 0 <= number <= 1, "auto or a number from 0 to 1")


def from_one(text: str) -> float:
    """A number that is not below 1."""
    return _checked(text, float, lambda number: 1 <= number < math.inf, "a number from 1")


def count(text: str) -> int:
    """A whole number that is not below 1."""
    return int(_checked(text, int, lambda number: number >= 1, "a whole number from 1"))


def rows(text: str) -> int:
    """A number of rows that can make a map."""
    return int(_checked(text, int, lambda number: number >= 2, "a whole number from 2"))


def rows_or_time(text: str) -> int | str:
    """A number of rows that can make a map, or a time."""
    if seconds_in(text) is not None:
        return text
    return int(_checked(text, int, lambda number: number >= 2, "a whole number from 2 or a time such as '10 min'"))


def seed(text: str) -> int:
    """A random seed."""
    return int(_checked(text, int, lambda number: 0 <= number < 2**31, "a whole number from 0 to 2147483647"))


def budget(text: str) -> str | float:
    """What may be spent on judging: full, quick, or seconds."""
    if text in ("full", "quick"):
        return text
    return _checked(text, float, lambda number: 0 < number < float("inf"), "full, quick or a number of seconds above 0")


def port(text: str) -> int:
    """A port of this machine; 0 for a free one."""
    return int(_checked(text, int, lambda number: 0 <= number < 2**16, "a whole number from 0 to 65535"))


def _checked(text: str, kind: type[int] | type[float], good: Any, wanted: str) -> float:
    try:
        number = kind(text)
        if good(number):
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{wanted} is needed; got {text!r}")
