"""Many rows: end points judged by all labels, and what lies between them by a small support.

Local supports (`prismap.metrics.local`) say what is known *at* a row. How much longer the way between two rows is than
the arc between its ends is asked of a Parzen posterior on a few hundred support rows:

    d(x, x') = arc(x, x') + (length(x, x') - chord(x, x'))

where arc is by the local supports, and length and chord, along the segment and straight from end to end, by the small
one. The excess is never negative, zero for equal rows and symmetric, so two clusters of one class with another class
between them stay apart whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from prismap.metrics.parzen import ParzenBlock, ParzenRows, arc_between
from prismap.metrics.rowwise import RootBlock, RootRows, RowwisePosterior

#: Rows of the small support, and sub-segments of the way between two rows.
PATH_SUPPORT, PATH_SEGMENTS = 500, 4


@dataclass(frozen=True)
class ExcessRows:
    """What is known at some rows, and their profiles against the small support."""

    ends: RootRows
    along: ParzenRows

    def __len__(self):
        return len(self.ends)

    @property
    def fold(self):
        """The fold that each row leaves out of the small support, -1 for none."""
        return self.along.fold

    def take(self, index):
        """Some of the rows."""
        return ExcessRows(self.ends.take(index), self.along.take(index))


class ExcessPosterior(RowwisePosterior):
    """Class probabilities at rows, and a Parzen posterior `along` the way between them."""

    def __init__(self, predict, along):
        super().__init__("parzen", predict, along.n_classes)
        self.along, self.chunk_rows = along, along.chunk_rows

    def joined(self, P, dtype, Q, fold=None):
        """State of rows from their probabilities and their squared profiles against the small support."""
        return ExcessRows(self.rows(P, dtype), self.along.rows(Q, fold))

    def probabilities(self, rows):
        """Class probabilities of rows."""
        return super().probabilities(rows.ends)

    def block(self, A, B):
        """The pairs of two sets of rows, each set from one fold."""
        return ExcessBlock(super().block(A.ends, B.ends), self.along.block(A.along, B.along))


@dataclass(frozen=True)
class ExcessBlock:
    """Distances between two sets of rows, tile by tile."""

    ends: RootBlock
    along: ParzenBlock

    def sub_lengths(self, a, b):
        """The whole length as that of one sub-segment, for the pairs of two slices."""
        (total,) = self.ends.sub_lengths(a, b)
        excess = -arc_between(self.along.root_a[:, a, None], self.along.root_b[:, None, b])
        for length in self.along.sub_lengths(a, b):
            excess += length
        yield total + np.maximum(excess, 0)
