"""The Parzen posterior of many rows: end points judged by all labels, and what lies between them by a small support.

A support of a few thousand rows makes the posterior coarse where there are many more. Here each row x has its local
support, its nearest labelled rows outside its fold, with Gaussian weights of one perplexity:

    p(c | x) = sum_{l near x, c_l = c} w_l(x),    w_l(x) ~ exp(-||x - x_l||^2 / 2 sigma(x)^2).

All labels are seen, for the price of one neighbour search in the data's own geometry. How many rows should judge is
another question than how many a map keeps together: the denser the rows, the fewer know best. So the perplexity is that
of the map or a smaller one, whichever has the lowest log-loss, out of fold.

Local supports give what is known *at* a row. How much longer the way between two rows is than the arc between its ends
is asked of a Parzen posterior on a few hundred support rows:

    d(x, x') = arc(x, x') + (length(x, x') - chord(x, x'))

where arc is by the local supports, and length and chord, along the segment and straight from end to end, by the small
one. The excess is never negative, zero for equal rows and symmetric, so two clusters of one class with another class
between them stay apart whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import scipy.sparse as sp

from prismap._util.affinities import bandwidths
from prismap._util.blocks import WORKING_BYTES, row_blocks
from prismap._util.search import partition_neighbors, smallest
from prismap.metrics._anchors import FittedIndex, typical_neighbor_distance
from prismap.metrics._segments import SegmentRule
from prismap.metrics._vector_search import vector_search
from prismap.metrics.posteriors._base import Posterior
from prismap.metrics.posteriors._density import ParzenBlock, ParzenDensity, ParzenRows, arc_between
from prismap.metrics.posteriors._rowwise import RootBlock, RootRows, RowPosterior, log_loss

#: Neighbours in units of the perplexity.
NEIGHBORS_FACTOR = 3
#: Rows of the small support, and sub-segments of the way between two rows.
PATH_SUPPORT, PATH_SEGMENTS = 500, 4


# --- the nearest of some fitted rows, for new ones --------------------------------------------------------------------


def nearest_among(data, columns):
    """What finds the nearest of the fitted rows `columns` of the data's own metric.

    Many vectors are searched; few, and those of which values are missing, sparse ones and matrices are passed.
    """
    if data.is_matrix or not data.is_complete or sp.issparse(data.rows_):
        return PassedNearest(data, columns)
    rows_at = partial(rows_among, data.rows_, columns)
    search = vector_search(rows_at, len(columns), typical_neighbor_distance(data.rows_))
    return PassedNearest(data, columns) if search is None else SearchedNearest(data, columns, search)


def rows_among(rows, columns, block):
    """Some of the rows `columns`. A function of its own, so that a map can be pickled."""
    return rows[columns[block]]


class PassedNearest:
    """The nearest of some fitted rows by a pass over all of them."""

    def __init__(self, data, columns):
        self.data, self.columns = data, columns

    def find(self, rows, n_neighbors, self_similarity=None):
        """Squared distances of rows, new ones or a `FittedIndex`, and which of the `columns`, nearest first."""
        n_rows = number_of(rows)
        squared, near = np.empty((n_rows, n_neighbors)), np.empty((n_rows, n_neighbors), dtype=np.intp)
        for block in row_blocks(n_rows, 24.0 * len(self.columns), WORKING_BYTES):
            own = None if self_similarity is None else self_similarity[block]
            D2 = np.maximum(self.data.squared_to(part_of(rows, block), self.columns, own), 0)
            squared[block], near[block] = smallest(D2, n_neighbors)
        return squared, near


class SearchedNearest:
    """The nearest of many fitted vectors by a `VectorSearch`. Its result is measured in double precision."""

    def __init__(self, data, columns, search):
        self.data, self.columns, self.search = data, columns, search

    def find(self, rows, n_neighbors, self_similarity=None):
        """Squared distances of rows, new ones or a `FittedIndex`, and which of the `columns`, nearest first."""
        if isinstance(rows, FittedIndex):
            return self._measured(self.data.rows_[rows.index], n_neighbors)
        missing = self.data.present_of(rows)
        if missing is None:
            return self._measured(self.data.centred(rows), n_neighbors)
        holed = ~missing.all(axis=1)
        squared, near = np.empty((len(rows), n_neighbors)), np.empty((len(rows), n_neighbors), dtype=np.intp)
        squared[holed], near[holed] = PassedNearest(self.data, self.columns).find(rows[holed], n_neighbors)
        if not holed.all():
            squared[~holed], near[~holed] = self.find(rows[~holed], n_neighbors)
        return squared, near

    def _measured(self, rows, n_neighbors):
        near = self.search.find(rows, n_neighbors)
        squared = np.empty(near.shape)
        for i, (row, columns) in enumerate(zip(rows.astype(np.float64), self.columns[near], strict=True)):
            squared[i] = np.square(self.data.rows_[columns] - row).sum(axis=1)
        order = np.argsort(squared, axis=1, kind="stable")
        return np.take_along_axis(squared, order, axis=1), np.take_along_axis(near, order, axis=1)


def number_of(rows):
    """How many rows there are, new ones or a `FittedIndex`."""
    return len(rows.index) if isinstance(rows, FittedIndex) else rows.shape[0]


def part_of(rows, block):
    """Some of the rows, new ones or a `FittedIndex`."""
    return FittedIndex(rows.index[block]) if isinstance(rows, FittedIndex) else rows[block]


# --- local supports ---------------------------------------------------------------------------------------------------


def local_probabilities(geometry, target, perplexity, rng, *, cross_fit=True, n_folds=10):
    """Class probabilities (n, C) of the fitted rows, each by labelled rows outside its own fold, and the perplexity."""
    codes, n_classes, labelled = target.values, len(target.classes), target.labelled_rows
    k = min(int(NEIGHBORS_FACTOR * perplexity), len(labelled) - 1)

    def between(a, b):
        return geometry.squared_to(FittedIndex(labelled[a]), labelled[b])

    neighbors = partition_neighbors(between, len(labelled), k, random_state=rng)
    folds = target.folds(labelled, n_folds, rng) if cross_fit else np.arange(len(labelled))
    D2 = np.maximum(neighbors.distances.astype(np.float64), 0)
    D2[folds[neighbors.indices] == folds[:, None]] = np.inf
    near = codes[labelled][neighbors.indices]
    judging = best_perplexity(D2, near, codes[labelled], n_classes, perplexity, rng)
    P = np.empty((geometry.n_rows_, n_classes))
    P[labelled] = class_shares(D2, near, n_classes, judging)
    others = np.flatnonzero(codes < 0)
    if len(others):
        P[others] = LabelledRows(geometry, codes, n_classes, perplexity, judging).judge(FittedIndex(others))
    return P, judging


def best_perplexity(D2, near, codes, n_classes, perplexity, rng):
    """The perplexity of the lowest log-loss, on some rows with these codes whose nearest have the codes `near`.

    Beside the map's own, a half, a third and a sixth of it are tried.
    """
    rows = rng.permutation(len(codes))[:5000]
    D2, near, codes = D2[rows], near[rows], codes[rows]
    smaller = (perplexity * share for share in (1 / 2, 1 / 3, 1 / 6))
    tried = [float(perplexity), *(one for one in smaller if one >= 2.0)]
    return tried[int(np.argmin([log_loss(class_shares(D2, near, n_classes, one), codes) for one in tried]))]


class LabelledRows:
    """The labelled rows, and how the nearest of them judge rows that have no label.

    Parameters
    ----------
    geometry : the metric of the data's own distances.
    codes : class codes of its rows, -1 where there is no label.
    n_classes : number of classes.
    perplexity, judging : that of the map, which says how many rows are looked at, and that of their weights.
    """

    def __init__(self, geometry, codes, n_classes, perplexity, judging):
        labelled = np.flatnonzero(codes >= 0)
        self.codes, self.nearest = codes[labelled], nearest_among(geometry, labelled)
        self.n_classes, self.judging = n_classes, judging
        self.n_neighbors = min(int(NEIGHBORS_FACTOR * perplexity), len(labelled))

    def judge(self, rows, self_similarity=None):
        """Class probabilities of rows, new ones or a `FittedIndex`."""
        n_rows = number_of(rows)
        P = np.empty((n_rows, self.n_classes))
        for block in row_blocks(n_rows, 64.0 * self.n_neighbors):
            own = None if self_similarity is None else self_similarity[block]
            D2, near = self.nearest.find(part_of(rows, block), self.n_neighbors, own)
            P[block] = class_shares(D2, self.codes[near], self.n_classes, self.judging)
        return P


def class_shares(D2, codes, n_classes, perplexity):
    """Gaussian weights of a perplexity, summed by class; infinite distances carry none.

    A row whose whole neighbourhood was struck out knows nothing: all classes alike.
    """
    D2 = D2.copy()
    blind = ~np.isfinite(D2).any(axis=1)
    D2[blind] = 0.0
    sigma = bandwidths(D2, perplexity)
    sigma = np.where(sigma > 0, sigma, 1.0)
    W = np.exp((D2.min(axis=1, keepdims=True) - D2) / (2 * sigma[:, None] ** 2))
    shares = np.zeros((len(D2), n_classes))
    np.add.at(shares, (np.arange(len(D2))[:, None], codes), W)
    shares /= shares.sum(axis=1, keepdims=True)
    shares[blind] = 1.0 / n_classes
    return shares


# --- the posterior ----------------------------------------------------------------------------------------------------


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
        data, order, folds = self.context.data, self.order, self.folds[self.order]
        exponent = np.empty((len(order), len(self.support)), dtype=data.dtype)
        cells = np.empty((len(order), self.along.n_classes, self.along.n_folds), dtype=data.dtype)
        for block in row_blocks(len(order), 16.0 * len(self.support)):
            Q = data.squared_to(FittedIndex(order[block]), self.support)
            part = self.along.bare_rows(Q, folds[block])
            exponent[block], cells[block] = part.exponent, part.cells
        return ExcessRows(RootRows.of(self.local[order], data.dtype), ParzenRows(exponent, cells, folds))

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
