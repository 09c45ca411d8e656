"""How far each row of a map can be trusted: what its neighbours on the map say, and whether its features agree.

The rule is `prismap.quality._trust`; here is the evidence. It needs nothing but the map and its target, so that the
rows of a map that was read from a file, and new ones, are judged by the same rule as those the rule was learnt from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import orthogonal_procrustes

from prismap._util.arrays import Numbers, Rows
from prismap.judging._budget import MOST_COMPARED
from prismap.judging._makers import Made
from prismap.quality import Trust, local_quality
from prismap.quality._trust import LOW, TrustRule, learn_trust, null_trust
from prismap.quality._votes import VOTERS, poll
from prismap.target import Target

#: Fewer rows of known truth than this make no rule.
FEWEST_JUDGED = 30


@dataclass(frozen=True)
class Evidence:
    """What the neighbours of rows on a map say of them.

    Attributes
    ----------
    predicted : the class that they name, as a code, or the mean of their numbers.
    vote : the share of them that agree with it.
    told : the chance that the rows' own features give it.
    tolerance : predictions that miss the truth by no more are right.
    """

    predicted: NDArray[Any]
    vote: Numbers
    told: Numbers
    tolerance: float

    def take(self, rows: Rows) -> Evidence:
        """The evidence on some of the rows."""
        return replace(self, predicted=self.predicted[rows], vote=self.vote[rows], told=self.told[rows])

    def right(self, truth: NDArray[Any]) -> Numbers:
        """1.0 where the prediction is true, and 0.0 where it is not."""
        return np.asarray((np.abs(self.predicted - truth) <= self.tolerance).astype(np.float64))


def evidence_on(
    made: Made, Y: Numbers, target: Target, rows: Any = None, units: NDArray[np.intp] | None = None
) -> Evidence:
    """Evidence on rows at positions Y of a map whose rows have this target; of several targets on the first.

    rows : as `Made.place` takes them; None: the map's own rows, none of which votes for itself. units : those of `rows`
    that the map's rows may be of, too. Rows of its own unit have no vote on a row. What its features tell is then asked
    of the nearest rows of other units in the data: the posterior has learnt from its unit.
    """
    target = target.shown
    who: dict[str, Any] = {}
    if units is not None:
        who = {"units": units, "fitted_units": target.units, "in_order": target.in_order}
    votes = poll(Y, made.positions, target, same=rows is None, **who)
    predicted = votes.prediction
    vote, told = votes.agreement(predicted, target.tolerance), made.support(predicted, rows, target)
    if units is not None:
        others = poll(target=target, **made.in_own_data(rows), **who).agreement(predicted, target.tolerance)
        told = np.where(np.isin(units, target.units), others, told)
    return Evidence(predicted, vote, told, target.tolerance)


# --- the rule, learnt while a map is judged ---------------------------------------------------------------------------


def learnt_rule(made: Made, target: Target, judged: Iterable[tuple[Evidence, Target]]) -> TrustRule | None:
    """The rule of judged rows, and the share of the map's own rows that it trusts less; None of too few rows."""
    parts = [(one.vote, one.told, one.right(truth.shown.values), truth.units, truth.labelled) for one, truth in judged]
    if not parts:
        return None
    vote, told, right, units = (np.concatenate([part[k][part[4]] for part in parts]) for k in range(4))
    if len(right) < FEWEST_JUDGED:
        return None
    kind = "real" if target.shown.classes is None else "class"
    who: dict[str, Any] = {} if target.independent else {"units": units, "in_order": target.in_order}
    return with_low(learn_trust(kind, vote, told, right, **who), made, target)


def rule_of_null(made: Made, target: Target, unstructured: Made) -> TrustRule | None:
    """The rule without a target, from a map of permuted columns."""
    k = n_kept(made.positions)
    if k < 1:
        return None
    return with_low(null_trust(kept_by(unstructured, k), k), made, target)


