"""Classes whose names have an order: whole numbers, and the words of scales that everybody knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap._util.arrays import Rows

#: Words of scales, from the lowest to the highest.
SCALES = (
    ("strongly disagree", "disagree", "somewhat disagree", "slightly disagree", "neutral", "neither agree nor disagree",
     "undecided", "slightly agree", "somewhat agree", "agree", "strongly agree"),
    ("very low", "low", "medium low", "medium", "moderate", "medium high", "high", "very high"),
    ("none", "minimal", "mild", "moderate", "severe", "very severe"),
    ("never", "rarely", "seldom", "sometimes", "occasionally", "often", "usually", "always"),
    ("very poor", "poor", "bad", "fair", "average", "good", "very good", "excellent"),
    ("very dissatisfied", "dissatisfied", "neutral", "satisfied", "very satisfied"),
    ("tiny", "small", "medium", "large", "huge"),
    ("young", "middle", "middle aged", "old"),
)  # fmt: skip
#: Two classes have no order that their vote would not show.
FEWEST_STEPS = 3


def known_order(classes: Any) -> Rows | None:
    """The place of each class in the order that their names have; None if they have no order.

    >>> known_order(["high", "low", "medium"]).tolist(), known_order([3, 1, 2]).tolist(), known_order(["a", "b", "c"])
    ([2, 0, 1], [2, 0, 1], None)
    """
    names = list(classes)
    if len(names) < FEWEST_STEPS:
        return None
    numbers = [number for name in names if (number := whole_number(name)) is not None]
    if len(numbers) == len(names):
        return np.argsort(np.argsort(numbers))
    words = [" ".join(str(name).lower().replace("_", " ").replace("-", " ").split()) for name in names]
    for scale in SCALES:
        if set(words) <= set(scale):
            return np.argsort(np.argsort([scale.index(word) for word in words]))
    return None


def whole_number(name: Any) -> float | None:
    """The number that a name is, if it is a whole one."""
    try:
        number = float(str(name))
    except ValueError:
        return None
    return number if number == round(number) and np.isfinite(number) else None
