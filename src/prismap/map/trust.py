"""How far each row of a map can be trusted: the chance that the labels around it tell the truth.

A row's neighbours in the map vote on its label; how many of ten agree says how sure they are. How often such a vote is
right is measured on the judged rows, which are held out of the map they lie on, by isotonic regression: of the rows
that get 0.9, nine in ten have neighbours that are right.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors

from prismap.exceptions import InputError
from prismap.quality import local_quality

NEIGHBORS = 10
#: So many rows that were right and wrong are added at every level, half each, so that no trust is exactly 0 or 1.
PRIOR_ROWS = 1.0
#: Rows up to which it is told how many neighbours are kept and stay: that takes all distances.
MOST_ROWS = 10_000
N_FOLDS = 5


@dataclass(frozen=True)
class Trust:
    """How far rows can be trusted.

    Attributes
    ----------
    value : (n,), for each row given to `fit` the chance that most of its neighbours in the map have its label
    parts : what there is to say of each row, from 0 to 1: "vote", how many of its ten neighbours agree (all rows);
        "kept", how many of its ten neighbours in the metric it keeps in the map, and "stays", how many of those in the
        map it has in the map without the target, too (fitted rows, NaN for others)
    n_judged : the held-out rows it was calibrated on
    calibration_error : mean difference of trust and truth over ten equal groups of held-out rows, cross-validated
    worst_tenth : the share of all wrong votes that the least trusted tenth of these rows holds, cross-validated
    """

    value: np.ndarray
    parts: dict[str, np.ndarray]
    n_judged: int
    calibration_error: float
    worst_tenth: float
    positions: np.ndarray = field(repr=False)
    codes: np.ndarray = field(repr=False)
    levels: IsotonicRegression = field(repr=False)

    def at(self, Y: np.ndarray) -> np.ndarray:
        """The trust in new rows at positions Y, shape (n,)."""
        return self.levels.predict(agreement(Y, self.positions, self.codes)[0])

    def __str__(self) -> str:
        low = float((self.value < 0.5).mean())
        return (
            f"{low:.0%} of the rows have neighbours that are more likely wrong than right; calibration error "
            f"{100 * self.calibration_error:.1f} points on {self.n_judged} held-out rows"
        )


def trust_of(model) -> Trust:
    """The trust in the rows of a judged `PrisMap`."""
    if model.target_ != "class":
        raise NotFittedError("trust_ needs classes: it is the chance that the labels around a row tell the truth.")
    if model.twins_ is None or not model.twins_.judged:
        raise NotFittedError(
            "trust_ needs the held-out rows of report(): call it first (a loaded map has them no more)."
        )
    vote, right = held_out_votes(model.twins_.judged)
    levels = calibrated(vote, right)
    error, worst = reached(vote, right)
    fitted, y = model.embedding_, model.fitted_target()
    known = y >= 0
    Y = model.positions()
    own = np.full(len(Y), -1, dtype=np.intp)
    own[model.fit_rows_[known]] = np.arange(int(known.sum()))
    parts = {"vote": agreement(Y, fitted[known], y[known], own)[0], **parts_of_fitted(model, len(Y))}
    return Trust(
        value=levels.predict(parts["vote"]), parts=parts, n_judged=len(vote), calibration_error=error,
        worst_tenth=worst, positions=fitted[known], codes=y[known], levels=levels,
    )  # fmt: skip


def agreement(Y, fitted, codes, own=None):
    """The share of the ten nearest fitted rows that have the commonest label among them, and that label.

    `own` is the place of each row among the fitted ones, -1 for none: no row votes for itself.
    """
    k = min(NEIGHBORS, len(fitted) - (own is not None))
    if k < 1:
        raise InputError("trust_ needs at least two labelled fitted rows.")
    near = NearestNeighbors(n_neighbors=min(k + 1, len(fitted))).fit(fitted).kneighbors(Y, return_distance=False)
    if own is not None:
        itself = near == own[:, None]
        itself[~itself.any(axis=1), -1] = True  # the farthest one goes where the row itself is not among them
        near = near[~itself].reshape(len(Y), -1)
    near = near[:, :k]
    votes = np.zeros((len(Y), int(codes.max()) + 1))
    np.add.at(votes, (np.arange(len(Y))[:, None], codes[near]), 1.0)
    return votes.max(axis=1) / k, votes.argmax(axis=1)


def held_out_votes(judged):
    """How far the neighbours of each judged row agree, and whether they are right."""
    found = []
    for case in judged:
        known = case.fitted_target >= 0
        vote, said = agreement(case.positions, case.fitted_positions[known], case.fitted_target[known])
        found.append((vote, said == case.target))
    vote, right = (np.concatenate(column) for column in zip(*found, strict=True))
    return vote, right.astype(np.float64)


def calibrated(vote, right):
    """The share of right votes as an increasing function of how far they agree."""
    levels = np.unique(vote)
    prior = np.full(len(levels), PRIOR_ROWS / 2)
    x = np.concatenate([vote, levels, levels])
    y = np.concatenate([right, np.ones(len(levels)), np.zeros(len(levels))])
    weights = np.concatenate([np.ones(len(vote)), prior, prior])
    return IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(x, y, sample_weight=weights)


def reached(vote, right):
    """Calibration error, and the share of wrong votes in the least trusted tenth, in folds of the judged rows."""
    if len(vote) < 2 * N_FOLDS:
        return float("nan"), float("nan")
    trust = np.empty(len(vote))
    for kept, out in KFold(N_FOLDS, shuffle=True, random_state=0).split(vote):
        trust[out] = calibrated(vote[kept], right[kept]).predict(vote[out])
    return calibration_error(trust, right), worst_tenth(trust, right)


def calibration_error(trust, right):
    """Mean difference of trust and the share of right rows, over ten groups of rows of equal trust and size."""
    groups = np.array_split(np.argsort(trust, kind="stable"), 10)
    return float(np.average([abs(trust[g].mean() - right[g].mean()) for g in groups if len(g)],
                            weights=[len(g) for g in groups if len(g)]))  # fmt: skip


def worst_tenth(trust, right):
    """The share of the wrong rows among the least trusted tenth; NaN if none is wrong. Equal trust shares its rows."""
    wrong = 1.0 - right
    if not wrong.sum():
        return float("nan")
    limit = np.sort(trust)[max(1, len(trust) // 10) - 1]
    below, at = trust < limit, trust == limit
    room = max(1, len(trust) // 10) - below.sum()
    return float((wrong[below].sum() + wrong[at].sum() * room / at.sum()) / wrong.sum())


def parts_of_fitted(model, n_rows):
    """Shares of each fitted row's neighbours that the map keeps, and that stay without the target."""
    Y = model.embedding_
    k = min(NEIGHBORS, len(Y) - 2)
    if k < 1 or len(Y) > MOST_ROWS:
        return {}
    kept = local_quality(None, Y, n_neighbors=k, metric=model.metric_)
    stays = local_quality(Y, model.twins_.unsupervised.positions, n_neighbors=k)
    parts = {"kept": np.full(n_rows, np.nan), "stays": np.full(n_rows, np.nan)}
    parts["kept"][model.fit_rows_], parts["stays"][model.fit_rows_] = kept, stays
    return parts
