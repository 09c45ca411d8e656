"""The search for a match: many starts on a sample of the rows, the best few different ones on all of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from prismap._random import as_seed
from prismap.embeddings import TSNE
from prismap.transfer.agreement import DIFFERENT, displacement
from prismap.transfer.families import AffineFamily, KernelFamily
from prismap.transfer.matching import anneal, expect, kernel_block, maximise
from prismap.transfer.starts import couplings, distortion, structure, turns

#: Rows of either side in a trial, and rows whose distances are compared.
TRIAL_ROWS, STRUCTURE_ROWS = 500, 300
#: Matches that are followed to the end.
N_FINALISTS = 3
#: Widths while annealing, EM steps at each, and at the last width on all rows.
N_WIDTHS, STEPS, LAST_STEPS = 8, 5, 30
#: Directions of the target that random frames of a linear start mix.
FRAME_AXES = 10

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

    def __init__(self, X, Z, model, family, *, sigmas, spread, rng):
        self.X, self.Z, self.model, self.family = X, Z, model, family
        self.sigmas, self.spread, self.rng = sigmas, spread, rng
        pairs = np.empty((0, 2), dtype=int) if model.pairs is None else model.pairs
        self.some_source = sample(len(X), TRIAL_ROWS, rng, pairs[:, 0])
        self.some_target = sample(len(Z), TRIAL_ROWS, rng, pairs[:, 1])
        self.near_source = sample(len(X), STRUCTURE_ROWS, rng)
        self.near_target = sample(len(Z), STRUCTURE_ROWS, rng)
        self.structures = structure(X[self.near_source]), structure(Z[self.near_target])

    def run(self, starts):
        """Matches from starts ``(name, W)``, best first and different from each other."""
        model = take_rows(self.model, self.some_source, self.some_target)
        family = self.family.take(self.some_target, len(self.some_source))
        trials = [self.judge(name, anneal(model, family, W, self.sigmas, STEPS)[0]) for name, W in starts]
        return self.compare([self.finish(trial) for trial in self.different(trials, N_FINALISTS)])

    def finish(self, trial):
        """EM on all rows at the last width."""
        W, theta, _ = maximise(
            self.model, self.family, trial.coefficients, trial.theta, self.sigmas[-1], LAST_STEPS, tol=1e-4
        )
        return self.judge(trial.name, W, theta)

    def judge(self, name, W, theta=None):
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

    def different(self, matches, most):
        """The best matches that put target rows elsewhere, at most so many."""
        kept: list[Start] = []
        for match in sorted(matches, key=lambda one: -one.score):
            if all(displacement(match.positions, other.positions, self.spread) > DIFFERENT / 2 for other in kept):
                kept.append(match)
        return kept[:most]

    def compare(self, matches):
        """Best first, each with its displacement from the best."""
        best = max(matches, key=lambda one: one.score)
        moved = [replace(one, displacement=displacement(one.positions, best.positions, self.spread)) for one in matches]
        return sorted(moved, key=lambda one: -one.score)

    def starts(self, first, n_init):
        """``(name, W)``: the target's own axes turned (`first` positions), couplings, and what is known for certain."""
        model = self.model
        found = [("axes", self.place(rows, F)) for rows, F in first]
        source = model.source[self.near_source]
        for _, T in couplings(*self.structures, n_init, self.rng):
            found.append(("structure", self.place(self.near_target, T.T @ source / T.sum(axis=0)[:, None])))
        if model.pairs is not None:
            found.append(("pairs", self.place(model.pairs[:, 1], model.source[model.pairs[:, 0]])))
        if model.codes is not None:
            found.append(("labels", self.place(*class_means(model.source, model.codes, len(model.emission) - 1))))
        return found

    def place(self, rows, positions):
        """Coefficients that put these target rows near these positions."""
        mass, moment = np.zeros(self.family.n_rows), np.zeros((self.family.n_rows, positions.shape[1]))
        np.add.at(mass, rows, 1.0)
        np.add.at(moment, rows, positions)
        return self.family.place(mass, moment)


def linear_family(Z, model, *, ridge, n_init, spread, rng):
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


def kernel_family(Z, model, *, strength, n_landmarks, perplexity, n_init, spread, rng):
    """The kernel family and its first positions: t-SNE of the landmarks, turned (kernel t-SNE, thesis 5.2.2)."""
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


def spread_of(Y):
    """Root mean squared deviation of a coordinate."""
    return float(np.sqrt(np.square(Y - Y.mean(axis=0)).mean()))


def sample(n_rows, most, rng, always=()):
    """Sorted indices of at most so many rows, drawn at random; those of `always` among them."""
    always = np.unique(np.asarray(always, dtype=int))
    if n_rows <= most:
        return np.arange(n_rows)
    rest = np.setdiff1d(np.arange(n_rows), always)
    return np.sort(np.concatenate([always, rng.choice(rest, max(most - len(always), 0), replace=False)]))


def take_rows(model, source, target):
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


def class_means(positions, codes, n_classes):
    """Labelled target rows whose class the source has, and the mean position of that class there."""
    source_codes, target_codes = codes
    known = np.flatnonzero((target_codes < n_classes) & np.isin(target_codes, source_codes))
    means = [positions[source_codes == target_codes[j]].mean(axis=0) for j in known]
    return known, np.reshape(means, (-1, positions.shape[1]))
