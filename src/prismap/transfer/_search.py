"""The search for a match: many starts on a sample of the rows, the best few different ones on all of them.

Matching without correspondences has many local optima: axes may be turned, mirrored or exchanged, and clusters may
change places. A start is a set of first positions for target rows: axes turned, or a coupling of the two spaces by
their own distances. Matches are compared by how well the clouds agree, and by how far apart they put target rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform
from scipy.stats import ortho_group
from sklearn.neighbors import NearestNeighbors

from prismap._util.arrays import TINY, Numbers, Rows
from prismap._util.random import as_seed
from prismap.embeddings import TSNE
from prismap.transfer._matching import AffineFamily, Family, KernelFamily, Model, anneal, expect, kernel_block, maximise


@dataclass(frozen=True)
class SearchSize:
    """How much a search for a match does.

    Attributes
    ----------
    trial_rows : rows of either side in a trial.
    structure_rows : rows whose distances are compared.
    finalists : matches that are followed to the end.
    widths : widths while annealing.
    steps, last_steps : EM steps at each of them, and at the last one on all rows.
    frame_axes : directions of the target that random frames of a linear start mix.
    """

    trial_rows: int = 500
    structure_rows: int = 300
    finalists: int = 3
    widths: int = 8
    steps: int = 5
    last_steps: int = 30
    frame_axes: int = 10


@dataclass(frozen=True)
class CouplingSearch:
    """How two structures are coupled.

    Attributes
    ----------
    unstarted, anchored, exchanged, sharp : entropies, in units of the mean distance squared: from nothing, from rows
        paired at random, while two clusters change partners, and after that.
    steps, sinkhorn_steps : at each entropy, and in each of these.
    anchors : rows that pin down a random start.
    most_clusters, smallest_cluster : clusters of the source that change partners, at most, and the least share of the
        rows in one.
    same : couplings that put target rows less far apart than this, in units of the mean distance of source rows, count
        as one.
    """

    unstarted: tuple[float, ...] = tuple(np.geomspace(0.1, 0.001, 12))
    anchored: tuple[float, ...] = tuple(np.geomspace(0.02, 0.001, 8))
    exchanged: tuple[float, ...] = tuple(np.geomspace(0.02, 0.002, 3))
    sharp: tuple[float, ...] = tuple(np.geomspace(0.005, 0.001, 5))
    steps: int = 4
    sinkhorn_steps: int = 30
    anchors: int = 4
    most_clusters: int = 5
    smallest_cluster: float = 0.05
    same: float = 0.1


SIZE, COUPLING = SearchSize(), CouplingSearch()


@dataclass(frozen=True)
class Start:
    """A match: where it came from, how good it is, and its coefficients.

    `score` is the log-likelihood less q log(distortion), q the number of dimensions: a change of all distances within
    the spaces by the factor e counts like a change of all distances between the clouds by it. `displacement` is how
    far the target rows lie from the best match, in units of the source's spread.
    """

    name: str
    score: float
    log_likelihood: float
    distortion: float
    positions: np.ndarray = field(repr=False)
    coefficients: np.ndarray = field(repr=False)
    theta: np.ndarray = field(repr=False)
    displacement: float = 0.0


class Search:
    """Everything a search needs: the two clouds' rows, the model, the family of maps and the samples of rows."""

    def __init__(
        self,
        X: Numbers,
        Z: Numbers,
        model: Model,
        family: Family,
        *,
        sigmas: Any,
        spread: float,
        rng: np.random.Generator,
    ) -> None:
        self.X, self.Z, self.model, self.family = X, Z, model, family
        self.sigmas, self.spread, self.rng = sigmas, spread, rng
        pairs = np.empty((0, 2), dtype=int) if model.pairs is None else model.pairs
        self.some_source = sample(len(X), SIZE.trial_rows, rng, pairs[:, 0])
        self.some_target = sample(len(Z), SIZE.trial_rows, rng, pairs[:, 1])
        self.near_source = sample(len(X), SIZE.structure_rows, rng)
        self.near_target = sample(len(Z), SIZE.structure_rows, rng)
        self.structures = structure(X[self.near_source]), structure(Z[self.near_target])

    def run(self, starts: Any) -> list[Start]:
        """Matches from starts ``(name, W)``, best first and different from each other."""
        model = take_rows(self.model, self.some_source, self.some_target)
        family = self.family.take(self.some_target, len(self.some_source))
        trials = [self.judge(name, anneal(model, family, W, self.sigmas, SIZE.steps)[0]) for name, W in starts]
        return self.compare([self.finish(trial) for trial in self.different(trials, SIZE.finalists)])

    def finish(self, trial: Start) -> Start:
        """EM on all rows at the last width."""
        W, theta, _ = maximise(
            self.model, self.family, trial.coefficients, trial.theta, self.sigmas[-1], SIZE.last_steps, tol=1e-4
        )
        return self.judge(trial.name, W, theta)

    def judge(self, name: str, W: Numbers, theta: Numbers | None = None) -> Start:
        """The match with coefficients W, and how good it is."""
        F, sigma, model = self.family.positions(W), self.sigmas[-1], self.model
        theta = np.full(len(F), 1.0 / len(F)) if theta is None else theta
        step = expect(model, F, theta, sigma)
        likelihood = float(step.source_log.mean() + model.mutual * step.target_log.mean())
        part = take_rows(model, self.near_source, self.near_target)
        K = kernel_block(part, F[self.near_target], sigma, slice(None))
        T = K / (K.sum(axis=1, keepdims=True) + TINY) / len(K) + K / (K.sum(axis=0) + TINY) / K.shape[1]
        change = distortion(*self.structures, T / max(T.sum(), TINY))
        score = likelihood - F.shape[1] * np.log(max(change, 1e-3))
        return Start(name, float(score), likelihood, change, F, W, theta)

    def different(self, matches: Sequence[Start], most: int) -> list[Start]:
        """The best matches that put target rows elsewhere, at most so many."""
        kept: list[Start] = []
        for match in sorted(matches, key=lambda one: -one.score):
            if all(displacement(match.positions, other.positions, self.spread) > DIFFERENT / 2 for other in kept):
                kept.append(match)
        return kept[:most]

    def compare(self, matches: Sequence[Start]) -> list[Start]:
        """Best first, each with its displacement from the best."""
        best = max(matches, key=lambda one: one.score)
        moved = [replace(one, displacement=displacement(one.positions, best.positions, self.spread)) for one in matches]
        return sorted(moved, key=lambda one: -one.score)

    def starts(self, first: Any, n_init: int) -> list[tuple[str, Numbers]]:
        """``(name, W)``: the target's own axes turned (`first` positions), couplings, and what is known for certain."""
        model = self.model
        starts = [("axes", self.place(rows, F)) for rows, F in first]
        source = model.source[self.near_source]
        for _, T in couplings(*self.structures, n_init, self.rng):
            starts.append(("structure", self.place(self.near_target, T.T @ source / T.sum(axis=0)[:, None])))
        if model.pairs is not None:
            starts.append(("pairs", self.place(model.pairs[:, 1], model.source[model.pairs[:, 0]])))
        if model.codes is not None:
            starts.append(("labels", self.place(*class_means(model.source, model.codes, len(model.emission) - 1))))
        return starts

    def place(self, rows: Rows, positions: Numbers) -> Numbers:
        """Coefficients that put these target rows near these positions."""
        mass, moment = np.zeros(self.family.n_rows), np.zeros((self.family.n_rows, positions.shape[1]))
        np.add.at(mass, rows, 1.0)
        np.add.at(moment, rows, positions)
        return np.asarray(self.family.place(mass, moment))


