"""Two ways of doing the same, timed in turn in one process: ratio of medians, equal answers checked, peak memory.

Seconds are not comparable between machines or between a quiet and a busy hour; ratios of interleaved runs mostly are,
and those of CPU seconds more than those of wall time. A case with a goal says whether it is met.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Comparison:
    """What a comparison found: theirs / ours (above 1 we are faster), its range, equality, and our peak memory."""

    name: str
    ratio: float
    low: float
    high: float
    ours_seconds: float
    theirs_seconds: float
    equal: bool
    peak_bytes: int
    note: str = ""
    goal: float | None = None
    clock: str = "wall"

    @property
    def outcome(self) -> str:
        """The goal, the least theirs / ours, and whether the ratio reaches it; nothing without a goal."""
        return "" if self.goal is None else f">= {self.goal:.3g}: {'met' if self.ratio >= self.goal else 'missed'}"

    def __str__(self) -> str:
        equal = "same answer" if self.equal else "OTHER ANSWER"
        note = f"; {self.note}" if self.note else ""
        goal = f"; goal {self.outcome}" if self.goal is not None else ""
        return (
            f"{self.name}: theirs / ours = {self.ratio:.3g} [{self.low:.3g} .. {self.high:.3g}], {equal}, "
            f"ours {self.ours_seconds:.3g} {self.clock} s, peak {self.peak_bytes / 2**20:.0f} MiB{note}{goal}"
        )


def compare(
    name: str, ours: Callable[[], Any], theirs: Callable[[], Any], check: Callable[[Any, Any], bool] | None = None, *,
    repeat: int = 5, scale: float = 1.0, note: str = "", goal: float | None = None, clock: str = "wall",
) -> Comparison:  # fmt: skip
    """Run both sides `repeat` times in turn. `scale` multiplies their time when they do only a part of the work.

    `goal` is the least theirs / ours that is wanted. `clock`: "wall", or "cpu" for the seconds of this process.
    """
    equal = True if check is None else bool(check(ours(), theirs()))
    mine, others = [], []
    for _ in range(repeat):
        mine.append(seconds(ours, clock))
        others.append(scale * seconds(theirs, clock))
    ratios = sorted(other / own for own, other in zip(mine, others, strict=True))
    return Comparison(
        name, median(others) / median(mine), ratios[0], ratios[-1], median(mine), median(others), equal,
        peak_memory(ours), note, goal, clock,
    )  # fmt: skip


def run_cases(cases: Iterable[dict[str, Any]], repeat: int = 5) -> list[Comparison]:
    """Compare every case of a bench module: dicts of name, ours, theirs, and options of `compare`."""
    found = []
    for case in cases:
        found.append(compare(**{"repeat": repeat, **case}))
        print(found[-1], flush=True)
    return found


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def seconds(work: Callable[[], Any], clock: str = "wall") -> float:
    """Time of one call."""
    start = CLOCKS[clock]()
    work()
    return CLOCKS[clock]() - start


def peak_memory(work: Callable[[], Any]) -> int:
    """Bytes that one call held at most beyond what there was."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
