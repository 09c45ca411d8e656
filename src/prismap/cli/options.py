"""Types of arguments; argparse turns what they raise into "argument --x: ..."."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from typing import Any

from prismap._util.progress import seconds_in
from prismap.exceptions import InputError
from prismap.tables._table import nearest


def add_place(parser: Any) -> None:
    """Where in a file the table is."""
    parser.add_argument(
        "--sheet",
        metavar="NAME",
        help="sheet of an xlsx file, by name or number (default: that with most columns named)",
    )
    parser.add_argument(
        "--skip-rows", type=lines, metavar="N",
        help="rows above the names of the columns in xlsx, csv and other text files (default: titles are found)",
    )  # fmt: skip


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
    wrong = [kind for kind in parts if kind not in known]
    if wrong:
        raise argparse.ArgumentTypeError(not_known(wrong[0], known))
    if "none" in parts and len(parts) > 1:
        raise argparse.ArgumentTypeError("none leaves out all targets; got it among several kinds")
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
    refuse_misspelt(text, ("auto", "max"))
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


def lines(text: str) -> int:
    """A number of rows that may be none."""
    return int(_checked(text, int, lambda number: number >= 0, "a whole number from 0"))


def seed(text: str) -> int:
    """A random seed."""
    return int(_checked(text, int, lambda number: 0 <= number < 2**31, "a whole number from 0 to 2147483647"))


def budget(text: str) -> str | float:
    """What may be spent on judging: full, quick, seconds, or a time."""
    if text in ("full", "quick"):
        return text
    refuse_misspelt(text, ("full", "quick"))
    wanted = "full, quick, a number of seconds above 0 or a time such as '5 min'"
    return seconds_in(text) or _checked(text, float, lambda number: 0 < number < float("inf"), wanted)


def port(text: str) -> int:
    """A port of this machine; 0 for a free one."""
    return int(_checked(text, int, lambda number: 0 <= number < 2**16, "a whole number from 0 to 65535"))


def not_known(text: str, known: Iterable[str], *, suggest: bool = True) -> str:
    """That a word is none of those that are known, with what may be meant.

    >>> not_known("fischer", ("fisher", "cosine"))
    "'fischer' is not known; did you mean fisher? There are fisher and cosine"
    """
    *names, last = known
    near = nearest(text, [*names, last])[:1] if suggest else []
    hint = f"did you mean {near[0]}? T" if near else "t"
    listed = f"{', '.join(names)} and {last}" if names else f"only {last}"
    return f"{text!r} is not known; {hint}here {'are' if names else 'is'} {listed}"


def refuse_unknown(option: str, text: str, known: Iterable[str], hint: str = "") -> None:
    """Refuse a word that an option does not know; `hint` says where it is known."""
    known = list(known)
    if text not in known:
        raise InputError(f"{option} {not_known(text, known, suggest=not hint)}.{hint}")


def refuse_misspelt(text: str, known: Sequence[str]) -> None:
    """Refuse a word that is written almost like one of these."""
    if text.isalpha() and nearest(text, known):
        raise argparse.ArgumentTypeError(not_known(text, known))


def _checked(text: str, kind: type[int] | type[float], good: Any, wanted: str) -> float:
    try:
        number = kind(text)
        if good(number):
            return number
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{wanted} is needed; got {text!r}")
