"""Whether new rows are still what a map was made of: how many are far from it, how far the mean posterior has moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prismap._blocks import row_blocks
from prismap._spacing import FAR_QUANTILE
from prismap.exceptions import InputError
from prismap.metrics import FisherMetric

#: Far rows call for action from so many times the expected share on; the mean posterior from these moves on.
FAR_FACTOR, CLASS_MOVE, REAL_MOVE = 3.0, 0.1, 0.5
#: And only what chance does not explain: standard errors.
STANDARD_ERRORS = 3.0


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


def drift_of(parts, target, batches) -> Drift:
    """Compare new rows, batches of them as the parts take them, with the fitted ones; one batch is held at a time."""
    kind = target if isinstance(parts.metric, FisherMetric) and target in ("class", "real") else "none"
    n_new, n_far, total = 0, 0, np.zeros(())
    # Where the posterior is known at the rows, it looks at the same blocks, which are still in a core's cache.
    beside = kind == "class" and parts.metric.posterior_.at_rows
    for rows in batches:
        n_new += rows.shape[0]
        distances, in_blocks = parts.distances(rows, probability_sum(parts.metric) if beside else None)
        n_far += int((distances > parts.far_threshold).sum())
        if kind != "none":
            total = total + (in_blocks if beside else posterior_sum(parts.metric, rows))
    if not n_new:
        raise InputError("drift needs rows to compare with the fitted ones; there is none.")
    far, expected = n_far / n_new, 1 - FAR_QUANTILE
    # The threshold is itself a quantile of so many distances.
    noise = float(np.sqrt(expected * (1 - expected) * (1 / n_new + 1 / len(parts.nearest))))
    new_region = far >= FAR_FACTOR * expected and far > expected + STANDARD_ERRORS * noise
    shift = by_chance = None
    moved = False
    if kind == "class":
        shift, by_chance = class_shift(parts.metric.class_probabilities(), total / n_new, n_new)
        moved = shift > CLASS_MOVE + STANDARD_ERRORS * by_chance
    elif kind == "real":
        shift, by_chance = real_shift(parts.metric.target_moments()[0], total / n_new, n_new)
        moved = shift > REAL_MOVE + STANDARD_ERRORS * by_chance
    return Drift(n_new, far, expected, noise, shift, by_chance, new_region, moved)


def probability_sum(metric):
    """Class probabilities of a block of rows that the data's own metric has seen, added up over its rows."""

    def of_block(block, part, own):
        return (metric.posterior_.new_roots(part, own) ** 2).sum(axis=0)

    return of_block


def posterior_sum(metric, rows):
    """Class probabilities of new rows, or their means of real targets, added up over the rows, a block at a time."""
    real = metric.target_ == "real"
    return sum(
        (metric.target_moments(rows[block])[0] if real else metric.class_probabilities(rows[block])).sum(axis=0)
        for block in row_blocks(rows.shape[0], 64.0 * metric.n_rows_)
    )


def class_shift(fitted, mean, n_new):
    """Total variation between mean class probabilities, and its mean if nothing has changed.

    The difference of two means of independent rows is about normal with ``s_c^2 = v_c (1/n + 1/m)``, and
    ``E |z| = s sqrt(2/pi)``.
    """
    shift = 0.5 * np.abs(fitted.mean(axis=0) - mean).sum()
    errors = np.sqrt(fitted.var(axis=0) * (1 / len(fitted) + 1 / n_new))
    return float(shift), float(0.5 * np.sqrt(2 / np.pi) * errors.sum())


def real_shift(fitted, mean, n_new):
    """Largest difference of means over the targets in standard deviations, and its standard error."""
    spread = fitted.std(axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    shift = np.abs(fitted.mean(axis=0) - mean) / spread
    return float(shift.max()), float(np.sqrt(1 / len(fitted) + 1 / n_new))
