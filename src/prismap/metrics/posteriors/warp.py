"""A target that a few extreme values cannot spoil: logarithms where they fit better, and no value far out.

What is known of y is as much as is known of any increasing function of y, and Fisher-Rao distances are the same for
both. So the process may be one of ``g(y)`` (a warped Gaussian process: Snelson, Rasmussen and Ghahramani 2004) and the
marginal likelihoods of several g can be compared, once each has the term ``sum log g'(y)``. Here g is the identity or
a shifted logarithm ``log(u + c)`` of ``u = (y - least) / spread``, or of the mirrored target where the long tail is the
lower one. After that, values beyond `REACH` spreads of the median are drawn in to there (Huber 1981, winsorised).
"""

from __future__ import annotations

from dataclasses import astuple, dataclass

import numpy as np

#: Shifts of the logarithm that are tried, in spreads; without a shift the target stays as it is.
SHIFTS = (0.01, 0.1, 1.0)
#: Spreads from the median that a value may lie away: about four standard deviations of a Gaussian.
REACH = 4.5
#: Share of the values at either end that says nothing about the spread.
TAIL = 0.05


@dataclass(frozen=True)
class Warp:
    """An increasing function of a target.

    Attributes
    ----------
    shift : c in ``log(u + c)``; 0 for the identity.
    sign : -1 where the lower tail is the long one, and the mirrored target has the logarithm.
    least, spread : what u is counted from, and in; of the mirrored target where it is mirrored.
    low, high : where values of g are drawn in to.
    """

    shift: float = 0.0
    sign: float = 1.0
    least: float = 0.0
    spread: float = 1.0
    low: float = -np.inf
    high: float = np.inf

    @property
    def is_logarithm(self):
        """Whether it is more than a straight line."""
        return self.shift > 0

    def bare(self, y):
        """``g(y)`` before values are drawn in."""
        y = np.asarray(y, dtype=np.float64)
        if not self.is_logarithm:
            return y.copy()
        return self.sign * np.log(np.maximum((self.sign * y - self.least) / self.spread, 0) + self.shift)

    def __call__(self, y):
        """``g(y)``; missing values stay missing."""
        return np.clip(self.bare(y), self.low, self.high)

    def log_slope(self, y):
        """``log g'(y)`` of each value; a value that is drawn in is charged as in a tail that falls with its square."""
        g = self.bare(y)
        slope = np.zeros(len(g)) if not self.is_logarithm else -self.sign * g - np.log(self.spread)
        middle, reach = (self.low + self.high) / 2, (self.high - self.low) / 2
        return slope - 2 * np.log(np.maximum(np.abs(g - middle) / reach, 1)) if np.isfinite(reach) else slope

    def moments(self, mean, variance):
        """Mean and variance of y where those of ``g(y)``, a Gaussian, are given."""
        if not self.is_logarithm:
            return mean, variance
        # Of a logarithm that is nearly unknown, mean and variance of y would not be numbers.
        half = np.minimum(variance, 50.0) / 2
        grown = self.spread * np.exp(np.minimum(self.sign * mean + half, 600.0))
        return self.sign * (grown - self.spread * self.shift + self.least), grown**2 * np.expm1(2 * half)

    def array(self):
        """As numbers, for a file."""
        return np.array(astuple(self))


def spread_of(values):
    """Standard deviation after the outermost values are drawn in; of all values where that leaves none."""
    inner = np.clip(values, np.quantile(values, TAIL, method="higher"), np.quantile(values, 1 - TAIL, method="lower"))
    inner = inner.std()
    return float(inner if inner > 0 else values.std()) or 1.0


def bounded(warp, y):
    """The warp with its bounds from known values y."""
    g = warp.bare(y)
    middle, reach = float(np.median(g)), REACH * spread_of(g)
    return Warp(warp.shift, warp.sign, warp.least, warp.spread, middle - reach, middle + reach)


def candidate_warps(y):
    """The identity, and logarithms for a long upper or lower tail, from known values y.

    No shift is below the step from the least value to the next: many rows with the least value, such as counts of
    none, would be torn from all others.
    """
    spread, found = spread_of(y), [Warp()]
    for sign in (1.0, -1.0):
        levels = np.unique(sign * y)[:2]
        step = float(levels[-1] - levels[0]) / spread
        shifts = sorted({max(shift, step) for shift in SHIFTS if step <= SHIFTS[-1]})
        found += [Warp(shift, sign, float(levels[0]), spread) for shift in shifts]
    return [bounded(warp, y) for warp in found]
