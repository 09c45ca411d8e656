"""What the command line says, and where: results on stdout, everything else on stderr."""

from __future__ import annotations

import ast
import json
import math
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TextIO

import numpy as np

_TERMINAL_SECONDS = 0.1
_LOG_SECONDS = 10.0
#: Arguments of the library that are options of the same name here.
_ARGUMENTS = (
    "copies", "data", "drop", "fit_rows", "groups", "id", "impute", "mapping", "method", "metric", "normalize", "order",
    "perplexity", "sheet", "show", "skip_rows", "standardize", "supervision", "target", "target_kind", "use",
)  # fmt: skip
#: Control characters but tab and newline, marks that turn the direction of writing, and halves of characters.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\.\.\.|\w+(?:\.\d+)?(?![\w(])"
_ARGUMENT = re.compile(rf"\b({'|'.join(_ARGUMENTS)})=({_VALUE})")


class Console:
    """Stages, progress and notes on `stream`: one line that is redrawn on a terminal, log lines otherwise."""

    def __init__(self, *, quiet: bool = False, as_json: bool = False, stream: TextIO | None = None):
        self.quiet = quiet
        self.as_json = as_json
        self.notes: list[str] = []
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._drawn = False
        self._last = -math.inf

    @contextmanager
    def stage(self, what: str) -> Iterator[None]:
        """Say what is being done, and how long it took once it is."""
        start = time.perf_counter()
        if self._terminal:
            self._draw(f"{what} ...")
        self._last = time.perf_counter()
        try:
            yield
        finally:
            self.clear()
        self.say(f"{what}: {time.perf_counter() - start:.1f} s")

    def doing(self, what: str, share: float = 0.0) -> None:
        """What is going on within a stage, `share` of it done: drawn ten times a second at most, logged every 10 s."""
        now = time.perf_counter()
        if now - self._last < (_TERMINAL_SECONDS if self._terminal else _LOG_SECONDS):
            return
        self._last = now
        if self._terminal:
            self._draw(what)
        else:
            self.say(f"  {what}")

    def note(self, text: str) -> None:
        """Something the user should know; kept for the report too, and written once."""
        text = in_options(text)
        if text not in self.notes:
            self.notes.append(text)
            self.say(f"note: {text}")

    def say(self, text: str) -> None:
        """One line on stderr, unless quiet."""
        if not self.quiet:
            self.clear()
            self._stream.write(f"{visible(text)}\n")
            self._stream.flush()

    def result(self, text: str, document: Mapping[str, Any]) -> None:
        """The answer on stdout, as words or as JSON; also when quiet."""
        self.clear()
        answer = visible(to_json(document) if self.as_json else text).rstrip("\n") + "\n"
        sys.stdout.write(encodable(answer, sys.stdout.encoding or "utf-8"))
        sys.stdout.flush()

    def clear(self) -> None:
        """Take the progress line away."""
        if self._drawn:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._drawn = False

    def _draw(self, text: str) -> None:
        if not self.quiet:
            self._stream.write(f"\r\x1b[K{visible(text)}")
            self._stream.flush()
            self._drawn = True


def visible(text: str) -> str:
    """Text that cannot control the terminal: control characters are written as JSON would write them.

    >>> visible("a class named \\x1b[2J")
    'a class named \\\\u001b[2J'
    """
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def encodable(text: str, encoding: str) -> str:
    """Text with the characters that `encoding` lacks written as JSON would write them.

    Output that goes to a pipe or a file has the encoding of the country on Windows, which lacks most letters.

    >>> encodable("Müller, 北京", "cp1252")
    'Müller, \\\\u5317\\\\u4eac'
    """
    missing = {character for character in set(text) if not character.encode(encoding, "ignore")}
    return text.translate({ord(character): json.dumps(character)[1:-1] for character in missing})


def in_options(text: str) -> str:
    """Arguments of the library, as its messages write them, as the shell takes them: the words are the same.

    >>> in_options("fit_rows=5 is too few. Set data='similarity', or use=['a b', 'c'] and standardize=False.")
    "--fit-rows 5 is too few. Set --data similarity, or --use 'a b,c' and --no-standardize."
    """
    # What y is, `target` of PrisMap, is target_kind where target names a column.
    text = re.sub(r"\btarget=(?='(auto|class|ordered|real|none)')", "target_kind=", text)
    return _ARGUMENT.sub(_as_option, text).replace(" in PrisMap", "")


def _as_option(match: re.Match[str]) -> str:
    option, value = f"--{match[1].replace('_', '-')}", match[2]
    if value == "...":
        return option
    if value in ("True", "False"):
        return option if value == "True" else f"--no-{option[2:]}"
    try:
        plain = ast.literal_eval(value)
    except (SyntaxError, ValueError):
        plain = value
    if isinstance(plain, list) and option == "--target":
        return " ".join(f"{option} {shlex.quote(name)}" for name in plain)
    return f"{option} {shlex.quote(','.join(plain) if isinstance(plain, list) else str(plain))}"


def to_json(document: Any) -> str:
    """JSON that every reader takes: numpy's types as Python's, and null for what is not a finite number."""
    return json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
