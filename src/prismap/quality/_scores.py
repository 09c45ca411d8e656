"""One error of a map with all that it must be compared with, and how it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from prismap.quality._agreement import Agreement
from prismap.quality._estimates import Estimate
from prismap.quality._null import NullResult


@dataclass(frozen=True)
class Wording:
    """How a kind of error is spoken of.

    Attributes
    ----------
    target : what it is an error of, at the beginning of a sentence.
    permuted : what permuted targets are called.
    meaning : what the error means, with places for ``{error}`` and ``{name}``.
    share : whether it is a share of the rows.
    """

    target: str
    permuted: str
    meaning: str
    share: bool = False


#: By a part of the name of an error (`prismap.quality._errors`); the first that fits counts.
WORDINGS = {
    "balanced": Wording(
        "The labels", "permuted labels", "{error} of the rows of a class, on average over the classes, have another "
        "label than most of their nearest neighbours", share=True,
    ),
    "10-NN error": Wording(
        "The labels", "permuted labels", "{error} of the rows have another label than most of their ten "
        "neighbours", share=True,
    ),
    "vote error": Wording(
        "The labels", "permuted labels", "{error} of the rows have another label than most of their nearest "
        "neighbours", share=True,
    ),
    "1-NN error": Wording(
        "The labels", "permuted labels", "{error} of the rows have another label than their nearest neighbour",
        share=True,
    ),
    "NN error": Wording("The labels", "permuted labels", "the {name} is {error}", share=True),
    "class steps": Wording(
        "The ordered classes", "permuted values", "guessing a row's class from its neighbours misses by "
        "{error} classes on average",
    ),
    "over chance": Wording(
        "The targets", "permuted values", "the error of guessing a row's targets from its neighbours, over "
        "that by chance, is {error}",
    ),
    "rank error": Wording(
        "The target values", "permuted values", "guessing a row's rank from its neighbours misses by "
        "{error} standard deviations",
    ),
    "": Wording(
        "The target values", "permuted values", "guessing a row's value from its neighbours misses by "
        "{error} standard deviations",
    ),
}  # fmt: skip


#: The figures of a score, and what each is.
PARTS: dict[str, Any] = {
    **dict.fromkeys(("value", "in_sample", "unsupervised", "in_data", "gain", "flattery"), Estimate),
    **dict.fromkeys(("permuted", "permuted_in_sample"), NullResult),
}


@dataclass(frozen=True)
class TargetScore:
    """One error of the map, with all that it must be compared with.

    Attributes
    ----------
    name : what it is called, such as "10-NN error"
    value : the error of the map on the judged rows
    chance : what a neighbour picked at random would give
    in_sample : the error among the fitted rows
    unsupervised : that of an unsupervised map, judged like `value`
    permuted : that of maps of permuted targets, judged like `value`
    permuted_in_sample : the same among their fitted rows
    in_data : the same error of the nearest rows in the data, of coordinates that cannot be made again
    gain : by how much `unsupervised` is higher on the same rows, with the standard error of the paired differences
    flattery : how much higher it is than among the fitted rows, on the same rows; None where others were judged
    agreement : how far the shares of the votes go with the target, an `Agreement`; None where rows vote on each other
    n_units : how many independent rows or units the error rests on; None where that is not known
    of : which of several targets it is about; None for all of them
    """

    name: str
    value: Estimate
    chance: float
    in_sample: Estimate | None = None
    unsupervised: Estimate | None = None
    permuted: NullResult | None = None
    permuted_in_sample: NullResult | None = None
    in_data: Estimate | None = None
    gain: Estimate | None = None
    flattery: Estimate | None = None
    agreement: Agreement | None = None
    n_units: int | None = None
    of: str | None = None

    @property
    def wording(self) -> Wording:
        """How it is spoken of."""
        return next(wording for part, wording in WORDINGS.items() if part in self.name)

    @property
    def is_share(self) -> bool:
        """Whether it is a share of the rows: of wrong classes."""
        return self.wording.share

    @property
    def figures(self) -> tuple[Any, ...]:
        """The error on the judged rows, and those it is compared with; None where it is not known."""
        return self.value, self.in_sample, self.unsupervised, self.permuted, self.permuted_in_sample

    @property
    def meaning(self) -> str:
        """What the error means, in words."""
        return self.wording.meaning.format(error=self.with_error(self.value), name=self.name)

    def figure(self, value: float) -> str:
        """A value of this error in a sentence."""
        return f"{100 * float(value):.1f} %" if self.is_share else f"{float(value):.2f}"

    def with_error(self, value: Estimate) -> str:
        """A value with its standard error in a sentence."""
        if not value.spread > 0:  # of no wrong row at all the usual formula gives 0, which is too sure
            return self.figure(value)
        return f"{self.figure(value).removesuffix(' %')} ± {self.figure(value.spread)}"

    def noise_at_chance(self, n_rows: int) -> float:
        """Standard error at chance: binomial for a share of n rows, else about chance / sqrt(2 n).

        Of rows that are not independent, or do not count alike, n is the number of units.
        """
        n_rows = n_rows if self.n_units is None else min(n_rows, self.n_units)
        if self.is_share:
            return float(np.sqrt(self.chance * (1.0 - self.chance) / n_rows))
        return float(self.chance / np.sqrt(2.0 * n_rows))

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries for JSON."""
        stored = {name: None if (part := getattr(self, name)) is None else part.to_dict() for name in PARTS}
        stored["agreement"] = None if self.agreement is None else self.agreement.to_dict()
        return {"name": self.name, "chance": float(self.chance), "of": self.of, "n_units": self.n_units, **stored}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TargetScore:
        """The inverse of `to_dict`."""
        parts: dict[str, Any] = {
            name: kind.from_dict(stored[name]) if stored.get(name) else None for name, kind in PARTS.items()
        }
        parts["agreement"] = Agreement.from_dict(one) if (one := stored.get("agreement")) else None
        plain: dict[str, Any] = {name: stored.get(name) for name in ("of", "n_units")}
        return cls(name=stored["name"], chance=stored["chance"], **plain, **parts)


@dataclass(frozen=True)
class Recall:
    """How many judged rows of a class the vote names right.

    Attributes
    ----------
    name : of the class
    value : the share of them, with its standard error
    n_rows, n_units : how many were judged, and how many independent units they are of
    """

    name: str
    value: Estimate
    n_rows: int
    n_units: int

    def to_dict(self) -> dict[str, Any]:
        """Plain dictionaries for JSON."""
        return {"name": self.name, "value": self.value.to_dict(), "n_rows": self.n_rows, "n_units": self.n_units}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Recall:
        """The inverse of `to_dict`."""
        return cls(**{**stored, "value": Estimate.from_dict(stored["value"])})


def written(figure: Any, *, share: bool) -> str:
    """A figure with its spread in a table; nothing for None."""
    if figure is None:
        return ""
    value = figure.mean if isinstance(figure, NullResult) else float(figure)
    spread = getattr(figure, "spread", float("nan"))
    scale, digits, unit = (100, 1, " %") if share else (1, 3, "")
    text = f"{scale * value:.{digits}f}"
    return text + (f" +- {scale * spread:.{digits}f}" if spread == spread else "") + unit
