"""The Parzen class density along straight segments, in the product form.

For ``x(a) = (1-a) x + a x'`` the identity ``||x(a) - x_l||^2 = (1-a) q_l(x) + a q_l(x') - a(1-a) ||x-x'||^2`` holds,
and its last term is the same for every support row l, so it cancels in all ratios. The kernel weights along the segment
are therefore a product of one factor per endpoint,

    w_l(a) ~ exp(-(1-a) q_l(x) / 2 sigma^2) * exp(-a q_l(x') / 2 sigma^2),

and the class masses ``W_c(a) = sum_{l in class c} w_l(a)`` of all pairs of two blocks of rows are one matrix product
per class and node. At a = 0 and a = 1 they depend on one row alone and need no product at all.

Cross-fitting: every support row lies in a fold, and a pair of rows from folds g and h only sees the support outside g
and h. Rows that are not support lie in no fold (-1) and exclude nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from prismap._util.blocks import WORKING_BYTES, row_blocks
from prismap.exceptions import InputError
from prismap.metrics._segments import arc, between_class_deviation, join, root_masses, squared_gap

#: Below this a sum of products of two factors may have lost terms to underflow, and its pairs are done again.
SMALLEST_MASS = {np.dtype(np.float32): 1e-30, np.dtype(np.float64): 1e-290}


@dataclass(frozen=True)
class ParzenRows:
    """What the posterior needs of some rows.

    exponent : ``-(q - min q) / 2 sigma^2`` (n, |S|), support sorted.
    cells : kernel masses at the row itself by class and fold, (n, C, folds).
    factors : ``exp(share * exponent)`` for the shares that the rule's nodes need; others are made when asked for.
    fold : the fold each row lies in, -1 for none.
    """

    exponent: np.ndarray
    cells: np.ndarray
    fold: np.ndarray
    factors: dict[float, np.ndarray] = field(default_factory=dict)

    def __len__(self):
        return len(self.fold)

    def take(self, index):
        """Some of the rows; views where the index is a slice."""
        factors = {share: factor[index] for share, factor in self.factors.items()}
        return ParzenRows(self.exponent[index], self.cells[index], self.fold[index], factors)

    def factor(self, share):
        """``exp(share * exponent)``."""
        return self.factors[share] if share in self.factors else np.exp(share * self.exponent)


class ParzenDensity:
    """Gaussian kernels of one bandwidth on labelled support rows.

    Parameters
    ----------
    codes : class code of each support row.
    n_classes : number of classes.
    folds : fold of each support row, or None for no cross-fitting (the published estimate).
    bandwidth : sigma.
    rule : the `SegmentRule` that segments are measured with.

    The support is kept sorted by class and, inside a class, by fold; `order` says how.
    """

    def __init__(self, codes, n_classes, folds, bandwidth, rule):
        folds = np.zeros(len(codes), dtype=np.intp) if folds is None else folds
        self.order = np.lexsort((folds, codes))
        self.codes, self.folds = np.asarray(codes)[self.order], folds[self.order]
        self.n_classes, self.n_folds = n_classes, int(folds.max()) + 1
        self.bandwidth = bandwidth
        self.rule = rule

    def bytes_per_row(self, itemsize):
        """Memory of the state of one row."""
        return (2 + len(self._shares())) * len(self.order) * itemsize

    def _shares(self):
        """Shares whose factors are kept: for chords the first, whose powers are the others."""
        if self.rule.path == "tangent":
            return sorted({a for node in self.rule.nodes() for a in (node, 1 - node)})
        return [1 / self.rule.n_segments] if self.rule.n_segments > 1 else []

    def chunk_rows(self):
        """Rows of a block at most: the factors of all nodes, 128 MB, are at hand for both of its sides."""
        return max(64, 2**27 // (16 * len(self.order) * max(1, len(self.rule.nodes()))))

    def rows(self, Q, fold=None):
        """State of rows from their squared profiles against the support (in the order it was given in)."""
        return self.prepared(self.bare_rows(Q, fold))

    def bare_rows(self, Q, fold=None):
        """The same without factors at hand: of very many rows these would take as much memory as all else."""
        exponent = Q[:, self.order]
        exponent -= exponent.min(axis=1, keepdims=True)
        exponent *= exponent.dtype.type(-0.5 / self.bandwidth**2)
        starts = np.searchsorted(self.codes * self.n_folds + self.folds, np.arange(self.n_classes * self.n_folds + 1))
        cells = class_sums(np.exp(exponent), starts).reshape(len(Q), self.n_classes, self.n_folds)
        fold = np.full(len(Q), -1, dtype=np.intp) if fold is None else fold
        return ParzenRows(exponent, cells, fold)

    def prepared(self, rows):
        """The same rows with the factors of the rule at hand."""
        return replace(rows, factors={share: rows.factor(share) for share in self._shares()})

    def kept(self, fold_a, fold_b):
        """Ranges of the sorted support that a pair of rows from two folds may see, and where each class starts."""
        visible = (self.folds != fold_a) & (self.folds != fold_b)
        if not visible.any():
            raise InputError(
                f"cross_fit=True judges a pair of rows by the labels of others, and {len(self.codes)} labelled rows "
                "leave none: at least 3 are needed. Set cross_fit=False, or label more rows."
            )
        edges = np.flatnonzero(np.diff(np.r_[False, visible, False].astype(np.int8)))
        ranges = [slice(start, stop) for start, stop in zip(edges[::2], edges[1::2], strict=True)]
        starts = np.searchsorted(self.codes[visible], np.arange(self.n_classes + 1))
        return ranges, starts

    def root_posterior(self, rows, fold_a, fold_b):
        """Square roots of the class posteriors at the rows themselves, (n, C), without the support of two folds."""
        masses = np.zeros(rows.cells.shape[:2], dtype=rows.cells.dtype)
        for fold in range(self.n_folds):  # few sums of whole arrays, not many of a few numbers each
            if fold not in (fold_a, fold_b):
                masses += rows.cells[:, :, fold]
        total = masses.sum(axis=1, keepdims=True)
        # A row whose near support all lies in the left-out folds: once more, scaled to what is left.
        far = np.flatnonzero(total[:, 0] < SMALLEST_MASS[masses.dtype])
        if len(far):
            ranges, starts = self.kept(fold_a, fold_b)
            exponent = gather(rows.exponent[far], ranges)
            masses[far] = class_sums(np.exp(exponent - exponent.max(axis=1, keepdims=True)), starts)
            total[far] = masses[far].sum(axis=1, keepdims=True)
        return np.sqrt(masses / total)

    def probabilities(self, rows):
        """Class posteriors of the rows, each without the support of its own fold."""
        P = np.empty((len(rows), self.n_classes), dtype=rows.exponent.dtype)
        for fold in np.unique(rows.fold):
            index = np.flatnonzero(rows.fold == fold)
            P[index] = self.root_posterior(rows.take(index), fold, fold) ** 2
        return P

    def tensor_factor(self, rows, support):
        """``sqrt(p_c) (E[x_l|x,c] - E[x_l|x]) / sigma^2`` as (n, C, D), each row without its own fold."""
        factors = np.empty((len(rows), self.n_classes, support.shape[1]), dtype=rows.exponent.dtype)
        support = support[self.order]
        for fold in np.unique(rows.fold):
            index = np.flatnonzero(rows.fold == fold)
            ranges, starts = self.kept(fold, fold)
            exponent = gather(rows.exponent[index], ranges)
            weights = np.exp(exponent - exponent.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            kept = gather(support.T, ranges).T
            mean = weights @ kept
            for c, (start, stop) in enumerate(pairwise(starts)):
                mass = weights[:, start:stop].sum(axis=1, keepdims=True)
                # p_c (m_c - m) / sqrt(p_c), with m_c = (weights of c @ rows of c) / p_c: no division by an empty class.
                offset = weights[:, start:stop] @ kept[start:stop] - mass * mean
                factors[index, c] = np.divide(offset, np.sqrt(mass), out=np.zeros_like(offset), where=mass > 0)
        return factors / self.bandwidth**2


class ParzenBlock:
    """Segments between two sets of rows, each set from one fold, ready to be measured tile by tile."""

    def __init__(self, posterior, A, B):
        fold_a, fold_b = A.fold[0], B.fold[0]
        self.rule, self.nodes = posterior.rule, posterior.rule.nodes()
        self.ranges, self.starts = posterior.kept(fold_a, fold_b)
        self.rows_a, self.rows_b = A, B
        if self.rule.path == "tangent":
            self.factors_a = [gather(A.factor(1 - node), self.ranges) for node in self.nodes]
            self.factors_b = [gather(B.factor(node), self.ranges) for node in self.nodes]
        else:
            first, most = 1 / self.rule.n_segments, len(self.nodes)
            self.factors_a = powers(gather(A.factor(first), self.ranges), most)[::-1] if most else []
            self.factors_b = powers(gather(B.factor(first), self.ranges), most) if most else []
            self.root_a = np.ascontiguousarray(posterior.root_posterior(A, fold_a, fold_b).T)
            self.root_b = np.ascontiguousarray(posterior.root_posterior(B, fold_a, fold_b).T)

    def sub_lengths(self, a, b):
        """The T sub-segment lengths (n_a, n_b) of the pairs of two slices, one after another, as `join` gives them."""
        if self.rule.path == "tangent":
            speeds = (between_class_deviation(*self._masses_and_moments(t, a, b)) for t in range(len(self.nodes)))
            return (speed / self.rule.n_segments for speed in speeds)
        return join(self._roots(a, b), arc_between, coarse=self.rule.extrapolated)

    def _roots(self, a, b):
        """Square roots of the posteriors at both ends and the nodes between."""
        yield self.root_a[:, a, None]
        for t in range(len(self.nodes)):
            yield root_masses(*self._masses(t, a, b))
        yield self.root_b[:, None, b]

    def _exponents(self, a, b):
        return gather(self.rows_a.exponent[a], self.ranges), gather(self.rows_b.exponent[b], self.ranges)

    def _masses(self, t, a, b):
        """Class masses W (C, n_a, n_b) at node t and their sums; only their ratios have a meaning.

        Pairs whose masses underflow are redone: a whole tile in float64 if they are more than 2 %, single pairs in log
        space.
        """
        W = class_products(self.factors_a[t][a], self.factors_b[t][b], self.starts)
        total = W.sum(axis=0)
        if total.min() >= SMALLEST_MASS[W.dtype]:
            return W, total
        lost = total < SMALLEST_MASS[W.dtype]
        node, (A, B) = self.nodes[t], self._exponents(a, b)
        if W.dtype == np.float32 and lost.mean() > 0.02:
            wide = class_products(
                np.exp((1 - node) * A.astype(np.float64)), np.exp(node * B.astype(np.float64)), self.starts
            )
            total = wide.sum(axis=0)
            lost = total < SMALLEST_MASS[wide.dtype]
            # Shares instead of masses, which float32 could not hold; what is lost here too is filled in below.
            W = (wide / np.where(lost, 1.0, total)).astype(np.float32)
        for i, j in pair_chunks(lost, A.shape[1]):
            W[:, i, j] = log_space_weights(A[i], B[j], node, self.starts)[1].T
        return W, W.sum(axis=0)

    def _masses_and_moments(self, t, a, b):
        """Class masses and first moments ``M_c = sum_l w_l u_l`` of ``u_l = (q_l(x') - q_l(x)) / 2 sigma^2``.

        In exponents u is A - B, up to a constant of the pair that does not change the between-class variance.
        """
        FA, FB, (A, B) = self.factors_a[t][a], self.factors_b[t][b], self._exponents(a, b)
        W = class_products(FA, FB, self.starts)
        M = class_products(FA * A, FB, self.starts) - class_products(FA, FB * B, self.starts)
        lost = W.sum(axis=0) < SMALLEST_MASS[W.dtype]
        for i, j in pair_chunks(lost, A.shape[1]):
            weights, masses = log_space_weights(A[i], B[j], self.nodes[t], self.starts)
            W[:, i, j] = masses.T
            M[:, i, j] = class_sums(weights * (A[i] - B[j]), self.starts).T
        return W, M


def arc_between(root, other):
    """Arcs between square roots of posteriors."""
    return arc(squared_gap(root, other))


def powers(base, most):
    """The powers 1 to `most` of an array."""
    products = [base]
    while len(products) < most:
        products.append(products[-1] * base)
    return products


def gather(columns, ranges):
    """The columns of some ranges, side by side; a view when it is all of them."""
    if len(ranges) == 1:
        return columns[:, ranges[0]]
    return np.concatenate([columns[:, part] for part in ranges], axis=1)


def pair_chunks(mask, n_columns):
    """The marked pairs as index arrays, few enough at a time for arrays with `n_columns` columns."""
    i, j = np.nonzero(mask)
    for rows in row_blocks(len(i), 32.0 * n_columns, WORKING_BYTES // 8):
        yield i[rows], j[rows]


def class_products(FA, FB, starts):
    """``sum_{l in class c} FA[i, l] FB[j, l]`` as (C, n_A, n_B): one matrix product per class."""
    W = np.empty((len(starts) - 1, len(FA), len(FB)), dtype=FA.dtype)
    for c, (start, stop) in enumerate(pairwise(starts)):
        np.matmul(FA[:, start:stop], FB[:, start:stop].T, out=W[c])
    return W


def class_sums(weights, starts):
    """Sums over the columns of each class, (n, C); an empty class sums to zero."""
    sums = np.zeros((len(weights), len(starts) - 1), dtype=weights.dtype)
    filled = np.flatnonzero(starts[1:] > starts[:-1])
    sums[:, filled] = np.add.reduceat(weights, starts[:-1][filled], axis=1)
    return sums


def log_space_weights(A, B, a, starts):
    """Weights and class masses of single pairs (rows of A with rows of B) in float64, largest weight scaled to one."""
    exponent = (1 - a) * A.astype(np.float64) + a * B.astype(np.float64)
    exponent -= exponent.max(axis=1, keepdims=True)
    weights = np.exp(exponent)
    return weights, class_sums(weights, starts)
