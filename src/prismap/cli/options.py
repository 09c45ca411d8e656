"""Types of arguments; argparse turns what they raise into "argument --x: ..."."""

from __future__ import annotations

import argparse
import math
from typing import Any


def refuse_old(parser: argparse.ArgumentParser, names: dict[str, str]) -> None:
    """Options by their former names, refused with the present one and left out of the help."""

    class Refuse(argparse.Action):
        def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
            parser.error(f"{option_string} is called {names[option_string or '']} now")

    for old in names:
        parser.add_argument(old, action=Refuse, nargs="?", default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def names(text: str) -> tuple[str, ...]:
    """Names divided by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def shape(text: str) -> tuple[int, int]:
    """Height and width, divided by an x."""
    height, _, width = text.lower().partition("x")
    if height.isdecimal() and width.isdecimal() and int(height) > 0 and int(width) > 0:
        return int(height), int(width)
    raise argparse.ArgumentTypeError(f"height and width like 28x28 are needed; got {text!r}")


def supervision(text: str) -> float | str:
    """A number from 0 to 1, or how to choose one."""
    if text in ("auto", "max"):
        return text
    return _checked(text, float, lambda number: 0 <= number <= 1, "auto, max or a number from 0 to 1")


def from_one(text: str) -> float:
    """A number that is not below 1."""
    return _checked(text, float, lambda number: 1 <= number < math.inf, "a number from 1")


def count(text: str) -> int:
    """A whole number that is not below 1."""
    return int(_checked(text, int, lambda number: number >= 1, "a whole number from 1"))


def rows(text: str) -> int:
    """A number of rows that can make a map."""
    return int(_checked(text, int, lambda number: number >= 2, "a whole number from 2"))


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