def linear_family(
    Z: Numbers, model: Model, *, ridge: float, n_init: int, spread: float, rng: np.random.Generator
) -> tuple[AffineFamily, list[Any]]:
    """The affine family and its first positions: principal axes turned, then random frames of the leading axes."""
    family = AffineFamily(Z, len(model.source), ridge=ridge)
    q = model.source.shape[1]
    axes = family.rows_design[:, :-1]
    axes = axes / axes.std(axis=0)
    leading = axes[:, : SIZE.frame_axes]
    plane = np.hstack([axes[:, :q], np.zeros((len(Z), max(0, q - axes.shape[1])))])
    n_turns = min(n_init, 8)
    clouds = [plane @ R for R in turns(q, n_turns, rng)]
    for _ in range(n_init - n_turns):
        frame, _ = np.linalg.qr(rng.normal(size=(leading.shape[1], q)))
        clouds.append(leading @ frame)
    everywhere = np.arange(len(Z))
    return family, [(everywhere, spread * cloud[:, :q] + model.source.mean(axis=0)) for cloud in clouds]


def kernel_family(
    Z: Numbers,
    model: Model,
    *,
    strength: float,
    n_landmarks: int,
    perplexity: float,
    n_init: int,
    spread: float,
    rng: np.random.Generator,
) -> tuple[KernelFamily, list[Any]]:
    """The kernel family and its first positions: t-SNE of the landmarks, turned (Schulz 2017, sec. 5.2.2)."""
    landmarks = sample(len(Z), n_landmarks, rng)
    q = model.source.shape[1]
    # Among fewer rows a row has fewer neighbours.
    perplexity = min(max(5.0, perplexity * len(landmarks) / len(Z)), (len(landmarks) - 1) / 3)
    tsne = TSNE(q, perplexity=max(1.0, perplexity), random_state=as_seed(rng)).fit_transform(Z[landmarks])
    tsne -= tsne.mean(axis=0)
    size = spread_of(tsne)
    family = KernelFamily(
        Z, len(model.source), landmarks=landmarks, perplexity=max(1.0, perplexity), strength=strength, spread=spread,
        zoom=size / spread,
    )  # fmt: skip
    center = model.source.mean(axis=0)
    return family, [(landmarks, spread / size * tsne @ R + center) for R in turns(q, n_init, rng)]


