"""Whether new rows are still what a map was made of: how many are far from it, how far the mean posterior has moved."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from prismap._util.arrays import Numbers
from prismap._util.blocks import row_blocks
from prismap._util.evidence import SIGNIFICANT
from prismap._util.scales import FAR_QUANTILE
from prismap.exceptions import InputError
from prismap.map._fitted import FittedMap
from prismap.metrics import FisherMetric
from prismap.target import ClassTarget, RealTarget

#: Far rows call for action from so many times the expected share on; the mean posterior from these moves on. Both only
#: if chance does not explain them.
FAR_FACTOR, CLASS_MOVE, REAL_MOVE = 3.0, 0.1, 0.5


@dataclass(frozen=True)
class Drift:
    """What `PrisMap.drift` found.

    Attributes
    ----------
    n_rows : new rows looked at.
    far_share, far_expected : share of rows far from the map's, and what it is for rows like the fitted ones.
    far_noise : standard error of `far_share` if nothing has changed.
    shift : how far the mean posterior moved: total variation ``1/2 sum_c |E p(c|new) - E p(c|fitted)|`` of classes;
        the largest difference of means, in standard deviations, of real targets; None without a target.
    shift_noise : what chance alone would move it by, about.
    new_region, moved : whether either calls for action.
    """

    n_rows: int
    far_share: float
    far_expected: float
    far_noise: float
    shift: float | None
    shift_noise: float | None
    new_region: bool
    moved: bool

    @property
    def refit(self) -> bool:
        """Whether to do something."""
        return self.new_region or self.moved

    def __str__(self) -> str:
        words = f"{self.far_share:.1%} of {self.n_rows} rows are far from the map's ({self.far_expected:.0%} expected)"
        if self.shift is not None:
            words += f", the mean posterior moved by {self.shift:.2f} ({self.shift_noise:.2f} by chance)"
        if self.new_region and self.moved:
            return f"{words}: the data have changed, fit anew."
        if self.new_region:
            return f"{words}: there are rows where the map has none; partial_refit adds them, or fit anew."
        if self.moved:
            return f"{words}: the target is distributed otherwise; fit anew."
        return f"{words}: no need to refit."


def drift_of(fitted: FittedMap, batches: Iterable[Any]) -> Drift:
    """Compare new rows, batches of them as `FittedMap.place` takes them, with the fitted ones, one batch at a time."""
    watch = watch_of(fitted)
    n_new, n_far, total = 0, 0, np.zeros(())
    for rows in batches:
        n_new += rows.shape[0]
        distances, in_blocks = fitted.distances(rows, None if watch is None else watch.beside)
        n_far += int((distances > fitted.far_threshold).sum())
        if watch is not None:
            total = total + (watch.sum_over(rows) if watch.beside is None else in_blocks)
    if not n_new:
        raise InputError("drift needs rows to compare with the fitted ones; there is none.")
    far, expected = n_far / n_new, 1 - FAR_QUANTILE
    # The threshold is itself a quantile of so many distances.
    noise = float(np.sqrt(expected * (1 - expected) * (1 / n_new + 1 / len(fitted.nearest))))
    new_region = far >= FAR_FACTOR * expected and far > expected + SIGNIFICANT * noise
    if watch is None:
        return Drift(n_new, far, expected, noise, None, None, new_region, False)
    shift, by_chance = watch.shift(watch.fitted, total / n_new, n_new)
    return Drift(
        n_new, far, expected, noise, shift, by_chance, new_region, shift > watch.move + SIGNIFICANT * by_chance
    )


@dataclass(frozen=True)
class Watch:
    """What is known of the target at rows, and how it is compared.

    Attributes
    ----------
    fitted : class probabilities, or means, of the fitted rows.
    sum_over : the same of new rows, added up over the rows.
    shift : how far the mean moved, and what chance alone would move it by.
    move : from where on that calls for action.
    beside : the sum of a block of rows that the data's own metric has seen, where the posterior is known at the rows:
        it looks at blocks that are still in a core's cache. None elsewhere.
    """

    fitted: np.ndarray
    sum_over: Callable[[Any], np.ndarray]
    shift: Callable[[np.ndarray, np.ndarray, int], tuple[float, float]]
    move: float
    beside: Callable[..., np.ndarray] | None = None


def watch_of(fitted: FittedMap) -> Watch | None:
    """What is compared of the target; None without a posterior of one kind."""
    metric, target = fitted.metric, fitted.target
    if not isinstance(metric, FisherMetric):
        return None
    if isinstance(target, ClassTarget):
        beside = probability_sum(metric) if metric.posterior_.at_rows else None
        sums = sum_in_blocks(metric.class_probabilities, metric.n_rows_)
        return Watch(metric.class_probabilities(), sums, class_shift, CLASS_MOVE, beside)
    if isinstance(target, RealTarget):
        sums = sum_in_blocks(lambda rows: metric.target_moments(rows)[0], metric.n_rows_)
        return Watch(metric.target_moments()[0], sums, real_shift, REAL_MOVE)
    return None


def probability_sum(metric: Any) -> Callable[[slice, Any, Any], Any]:
    """Class probabilities of a block of rows that the data's own metric has seen, added up over its rows."""

    def of_block(block: slice, part: Any, own: Any) -> Any:
        return (metric.posterior_.new_roots(part, own) ** 2).sum(axis=0)

    return of_block


def sum_in_blocks(of_rows: Callable[[Any], np.ndarray], n_fitted: int) -> Callable[[Any], np.ndarray]:
    """A function that adds up what is known of rows, a block at a time."""

    def sum_over(rows: Any) -> np.ndarray:
        blocks = row_blocks(rows.shape[0], 64.0 * n_fitted)
        return np.asarray(sum(of_rows(rows[block]).sum(axis=0) for block in blocks))

    return sum_over


def class_shift(fitted: Numbers, mean: Numbers, n_new: int) -> tuple[float, float]:
    """Total variation between mean class probabilities, and its mean if nothing has changed.

    The difference of two means of independent rows is about normal with ``s_c^2 = v_c (1/n + 1/m)``, and
    ``E |z| = s sqrt(2/pi)``.
    """
    shift = 0.5 * np.abs(fitted.mean(axis=0) - mean).sum()
    errors = np.sqrt(fitted.var(axis=0) * (1 / len(fitted) + 1 / n_new))
    return float(shift), float(0.5 * np.sqrt(2 / np.pi) * errors.sum())


def real_shift(fitted: Numbers, mean: Numbers, n_new: int) -> tuple[float, float]:
    """Largest difference of means over the targets in standard deviations, and its standard error."""
    spread = fitted.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    shift = np.abs(fitted.mean(axis=0) - mean) / spread
    return float(shift.max()), float(np.sqrt(1 / len(fitted) + 1 / n_new))
