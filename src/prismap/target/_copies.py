"""Copies: rows that are the same thing twice, exactly or but for a little noise, and units that are joined.

A copy that is left out of a fold stays in it by its twin, so copies are one unit. Two rules keep ordinary tables out:

**Equal rows of a table of few answers are no copies.** Independent people often give the same answers. Chance then
also makes near misses: rows that are equal but for one column or two. With N pairs of equal rows, N_j pairs that differ
in column j alone and N_jl pairs that differ in j and l alone, agreement in two columns that is independent among rows
that agree in all others means ``N N_jl = N_j N_l``, so that chance lets one expect

    sum_{j < l} N_j N_l / sum_{j < l} N_jl

pairs of equal rows. (On the passengers of the Titanic it expects 50 pairs, and there are 55; among bootstrapped
passengers, it expects 45 of 405.) Equal rows are copies if N is more than `CHANCE_FACTOR` times this number, or if
every row is there equally often, at least twice. Numbers with many digits have no near misses, so that their equal rows
are copies. Rows of a single column are copies in the latter case only.

**Near copies are nearer to each other than the rows around them let one expect.** Let r_1 <= r_2 <= ... be the
distances of a row to its neighbours. Where rows lie with a density that changes little over this range, in d
dimensions, the gaps ``e_k = k log(r_{k+1} / r_k)`` are independent and exponential with mean 1/d for every k (Levina
and Bickel 2005; Facco et al. 2017 for k = 1). Gaps at later neighbours (`NearRules.reference`) estimate d. A row with
m - 1 near copies has a long gap at k = m - 1, which is held against the exponential distribution by the false discovery
rate of Benjamini and Hochberg (1995) over all rows. Rows on a curve or in a film have neighbours on both sides and no
gap.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors

from prismap._util.arrays import Numbers, Rows, columns_of
from prismap._util.blocks import row_blocks
from prismap._util.missing import mean_filled
from prismap._util.search import partition_neighbors

#: Equal rows are copies if there are more than so many times the pairs that chance makes.
CHANCE_FACTOR = 4.0
#: Pairs of columns in which near misses are counted, times rows.
MISSES_BUDGET = 5_000_000


@dataclass(frozen=True)
class NearRules:
    """When rows count as near copies of each other.

    Attributes
    ----------
    most_copies : rows of a group at most; gaps from there to the last neighbour are the reference.
    last_neighbor : the last neighbour that is looked at.
    false_share : share of false discoveries among rows with a gap.
    least_ratio : the least ratio of distances that is a gap.
    long_gap : one row in twenty has a gap of more mean lengths than this by chance.
    share_of_rows : if so large a share of the rows has a long gap after the same number of neighbours, the table as
        a whole is made of copies, and shorter gaps count.
    clear_gap : the mean lengths of those shorter gaps.
    most_missing : columns that lack a larger share of their values are left out, if others remain.
    lattice : distances that are equal for so large a share of the rows are steps of a lattice, which has gaps
        without copies.
    """

    most_copies: int = 10
    last_neighbor: int = 24
    false_share: float = 0.01
    least_ratio: float = 2.0
    long_gap: float = 3.0
    share_of_rows: float = 0.36
    clear_gap: float = 2.0
    most_missing: float = 0.1
    lattice: float = 0.05

    @property
    def reference(self) -> slice:
        """The gaps that the number of dimensions is estimated from."""
        return slice(self.most_copies - 1, self.last_neighbor)


NEAR = NearRules()


@dataclass(frozen=True)
class ManyRows:
    """How near copies are looked for among many rows.

    Attributes
    ----------
    rows : with more rows than this, a sample is looked at first.
    sample : rows of that sample.
    rare : the other rows are looked at only if so large a share of the sample has copies.
    columns : if there are more columns, they are projected at random on so many directions.
    """

    rows: int = 10_000
    sample: int = 2_000
    rare: float = 0.01
    columns: int = 100


MANY = ManyRows()


@dataclass(frozen=True)
class Copies:
    """Rows that are copies of each other, as units.

    Attributes
    ----------
    units : the unit of each row, numbered from 0 in the order of the rows.
    ratio : distance to the nearest row outside, over the largest distance among copies (median of the rows with
        copies); infinite for exact copies, 1 without copies.
    by_chance : pairs of equal rows that are expected by chance; where `units` are all rows although rows are equal, it
        says why.
    sampled : whether only a sample of the rows was looked at, because few of them have copies.
    """

    units: Rows
    ratio: float = math.inf
    by_chance: float = 0.0
    sampled: bool = False

    @property
    def sizes(self) -> Rows:
        """The sizes of units of more than one row."""
        sizes = np.bincount(self.units)
        return sizes[sizes > 1]

    @property
    def n_rows(self) -> int:
        """Rows that have a copy."""
        return int(self.sizes.sum())

    def __bool__(self) -> bool:
        return self.n_rows > 0


def number_units(labels: NDArray[Any]) -> Rows:
    """Units numbered from 0 in the order in which they first appear.

    >>> number_units(np.array([7, 7, 3, 7, 5])).tolist()
    [0, 0, 1, 0, 2]
    """
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes.ravel()]


def join_units(*units: NDArray[Any]) -> Rows:
    """The finest units that contain all of the given ones: rows are joined if any of these join them.

    >>> join_units(np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 2, 2])).tolist()
    [0, 0, 0, 1, 1]
    """
    n_rows, parts, n_nodes = len(units[0]), [], len(units[0])
    for one in units:
        codes = number_units(np.asarray(one))
        parts.append(codes + n_nodes)
        n_nodes += int(codes.max(initial=-1)) + 1
    rows, nodes = np.tile(np.arange(n_rows), len(parts)), np.concatenate(parts)
    graph = sp.coo_array((np.ones(len(rows)), (rows, nodes)), shape=(n_nodes, n_nodes))
    return number_units(connected_components(graph, directed=False)[1][:n_rows])


# --- exact copies -----------------------------------------------------------------------------------------------------


def exact_copies(X: Any, data: str = "vectors") -> Copies:
    """Rows that are equal in all columns (NaN equals NaN), unless chance makes as many equal rows.

    Parameters
    ----------
    X : (n, D) vectors, dense or csr; a square matrix of similarities or dissimilarities; or a list of objects.
    data : "vectors", "similarity", "dissimilarity" or "objects".
    """
    if data == "objects":
        return Copies(number_units(np.array([object_key(place, one) for place, one in enumerate(X)])))
    keys = row_keys(X)
    units = number_units(keys)
    if data != "vectors" or sp.issparse(X) or len(np.unique(keys)) == len(keys) or equally_often(units):
        return Copies(units)
    chance = pairs_by_chance(np.asarray(X), keys)
    return Copies(units if n_pairs(keys) > CHANCE_FACTOR * chance else np.arange(len(keys)), by_chance=chance)


def equal_rows(X: Any) -> Rows:
    """A number for each row of vectors, the same for rows that are equal in all columns, by chance or as copies.

    >>> equal_rows(np.array([[1.0, 2.0], [0.0, 2.0], [1.0, 2.0]])).tolist()
    [0, 1, 0]
    """
    return number_units(row_keys(X))


def row_keys(X: Any) -> NDArray[Any]:
    """A key for each row of vectors, dense or sparse, that equal rows share."""
    if sp.issparse(X):
        X = without_empty_columns(X)
        weights = np.random.default_rng(0).normal(size=(X.shape[1], 2))
        return np.asarray((X @ weights).view(np.complex128).ravel())
    X = np.asarray(X)
    parts = row_blocks(len(X), 8 * X.shape[1], budget=2**22)
    return np.concatenate([hashed(X[rows]).sum(axis=1, dtype=np.uint64) for rows in parts])


def object_key(place: int, one: Any) -> str:
    """Text that equal objects share. What is no text, number or collection of these is equal to nothing else."""
    if isinstance(one, np.ndarray):
        return repr((one.shape, one.tolist()))
    return repr(one) if isinstance(one, (str, bytes, int, float, list, tuple, dict, set, frozenset)) else str(place)


def hashed(X: NDArray[Any]) -> NDArray[np.uint64]:
    """A random number for each column and value, of 64 bits; sums of a row's numbers are equal for equal rows."""
    bits = np.ascontiguousarray(X, dtype=np.float64) + 0.0  # minus zero becomes zero
    bits[np.isnan(bits)] = np.nan
    mixed: NDArray[np.uint64] = bits.view(np.uint64)
    mixed += np.random.default_rng(0).integers(2**63, size=X.shape[1], dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # the mixer of SplitMix64
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def equally_often(units: Rows) -> bool:
    """Whether every row is there twice, or three times, and so on: chance would not deal them so evenly."""
    sizes = np.bincount(units)
    return len(sizes) >= NEAR.most_copies and int(np.gcd.reduce(sizes)) > 1


def n_pairs(keys: NDArray[Any]) -> float:
    """Pairs of rows with equal keys."""
    sizes = np.unique(keys, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1)).sum() / 2)


