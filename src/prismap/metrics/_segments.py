"""Fisher lengths of straight segments, from the posterior at nodes along them.

With p(a) the class posterior along a segment, the Fisher speed is ``sqrt(sum_c p_c (d log p_c / da)^2)``, which is
``2 ||d sqrt(p) / da||``: twice the speed of sqrt(p) on the unit sphere.

- *chord*: the arc on that sphere between consecutive nodes, ``4 asin(||sqrt p(t) - sqrt p(t+1)|| / 2)``. Symmetric,
  never longer than the straight segment, and needs class masses only.
- *tangent* (Schulz et al. 2017, eq. 8-10): the speed at one node per sub-segment, times its length 1/T. At left nodes
  (Schulz 2017, eq. 2.18), or mirrored about the middle (Schulz et al. 2017, eq. 9), which makes it symmetric.

A posterior gives the T sub-segment lengths one after another; `blend` adds them up, with the Euclidean part of the
tensor where supervision is partial.

How many sub-segments are enough depends on the data. `enough_segments` asks a sample of pairs, and `extrapolated` takes
the next term of the error, which falls with 1/T^2, from the length with half as many sub-segments.

`SegmentGraph` measures shortest paths over straight segments: a true metric, and never longer than any path along its
edges. Up to `EXACT_ROWS` rows every pair is an edge, so the paths are the shortest over all rows, no longer than the
straight segments. Beyond, the edges lead to the nearest neighbours, and a path may be longer than the segment that is
no edge. A new row enters by edges too. It must not be a shortcut between fitted rows, whose distances do not know of
it, so an edge l_e to row e is lengthened to ``max_f D(e, f) - l_f`` where it is shorter than that. Then
``f(j) = min_e l_e + D(e, j)`` keeps ``|f(j) - f(k)| <= D(j, k)`` and ``D(j, k) <= f(j) + f(k)`` for all fitted j, k.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from prismap._util.graphs import complete_geodesics, geodesics, neighbour_graph, until_connected
from prismap._util.threads import parallel_map

#: An extrapolated length is at most this share longer.
MOST_EXTRAPOLATED = 0.05
#: Rows up to which all segments are edges.
EXACT_ROWS = 1000
#: Neighbours of a row in the graph to start with; doubled until the graph is connected.
GRAPH_NEIGHBORS = 15


@dataclass(frozen=True)
class SegmentRule:
    """How a segment is measured: "chord" or "tangent", with how many sub-segments, symmetric or at left nodes.

    With `extrapolated`, which needs chords and an even number, lengths are carried on to more sub-segments. With
    `squared`, squares of sub-lengths are added up and no root is taken, as in Gisbrecht et al. (2015, sec. 4.1) and
    Schulz (2017, eq. 2.17).
    """

    path: str = "chord"
    n_segments: int = 2
    symmetric: bool = True
    extrapolated: bool = False
    squared: bool = False

    def length(self, sub_lengths, supervision, squared_steps=None):
        """Length of segments from what a posterior's block gives for this rule."""
        add_up = extrapolated if self.extrapolated else blend_squares if self.squared else blend
        return add_up(sub_lengths, self.n_segments, supervision, squared_steps)

    def nodes(self):
        """Where along the segment the posterior is needed: inner nodes for chords, one per sub-segment for tangents."""
        T = self.n_segments
        if self.path == "tangent":
            return [tangent_node(t, T, symmetric=self.symmetric) for t in range(T)]
        return [t / T for t in range(1, T)]


def join(states, length, *, coarse=False):
    """Lengths between consecutive states, one after another.

    With `coarse`, every second one is followed by the length between states two apart, for `extrapolated`.
    """
    states = iter(states)
    previous = corner = next(states)
    for t, here in enumerate(states):
        yield length(previous, here)
        if coarse and t % 2:
            yield length(corner, here)
            corner = here
        previous = here


def blend(sub_lengths, n_segments, supervision, squared_steps=None):
    """Length of a segment under the tensor ``w J + (1-w) I / sigma^2``, integrated over its sub-segments.

    `squared_steps` is ``||x - x'||^2 / sigma^2`` of the pairs, needed when w < 1.
    """
    total = None
    for length in sub_lengths:
        length = blended(length, n_segments, supervision, squared_steps)
        total = length if total is None else total + length
    return total


def blend_squares(sub_lengths, n_segments, supervision, squared_steps=None):
    """``sum_t (x_t+1 - x_t)^T (w J + (1-w) I / sigma^2) (x_t+1 - x_t)``: the printed sums without a root."""
    return sum(np.square(blended(length, n_segments, supervision, squared_steps)) for length in sub_lengths)


