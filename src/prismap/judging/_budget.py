"""How much is spent on a verdict: how many maps are made for comparison, of how many rows, in how many iterations."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from prismap.exceptions import InputError


@dataclass(frozen=True)
class Effort:
    """What a budget pays for. (Errors of neighbours settle within 50 iterations of t-SNE, rank curves within 400.)

    Attributes
    ----------
    name : of the budget, for the report
    plain_iter : iterations of t-SNE for the map without a target; None: a short one, as for all others
    permutations : maps of permuted targets
    permuted_rows : rows that they have at most
    precision : standard error of a share of judged rows that is good enough
    judged_rows : rows that are enough in any case. As many fifths of all rows are judged as either takes
    held_out : rows outside the map that are judged at most
    kept_share : of all rows that a map without the judged ones has at most, and no fewer than `FEW_KEPT`
    structure_rows : rows whose neighbourhoods among all rows are judged at most
    nulls, null_rows : maps of one Gaussian each, and rows that they have at most; of four fifths of the rows one more
        map is made if there is any of these, and no other run
    """

    name: str
    plain_iter: int | None
    permutations: int
    permuted_rows: int
    precision: float
    judged_rows: int
    held_out: int
    kept_share: float
    structure_rows: int
    nulls: int
    null_rows: int


FULL = Effort(
    name="full", plain_iter=400, permutations=2, permuted_rows=300, precision=0.02, judged_rows=300, held_out=5000,
    kept_share=1.0, structure_rows=1000, nulls=3, null_rows=300,
)  # fmt: skip
QUICK = Effort(
    name="quick", plain_iter=None, permutations=1, permuted_rows=300, precision=0.05, judged_rows=40, held_out=1000,
    kept_share=0.5, structure_rows=300, nulls=0, null_rows=0,
)  # fmt: skip
#: A map of so many rows is made of all of them.
FEW_KEPT = 500
#: A map that is made again without the judged rows has so many rows at most, as a map has by default. (All pairs of
#: 10,000 rows took 4 GB under the metric along segments, and two such maps are made at once.)
MOST_KEPT = 5000
#: Rows up to which figures are computed that take all distances between them.
MOST_COMPARED = 10_000
#: A full verdict takes about so many times as long as the fit at most.
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
