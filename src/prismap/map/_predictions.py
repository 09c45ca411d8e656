"""What the fitted rows around a place on the map say of a row there, and how often they are right: `PrisMap.score`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from prismap.exceptions import InputError
from prismap.map._fitted import FittedMap
from prismap.quality import knn_error, knn_nrmse
from prismap.quality._votes import VOTERS, poll
from prismap.target import Target, make_target
from prismap.target._making import split_columns


def votes_at(fitted: FittedMap, Y: NDArray[np.float64]) -> dict[str, np.ndarray]:
    """What the ten nearest labelled fitted rows say of rows at positions Y; of several targets of the first.

    Classes: the one that they name (`CLASS`) and the share that has it (`SHARE`). Numbers: their mean and standard
    deviation (`MEAN`, `SPREAD`). Nothing without a target. These are the neighbours by which `PrisMap.report` judges
    the map: how often they are right is its error.
    """
    target = fitted.target.shown
    if not target.exists:
        return {}
    figures: dict[str, Any] = poll(Y, fitted.positions, target).figures(target)
    return figures


def held_out_score(fitted: FittedMap, Y: NDArray[np.float64], y: Any, groups: Any = None) -> float:
    """How well the ten nearest fitted samples in the map predict the target y of samples at positions Y.

    groups : of these samples; fitted samples of the same group have no vote.

    Classes: the share of samples whose class wins the vote. Real-valued targets: ``R^2 = 1 - nRMSE^2`` of the mean of
    these neighbours, weighted by 1/distance. Several targets: the mean over them.
    """
    target, positions = score_target(fitted)
    if y is None:
        raise InputError("score needs the target of the samples X: pass y.")
    columns, _ = split_columns(y)
    if len(columns) != len(target.columns):
        raise InputError(f"y has {len(columns)} columns, and the map has {len(target.columns)} targets.")
    who = {} if groups is None else {"groups": groups, "groups_fit": groups_of(fitted)[: len(positions)]}
    pairs = zip(target.columns, columns, strict=True)
    return float(np.mean([column_score(one, positions, Y, column, **who) for one, column in pairs]))


def groups_of(fitted: FittedMap) -> NDArray[Any]:
    """The groups of the fitted samples, as text."""
    units = fitted.given.dependence.units
    if units is None or units.labels is None:
        raise InputError("groups means something to a map that was fitted with groups: fit(X, y, groups=...).")
    fitted_groups = units.labels[fitted.given.fitted] if len(units.labels) > len(fitted.positions) else units.labels
    return np.asarray(fitted_groups)


def score_target(fitted: FittedMap) -> tuple[Target, NDArray[np.float64]]:
    """The target that predictions are made of, and the positions of its samples.

    A map that was made without its target is asked for it all the same.
    """
    given = fitted.given
    if fitted.target.exists:
        return fitted.target, fitted.positions
    if given.y is None:
        raise InputError("score needs a map that was fitted with a target: call fit(X, y).")
    target = make_target(given.y, len(given.y))
    rows = given.fitted[given.fitted < len(target)]  # samples of partial_refit come after them
    return target.take(rows), fitted.positions[: len(rows)]


def column_score(target: Target, positions: NDArray[np.float64], Y: NDArray[np.float64], y: Any, **who: Any) -> float:
    """The score of one target; `who` are groups of new and of fitted samples, if they were given."""
    fitted: dict[str, Any] = {"Y_fit": positions, "y_fit": target.named, **who}
    if target.codes is not None:
        return 1.0 - float(knn_error(Y, y, n_neighbors=None, **fitted))
    return 1.0 - float(knn_nrmse(Y, y, n_neighbors=min(VOTERS, int(target.labelled.sum())), **fitted)) ** 2