def blended(length, n_segments, supervision, squared_steps):
    """One sub-segment's length with its Euclidean part, in place."""
    if supervision < 1:
        np.multiply(length, length, out=length)
        length *= supervision
        length += (1 - supervision) / n_segments**2 * squared_steps
        np.sqrt(length, out=length)
    return length


def extrapolated(sub_lengths, n_segments, supervision, squared_steps=None):
    """The same from the sub-lengths of `join` with `coarse`: ``L(T) + (L(T) - L(T/2)) / 3``.

    The step is never negative, since coarse lengths are the shorter ones, and it is kept small: where halving T loses a
    whole class on the way, the error is no power of 1/T and there is nothing to carry on.
    """
    fine: Any = 0.0
    coarse: Any = 0.0
    parts = iter(sub_lengths)
    for one, two, both in zip(parts, parts, parts, strict=True):
        fine = fine + blended(one, n_segments, supervision, squared_steps)
        fine += blended(two, n_segments, supervision, squared_steps)
        coarse = coarse + blended(both, n_segments // 2, supervision, squared_steps)
    step = np.subtract(fine, coarse, out=coarse)
    step /= 3
    fine += np.clip(step, 0, MOST_EXTRAPOLATED * fine, out=step)
    return fine


def enough_segments(length, most=32, *, share=0.99, tolerance=0.02):
    """The fewest sub-segments, at most so many, that leave nearly all of some segments as long as very many do.

    ``length(rule)`` gives the lengths of these segments. Enough is what leaves a `share` of them within a `tolerance`
    in proportion to their length, down to a thousandth of the longest: shorter ones are no distances that anything
    rests on.
    """
    reference = length(SegmentRule(n_segments=2 * most, extrapolated=True))
    allowed = tolerance * np.maximum(reference, 1e-3 * reference.max())
    rules = [SegmentRule(n_segments=T, extrapolated=True) for T in (2, 4, 6, 8, 12, 16, 24, 32) if most >= T]
    for rule in rules:
        if np.mean(np.abs(length(rule) - reference) <= allowed) >= share:
            return rule
    return rules[-1]


def sample_pairs(fold, mean, n_rows):
    """Pairs of sets of rows, each set of one fold, that stand for all: indices, spread evenly over mean profiles.

    The two largest folds give `n_rows` rows each; where folds are smaller, more of them do, until as many pairs are
    together. Nothing is drawn and the order of the rows does not matter.
    """
    kinds, counts = np.unique(fold, return_counts=True)
    kinds = kinds[np.argsort(-counts, kind="stable")]
    groups = [np.flatnonzero(fold == kind) for kind in kinds]
    groups = [group[np.argsort(mean[group], kind="stable")] for group in groups]
    if len(groups) == 1:
        groups = [groups[0][::2], groups[0][1::2]]
    groups = [group[np.linspace(0, len(group) - 1, min(n_rows, len(group))).round().astype(int)] for group in groups]
    pairs, n_pairs = [], 0
    for a, b in combinations(groups, 2):
        if n_pairs >= n_rows**2:
            break
        pairs.append((a, b))
        n_pairs += len(a) * len(b)
    return pairs


def tangent_node(t, n_segments, *, symmetric):
    """Where the speed of sub-segment t is taken: its left end, or its end away from the segment's middle."""
    if not symmetric or 2 * t + 1 < n_segments:
        return t / n_segments
    return 0.5 if 2 * t + 1 == n_segments else (t + 1) / n_segments


def root_masses(W, total):
    """Square roots of the class shares of masses (C, n_A, n_B) with this sum over the classes, in place."""
    np.sqrt(W, out=W)
    np.sqrt(total, out=total)
    W /= total
    return W


def squared_gap(root, other):
    """``||sqrt p - sqrt p'||^2`` over the leading (class) axis; differences first, so small gaps keep their digits."""
    gap = root[0] - other[0]
    gap *= gap
    step = np.empty_like(gap)
    for one, two in zip(root[1:], other[1:], strict=True):
        np.subtract(one, two, out=step)
        step *= step
        gap += step
    return gap


def arc(squared):
    """``4 asin(||.|| / 2)`` of a squared gap, in place."""
    np.sqrt(squared, out=squared)
    squared *= 0.5
    np.minimum(squared, 1, out=squared)
    np.arcsin(squared, out=squared)
    squared *= 4
    return squared


def between_class_deviation(W, M):
    """``sqrt(sum_c p_c (u_c - u)^2)`` with class means ``u_c = M_c / W_c`` and class shares ``p_c``."""
    total = W.sum(axis=0)
    mean = M.sum(axis=0) / total
    variance = np.zeros_like(total)
    for mass, moment in zip(W, M, strict=True):
        class_mean = np.divide(moment, mass, out=mean.copy(), where=mass > 0)
        variance += mass * (class_mean - mean) ** 2
    return np.sqrt(variance / total)


# --- shortest paths over segments -------------------------------------------------------------------------------------


class SegmentGraph:
    """Fitted rows as nodes, straight segments as edges.

    Parameters
    ----------
    straight : ``straight()``, lengths of all segments.
    kneighbors : ``kneighbors(k)``, lengths and indices of the shortest segments of each row.
    n_rows : number of rows.
    """

    def __init__(self, straight, kneighbors, n_rows):
        self.n_rows, self.complete = n_rows, n_rows <= EXACT_ROWS
        if self.complete:
            self.lengths = complete_geodesics(straight())
        else:
            self.graph = neighbour_graph(*until_connected(kneighbors, n_rows, GRAPH_NEIGHBORS)[:2])

    def describe(self):
        """Which segments are edges, in words."""
        return "shortest paths over all segments" if self.complete else "shortest paths over segments to neighbours"

    @property
    def n_entries(self):
        """Segments by which a new row enters the graph."""
        return self.n_rows if self.complete else min(GRAPH_NEIGHBORS, self.n_rows)

    def paths(self, index=None):
        """Path lengths (n, n_rows) from some nodes, or all, to all."""
        if self.complete:
            return self.lengths.copy() if index is None else self.lengths[index]
        return geodesics(self.graph, index)

    def paths_of_new(self, lengths, entries):
        """Path lengths of new rows to all nodes from the segments by which they enter, (n_new, n_entries) each."""
        nodes, place = np.unique(entries, return_inverse=True)
        D, place = self.paths(nodes), place.reshape(entries.shape)
        out = np.empty((len(entries), self.n_rows))
        for i, own in enumerate(place):
            edges = lengths[i].astype(np.float64)
            among = D[np.ix_(own, entries[i])]
            edges = np.maximum(edges, (among - edges).max(axis=1))
            out[i] = (edges[:, None] + D[own]).min(axis=0)
        return out


# --- all pairs of two sets of rows, tile by tile on all cores ---------------------------------------------------------

#: Rows of a chunk (shared exponentials and gathered columns) and of a tile (arrays that should stay in cache).
CHUNK = 1024
TILE = 192


def fold_chunks(fold, size):
    """Slices of at most `size` consecutive rows that lie in one fold (rows sorted by fold)."""
    edges = np.flatnonzero(np.diff(fold)) + 1
    for start, stop in pairwise([0, *edges.tolist(), len(fold)]):
        for first in range(start, stop, size):
            yield slice(first, min(first + size, stop))


def tile_slices(n_rows):
    """Slices of at most TILE rows, as even as they can be."""
    n_tiles = -(-n_rows // TILE)
    edges = [n_rows * k // n_tiles for k in range(n_tiles + 1)]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def fill_pairs(out, A, B, make_block, lengths, *, same, chunk_rows=None):
    """Fill `out` (n_A, n_B) with the lengths of all pairs; rows of A and of B are sorted by fold.

    ``make_block(slice_a, slice_b)`` prepares a pair of chunks, ``lengths(block, chunk_a, chunk_b, tile_a, tile_b)``
    measures a tile of it. With `same`, A is B and only one triangle is computed. `chunk_rows` is what a block may hold.
    """
    size = min(CHUNK, chunk_rows or CHUNK)
    jobs = [(a, b) for a in fold_chunks(A, size) for b in fold_chunks(B, size) if not same or b.start >= a.start]

    def run(job):
        a, b = job
        block = make_block(a, b)
        for tile_a in tile_slices(a.stop - a.start):
            for tile_b in tile_slices(b.stop - b.start):
                if same and a == b and tile_b.start < tile_a.start:
                    continue
                tile = lengths(block, a, b, tile_a, tile_b)
                rows = slice(a.start + tile_a.start, a.start + tile_a.stop)
                columns = slice(b.start + tile_b.start, b.start + tile_b.stop)
                if same and rows == columns:
                    tile = (tile + tile.T) / 2
                out[rows, columns] = tile
                if same:
                    out[columns, rows] = tile.T

    parallel_map(run, jobs)
    return out
