"""A time as `fit_rows`: as many samples as this machine embeds in about that time.

Trial fits of small draws, with the very settings of the map, tell what a fit costs here. Their sizes double as long as
all together are expected to take a small share of the time. The costs of larger fits follow by a law.

- Up to `DENSE_ROWS` samples all pairs are compared. The cost grows with a power of n, which is found from the trials by
  ridge regression of log seconds on log n towards the usual power: of few and small trials, where steps that have the
  same cost at any n and others that set in at some n still count, not much can be learnt. The last trial is taken as it
  is. (b n + c n^2 through the same trials was off by a factor of ten where these steps bent it.)
- Beyond, neighbours are searched and the cost grows about as n does.

The law is one of CPU seconds, which other work on the machine hardly changes. The clock's seconds are so many times as
many as they were in all trials together: on a machine with other work, fewer samples are taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter, process_time
from typing import Any

import numpy as np

from prismap._util.blocks import available_bytes
from prismap._util.progress import duration, seconds_in
from prismap.exceptions import InputError
from prismap.map._fitted import DENSE_ROWS
from prismap.map._methods import embeds_many, fit_bytes


@dataclass(frozen=True)
class TrialRules:
    """How trial fits are made.

    Attributes
    ----------
    first : samples of the first trial.
    fewest : the fewest samples that a map is made of, if there are so many.
    share : trials take at most this share of the time, if two of them do not take more.
    last : the law follows so many of the last trials.
    surely : no further trial is needed if all samples are expected to take at most this share of the time that is
        left.
    """

    first: int = 125
    fewest: int = 250
    share: float = 0.2
    last: int = 4
    surely: float = 0.5


TRIALS = TrialRules()


@dataclass(frozen=True)
class GrowthLaw:
    """How the cost of a fit grows with its samples.

    Attributes
    ----------
    neighbors : the power of n for t-SNE of vectors.
    pairs : the power of n for anything else that visits all pairs.
    belief : the weight of that power beside the trials, (0.2 / 0.25)^2: trials are off by 0.2 in the logarithm,
        powers by 0.25.
    large_share : a large map of `DENSE_ROWS` samples takes this share of what all pairs take.
    large : the power of n for a large map.
    """

    neighbors: float = 1.15
    pairs: float = 2.0
    belief: float = 0.64
    large_share: float = 0.8
    large: float = 1.0


GROWTH = GrowthLaw()

#: Round numbers between 10 and 100.
ROUND = (10, 12, 15, 20, 25, 30, 40, 50, 60, 80)


@dataclass(frozen=True)
class Trial:
    """A fit of so many samples: its seconds of the clock and of the processor."""

    n_rows: int
    clock: float
    cpu: float


@dataclass(frozen=True)
class Pace:
    """How many samples a time is enough for.

    Attributes
    ----------
    asked : the time in the user's words.
    n_rows : samples that are embedded.
    n_given : samples that there are.
    seconds : that their fit is expected to take; None if there are so few that nothing was tried.
    spent : seconds that the trials took.
    """

    asked: str
    n_rows: int
    n_given: int
    seconds: float | None
    spent: float

    def __str__(self) -> str:
        number = f"all {self.n_given:,}" if self.n_rows == self.n_given else f"{self.n_rows:,} of {self.n_given:,}"
        message = f"fit_rows={self.asked!r} took {number} samples"
        if self.seconds is None:
            return f"{message}."
        message += f", predicted {duration(self.seconds)} after {duration(self.spent)} of trial fits"
        return f"{message}; fit_rows={self.n_rows} gives the same map anywhere."


def time_asked(fit_rows: int | str) -> float | None:
    """The seconds of a `fit_rows` that is a time; None if it is a number of samples."""
    if not isinstance(fit_rows, str):
        return None
    seconds = seconds_in(fit_rows)
    if seconds is None:
        raise InputError(
            f"fit_rows must be a number of samples such as 5000, or a time such as '90 s', '10 min' or '2 h'; "
            f"got {fit_rows!r}."
        )
    return seconds


# --- the law ----------------------------------------------------------------------------------------------------------


def usual_growth(method: Any, data: Any) -> float:
    """The power of n that fits with a method, by name or as an object, on a kind of data grow with as a rule."""
    return GROWTH.neighbors if embeds_many(method) and not data.is_matrix else GROWTH.pairs


def growth(sizes: list[int], seconds: list[float], usual: float) -> float:
    """The power of n that the seconds of fits of these sizes grow with; never below 1.

    >>> growth([100], [1.0], 2.0), round(growth([100, 10_000], [1.0, 100.0], 2.0), 2)
    (2.0, 1.06)
    """
    x, y = (np.log(part[-TRIALS.last :]) for part in (sizes, seconds))
    x, y = x - x.mean(), y - y.mean()
    return max(1.0, float((x @ y + GROWTH.belief * usual) / (x @ x + GROWTH.belief)))


def cost(n_rows: float, sizes: list[int], seconds: list[float], usual: float = GROWTH.neighbors) -> float:
    """Seconds of a fit of `n_rows` samples by those of smaller ones, the largest last."""
    if sizes[-1] > DENSE_ROWS:
        return float(seconds[-1] * (n_rows / sizes[-1]) ** GROWTH.large)
    if n_rows > DENSE_ROWS:
        return float(
            GROWTH.large_share * cost(DENSE_ROWS, sizes, seconds, usual) * (n_rows / DENSE_ROWS) ** GROWTH.large
        )
    return float(seconds[-1] * (n_rows / sizes[-1]) ** growth(sizes, seconds, usual))


def predicted(n_rows: float, trials: list[Trial], usual: float = GROWTH.neighbors) -> float:
    """Seconds of the clock that a fit of `n_rows` samples takes."""
    clock, cpu = sum(one.clock for one in trials), sum(one.cpu for one in trials)
    by_clock = any(one.cpu <= 0 for one in trials)  # work that is done elsewhere, or a coarse clock
    seconds = [one.clock if by_clock else one.cpu * clock / cpu for one in trials]
    return cost(n_rows, [one.n_rows for one in trials], [max(one, 1e-6) for one in seconds], usual)


def sizes_up_to(most: int) -> list[int]:
    """Round numbers from `TrialRules.fewest` on, and `most` itself.

    >>> sizes_up_to(1100)
    [250, 300, 400, 500, 600, 800, 1000, 1100]
    """
    powers = range(1, len(str(most)))
    rounds = (step * 10**power for power in powers for step in ROUND)
    return [size for size in rounds if TRIALS.fewest <= size < most] + [most]


# --- trials -----------------------------------------------------------------------------------------------------------


def pace_of(
    asked: str,
    n_given: int,
    trial: Callable[[int], int],
    *,
    perplexity: float,
    most: float = inf,
    usual: float = GROWTH.neighbors,
    clocks: tuple[Callable[[], float], Callable[[], float]] = (perf_counter, process_time),
) -> Pace:
    """The `Pace` of a time, by trials.

    ``trial(n)`` fits about n samples, and says how many exactly. `most` is what the method takes, and `usual` the power
    of n that its cost grows with as a rule. `clocks` are those of the wall and of the processor.
    """
    budget, most = time_asked(asked) or 0.0, int(min(most, n_given))
    if most <= TRIALS.fewest:
        return Pace(asked, most, n_given, None, 0.0)
    trials: list[Trial] = []
    begin, size = clocks[0](), TRIALS.first

    def seconds(n_rows: int) -> float:
        return predicted(n_rows, trials, usual)

    def is_worth_it() -> bool:
        """Whether a trial of `size` samples is short enough, and needed. The first two are, if there is time."""
        spent = clocks[0]() - begin
        if len(trials) < 2:
            return spent < budget
        return spent + seconds(size) <= TRIALS.share * budget and seconds(most) > TRIALS.surely * (budget - spent)

    while size < most and is_worth_it():
        start = [clock() for clock in clocks]
        try:
            n_rows = trial(size)
        except InputError:
            pass  # too few samples for these settings; if more are refused, too, the map itself will say why
        else:
            # Every class has a sample in any draw: with very many classes several draws have the same size.
            trials[:] = [one for one in trials if one.n_rows < n_rows]
            trials.append(Trial(n_rows, clocks[0]() - start[0], clocks[1]() - start[1]))
        size *= 2
    spent = clocks[0]() - begin
    if not trials:
        return Pace(asked, min(most, size), n_given, None, spent)
    room = available_bytes()
    sizes = [n for n in sizes_up_to(most) if fit_bytes(n, perplexity) <= room]
    n_rows = max((n for n in sizes if seconds(n) <= budget - spent), default=TRIALS.fewest)
    return Pace(asked, n_rows, n_given, seconds(n_rows), spent)
