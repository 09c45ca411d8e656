"""What a report states: one answer or fact at a time, with its figures, what they rest on, and its words.

`prismap.quality._headlines` answers the three questions and `prismap.quality._verdict` states the rest. Other rooms
hand over what they find as a `Statement`, too (`MapReport.findings`). `docs/statements.md` lists every id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prismap.exceptions import InputError
from prismap.quality._estimates import Estimate
from prismap.target import plural

ANSWERS = ("yes", "in part", "no", "cannot tell")
#: In the order in which they are read.
LEVELS = ("warning", "headline", "detail")
#: The version of what `Statement.to_dict` gives. It changes if an id, a key or a figure changes its meaning or goes; a
#: new one does not change it.
SCHEMA = "prismap-statements-1"


@dataclass(frozen=True)
class Statement:
    """One thing that a report states.

    Attributes
    ----------
    id : what it is about, in snake_case. The words may change between versions, the id does not.
    words : one or a few sentences that need no others.
    level : "warning" (read first: doubtful whatever else is stated), "headline" or "detail".
    answer : "yes", "in part", "no" or "cannot tell"; None of a fact that answers no question.
    figures : `Estimate` by name, a float with its standard error as `spread` (NaN if not known). Plain numbers are
        taken, too.
    measure : what the figure "error" and those it is compared with are, such as "10-NN error".
    about : the classes, columns or targets that it names.
    n_rows, n_units : rows that the figures rest on, and how many of them are independent; None if not known.
    unit : what one independent unit is called, "row" if every row is one.
    """

    id: str
    words: str
    level: str = "detail"
    answer: str | None = None
    figures: Mapping[str, Any] = field(default_factory=dict)
    measure: str | None = None
    about: tuple[str, ...] = ()
    n_rows: int | None = None
    n_units: int | None = None
    unit: str = "row"

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_]*", self.id):
            raise InputError(f"id must be a name in snake_case; got {self.id!r}.")
        if self.level not in LEVELS:
            raise InputError(f"level must be one of {', '.join(LEVELS)}; got {self.level!r}.")
        if self.answer is not None and self.answer not in ANSWERS:
            raise InputError(f"answer must be one of {', '.join(ANSWERS)}, or None; got {self.answer!r}.")
        known = {name: one if isinstance(one, Estimate) else Estimate(one) for name, one in self.figures.items()}
        object.__setattr__(self, "figures", known)
        object.__setattr__(self, "about", tuple(map(str, self.about)))

    def __str__(self) -> str:
        return self.words

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; None where there is no number."""
        figures = {name: one.to_dict() for name, one in self.figures.items()}
        return {
            "id": self.id,
            "level": self.level,
            "answer": self.answer,
            "words": self.words,
            "figures": {n: {"value": one["value"], "standard_error": one["spread"]} for n, one in figures.items()},
            "measure": self.measure,
            "about": list(self.about),
            "n_rows": None if self.n_rows is None else int(self.n_rows),
            "n_units": None if self.n_units is None else int(self.n_units),
            "unit": self.unit,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Statement:
        """The inverse of `to_dict`."""
        figures = {
            name: Estimate.from_dict({"value": one["value"], "spread": one["standard_error"]})
            for name, one in stored["figures"].items()
        }
        return cls(**{**stored, "figures": figures, "about": tuple(stored["about"])})


def in_order(statements: Iterable[Statement]) -> tuple[Statement, ...]:
    """Warnings first, then headlines, then details; each in the order given."""
    return tuple(sorted(statements, key=lambda one: LEVELS.index(one.level)))


def counted(n: int, noun: str) -> str:
    """A number with its noun.

    >>> counted(1, "patient"), counted(6, "patient"), counted(3, "series")
    ('1 patient', '6 patients', '3 series')
    """
    return f"{n} {noun if n == 1 else plural(noun)}"
