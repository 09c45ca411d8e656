"""What the rows around a place on the map say of a new row there, as columns by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prismap.map.fitted import FittedMap
from prismap.quality.votes import mean_on, vote_on
from prismap.target import ClassTarget

#: Names of the columns of `votes_at`.
CLASS, SHARE, MEAN, SPREAD = "neighbor_class", "neighbor_share", "neighbor_mean", "neighbor_std"


def votes_at(fitted: FittedMap, Y: NDArray[np.float64]) -> dict[str, np.ndarray]:
    """What the ten nearest labelled fitted rows say of rows at positions Y; of several targets of the first.

    Classes: the one that they name (`CLASS`) and the share that has it (`SHARE`). Numbers: their mean and standard
    deviation (`MEAN`, `SPREAD`). Nothing without a target. These are the neighbours by which `PrisMap.report` judges
    the map: how often they are right is its error.
    """
    target = fitted.target.shown
    if not target.exists:
        return {}
    if not isinstance(target, ClassTarget):
        numbers = mean_on(Y, fitted.positions, target.values)
        return {MEAN: numbers.mean, SPREAD: numbers.std}
    votes = vote_on(Y, fitted.positions, target.values, len(target.classes))
    names = np.array([str(name) for name in target.classes], dtype=object)
    return {CLASS: names[votes.named], SHARE: votes.share}
