"""How far long work is, in Python: a line that is redrawn in a terminal, a bar in a notebook, nothing elsewhere."""

from __future__ import annotations

import html
import math
import re
import sys
import threading
import time
from types import TracebackType
from typing import Any, Self

#: Work that takes less time than this, in seconds, shows nothing; and how often more is drawn.
_FIRST, _EVERY = 1.0, 0.2

#: Seconds of the units that a time may be given in, and how such a time looks.
_UNITS = {1: ("s", "sec", "second", "seconds"), 60: ("min", "minute", "minutes"), 3600: ("h", "hour", "hours")}
_SECONDS = {unit: seconds for seconds, units in _UNITS.items() for unit in units}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+)", re.ASCII)

#: Work that is shown now: what runs inside it, in other threads too, says nothing of its own.
_shown: list[Progress] = []


class Progress:
    """Shows how far some work is while its block runs, and leaves nothing behind.

    Parameters
    ----------
    what : str
        The work, in a word or two.
    verbose : int or None
        0 shows nothing, 1 shows it in any case; None does in notebooks and terminals, in the main thread, for work that
        takes more than a second.
    """

    def __init__(self, what: str, verbose: int | None = None) -> None:
        self.what = what
        self._asked = verbose
        self._screen: _Terminal | _Notebook | None = None
        self._begin = self._stage_begin = time.perf_counter()
        self._last = 0.0

    def __enter__(self) -> Self:
        self._begin = self._stage_begin = time.perf_counter()
        wanted = self._asked is None or self._asked > 0
        if wanted and not _shown and (self._asked or threading.current_thread() is threading.main_thread()):
            self._screen = _screen(always=bool(self._asked))
        if self._screen is not None:
            _shown.append(self)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._screen is not None:
            _shown.remove(self)
            self._screen.clear()
            self._screen = None

    def stage(self, words: str) -> None:
        """What is being done from now on."""
        self._stage_begin = time.perf_counter()
        self._draw(words, None)

    def at(self, done: float, total: float, words: str) -> None:
        """So much of the stage is done; the time left follows from the time taken."""
        share = min(1.0, done / total) if total else 0.0
        self._draw(f"{words}{time_left(share, time.perf_counter() - self._stage_begin)}", share)

    def watching(self, callback: Any, total: int) -> Any:
        """The callback of an embedding of `total` iterations that is shown here too; unchanged where nothing is."""
        if self._screen is None:
            return callback

        pace = Pace()

        def follow(iteration: int, error: float, positions: Any) -> Any:
            left = pace.left(iteration, total)
            self._draw(f"embedding, iteration {iteration} of {total}{left}", min(1.0, iteration / total))
            return callback is not None and callback(iteration, error, positions)

        return follow

    def counting(self, callback: Any, things: str) -> Any:
        """A callback ``(done, total)`` that is shown here too."""
        if self._screen is None:
            return callback
        self.stage(f"making {things}")

        def count(done: int, total: int) -> None:
            self.at(done, total, f"{done} of {total} {things}")
            if callback is not None:
                callback(done, total)

        return count

    def _draw(self, words: str, share: float | None) -> None:
        now = time.perf_counter()
        soon = 0.0 if self._asked else _FIRST
        if self._screen is None or now - self._begin < soon or (share is not None and now - self._last < _EVERY):
            return
        self._last = now
        self._screen.draw(f"{self.what}: {words}", share)


class Pace:
    """The time left of work by its pace since the first report: a metric that is learnt before it does not count."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None

    def left(self, done: float, total: float) -> str:
        """The time left in words; nothing as long as too little is done."""
        now = time.perf_counter()
        first, begin = self._first = self._first or (done, now)
        return time_left((done - first) / max(total - first, 1), now - begin)


def time_left(share: float, seconds: float) -> str:
    """The time that the rest takes if it goes on like this; nothing as long as too little is done.

    >>> time_left(0.25, 10.0), time_left(0.01, 1.0)
    (', 30 s left', '')
    """
    if share < 0.05 or share >= 1 or seconds < 0.5:
        return ""
    return f", {duration(seconds * (1 - share) / share)} left"


def duration(seconds: float) -> str:
    """Seconds, minutes or hours.

    >>> duration(45.2), duration(150), duration(9000)
    ('45 s', '2 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def seconds_in(text: str) -> float | None:
    """A time such as "90 s", "10 min" or "1.5 h" in seconds; None if the text is no time, or not above 0.

    >>> seconds_in("90 s"), seconds_in("10 min"), seconds_in("1.5 hours"), seconds_in("5000")
    (90.0, 600.0, 5400.0, None)
    """
    match = _TIME.fullmatch(text.strip())
    seconds = float(match[1]) * _SECONDS.get(match[2], 0) if match else 0.0
    return seconds if 0 < seconds < math.inf else None


class _Terminal:
    """One line of standard error, redrawn; lines of their own where it is no terminal."""

    def __init__(self) -> None:
        self._redrawn = sys.stderr.isatty()
        self._drawn = False

    def draw(self, words: str, share: float | None) -> None:
        self._drawn = True
        sys.stderr.write(f"\r\x1b[K{words}" if self._redrawn else f"{words}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._redrawn and self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


class _Notebook:
    """A bar below the cell, by the notebook's own display."""

    def __init__(self) -> None:
        self._shown: Any = None

    def draw(self, words: str, share: float | None) -> None:
        value = "" if share is None else f' value="{share:.3f}"'
        bar = f'<progress max="1"{value} style="width:16em;vertical-align:middle"></progress> {html.escape(words)}'
        self._put(bar, words)

    def clear(self) -> None:
        if self._shown is not None:
            self._put("", "")

    def _put(self, markup: str, words: str) -> None:
        from IPython.display import display

        bundle = {"text/html": markup, "text/plain": words}
        if self._shown is None:
            self._shown = display(bundle, raw=True, display_id=True)
        else:
            self._shown.update(bundle, raw=True)


def _screen(*, always: bool) -> _Terminal | _Notebook | None:
    """Where progress can be seen: in a notebook, in a terminal, or, if it is wanted always, as lines."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        return _Notebook()
    return _Terminal() if always or (sys.stderr is not None and sys.stderr.isatty()) else None
