"""What the rows around a place on the map say of a new row there, as columns by name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prismap.map._fitted import FittedMap
from prismap.quality._votes import poll

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
    votes = poll(Y, fitted.positions, target)
    if target.classes is None:
        return {MEAN: votes.mean, SPREAD: votes.std}
    names = np.array([str(name) for name in target.classes], dtype=object)
    return {CLASS: names[votes.named], SHARE: votes.share}