def spread_of(Y: Numbers) -> float:
    """Root mean squared deviation of a coordinate."""
    return float(np.sqrt(np.square(Y - Y.mean(axis=0)).mean()))


def sample(n_rows: int, most: int, rng: np.random.Generator, always: Any = ()) -> Rows:
    """Sorted indices of at most so many rows, drawn at random; those of `always` among them."""
    always = np.unique(np.asarray(always, dtype=int))
    if n_rows <= most:
        return np.arange(n_rows)
    rest = np.setdiff1d(np.arange(n_rows), always)
    return np.sort(np.concatenate([always, rng.choice(rest, max(most - len(always), 0), replace=False)]))


def take_rows(model: Model, source: Rows, target: Rows) -> Model:
    """The model of some source and some target rows (sorted indices); known pairs outside of them are left out."""
    pairs, codes = model.pairs, model.codes
    if pairs is not None:
        inside = np.isin(pairs[:, 0], source) & np.isin(pairs[:, 1], target)
        pairs = np.column_stack([np.searchsorted(source, pairs[inside, 0]), np.searchsorted(target, pairs[inside, 1])])
    if codes is not None:
        codes = codes[0][source], codes[1][target]
    return replace(
        model, source=model.source[source], pairs=pairs, codes=codes,
        pair_weight=model.pair_weight * len(source) / len(model.source),
    )  # fmt: skip


def class_means(positions: Numbers, codes: Any, n_classes: int) -> tuple[Rows, Numbers]:
    """Labelled target rows whose class the source has, and the mean position of that class there."""
    source_codes, target_codes = codes
    known = np.flatnonzero((target_codes < n_classes) & np.isin(target_codes, source_codes))
    means = [positions[source_codes == target_codes[j]].mean(axis=0) for j in known]
    return known, np.reshape(means, (-1, positions.shape[1]))


# --- where a match starts ---------------------------------------------------------------------------------------------


def turns(q: int, n_turns: int, rng: np.random.Generator) -> list[Numbers]:
    """`n_turns` orthogonal matrices (q, q): signed permutations of the axes (8 in the plane) first, then chance.

    >>> len(turns(2, 10, np.random.default_rng(0)))
    10
    """
    matrices: list[np.ndarray] = []
    for order in permutations(range(q)) if q <= 4 else ():
        for signs in product((1.0, -1.0), repeat=q):
            if len(matrices) < n_turns:
                matrices.append(np.eye(q)[list(order)] * np.asarray(signs))
    while len(matrices) < n_turns:
        matrices.append(ortho_group.rvs(q, random_state=rng) if q > 1 else rng.choice([-1.0, 1.0], (1, 1)))
    return matrices


