"""Whether new rows are still what a map was made of.

How many are far from it, how far the mean posterior has moved, and which columns hold values that it does not know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from prismap._util.arrays import Numbers
from prismap._util.blocks import row_blocks
from prismap._util.evidence import SIGNIFICANT
from prismap._util.scales import FAR_QUANTILE
from prismap.exceptions import InputError
from prismap.map._fitted import FittedMap
from prismap.metrics import FisherMetric
from prismap.target import ClassTarget, RealTarget


@dataclass(frozen=True)
class DriftRules:
    """When new samples call for action.

    Attributes
    ----------
    far_factor : far rows: from so many times the expected share on, if chance does not explain them.
    class_move : the mean posterior of classes: from this move on, if chance does not explain it.
    real_move : the same of numbers.
    other_unit : a median so many times as large or as small may be another unit,
    fewest_values : if it is one of so many values or more.
    """

    far_factor: float = 3.0
    class_move: float = 0.1
    real_move: float = 0.5
    other_unit: float = 2.0
    fewest_values: int = 5


DRIFT = DriftRules()


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
    new_region = far >= DRIFT.far_factor * expected and far > expected + SIGNIFICANT * noise
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
        return Watch(metric.class_probabilities(), sums, class_shift, DRIFT.class_move, beside)
    if isinstance(target, RealTarget):
        sums = sum_in_blocks(lambda rows: metric.target_moments(rows)[0], metric.n_rows_)
        return Watch(metric.target_moments()[0], sums, real_shift, DRIFT.real_move)
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


# --- columns ----------------------------------------------------------------------------------------------------------


class ColumnDrift:
    """Which columns of new rows hold values that the fitted rows do not have; batches of rows are added up.

    A column's values are known from its first percentile to its last one, both moved outwards by the distance of its
    quartiles; from its least value to its largest one where the quartiles are equal. Some fitted values lie outside of
    that, too, and new ones are compared with their share. Memory: a number for each column and batch.

    Parameters
    ----------
    rows : the fitted rows (n, columns); NaN is missing.
    """

    def __init__(self, rows: Any) -> None:
        rows = np.asarray(thinned(rows), dtype=np.float64)
        self.n_fitted = np.maximum(np.isfinite(rows).sum(axis=0), 1)
        least, low, first, middle, third, high, most = quantiles(rows, (0, 0.01, 0.25, 0.5, 0.75, 0.99, 1))
        usual = third > first
        self.low, self.high, self.middle = low, high, middle
        self.least = np.where(usual, low - (third - first), least)
        self.most = np.where(usual, high + (third - first), most)
        self.expected = self._outside(rows) / self.n_fitted
        self.n_known, self.n_outside = np.zeros((2, rows.shape[1]), dtype=np.int64)
        self.medians: list[Numbers] = []
        self.weights: list[Numbers] = []

    def _outside(self, rows: Any) -> Any:
        return ((rows < self.least) | (rows > self.most)).sum(axis=0)

    def add(self, rows: Any) -> None:
        """Count a batch of new rows."""
        known = np.isfinite(rows).sum(axis=0)
        self.n_known += known
        self.n_outside += self._outside(rows)
        self.medians.append(quantiles(np.asarray(thinned(rows), dtype=np.float64), (0.5,))[0])
        self.weights.append(known.astype(np.float64))

    def in_words(self, encoding: Any) -> dict[str, str]:
        """How each column of numbers whose values the map does not know differs, by its name.

        encoding : the `TableEncoding` of the rows, for their names and units.
        """
        n_known = np.maximum(self.n_known, 1)
        share = self.n_outside / n_known
        expected = np.maximum(self.expected, 1 - FAR_QUANTILE)
        noise = np.sqrt(expected * (1 - expected) * (1 / n_known + 1 / self.n_fitted))
        outside = (share >= DRIFT.far_factor * expected) & (share > expected + SIGNIFICANT * noise)
        median = weighted_median(np.stack(self.medians), np.stack(self.weights)) if self.medians else self.middle
        moved = ((median < self.low) | (median > self.high)) & (self.n_known >= DRIFT.fewest_values)
        words, places = {}, encoding.feature_places
        for column in encoding.columns:
            place = places[column.name][0]
            if column.levels is not None or not (outside[place] or moved[place]):
                continue
            new, old, low, high, least, most = (
                float(values[place]) * column.scale + column.center[0]
                for values in (median, self.middle, self.low, self.high, self.least, self.most)
            )
            ratio = new / old if low * high > 0 else 1.0  # only of numbers that are all on one side of zero
            if (
                moved[place]
                and column.written is None
                and (ratio >= DRIFT.other_unit or 0 < ratio <= 1 / DRIFT.other_unit)
            ):
                times = f"{ratio:.3g} times as large" if ratio > 1 else f"1/{1 / ratio:.3g} of what it was"
                words[column.name] = f"its median is {times} (a change of unit?)"
            elif outside[place]:
                within = f" ({least:.3g} to {most:.3g})" if column.written is None else ""
                words[column.name] = f"{share[place]:.0%} of its values are outside of what the map knows{within}"
        return words


def column_drift(fitted: FittedMap) -> ColumnDrift | None:
    """The `ColumnDrift` of a map's columns; None of a map of objects, of distances, or of sparse rows."""
    rows = fitted.given.rows
    if fitted.data.is_matrix or fitted.data.kind == "objects" or sp.issparse(rows):
        return None
    return ColumnDrift(rows)


def thinned(rows: Any, most_rows: int = 2000, most_numbers: int = 1_000_000) -> Any:
    """Evenly spaced ones of many rows, as many as quantiles need."""
    most = max(min(most_rows, most_numbers // max(rows.shape[1], 1)), 1)
    return rows[:: -(-rows.shape[0] // most) or 1]


def quantiles(rows: Numbers, levels: tuple[float, ...]) -> Numbers:
    """Quantiles (levels, columns) of the values that are there; NaN of a column without any."""
    if not np.isnan(rows).any():
        return np.asarray(np.quantile(rows, levels, axis=0))
    empty = np.isnan(rows).all(axis=0)
    return np.where(empty, np.nan, np.nanquantile(np.where(empty, 0.0, rows), levels, axis=0))


def weighted_median(values: Numbers, weights: Numbers) -> Numbers:
    """The median of each column of values (n, columns), each of which counts by its weight; NaN counts nothing."""
    order = np.argsort(values, axis=0)
    summed = np.cumsum(np.take_along_axis(weights, order, axis=0), axis=0)
    place = (summed >= summed[-1] / 2).argmax(axis=0)
    return np.asarray(np.take_along_axis(values, np.take_along_axis(order, place[None], axis=0), axis=0)[0])
