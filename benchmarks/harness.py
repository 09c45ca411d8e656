"""Two ways of doing the same, timed in turn in one process: ratio of medians, equal answers checked, peak memory.

Seconds are not comparable between machines or between a quiet and a busy hour; ratios of interleaved runs mostly are,
and those of CPU seconds more than those of wall time. A case with a goal says whether it is met.
"""

from __future__ import annotations

import resource
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
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
    equal: bool | None
    peak_bytes: int | None
    note: str = ""
    goal: float | None = None
    clock: str = "cpu"

    @property
    def outcome(self) -> str:
        """The goal, the least theirs / ours, and whether the ratio reaches it; nothing without a goal."""
        return "" if self.goal is None else f">= {self.goal:.3g}: {'met' if self.ratio >= self.goal else 'missed'}"

    def as_row(self) -> dict[str, str]:
        """A row of the page."""
        single = self.low == self.high
        return {
            "what": self.name,
            "theirs / ours": f"{self.ratio:.3g} ({'one pair' if single else f'{self.low:.3g} .. {self.high:.3g}'})",
            "goal": self.outcome,
            "our seconds": f"{self.ours_seconds:.2g}{'' if self.clock == 'wall' else ' CPU'}",
            "peak MiB": "" if self.peak_bytes is None else f"{self.peak_bytes / 2**20:.0f}",
            "answer": {True: "same", False: "OTHER", None: ""}[self.equal],
            "note": self.note,
        }


def compare(
    name: str, ours: Callable[[], Any], theirs: Callable[[], Any], check: Callable[[Any, Any], bool] | None = None, *,
    repeat: int = 5, scale: float = 1.0, note: str = "", goal: float | None = None, clock: str = "cpu",
    peak: bool = True,
) -> Comparison:  # fmt: skip
    """Run both sides `repeat` times in turn. `scale` multiplies their time when they do only a part of the work.

    `goal` is the least theirs / ours that is wanted. `clock`: "cpu" for the seconds that cores worked for this process
    and for those that it started, "own" for this process alone, or "wall". `peak=False` saves the further run of ours
    that measures its memory.
    """
    equal = None if check is None else bool(check(ours(), theirs()))
    mine, others = [], []
    for _ in range(repeat):
        mine.append(seconds(ours, clock))
        others.append(scale * seconds(theirs, clock))
    ratios = sorted(other / own for own, other in zip(mine, others, strict=True))
    return Comparison(
        name, median(others) / median(mine), ratios[0], ratios[-1], median(mine), median(others), equal,
        peak_memory(ours) if peak else None, note, goal, clock,
    )  # fmt: skip


def run_cases(cases: Iterable[dict[str, Any]], repeat: int = 5) -> Iterator[Comparison]:
    """Compare every case of a bench module: dicts of name, ours, theirs, and options of `compare`."""
    return (compare(**{"repeat": repeat, **case}) for case in cases)


def core_seconds() -> float:
    """Seconds that cores worked for this process and those below it that have ended: fair on a busy machine."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime


def peak_gb() -> float:
    """The most memory that this process ever held, GB; `ru_maxrss` would count what its parent held, too."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 / 1e9 for line in lines if line.startswith("VmHWM:"))


def on_its_own(work: Callable[..., Any], *args: Any) -> Any:
    """What a function returns in a new process, whose memory is then its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *args).result()


def clocked(work: Callable[[], Any]) -> tuple[Any, float]:
    """Result and core seconds."""
    before = core_seconds()
    result = work()
    return result, core_seconds() - before


CLOCKS = {"wall": time.perf_counter, "cpu": core_seconds, "own": time.process_time}


def seconds(work: Callable[[], Any], clock: str = "cpu") -> float:
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