def structure(rows: Numbers) -> Numbers:
    """Square roots of the Euclidean distances between rows, in units of their mean.

    The root weighs near rows, on which two views of the same things agree best, more than far ones.
    """
    R = np.sqrt(cdist(rows, rows))
    return np.asarray(R / max(R.mean(), TINY))


def couplings(
    C: Numbers, D: Numbers, n_starts: int, rng: np.random.Generator, most: int = 6
) -> list[tuple[float, Numbers]]:
    """The best few different couplings of structures C (n, n) and D (m, m): ``(distortion, coupling)``, best first.

    One comes from no start at all, the others from far-apart rows of both spaces paired at random, and then from the
    best by an exchange of two clusters. Two that preserve distances equally well may differ all the same, so it is not
    the distortion that distinguishes them.
    """
    tried = [_lower(C, D, np.full((len(C), len(D)), 1.0 / (len(C) * len(D))), COUPLING.unstarted)]
    for _ in range(n_starts - 1):
        tried.append(_lower(C, D, _anchored(C, D, rng), COUPLING.anchored))
    best = different_couplings(C, D, tried, 1)[0][1]
    exchanged = different_couplings(C, D, exchanges(C, D, best), most)
    # Sharp from the start, so that an exchange is not undone on the way down.
    tried += [_lower(C, D, T, COUPLING.sharp) for _, T in exchanged]
    return different_couplings(C, D, tried, most)


def exchanges(C: Numbers, D: Numbers, T: Numbers) -> list[Numbers]:
    """Couplings like T, but with two clusters of the source changing partners, each lowered without undoing that.

    Clusters are those of single and of Ward's linkage, at every number from 2 to 5, but none of very few rows; a target
    row belongs where most of its partners are.
    """
    n, masks = len(C), {}
    for method in ("single", "ward"):
        tree = linkage(squareform(C, checks=False), method)
        for n_clusters in range(2, min(COUPLING.most_clusters, n) + 1):
            label = fcluster(tree, n_clusters, "maxclust") - 1
            member = np.eye(n_clusters)[label]
            mine = (member.T @ T).argmax(axis=0)
            large = np.flatnonzero(member.sum(axis=0) >= COUPLING.smallest_cluster * n)
            for a, b in combinations(large.tolist(), 2):
                moved = np.where(mine == a, b, np.where(mine == b, a, mine))
                allowed = (label[:, None] == moved) | ((label != a) & (label != b))[:, None] & (
                    (moved != a) & (moved != b)
                )
                masks[allowed.tobytes()] = allowed
    return [_lower(C, D, sinkhorn(1.0 - allowed, 0.05), COUPLING.exchanged, allowed) for allowed in masks.values()]


def different_couplings(C: Numbers, D: Numbers, tried: Any, most: int) -> list[tuple[float, Numbers]]:
    """``(distortion, coupling)`` of the best couplings that differ, at most so many, best first."""
    ranked = sorted(((distortion(C, D, T), k) for k, T in enumerate(tried)))
    kept: list[tuple[float, np.ndarray]] = []
    for value, k in ranked:
        if len(kept) < most and all(way(C, tried[k], T) > COUPLING.same for _, T in kept):
            kept.append((value, tried[k]))
    return kept


def way(C: Numbers, S: Numbers, T: Numbers) -> float:
    """How far two couplings put the target rows apart: the energy distance of their partners, mean over the rows.

    sum_j s_j C t_j - (s_j C s_j + t_j C t_j) / 2 with columns s_j, t_j; C in units of its mean.
    """
    CS, CT = C @ S, C @ T
    return int(S.shape[1]) * float(np.vdot(S, CT) - (np.vdot(S, CS) + np.vdot(T, CT)) / 2)


def _lower(C: Numbers, D: Numbers, T: Numbers, entropies: Any, allowed: Numbers | None = None) -> Numbers:
    """Minimise sum (c_ik - d_jl)^2 t_ij t_kl over couplings T of two uniform distributions, entropy falling.

    The Gromov-Wasserstein problem by projected mirror descent (Peyré, Cuturi & Solomon 2016): each step is an optimal
    transport with the cost linearised at T. Time O(n m (n + m)) a step. Only pairs in the mask `allowed` are joined.
    """
    constant = np.square(C).mean(axis=1)[:, None] + np.square(D).mean(axis=1)
    if allowed is not None:
        constant = np.where(allowed, constant, constant + 1.0)
    for entropy in entropies:
        for _ in range(COUPLING.steps):
            T = sinkhorn(constant - 2 * C @ T @ D, entropy)
    return T


