"""The search for a match: many starts on a sample of the rows, the best few different ones on all of them.

Matching without correspondences has many local optima: axes may be turned, mirrored or exchanged, and clusters may
change places. A start is a set of first positions for target rows: axes turned, or a coupling of the two spaces by
their own distances.
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

from prismap._util.arrays import Numbers, Rows
from prismap._util.random import as_seed
from prismap.embeddings import TSNE
from prismap.transfer._agreement import DIFFERENT, displacement
from prismap.transfer._matching import AffineFamily, Family, KernelFamily, Model, anneal, expect, kernel_block, maximise

#: Rows of either side in a trial, and rows whose distances are compared.
TRIAL_ROWS, STRUCTURE_ROWS = 500, 300
#: Matches that are followed to the end.
N_FINALISTS = 3
#: Widths while annealing, EM steps at each, and at the last width on all rows.
N_WIDTHS, STEPS, LAST_STEPS = 8, 5, 30
#: Directions of the target that random frames of a linear start mix.
FRAME_AXES = 10
#: Entropy of a coupling from soft to sharp, without and with a start, in units of the mean distance squared.
_FROM_NOTHING, _FROM_ANCHORS = np.geomspace(0.1, 0.001, 12), np.geomspace(0.02, 0.001, 8)
_FROM_EXCHANGE, _SHARP = np.geomspace(0.02, 0.002, 3), np.geomspace(0.005, 0.001, 5)
_COUPLING_STEPS, _SINKHORN_STEPS = 4, 30
#: Rows that pin down a random start of a coupling.
_N_ANCHORS = 4
#: Clusters of the source, at most, that change partners, and the least share of the rows in one.
_MOST_CLUSTERS, _SMALLEST_CLUSTER = 5, 0.05
#: Couplings that put target rows less far apart than this, in units of the mean distance of source rows, count as one.
_SAME = 0.1

_TINY = np.finfo(float).tiny


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
        self.some_source = sample(len(X), TRIAL_ROWS, rng, pairs[:, 0])
        self.some_target = sample(len(Z), TRIAL_ROWS, rng, pairs[:, 1])
        self.near_source = sample(len(X), STRUCTURE_ROWS, rng)
        self.near_target = sample(len(Z), STRUCTURE_ROWS, rng)
        self.structures = structure(X[self.near_source]), structure(Z[self.near_target])

    def run(self, starts: Any) -> list[Start]:
        """Matches from starts ``(name, W)``, best first and different from each other."""
        model = take_rows(self.model, self.some_source, self.some_target)
        family = self.family.take(self.some_target, len(self.some_source))
        trials = [self.judge(name, anneal(model, family, W, self.sigmas, STEPS)[0]) for name, W in starts]
        return self.compare([self.finish(trial) for trial in self.different(trials, N_FINALISTS)])

    def finish(self, trial: Start) -> Start:
        """EM on all rows at the last width."""
        W, theta, _ = maximise(
            self.model, self.family, trial.coefficients, trial.theta, self.sigmas[-1], LAST_STEPS, tol=1e-4
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
        T = K / (K.sum(axis=1, keepdims=True) + _TINY) / len(K) + K / (K.sum(axis=0) + _TINY) / K.shape[1]
        change = distortion(*self.structures, T / max(T.sum(), _TINY))
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
    leading = axes[:, :FRAME_AXES]
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
    return np.asarray(R / max(R.mean(), _TINY))


def couplings(
    C: Numbers, D: Numbers, n_starts: int, rng: np.random.Generator, most: int = 6
) -> list[tuple[float, Numbers]]:
    """The best few different couplings of structures C (n, n) and D (m, m): ``(distortion, coupling)``, best first.

    One comes from no start at all, the others from far-apart rows of both spaces paired at random, and then from the
    best by an exchange of two clusters. Two that preserve distances equally well may differ all the same, so it is not
    the distortion that distinguishes them.
    """
    tried = [_lower(C, D, np.full((len(C), len(D)), 1.0 / (len(C) * len(D))), _FROM_NOTHING)]
    for _ in range(n_starts - 1):
        tried.append(_lower(C, D, _anchored(C, D, rng), _FROM_ANCHORS))
    best = different_couplings(C, D, tried, 1)[0][1]
    exchanged = different_couplings(C, D, exchanges(C, D, best), most)
    # Sharp from the start, so that an exchange is not undone on the way down.
    tried += [_lower(C, D, T, _SHARP) for _, T in exchanged]
    return different_couplings(C, D, tried, most)


def exchanges(C: Numbers, D: Numbers, T: Numbers) -> list[Numbers]:
    """Couplings like T, but with two clusters of the source changing partners, each lowered without undoing that.

    Clusters are those of single and of Ward's linkage, at every number from 2 to 5, but none of very few rows; a target
    row belongs where most of its partners are.
    """
    n, masks = len(C), {}
    for method in ("single", "ward"):
        tree = linkage(squareform(C, checks=False), method)
        for n_clusters in range(2, min(_MOST_CLUSTERS, n) + 1):
            label = fcluster(tree, n_clusters, "maxclust") - 1
            member = np.eye(n_clusters)[label]
            mine = (member.T @ T).argmax(axis=0)
            large = np.flatnonzero(member.sum(axis=0) >= _SMALLEST_CLUSTER * n)
            for a, b in combinations(large.tolist(), 2):
                moved = np.where(mine == a, b, np.where(mine == b, a, mine))
                allowed = (label[:, None] == moved) | ((label != a) & (label != b))[:, None] & (
                    (moved != a) & (moved != b)
                )
                masks[allowed.tobytes()] = allowed
    return [_lower(C, D, sinkhorn(1.0 - allowed, 0.05), _FROM_EXCHANGE, allowed) for allowed in masks.values()]


def different_couplings(C: Numbers, D: Numbers, tried: Any, most: int) -> list[tuple[float, Numbers]]:
    """``(distortion, coupling)`` of the best couplings that differ, at most so many, best first."""
    ranked = sorted(((distortion(C, D, T), k) for k, T in enumerate(tried)))
    kept: list[tuple[float, np.ndarray]] = []
    for value, k in ranked:
        if len(kept) < most and all(way(C, tried[k], T) > _SAME for _, T in kept):
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
        for _ in range(_COUPLING_STEPS):
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
    while len(chosen) < min(_N_ANCHORS, len(D)):
        chosen.append(int(D[chosen].min(axis=0).argmax()))
    return chosen


def sinkhorn(cost: Numbers, entropy: float) -> Numbers:
    """The coupling of two uniform distributions of the form u_i exp(-cost_ij / entropy) v_j."""
    n, m = cost.shape
    K = np.maximum(np.exp((cost.min(axis=1, keepdims=True) - cost) / entropy), 1e-200)
    v = np.ones(m)
    for _ in range(_SINKHORN_STEPS):
        u = 1.0 / (n * (K @ v))
        v = 1.0 / (m * (K.T @ u))
    return np.asarray(u[:, None] * K * v)


def distortion(C: Numbers, D: Numbers, T: Numbers) -> float:
    """Root mean squared c_ik - d_jl over pairs of pairs drawn from a coupling T: 0 if T preserves all distances."""
    p, q = T.sum(axis=1), T.sum(axis=0)
    return float(np.sqrt(max(p @ np.square(C) @ p + q @ np.square(D) @ q - 2 * np.vdot(C @ T @ D, T), 0.0)))
