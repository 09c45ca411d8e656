"""What rows that are not independent do to the figures: the same neighbours with and without those of the same unit.

Ten neighbours *in the data* tell a row's target once with all other rows and once without those of its unit. Where rows
of one unit share what the target does not explain, the first figure is far too good, and it is the figure of folds of
rows. No map has a part in it, so that it does not depend on how the map was made.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prismap.judging._budget import MOST_COMPARED
from prismap.judging._makers import Made
from prismap.quality._estimates import Estimate
from prismap.quality._statements import Statement
from prismap.quality._votes import poll
from prismap.target import Dependence, Target, Units, plural

#: The two differ if it is by more than this share, or so many standard deviations of a number.
VISIBLE = 0.03


def dependence_findings(made: Made, target: Target, dependence: Dependence) -> tuple[Statement, ...]:
    """What was done about rows that are not independent, and what they would have done; nothing if all rows are.

    made : the map. target : of its rows. dependence : of the same rows.
    """
    stated = []
    if dependence.units is not None and not dependence.units.independent:
        stated.append(statement_of(made, target, dependence.units, acted=True))
    if dependence.suspected is not None:
        stated.append(statement_of(made, target, dependence.suspected, acted=False))
    return tuple(stated)


def statement_of(made: Made, target: Target, units: Units, *, acted: bool) -> Statement:
    """The units, the two figures, and what to do if it is meant otherwise."""
    figures = both_figures(made, target, units)
    n_rows, n_units = len(units.codes), len(np.unique(units.codes))
    words = units.words or f"{n_rows} rows are {n_units} {plural(units.name)}, and are judged by them."
    if figures:
        words += f" {compared(figures, units, target)}"
    warns = bool(units.words) or difference(figures) > VISIBLE
    return Statement(
        "rows_depend" if acted else "rows_may_depend", words, "warning" if warns else "detail", figures=figures,
        n_rows=n_rows, n_units=n_units, unit=units.name,
    )  # fmt: skip


def both_figures(made: Made, target: Target, units: Units) -> dict[str, Estimate]:
    """The error of ten neighbours in the data by rows and by units; nothing without a target or for many rows."""
    target = target.shown
    if not target.exists or len(target) > MOST_COMPARED or target.n_units < 2:
        return {}
    by_rows = target.with_units(Units(np.arange(len(target))))
    by_units = target.with_units(units)
    return {
        name: error_in_data(made, one) for name, one in {"error_by_rows": by_rows, "error_by_units": by_units}.items()
    }


def error_in_data(made: Made, target: Target) -> Estimate:
    """How far ten neighbours in the data, none of the row's unit, miss its target, with the error of units.

    Classes: the share of rows for which they name another one. Numbers: the mean distance in standard deviations.
    """
    votes: Any = poll(target=target, same=True, **made.in_own_data())
    known = target.labelled_rows
    misses = votes.misses(target)[known]
    heard = np.isfinite(misses)
    return Estimate.over_rows(misses[heard], target.units[known][heard])


def difference(figures: dict[str, Estimate]) -> float:
    """By how much rows of the same unit make the error smaller."""
    return float(figures["error_by_units"] - figures["error_by_rows"]) if figures else 0.0


def compared(figures: dict[str, Estimate], units: Units, target: Target) -> str:
    """Both figures in a sentence."""
    classes = target.shown.codes is not None
    one, other = (
        f"{100 * figures[name]:.1f} % of the rows" if classes else f"{figures[name]:.2f} standard deviations"
        for name in ("error_by_units", "error_by_rows")
    )
    what = "are wrong about" if classes else "miss the target by"
    return f"By {plural(units.name)} ten neighbours in the data {what} {one}, by rows {what.split()[-1]} {other}."
