"""What would chance have given? The same figure for permuted targets, and the level it should have.

On permuted targets a supervised method should score as chance does; one that scores far better invents
structure (`docs/methods/quality.md`). So every supervised figure is shown next to that of permuted targets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from prismap._util.random import as_generator
from prismap.exceptions import InputError
from prismap.quality._errors import chance_nrmse
from prismap.quality._knn import chance_error
from prismap.target import shuffle_entries
from prismap.target._labels import encode_classes, missing_mask


@dataclass(frozen=True)
class NullResult:
    """A figure under permuted targets.

    Attributes
    ----------
    values : one per permutation
    chance : the level that unrelated targets should have
    n_rows : rows behind each value, at least; None if that is not known
    mean, spread : mean and standard deviation of the values
    """

    values: tuple[float, ...]
    chance: float
    n_rows: int | None = None

    @property
    def mean(self) -> float:
        """Mean over the permutations."""
        return float(np.mean(self.values))

    @property
    def spread(self) -> float:
        """Standard deviation over the permutations; NaN for a single one."""
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else float("nan")

    def __str__(self) -> str:
        many = f" +- {self.spread:.3f}" if len(self.values) > 1 else ""
        return f"{self.mean:.3f}{many} (chance {self.chance:.3f})"

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON; mean and spread are there for readers."""
        spread = self.spread if len(self.values) > 1 else None
        plain = {"values": list(self.values), "mean": self.mean, "spread": spread, "chance": self.chance}
        return plain if self.n_rows is None else {**plain, "n_rows": self.n_rows}

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> NullResult:
        """The inverse of `to_dict`."""
        return cls(tuple(stored["values"]), stored["chance"], stored.get("n_rows"))


def permuted_null(
    score: Callable[[np.ndarray], float], y: Any, *, n_permutations: int = 5, chance: float | None = None,
    random_state: Any = None,
) -> NullResult:  # fmt: skip
    """``score(y_permuted)`` for several permutations of y.

    Parameters
    ----------
    score : takes a permuted target, repeats all that is judged (fit and judgement) and returns its figure
    y : the target; unlabelled rows (-1 beside other codes, None, NaN) stay where they are
    n_permutations : how many
    chance : the level that unrelated targets should have; None takes `chance_error` for classes (of one neighbour) and
        `chance_nrmse` (of five) for real targets
    random_state : for the permutations

    Returns
    -------
    NullResult : the scores, with their mean, and the chance level.

    Examples
    --------
    >>> y = np.array([0, 0, 1, 1])
    >>> permuted_null(lambda shuffled: np.mean(shuffled != y), y, n_permutations=3, random_state=0).chance
    0.5
    """
    if n_permutations < 1:
        raise InputError(f"n_permutations must be at least 1; got {n_permutations}.")
    y = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    rng = as_generator(random_state)
    real = is_real(y)
    labelled = np.flatnonzero(~missing_mask(y) if real else encode_classes(y, len(y))[1] >= 0)
    values = []
    for _ in range(n_permutations):
        values.append(float(score(shuffle_entries(y, labelled, rng))))
    if chance is None:
        chance = chance_nrmse() if real else chance_error(y)
    return NullResult(tuple(values), float(chance))


def is_real(y: Any) -> bool:
    """Whether a target is real-valued: numbers of which some are not whole (NaN aside)."""
    y = np.asarray(y)
    if y.dtype.kind == "O":
        try:
            y = np.where(missing_mask(y), np.nan, y).astype(np.float64)
        except (TypeError, ValueError):
            return False
    return y.dtype.kind == "f" and bool((np.nan_to_num(y) != np.round(np.nan_to_num(y))).any())