def pairs_by_chance(X: NDArray[Any], keys: NDArray[np.uint64]) -> float:
    """Pairs of equal rows that near misses let one expect (the formula is that of the module)."""
    blocks = np.add.reduceat(hashed(X), answers(X), axis=1).T
    if len(blocks) == 1:
        return n_pairs(keys)
    first, second = np.triu_indices(len(blocks), 1)
    chosen = np.random.default_rng(0).permutation(len(first))[: max(50, MISSES_BUDGET // len(keys))]
    equal, expected, misses = n_pairs(keys), 0.0, 0.0
    single = {j: n_pairs(keys - blocks[j]) - equal for j in np.unique([first[chosen], second[chosen]])}
    for j, k in zip(first[chosen], second[chosen], strict=True):
        expected += single[j] * single[k]
        misses += n_pairs(keys - blocks[j] - blocks[k]) - equal - single[j] - single[k]
    return expected / max(misses, 1.0)


def answers(X: NDArray[Any]) -> Rows:
    """Where columns begin that are one answer each: a run of two-valued columns that exclude each other is one.

    An encoded category is such a run, and a row that differs in it alone differs in two columns.
    """
    low, high = X.min(axis=0), X.max(axis=0)  # NaN of columns with missing values, which are no such run
    starts = [0]
    taken = np.zeros(len(X), dtype=bool)
    for column in range(X.shape[1]):
        above = X[:, column] == high[column]
        two_valued = bool((above | (X[:, column] == low[column])).all()) and low[column] < high[column]
        joins = two_valued and not (taken & above).any()
        if column and not joins:
            starts.append(column)
            taken = np.zeros(len(X), dtype=bool)
        taken |= above if two_valued else True
    return np.array(starts, dtype=np.intp)


# --- near copies ------------------------------------------------------------------------------------------------------


def near_copies(X: Any, data: str = "vectors", rng: np.random.Generator | None = None) -> Copies:
    """Rows that are copies of each other but for a little noise, in groups of at most ten.

    Columns are brought to variance 1. Two-valued columns are left out, because rows of a rare category are near
    each other without being copies. Rows that are equal count once. If equal rows occur by chance, so do near
    ones, and none are returned. Up to 10,000 rows are compared with all others. Of more rows, a sample is compared
    first, and all of them, by an approximate search, if at least 1 % of the sample has near copies; more than 100
    columns are then projected at random on 100 directions.

    Parameters
    ----------
    X, data : as in `exact_copies`.
    rng : for the sample and the approximate search.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    none = Copies(np.arange(n_rows), ratio=1.0)
    rows = measured(X, data)
    if rows is None:
        return none
    exact = exact_copies(rows, data)  # of these columns, which may be fewer than those of X
    first = np.unique(exact.units, return_index=True)[1]
    if (exact.by_chance and not exact) or len(first) <= NEAR.last_neighbor + 1:
        return none
    near = near_vectors(rows[first], rng) if data == "vectors" else near_groups(*nearest_in(rows[np.ix_(first, first)]))
    return Copies(number_units(near.units[exact.units]), ratio=near.ratio, sampled=near.sampled)


def measured(X: Any, data: str) -> Any:
    """What distances are taken of: columns of more than two values at variance 1, sparse rows, or distances themselves.

    None if there is nothing to measure: objects, or fewer than two such columns. Distances of similarities are
    ``d_ij^2 = s_ii + s_jj - 2 s_ij``.
    """
    if data == "objects":
        return None
    if data != "vectors":
        S = np.asarray(X, dtype=np.float64)
        S = (S + S.T) / 2
        own = np.diag(S)
        return S if data == "dissimilarity" else np.sqrt(np.maximum(own[:, None] + own - 2 * S, 0))
    if sp.issparse(X):
        return without_empty_columns(X)
    X = np.asarray(X, dtype=np.float32 if len(X) > MANY.rows else np.float64)
    full = np.isnan(X).mean(axis=0) <= NEAR.most_missing  # rows that lack the same values would be near each other
    Z = mean_filled(X[:, full] if full.sum() >= 2 else X)
    mean, spread = (of(axis=0, dtype=np.float64).astype(Z.dtype) for of in (Z.mean, Z.std))
    inner = ((Z.min(axis=0) < Z) & (Z.max(axis=0) > Z)).any(axis=0) & (spread > 0)  # the squares of 1e-200 are 0
    if inner.sum() < 2:
        return None
    return (Z[:, inner] - mean[inner]) / spread[inner]


def without_empty_columns(X: Any) -> Any:
    """Sparse rows without the columns that hold nothing, of which there may be 10^8."""
    X = sp.csr_array(X)
    return columns_of(X, np.unique(X.indices))


def nearest_in(D: Numbers) -> tuple[Numbers, Rows]:
    """The nearest rows of each row of a matrix of distances."""
    D = D.copy()
    np.fill_diagonal(D, np.inf)
    indices = np.argsort(D, axis=1, kind="stable")[:, : NEAR.last_neighbor + 1]
    return np.take_along_axis(D, indices, axis=1), indices


def near_vectors(Z: Any, rng: np.random.Generator) -> Copies:
    """Near copies among vectors."""
    n_rows, n_columns = Z.shape
    if n_rows > MANY.rows and n_columns > MANY.columns:
        Z = np.asarray(Z @ rng.normal(size=(n_columns, MANY.columns)).astype(Z.dtype))
    Z = Z.toarray() if sp.issparse(Z) and n_columns <= MANY.columns else Z
    search = NearestNeighbors(n_neighbors=NEAR.last_neighbor + 1).fit(Z)
    if n_rows <= MANY.rows:
        return near_groups(*search.kneighbors())
    sample = np.sort(rng.choice(n_rows, MANY.sample, replace=False))
    distances = search.kneighbors(Z[sample], NEAR.last_neighbor + 2)[0][:, 1:]
    if is_lattice(distances) or gaps(distances)[1].mean() < MANY.rare:
        return Copies(np.arange(n_rows), ratio=1.0, sampled=True)

    def between(a: Rows, b: Rows) -> Any:
        return np.sqrt(np.maximum(squares[a][:, None] + squares[b] - 2 * Z[a] @ Z[b].T, 0))

    squares = np.einsum("ij,ij->i", Z, Z)
    nearest = partition_neighbors(between, n_rows, NEAR.last_neighbor + 1, recall=0.9, random_state=rng, most_rounds=4)
    return near_groups(np.asarray(nearest.distances, dtype=np.float64), nearest.indices)


def gaps(distances: Numbers) -> tuple[Rows, NDArray[np.bool_], Numbers]:
    """(place, whether, ratio): the longest gap of each row comes after so many neighbours, and whether it is one.

    If the table as a whole is made of copies (`NearRules.share_of_rows`), shorter gaps count than for single rows.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(distances[:, 1:] / distances[:, :-1], nan=1.0)
    lengths = np.arange(1, NEAR.last_neighbor + 1) * np.minimum(np.log(ratios), 1e3)
    scores = lengths[:, : NEAR.most_copies - 1] / max(float(lengths[:, NEAR.reference].mean()), 1e-12)
    place = scores.argmax(axis=1)
    every = np.arange(len(place))
    p_values = np.minimum(1.0, (NEAR.most_copies - 1) * np.exp(-scores[every, place]))
    whether = discoveries(p_values, NEAR.false_share) & (ratios[every, place] >= NEAR.least_ratio)
    shares = (scores > NEAR.long_gap).mean(axis=0)
    if shares.max() >= NEAR.share_of_rows:
        within = scores[:, : int(shares.argmax()) + 1]
        place = np.where(whether, place, within.argmax(axis=1))
        whether |= within.max(axis=1) > NEAR.clear_gap
    return place + 1, whether, ratios[every, place]


def discoveries(p_values: Numbers, rate: float) -> NDArray[np.bool_]:
    """Which of the tests reject, with at most this expected share of false ones among them."""
    ordered = np.sort(p_values)
    below = np.flatnonzero(ordered <= rate * np.arange(1, len(ordered) + 1) / len(ordered))
    return p_values <= (ordered[below[-1]] if len(below) else -1.0)


def is_lattice(distances: Numbers) -> bool:
    """Whether many rows have several nearest rows, or distinct rows are at distance 0."""
    ties = distances[:, 1] - distances[:, 0] <= 1e-9 * distances[:, 1]
    return float(ties.mean()) > NEAR.lattice or float((distances[:, 0] <= 0).mean()) > NEAR.lattice


def near_groups(distances: Numbers, indices: Rows) -> Copies:
    """Groups of rows that name each other before their gaps."""
    n_rows = len(indices)
    if is_lattice(distances):
        return Copies(np.arange(n_rows), ratio=1.0)
    place, whether, ratio = gaps(distances)
    named = (np.arange(NEAR.most_copies - 1) < place[:, None]) & whether[:, None]
    rows, columns = np.nonzero(named)
    graph = sp.csr_array((np.ones(len(rows)), (rows, indices[rows, columns])), shape=(n_rows, n_rows))
    units = number_units(connected_components(graph.multiply(graph.T), directed=False)[1])
    copies = np.bincount(units)[units] > 1
    return Copies(units, ratio=float(np.median(ratio[copies])) if copies.any() else 1.0)