def _anchored(C: Numbers, D: Numbers, rng: np.random.Generator) -> Numbers:
    """A first coupling: rows are alike if they lie alike to far-apart rows, which are paired at random."""
    a, b = _far_apart(C, rng), _far_apart(D, rng)
    k = min(len(a), len(b))
    a, b = a[:k], rng.permutation(b[:k])
    return sinkhorn(cdist(C[:, a], D[:, b], "sqeuclidean") / k, 0.05)


def _far_apart(D: Numbers, rng: np.random.Generator) -> Any:
    chosen = [int(rng.integers(len(D)))]
    while len(chosen) < min(COUPLING.anchors, len(D)):
        chosen.append(int(D[chosen].min(axis=0).argmax()))
    return chosen


def sinkhorn(cost: Numbers, entropy: float) -> Numbers:
    """The coupling of two uniform distributions of the form u_i exp(-cost_ij / entropy) v_j."""
    n, m = cost.shape
    K = np.maximum(np.exp((cost.min(axis=1, keepdims=True) - cost) / entropy), 1e-200)
    v = np.ones(m)
    for _ in range(COUPLING.sinkhorn_steps):
        u = 1.0 / (n * (K @ v))
        v = 1.0 / (m * (K.T @ u))
    return np.asarray(u[:, None] * K * v)


def distortion(C: Numbers, D: Numbers, T: Numbers) -> float:
    """Root mean squared c_ik - d_jl over pairs of pairs drawn from a coupling T: 0 if T preserves all distances."""
    p, q = T.sum(axis=1), T.sum(axis=0)
    return float(np.sqrt(max(p @ np.square(C) @ p + q @ np.square(D) @ q - 2 * np.vdot(C @ T @ D, T), 0.0)))


# --- how well clouds agree --------------------------------------------------------------------------------------------


#: Two matches differ if target rows move by more than this share of the source's spread, root mean square.
DIFFERENT = 0.5
#: Two matches are equally likely if their scores differ by less than so many standard errors of the difference.
EQUAL = 1.0
#: Neighbourhoods in which the mixture of two clouds is looked at, as a share of all rows.
NEIGHBORHOOD = 0.1


def agreement(A: Numbers, B: Numbers) -> float:
    """How mixed two clouds are: neighbours from the other cloud relative to what perfect mixing gives, from 0 to 1.

    For a row of A the expected share of B among its k nearest rows in both clouds is m / (n + m - 1), and likewise for
    B (Schilling 1986); k is a tenth of all rows, 100 at most. The figure is the mean over both clouds, each with the
    same weight, at most 1. Clouds drawn from one distribution score about 1, and clouds apart 0.

    Parameters
    ----------
    A, B : (n, d) and (m, d) positions

    Returns
    -------
    float

    Examples
    --------
    >>> A = np.random.default_rng(0).normal(size=(50, 2))
    >>> agreement(A, A + 100)
    0.0
    """
    n, m = len(A), len(B)
    k = int(np.clip(NEIGHBORHOOD * (n + m), 2, 100))
    both, from_b = np.vstack([A, B]), np.repeat([False, True], [n, m])
    near = NearestNeighbors(n_neighbors=k).fit(both).kneighbors(return_distance=False)
    other = (from_b[near] != from_b[:, None]).mean(axis=1)
    mixed = (other[:n].mean() * (n + m - 1) / m + other[n:].mean() * (n + m - 1) / n) / 2
    return float(min(mixed, 1.0))


def displacement(F: Numbers, G: Numbers, spread: float) -> float:
    """Root mean square way of the target rows from one match to another, in units of the source's spread."""
    return float(np.sqrt(np.square(F - G).sum(axis=1).mean()) / spread)


def standard_error(gains: Sequence[Numbers], q: float, n_structure: int) -> float:
    """Standard error of a difference of scores, from the row-wise gains of both sides' log-likelihoods.

    The part of the distortion, measured on `n_structure` rows, is that of q log(a root mean square), q / sqrt(2 n).
    """
    return float(np.sqrt(sum(np.var(gain) / len(gain) for gain in gains) + q**2 / (2 * n_structure)))
