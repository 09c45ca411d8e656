"""Many rows: end points judged by all labels, and what lies between them by a small support.

Local supports (`prismap.metrics.posteriors.local`) say what is known *at* a row. How much longer the way between two
rows is than the arc between its ends is asked of a Parzen posterior on a few hundred support rows:

    d(x, x') = arc(x, x') + (length(x, x') - chord(x, x'))

where arc is by the local supports, and length and chord, along the segment and straight from end to end, by the small
one. The excess is never negative, zero for equal rows and symmetric, so two clusters of one class with another class
between them stay apart whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from prismap.metrics.geometry import FittedIndex
from prismap.metrics.posteriors.base import Posterior
from prismap.metrics.posteriors.density import ParzenBlock, ParzenDensity, ParzenRows, arc_between
from prismap.metrics.posteriors.local import LabelledRows, local_probabilities
from prismap.metrics.posteriors.rowwise import RootBlock, RootRows, RowPosterior
from prismap.metrics.segments import SegmentRule

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


class LocalParzen(Posterior):
    """The Parzen posterior of more rows than a support holds; the rows are sorted by fold."""

    name = "parzen"
    any_share = True

    def fit(self, context):
        """Judge every row by its nearest labelled rows, and draw the small support."""
        context.rule_at_rows(self.name)
        support = context.support[context.target.take(context.support).draw(PATH_SUPPORT, context.rng)]
        P, judging = local_probabilities(
            context.data, context.target, context.perplexity, context.rng, cross_fit=context.cross_fit
        )
        return self._hold(context, support, P, judging)

    def _hold(self, context, support, P, judging):
        self.context, self.support, self.local = context, support, P
        # The small support does not know the labels of other rows, so that they leave out no fold of it.
        folds = np.full(len(P), -1, dtype=np.intp)
        if context.cross_fit:
            folds[support] = context.folds[support]
        self.rule, self.order = SegmentRule(n_segments=1), np.argsort(folds, kind="stable")
        self.along = ParzenDensity(
            context.codes[support], context.n_classes, folds[support] if context.cross_fit else None,
            context.bandwidth, SegmentRule(n_segments=PATH_SEGMENTS),
        )  # fmt: skip
        self.judged = (
            f"local supports of perplexity {judging:g} at the rows, {len(support)} support rows and {PATH_SEGMENTS} "
            f"sub-segments between them, {context.judged}"
        )
        self.labelled, self.folds = labelled_rows(context, judging), folds
        return self

    @cached_property
    def rows(self):
        """State of the fitted rows, made at first use: a map that is loaded to place new rows does not need it."""
        Q = self.context.data.squared_to(FittedIndex(self.order), self.support)
        ends = RootRows.of(self.local[self.order], self.context.data.dtype)
        return ExcessRows(ends, self.along.rows(Q, self.folds[self.order]))

    def new(self, rows, self_similarity=None):
        """State of new rows."""
        data = self.context.data
        Q = data.squared_to(rows, self.support, self_similarity)
        P = self.labelled.judge(rows, self_similarity)
        return ExcessRows(RootRows.of(P, data.dtype), self.along.rows(Q))

    def block(self, A, B):
        """The pairs of two sets of rows, each set from one fold."""
        ends = RootBlock(A.ends.root, B.ends.root, A.ends.dtype)
        return ExcessBlock(ends, ParzenBlock(self.along, A.along, B.along))

    def chunk_rows(self):
        """Rows of a block at most."""
        return self.along.chunk_rows()

    def probabilities(self, rows):
        """Class probabilities of rows."""
        return (rows.ends.root**2).astype(rows.ends.dtype)

    def cheaper(self):
        """The arcs between end points alone: the excess is never negative."""
        ends = LocalEnds().restore(self.context, self.state())
        ends.labelled = self.labelled  # whose cells are made once
        return ends

    def state(self):
        """The fitted rows' own probabilities, their perplexity and the small support; rows and labels tell the rest."""
        return {
            "local_probabilities": self.local, "local_perplexity": np.array(self.labelled.judging),
            "path_support": self.support,
        }  # fmt: skip

    def restore(self, context, state):
        """From the arrays of `state`."""
        return self._hold(
            context, state["path_support"], state["local_probabilities"], float(state["local_perplexity"])
        )


class LocalEnds(RowPosterior):
    """Each row judged by its own nearest labelled rows, with nothing looked at between them."""

    name = "parzen"

    def fit(self, context):
        """Judge every row by its nearest labelled rows."""
        return LocalParzen().fit(context).cheaper()

    def restore(self, context, state):
        """From the arrays of `state`."""
        self.labelled = labelled_rows(context, float(state["local_perplexity"]))
        self.judged = f"local supports at the rows only, {context.judged}"
        return self.hold(context, state["local_probabilities"])

    def predict(self, rows, self_similarity=None):
        """Class probabilities of new rows by their nearest labelled ones."""
        return self.labelled.judge(rows, self_similarity)

    def state(self):
        """The fitted rows' own probabilities, and their perplexity."""
        return {
            "local_probabilities": self.fitted_probabilities, "local_perplexity": np.array(self.labelled.judging),
        }  # fmt: skip


def labelled_rows(context, judging):
    """The labelled rows of a context, with the perplexity that they judge with."""
    return LabelledRows(context.data, context.codes, context.n_classes, context.perplexity, judging)
