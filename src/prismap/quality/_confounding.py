"""What a column that is of no interest has to do with the target and with a map: the figures, and what they state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from prismap._util.evidence import SIGNIFICANT
from prismap.quality._estimates import Estimate
from prismap.quality._headlines import HELPFUL, VISIBLE
from prismap.quality._null import NullResult
from prismap.quality._statements import Statement


@dataclass(frozen=True)
class Confounding:
    """A known column of no interest (a batch), the target, and the map.

    Attributes
    ----------
    column : name of the column; None if it had none.
    n_levels : how many levels it has.
    has_classes : whether the target has classes, and is no number.
    alone : error of predicting the target by the level alone, out of fold: the share of rows that are not of the
        commonest class of their level, or ``sqrt(mean (y - m)^2) / std(y)`` with m the mean of the level.
    alone_permuted : the same for targets permuted over all rows; its `chance` is the error without any level.
    inside : the share of the ten nearest rows of its level on the map that disagree with a judged row: which have
        another class, or a number that differs by more than half a standard deviation.
    inside_permuted : the same for targets of the judged rows that are permuted inside levels.
    level : error of the ten nearest rows on the map in naming the level of a row.
    level_permuted : the same for levels that are permuted among rows of the same target: what the target alone shows of
        the level.
    level_in_data : the same error in the data as they were given; None where that was not measured.
    """

    column: str | None
    n_levels: int
    has_classes: bool
    alone: Estimate
    alone_permuted: NullResult
    inside: Estimate
    inside_permuted: NullResult
    level: Estimate
    level_permuted: NullResult
    level_in_data: Estimate | None = None

    @property
    def is_confounded(self) -> bool:
        """Whether the column alone predicts the target better than it predicts a permuted one."""
        return is_below(self.alone, self.alone_permuted)

    @property
    def target_remains(self) -> bool:
        """Whether the map predicts the target inside levels better than targets that are permuted there."""
        return is_below(self.inside, self.inside_permuted)

    @property
    def level_shows(self) -> bool:
        """Whether neighbours on the map name the level better than the target explains."""
        return is_below(self.level, self.level_permuted)

    @property
    def variance_between(self) -> float | None:
        """Share of a number's variance between levels, cross-validated; None of classes."""
        return None if self.has_classes else max(0.0, 1.0 - float(self.alone) ** 2)

    @property
    def statements(self) -> tuple[Statement, ...]:
        """What a report states of the column: does it go with the target, what is left inside levels, does it show?"""
        return self._confounded(), self._inside(), self._shown()

    def _confounded(self) -> Statement:
        name = "The given column" if self.column is None else f"Column {self.column!r}"
        goes = "goes" if self.is_confounded else "does not go"
        alone, without = (
            percent(error) if self.has_classes else f"{error:.2f} standard deviations"
            for error in (self.alone, self.alone_permuted.chance)
        )
        words = (
            f"{name} {goes} with the target: its {self.n_levels} levels alone predict it with an error of {alone}, and "
            f"without them it is {without}."
        )
        warns = self.is_confounded and not self.target_remains
        figures = {
            "error": self.alone, "without_levels": self.alone_permuted.chance, "permuted": self.alone_permuted.mean
        }  # fmt: skip
        return Statement(
            "column_confounded", words, "warning" if warns else "detail", "yes" if self.is_confounded else "no",
            figures, "error of the level alone", about=self._about, n_rows=self.alone_permuted.n_rows,
        )  # fmt: skip

    def _inside(self) -> Statement:
        answer = answer_of(self.inside, self.inside_permuted)
        opening = {
            "yes": "The target shows inside levels, too", "no": "Inside levels the target does not show",
            "cannot tell": "Cannot tell whether the target shows inside levels",
        }[answer]  # fmt: skip
        words = (
            f"{opening}: {percent(self.inside)} of the ten nearest rows of the same level disagree with a row, against "
            f"{percent(self.inside_permuted.mean)} if the target is permuted inside levels."
        )
        figures = {"disagreement": self.inside, "permuted": self.inside_permuted.mean}
        return Statement(
            "target_inside_levels", words, "headline", answer, figures, about=self._about,
            n_rows=self.inside_permuted.n_rows,
        )  # fmt: skip

    def _shown(self) -> Statement:
        answer = answer_of(self.level, self.level_permuted)
        name = "the given column" if self.column is None else repr(self.column)
        opening = {
            "yes": f"The map shows {name}", "no": f"The map does not show {name}",
            "cannot tell": f"Cannot tell whether the map shows {name}",
        }[answer]  # fmt: skip
        data = "" if self.level_in_data is None else f" ({percent(self.level_in_data)} in the data)"
        words = (
            f"{opening}: ten neighbours miss the level of {percent(self.level)} of the rows{data}, against "
            f"{percent(self.level_permuted.mean)} if they knew it by the target alone."
        )
        figures = {"error": self.level, "by_target": self.level_permuted.mean, "chance": self.level_permuted.chance}
        figures |= {} if self.level_in_data is None else {"error_in_data": self.level_in_data}
        return Statement(
            "column_shows", words, "headline", answer, figures, "10-NN error of the level", about=self._about,
            n_rows=self.level_permuted.n_rows,
        )  # fmt: skip

    @property
    def _about(self) -> tuple[str, ...]:
        return () if self.column is None else (self.column,)

    def __str__(self) -> str:
        return " ".join(one.words for one in self.statements)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {name: value.to_dict() if hasattr(value, "to_dict") else value for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Confounding:
        """The inverse of `to_dict`."""
        parts = dict(stored)
        for name in ("alone", "inside", "level", "level_in_data"):
            parts[name] = None if parts[name] is None else Estimate.from_dict(parts[name])
        for name in ("alone_permuted", "inside_permuted", "level_permuted"):
            parts[name] = NullResult.from_dict(parts[name])
        return cls(**parts)


def percent(share: float) -> str:
    """A share in words."""
    return f"{100 * share:.1f} %"


def is_below(error: Estimate, null: NullResult) -> bool:
    """Whether an error is lower than that of permutations by more than `SIGNIFICANT` standard deviations of these."""
    return bool(null.mean - float(error) > SIGNIFICANT * noise_of(error, null))


def answer_of(error: Estimate, null: NullResult) -> str:
    """ "yes" if the error is below that of permutations; "no" if a difference that a reader would see is excluded."""
    if is_below(error, null):
        return "yes"
    most = null.mean - float(error) + HELPFUL * noise_of(error, null)
    return "no" if most < VISIBLE * null.mean else "cannot tell"


def noise_of(error: Estimate, null: NullResult) -> float:
    """The standard error of the figure if nothing is there: its spread over permutations."""
    return null.spread if np.isfinite(null.spread) else error.spread