def with_low(rule: TrustRule, made: Made, target: Target) -> TrustRule:
    """The rule, and how many of the map's rows it does not trust."""
    trust = rule.chances(*evidence_for(made, rule, target, made.positions, None))
    return replace(rule, low=float((trust < LOW[rule.kind]).mean()))


def evidence_for(
    made: Made, rule: TrustRule, target: Target, Y: Numbers, rows: Any, units: NDArray[np.intp] | None = None
) -> tuple[Numbers, ...]:
    """What the rule asks for of rows at positions Y: (vote, told), or without a target (kept,).

    rows, units : as in `evidence_on`.
    """
    if rule.evidence == ("kept",):
        return (kept_by(made, len(rule.weights) - 1, Y, rows),)
    evidence = evidence_on(made, Y, target, rows, units)
    return evidence.vote, evidence.told


def kept_by(made: Made, k: int, Y: Numbers | None = None, rows: Any = None) -> Numbers:
    """The share of each row's k nearest rows in the metric that are among its k nearest on the map."""
    if rows is None:
        X, metric = made.space
        return local_quality(X, made.positions, n_neighbors=k, metric=metric)
    return made.kept(rows, Y, k)


def n_kept(Y: Numbers) -> int:
    """Neighbours that are compared."""
    return min(VOTERS, len(Y) - 2)


# --- the rows ---------------------------------------------------------------------------------------------------------


def row_parts(
    made: Made, plain: tuple[Rows, Numbers] | None, runs: Iterable[tuple[Rows, Numbers]], *, kept: bool = True
) -> dict[str, Numbers]:
    """Shares of each row's neighbours that the map keeps, that are there without the target, and that stay in runs."""
    Y, k = made.positions, n_kept(made.positions)
    if k < 1 or len(Y) > MOST_COMPARED:
        return {}
    X, metric = made.space
    parts = {"kept": local_quality(X, Y, n_neighbors=k, metric=metric)} if kept else {}
    if plain is not None:
        parts["plain"] = stays(Y, [plain])
    if runs := list(runs):
        parts |= {"stays": stays(Y, runs), "scatter": scatter(Y, runs)}
    return parts


def stays(Y: Numbers, runs: list[tuple[Rows, Numbers]]) -> Numbers:
    """The share of each row's ten neighbours on the map that it has in other runs, (which, where), of their rows."""
    total, times = np.zeros(len(Y)), np.zeros(len(Y))
    for here, positions in runs:
        total[here] += local_quality(Y[here], positions, n_neighbors=n_kept(positions))
        times[here] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray(total / times)


def scatter(Y: Numbers, runs: list[tuple[Rows, Numbers]]) -> Numbers:
    """How far from its place each row lies in other runs, (which, where): root mean square over its runs.

    Each run is brought onto the map first, by the shift, rotation, reflection and scale that leave the least squared
    distance (orthogonal Procrustes analysis, Gower 1975). 1 is the root mean square distance of rows from the centre.
    """
    total, times = np.zeros(len(Y)), np.zeros(len(Y))
    unit = np.square(Y - Y.mean(axis=0)).sum(axis=1).mean()
    for here, positions in runs:
        goal, other = (part - part.mean(axis=0) for part in (Y[here], np.asarray(positions)))
        rotation, overlap = orthogonal_procrustes(other, goal)
        aligned = other @ rotation * (overlap / (np.square(other).sum() or 1.0))
        total[here] += np.square(aligned - goal).sum(axis=1)
        times[here] += 1
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sqrt(total / times / (unit or 1.0)))


def trust_in_own_rows(
    made: Made,
    rule: TrustRule,
    target: Target,
    plain: tuple[Rows, Numbers] | None,
    runs: Iterable[tuple[Rows, Numbers]],
) -> Trust:
    """The trust in the rows of a map, with its parts."""
    evidence = evidence_for(made, rule, target, made.positions, None)
    parts = dict(zip(rule.evidence, evidence, strict=True))
    return Trust(rule.chances(*evidence), {**parts, **row_parts(made, plain, runs, kept="kept" not in parts)}, rule)
