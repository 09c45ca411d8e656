"""How much is spent on a verdict: how many maps are made for comparison, of how many rows, in how many iterations."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from prismap.exceptions import InputError


@dataclass(frozen=True)
class Effort:
    """What a budget pays for. (Errors of neighbours settle within 50 iterations, rank curves within 400.)

    Attributes
    ----------
    name : of the budget, for the report
    n_iter, plain_iter : iterations of t-SNE for maps that errors are taken of, and for the map without a target
    permutations, few_permutations : maps of permuted targets above and up to `FEW_ROWS` rows
    permuted_rows : rows that they have at most
    fewest_in_one_fold : a fifth of the rows is judged from here on; below, all five fifths are
    held_out : rows outside the map that are judged at most
    structure_rows : rows whose neighbourhoods are judged; None: as many as are worth it
    plain_again : whether the map without a target is made again without the judged rows, as the others are
    clusters : whether a map of one Gaussian is made, and one of four fifths of the rows if no other is there
    """

    name: str
    n_iter: int
    plain_iter: int
    permutations: int
    few_permutations: int
    permuted_rows: int
    fewest_in_one_fold: int
    held_out: int
    structure_rows: int | None
    plain_again: bool
    clusters: bool


FULL = Effort("full", 100, 400, 2, 3, 1000, 300, 5000, None, True, True)
QUICK = Effort("quick", 60, 60, 1, 1, 300, 40, 1000, 300, False, False)
#: Up to so many rows maps are quickly made, and vary more.
FEW_ROWS = 600
#: A full verdict takes about so many times as long as the fit, on a map of 1,500 rows or more.
FULL_SHARE = 2.5


def effort_of(budget: str | float, fit_seconds: float) -> Effort:
    """What "full", "quick" or a number of seconds pays for, given how long the fit took.

    >>> effort_of(30, 10).name, effort_of(15, 10).name
    ('full', 'quick')
    """
    if isinstance(budget, str) and budget in ("full", "quick"):
        return FULL if budget == "full" else QUICK
    if isinstance(budget, bool) or not isinstance(budget, Real) or not budget > 0:
        raise InputError(f"budget must be 'full', 'quick' or a number of seconds above 0; got {budget!r}.")
    return FULL if FULL_SHARE * fit_seconds <= budget else QUICK
