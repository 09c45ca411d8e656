"""How far single rows of a map can be trusted: a chance between 0 and 1, learnt from rows whose truth is known.

*With a target.* The ten nearest rows on the map say something about a row: most of them a class, on average a value.
Two figures say how sure that is,

    vote = the share of the ten that agree with what they say together,
    told = the chance that the row's own features give it, out of fold (the posterior of the metric),

and a row that the map put among rows of another class has a high vote and a low `told`. Of held-out rows it is known
whether their neighbours were right, and a logistic regression makes a chance of the two,

    trust = 1 / (1 + exp(-(w_0 + w_1 vote + w_2 log(told / (1 - told))))),    w_1, w_2 >= 0.

*Without a target.* As EMBEDR does (Johnson, Kath & Mani 2022, Patterns), a row's neighbourhood is held against those of
a map of the same columns, each permuted by itself: trust is the share of rows of that map which keep fewer neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from prismap._util.arrays import Rows
from prismap._util.repr import Brief
from prismap.target import split_rows

#: `told` closer to 0 or 1 than this is taken for this: posteriors are no better founded.
LEAST_TOLD = 0.001
N_FOLDS = 5
#: With fewer wrong rows it cannot be determined where they are: of 20 the least trusted tenth holds 0 to 4 by chance.
FEWEST_WRONG = 20
#: Below, a row has neighbours that are more likely wrong than right; without a target, no more than chance keeps.
LOW = {"class": 0.5, "real": 0.5, "none": 0.95}


@dataclass(frozen=True)
class TrustRule:
    """How the trust in a row follows from what is known of it.

    Attributes
    ----------
    kind : "class", "real" or "none"
    weights : w_0, w_1, w_2 of the module's formula; without a target the share of null rows that keep fewer than
        0, 1, ... neighbours
    n_judged : the held-out rows it was learnt from; without a target the rows of the null map
    calibration_error : mean difference of trust and truth over ten groups of held-out rows, cross-validated by whole
        units; NaN of fewer than ten units
    worst_tenth : the share of all wrong rows that the least trusted tenth holds, cross-validated; at most a tenth over
        the share of wrong rows. NaN of fewer than 20 wrong rows, which are too few to tell
    low : the share of the map's rows whose trust is below `LOW`
    """

    kind: str
    weights: tuple[float, ...]
    n_judged: int
    calibration_error: float = float("nan")
    worst_tenth: float = float("nan")
    low: float = float("nan")

    @property
    def has_target(self) -> bool:
        """Whether trust is about a target, and not about the neighbours that a row keeps."""
        return self.kind != "none"

    @property
    def evidence(self) -> tuple[str, ...]:
        """What the rule asks about rows, by the names of `Trust.parts`."""
        return ("vote", "told") if self.has_target else ("kept",)

    def chances(self, *evidence: np.ndarray) -> np.ndarray:
        """The trust in rows of these `vote` and `told`; without a target, that keep these shares of neighbours."""
        if not self.has_target:
            levels = np.asarray(self.weights)
            return np.asarray(levels[np.rint(evidence[0] * (len(levels) - 1)).astype(np.intp)])
        score = self.weights[0] + as_features(*evidence) @ np.asarray(self.weights[1:])
        return np.asarray(1.0 / (1.0 + np.exp(-score)))

    def to_dict(self) -> dict[str, Any]:
        """Plain values; NaN is None."""
        plain = {name: None if value != value else value for name, value in asdict(self).items()}
        return {**plain, "weights": [float(w) for w in self.weights]}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TrustRule:
        """The inverse of `to_dict`."""
        figures = ("calibration_error", "worst_tenth", "low")
        known = {name: float("nan") if stored[name] is None else float(stored[name]) for name in figures}
        weights = tuple(float(w) for w in stored["weights"])
        if stored["kind"] not in LOW or len(weights) < 2 or (stored["kind"] != "none" and len(weights) != 3):
            raise ValueError(f"a rule of trust in {stored['kind']!r} rows cannot have {len(weights)} weights")
        return cls(kind=stored["kind"], weights=weights, n_judged=int(stored["n_judged"]), **known)


@dataclass(frozen=True, repr=False)
class Trust(Brief):
    """How far the rows given to `fit` can be trusted.

    Attributes
    ----------
    value : (n,), the chance that a row's neighbours on the map are right about it: that most of the ten have its
        class, or that their mean is within half a standard deviation of its value. Without a target: the share of rows
        of a map of data without structure that keep fewer neighbours. NaN for rows far from all fitted ones
    parts : what there is to say of each row, NaN where it is not known; all but the last are shares. "vote": the share
        of its ten neighbours on the map that agree; "told": the chance that its features give what they say, out of
        fold; "kept": the share of its ten neighbours in the metric that it keeps on the map; "stays": the share of
        those on the map that it keeps on maps without a fifth of the rows; "plain": the share of them that it has on
        the map without the target, too; "scatter": how far from its place it lies on the maps without a fifth of the
        rows, each brought onto the map by its best rotation and scale, where 1 is the spread of the map
    rule : `TrustRule`, with what it was learnt from and how well it does
    """

    value: np.ndarray
    parts: dict[str, np.ndarray]
    rule: TrustRule

    def __str__(self) -> str:
        statement = (
            f"{(self.value < LOW[self.rule.kind]).mean():.0%} of the rows have a trust below {LOW[self.rule.kind]}"
        )
        if not self.rule.has_target:
            return f"{statement}, the share of rows that keep fewer neighbours on a map of data without structure"
        if self.rule.calibration_error != self.rule.calibration_error:
            return f"{statement}; {self.rule.n_judged} judged rows are too few independent ones to say how well it does"
        error = f"{100 * self.rule.calibration_error:.1f} points on {self.rule.n_judged} judged rows"
        if self.rule.worst_tenth != self.rule.worst_tenth:
            return f"{statement}; calibration error {error}, too few of which are wrong to say where these are"
        return (
            f"{statement}; calibration error {error}, the least trusted tenth of which holds "
            f"{self.rule.worst_tenth:.0%} of the wrong ones"
        )


def learn_trust(
    kind: str, vote: np.ndarray, told: np.ndarray, right: np.ndarray, units: Rows | None = None,
    *, in_order: bool = False,
) -> TrustRule:  # fmt: skip
    """The rule of rows whose neighbours are known to be right (1) or wrong (0).

    units : of rows that are not independent of each other, and whether they are stretches of time `in_order`. How well
        the rule does is found out on whole units that it was not learnt from.
    """
    weights = logistic_weights(as_features(vote, told), right)
    error = worst = float("nan")
    parts = []
    if (len(right) if units is None else len(np.unique(units))) >= 2 * N_FOLDS:
        parts = split_rows(len(vote), N_FOLDS, 0, units=units, in_order=in_order)
    if len(parts) > 1:
        trust = np.empty(len(right))
        for kept, out in parts:
            rule = TrustRule(kind, logistic_weights(as_features(vote[kept], told[kept]), right[kept]), len(kept))
            trust[out] = rule.chances(vote[out], told[out])
        error = calibration_error(trust, right)
        worst = worst_tenth(trust, right) if (1 - right).sum() >= FEWEST_WRONG else worst
    return TrustRule(kind, weights, len(right), error, worst)


def null_trust(kept: np.ndarray, n_neighbors: int) -> TrustRule:
    """The rule of rows that keep shares `kept` of their neighbours on a map of data without structure."""
    counts = np.bincount(np.rint(kept * n_neighbors).astype(np.intp), minlength=n_neighbors + 1)
    fewer = np.concatenate([[0.0], np.cumsum(counts)[:-1]]) / len(kept)
    return TrustRule("none", tuple(fewer.tolist()), len(kept))


def as_features(vote: np.ndarray, told: np.ndarray) -> np.ndarray:
    """What the logistic regression sees, (n, 2)."""
    told = np.clip(told, LEAST_TOLD, 1 - LEAST_TOLD)
    return np.column_stack([vote, np.log(told / (1 - told))])


def logistic_weights(F: np.ndarray, right: np.ndarray) -> tuple[float, ...]:
    """Intercept and weights, none of the latter negative: agreement is never a reason for less trust.

    A row that was right and one that was wrong, half each, keep the chances off 0 and 1 where all rows agree.
    """
    centre, scale = F.mean(axis=0), F.std(axis=0)
    Z = np.vstack([F, centre, centre]) - centre
    y = np.concatenate([right, [1.0, 0.0]])
    counted = np.concatenate([np.ones(len(F)), [0.5, 0.5]])
    used = scale > 1e-12
    weights, base = np.zeros(F.shape[1]), 0.0
    while used.any():
        fitted = LogisticRegression(max_iter=1000).fit(Z[:, used] / scale[used], y, sample_weight=counted)
        weights[used], base = fitted.coef_[0] / scale[used], float(fitted.intercept_[0])
        if (weights[used] >= 0).all():
            break
        used &= weights > 0
        weights[~used] = 0.0
    if not used.any():
        share = float(counted @ y / counted.sum())
        base = float(np.log(share / (1 - share)))
    return (base - float(weights @ centre), *weights.tolist())


def calibration_error(trust: np.ndarray, right: np.ndarray) -> float:
    """Mean difference of trust and the share of right rows, over ten groups of rows of equal trust and size."""
    groups = [g for g in np.array_split(np.argsort(trust, kind="stable"), 10) if len(g)]
    gaps = [abs(trust[g].mean() - right[g].mean()) for g in groups]
    return float(np.average(gaps, weights=[len(g) for g in groups]))


def worst_tenth(trust: np.ndarray, right: np.ndarray) -> float:
    """The share of the wrong rows among the least trusted tenth; NaN if none is wrong. Equal trust shares its rows."""
    wrong = 1.0 - right
    if not wrong.sum():
        return float("nan")
    limit = np.sort(trust)[max(1, len(trust) // 10) - 1]
    below, at = trust < limit, trust == limit
    room = max(1, len(trust) // 10) - below.sum()
    return float((wrong[below].sum() + wrong[at].sum() * room / at.sum()) / wrong.sum())
